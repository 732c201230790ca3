/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coll_tune confirm: does what a table says hold in this job too? Every choice that is not the default's races the default once more. With
 * more ranks than cores above all, one launch has its ranks on the cores in another way than the next, and a plan that gains a tenth in the
 * one loses half of its speed in the other; within a job no repetition shows that.
 */
#include "tools/tune/coll_tune.h"
#include <math.h>
#include <string.h>

static int is_there(const struct tune_survey *survey, const char *plan)
{
    for (int i = 0; i < survey->n; i++)
        if (!strcmp(survey->plans[i].name, plan))
            return 1;
    return 0;
}

/* The size where it was measured, or, of what is left of an entry, the nearest. */
static uint64_t size_of(const struct hx_table_entry *entry)
{
    uint64_t bytes = (uint64_t)entry->measured_bytes;

    bytes = bytes < entry->from_bytes ? entry->from_bytes : bytes;
    return bytes > entry->to_bytes ? entry->to_bytes : bytes;
}

/* Can its two plans run here? 1, or 0 after printing why not; -1: it failed. */
static int can_race(const struct tuner *tuner, const struct tune_point *point, struct tune_survey *survey)
{
    const struct hx_table_entry *entry = &point->entry;

    if (tune_survey_find(tuner, point, 0, INFINITY, survey))
        return -1;
    if (is_there(survey, entry->plan) && is_there(survey, entry->default_plan))
        return 1;
    fprintf(stderr, "coll_tune: %s of %llu bytes: %s is not among the plans of this job; the entry stays as it is\n",
            bench_collective_names[point->collective], (unsigned long long)point->bytes,
            is_there(survey, entry->plan) ? entry->default_plan : entry->plan);
    return 0;
}

/* For such jobs, but of other numbers or memory? */
static int is_of_other_kind(const struct hx_table_entry *entry, const struct hx_table_entry *key)
{
    struct hx_table_entry like = *entry;

    like.numbers = key->numbers;
    like.shared_alloc = key->shared_alloc;
    return hx_table_same_key(&like, key);
}

int tune_confirm_points(const struct tuner *tuner, const struct tune_options *o, const struct bench_job *job, const struct hx_table *table,
                        struct tune_survey *survey, struct tune_point *points, int most)
{
    int n = 0, of_shape = 0, others = 0, unknown = 0, beyond = 0, can = 0, nodes = 0;

    for (int c = 0; c < o->bench.ncollectives && can >= 0; c++) {
        struct tune_point key = {.collective = (enum hx_function)o->bench.collectives[c]};
        hx_coll_parse(bench_collective_names[key.collective], &key.coll);
        tuner_key(tuner, &key);
        nodes = key.entry.nnodes;
        for (int i = 0; i < table->n && can >= 0; i++) {
            const struct hx_table_entry *entry = &table->entries[i];
            struct bench_row row = {.collective = key.collective};
            if (!hx_table_same_key(entry, &key.entry)) {
                others += is_of_other_kind(entry, &key.entry);
                continue;
            }
            of_shape++;
            unknown += entry->measured_bytes < 0;
            if (size_of(entry) > o->bench.max_bytes)
                continue;
            bench_row_size(&o->bench, job, size_of(entry), &row);
            if (entry->measured_bytes < 0 || tune_is_default(entry) ||
                (row.bytes && (row.bytes < o->bench.min_bytes || row.bytes > o->bench.max_bytes)))
                continue;
            if (n == most) {
                beyond++;
                continue;
            }
            points[n] = key;
            points[n].bytes = row.bytes;
            points[n].count = row.count;
            points[n].entry = *entry;
            if ((can = can_race(tuner, &points[n], survey)) > 0)
                n++;
        }
    }
    if (others)
        fprintf(stderr, "coll_tune: %d entries are for other datatypes or memory: confirm them with --dtype, --alloc\n", others);
    else if (of_shape == 0)
        fprintf(stderr, "coll_tune: the table has no entry for %d ranks on %d nodes and these collectives\n", job->size, nodes);
    if (unknown)
        fprintf(stderr, "coll_tune: %d entries do not say at which size they were measured; they stay as they are\n", unknown);
    if (beyond)
        fprintf(stderr, "coll_tune: one run confirms %d choices, and the table has %d more: narrow it by --collectives, "
                        "--min, --max\n", most, beyond);
    return can < 0 ? -1 : n;
}

enum tune_outcome tune_confirm_point(struct tuner *tuner, struct tune_point *point, double seconds, double *ratio)
{
    struct hx_table_entry *entry = &point->entry;
    struct tune_plan plans[2] = {{.name = ""}, {.slice_bytes = entry->slice_bytes}};
    struct tune_race race;

    snprintf(plans[0].name, sizeof(plans[0].name), "%s", entry->default_plan);
    snprintf(plans[1].name, sizeof(plans[1].name), "%s", entry->plan);
    enum tune_outcome outcome = tuner_plans_race(tuner, point, plans, 2, 0, seconds, &race);
    const struct tune_lap *lap = &race.laps[1];
    if (outcome == TUNE_MEASURED && race.laps[0].rounds < TUNE_LEAST_ROUNDS)
        outcome = TUNE_SPOILED;
    if (outcome != TUNE_MEASURED)
        return outcome;
    *ratio = lap->ratio.median;
    point->raced = 2;
    entry->default_us = race.default_ns / 1e3;
    entry->us = entry->default_us * lap->ratio.median;
    if (lap->ratio.high < 1 / (1 + race.least_gain))
        return outcome;
    snprintf(entry->plan, sizeof(entry->plan), "%s", entry->default_plan);
    entry->slice_bytes = 0;
    entry->us = entry->default_us;
    return outcome;
}
