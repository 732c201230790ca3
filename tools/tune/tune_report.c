/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_tune's output: its progress, its results, and the same with all plans tried as JSON, for coll_report. */
#include "tools/tune/coll_tune.h"
#include "runtime/base/size.h"
#include "tools/common/screen.h"
#include <string.h>
#include <unistd.h>

#define BAR 24

enum { REPORT_VERSION = 1 };

FILE *tune_out(const struct tune_options *o)
{
    return o->bench.report.html && !strcmp(o->bench.report.html, "-") ? stderr : stdout; /* nothing else may come before the page */
}

/* The numbers in the summary's last lines, over all points that are known. */
struct sums {
    int done, measured, changed, costly, behind, untried;
};

static struct sums sums_of(const struct tune_run *run)
{
    struct sums s = {0};

    for (const struct tune_point *p = run->points; p < run->points + run->npoints; p++) {
        if (!p->known && !p->measured)
            continue;
        s.done++;
        s.measured += p->measured;
        s.changed += !tune_is_default(&p->entry);
        s.costly += p->costly;
        s.behind += p->behind;
        s.untried += p->untried;
    }
    return s;
}

void tune_progress(const struct tune_run *run, int at, double elapsed_s)
{
    const struct sums s = sums_of(run);
    const double budget_s = run->o->budget_s;
    double left_s = s.measured ? elapsed_s / s.measured * (run->npoints - s.done) : budget_s;
    char bar[BAR + 1] = "", size[HX_SIZE_BYTES];

    if (!isatty(STDERR_FILENO))
        return;
    left_s = fmin(left_s, budget_s - elapsed_s);
    memset(bar, '.', BAR);
    memset(bar, '#', (size_t)(s.done * BAR / run->npoints));
    fprintf(stderr, "\r\033[K[%s] %d of %d  %d:%02d left  %s of %s", bar, s.done, run->npoints, (int)left_s / 60, (int)left_s % 60,
            bench_collective_names[run->points[at].collective], hx_size_format(run->points[at].bytes, size));
    fflush(stderr);
}

const char *tune_clear(void)
{
    return isatty(STDERR_FILENO) ? "\r\033[K" : "";
}

const char *tune_choice_text(const struct hx_table_entry *entry, char text[HX_CANDIDATE_NAME_BYTES + 32])
{
    snprintf(text, HX_CANDIDATE_NAME_BYTES + 32, entry->slice_bytes ? "%s slice %llu" : "%s", entry->plan,
             (unsigned long long)entry->slice_bytes);
    return text;
}

static double gain(const struct hx_table_entry *entry)
{
    return entry->us > 0 ? entry->default_us / entry->us : 1;
}

int tune_is_default(const struct hx_table_entry *entry)
{
    return !strcmp(entry->plan, entry->default_plan) && entry->slice_bytes == 0;
}

void tune_told(const struct tune_run *run, const struct tune_point *point)
{
    const struct hx_table_entry *entry = &point->entry;
    char chosen[HX_CANDIDATE_NAME_BYTES + 32], size[HX_SIZE_BYTES];

    if (isatty(STDERR_FILENO))
        return;
    fprintf(stderr, "coll_tune: %d of %d: %s of %s: %s %.2f us", sums_of(run).done, run->npoints,
            bench_collective_names[point->collective], hx_size_format(point->bytes, size), tune_choice_text(entry, chosen), entry->us);
    if (tune_is_default(entry))
        fprintf(stderr, ", the default\n");
    else
        fprintf(stderr, ", %.2f x as fast as the default %s\n", gain(entry), entry->default_plan);
}

static int left_out(const struct tune_point *point)
{
    return point->costly + point->behind + point->untried;
}

void tune_rows_print(FILE *out, const struct tune_run *run)
{
    char chosen[HX_CANDIDATE_NAME_BYTES + 32], size[HX_SIZE_BYTES];

    fprintf(stderr, "%s", tune_clear());
    fprintf(out, "%-20s %10s" FOLD "  %-32s %10s" FOLD "  %-40s %10s" FOLD " %7s" FOLD " %6s" FOLD " %6s\n", "collective", "size",
            "default plan", "us", "chosen plan", "us", "speedup", "raced", "pruned");
    for (const struct tune_point *p = run->points; p < run->points + run->npoints; p++) {
        const struct hx_table_entry *entry = &p->entry;
        if (!p->known && !p->measured)
            continue;
        fprintf(out, "%-20s %10s" FOLD "  %-32s %10.2f" FOLD "  %-40s %10.2f" FOLD " %7.2f" FOLD, bench_collective_names[p->collective],
                hx_size_format(p->bytes, size), entry->default_plan, entry->default_us, tune_choice_text(entry, chosen), entry->us,
                gain(entry));
        if (p->known)
            fprintf(out, " %6s" FOLD " %6s\n", "-", "-");
        else
            fprintf(out, " %6d" FOLD " %6d\n", p->raced, left_out(p));
    }
}

void tune_summary(const struct tune_run *run)
{
    const struct bench_options *b = &run->o->bench;
    const struct sums s = sums_of(run);
    FILE *out = tune_out(run->o);

    tune_rows_print(out, run);
    fprintf(out, "# %d points measured, %d from the table; %d have another plan than the default\n", s.measured, s.done - s.measured, s.changed);
    fprintf(out, "# pruned: %d predicted to take more than %.0f times the best time, %d not among the fastest %d of the short run\n",
            s.costly, TUNE_COSTLY, s.behind, TUNE_WAYS);
    if (s.untried)
        fprintf(out, "# time was too short to try %d more\n", s.untried);
    fprintf(out, "# speedup: default time / chosen time, cold and warm calls; dtype %s, op %s%s\n", bench_dtype_names[b->dtype], bench_op_names[b->op],
            b->alloc ? ", memory of hx_alloc" : "");
}

/* ---- JSON ------------------------------------------------------------------------------------------------------------ */

static void add_real(struct json_object *object, const char *key, double value)
{
    json_add_real(object, key, "%.6g", value);
}

static void add_interval(struct json_object *object, const struct tune_interval *ratio)
{
    add_real(object, "ratio_low", ratio->low);
    add_real(object, "ratio_high", ratio->high);
}

static const char not_shown[] = "not shown to be faster by the least gain";

/* The fate of a plan that raced. */
static const char *fate(const struct tune_survey *survey, int w, double least_gain)
{
    const struct tune_lap *lap = &survey->plans[w].lap;

    if (w == survey->winner)
        return w ? "chosen" : "the default, kept";
    if (w == 0)
        return "the default";
    if (lap->rounds < survey->plans[0].lap.rounds)
        return "left out: it could not win any more";
    if (isfinite(lap->ratio.high) && lap->ratio.high < 1 / (1 + least_gain))
        return "faster than the default, but another plan won, or it did not win the final race";
    return not_shown;
}

static void way_add(struct json_object *ways, const char *name, const struct tune_plan *plan, int raced, double ratio, const char *end)
{
    struct json_object *j = json_object_new_object();

    json_add_text(j, "plan", name);
    json_add_flag(j, "raced", raced);
    add_real(j, "predicted_us", plan->predicted_us);
    add_real(j, "us", plan->lap.ns / 1e3);
    add_real(j, "ratio", ratio);
    add_interval(j, &plan->lap.ratio);
    json_add_int(j, "rounds", plan->lap.rounds);
    json_add_text(j, "fate", end);
    json_object_array_add(ways, j);
}

static struct json_object *ways_json(const struct tune_point *point, const struct tune_survey *survey, double least_gain)
{
    struct json_object *ways = json_object_new_array();
    double best_us = INFINITY;
    char text[128];

    for (int w = 0; w < survey->raced; w++) {
        best_us = fmin(best_us, survey->plans[w].predicted_us);
        way_add(ways, survey->plans[w].name, &survey->plans[w], 1, survey->plans[w].lap.ratio.median, fate(survey, w, least_gain));
    }
    for (const struct tune_plan *slice = survey->slices + 1; slice < survey->slices + survey->nslices; slice++) {
        snprintf(text, sizeof(text), "slices of %llu bytes", (unsigned long long)slice->slice_bytes);
        way_add(ways, text, slice, 0, slice->lap.ratio.median, slice->slice_bytes == point->entry.slice_bytes ? "chosen" : not_shown);
    }
    for (int i = survey->raced; i < survey->n + survey->costly; i++) {
        const struct tune_plan *plan = &survey->plans[i];
        const double ratio = plan->us > 0 ? plan->us / survey->plans[0].us : 0;
        if (ratio > 0)
            snprintf(text, sizeof(text), "left out: %.2f times the default's time in the short run", ratio);
        else if (i >= survey->n)
            snprintf(text, sizeof(text), "left out: predicted to take %.1f times the shortest predicted time", plan->predicted_us / best_us);
        else
            snprintf(text, sizeof(text), "%s", point->untried ? "not tried: time was too short" : "left out, because the plan of the size before needed its place");
        way_add(ways, plan->name, plan, 0, ratio, text);
    }
    return ways;
}

struct json_object *tune_point_json(const struct tune_run *run, const struct tune_point *point)
{
    const struct hx_table_entry *e = &point->entry;
    const struct tune_survey *survey = &run->survey;
    struct bench_row row = {.collective = point->collective, .bytes = point->bytes, .count = point->count};
    struct json_object *j = json_object_new_object();
    char text[HX_CANDIDATE_NAME_BYTES + 32];

    json_add_text(j, "collective", bench_collective_names[point->collective]);
    json_add_int(j, "bytes", (int64_t)point->bytes);
    json_add_flag(j, "known", point->known);
    json_add_text(j, "default_plan", e->default_plan);
    add_real(j, "default_us", e->default_us);
    json_add_text(j, "plan", e->plan);
    json_add_int(j, "slice_bytes", (int64_t)e->slice_bytes);
    json_add_text(j, "choice", tune_choice_text(e, text));
    json_add_flag(j, "is_default", tune_is_default(e));
    add_real(j, "us", e->us);
    if (point->known)
        return j;
    bench_bound_set(&run->o->bench, &run->job, 0, &row);
    add_real(j, "bound_us", row.bound_us);
    if (survey->winner)
        add_interval(j, &survey->gain);
    json_add_int(j, "rounds", survey->rounds);
    json_add_int(j, "spoiled", survey->spoiled);
    add_real(j, "seconds", survey->seconds);
    json_add_int(j, "raced", point->raced);
    json_add_int(j, "left_out", left_out(point));
    json_add_int(j, "pruned", left_out(point));
    json_object_object_add(j, "ways", ways_json(point, survey, run->o->least_gain));
    return j;
}

struct json_object *tune_json(const struct tune_run *run, int complete)
{
    struct json_object *j = bench_facts_json(&run->o->bench, &run->job), *points = json_object_new_array();

    json_add_int(j, "hierax_tune", REPORT_VERSION);
    json_add_text(j, "loop", "mixed");
    json_add_text(j, "begun", run->begun);
    json_add_text(j, "table", run->o->output);
    add_real(j, "elapsed_s", hx_now_s() - run->begin_s);
    add_real(j, "budget_s", run->o->budget_s);
    add_real(j, "least_gain", run->o->least_gain);
    json_add_int(j, "wanted", run->npoints);
    json_add_flag(j, "complete", complete);
    for (const struct tune_point *p = run->points; p < run->points + run->npoints; p++)
        if (p->known || p->measured)
            json_object_array_add(points, p->known ? tune_point_json(run, p) : json_object_get(p->report));
    json_object_object_add(j, "points", points);
    return j;
}
