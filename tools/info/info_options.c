/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_info's command line. */
#include "tools/info/coll_info.h"
#include <stdio.h>
#include <string.h>

#define OPTIONS struct info_options
#define RANKS_MAX 1024

static const struct option_row option_rows[] = {
    {"algorithms", 0, NULL, "list the algorithms of these collectives, or of all", 1, 0, IS_FLAG(algorithms)},
    {"ranks", 'p', "N", "with --algorithms: count what they do on N ranks (default 8)", 1, 0, IS_COUNT(ranks, 1, RANKS_MAX)},
    {"doctor", 0, NULL, "examine this process, its node and its job, and say how to mend what is wrong", 1, 0, IS_FLAG(doctor)},
    {"table", 0, NULL, "show the entries of the tuning tables in FILE[:FILE]... (default: HX_TABLE), and whether they can be "
     "used here", 1, 0, IS_FLAG(table)},
    {"json", 0, NULL, "write JSON", 2, 0, IS_FLAG(json)},
    {0}};

static const char doc[] =
    "Show what Hierax is and sees here: versions, the machine and what this process may use of it. Also network interfaces "
    "and which of them are used, and every setting with its value, source and meaning. In a job (coll_run, srun) rank 0 "
    "prints this once, with the job's nodes and ranks, and what rank 0 has counted so far. HX_STATS=1 makes any job print "
    "these counters at its end.\n\n"
    "With --algorithms instead: every algorithm, by the name that HX_... settings take. Its scope is intra (inside a node), "
    "inter (between nodes) or flat (over all ranks of several nodes). Then what it needs, and what the plans of N ranks do. "
    "S is the whole vector; for allgather and gather, the whole output; for alltoall, what one rank sends to all.\v"
    "  rounds    messages or flags one after the other; for a chain, of one slice\n"
    "  messages  sent or received by the busiest rank; 0 in shared memory\n"
    "  sent      by the rank that sends most, as a multiple of S; in shared memory:\n"
    "            bytes written where others read\n"
    "  received  by the rank that receives most; in shared memory: bytes read where\n"
    "            others have written\n"
    "  steps     number of steps of the longest plan\n"
    "  plan      bytes of memory of the largest plan\n\n"
    "  coll_info\n"
    "  srun -N 4 -n 8 --mpi=pmi2 coll_info\n"
    "  coll_info --algorithms allreduce -p 64\n"
    "  coll_info --table tuned.json\n"
    "  coll_info --doctor\n"
    "  srun -N 4 -n 8 --mpi=pmi2 coll_info --doctor\n\n"
    "The doctor tries everything that a job needs, within limits of time. It works even if Hierax cannot start. Each line is "
    "ok, warn or fail, with its meaning and its remedy. With warn a job runs, but slower, or something close to it will fail.\n\n"
    "The exit status is 0; 1 if Hierax cannot start, or the doctor has found a fail; 2 for a wrong command line or setting.";

static int word_take(void *options, char **words, char error[OPTION_TEXT_BYTES])
{
    struct info_options *o = options;
    const char *names[HX_COLL_COUNT + 1] = {NULL};

    for (int i = 0; i < HX_COLL_COUNT; i++)
        names[i] = hx_coll_name((enum hx_coll)i);
    if (!o->table)
        return option_collective_add(words[0], names, o->colls, &o->ncolls, error) < 0 ? -1 : 1;
    if (o->files || !words[0][strspn(words[0], ":")]) {
        snprintf(error, OPTION_TEXT_BYTES, "--table takes FILE[:FILE]...; \"%.1000s\" %s", words[0], o->files ? "is one more" : "names none");
        return -1;
    }
    o->files = words[0];
    return 1;
}

static const struct option_tool tool = {"[COLLECTIVE... | FILE[:FILE]...]", doc, option_rows, word_take};

int info_options_answer(const struct info_options *o)
{
    return option_answer(&tool, o->end, "coll_info", hx_version());
}

void info_options_parse(struct info_options *o, int argc, char **argv)
{
    *o = (struct info_options){.ncolls = 0};
    if ((o->end = option_parse(&tool, argc, argv, o, NULL, o->error)) != OPTION_GO_ON)
        return;
    if (o->algorithms + o->doctor + o->table > 1)
        snprintf(o->error, sizeof(o->error), "--algorithms, --doctor and --table are told one at a time");
    else if (!o->algorithms && (o->ncolls || o->ranks))
        snprintf(o->error, sizeof(o->error), "%s%s goes with --algorithms",
                 o->ncolls ? "the collective " : "option --ranks", o->ncolls ? hx_coll_name((enum hx_coll)o->colls[0]) : "");
    o->ranks = o->ranks ? o->ranks : 8;
    for (int i = 0; !o->ncolls && i < HX_COLL_COUNT; i++)
        o->colls[i] = i;
    o->ncolls = o->ncolls ? o->ncolls : HX_COLL_COUNT;
}
