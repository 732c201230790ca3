/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_tune's report: what was tried at each point, what won by how much, what was left out and why, and where the time went. */
#include "tools/common/bench_backend.h"
#include "tools/tune/coll_tune.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_SIZES = TUNE_SIZES, MAX_PLANS = 10 };

/* The points of a collective. */
struct chapter {
    struct report *report;
    const struct tune_point *points[MAX_SIZES];
    const struct tune_story *stories[MAX_SIZES];
    int n;
    double bytes[MAX_SIZES], bound[MAX_SIZES], gain[MAX_SIZES], gain_low[MAX_SIZES], gain_high[MAX_SIZES];
    double us[MAX_PLANS][MAX_SIZES];
    const char *plans[MAX_PLANS];
    int nplans, more; /* plans that are only in the tables */
    struct svg_marker crossovers[MAX_SIZES];
    char labels[MAX_SIZES][SVG_TEXT_BYTES];
    int ncrossovers;
};

static double gain_of(const struct hx_table_entry *e)
{
    return e->us > 0 && e->default_us > 0 ? e->default_us / e->us : NAN;
}

static const char *percent(double ratio, char text[32])
{
    if (isfinite(ratio))
        snprintf(text, 32, "%+.1f %%", (ratio - 1) * 100);
    else
        snprintf(text, 32, "-");
    return text;
}

static const char *interval(const struct tune_interval *t, char text[80])
{
    char low[32], high[32];

    if (isfinite(t->low) && isfinite(t->high) && t->low > 0)
        snprintf(text, 80, "%s .. %s", percent(t->low, low), percent(t->high, high));
    else
        snprintf(text, 80, "-");
    return text;
}

/* ---- plots ----------------------------------------------------------------------------------------------------------- */

static void plan_place(struct chapter *ch, const char *name, int point, double us)
{
    int p = 0;

    while (p < ch->nplans && strcmp(ch->plans[p], name))
        p++;
    if (p == MAX_PLANS) {
        ch->more = 1;
        return;
    }
    if (p == ch->nplans) {
        ch->plans[ch->nplans++] = name;
        for (int i = 0; i < ch->n; i++)
            ch->us[p][i] = NAN;
    }
    ch->us[p][point] = us > 0 ? us : NAN;
}

/* Curves are for the chosen plans first, then for the defaults, then for who else ran. */
static void plans_place(struct chapter *ch)
{
    for (int i = 0; i < ch->n; i++)
        plan_place(ch, ch->points[i]->entry.plan, i, NAN);
    for (int i = 0; i < ch->n; i++)
        plan_place(ch, ch->points[i]->entry.default_plan, i, ch->points[i]->entry.default_us);
    for (int i = 0; i < ch->n; i++)
        for (int w = 0; w < ch->stories[i]->nways; w++)
            plan_place(ch, ch->stories[i]->ways[w].name, i, ch->stories[i]->ways[w].lap.ns / 1e3);
    for (int i = 0; i < ch->n; i++)
        plan_place(ch, ch->points[i]->entry.plan, i, ch->points[i]->entry.us);
}

static void curves_make(struct chapter *ch)
{
    for (int i = 0; i < ch->n; i++) {
        const struct tune_story *story = ch->stories[i];
        const struct hx_table_entry *e = &ch->points[i]->entry;
        ch->bytes[i] = (double)ch->points[i]->bytes;
        ch->bound[i] = story->bound_us > 0 ? story->bound_us : NAN;
        ch->gain[i] = gain_of(e);
        ch->gain_low[i] = ch->gain_high[i] = NAN;
        if (!e->slice_bytes && story->winner && isfinite(story->gain.low) && isfinite(story->gain.high)) {
            ch->gain_low[i] = 1 / story->gain.high;
            ch->gain_high[i] = 1 / story->gain.low;
        }
        if (i == 0 || !strcmp(ch->points[i - 1]->entry.plan, e->plan))
            continue;
        struct svg_marker *m = &ch->crossovers[ch->ncrossovers];
        m->x = sqrt(ch->bytes[i - 1] * ch->bytes[i]);
        m->label = svg_value(SVG_BYTES, m->x, ch->labels[ch->ncrossovers++]);
    }
    plans_place(ch);
}

static void plots_write(struct chapter *ch)
{
    struct svg_series series[MAX_PLANS + 1];
    const char *collective = bench_collective_names[ch->points[0]->collective];
    char title[96], stem[96];
    int n = 0, known = 0;

    for (; n < ch->nplans; n++)
        series[n] = (struct svg_series){.name = ch->plans[n], .x = ch->bytes, .y = ch->us[n], .n = ch->n};
    for (int i = 0; i < ch->n; i++)
        known |= ch->bound[i] > 0;
    series[n] = (struct svg_series){.name = "lower bound", .x = ch->bytes, .y = ch->bound, .n = ch->n, .dashed = 1};
    struct svg_plot time = {.title = title, .series = series, .nseries = n + known, .markers = ch->crossovers, .nmarkers = ch->ncrossovers,
                            .x = {"vector", SVG_BYTES, 1}, .y = {"median time of what was tried", SVG_US, 1}};
    snprintf(title, sizeof(title), "%s: time", collective);
    snprintf(stem, sizeof(stem), "%s-time", collective);
    report_columns_begin(ch->report);
    report_plot(ch->report, stem, &time);
    struct svg_series gain = {.name = "chosen plan (whiskers: 95 %)", .x = ch->bytes, .y = ch->gain, .low = ch->gain_low, .high = ch->gain_high,
                              .n = ch->n};
    struct svg_plot gains = {.title = title, .series = &gain, .nseries = 1, .level = 1, .markers = ch->crossovers, .nmarkers = ch->ncrossovers,
                             .x = {"vector", SVG_BYTES, 1}, .y = {"times as fast as the default", SVG_NUMBER, 0}};
    snprintf(title, sizeof(title), "%s: gain", collective);
    snprintf(stem, sizeof(stem), "%s-gain", collective);
    report_plot(ch->report, stem, &gains);
    report_columns_end(ch->report);
    if (ch->more)
        report_text(ch->report, "More plans raced than are drawn: the tables have them.");
}

/* ---- tables ---------------------------------------------------------------------------------------------------------- */

static void points_table(struct chapter *ch)
{
    static const char *const heads[] = {"bytes", "default plan", "µs", "chosen plan", "µs", "gain", "time to the default's, 95 %", "rounds", "seconds",
                                        "raced", "left out"};
    struct report *r = ch->report;
    char text[HX_CANDIDATE_NAME_BYTES + 64];

    report_table_begin(r, "rlrlrrlrrrr", heads);
    for (int i = 0; i < ch->n; i++) {
        const struct tune_point *point = ch->points[i];
        const struct tune_story *story = ch->stories[i];
        report_cell(r, "%llu", (unsigned long long)point->bytes);
        report_cell(r, "%s", point->entry.default_plan);
        report_cell(r, "%.2f", point->entry.default_us);
        report_cell(r, "%s", tune_is_default(&point->entry) ? "the default" : tune_choice_text(&point->entry, text));
        report_cell(r, "%.2f", point->entry.us);
        report_cell(r, "%.2f", gain_of(&point->entry));
        report_cell(r, "%s", point->known ? "from the table" : story->winner ? interval(&story->gain, text) : "-");
        report_cell(r, point->known ? "-" : "%d", story->rounds);
        report_cell(r, point->known ? "-" : "%.1f", story->seconds);
        report_cell(r, point->known ? "-" : "%d", point->raced);
        report_cell(r, point->known ? "-" : "%d", point->costly + point->behind + point->untried);
    }
    report_table_end(r);
}

static const char not_shown[] = "not shown to be faster by the least gain";

/* What became of a way. */
static const char *fate(const struct tune_story *story, int w, const struct tune_lap *laps_of_default, double least_gain)
{
    const struct tune_lap *lap = &story->ways[w].lap;

    if (w == story->winner)
        return w ? "chosen" : "the default, kept";
    if (w == 0)
        return "the default";
    if (lap->rounds < laps_of_default->rounds)
        return "dropped: it could not win any more";
    if (isfinite(lap->ratio.high) && lap->ratio.high < 1 / (1 + least_gain))
        return "faster than the default here, but not the choice, or not again alone against it";
    return not_shown;
}

static void way_row(struct report *r, const struct tune_way *way, const char *end)
{
    char text[80];

    report_cell(r, "%s", way->name);
    report_cell(r, way->predicted_us > 0 ? "%.2f" : "-", way->predicted_us);
    report_cell(r, way->lap.rounds ? "%.2f" : "-", way->lap.ns / 1e3);
    report_cell(r, "%s", percent(way->lap.rounds ? way->lap.ratio.median : NAN, text));
    report_cell(r, "%s", way->lap.rounds ? interval(&way->lap.ratio, text) : "-");
    report_cell(r, way->lap.rounds ? "%d" : "-", way->lap.rounds);
    report_cell(r, "%s", end);
}

static void story_write(struct report *r, const struct tune_point *point, const struct tune_story *story, double least_gain)
{
    static const char *const heads[] = {"plan", "predicted µs", "measured µs", "to the default", "95 %", "rounds", "what became of it"};
    double best_us = INFINITY;
    char text[128], size[SVG_TEXT_BYTES];

    for (int w = 0; w < story->nways; w++)
        best_us = fmin(best_us, story->ways[w].predicted_us);
    report_details_begin(r, "%s: %d raced in %.1f s, %d left out; %d rounds dropped, which the hypervisor spoiled",
                         svg_value(SVG_BYTES, (double)point->bytes, size), story->nways, story->seconds, story->npruned, story->spoiled);
    report_table_begin(r, "lrrrlrl", heads);
    for (int w = 0; w < story->nways; w++)
        way_row(r, &story->ways[w], fate(story, w, &story->ways[0].lap, least_gain));
    for (int w = 1; w < story->nslices; w++)
        way_row(r, &story->slices[w], point->entry.slice_bytes && strstr(story->slices[w].name, "slices of") &&
                strtoull(story->slices[w].name + strlen("slices of "), NULL, 10) == point->entry.slice_bytes ? "chosen" : not_shown);
    for (int i = 0; i < story->npruned; i++) {
        const struct tune_way *way = &story->pruned[i];
        if (way->lap.ratio.median > 0)
            snprintf(text, sizeof(text), "left out: %.2f times the default's time in the qualifying", way->lap.ratio.median);
        else if (i < story->npruned - point->costly)
            snprintf(text, sizeof(text), "%s", point->untried ? "not tried: time was too short" : "left out for the plan of the size before");
        else
            snprintf(text, sizeof(text), "left out: predicted to take %.1f times the cheapest one's time", way->predicted_us / best_us);
        way_row(r, way, text);
    }
    report_table_end(r);
    report_details_end(r);
}

/* ---- the page -------------------------------------------------------------------------------------------------------- */

static int is_there(const struct tune_point *point)
{
    return point->measured || point->known;
}

/* All points of the collective of the first that are there. */
static void chapter_write(struct report *r, const struct tune_book *b, int first, struct chapter *ch)
{
    *ch = (struct chapter){.report = r};
    for (int i = first; i < b->n && b->points[i].collective == b->points[first].collective; i++)
        if (is_there(&b->points[i])) {
            ch->points[ch->n] = &b->points[i];
            ch->stories[ch->n++] = &b->stories[i];
        }
    if (ch->n == 0)
        return;
    curves_make(ch);
    report_section(r, bench_collective_names[ch->points[0]->collective]);
    if (ch->n > 1)
        plots_write(ch);
    points_table(ch);
    for (int i = 0; i < ch->n; i++)
        if (ch->points[i]->measured)
            story_write(r, ch->points[i], ch->stories[i], b->o->least_gain);
}

static void facts(struct report *r, const struct tune_book *b, int done)
{
    const struct bench_job *job = b->job;
    int changed = 0, measured = 0, at = 0;
    double sum = 0;
    char text[BENCH_TEXT_BYTES];

    for (int i = 0; i < b->n; i++) {
        const struct tune_point *point = &b->points[i];
        double gain = gain_of(&point->entry);
        measured += point->measured;
        if (is_there(point) && !tune_is_default(&point->entry) && gain > 0) {
            changed++;
            sum += log(gain);
        }
    }
    report_facts_begin(r);
    report_fact(r, "found", "another plan than the default's at %d of %d points; there %.2f times as fast as it (geometric mean)", changed, done,
                changed ? exp(sum / changed) : 1);
    report_fact(r, "time", "%.0f s of a budget of %.0f s; %d points measured, %d from the table, %d missing", b->elapsed_s, b->o->budget_s,
                measured, done - measured, b->n - done);
    report_fact(r, "table", "%s", b->output);
    report_fact(r, "library", "%s", bench_backend_name());
    report_fact(r, "command", "%s", b->o->bench.command);
    for (const char *setting; (setting = bench_setting(&at));)
        report_fact(r, "setting", "%s", setting);
    report_fact(r, "shape", "%d ranks on %d node%s%s, at most %d per node", job->size, job->nodes, job->nodes == 1 ? "" : "s",
                job->nodes > job->machines ? " (emulated)" : "", job->max_local);
    report_fact(r, "network", "%s", job->network);
    report_fact(r, "machine", "%s", bench_machine(text));
    gethostname(text, sizeof(text) - 1);
    report_fact(r, "host", "%s", text);
    report_fact(r, "begun", "%s", b->begun);
    report_fact(r, "elements", "%s, %s%s", bench_dtype_names[b->o->bench.dtype], bench_op_names[b->o->bench.op],
                b->o->bench.alloc ? ", memory of hx_alloc" : "");
    report_facts_end(r);
}

int tune_html_write(const struct tune_book *b, char error[OPTION_TEXT_BYTES])
{
    struct chapter *ch = malloc(sizeof(*ch));
    struct report r;
    char title[128];
    int done = 0;

    if (!ch) {
        snprintf(error, OPTION_TEXT_BYTES, "no memory for a report");
        return -1;
    }
    for (int i = 0; i < b->n; i++)
        done += is_there(&b->points[i]);
    snprintf(title, sizeof(title), "coll_tune: %d ranks on %d node%s", b->job->size, b->job->nodes, b->job->nodes == 1 ? "" : "s");
    report_begin(&r, &b->o->bench.report, title);
    if (!b->complete)
        report_warning(&r, "%d of %d points are there: the run was still under way, was broken off, or had no time left. --resume goes on.", done,
                       b->n);
    facts(&r, b, done);
    report_text(&r, "Gain: times as fast as the default, the cost model's choice. A plan is chosen only where it was shown to be faster than the "
                    "default by more than the least gain, %.0f %%, twice, or once where it is kept from the size before; intervals hold the median ratio with 95 %%. Dotted vertical lines are "
                    "crossovers. The lower bound has no term of memory here. coll_tune --help tells the method.", b->o->least_gain * 100);
    for (int i = 0; i < b->n; i++)
        if (i == 0 || b->points[i].collective != b->points[i - 1].collective)
            chapter_write(&r, b, i, ch);
    free(ch);
    return report_end(&r, error);
}
