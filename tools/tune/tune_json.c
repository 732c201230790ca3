/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_tune's report as JSON: the plans tried at each point, the winner and its gain, the plans left out and why, and the time. */
#include "tools/common/bench_backend.h"
#include "tools/common/json.h"
#include "tools/tune/coll_tune.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REPORT_VERSION = 1 };

static void add_real(struct json_object *object, const char *key, double value)
{
    json_add_real(object, key, "%.6g", value);
}

static void add_interval(struct json_object *object, const struct tune_interval *ratio)
{
    add_real(object, "ratio_low", ratio->low);
    add_real(object, "ratio_high", ratio->high);
}

/* ---- ways ------------------------------------------------------------------------------------------------------------ */

static const char not_shown[] = "not shown to be faster by the least gain";

/* What became of a way that raced. */
static const char *fate(const struct tune_story *story, int w, double least_gain)
{
    const struct tune_lap *lap = &story->ways[w].lap;

    if (w == story->winner)
        return w ? "chosen" : "the default, kept";
    if (w == 0)
        return "the default";
    if (lap->rounds < story->ways[0].lap.rounds)
        return "dropped: it could not win any more";
    if (isfinite(lap->ratio.high) && lap->ratio.high < 1 / (1 + least_gain))
        return "faster than the default here, but not the choice, or not again alone against it";
    return not_shown;
}

static const char *slice_fate(const struct tune_way *way, const struct hx_table_entry *entry)
{
    const char *slice = strstr(way->name, "slices of ");
    uint64_t bytes = slice ? strtoull(slice + strlen("slices of "), NULL, 10) : 0;

    return bytes && bytes == entry->slice_bytes ? "chosen" : not_shown;
}

static void pruned_fate(const struct tune_point *point, const struct tune_story *story, int i, double best_us, char text[128])
{
    const struct tune_way *way = &story->pruned[i];

    if (way->lap.ratio.median > 0)
        snprintf(text, 128, "left out: %.2f times the default's time in the qualifying", way->lap.ratio.median);
    else if (i < story->npruned - point->costly)
        snprintf(text, 128, "%s", point->untried ? "not tried: time was too short" : "left out for the plan of the size before");
    else
        snprintf(text, 128, "left out: predicted to take %.1f times the cheapest one's time", way->predicted_us / best_us);
}

static void way_add(struct json_object *ways, const struct tune_way *way, int raced, const char *end)
{
    struct json_object *j = json_object_new_object();

    json_add_text(j, "plan", way->name);
    json_add_flag(j, "raced", raced);
    add_real(j, "predicted_us", way->predicted_us);
    add_real(j, "us", way->lap.ns / 1e3);
    add_real(j, "ratio", way->lap.ratio.median);
    add_interval(j, &way->lap.ratio);
    json_add_int(j, "rounds", way->lap.rounds);
    json_add_text(j, "fate", end);
    json_object_array_add(ways, j);
}

static struct json_object *ways_json(const struct tune_point *point, const struct tune_story *story, double least_gain)
{
    struct json_object *ways = json_object_new_array();
    double best_us = INFINITY;
    char text[128];

    for (int w = 0; w < story->nways; w++) {
        best_us = fmin(best_us, story->ways[w].predicted_us);
        way_add(ways, &story->ways[w], 1, fate(story, w, least_gain));
    }
    for (int w = 1; w < story->nslices; w++)
        way_add(ways, &story->slices[w], 0, slice_fate(&story->slices[w], &point->entry));
    for (int i = 0; i < story->npruned; i++) {
        pruned_fate(point, story, i, best_us, text);
        way_add(ways, &story->pruned[i], 0, text);
    }
    return ways;
}

/* ---- points ---------------------------------------------------------------------------------------------------------- */

static struct json_object *point_json(const struct tune_point *point, const struct tune_story *story, double least_gain)
{
    const struct hx_table_entry *e = &point->entry;
    struct json_object *j = json_object_new_object();
    char text[HX_CANDIDATE_NAME_BYTES + 64];

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
    add_real(j, "bound_us", story->bound_us);
    if (story->winner)
        add_interval(j, &story->gain);
    json_add_int(j, "rounds", story->rounds);
    json_add_int(j, "spoiled", story->spoiled);
    add_real(j, "seconds", story->seconds);
    json_add_int(j, "raced", point->raced);
    json_add_int(j, "left_out", point->costly + point->behind + point->untried);
    json_add_int(j, "pruned", story->npruned);
    json_object_object_add(j, "ways", ways_json(point, story, least_gain));
    return j;
}

struct json_object *tune_json(const struct tune_run *run, int complete)
{
    struct json_object *j = bench_facts_json(&run->o->bench, &run->job), *points = json_object_new_array();

    json_add_int(j, "hierax_tune", REPORT_VERSION);
    json_add_text(j, "begun", run->begun);
    json_add_text(j, "table", run->output);
    add_real(j, "elapsed_s", hx_now_s() - run->begin_ns / 1e9);
    add_real(j, "budget_s", run->o->budget_s);
    add_real(j, "least_gain", run->o->least_gain);
    json_add_int(j, "wanted", run->npoints);
    json_add_flag(j, "complete", complete);
    for (int i = 0; i < run->npoints; i++)
        if (run->points[i].measured || run->points[i].known)
            json_object_array_add(points, point_json(&run->points[i], &run->stories[i], run->o->least_gain));
    json_object_object_add(j, "points", points);
    return j;
}
