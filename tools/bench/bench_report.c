/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0's output: the table, and the same numbers with all parameters as JSON and CSV. */
#include "tools/common/bench_backend.h"
#include "tools/common/json.h"
#include "tools/common/report.h"
#include "tools/common/screen.h"
#include "tools/common/whole_file.h"
#include "tools/common/median.h"
#include "runtime/base/size.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BETWEEN_S 1 /* two writings of the files, while the run goes on */
#define LONG_BYTES (1 << 20) /* rows from here on may take longer than that */

static struct whole_file csv_direct; /* rows as they come, where the file is not regular: that one is written as a whole */
static struct json_object *document, *rows; /* everything; and of that the rows */
static int table = 1;
static struct report report = {.to = -1};
static double written_s;
static int unwritten; /* there are rows that the files lack */

int bench_report_open(const struct bench_options *o, char text[OPTION_TEXT_BYTES])
{
    char plots[2][PATH_MAX] = {"", ""};
    const char *const names[] = {"json", "csv", "html", "gnuplot", "gnuplot"};
    const char *const paths[] = {o->json, o->csv, o->report.html, o->report.gnuplot ? plots[0] : NULL,
                                 o->report.gnuplot ? plots[1] : NULL};

    for (int i = 0; i < 2 && o->report.gnuplot; i++)
        snprintf(plots[i], PATH_MAX, "%s%s", o->report.gnuplot, i ? ".gp" : ".dat");
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < i; k++)
            if (paths[i] && paths[k] && (!strcmp(paths[k], paths[i]) || whole_file_is_same(paths[k], paths[i]))) {
                snprintf(text, OPTION_TEXT_BYTES, "--%s and --%s both write to \"%.1000s\"", names[k], names[i], paths[i]);
                return -1;
            }
    for (int i = 0; i < 3; i++)
        table &= !paths[i] || strcmp(paths[i], "-");
    return (o->json && whole_file_check("json", o->json, text)) || (o->csv && whole_file_check("csv", o->csv, text)) ||
                   report_open(&report, &o->report, bench_backend_tool, text) ? -1 : 0;
}

static void print_unknown_bandwidth(const struct bench_options *o, const struct bench_job *job)
{
    int n = 0;
    for (int i = 0; i < o->ncollectives; i++) {
        const enum hx_function collective = (enum hx_function)o->collectives[i];
        if (collective != HX_FUNCTION_BARRIER && bench_bound_gbps(o, job, collective) <= 0)
            printf("%s%s", n++ ? ", " : "# left out of the bound: the network's bandwidth for ", bench_collective_names[collective]);
    }
    if (n)
        printf(" (give --node-bandwidth)\n");
}

static void print_unknown_terms(const struct bench_options *o, const struct bench_job *job)
{
    if (job->nodes > 1 && o->alpha_us <= 0 && job->wire_us <= 0)
        printf("# left out of the bound: the network's %s\n",
               o->node_gbps > 0 ? "latency (give --alpha)" : "terms (give --alpha and --node-bandwidth)");
    else if (job->nodes > 1)
        print_unknown_bandwidth(o, job);
    if (job->max_local > 1 && job->hop_ns <= 0)
        printf("# left out of the bound: hop and dirty (not measured: %s)\n",
               job->oversubscribed ? "more ranks than cores"
               : job->local_size < 2 ? "rank 0 is alone on its machine"
                                     : "ranks share no memory");
}

static void print_loop_terms(const struct bench_options *o)
{
    if (o->loop != BENCH_COLD)
        printf("# left out of the bound: %s (the loop is %s)\n", o->loop == BENCH_WARM ? "dirty" : "hop, dirty and latency",
               bench_loop_names[o->loop]);
}

static void print_wire(const struct bench_job *job)
{
    if (job->wire_us <= 0)
        return;
    printf("# plain TCP between nodes: %.2f us", job->wire_us);
    if (job->wire_gbps > 0)
        printf(", %.3g GB/s each way with all nodes at once", job->wire_gbps);
    if (job->wire_one_way_gbps > 0)
        printf(", %.3g GB/s one way", job->wire_one_way_gbps);
    printf("\n");
}

/* Five digits, at most three of them behind the point: more are noise. The files have four behind it. */
static const char *five_digits(double us, char text[32])
{
    snprintf(text, 32, "%.*f", us < 99.9995 ? 3 : us < 999.995 ? 2 : us < 9999.95 ? 1 : 0, us);
    return text;
}

static void print_row(const struct bench_row *row, double percent)
{
    char bound[32] = "-", share[32] = "-", predicted[32], size[HX_SIZE_BYTES], median[32], p99[32], least[32];
    if (row->bound_us > 0) {
        five_digits(row->bound_us, bound);
        snprintf(share, sizeof(share), "%.1f", percent);
    }
    printf("%-20s %10s" FOLD " %5llu" FOLD " %4llu" FOLD " %9s" FOLD " %9s" FOLD " %9s" FOLD " %7.3f" FOLD " %9s" FOLD " %7s" FOLD " %-8s",
           bench_collective_names[row->collective], hx_size_format(row->bytes, size), (unsigned long long)row->iterations,
           (unsigned long long)row->repetitions, five_digits(row->median_us, median), five_digits(row->p99_us, p99),
           five_digits(row->min_us, least), row->bus_gbps, bound, share, row->bound_term);
    if (bench_backend_tells_plans)
        printf(FOLD " %6llu" FOLD " %9s" FOLD " %9s" FOLD "  %s", (unsigned long long)row->rounds, hx_size_format(row->sent_bytes, size),
               row->predicted_us > 0 ? five_digits(row->predicted_us, predicted) : "-", row->plan);
    printf("\n");
    standard_output_flush();
}

/* ---- CSV: what the document has of the run and of a row ---------------------------------------------------------------- */

enum { QUOTED = -3, PLAIN = -2, WHOLE = -1 }; /* the kind of a column, or the digits of a real number */

static void csv_quoted(FILE *csv, const char *text)
{
    fputc('"', csv);
    for (; *text; text++)
        fprintf(csv, *text == '"' ? "\"%c" : "%c", *text);
    fputc('"', csv);
}

static const struct column {
    const char *name;
    int kind;
} columns[] = {
    {"library", QUOTED}, {"ranks", WHOLE}, {"nodes", WHOLE}, {"machines", WHOLE}, {"max_ranks_per_node", WHOLE}, {"cpus", WHOLE},
    {"dtype", PLAIN}, {"op", PLAIN}, {"in_place", WHOLE}, {"alloc", WHOLE}, {"check", WHOLE}, {"warmup", WHOLE},
    {"collective", PLAIN}, {"bytes", WHOLE}, {"count", WHOLE}, {"pairs", WHOLE}, {"iterations", WHOLE}, {"repetitions", WHOLE},
    {"min_us", 4}, {"median_us", 4}, {"p99_us", 4}, {"bus_gbps", 4}, {"bound_us", 4}, {"bound_percent", 2}, {"bound_term", PLAIN},
    {"clock_ns", 1}, {"hop_ns", 1}, {"dirty_gbps", 2}, {"alpha_us", 4}, {"node_gbps", 4}, {"wire_us", 4}, {"wire_gbps", 4},
    {"wire_one_way_gbps", 4}, {"loop", PLAIN}, {"host", QUOTED}, {"machine", QUOTED},
    {"network", QUOTED}, {"predicted_us", 4}, {"plan", QUOTED}, {"rounds", WHOLE}, {"sent_bytes", WHOLE}};
/* the last five only if bench_backend_tells_plans */

/* Print a row of the document; NULL: the head. */
static void csv_row(FILE *csv, struct json_object *row)
{
    const size_t n = sizeof(columns) / sizeof(*columns) - (bench_backend_tells_plans ? 0 : 5);

    for (const struct column *c = columns; c < columns + n; c++) {
        struct json_object *value = json_object_object_get(row, c->name);
        value = value ? value : json_object_object_get(document, c->name);
        if (!row)
            fputs(c->name, csv);
        else if (c->kind == WHOLE)
            fprintf(csv, "%lld", (long long)json_object_get_int64(value));
        else if (c->kind >= 0)
            fprintf(csv, "%.*f", c->kind, json_object_get_double(value));
        else if (c->kind == PLAIN)
            fputs(json_object_get_string(value), csv);
        else
            csv_quoted(csv, json_object_get_string(value));
        fputc(c < columns + n - 1 ? ',' : '\n', csv);
    }
}

/* ---- JSON -------------------------------------------------------------------------------------------------------------- */

/* Four digits are more than the clock holds. */
static void add_real(struct json_object *object, const char *key, double value)
{
    json_add_real(object, key, "%.4f", value);
}

static struct json_object *json_row(const struct bench_row *row, double percent)
{
    struct json_object *j = json_object_new_object();
    json_add_text(j, "collective", bench_collective_names[row->collective]);
    json_add_int(j, "bytes", row->bytes);
    json_add_int(j, "count", row->count);
    json_add_int(j, "pairs", row->pairs);
    json_add_int(j, "iterations", row->iterations);
    json_add_int(j, "repetitions", row->repetitions);
    add_real(j, "min_us", row->min_us);
    add_real(j, "median_us", row->median_us);
    add_real(j, "p99_us", row->p99_us);
    add_real(j, "bus_gbps", row->bus_gbps);
    add_real(j, "bound_us", row->bound_us);
    add_real(j, "bound_percent", percent);
    json_add_text(j, "bound_term", row->bound_term);
    if (bench_backend_tells_plans) {
        add_real(j, "predicted_us", row->predicted_us);
        json_add_text(j, "plan", row->plan);
        json_add_int(j, "rounds", row->rounds);
        json_add_int(j, "sent_bytes", row->sent_bytes);
    }
    return j;
}

struct json_object *bench_facts_json(const struct bench_options *o, const struct bench_job *job)
{
    struct json_object *j = json_object_new_object(), *settings = json_object_new_array();
    char host[256] = "", text[BENCH_TEXT_BYTES];
    int at = 0;

    gethostname(host, sizeof(host) - 1);
    json_add_text(j, "library", bench_backend_name());
    if (bench_backend_tells_plans) {
        json_add_text(j, "network", job->network);
        json_add_text(j, "node_constants", job->constants.node);
        json_add_text(j, "network_constants", job->constants.network);
    }
    json_add_text(j, "command", o->command);
    for (const char *setting; (setting = bench_setting(&at));)
        json_object_array_add(settings, json_text_new(setting));
    json_object_object_add(j, "settings", settings);
    json_add_text(j, "begun", bench_date(text));
    json_add_text(j, "machine", bench_machine(text));
    json_add_text(j, "host", host);
    json_add_int(j, "ranks", job->size);
    json_add_int(j, "nodes", job->nodes);
    json_add_int(j, "machines", job->machines);
    json_add_int(j, "max_ranks_per_node", job->max_local);
    json_add_int(j, "cpus", job->cpus);
    json_add_text(j, "dtype", bench_dtype_names[o->dtype]);
    json_add_text(j, "op", bench_op_names[o->op]);
    json_add_flag(j, "in_place", o->in_place);
    json_add_flag(j, "alloc", o->alloc);
    json_add_flag(j, "check", o->check);
    json_add_text(j, "loop", bench_loop_names[o->loop]);
    json_add_int(j, "warmup", o->warmup);
    add_real(j, "clock_ns", job->clock_ns);
    add_real(j, "hop_ns", job->hop_ns);
    add_real(j, "dirty_gbps", job->dirty_gbps);
    add_real(j, "alpha_us", o->alpha_us);
    add_real(j, "node_gbps", o->node_gbps);
    add_real(j, "wire_us", job->wire_us);
    add_real(j, "wire_gbps", job->wire_gbps);
    add_real(j, "wire_one_way_gbps", job->wire_one_way_gbps);
    json_add_flag(j, "complete", 0);
    return j;
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

static void csv_write(const char *path, char error[OPTION_TEXT_BYTES])
{
    struct whole_file file;
    FILE *csv = whole_file_open(&file, path);

    if (csv)
        csv_row(csv, NULL);
    for (size_t i = 0; csv && i < json_object_array_length(rows); i++)
        csv_row(csv, json_object_array_get_idx(rows, i));
    whole_file_end(&file, "csv", path, error);
}

/* Write the results so far, since a run may be broken off at any time. Standard output gets them at the end. The reason of a
 * failure goes to error, if that is empty. */
static void files_write(const struct bench_options *o, int at_end, char error[OPTION_TEXT_BYTES])
{
    if (o->json && (at_end || whole_file_is_regular(o->json)))
        json_file_write("json", o->json, document, error);
    if (o->csv && !csv_direct.out)
        csv_write(o->csv, error);
    report_update(&report, document);
    written_s = hx_now_s();
    unwritten = 0;
}

void bench_report_begin(const struct bench_options *o, const struct bench_job *job)
{
    document = bench_facts_json(o, job);
    json_object_object_add(document, "rows", rows = json_object_new_array());
    if (o->csv && !whole_file_is_regular(o->csv) && whole_file_open(&csv_direct, o->csv))
        csv_row(csv_direct.out, NULL);
    if (!table)
        return;
    printf("# %s   %d rank%s on %d node%s%s, at most %d per node   " FOLD "dtype %s   op %s   loop %s%s%s%s\n",
           bench_backend_name(), job->size, job->size == 1 ? "" : "s", job->nodes, job->nodes == 1 ? "" : "s",
           job->nodes > job->machines ? " (emulated)" : "", job->max_local, bench_dtype_names[o->dtype],
           bench_op_names[o->op], bench_loop_names[o->loop], o->in_place ? "   in place" : "",
           o->alloc ? "   memory of the library" : "", o->check ? "   checked" : "");
    if (job->size == 1)
        printf("# one rank sends nothing; to measure a job of 4 ranks: %s %s%s\n",
               bench_backend_tells_plans ? "coll_run -n 4 --" : "mpirun -n 4", bench_backend_tool, o->command + o->name_bytes);
    if (job->network[0])
        printf("# %s\n", job->network);
    if (job->constants.node[0])
        printf("# constants of the node: %s\n", job->constants.node);
    if (job->constants.network[0])
        printf("# constants of the network: %s\n", job->constants.network);
    printf("# clock %.0f ns", job->clock_ns);
    if (job->hop_ns > 0)
        printf("   hop %.0f ns   dirty read %.1f GB/s", job->hop_ns, job->dirty_gbps);
    printf("   %d cpus%s\n", job->cpus, job->oversubscribed ? ", oversubscribed" : "");
    print_wire(job);
    print_unknown_terms(o, job);
    print_loop_terms(o);
    printf("%-20s %10s" FOLD " %5s" FOLD " %4s" FOLD " %9s" FOLD " %9s" FOLD " %9s" FOLD " %7s" FOLD " %9s" FOLD " %7s" FOLD " %-8s%s\n",
           "collective", "size", "calls", "reps", "median us", "p99 us", "min us", "GB/s", "bound us", "% bound", "term",
           bench_backend_tells_plans ? FOLD " rounds" FOLD " sent/rank" FOLD " predicted" FOLD "  plan" : "");
    standard_output_flush();
}

void bench_report_before(const struct bench_options *o, const struct bench_row *row)
{
    char unread[OPTION_TEXT_BYTES] = "";

    if (unwritten && row->bytes >= LONG_BYTES)
        files_write(o, 0, unread);
}

void bench_report_row(const struct bench_options *o, const struct bench_row *row)
{
    double percent = row->median_us > 0 ? 100 * row->bound_us / row->median_us : 0;
    struct json_object *j = json_row(row, percent);
    char unread[OPTION_TEXT_BYTES] = "";

    if (table)
        print_row(row, percent);
    json_object_array_add(rows, j);
    if (csv_direct.out) {
        csv_row(csv_direct.out, j);
        whole_file_flush(&csv_direct);
    }
    unwritten = 1;
    if (hx_now_s() - written_s > BETWEEN_S)
        files_write(o, 0, unread); /* a write that fails now may succeed at the end */
}

/* The longer time divided by the shorter one; 0: a time is unknown. */
static double off_by(struct json_object *row)
{
    const double measured = json_object_get_double(json_object_object_get(row, "median_us")),
                 predicted = json_object_get_double(json_object_object_get(row, "predicted_us"));

    return measured > 0 && predicted > 0 ? fmax(measured / predicted, predicted / measured) : 0;
}

static double ratio_of(struct json_object *row)
{
    return json_object_get_double(json_object_object_get(row, "median_us")) / json_object_get_double(json_object_object_get(row, "predicted_us"));
}

void bench_report_predicted(void)
{
    const size_t n = json_object_array_length(rows);
    double *ratios = malloc(2 * (n + 1) * sizeof(*ratios)), *offs = ratios + n + 1;
    struct json_object *worst = NULL;
    char size[HX_SIZE_BYTES];
    size_t known = 0;

    for (size_t i = 0; ratios && i < n; i++) {
        struct json_object *row = json_object_array_get_idx(rows, i);
        if (off_by(row) <= 0)
            continue;
        ratios[known] = ratio_of(row);
        offs[known++] = off_by(row);
        worst = !worst || off_by(row) > off_by(worst) ? row : worst;
    }
    if (table && worst) {
        printf("# measured / predicted over %zu row%s: median %.2f, worst %.2f (%s of %s)", known, known == 1 ? "" : "s", median(ratios, known),
               ratio_of(worst), json_object_get_string(json_object_object_get(worst, "collective")),
               hx_size_format((uint64_t)json_object_get_int64(json_object_object_get(worst, "bytes")), size));
        printf("; off by a factor of %.2f at the median, %.2f at the worst\n", median(offs, known), off_by(worst));
    }
    free(ratios);
}

void bench_report_checked(const struct bench_checked *checked, int sizes, int ranks)
{
    if (table)
        printf("# checked: %llu elements of the results of %d row%s on %d ranks, against values computed without the library: "
               "all are right\n",
               (unsigned long long)checked->elements, sizes, sizes == 1 ? "" : "s", ranks);
}

int bench_report_close(const struct bench_options *o, int complete, char error[OPTION_TEXT_BYTES])
{
    error[0] = '\0';
    json_add_flag(document, "complete", complete);
    files_write(o, 1, error);
    json_object_put(document);
    if (csv_direct.out)
        whole_file_end(&csv_direct, "csv", o->csv, error);
    return error[0] ? -1 : 0;
}

int bench_report_end(char error[OPTION_TEXT_BYTES])
{
    return report_close(&report, error);
}
