/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_report makes reports from what coll_bench has written as JSON: of a run that is over, or of several side by
 * side. */
#include "tools/common/json_file.h"
#include "tools/report/report_bench.h"
#include "runtime/base/streams.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_REPORT = 0x100 };

static const struct argp_option option_table[] = {
    REPORT_OPTION_TABLE(KEY_REPORT, 1),
    {"help", 'h', NULL, 0, "show this text", 2},
    {"version", 'V', NULL, 0, "show the version", 2},
    {0}};

static const char doc[] = "Make a report from what coll_bench or coll_bench_mpi has written with --json: of one run or of "
                          "several side by side. For several runs it shows the ratio of the first one's times to each other's. A "
                          "row "
                          "of the first may bring its ratio to the "
                          "second, as coll_compare writes it.\n\n"
                          "  coll_run -n 4 --nodes 2 -- coll_bench allreduce --json run.json\n"
                          "  coll_report run.json --html run.html --gnuplot run\n"
                          "  coll_report new.json old.json --html change.html\v"
                          "The page needs no other file and no script. A file that is there already is replaced as a "
                          "whole. The exit status is 0; 1 when a file could "
                          "not be written in full; 2 for a wrong command line or document.";

struct request {
    struct report_files files;
    const char *paths[REPORT_MAX_RUNS];
    int n, help, version;
    char error[OPTION_TEXT_BYTES];
};

static error_t option_take(int key, char *arg, struct argp_state *state)
{
    struct request *q = state->input;

    if (key >= KEY_REPORT && key < KEY_REPORT + REPORT_OPTIONS) {
        report_option(&q->files, key - KEY_REPORT, arg);
        return 0;
    }
    switch (key) {
    case 'h': q->help = 1; return 0;
    case 'V': q->version = 1; return 0;
    case ARGP_KEY_ARG:
        if (q->n == REPORT_MAX_RUNS) {
            snprintf(q->error, sizeof(q->error), "at most %d documents fit on a page", REPORT_MAX_RUNS);
            return EINVAL;
        }
        q->paths[q->n++] = arg;
        return 0;
    case ARGP_KEY_ERROR:
        if (!q->error[0])
            option_refused(option_table, state, q->error);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {option_table, option_take, "FILE.json...", doc, NULL, NULL, NULL};

static struct json_object *document_read(const char *path, char error[OPTION_TEXT_BYTES])
{
    struct json_object *document = json_file_read(path, error);
    const char *refused = document ? report_bench_refused(document) : NULL;

    if (!refused)
        return document;
    json_object_put(document);
    snprintf(error, OPTION_TEXT_BYTES, "%.1000s: %.900s", path, refused);
    return NULL;
}

static void parse(struct request *q, int argc, char **argv)
{
    if (argp_parse(&argp, argc, argv, ARGP_SILENT, NULL, q) != 0 || q->error[0] || q->help || q->version)
        return;
    if (q->n == 0)
        snprintf(q->error, sizeof(q->error), "no document given: coll_report run.json --html run.html");
    else if (!report_wanted(&q->files))
        snprintf(q->error, sizeof(q->error), "nothing to write: give --html, --gnuplot or --svg");
    else
        report_check(&q->files, q->error);
    for (int i = 0; i < q->n && q->files.html && !q->error[0]; i++)
        if (whole_file_is_same(q->paths[i], q->files.html))
            snprintf(q->error, sizeof(q->error), "--html=%.1000s: that is a document to read", q->files.html);
}

static const char *library_of(struct json_object *document)
{
    const char *name = json_object_get_string(json_object_object_get(document, "library"));

    return name ? name : "";
}

/* Runs of the same library are told apart by their files. */
static void libraries_name(struct json_object **documents, const char *const *paths, int n)
{
    char *names[REPORT_MAX_RUNS] = {NULL};

    for (int i = 0; i < n; i++) {
        const char *file = NULL;
        for (int k = 0; k < n; k++)
            if (k != i && !strcmp(library_of(documents[i]), library_of(documents[k])))
                file = file == paths[i] || !strcmp(basename(paths[i]), basename(paths[k])) ? paths[i] : basename(paths[i]);
        if (file && asprintf(&names[i], "%s (%s)", library_of(documents[i]), file) < 0)
            names[i] = NULL;
    }
    for (int i = 0; i < n; i++) {
        if (names[i])
            json_object_object_add(documents[i], "library", json_object_new_string(names[i]));
        free(names[i]);
    }
}

/* The exit status. */
static int run(struct request *q)
{
    struct json_object *documents[REPORT_MAX_RUNS] = {NULL};
    int status = 0;

    for (int i = 0; i < q->n && !q->error[0]; i++)
        documents[i] = document_read(q->paths[i], q->error);
    if (!q->error[0])
        libraries_name(documents, q->paths, q->n);
    if (q->error[0]) {
        fprintf(stderr, "coll_report: %s\n", q->error);
        status = 2;
    } else if (report_bench_write(&q->files, documents, q->n, q->error)) {
        fprintf(stderr, "coll_report: %s\n", q->error);
        status = 1;
    }
    for (int i = 0; i < q->n; i++)
        json_object_put(documents[i]);
    return status;
}

int main(int argc, char **argv)
{
    struct request q = {0};

    hx_streams_hold(O_CLOEXEC);
    parse(&q, argc, argv);
    if (q.error[0] || !(q.help || q.version))
        return run(&q);
    if (q.help)
        argp_help(&argp, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, (char *)"coll_report");
    else
        printf("coll_report " PACKAGE_VERSION "\n");
    return standard_output_check("coll_report") ? 1 : 0;
}
