/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_bench's command line. Parsing is silent and alike on all ranks: a fault becomes a text that rank 0 prints later,
 * so that no rank leaves while others wait. */
#include "tools/common/bench_backend.h"
#include <errno.h>
#include <string.h>

const char *const bench_collective_names[] = {
#define HX_COLL(ID, name, gives, gets, traits) #name,
#define HX_COLL_WITH_COUNTS(ID, name, of) #name,
#include "runtime/base/coll.def"
    NULL};
const char *const bench_dtype_names[] = {"int8",          "int16",         "int32",       "int64",       "uint8",
                                         "uint16",        "uint32",        "uint64",      "float16",     "bfloat16",
                                         "float32",       "float64",       "complex64",   "complex128",  "byte",
                                         "float32_index", "float64_index", "int32_index", "int64_index", NULL};
const char *const bench_op_names[] = {"sum",  "prod", "min",  "max",  "avg", "band", "bor",
                                      "bxor", "land", "lor", "lxor", "minloc", "maxloc", NULL};

enum {
    KEY_MIN = 0x100, KEY_MAX, KEY_FACTOR, KEY_ITERATIONS, KEY_REPETITIONS, KEY_WARMUP, KEY_DTYPE, KEY_OP, KEY_IN_PLACE,
    KEY_ALLOC, KEY_CHECK, KEY_ROOT, KEY_JSON, KEY_CSV, KEY_ALPHA, KEY_NODE_BANDWIDTH,
    KEY_REPORT
};

static const struct argp_option options[] = {
    {"min", KEY_MIN, "BYTES", 0, "smallest size (default 8); suffixes K M G are powers of 1024", 1},
    {"max", KEY_MAX, "BYTES", 0, "largest size (default 16M)", 1},
    {"factor", KEY_FACTOR, "N", 0, "step from size to size (default 2)", 1},
    {"dtype", KEY_DTYPE, "TYPE", 0, "element type (default float32)", 2},
    {"op", KEY_OP, "OP", 0, "reduction (default sum)", 2},
    {"root", KEY_ROOT, "RANK", 0, "root of collectives that have one (default 0)", 2},
    {"in-place", KEY_IN_PLACE, NULL, 0, "pass HX_IN_PLACE as input", 2},
    {"alloc", KEY_ALLOC, NULL, 0, "use buffers in memory of hx_alloc (coll_bench_mpi: MPI_Alloc_mem)", 2},
    {"check", KEY_CHECK, NULL, 0, "compare every element with a reference that is computed independently; of a batch of small "
                                  "calls, only those of the last calls", 2},
    {"iterations", KEY_ITERATIONS, "N", 0, "calls in a row in each repetition (default: 100 up to 1 KiB, 1 above)", 3},
    {"repetitions", KEY_REPETITIONS, "N", 0, "timed repetitions per size (default: 20 to 300 by size)", 3},
    {"warmup", KEY_WARMUP, "N", 0, "calls per size before timing starts (default 10)", 3},
    {"json", KEY_JSON, "FILE", 0, "write everything as JSON (-: to standard output, instead of the table)", 4},
    {"csv", KEY_CSV, "FILE", 0, "write everything as CSV (-: to standard output, instead of the table)", 4},
    REPORT_OPTION_TABLE(KEY_REPORT, 4),
    {"alpha", KEY_ALPHA, "MICROSECONDS", 0, "latency of one message between nodes, for the bound", 5},
    {"node-bandwidth", KEY_NODE_BANDWIDTH, "GBPS", 0, "network bandwidth of a node, 1e9 bytes/s, for the bound", 5},
    {"help", 'h', NULL, 0, "show this text", 6},
    {"version", 'V', NULL, 0, "show the library's version", 6},
    {0}};

static const char doc[] =
    "Measure collectives:"
#define HX_COLL(ID, name, gives, gets, traits) " " #name
#define HX_COLL_WITH_COUNTS(ID, name, of) " " #name
#include "runtime/base/coll.def"
    ".\v"
    "Sizes: for allgather, allgatherv, gather and gatherv, bytes of the whole output. For the others, bytes of the whole "
    "vector. A rank has at least one element. For reduce_scatter_block, scatter, alltoall, alltoallv, allgather and gather the "
    "size is rounded up to a multiple of ranks x element. Elements of reduce_scatter, allgatherv, gatherv and scatterv are "
    "shared out as evenly as possible. Their plan, rounds and sent/rank are those of equal blocks as long as the longest.\n\n"
    "Method, the same for every library: several pairs of input and output buffers are used in turn (4 or more; 2 above 16 "
    "MiB a pair). All input elements are rewritten before every call. Then the ranks of a machine start at one agreed "
    "moment. (Several machines compare their clocks first.) Each rank times its calls from that moment to their end with "
    "CLOCK_MONOTONIC, and subtracts the time of one reading. A repetition's time is the maximum over ranks. The table shows "
    "median, 99th percentile and minimum over the repetitions.\n\n"
    "Above 1 KiB a repetition is one call. The rewriting is not timed: the call begins when all ranks have done it. Up to 1 "
    "KiB a call is about as short as reading the clock. So a repetition is 100 calls in a row (--iterations), and its time "
    "is divided by their number. It includes the rewriting, which is therefore measured in the same loop without the call, "
    "and subtracted. Calls of a collective with a root, and of scans, would overlap in a row. They are timed call by call at "
    "every size, each with its own start.\n\n"
    "GB/s is bus bandwidth, in 1e9 bytes/s: bytes / median x factor. For p ranks the factor is 2(p-1)/p for allreduce, 1 for "
    "bcast, reduce and scans, and (p-1)/p for the others.\n\n"
    "The bound is the largest of these terms:\n"
    "  hop      two cores each write a cache line and read the other's; measured\n"
    "  memory   all cores of the ranks read the inputs and write the outputs once;\n"
    "           measured with these buffers\n"
    "  dirty    reading bytes that another core has just written; measured\n"
    "  network  latency and bandwidth, from --alpha and --node-bandwidth\n\n"
    "Without these two options, if the library uses TCP over one interface, latency and bandwidth of the network are "
    "measured before the first call. They are those of plain TCP sockets over IPv4 from each node to the next. There are at "
    "most as many sockets as the smallest node has ranks, with the machine's congestion control or reno. On more than 2 "
    "nodes, gather, scatter, gatherv, scatterv, alltoall and alltoallv talk to several nodes at once. They have no bandwidth "
    "term then. A term that was not measured is left out and named above the table.\n\n"
    "Hierax also reports its plans (MPI does not). Column rounds: the messages and flags that a rank waits for one after the "
    "other. Column sent/rank: the bytes that a rank sends to other nodes or writes for ranks of its own node. Both are those "
    "of the busiest rank. The plan is rank 0's.";

static int add_collective(struct bench_options *o, const char *text)
{
    int chosen = option_collective(text, bench_collective_names, o->error);
    if (chosen < 0)
        return EINVAL;
    for (int i = 0; i < o->ncollectives; i++)
        if (o->collectives[i] == chosen)
            return 0;
    o->collectives[o->ncollectives++] = chosen;
    return 0;
}

static int number(struct bench_options *o, const char *option, const char *text, uint64_t low, uint64_t high,
                  uint64_t *value)
{
    return option_number(option, text, low, high, value, o->error) < 0 ? EINVAL : 0;
}

static int real(struct bench_options *o, const char *option, const char *text, double *value)
{
    return option_real(option, text, 0, 1e12, value, o->error) < 0 ? EINVAL : 0;
}

static error_t parse_one(int key, char *arg, struct argp_state *state)
{
    struct bench_options *o = state->input;
    const uint64_t most = (uint64_t)1 << 40;
    int chosen;
    if (key >= KEY_REPORT && key < KEY_REPORT + REPORT_OPTIONS) {
        report_option(&o->report, key - KEY_REPORT, arg);
        return 0;
    }
    switch (key) {
    case KEY_MIN: return number(o, "min", arg, 0, most, &o->min_bytes);
    case KEY_MAX: return number(o, "max", arg, 0, most, &o->max_bytes);
    case KEY_FACTOR: return number(o, "factor", arg, 2, 1 << 20, &o->factor);
    case KEY_ITERATIONS: return number(o, "iterations", arg, 1, 1000000, &o->iterations);
    case KEY_REPETITIONS: return number(o, "repetitions", arg, 1, 1000000, &o->repetitions);
    case KEY_WARMUP: return number(o, "warmup", arg, 0, 1000000, &o->warmup);
    case KEY_DTYPE:
        chosen = option_choose("dtype", arg, bench_dtype_names, o->error);
        o->dtype = chosen < 0 ? HX_FLOAT32 : (hx_dtype_t)chosen;
        return chosen < 0 ? EINVAL : 0;
    case KEY_OP:
        chosen = option_choose("op", arg, bench_op_names, o->error);
        o->op = chosen < 0 ? HX_SUM : (hx_op_t)chosen;
        return chosen < 0 ? EINVAL : 0;
    case KEY_IN_PLACE: o->in_place = 1; return 0;
    case KEY_ALLOC: o->alloc = 1; return 0;
    case KEY_CHECK: o->check = 1; return 0;
    case KEY_ROOT: return number(o, "root", arg, 0, 1 << 24, &o->root);
    case KEY_JSON: o->json = arg; return 0;
    case KEY_CSV: o->csv = arg; return 0;
    case KEY_ALPHA: return real(o, "alpha", arg, &o->alpha_us);
    case KEY_NODE_BANDWIDTH: return real(o, "node-bandwidth", arg, &o->node_gbps);
    case 'h': o->help = 1; return 0;
    case 'V': o->version = 1; return 0;
    case ARGP_KEY_ARG: return add_collective(o, arg);
    case ARGP_KEY_ERROR:
        if (!o->error[0])
            option_refused(options, state, o->error);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {options, parse_one, "COLLECTIVE...", doc, NULL, NULL, NULL};

void bench_options_help(void)
{
    static char text[1 << 16];

    setvbuf(stdout, text, _IOFBF, sizeof(text)); /* in one piece: argp does not keep the errno of a part that cannot be written */
    argp_help(&argp, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, (char *)bench_backend_tool);
}

/* What is wrong as a whole, once every option is read. */
static void check_together(struct bench_options *o)
{
    int n = 0;
    if (o->ncollectives == 0) {
        n = snprintf(o->error, sizeof(o->error), "no collective given; choices:");
        for (int i = 0; i < HX_FUNCTION_COUNT; i++)
            n += snprintf(o->error + n, sizeof(o->error) - (size_t)n, " %s", bench_collective_names[i]);
    } else if (o->min_bytes > o->max_bytes) {
        snprintf(o->error, sizeof(o->error), "--min=%llu is above --max=%llu", (unsigned long long)o->min_bytes,
                 (unsigned long long)o->max_bytes);
    }
    const char *const names[] = {"json", "csv", "html"}, *const paths[] = {o->json, o->csv, o->report.html};
    for (int i = 0; i < 3 && !o->error[0]; i++)
        for (int k = 0; k < i; k++)
            if (paths[i] && paths[k] && strcmp(paths[i], paths[k]) == 0)
                snprintf(o->error, sizeof(o->error), "--%s and --%s both write to \"%s\"", names[k], names[i],
                         paths[i]);
}

void bench_options_parse(struct bench_options *o, int argc, char **argv)
{
    *o = (struct bench_options){.min_bytes = 8, .max_bytes = 16 << 20, .factor = 2, .warmup = 10, .dtype = HX_FLOAT32,
                                .op = HX_SUM};
    option_command_line(argc, argv, o->command);
    if (argp_parse(&argp, argc, argv, ARGP_SILENT, NULL, o) == 0 && !o->help && !o->version)
        check_together(o);
}
