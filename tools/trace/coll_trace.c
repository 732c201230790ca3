/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_trace: its command line, and how it reads a trace. */
#include "tools/trace/coll_trace.h"
#include "tools/common/json.h"
#include "runtime/base/streams.h"
#include "tools/common/whole_file.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char doc[] =
    "Show what the ranks of a job did and when, from the traces that HX_TRACE=FILE makes (FILE.0, FILE.1, ...).\n\n"
    "  merge OUT IN...   join all ranks into one file for ui.perfetto.dev or\n"
    "                    chrome://tracing: nodes are processes, ranks are their\n"
    "                    threads, arrows are messages\n"
    "  summary IN...     for each collective and size: how often, how long, and\n"
    "                    which rank the others waited for. For each rank: how long\n                    it waited, how long "
    "others waited for it, how late it\n                    came\v"
    "  HX_TRACE=/tmp/trace coll_run -n 4 --nodes 2 -- coll_bench allreduce\n"
    "  coll_trace summary /tmp/trace.*\n"
    "  coll_trace merge /tmp/all.json /tmp/trace.*\n\n"
    "IN may also be a merged trace. Times are rank 0's clock; the output says how far the clocks of other nodes may differ.\n\n"
    "The exit status is 0; 1 if a file cannot be read or written or is not a trace; 2 for a wrong command line.";

void trace_refuse(int status, const char *format, ...)
{
    va_list args;

    fflush(stdout);
    fprintf(stderr, "coll_trace: ");
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\n");
    exit(status);
}

void *trace_memory(void *pointer)
{
    if (!pointer)
        trace_refuse(1, "no memory");
    return pointer;
}

/* ---- the command line ---------------------------------------------------------------------------------------- */

static int word_take(void *options, char **words, int n, char error[OPTION_TEXT_BYTES])
{
    static const char *const commands[] = {"merge", "summary", NULL};
    struct trace_options *o = options;

    (void)n;
    if (o->command && !strcmp(o->command, "merge") && !o->output)
        o->output = words[0];
    else if (o->command)
        o->inputs[o->ninputs++] = words[0];
    else if (option_choose("command", words[0], commands, error) < 0)
        return -1;
    else
        o->command = words[0];
    return 1;
}

void trace_options_parse(struct trace_options *o, int argc, char **argv)
{
    static const struct option_row none[] = {{0}};
    static const struct option_tool tool = {"merge OUT IN...\nsummary IN...", doc, none, word_take};
    char error[OPTION_TEXT_BYTES];

    *o = (struct trace_options){.inputs = trace_memory(calloc((size_t)argc, sizeof(char *)))};
    const enum option_end end = option_parse(&tool, argc, argv, o, NULL, error);
    if (end >= OPTION_HELP)
        exit(option_answer(&tool, end, "coll_trace", PACKAGE_VERSION));
    if (end == OPTION_WRONG)
        trace_refuse(2, "%s", error);
    if (!o->command)
        trace_refuse(2, "a command is missing; choose merge or summary, then name the files (see --help)");
    if (o->ninputs == 0)
        trace_refuse(2, "%s: no files; name %s (see --help)", o->command,
                     o->output ? "the file to write, then those to read" : "files that HX_TRACE has made");
}

/* ---- reading ------------------------------------------------------------------------------------------------- */

static struct json_object *member(struct json_object *object, const char *key, enum json_type type, const char *file)
{
    struct json_object *found;

    if (!json_object_object_get_ex(object, key, &found) || !json_object_is_type(found, type))
        trace_refuse(1, "%s: not a trace of Hierax: it has no %s", file, key);
    return found;
}

static int64_t number(struct json_object *object, const char *key, const char *file)
{
    return json_object_get_int64(member(object, key, json_type_int, file));
}

/* The first file says which job it is. */
static void head_check(struct trace_set *set, struct json_object *head, const char *file)
{
    int64_t ranks = number(head, "ranks", file), origin = number(head, "origin_ns", file);

    if (ranks < 1 || ranks > 1 << 24)
        trace_refuse(1, "%s: its job has %lld ranks; expected 1 to 16777216", file, (long long)ranks);
    if (!set->head) {
        set->head = json_object_get(head);
        set->ranks = (int)ranks;
        set->of = trace_memory(calloc((size_t)ranks, sizeof(*set->of)));
    }
    if (ranks != set->ranks || origin != number(set->head, "origin_ns", file))
        trace_refuse(1,
                     "%s: it is from another job (%lld ranks, begun at %lld ns) than the files before it (%d ranks, %lld ns)",
                     file, (long long)ranks, (long long)origin, set->ranks,
                     (long long)number(set->head, "origin_ns", file));
}

static void rank_take(struct trace_set *set, struct json_object *trace, const char *file)
{
    int64_t rank, node;

    if (!json_object_is_type(trace, json_type_object))
        trace_refuse(1, "%s: not a trace of Hierax: its traces are not objects", file);
    rank = number(trace, "rank", file);
    node = number(trace, "node", file);
    if (rank < 0 || rank >= set->ranks || node < 0 || node >= set->ranks)
        trace_refuse(1, "%s: it is from rank %lld on node %lld, but the job has %d ranks", file, (long long)rank,
                     (long long)node, set->ranks);
    if (set->of[rank].there)
        trace_refuse(1, "%s: it is from rank %lld, as another file is", file, (long long)rank);
    set->of[rank] = (struct trace_rank){1, (int)node, (uint64_t)number(trace, "dropped", file),
                                        (uint64_t)number(trace, "clock_error_ns", file)};
}

int trace_read(struct trace_set *set, const char *file, struct json_object **root, struct json_object **events)
{
    struct json_object *head, *traces;
    char error[OPTION_TEXT_BYTES];
    struct stat there;

    if (access(file, R_OK) != 0 || stat(file, &there) != 0)
        trace_refuse(1, "%s: %s", file, strerror(errno));
    if (S_ISREG(there.st_mode) && there.st_size == 0) { /* a rank makes its file when it starts, so as to find out whether it can */
        fprintf(stderr, "coll_trace: %s: it is empty: its rank ended without hx_finalize\n", file);
        return -1;
    }
    if (!(*root = json_file_read(file, error)))
        trace_refuse(1, "%s", error);
    if (!json_object_is_type(*root, json_type_object))
        trace_refuse(1, "%s: not a trace of Hierax", file);
    head = member(*root, "otherData", json_type_object, file);
    head_check(set, head, file);
    traces = member(head, "traces", json_type_array, file);
    for (size_t i = 0; i < json_object_array_length(traces); i++)
        rank_take(set, json_object_array_get_idx(traces, i), file);
    *events = member(*root, "traceEvents", json_type_array, file);
    return 0;
}

void trace_missing_tell(const struct trace_set *set)
{
    int missing = 0, first = -1;

    if (!set->head)
        trace_refuse(1, "there is no trace in these files");
    for (int rank = 0; rank < set->ranks; rank++)
        if (!set->of[rank].there) {
            first = missing++ ? first : rank;
        }
    if (missing)
        fprintf(stderr, "coll_trace: of the job's %d ranks %d are missing, rank %d first\n", set->ranks, missing,
                first);
}

void trace_set_close(struct trace_set *set)
{
    json_object_put(set->head);
    free(set->of);
}

int main(int argc, char **argv)
{
    struct trace_options options;
    int status;

    hx_streams_hold(O_CLOEXEC);
    trace_options_parse(&options, argc, argv);
    status = options.output ? trace_merge(&options) : trace_summary(&options);
    free(options.inputs);
    if (fflush(stdout) || ferror(stdout)) {
        perror("coll_trace: standard output");
        return 1;
    }
    return status;
}
