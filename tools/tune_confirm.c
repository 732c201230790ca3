/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coll_tune confirm: does what a table says hold in this job too? Every choice that is not the default's races the default once more. With
 * more ranks than cores above all, one launch has its ranks on the cores in another way than the next, and a plan that gains a tenth in the
 * one loses half of its speed in the other; within a job no repetition shows that.
 */
#include "coll_tune.h"
#include <math.h>
#include <stdlib.h>

/* The size in the middle of what an entry holds for, which was measured, or nearly. */
static uint64_t middle_of(const struct hx_table_entry *entry)
{
    double below = entry->from_bytes ? (double)entry->from_bytes - 1 : 0; /* the last size of the entry before */

    if (entry->to_bytes == UINT64_MAX)
        return below > 0 ? (uint64_t)below * 2 : 8;
    return below > 0 ? (uint64_t)sqrt(below * (double)entry->to_bytes) : entry->to_bytes / 2;
}

int tune_confirm_points(const struct tuner *tuner, const struct tune_options *o, const struct bench_job *job, const struct hx_table *table,
                        struct tune_point *points, int most)
{
    int n = 0;

    for (int c = 0; c < o->bench.ncollectives; c++) {
        struct tune_point key = {.collective = (enum bench_collective)o->bench.collectives[c]};
        hx_coll_parse(bench_collective_names[key.collective], &key.coll);
        tuner_key(tuner, &key);
        for (int i = 0; i < table->n && n < most; i++) {
            const struct hx_table_entry *entry = &table->entries[i];
            struct bench_row row = {.collective = key.collective};
            bench_row_size(&o->bench, job, middle_of(entry), &row);
            if (!hx_table_same_key(entry, &key.entry) || tune_is_default(entry) ||
                (row.bytes && (row.bytes < o->bench.min_bytes || row.bytes > o->bench.max_bytes)))
                continue;
            points[n] = key;
            points[n].bytes = row.bytes;
            points[n].count = row.count;
            points[n++].entry = *entry;
        }
    }
    return n;
}

enum tune_outcome tune_confirm_point(struct tuner *tuner, struct tune_point *point, double seconds)
{
    struct hx_table_entry *entry = &point->entry;
    struct tune_plan plans[2] = {{.name = ""}, {.slice_bytes = entry->slice_bytes}};
    struct tune_race race;

    snprintf(plans[0].name, sizeof(plans[0].name), "%s", entry->default_plan);
    snprintf(plans[1].name, sizeof(plans[1].name), "%s", entry->plan);
    enum tune_outcome outcome = tuner_plans_race(tuner, point, plans, 2, seconds, &race);
    if (outcome != TUNE_MEASURED)
        return outcome;
    point->raced = 2;
    point->entry.default_us = race.default_ns / 1e3;
    point->entry.us = point->entry.default_us * race.laps[1].ratio.median;
    if (race.laps[1].ratio.median < 1 && race.laps[1].ratio.high < 1 + TUNE_MARGIN)
        return outcome;
    snprintf(entry->plan, sizeof(entry->plan), "%s", entry->default_plan);
    entry->slice_bytes = 0;
    entry->us = entry->default_us;
    return outcome;
}
