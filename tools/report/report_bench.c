/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports of what coll_bench measured: see report_bench.h. A document may come from a file, so whatever is missing in it is left out. */
#include "tools/report/report_bench.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SIZES = 64, MAX_PLANS = 12, STEM_BYTES = 96, NAME_BYTES = 192 };

/* The rows of one run for one collective. */
struct curve {
    int n;
    struct json_object *rows[MAX_SIZES];
    double bytes[MAX_SIZES], median[MAX_SIZES], low[MAX_SIZES], high[MAX_SIZES], bound[MAX_SIZES], gbps[MAX_SIZES];
};

struct chapter { /* a collective */
    struct report *report;
    struct json_object *const *documents;
    int n;
    const char *collective;
    struct curve curves[REPORT_MAX_RUNS];
    struct svg_marker crossovers[MAX_SIZES];
    char labels[MAX_SIZES][SVG_TEXT_BYTES];
    int ncrossovers;
};

/* ---- reading --------------------------------------------------------------------------------------------------------- */

static struct json_object *member(struct json_object *object, const char *key)
{
    struct json_object *value = NULL;

    if (json_object_is_type(object, json_type_object))
        json_object_object_get_ex(object, key, &value);
    return value;
}

static const char *text_of(struct json_object *object, const char *key)
{
    struct json_object *value = member(object, key);

    return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

static double real_of(struct json_object *object, const char *key)
{
    struct json_object *value = member(object, key);
    int is_number = json_object_is_type(value, json_type_double) || json_object_is_type(value, json_type_int);

    return is_number ? json_object_get_double(value) : NAN;
}

static long long int_of(struct json_object *object, const char *key)
{
    struct json_object *value = member(object, key);

    return json_object_is_type(value, json_type_int) ? (long long)json_object_get_int64(value) : 0;
}

static int flag_of(struct json_object *object, const char *key)
{
    return json_object_get_boolean(member(object, key));
}

static size_t row_count(struct json_object *document)
{
    struct json_object *rows = member(document, "rows");

    return json_object_is_type(rows, json_type_array) ? json_object_array_length(rows) : 0;
}

static struct json_object *row_at(struct json_object *document, size_t i)
{
    return json_object_array_get_idx(member(document, "rows"), i);
}

const char *report_bench_refused(struct json_object *document)
{
    if (!json_object_is_type(document, json_type_object) || !json_object_is_type(member(document, "rows"), json_type_array) ||
        !text_of(document, "library")[0])
        return "this is no JSON document of coll_bench";
    for (size_t i = 0; i < row_count(document); i++)
        if (!text_of(row_at(document, i), "collective")[0] || !(real_of(row_at(document, i), "bytes") >= 0))
            return "a row has no \"collective\" or no \"bytes\"";
    return NULL;
}

static void curve_read(struct curve *c, struct json_object *document, const char *collective)
{
    c->n = 0;
    for (size_t i = 0; i < row_count(document) && c->n < MAX_SIZES; i++) {
        struct json_object *row = row_at(document, i);
        double bound = real_of(row, "bound_us");
        if (strcmp(text_of(row, "collective"), collective))
            continue;
        c->rows[c->n] = row;
        c->bytes[c->n] = real_of(row, "bytes");
        c->median[c->n] = real_of(row, "median_us");
        c->low[c->n] = real_of(row, "min_us");
        c->high[c->n] = real_of(row, "p99_us");
        c->bound[c->n] = bound > 0 ? bound : NAN;
        c->gbps[c->n++] = real_of(row, "bus_gbps");
    }
}

/* The row of the same size, or -1. */
static int same_size(const struct curve *c, double bytes)
{
    for (int i = 0; i < c->n; i++)
        if (c->bytes[i] == bytes)
            return i;
    return -1;
}

/* Where the first run's plan changes: half-way between the two sizes, as the sizes are drawn. */
static void crossovers_find(struct chapter *ch)
{
    const struct curve *c = &ch->curves[0];

    ch->ncrossovers = 0;
    for (int i = 1; i < c->n; i++) {
        const char *before = text_of(c->rows[i - 1], "plan"), *after = text_of(c->rows[i], "plan");
        if (!before[0] || !after[0] || !strcmp(before, after) || !(c->bytes[i - 1] > 0))
            continue;
        struct svg_marker *m = &ch->crossovers[ch->ncrossovers];
        m->x = sqrt(c->bytes[i - 1] * c->bytes[i]);
        m->label = svg_value(SVG_BYTES, m->x, ch->labels[ch->ncrossovers++]);
    }
}

/* ---- plots ----------------------------------------------------------------------------------------------------------- */

static void plot_put(struct chapter *ch, const char *what, const char *y_title, enum svg_unit y_unit, int y_log, double level,
                     const struct svg_series *series, int nseries)
{
    char stem[STEM_BYTES], title[STEM_BYTES];
    struct svg_plot plot = {.title = title, .series = series, .nseries = nseries, .level = level, .markers = ch->crossovers,
                            .nmarkers = ch->ncrossovers, .x = {"vector", SVG_BYTES, 1}, .y = {y_title, y_unit, y_log}};

    snprintf(title, sizeof(title), "%.40s: %s", ch->collective, what);
    snprintf(stem, sizeof(stem), "%.40s-%s", ch->collective, what);
    for (char *c = stem; *c; c++)
        if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789_-", *c))
            *c = '_';
    report_plot(ch->report, stem, &plot);
}

/* The number of curves that this adds: 1, if any bound is known. */
static int bound_add(const struct curve *c, struct svg_series *series)
{
    int known = 0;

    for (int i = 0; i < c->n; i++)
        known |= c->bound[i] > 0;
    *series = (struct svg_series){.name = "lower bound", .x = c->bytes, .y = c->bound, .n = c->n, .dashed = 1};
    return known;
}

/* A curve per plan, each where it was the one that ran. */
static void plot_plans(struct chapter *ch)
{
    const struct curve *c = &ch->curves[0];
    struct svg_series series[MAX_PLANS + 1];
    double median[MAX_PLANS][MAX_SIZES];
    int n = 0;

    for (int i = 0; i < c->n; i++) {
        const char *plan = text_of(c->rows[i], "plan");
        int s = 0;
        plan = plan[0] ? plan : text_of(ch->documents[0], "library");
        while (s < n && strcmp(series[s].name, plan))
            s++;
        if (s == MAX_PLANS)
            continue; /* the table has it */
        if (s == n) {
            series[n++] = (struct svg_series){.name = plan, .x = c->bytes, .y = median[s], .low = c->low, .high = c->high, .n = c->n};
            for (int k = 0; k < c->n; k++)
                median[s][k] = NAN;
        }
        median[s][i] = c->median[i];
    }
    n += bound_add(c, &series[n]);
    plot_put(ch, "time", "median time (whiskers: least, 99th percentile)", SVG_US, 1, 0, series, n);
}

static void plot_bandwidth(struct chapter *ch)
{
    const struct curve *c = &ch->curves[0];
    const struct svg_series series = {.name = "bus bandwidth", .x = c->bytes, .y = c->gbps, .n = c->n};

    plot_put(ch, "bandwidth", "bus bandwidth, GB/s", SVG_NUMBER, 0, 0, &series, 1);
}

static void plot_libraries(struct chapter *ch)
{
    struct svg_series series[REPORT_MAX_RUNS + 1];
    int n = 0;

    for (; n < ch->n; n++)
        series[n] = (struct svg_series){.name = text_of(ch->documents[n], "library"), .x = ch->curves[n].bytes,
                                        .y = ch->curves[n].median, .n = ch->curves[n].n};
    n += bound_add(&ch->curves[0], &series[n]);
    plot_put(ch, "time", "median time", SVG_US, 1, 0, series, n);
}

/* Of the first run's row to another run; *low and *high its spread, NAN where nothing tells it. */
static double ratio_of(const struct chapter *ch, int i, int other, double *low, double *high)
{
    const struct curve *c = &ch->curves[0], *against = &ch->curves[other];
    int k = same_size(against, c->bytes[i]);
    double told = other == 1 ? real_of(c->rows[i], "ratio") : NAN;

    *low = told > 0 ? real_of(c->rows[i], "ratio_min") : NAN;
    *high = told > 0 ? real_of(c->rows[i], "ratio_max") : NAN;
    if (told > 0)
        return told;
    return k >= 0 && against->median[k] > 0 ? c->median[i] / against->median[k] : NAN;
}

static void plot_ratios(struct chapter *ch)
{
    const struct curve *c = &ch->curves[0];
    struct svg_series series[REPORT_MAX_RUNS];
    double y[REPORT_MAX_RUNS][3][MAX_SIZES];
    char names[REPORT_MAX_RUNS][NAME_BYTES];
    int nseries = 0;

    for (int d = 1; d < ch->n; d++) {
        double sum = 0;
        int n = 0;
        for (int i = 0; i < c->n; i++) {
            y[d][0][i] = ratio_of(ch, i, d, &y[d][1][i], &y[d][2][i]);
            if (y[d][0][i] > 0) {
                sum += log(y[d][0][i]);
                n++;
            }
        }
        if (!n) /* no size in common */
            continue;
        snprintf(names[d], NAME_BYTES, "to %.100s: geometric mean %.3f", text_of(ch->documents[d], "library"), exp(sum / n));
        series[nseries++] = (struct svg_series){.name = names[d], .x = c->bytes, .y = y[d][0], .low = y[d][1], .high = y[d][2], .n = c->n};
    }
    if (nseries)
        plot_put(ch, "ratio", "ratio of times; below 1 the first is faster", SVG_NUMBER, 1, 1, series, nseries);
}

/* ---- tables ---------------------------------------------------------------------------------------------------------- */

static void cell_real(struct report *r, const char *format, double value)
{
    char text[64] = "-";

    if (isfinite(value) && value > 0)
        snprintf(text, sizeof(text), format, value);
    report_cell(r, "%s", text);
}

static void table_one(struct chapter *ch)
{
    static const char *const heads[] = {"bytes", "median µs", "p99 µs", "min µs", "GB/s", "bound µs", "% bound", "bound by",
                                        "calls", "repetitions", "rounds", "sent/rank", "plan"};
    const struct curve *c = &ch->curves[0];
    struct report *r = ch->report;
    int plans = c->n && text_of(c->rows[0], "plan")[0];

    report_table_begin(r, plans ? "rrrrrrrlrrrrl" : "rrrrrrrlrr", heads);
    for (int i = 0; i < c->n; i++) {
        report_cell(r, "%.0f", c->bytes[i]);
        cell_real(r, "%.3f", c->median[i]);
        cell_real(r, "%.3f", c->high[i]);
        cell_real(r, "%.3f", c->low[i]);
        cell_real(r, "%.3f", c->gbps[i]);
        cell_real(r, "%.3f", c->bound[i]);
        cell_real(r, "%.1f", real_of(c->rows[i], "bound_percent"));
        report_cell(r, "%s", text_of(c->rows[i], "bound_term"));
        report_cell(r, "%lld", int_of(c->rows[i], "iterations"));
        report_cell(r, "%lld", int_of(c->rows[i], "repetitions"));
        if (!plans)
            continue;
        report_cell(r, "%lld", int_of(c->rows[i], "rounds"));
        report_cell(r, "%lld", int_of(c->rows[i], "sent_bytes"));
        report_cell(r, "%s", text_of(c->rows[i], "plan"));
    }
    report_table_end(r);
}

static void table_several(struct chapter *ch)
{
    const struct curve *c = &ch->curves[0];
    struct report *r = ch->report;
    char names[REPORT_MAX_RUNS][NAME_BYTES], alignment[3 * REPORT_MAX_RUNS + 3] = "rr";
    const char *heads[3 * REPORT_MAX_RUNS + 3] = {"bytes", names[0]};
    int n = 2;

    for (int d = 0; d < ch->n; d++)
        snprintf(names[d], NAME_BYTES, "%.100s, µs", text_of(ch->documents[d], "library"));
    for (int d = 1; d < ch->n; d++) {
        heads[n] = names[d], heads[n + 1] = "ratio", heads[n + 2] = "spread";
        memcpy(alignment + n, "rrl", 4);
        n += 3;
    }
    heads[n] = "plan of the first";
    memcpy(alignment + n, "l", 2);
    report_table_begin(r, alignment, heads);
    for (int i = 0; i < c->n; i++) {
        report_cell(r, "%.0f", c->bytes[i]);
        cell_real(r, "%.3f", c->median[i]);
        for (int d = 1; d < ch->n; d++) {
            double low, high, ratio = ratio_of(ch, i, d, &low, &high);
            int k = same_size(&ch->curves[d], c->bytes[i]);
            cell_real(r, "%.3f", k < 0 ? NAN : ch->curves[d].median[k]);
            cell_real(r, "%.3f", ratio);
            report_cell(r, low > 0 && high > 0 ? "%.3f .. %.3f" : "-", low, high);
        }
        report_cell(r, "%s", text_of(c->rows[i], "plan"));
    }
    report_table_end(r);
}

/* ---- the page -------------------------------------------------------------------------------------------------------- */

static void settings_list(struct json_object *document, char text[1024])
{
    struct json_object *list = member(document, "settings");
    size_t used = 0, n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;

    text[0] = '\0';
    for (size_t i = 0; i < n && used < 900; i++)
        used += (size_t)snprintf(text + used, 1024 - used, "%s%.100s", i ? "  " : "", json_object_get_string(json_object_array_get_idx(list, i)));
}

static void facts(struct report *r, struct json_object *d)
{
    const long long nodes = int_of(d, "nodes"), machines = int_of(d, "machines");
    double hop_ns = real_of(d, "hop_ns"), alpha_us = real_of(d, "alpha_us"), node_gbps = real_of(d, "node_gbps");
    double wire_us = real_of(d, "wire_us"), wire_gbps = real_of(d, "wire_gbps"), one_way_gbps = real_of(d, "wire_one_way_gbps");
    char settings[1024];

    settings_list(d, settings);
    report_facts_begin(r);
    report_fact(r, "command", "%s", text_of(d, "command"));
    report_fact(r, "launches", "%s", text_of(d, "launches"));
    report_fact(r, "settings", "%s", settings);
    report_fact(r, "shape", "%lld ranks on %lld node%s%s, at most %lld per node", int_of(d, "ranks"), nodes, nodes == 1 ? "" : "s",
                nodes > machines ? " (emulated)" : "", int_of(d, "max_ranks_per_node"));
    report_fact(r, "network", "%s", text_of(d, "network"));
    report_fact(r, "machine", "%s", text_of(d, "machine"));
    report_fact(r, "host", "%s", text_of(d, "host"));
    report_fact(r, "begun", "%s", text_of(d, "begun"));
    report_fact(r, "elements", "%s, %s%s%s%s", text_of(d, "dtype"), text_of(d, "op"), flag_of(d, "in_place") ? ", in place" : "",
                flag_of(d, "alloc") ? ", in memory of the library" : "",
                flag_of(d, "check") ? ", results of the last calls of each repetition compared with a reference" : "");
    report_fact(r, "for the bound", hop_ns > 0 ? "a hop between cores %.0f ns, reading what another wrote %.1f GB/s" : "", hop_ns,
                real_of(d, "dirty_gbps"));
    report_fact(r, "plain TCP between nodes",
                one_way_gbps > 0 ? "%.3g µs, %.3g GB/s each way with all nodes at once, %.3g GB/s one way"
                : wire_gbps > 0  ? "%.3g µs, %.3g GB/s each way with all nodes at once"
                : wire_us > 0    ? "%.3g µs"
                                 : "",
                wire_us, wire_gbps, one_way_gbps);
    report_fact(r, "network bound", alpha_us > 0 || node_gbps > 0 ? "%.3g µs, %.4g GB/s per node, as given" : "", alpha_us, node_gbps);
    report_facts_end(r);
}

static void chapter_write(struct chapter *ch)
{
    for (int d = 0; d < ch->n; d++)
        curve_read(&ch->curves[d], ch->documents[d], ch->collective);
    crossovers_find(ch);
    report_section(ch->report, ch->collective);
    if (ch->curves[0].n > 1) {
        report_columns_begin(ch->report);
        if (ch->n == 1) {
            plot_plans(ch);
            plot_bandwidth(ch);
        } else {
            plot_libraries(ch);
            plot_ratios(ch);
        }
        report_columns_end(ch->report);
    }
    if (ch->n == 1)
        table_one(ch);
    else
        table_several(ch);
}

/* Is this row the first of its collective? */
static int is_first(struct json_object *document, size_t row)
{
    for (size_t i = 0; i < row; i++)
        if (!strcmp(text_of(row_at(document, i), "collective"), text_of(row_at(document, row), "collective")))
            return 0;
    return 1;
}

static void page_write(struct report *r, struct json_object *const *documents, int n, struct chapter *ch)
{
    report_columns_begin(r);
    for (int d = 0; d < n; d++) {
        report_column_begin(r, text_of(documents[d], "library"));
        if (member(documents[d], "complete") && !flag_of(documents[d], "complete"))
            report_warning(r, "This run was still under way, or was broken off: what follows is what it had measured.");
        facts(r, documents[d]);
        report_column_end(r);
    }
    report_columns_end(r);
    report_text(r, "Sizes are bytes of the whole vector or output. Dotted vertical lines are crossovers: there the library changes its plan. The lower "
                   "bound is the largest of the known terms; coll_bench --help tells them, and the method.");
    *ch = (struct chapter){.report = r, .documents = documents, .n = n};
    for (size_t i = 0; i < row_count(documents[0]); i++)
        if (is_first(documents[0], i)) {
            ch->collective = text_of(row_at(documents[0], i), "collective");
            chapter_write(ch);
        }
}

int report_bench_write(const struct report_files *files, struct json_object *const *documents, int n, char error[OPTION_TEXT_BYTES])
{
    struct chapter *ch = malloc(sizeof(*ch));
    struct json_object *d = documents[0];
    struct report r;
    char title[NAME_BYTES];

    if (!ch) {
        snprintf(error, OPTION_TEXT_BYTES, "no memory for a report");
        return -1;
    }
    if (n == 1)
        snprintf(title, sizeof(title), "%.100s: %lld ranks on %lld node%s", text_of(d, "library"), int_of(d, "ranks"), int_of(d, "nodes"),
                 int_of(d, "nodes") == 1 ? "" : "s");
    else
        snprintf(title, sizeof(title), "%.60s against %.60s%s: %lld ranks on %lld node%s", text_of(d, "library"),
                 text_of(documents[1], "library"), n > 2 ? " and others" : "", int_of(d, "ranks"), int_of(d, "nodes"),
                 int_of(d, "nodes") == 1 ? "" : "s");
    report_begin(&r, files, title);
    page_write(&r, documents, n, ch);
    free(ch);
    return report_end(&r, error);
}
