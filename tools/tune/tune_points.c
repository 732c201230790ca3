/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_tune: the sizes and collectives that it measures. Alike on all ranks. */
#include "tools/common/bench_backend.h"
#include "tools/tune/coll_tune.h"
#include <stdlib.h>
#include <string.h>

struct tune_point tune_point_of(const struct tune_run *run, int collective, uint64_t want)
{
    struct bench_row row = {.collective = (enum hx_function)collective};
    struct tune_point point = {.collective = row.collective, .coll = hx_function_coll(row.collective)};

    bench_row_size(&run->o->bench, &run->job, want, &row);
    point.bytes = row.bytes;
    point.count = row.count;
    tuner_key(run->tuner, &point);
    point.entry.measured_bytes = (int64_t)row.bytes;
    point.entry.to_bytes = UINT64_MAX;
    return point;
}

static void point_add(struct tune_run *run, int collective, uint64_t want)
{
    const struct tune_point point = tune_point_of(run, collective, want), *last = run->npoints ? &run->points[run->npoints - 1] : NULL;

    if (!last || last->collective != point.collective || last->bytes != point.bytes) /* two small sizes may be raised to the same one */
        run->points[run->npoints++] = point;
}

int tune_points_most(const struct tune_run *run)
{
    return run->o->bench.ncollectives * TUNE_SIZES;
}

/* Down from the greatest by the factor: the greatest is measured too, since its entry holds for all larger sizes. */
static uint64_t size_after(const struct bench_options *b, uint64_t bytes)
{
    uint64_t next = b->max_bytes;

    while (next / b->factor > bytes)
        next /= b->factor;
    return next;
}

static void sizes_add(struct tune_run *run, int collective)
{
    uint64_t want = run->o->bench.min_bytes;

    point_add(run, collective, want);
    while (want < run->o->bench.max_bytes)
        point_add(run, collective, want = size_after(&run->o->bench, want));
}

/* judge, model */
static void fixed_sizes_add(struct tune_run *run, int collective)
{
    static const uint64_t sizes[] = {8, 1 << 10, 64 << 10, 1 << 20, 16 << 20};

    for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++)
        if (run->o->bench.min_bytes <= sizes[k] && sizes[k] <= run->o->bench.max_bytes)
            point_add(run, collective, sizes[k]);
}

void tune_points_make(struct tune_run *run)
{
    const struct bench_options *b = &run->o->bench;

    if (!(run->points = calloc((size_t)tune_points_most(run), sizeof(*run->points)))) {
        fprintf(stderr, "coll_tune: no memory\n");
        bench_backend_abort(1);
    }
    for (int i = 0; i < b->ncollectives && run->o->command != TUNE_CONFIRM; i++)
        (run->o->command == TUNE_RUN ? sizes_add : fixed_sizes_add)(run, b->collectives[i]);
}

int tune_points_left(const struct tune_run *run, int from)
{
    int left = 0;

    for (int i = from; i < run->npoints; i++)
        left += run->points[i].again || (!run->points[i].known && !run->points[i].measured);
    return left;
}

#define MUCH_MORE 2 /* times: with less the same would come out */

int tune_points_again(struct tune_run *run)
{
    int open = 0, again = 0, stop = 0;
    double left = run->o->budget_s - tuner_elapsed_s(run->begin_s, &stop);

    for (int i = 0; i < run->npoints; i++)
        open += run->points[i].open;
    for (int i = 0; i < run->npoints && !stop; i++) {
        struct tune_point *point = &run->points[i];
        again += point->again = point->open && left / open >= MUCH_MORE * point->seconds;
        point->open = point->again;
    }
    return again;
}

/* The first size of above, between sizes that were measured: half-way, or just after the entry below if that ends earlier. */
static uint64_t range_from(const struct hx_table_entry *below, const struct hx_table_entry *above)
{
    const uint64_t middle = tune_middle((uint64_t)below->measured_bytes, (uint64_t)above->measured_bytes);

    return (below->to_bytes < middle ? below->to_bytes : middle) + 1;
}

/* The last size of below then. */
static uint64_t range_to(const struct hx_table_entry *below, const struct hx_table_entry *above)
{
    const uint64_t middle = tune_middle((uint64_t)below->measured_bytes, (uint64_t)above->measured_bytes);

    return above->from_bytes > middle + 1 ? above->from_bytes - 1 : middle;
}

/* A point half-way between number i and the next, geometrically. It takes the sizes that are nearer to it from both, and those up to where
 * they met. Returns whether there is one. */
static int point_insert(struct tune_run *run, int i)
{
    struct tune_point *low = &run->points[i], *high = low + 1,
                      point = tune_point_of(run, (int)low->collective, tune_middle(low->bytes, high->bytes));

    if (point.bytes <= low->bytes || point.bytes >= high->bytes || run->npoints == tune_points_most(run))
        return 0;
    point.between = 1;
    point.entry.from_bytes = range_from(&low->entry, &point.entry);
    point.entry.to_bytes = range_to(&point.entry, &high->entry);
    low->entry.to_bytes = point.entry.from_bytes - 1;
    high->entry.from_bytes = point.entry.to_bytes + 1;
    memmove(high + 1, high, (size_t)(run->npoints - i - 1) * sizeof(point));
    *high = point;
    run->npoints++;
    return 1;
}

int tune_points_refine(struct tune_run *run)
{
    int measured = 0, added = 0, stop = 0;
    double elapsed = tuner_elapsed_s(run->begin_s, &stop);

    for (int i = 0; i < run->npoints; i++)
        measured += run->points[i].measured;
    double seconds = measured ? elapsed / measured : 1, left = stop ? 0 : run->o->budget_s - elapsed; /* of a point */
    for (int i = run->npoints - 2; i >= 0 && run->o->refine && (added + 1) * seconds < left; i--) {
        const struct tune_point *low = &run->points[i], *high = low + 1;
        if (low->collective == high->collective && high->bytes > 2 * low->bytes && low->entry.to_bytes + 1 == high->entry.from_bytes &&
            (strcmp(low->entry.plan, high->entry.plan) || low->entry.slice_bytes != high->entry.slice_bytes))
            added += point_insert(run, i);
    }
    return added;
}

/* ---- for which sizes the entries of a run hold, beside those that its table has: on rank 0 ---- */

const struct hx_table_entry *tune_entry_of(const struct tune_run *run, const struct tune_point *point)
{
    return hx_table_find(run->table->entries, run->table->n, &point->entry, point->bytes);
}

static int is_of_run(const struct tune_run *run, const struct tune_point *point, uint64_t bytes)
{
    for (int p = 0; p < run->npoints; p++)
        if (run->points[p].collective == point->collective && run->points[p].bytes == bytes)
            return 1;
    return 0;
}

/* The entry of the nearest size above the point's, or below it: that of the run's own next point. If there is no such point, or
 * known entries are kept, it may be one that the table has and this run does not measure. NULL: there is none. */
static const struct hx_table_entry *neighbour(const struct tune_run *run, const struct tune_point *point, const struct tune_point *next,
                                              int above)
{
    const struct hx_table_entry *nearest = next ? &next->entry : NULL;

    for (int i = 0; i < run->table->n && (!next || run->o->resume); i++) {
        const struct hx_table_entry *entry = &run->table->entries[i];
        const int64_t bytes = entry->measured_bytes, here = (int64_t)point->bytes;
        if (bytes >= 0 && (above ? bytes > here : bytes < here) && hx_table_same_key(entry, &point->entry) &&
            !is_of_run(run, point, (uint64_t)bytes) &&
            (!nearest || (above ? bytes < nearest->measured_bytes : bytes > nearest->measured_bytes)))
            nearest = entry;
    }
    return nearest;
}

/* before and after: the collective's points around it, or NULL. Entries for other numbers than floats, or for memory of
 * hx_alloc, may end: beyond, those of floats in other memory serve. */
static void range_settle(const struct tune_run *run, struct tune_point *point, const struct tune_point *before, const struct tune_point *after)
{
    struct hx_table_entry *own = &point->entry;
    const struct hx_table_entry *low = neighbour(run, point, before, 0), *high = neighbour(run, point, after, 1);
    const int ends = own->numbers != HX_NUMBERS_FLOAT || own->shared_alloc;
    const uint64_t least = ends && !before ? point->bytes / 2 : 0, most = ends && !after ? 2 * point->bytes + 1 : UINT64_MAX;

    own->from_bytes = low && range_from(low, own) > least ? range_from(low, own) : least;
    own->to_bytes = high && range_to(own, high) < most ? range_to(own, high) : most;
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
            points[p].entry.measured_bytes = (int64_t)points[p].bytes;
        }
    }
    for (int p = 0; p < n; p++) {
        const struct tune_point *before = p > 0 && points[p - 1].collective == points[p].collective ? &points[p - 1] : NULL,
                                *after = p + 1 < n && points[p + 1].collective == points[p].collective ? &points[p + 1] : NULL;
        if (!points[p].known)
            range_settle(run, &points[p], before, after);
    }
}
