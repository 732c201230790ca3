/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_bench's command line. Parsing is silent and alike on all ranks: a fault becomes a text that rank 0 prints later,
 * so that no rank leaves while others wait. */
#include "tools/common/bench_backend.h"
#include "runtime/base/size.h"
#include <string.h>

#define OPTIONS struct bench_options
#define BYTES_MOST ((uint64_t)1 << 40)

static int loop_take(struct bench_options *o, enum bench_loop_kind loop, char error[OPTION_TEXT_BYTES])
{
    const int other = o->loop != BENCH_COLD && o->loop != loop;

    if (other)
        snprintf(error, OPTION_TEXT_BYTES, "--%s and --%s exclude each other: give one of them", bench_loop_names[o->loop],
                 bench_loop_names[loop]);
    o->loop = loop;
    return other ? -1 : 0;
}

static int warm_take(void *options, const char *none, char error[OPTION_TEXT_BYTES])
{
    (void)none;
    return loop_take(options, BENCH_WARM, error);
}

static int ahead_take(void *options, const char *none, char error[OPTION_TEXT_BYTES])
{
    (void)none;
    return loop_take(options, BENCH_AHEAD, error);
}

static int sizes_take(void *options, const char *list, char error[OPTION_TEXT_BYTES])
{
    struct bench_options *o = options;
    char one[64];
    uint64_t bytes;

    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        snprintf(one, sizeof(one), "%.*s", (int)strcspn(at, ","), at);
        if (option_number("sizes", one, 0, BYTES_MOST, &bytes, error) < 0)
            return -1;
        if (o->nsizes == BENCH_SIZES_MOST) {
            snprintf(error, OPTION_TEXT_BYTES, "--sizes=%.1000s: more than %d sizes", list, BENCH_SIZES_MOST);
            return -1;
        }
        o->sizes[o->nsizes++] = bytes;
    }
    return 0;
}

static const struct option_row option_rows[] = {
    {"min", 0, "BYTES", "smallest size (default 8), as 64K or 64KiB; K M G are powers of 1024", 1, 0, IS_COUNT(min_bytes, 0, BYTES_MOST)},
    {"max", 0, "BYTES", "largest size (default 16M)", 1, 0, IS_COUNT(max_bytes, 0, BYTES_MOST)},
    {"factor", 0, "N", "ratio of one size to the next smaller one (default 2)", 1, 0, IS_COUNT(factor, 2, 1 << 20)},
    {"sizes", 0, "BYTES,...", "only these sizes, for example 8,4K,1M, instead of --min, --max and --factor", 1, 0, IS_TAKEN(sizes_take)},
    {"dtype", 0, "TYPE", "element type (default float32)", 2, 0, IS_CHOICE(dtype, bench_dtype_names)},
    {"op", 0, "OP", "reduction (default sum)", 2, 0, IS_CHOICE(op, bench_op_names)},
    {"root", 0, "RANK", "root of collectives that have one (default 0)", 2, 0, IS_COUNT(root, 0, 1 << 24)},
    {"in-place", 0, NULL, "pass HX_IN_PLACE as input", 2, 0, IS_FLAG(in_place)},
    {"alloc", 0, NULL, "use buffers in memory of hx_alloc (coll_bench_mpi: MPI_Alloc_mem)", 2, 0, IS_FLAG(alloc)},
    {"warm", 0, NULL, "use the same buffers and the same input in every call (default: buffers in turn, and new input)",
     2, 0, IS_TAKEN(warm_take)},
    {"ahead", 0, NULL, "as --warm, and make calls in a row at every size: ranks do not wait for each other before a call",
     2, 0, IS_TAKEN(ahead_take)},
    {"check", 0, NULL, "compare every element with a reference that is computed independently. In a row of small calls, "
     "check only the last ones", 2, 0, IS_FLAG(check)},
    {"iterations", 0, "N", "calls in a row in each repetition (default: 100 up to 1 KiB, 1 above)",
     3, 0, IS_COUNT(iterations, 1, 1000000)},
    {"repetitions", 0, "N", "timed repetitions per size (default: 20 to 300 by size)", 3, 0, IS_COUNT(repetitions, 1, 1000000)},
    {"warmup", 0, "N", "calls per size before timing starts (default 10)", 3, 0, IS_COUNT(warmup, 0, 1000000)},
    {"json", 0, "FILE", "write all results as JSON (-: to standard output, without the list)", 4, 0, IS_TEXT(json)},
    {"csv", 0, "FILE", "write all results as CSV (-: to standard output, without the list)", 4, 0, IS_TEXT(csv)},
    REPORT_ROWS(report, 4, 0),
    {"alpha", 0, "MICROSECONDS", "latency of one message between nodes, for the lower bound",
     5, 0, IS_POSITIVE(alpha_us, 1000000000000)},
    {"node-bandwidth", 0, "GBPS", "network bandwidth of a node, 1e9 bytes/s, for the lower bound",
     5, 0, IS_POSITIVE(node_gbps, 1000000000000)},
    {0}};

static const char doc[] =
    "Measure collectives:"
#define HX_COLL(ID, name, gives, gets, traits) " " #name
#define HX_COLL_WITH_COUNTS(ID, name, of) " " #name
#include "runtime/base/coll.def"
    ".\v"
    "Sizes: for allgather, allgatherv, gather and gatherv, a size is the bytes of the whole output. For the others, it is the "
    "bytes of the whole vector. A rank has at least one element. For reduce_scatter_block, scatter, alltoall, alltoallv, "
    "allgather and gather, coll_bench rounds the size up to a multiple of ranks x element. For reduce_scatter, allgatherv, "
    "gatherv and scatterv, it divides the elements among the ranks as evenly as possible. Columns plan, rounds and sent/rank "
    "then describe a call in which all blocks are as long as the longest one.\n\n"
    "Method: it is the same for every library. Calls use several pairs of input and output buffers in turn: 4 or more, or 2 "
    "if a pair has more than 16 MiB. Each rank rewrites all input elements before every call. Then the ranks of a machine "
    "start at one agreed moment. (Several machines compare their clocks first.) Each rank measures the time from that moment "
    "to the end of its calls with CLOCK_MONOTONIC, and subtracts the time of one clock reading. The time of a repetition is "
    "the maximum over the ranks. The list shows median, 99th percentile and minimum over the repetitions.\n\n"
    "Above 1 KiB a repetition is one call. It begins when all ranks have rewritten their input, so that the time does not "
    "include the rewriting. Up to 1 KiB a call is about as short as a clock reading. A repetition is then 100 calls in a row "
    "(--iterations), and the time is divided by 100. This time includes the rewriting. coll_bench therefore measures the "
    "same loop without the calls, and subtracts its time. In a row, calls of a rooted collective or of a scan would overlap. "
    "coll_bench times each of these calls separately, at every size.\n\n"
    "With --warm all calls of one size use one pair of buffers. Each rank writes its input once, before the first call. So the "
    "data are in the caches, as in programs and benchmarks that use the same buffers again. The ranks start together as above. "
    "--check compares the last result of each size, and checks that the input has not changed.\n\n"
    "With --ahead a repetition is 10 to 100 warm calls in a row at every size, as in benchmarks without a barrier. The ranks start "
    "together only before the first of these calls. A root, or the first rank of a scan, may then be some calls ahead of the other "
    "ranks. Each rank divides the time of its calls by their number. The time of the repetition is the largest of these means. "
    "(Some benchmarks print the mean over the ranks, which is less.)\n\n"
    "GB/s is bus bandwidth, in 1e9 bytes/s: bytes / median x factor. For p ranks the factor is 2(p-1)/p for allreduce, 1 for "
    "bcast, reduce and scans, and (p-1)/p for the others.\n\n"
    "The lower bound of the time (column bound) is the largest of these terms:\n"
    "  hop      two cores each write a cache line and read the other's; measured\n"
    "  memory   all cores of the ranks read the inputs and write the outputs once;\n"
    "           measured with these buffers\n"
    "  dirty    reading bytes that another core has just written; measured\n"
    "  network  latency and bandwidth, from --alpha and --node-bandwidth\n\n"
    "The term memory is measured in the same loop as the calls. Warm calls may read data that are in the reader's cache already, so "
    "their bound has no term dirty. With --ahead the bound has no terms hop and latency either, because several calls are in "
    "progress at once.\n\n"
    "If these two options are missing and the library uses TCP over one interface, coll_bench measures the network before "
    "the first call. It uses plain IPv4 TCP sockets from each node to the next node, at most one per rank of the smallest "
    "node. It measures with the machine's congestion control and with reno, and takes the better result. On more than 2 "
    "nodes, a rank of gather, scatter, gatherv, scatterv, alltoall or alltoallv sends to several nodes at once. The bound then "
    "has no bandwidth term. If a term was not measured, coll_bench leaves it out and names it above the list.\n\n"
    "For Hierax, the list also shows the plans. Column rounds: the number of messages and flags that a rank waits for, one "
    "after the other. Column sent/rank: the bytes that a rank sends to other nodes or writes for ranks of its own node. Both "
    "columns show the busiest rank. Column predicted: the time in microseconds that the cost model predicts for this plan. The lines "
    "above the list name the source of the model's constants. Column plan shows the plan of rank 0. The last line compares the "
    "medians with the predictions: a factor of 2 means twice or half the predicted time.";

static int collective_take(void *options, char **words, char error[OPTION_TEXT_BYTES])
{
    struct bench_options *o = options;

    return option_collective_add(words[0], bench_collective_names, o->collectives, &o->ncollectives, error) < 0 ? -1 : 1;
}

static const struct option_tool tool = {"COLLECTIVE...", doc, option_rows, collective_take};

int bench_options_answer(const struct bench_options *o)
{
    return option_answer(&tool, o->end, bench_backend_tool, bench_backend_name());
}

/* An option that was given, and that none of the chosen collectives has. 0, or -1. */
static int useless_refuse(struct bench_options *o, const char *option, const char *text, int (*has)(enum hx_function))
{
    int n;

    for (int i = 0; i < o->ncollectives; i++)
        if (has((enum hx_function)o->collectives[i]))
            return 0;
    n = snprintf(o->error, sizeof(o->error), "--%s=%s has no effect on %s; it is for:", option, text,
                 bench_collective_names[o->collectives[0]]);
    for (int i = 0; i < HX_FUNCTION_COUNT; i++)
        if (has((enum hx_function)i))
            n += snprintf(o->error + n, sizeof(o->error) - (size_t)n, " %s", bench_collective_names[i]);
    return -1;
}

/* The loop writes the input once, but a call in place overwrites it: -1. Else 0. */
static int replaced_refuse(const struct bench_options *o, char error[OPTION_TEXT_BYTES])
{
    for (int i = 0; i < o->ncollectives && o->loop != BENCH_COLD && o->in_place; i++)
        if (bench_replaces_input((enum hx_function)o->collectives[i])) {
            snprintf(error, OPTION_TEXT_BYTES,
                     "--%s gives every call the same input, but %s overwrites it with --in-place: give only one of the two options",
                     bench_loop_names[o->loop], bench_collective_names[o->collectives[i]]);
            return -1;
        }
    return 0;
}

int bench_op_check(const struct bench_options *o, char error[OPTION_TEXT_BYTES])
{
    int n;

    if (bench_op_defined(o->dtype, o->op))
        return 0;
    n = snprintf(error, OPTION_TEXT_BYTES, "--op=%s is not defined for --dtype=%s; its operations:", bench_op_names[o->op],
                 bench_dtype_names[o->dtype]);
    for (int op = 0; op < HX_OP_COUNT; op++)
        if (bench_op_defined(o->dtype, (hx_op_t)op))
            n += snprintf(error + n, OPTION_TEXT_BYTES - (size_t)n, " %s", bench_op_names[op]);
    n += snprintf(error + n, OPTION_TEXT_BYTES - (size_t)n, "; types with %s:", bench_op_names[o->op]);
    for (int dtype = 0; dtype < HX_DTYPE_COUNT; dtype++)
        if (bench_op_defined((hx_dtype_t)dtype, o->op))
            n += snprintf(error + n, OPTION_TEXT_BYTES - (size_t)n, " %s", bench_dtype_names[dtype]);
    return -1;
}

int bench_sizes_check(const struct bench_options *o, char error[OPTION_TEXT_BYTES])
{
    char least[HX_SIZE_BYTES], most[HX_SIZE_BYTES];

    if (o->min_bytes <= o->max_bytes)
        return 0;
    snprintf(error, OPTION_TEXT_BYTES, "--min=%s is above --max=%s: choose a smaller --min or a larger --max",
             hx_size_format(o->min_bytes, least), hx_size_format(o->max_bytes, most));
    return -1;
}

/* Nothing is reduced: any operation that the type has will do. */
static void op_settle(struct bench_options *o)
{
    int any = 0;

    for (int i = 0; i < o->ncollectives; i++)
        any |= bench_reduces((enum hx_function)o->collectives[i]);
    for (int op = 0; op < HX_OP_COUNT && !any && !bench_op_defined(o->dtype, o->op); op++)
        if (bench_op_defined(o->dtype, (hx_op_t)op))
            o->op = (hx_op_t)op;
}

/* Take the range from --sizes. 0, or -1 if another option also gives a range. */
static int sizes_settle(struct bench_options *o, uint64_t used)
{
    static const char *const range[] = {"min", "max", "factor"};

    for (int i = 0; i < 3 && o->nsizes; i++)
        if (option_is_given(&tool, used, range[i])) {
            snprintf(o->error, sizeof(o->error), "--sizes and --%s both say what to measure: give one of them", range[i]);
            return -1;
        }
    for (int i = 0; i < o->nsizes; i++) {
        o->min_bytes = i == 0 || o->sizes[i] < o->min_bytes ? o->sizes[i] : o->min_bytes;
        o->max_bytes = i == 0 || o->sizes[i] > o->max_bytes ? o->sizes[i] : o->max_bytes;
    }
    return 0;
}

void bench_options_parse(struct bench_options *o, int argc, char **argv)
{
    uint64_t used;
    char root[24];

    *o = (struct bench_options){.min_bytes = 8, .max_bytes = 16 << 20, .factor = 2, .warmup = 10, .dtype = HX_FLOAT32,
                                .op = HX_SUM};
    option_command_line(1, argv, o->command);
    o->name_bytes = strlen(o->command);
    option_command_line(argc, argv, o->command);
    if ((o->end = option_parse(&tool, argc, argv, o, &used, o->error)) != OPTION_GO_ON)
        return;
    if (o->ncollectives == 0) {
        int n = snprintf(o->error, sizeof(o->error), "no collective given; choices:");
        for (int i = 0; i < HX_FUNCTION_COUNT; i++)
            n += snprintf(o->error + n, sizeof(o->error) - (size_t)n, " %s", bench_collective_names[i]);
        return;
    }
    if (sizes_settle(o, used) < 0 || bench_sizes_check(o, o->error) < 0 || replaced_refuse(o, o->error) < 0)
        return;
    if (option_is_given(&tool, used, "op") && useless_refuse(o, "op", bench_op_names[o->op], bench_reduces) < 0)
        return;
    snprintf(root, sizeof(root), "%llu", (unsigned long long)o->root);
    if (option_is_given(&tool, used, "root") && useless_refuse(o, "root", root, bench_is_rooted) < 0)
        return;
    op_settle(o);
    bench_op_check(o, o->error);
}
