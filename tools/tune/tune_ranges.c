/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_tune: for which sizes the entries of a run will hold, beside those that its table has. On rank 0. */
#include "tools/tune/coll_tune.h"

const struct hx_table_entry *tune_entry_of(const struct tune_run *run, const struct tune_point *point)
{
    return hx_table_find(run->table->entries, run->table->n, &point->entry, point->bytes);
}

/* Who is measured next to one that is known, of another grid, begins or ends where that one does, unless there is something between them. */
static void range_join(const struct tune_run *run, struct tune_point *low, struct tune_point *high)
{
    struct hx_table_entry *below = &low->entry, *above = &high->entry;

    if (low->collective != high->collective || low->known == high->known || below->to_bytes >= above->from_bytes)
        return;
    if (low->known && !hx_table_find(run->table->entries, run->table->n, below, below->to_bytes + 1))
        above->from_bytes = below->to_bytes + 1;
    if (high->known && !hx_table_find(run->table->entries, run->table->n, above, above->from_bytes - 1))
        below->to_bytes = above->from_bytes - 1;
}

static int is_of_run(const struct tune_run *run, const struct tune_point *point, uint64_t bytes)
{
    for (int p = 0; p < run->npoints; p++)
        if (run->points[p].collective == point->collective && run->points[p].bytes == bytes)
            return 1;
    return 0;
}

/* The table's entry of the nearest size above the point's, or below it, that is none of the run's; NULL: there is none. */
static const struct hx_table_entry *neighbour(const struct tune_run *run, const struct tune_point *point, int above)
{
    const struct hx_table_entry *nearest = NULL;

    for (int i = 0; i < run->table->n; i++) {
        const struct hx_table_entry *entry = &run->table->entries[i];
        int64_t bytes = entry->measured_bytes, here = (int64_t)point->bytes;
        if (bytes >= 0 && (above ? bytes > here : bytes < here) && hx_table_same_key(entry, &point->entry) &&
            !is_of_run(run, point, (uint64_t)bytes) &&
            (!nearest || (above ? bytes < nearest->measured_bytes : bytes > nearest->measured_bytes)))
            nearest = entry;
    }
    return nearest;
}

/* The sizes that are nearer to one which the table has, and this run does not measure, stay with that one; before and after: the collective's
 * points around it, or NULL. Between the first and the last all is measured anew, but for what is resumed. */
static void range_clip(const struct tune_run *run, struct tune_point *point, const struct tune_point *before, const struct tune_point *after)
{
    const struct hx_table_entry *low = before && !run->o->resume ? NULL : neighbour(run, point, 0),
                                *high = after && !run->o->resume ? NULL : neighbour(run, point, 1);
    struct hx_table_entry *own = &point->entry;

    if (low) {
        uint64_t last = tune_middle((uint64_t)low->measured_bytes, point->bytes);
        last = low->to_bytes < last ? low->to_bytes : last;
        if (own->from_bytes <= last || (before && (uint64_t)low->measured_bytes > before->bytes)) /* it lies between these two */
            own->from_bytes = last + 1;
    }
    if (high) {
        uint64_t first = tune_middle((uint64_t)high->measured_bytes, point->bytes) + 1;
        first = high->from_bytes > first ? high->from_bytes : first;
        if (own->to_bytes >= first || (after && (uint64_t)high->measured_bytes < after->bytes))
            own->to_bytes = first - 1;
    }
}

void tune_ranges_settle(struct tune_run *run)
{
    struct tune_point *points = run->points;
    const int n = run->npoints;

    for (int p = 0; run->o->resume && p < n; p++) {
        const struct hx_table_entry *found = tune_entry_of(run, &points[p]);
        /* that an entry holds for it is not enough: the last one holds for all that is beyond */
        if (found && (found->measured_bytes < 0 || (uint64_t)found->measured_bytes == points[p].bytes)) {
            points[p].known = 1;
            points[p].entry = *found;
        }
    }
    for (int p = 0; p + 1 < n; p++)
        range_join(run, &points[p], &points[p + 1]);
    for (int p = 0; p < n; p++) {
        const struct tune_point *before = p > 0 && points[p - 1].collective == points[p].collective ? &points[p - 1] : NULL,
                                *after = p + 1 < n && points[p + 1].collective == points[p].collective ? &points[p + 1] : NULL;
        if (!points[p].known)
            range_clip(run, &points[p], before, after);
    }
}
