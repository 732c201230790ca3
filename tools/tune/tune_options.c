/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_tune's command line. Parsing is silent and alike on all ranks: a fault becomes a text that rank 0 prints later. */
#include "tools/tune/coll_tune.h"
#include "runtime/base/reduce.h"
#include <stdlib.h>
#include <string.h>

#define OPTIONS struct tune_options
#define BYTES_MOST ((uint64_t)1 << 40)

static const char *const command_names[] = {"check", "merge", "diff", "judge", "model", "confirm", NULL};

/* Which commands take an option. model and judge with files take other ones than in a job. */
#define ON(command) (1u << (command))
enum { ON_JOB = ON(TUNE_RUN) | ON(TUNE_JUDGE) | ON(TUNE_MODEL) | ON(TUNE_CONFIRM), ON_MODEL_FILES = 1 << 16 };

/* The benchmark's collectives for which there is a choice that a table can hold; returns their number. Those with a count per rank are
 * planned as others of these. */
static int tunable(const char *names[HX_FUNCTION_COUNT + 1], int collectives[HX_FUNCTION_COUNT], int reductions_only)
{
    enum hx_coll coll;
    int n = 0;

    for (int i = 0; i < HX_FUNCTION_COUNT; i++)
        if (hx_coll_parse(bench_collective_names[i], &coll) == 0 && !hx_coll_has_pair_counts(coll) &&
            (hx_coll_reduces(coll) || !reductions_only)) {
            names[n] = bench_collective_names[i];
            collectives[n++] = i;
        }
    names[n] = NULL;
    return n;
}

/* As numbers among those that can be tuned, at first. */
static int collectives_take(void *options, const char *text, char error[OPTION_TEXT_BYTES])
{
    struct bench_options *b = &((struct tune_options *)options)->bench;
    const char *names[HX_FUNCTION_COUNT + 1];
    int tunables[HX_FUNCTION_COUNT];

    tunable(names, tunables, 0);
    b->ncollectives = 0;
    for (const char *at = text; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        char name[64];
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, ","), at);
        if (option_collective_add(name, names, b->collectives, &b->ncollectives, error) < 0)
            return -1;
    }
    return 0;
}

static int budget_take(void *options, const char *text, char error[OPTION_TEXT_BYTES])
{
    struct tune_options *o = options;
    char *end;
    double unit = 1;

    o->budget_s = strtod(text, &end);
    if (*end == 's' || *end == 'm' || *end == 'h')
        unit = *end == 's' ? 1 : *end == 'm' ? 60 : 3600, end++;
    o->budget_s *= unit;
    if (end != text && *end == 0 && o->budget_s >= 0.1 && o->budget_s <= 1e7)
        return 0;
    snprintf(error, OPTION_TEXT_BYTES, "--budget=%s: expected a time such as 90s, 5m or 1h", text);
    return -1;
}

static const struct option_row option_rows[] = {
    {"output", 'o', "FILE", "the table to write (default " TUNE_OUTPUT "; merge: no default)",
     1, ON_JOB | ON(TUNE_MERGE) | ON_MODEL_FILES, IS_TEXT(output)},
    {"collectives", 0, "A,B...", "tune these (default: all; if --dtype is an integer or a 16-bit float: the "
     "reductions)", 2, ON_JOB, IS_TAKEN(collectives_take)},
    {"min", 0, "BYTES", "smallest size (default 8), as 64K or 64KiB; K M G are powers of 1024",
     2, ON_JOB, IS_COUNT(bench.min_bytes, 0, BYTES_MOST)},
    {"max", 0, "BYTES", "largest size (default 16M; model: 1M; confirm: 1024G)",
     2, ON_JOB, IS_COUNT(bench.max_bytes, 0, BYTES_MOST)},
    {"factor", 0, "N", "ratio of one size to the next smaller one, from the largest down (default 4). Without --factor, "
     "coll_tune also adds sizes between two sizes whose plans differ", 2, ON(TUNE_RUN), IS_COUNT(bench.factor, 2, 1 << 20)},
    {"dtype", 0, "TYPE", "element type (default float32). Entries for reductions hold for its class: floats, floats of "
     "16 bits, or integers", 2, ON_JOB, IS_CHOICE(bench.dtype, bench_dtype_names)},
    {"op", 0, "OP", "reduction (default sum)", 2, ON_JOB, IS_CHOICE(bench.op, bench_op_names)},
    {"alloc", 0, NULL, "use buffers in memory of hx_alloc; the entries are for calls with such buffers",
     2, ON_JOB & ~ON(TUNE_MODEL), IS_FLAG(bench.alloc)},
    {"budget", 0, "TIME", "time for the whole run, for example 90s, 5m or 1h (default 5m; model: 20s)",
     3, ON_JOB, IS_TAKEN(budget_take)},
    {"gain", 0, "PERCENT", "choose another plan than the default only if it is faster by more than this (default 3; if "
     "ranks share cores, 15)", 3, ON(TUNE_RUN) | ON(TUNE_CONFIRM), IS_COUNT(gain_percent, 0, 1000)},
    {"resume", 0, NULL, "keep the entries in FILE for this shape, and measure only the missing ones", 3, ON(TUNE_RUN), IS_FLAG(resume)},
    {"force", 0, NULL, "write a cost model even if it has too few points or too noisy times",
     3, ON(TUNE_RUN) | ON(TUNE_MODEL) | ON_MODEL_FILES, IS_FLAG(force)},
    REPORT_ROWS(bench.report, 3, ON(TUNE_RUN)),
    {"schema", 0, NULL, "print the JSON schema of a table", 4, 0, IS_FLAG(schema)},
    {0}};

static const char doc[] =
    "Find the fastest plan for each collective and size in jobs of this shape, and write them to a table. Jobs use it with "
    "HX_TABLE=FILE. Start coll_tune the way you start your jobs: with the same nodes, ranks per node, placement and settings. "
    "Unset settings that force algorithms, lanes or slices.\n\n"
    "  srun -N 4 --ntasks-per-node=8 --mpi=pmi2 coll_tune -o table.json\n"
    "  HX_TABLE=table.json srun -N 4 --ntasks-per-node=8 --mpi=pmi2 ./program\n\n"
    "Commands that need no job:\n"
    "  check FILE...            check tables: report wrong entries, and whether the\n"
    "                           table was made on a machine like this one\n"
    "  merge A B... -o FILE     combine all entries into one table. If two entries\n"
    "                           overlap, keep the one of the later file\n"
    "  diff A B                 show the sizes for which two tables choose\n"
    "                           different plans; the exit status is then 1\n"
    "  model FILE... -o TABLE   fit the cost model to files that judge has written\n"
    "  judge FILE...            compare the planner's choices with the times in\n"
    "                           files that judge has written. With HX_TABLE=TABLE,\n"
    "                           compare the choices of that table\n\n"
    "Commands that run as a job:\n"
    "  confirm -o TABLE         measure each choice of the table against the\n"
    "                           default again. If a choice is not faster by --gain\n"
    "                           again, replace it by the default. Use the same\n"
    "                           --gain as when the table was made\n"
    "  model -o TABLE           measure only the cost model's parameters, within\n"
    "                           --budget (default 20s)\n"
    "  judge [-o FILE]          measure how much slower the planner's choice is\n"
    "                           than the best plan, at 8, 1K, 64K, 1M and 16M.\n"
    "                           Leave out plans that are predicted to take more\n"
    "                           than 12 times the best time. Measure the fastest\n"
    "                           plans again side by side. FILE gets the times\v"
    "Collectives: those that coll_info lists, except alltoallv. Sizes and the timed loop are the same as in coll_bench (see "
    "coll_bench --help).\n\n"
    "Candidates: the planner's plans for the collective, also with other numbers of lanes. coll_tune leaves out a plan that "
    "is predicted to take more than 4 times the best time. If more than 8 plans remain, coll_tune measures them briefly, and "
    "leaves out the slow ones (column pruned).\n\n"
    "Race: the candidates run side by side in one process. Their order is reversed in every second round. The time of a "
    "repetition is the time of the slowest rank. Each round has cold and warm calls (see coll_bench --help), because programs "
    "make both. The time of a round is the geometric mean of the cold median and the warm median. Entries of the table then "
    "have \"loop\": \"mixed\". The rating of a candidate is the ratio of its time to the default's time in the same round. "
    "coll_tune drops a round if the hypervisor took CPU time away in it.\n\n"
    "A candidate leaves the race when the 95 % confidence interval of its median ratio excludes a gain of more than --gain. "
    "The fastest candidate left must win again in new rounds, alone against the default. In these rounds the two plans "
    "exchange their parts of the shared memory and use other buffers. So their places in memory do not decide. If the "
    "candidate does not win, coll_tune keeps the default. From 256 KiB on, coll_tune also tries slices of half and double "
    "the length. coll_tune prefers the plan that won at the previous size, if it also beats the default and is at most 3 % "
    "slower than the winner.\n\n"
    "An entry holds around its size: half-way to the next smaller and to the next larger size, on a logarithmic scale. "
    "Without --factor, and while time is left, coll_tune then adds sizes between two neighbours that have different plans or "
    "slices. It does so if the larger size is more than twice the smaller one. Last, it repeats races of candidates that "
    "looked faster, but not by a significant margin.\n\n"
    "A point is one collective at one size. coll_tune writes FILE completely after every point. An entry for this shape stays "
    "until its sizes are measured again; entries for other shapes always stay. Ctrl-C ends the run after the current round. "
    "(coll_run gives it 2 seconds for that; --kill-after=60 gives it more.) To continue after Ctrl-C, or after a budget that "
    "was too short, start again with --resume.\n\n"
    "If ranks share cores, times differ from launch to launch by 10 % or more, so the default --gain is 15 % there. Nodes may "
    "differ too: confirm the table in another job or two.\n\n"
    "The table also gets parameters of the cost model. coll_tune fits them so that the model's choices and predicted times "
    "are close to the measurements. Jobs use the model for shapes and sizes without an entry. Parameters of the node hold on "
    "every machine of the same kind. Parameters of the network hold for the same provider. A later run starts from the "
    "parameters in the table. coll_tune leaves out a parameter on which no measured plan depends. It writes no model if there are "
    "fewer points than parameters, or if predictions are off by more than a factor of 2 at the median. Then it prints why, "
    "and coll_tune model ends with status 1. With --force it writes the model.\n\n"
    "An entry for a reduction holds for a class of datatypes: floats, floats of 16 bits, or integers. If the table has no "
    "entry for the class of a call, Hierax uses the entry for floats. It also does so for all other types and for the "
    "program's own commutative operations. If the table has no entry for memory of hx_alloc, Hierax uses the entry for other "
    "memory. Both rules have one exception: if the model prefers a plan that only this class or this memory allows, Hierax "
    "uses that plan.\n\n"
    "To make entries for a class or for hx_alloc, run and confirm with --dtype or --alloc and the same table. Such "
    "entries hold from half of the smallest to twice the largest size. The model is fitted only to measurements of floats "
    "and integers in other memory.\n\n"
    "The exit status is 0; 1 if something failed or diff found a difference; 2 for a wrong command line, setting or table. "
    "After a signal it is 128 + the number of the signal.";

static int word_take(void *options, char **words, char error[OPTION_TEXT_BYTES])
{
    struct tune_options *o = options;
    int chosen;

    if (o->command != TUNE_RUN)
        o->files[o->nfiles++] = words[0];
    else if ((chosen = option_choose("command", words[0], command_names, error)) < 0)
        return -1;
    else
        o->command = TUNE_CHECK + (enum tune_command)chosen;
    return 1;
}

static const struct option_tool tool = {"[COMMAND FILE...]", doc, option_rows, word_take};

int tune_options_answer(const struct tune_options *o)
{
    return option_answer(&tool, o->bench.end, "coll_tune", hx_version());
}

/* Check all options together, once every one is read. */
static void together_check(struct tune_options *o, uint64_t used)
{
    const unsigned of_files = o->command == TUNE_MODEL ? ON_MODEL_FILES : 0;
    const char *foreign = option_foreign(&tool, used, tune_is_job(o) || o->command < TUNE_JUDGE ? ON(o->command) : of_files);

    if (foreign)
        snprintf(o->error, sizeof(o->error), "coll_tune %s has no option --%s", command_names[o->command - TUNE_CHECK], foreign);
    else if (o->command == TUNE_CHECK && o->nfiles == 0)
        snprintf(o->error, sizeof(o->error), "check takes tables: coll_tune check table.json");
    else if (o->command == TUNE_MERGE && (o->nfiles < 2 || !o->output))
        snprintf(o->error, sizeof(o->error), "merge takes two tables or more, and a new one: coll_tune merge a.json b.json -o c.json");
    else if (o->command == TUNE_DIFF && o->nfiles != 2)
        snprintf(o->error, sizeof(o->error), "diff takes two tables: coll_tune diff a.json b.json");
    else if (o->command == TUNE_MODEL && hx_traits_of(o->bench.dtype).numbers == HX_NUMBERS_HALF)
        snprintf(o->error, sizeof(o->error), "--dtype=%s: the cost model is fitted only to integers and to floats of 32 bits or more",
                 bench_dtype_names[o->bench.dtype]);
    else if (o->command == TUNE_CONFIRM && o->nfiles)
        snprintf(o->error, sizeof(o->error), "\"%s\": confirm takes its table with -o: coll_tune confirm -o FILE", o->files[0]);
    else if (tune_is_job(o) && o->command != TUNE_JUDGE && !strcmp(o->output, "-"))
        snprintf(o->error, sizeof(o->error), "--output=-: name a file, because coll_tune writes the table after every point");
    else if (tune_is_job(o) && bench_sizes_check(&o->bench, o->error) == 0)
        bench_op_check(&o->bench, o->error);
}

void tune_options_parse(struct tune_options *o, int argc, char **argv)
{
    uint64_t used;
    const char *names[HX_FUNCTION_COUNT + 1];
    int tunables[HX_FUNCTION_COUNT];

    *o = (struct tune_options){.files = calloc((size_t)argc + 1, sizeof(*o->files)), .gain_percent = UINT64_MAX,
                               .bench = {.min_bytes = 8, .max_bytes = UINT64_MAX, .dtype = HX_FLOAT32, .op = HX_SUM}};
    option_command_line(argc, argv, o->bench.command);
    if (!o->files) {
        snprintf(o->error, sizeof(o->error), "no memory");
        return;
    }
    const enum option_end end = o->bench.end = option_parse(&tool, argc, argv, o, &used, o->error);
    if (!o->output && o->command != TUNE_JUDGE && o->command != TUNE_MERGE)
        o->output = TUNE_OUTPUT;
    o->bench.warmup = o->command == TUNE_RUN ? 4 : 2;
    o->refine = !o->bench.factor;
    o->bench.factor = o->bench.factor ? o->bench.factor : 4;
    o->least_gain = o->gain_percent == UINT64_MAX ? -1 : (double)o->gain_percent / 100;
    if (o->bench.max_bytes == UINT64_MAX)
        o->bench.max_bytes = o->command == TUNE_MODEL ? 1 << 20 : o->command == TUNE_CONFIRM ? (uint64_t)1 << 40 : 16 << 20;
    if (o->budget_s <= 0)
        o->budget_s = o->command == TUNE_MODEL ? 20 : 300;
    const int given = o->bench.ncollectives,
              all = tunable(names, tunables, !given && o->command != TUNE_JUDGE && hx_traits_of(o->bench.dtype).numbers != HX_NUMBERS_FLOAT);
    o->bench.ncollectives = given ? given : all;
    for (int i = 0; i < o->bench.ncollectives; i++)
        o->bench.collectives[i] = tunables[given ? o->bench.collectives[i] : i];
    if (end == OPTION_GO_ON && !o->schema)
        together_check(o, used);
}
