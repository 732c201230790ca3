/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coll_tune confirm: does what a table says hold in this job too? Every choice that is not the default's races the default once more. With
 * more ranks than cores above all, one launch has its ranks on the cores in another way than the next, and a plan that gains a tenth in the
 * one loses half of its speed in the other; within a job no repetition shows that.
 */
#include "tools/tune/coll_tune.h"
#include "runtime/base/size.h"
#include <string.h>
#include <unistd.h>

/* The size where it was measured, or, of what is left of an entry, the nearest. */
static uint64_t size_of(const struct hx_table_entry *entry)
{
    uint64_t bytes = (uint64_t)entry->measured_bytes;

    bytes = bytes < entry->from_bytes ? entry->from_bytes : bytes;
    return bytes > entry->to_bytes ? entry->to_bytes : bytes;
}

/* Can its two plans run here? If not, it is said why. */
static int can_race(struct tune_run *run, const struct tune_point *point)
{
    const char *missing;
    char size[HX_SIZE_BYTES];
    struct tune_survey *survey = &run->survey;

    tune_survey_find(run->tuner, point, 0, INFINITY, survey);
    missing = tune_plan_find(survey, survey->n, point->entry.plan) < 0           ? point->entry.plan
              : tune_plan_find(survey, survey->n, point->entry.default_plan) < 0 ? point->entry.default_plan
                                                                                 : NULL;
    if (missing)
        fprintf(stderr, "coll_tune: %s of %s: %s is not among the plans of this job; the entry stays as it is\n",
                bench_collective_names[point->collective], hx_size_format(point->bytes, size), missing);
    return !missing;
}

/* For such jobs, but of other numbers or memory? */
static int is_of_other_kind(const struct hx_table_entry *entry, const struct hx_table_entry *key)
{
    struct hx_table_entry like = *entry;

    like.numbers = key->numbers;
    like.shared_alloc = key->shared_alloc;
    return hx_table_same_key(&like, key);
}

/* A choice that is not the default's, of a size that is asked for? */
static int is_wanted(const struct tune_run *run, const struct hx_table_entry *entry, uint64_t bytes)
{
    const struct bench_options *b = &run->o->bench;

    return entry->measured_bytes >= 0 && !tune_is_default(entry) && size_of(entry) <= b->max_bytes &&
           (bytes == 0 || (bytes >= b->min_bytes && bytes <= b->max_bytes));
}

void tune_confirm_points(struct tune_run *run)
{
    const struct hx_shape *shape = hx_world->comms->members.shape;
    int of_shape = 0, others = 0, unknown = 0, beyond = 0;

    for (int c = 0; c < run->o->bench.ncollectives; c++)
        for (const struct hx_table_entry *entry = run->table->entries; entry < run->table->entries + run->table->n; entry++) {
            struct tune_point point = tune_point_of(run, run->o->bench.collectives[c], size_of(entry));
            const int same = hx_table_same_key(entry, &point.entry);
            of_shape += same;
            others += !same && is_of_other_kind(entry, &point.entry);
            unknown += same && entry->measured_bytes < 0;
            if (!same || !is_wanted(run, entry, point.bytes))
                continue;
            point.entry = *entry;
            if (run->npoints == tune_points_most(run))
                beyond++;
            else if (can_race(run, &point))
                run->points[run->npoints++] = point;
        }
    if (others)
        fprintf(stderr, "coll_tune: %d entries are for another class of datatypes or other memory than --dtype=%s%s: to confirm "
                        "them, run confirm again with their --dtype and --alloc\n", others,
                bench_dtype_names[run->o->bench.dtype], run->o->bench.alloc ? " --alloc" : "");
    else if (of_shape == 0)
        fprintf(stderr, "coll_tune: the table has no entry for %d ranks on %d nodes and these collectives\n", shape->nranks, shape->nnodes);
    if (unknown)
        fprintf(stderr, "coll_tune: %d entries do not say at which size they were measured; they stay as they are\n", unknown);
    if (beyond)
        fprintf(stderr, "coll_tune: one run confirms %d choices, and the table has %d more: choose fewer with "
                        "--collectives, --min, --max\n", run->npoints, beyond);
}

enum tune_outcome tune_confirm_point(struct tune_run *run, struct tune_point *point, double seconds)
{
    struct hx_table_entry *entry = &point->entry;
    struct tune_plan plans[2] = {{.name = ""}, {.slice_bytes = entry->slice_bytes}};
    struct tune_race race = {.before = -1, .until = 1};
    char chosen[HX_CANDIDATE_NAME_BYTES + 32], size[HX_SIZE_BYTES];

    tune_choice_text(entry, chosen);
    snprintf(plans[0].name, sizeof(plans[0].name), "%s", entry->default_plan);
    snprintf(plans[1].name, sizeof(plans[1].name), "%s", entry->plan);
    enum tune_outcome outcome = tuner_race(run->tuner, point, plans, 2, seconds, &race);
    const struct tune_interval *ratio = &plans[1].lap.ratio;
    if (outcome != TUNE_MEASURED || plans[0].lap.rounds < TUNE_LEAST_ROUNDS)
        return outcome == TUNE_MEASURED ? TUNE_SPOILED : outcome;
    point->raced = 2;
    entry->mixed = 1;
    entry->default_us = race.default_ns / 1e3;
    entry->us = entry->default_us * ratio->median;
    if (ratio->high < 1 / (1 + race.least_gain))
        return outcome;
    snprintf(entry->plan, sizeof(entry->plan), "%s", entry->default_plan);
    entry->slice_bytes = 0;
    entry->us = entry->default_us;
    if (run->job.rank == 0)
        fprintf(stderr, "%scoll_tune: %s of %s: %s took %.2f times the default's time in this job%s\n", tune_clear(),
                bench_collective_names[point->collective], hx_size_format(point->bytes, size), chosen, ratio->median,
                ratio->median < 1 ? ", too little to be sure" : "");
    return outcome;
}

void tune_confirm_summary(const struct tune_run *run, int stopped)
{
    int raced = 0, kept = 0;

    tune_rows_print(stdout, run);
    for (const struct tune_point *p = run->points; p < run->points + run->npoints; p++) {
        raced += p->measured;
        kept += p->measured && !tune_is_default(&p->entry);
    }
    printf("# %s: %d choices were measured against the default; %d kept, %d replaced by the default\n", run->o->output, raced, kept,
           raced - kept);
    if (raced < run->npoints)
        fprintf(stderr, "coll_tune: %s: %d more choices were not measured and are kept\n", stopped ? "stopped" : "time was too short", run->npoints - raced);
}
