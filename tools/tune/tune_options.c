/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_tune's command line. Parsing is silent and alike on all ranks: a fault becomes a text that rank 0 prints later. */
#include "tools/tune/coll_tune.h"
#include "runtime/base/reduce.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS = 1, CHECKS = 2, MERGES = 4, DIFFS = 8 };
static const char *const command_names[] = {"check", "merge", "diff", "judge", "model", "confirm", NULL};

enum { KEY_COLLECTIVES = 0x100, KEY_MIN, KEY_MAX, KEY_FACTOR, KEY_BUDGET, KEY_GAIN, KEY_RESUME, KEY_DTYPE, KEY_ALLOC, KEY_REPORT, KEY_OP = KEY_REPORT + REPORT_OPTIONS, KEY_OUTPUT, KEY_SCHEMA };

static const struct argp_option option_table[] = {
    {"output", 'o', "FILE", 0, "the table to write (default " TUNE_OUTPUT "; merge: no default)", 1},
    {"collectives", KEY_COLLECTIVES, "A,B...", 0, "tune these (default: all; with --dtype of integers or 16-bit floats: the "
                                                  "reductions)", 2},
    {"min", KEY_MIN, "BYTES", 0, "smallest size (default 8); suffixes K M G are powers of 1024", 2},
    {"max", KEY_MAX, "BYTES", 0, "largest size (default 16M; model: 1M; confirm: 1024G)", 2},
    {"factor", KEY_FACTOR, "N", 0, "step from size to size, down from the largest (default 4, then also between sizes whose "
                                   "plans differ)", 2},
    {"dtype", KEY_DTYPE, "TYPE", 0, "element type (default float32); entries for reductions are for its class: floats, floats of "
                                    "16 bits, or integers", 2},
    {"op", KEY_OP, "OP", 0, "reduction (default sum)", 2},
    {"alloc", KEY_ALLOC, NULL, 0, "use buffers in memory of hx_alloc; the entries are for calls with such buffers", 2},
    {"budget", KEY_BUDGET, "TIME", 0, "time for the whole run, for example 90s, 5m or 1h (default 5m; model: 20s)", 3},
    {"gain", KEY_GAIN, "PERCENT", 0, "choose another plan than the default only if it is faster by more than this (default 3; if "
                                     "ranks share cores, 15)", 3},
    {"resume", KEY_RESUME, NULL, 0, "keep the entries in FILE for this shape, measure only what is missing", 3},
    REPORT_OPTION_TABLE(KEY_REPORT, 3),
    {"schema", KEY_SCHEMA, NULL, 0, "print the JSON schema of a table", 4},
    {"help", 'h', NULL, 0, "show this text", 4},
    {"version", 'V', NULL, 0, "show the library's version", 4},
    {0}};

static const char doc[] =
    "Find the fastest plan for each collective and size in jobs of this shape, and write them to a table. Jobs use it with "
    "HX_TABLE=FILE. Start coll_tune like the jobs that it tunes for: same nodes, ranks per node, placement and settings. "
    "Unset settings that force algorithms, lanes or slices.\n\n"
    "  srun -N 4 --ntasks-per-node=8 --mpi=pmi2 coll_tune -o table.json\n"
    "  HX_TABLE=table.json srun -N 4 --ntasks-per-node=8 --mpi=pmi2 ./program\n\n"
    "Commands that need no job:\n"
    "  check FILE...            read tables: is every entry right, and does this\n"
    "                           machine match the table's\n"
    "  merge A B... -o FILE     put all entries into one table; where two are for\n"
    "                           the same sizes, the later file's stays\n"
    "  diff A B                 show where two tables choose different plans; the\n"
    "                           exit status is 1 if they do\n"
    "  model FILE... -o TABLE   fit the cost model to files that judge has written\n"
    "  judge FILE...            show how good the choices are now, by such files;\n"
    "                           with HX_TABLE=TABLE, those of a table\n\n"
    "Commands that run as a job:\n"
    "  confirm -o TABLE         race each choice of the table against the default\n"
    "                           again; a choice that is not faster by --gain here\n"
    "                           too goes back to the default. Give the same --gain\n"
    "  model -o TABLE           measure only the cost model's parameters, within\n"
    "                           --budget (default 20s)\n"
    "  judge [-o FILE]          measure how much slower the planner's choice is than\n"
    "                           the best plan, at 8, 1K, 64K, 1M and 16M. Plans\n"
    "                           predicted to take more than 12 times the best time\n"
    "                           are left out. The fastest are measured again side by\n"
    "                           side. --output keeps the times\v"
    "Collectives: allreduce, reduce_scatter_block, allgather, barrier, bcast, reduce, gather, scatter, scan, exscan, "
    "alltoall. Sizes and the timed loop are those of coll_bench (see coll_bench --help).\n\n"
    "Candidates: the planner's plans for the collective, on more numbers of lanes. A plan predicted to take more than 4 "
    "times the best time is left out. If more than 8 remain, those that are slow in a short qualifying run are left out too "
    "(\"pruned\").\n\n"
    "Race: the candidates run side by side in one process, in rounds that go forward and backward in turn. The slowest rank "
    "gives the time of a repetition, and the median repetition that of a round. A candidate is rated by the ratio of its "
    "time to the default's in the same round. Rounds in which the hypervisor took time away are dropped.\n\n"
    "A candidate leaves the race when the interval of its median ratio (95 %) shows that it is not faster than the default "
    "by more than --gain. The fastest candidate left must win again in fresh rounds, alone against the default. There each "
    "runs in the other's part of the shared memory and with other buffers, so its place in memory cannot make it win. If it "
    "does not win, the default stays: noise changes nothing. From 256 KiB on, slices of half and double the bytes are tried "
    "in the same way. A plan that won at the size before and is within 3 % of the winner here is kept.\n\n"
    "An entry holds from half-way to the size below to half-way to the size above, on a logarithmic scale. After all sizes, "
    "coll_tune measures sizes half-way between neighbours that are more than a factor 2 apart and whose plans or slices "
    "differ. It does so while time is left, unless --factor names the step. At last it repeats what seemed to be faster but "
    "had too little time to show it.\n\n"
    "FILE is written as a whole after every point. An entry for this shape stays until its sizes are measured again; entries "
    "for other shapes always stay. Ctrl-C ends the run after the present round. (coll_run gives it 2 seconds for that; "
    "--kill-after=60 gives it more.) --resume goes on after that, and after a budget that was too short.\n\n"
    "If ranks share cores, launches differ by a tenth and more, so the default --gain is 15 % there. Nodes may differ too: "
    "confirm the table in another job or two.\n\n"
    "The table also gets parameters of the cost model. With them the model chooses best among the measured plans, and "
    "predicts their times best. Jobs use them for shapes and sizes without an entry. Parameters of the node hold on every "
    "machine of the kind, those of the network with the same provider. A later run begins with the parameters in the table.\n\n"
    "An entry for a reduction holds for a class of datatypes: floats, floats of 16 bits, or integers. If the table has no "
    "entry for a call's own class, the entry for floats is used. This includes other types and the program's own commutative "
    "operations. If the table has no entry for memory of hx_alloc, the entry for other memory is used. Both have one "
    "exception: where the model prefers a plan that only the call's own class or memory allows. To make entries for a class "
    "or for hx_alloc, run and confirm with --dtype or --alloc and the same table. Such entries hold from half of the "
    "smallest to twice the largest size. The model is fitted to floats and integers in other memory only.\n\n"
    "The exit status is 0; 1 if something failed or diff found a difference; 2 for a wrong command line, setting or table. "
    "After a signal it is 128 and the signal's number.";

struct parsing {
    struct tune_options *o;
    const char *run_option; /* one that only a run takes, if any was given */
};

/* The benchmark's collectives for which there is a choice that a table can hold; returns their number. Those with a count per rank are
 * planned as others of these. */
static int tunable(const char *names[HX_FUNCTION_COUNT + 1], int collectives[HX_FUNCTION_COUNT], int reductions_only)
{
    enum hx_coll coll;
    int n = 0;

    for (int i = 0; i < HX_FUNCTION_COUNT; i++)
        if (hx_coll_parse(bench_collective_names[i], &coll) == 0 && !hx_coll_has_pair_counts(coll) && (hx_coll_reduces(coll) || !reductions_only)) {
            names[n] = bench_collective_names[i];
            collectives[n++] = i;
        }
    names[n] = NULL;
    return n;
}

static int collectives_add(struct tune_options *o, const char *text)
{
    const char *names[HX_FUNCTION_COUNT + 1];
    int collectives[HX_FUNCTION_COUNT];

    tunable(names, collectives, 0);
    for (const char *at = text; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        char name[64] = "";
        size_t n = strcspn(at, ",");
        strncat(name, at, n < sizeof(name) - 1 ? n : sizeof(name) - 1);
        int chosen = option_collective(name, names, o->error), known = 0;
        if (chosen < 0)
            return EINVAL;
        for (int i = 0; i < o->bench.ncollectives; i++)
            known |= o->bench.collectives[i] == collectives[chosen];
        if (!known)
            o->bench.collectives[o->bench.ncollectives++] = collectives[chosen];
    }
    return 0;
}

static int budget_parse(struct tune_options *o, const char *text)
{
    char *end;
    double unit = 1;

    o->budget_s = strtod(text, &end);
    if (*end == 's' || *end == 'm' || *end == 'h')
        unit = *end == 's' ? 1 : *end == 'm' ? 60 : 3600, end++;
    o->budget_s *= unit;
    if (end != text && *end == 0 && o->budget_s >= 0.1 && o->budget_s <= 1e7)
        return 0;
    snprintf(o->error, sizeof(o->error), "--budget=%s: expected a time such as 90s, 5m or 1h", text);
    return EINVAL;
}

static int number(struct tune_options *o, const char *option, const char *text, uint64_t low, uint64_t high, uint64_t *value)
{
    return option_number(option, text, low, high, value, o->error) < 0 ? EINVAL : 0;
}

static int name(struct tune_options *o, const char *what, const char *text, const char *const *names, int *chosen)
{
    int found = option_choose(what, text, names, o->error);

    *chosen = found < 0 ? 0 : found;
    return found < 0 ? EINVAL : 0;
}

static error_t argument_take(struct tune_options *o, char *arg)
{
    if (o->command == TUNE_RUN) {
        int chosen;
        if (name(o, "command", arg, command_names, &chosen))
            return EINVAL;
        o->command = TUNE_CHECK + (enum tune_command)chosen;
        return 0;
    }
    o->files[o->nfiles++] = arg;
    return 0;
}

static error_t option_take(int key, char *arg, struct argp_state *state)
{
    struct parsing *p = state->input;
    struct tune_options *o = p->o;
    const uint64_t most = (uint64_t)1 << 40;
    uint64_t percent = 0;
    int chosen, status;

    for (int i = 0; key >= KEY_COLLECTIVES && key <= KEY_OP && option_table[i].name; i++)
        if (option_table[i].key == key)
            p->run_option = option_table[i].name;
    if (key >= KEY_REPORT && key < KEY_REPORT + REPORT_OPTIONS) {
        report_option(&o->bench.report, key - KEY_REPORT, arg);
        return 0;
    }
    switch (key) {
    case 'o': o->output = arg; return 0;
    case KEY_COLLECTIVES: return collectives_add(o, arg);
    case KEY_MIN: return number(o, "min", arg, 0, most, &o->bench.min_bytes);
    case KEY_MAX: return number(o, "max", arg, 0, most, &o->bench.max_bytes);
    case KEY_FACTOR: o->refine = 0; return number(o, "factor", arg, 2, 1 << 20, &o->bench.factor);
    case KEY_BUDGET: return budget_parse(o, arg);
    case KEY_GAIN: status = number(o, "gain", arg, 0, 1000, &percent); o->least_gain = (double)percent / 100; return status;
    case KEY_RESUME: o->resume = 1; return 0;
    case KEY_DTYPE:
        status = name(o, "dtype", arg, bench_dtype_names, &chosen);
        o->bench.dtype = (hx_dtype_t)chosen;
        return status;
    case KEY_OP:
        status = name(o, "op", arg, bench_op_names, &chosen);
        o->bench.op = (hx_op_t)chosen;
        return status;
    case KEY_ALLOC: o->bench.alloc = 1; return 0;
    case KEY_SCHEMA: o->command = TUNE_SCHEMA; return 0;
    case 'h': o->command = TUNE_HELP; return 0;
    case 'V': o->command = TUNE_VERSION; return 0;
    case ARGP_KEY_ARG: return argument_take(o, arg);
    case ARGP_KEY_ERROR:
        if (!o->error[0])
            option_refused(option_table, state, o->error);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {option_table, option_take, "[COMMAND FILE...]", doc, NULL, NULL, NULL};

void tune_options_help(void)
{
    argp_help(&argp, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, (char *)"coll_tune");
}

/* What is wrong as a whole, once every option is read. */
static void together_check(const struct parsing *p)
{
    struct tune_options *o = p->o;
    int is_command = o->command >= TUNE_CHECK && o->command <= TUNE_CONFIRM && !tune_is_job(o);
    const char *command = is_command ? command_names[o->command - TUNE_CHECK] : NULL;
    const char *output = o->output ? o->output : TUNE_OUTPUT;

    if (command && p->run_option)
        snprintf(o->error, sizeof(o->error), "option --%s is not one of coll_tune %s", p->run_option, command);
    else if (command && o->output && o->command != TUNE_MERGE && o->command != TUNE_MODEL)
        snprintf(o->error, sizeof(o->error), "option --output is not one of coll_tune %s", command);
    else if (o->command == TUNE_CHECK && o->nfiles == 0)
        snprintf(o->error, sizeof(o->error), "check takes tables: coll_tune check table.json");
    else if (o->command == TUNE_MERGE && (o->nfiles < 2 || !o->output))
        snprintf(o->error, sizeof(o->error), "merge takes two tables or more, and a new one: coll_tune merge a.json b.json -o c.json");
    else if (o->command == TUNE_DIFF && o->nfiles != 2)
        snprintf(o->error, sizeof(o->error), "diff takes two tables: coll_tune diff a.json b.json");
    else if (tune_is_job(o) && o->command != TUNE_RUN && (o->resume || (o->least_gain >= 0 && o->command != TUNE_CONFIRM) || report_wanted(&o->bench.report)))
        snprintf(o->error, sizeof(o->error), "option --%s is not one of coll_tune %s",
                 o->resume ? "resume" : o->least_gain >= 0 && o->command != TUNE_CONFIRM ? "gain" : o->bench.report.html ? "html" : o->bench.report.svg ? "svg" : "gnuplot",
                 command_names[o->command - TUNE_CHECK]);
    else if (tune_is_job(o) && o->command != TUNE_RUN && !o->refine)
        snprintf(o->error, sizeof(o->error), "option --factor is not one of coll_tune %s", command_names[o->command - TUNE_CHECK]);
    else if (o->command == TUNE_MODEL && o->bench.alloc)
        snprintf(o->error, sizeof(o->error), "option --alloc is not one of coll_tune model");
    else if (o->command == TUNE_MODEL && hx_traits_of(o->bench.dtype).numbers == HX_NUMBERS_HALF)
        snprintf(o->error, sizeof(o->error), "--dtype=%s: the model is that of floats of 32 bits and more, and integers", bench_dtype_names[o->bench.dtype]);
    else if (o->command == TUNE_CONFIRM && o->nfiles)
        snprintf(o->error, sizeof(o->error), "\"%s\": confirm takes its table as coll_tune confirm -o FILE", o->files[0]);
    else if (tune_is_job(o) && o->command != TUNE_JUDGE && !strcmp(output, "-"))
        snprintf(o->error, sizeof(o->error), "--output=-: the table is written after every point: name a file");
    else if (tune_is_job(o) && o->bench.min_bytes > o->bench.max_bytes)
        snprintf(o->error, sizeof(o->error), "--min=%llu is above --max=%llu", (unsigned long long)o->bench.min_bytes,
                 (unsigned long long)o->bench.max_bytes);
    else if (o->command == TUNE_RUN && o->bench.report.html && !strcmp(o->bench.report.html, output))
        snprintf(o->error, sizeof(o->error), "--output and --html both write to \"%s\"", output);
}

void tune_options_parse(struct tune_options *o, int argc, char **argv)
{
    struct parsing p = {.o = o};
    const char *names[HX_FUNCTION_COUNT + 1];

    *o = (struct tune_options){.files = calloc((size_t)argc + 1, sizeof(*o->files)), .refine = 1, .least_gain = -1,
                               .bench = {.min_bytes = 8, .max_bytes = UINT64_MAX, .factor = 4, .dtype = HX_FLOAT32, .op = HX_SUM}};
    option_command_line(argc, argv, o->bench.command);
    if (!o->files) {
        snprintf(o->error, sizeof(o->error), "no memory");
        return;
    }
    int parsed = argp_parse(&argp, argc, argv, ARGP_SILENT, NULL, &p) == 0;
    if (o->bench.max_bytes == UINT64_MAX)
        o->bench.max_bytes = o->command == TUNE_MODEL ? 1 << 20 : o->command == TUNE_CONFIRM ? (uint64_t)1 << 40 : 16 << 20;
    if (o->budget_s <= 0)
        o->budget_s = o->command == TUNE_MODEL ? 20 : 300;
    if (o->bench.ncollectives == 0)
        o->bench.ncollectives = tunable(names, o->bench.collectives, o->command != TUNE_JUDGE && hx_traits_of(o->bench.dtype).numbers != HX_NUMBERS_FLOAT);
    if (parsed)
        together_check(&p);
}
