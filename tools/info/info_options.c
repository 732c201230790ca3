/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_info's command line. */
#include "tools/info/coll_info.h"
#include <stdio.h>
#include <string.h>

#define OPTIONS struct info_options
#define RANKS_MAX 1024

static const struct option_row option_rows[] = {
    {"algorithms", 0, NULL, "list the algorithms of these collectives, or of all", 1, 0, IS_FLAG(algorithms)},
    {"ranks", 'p', "N", "with --algorithms: count rounds, messages and bytes of the plans for N ranks (default 8)",
     1, 0, IS_COUNT(ranks, 1, RANKS_MAX)},
    {"constants", 0, NULL, "show only the constants of the node, and the parameters of the cost model for the node and the network, "
     "each with its source. Start it as the job", 1, 0, IS_FLAG(constants)},
    {"doctor", 0, NULL, "examine this process, its node and its job, and say how to fix each fault", 1, 0, IS_FLAG(doctor)},
    {"table", 0, NULL, "show the entries of the tuning tables in FILE[:FILE]... (default: HX_TABLE), and whether they can be "
     "used here", 1, 0, IS_FLAG(table)},
    {"json", 0, NULL, "write JSON", 2, 0, IS_FLAG(json)},
    {0}};

static const char doc[] =
    "Show the versions of Hierax and its libraries, the machine, and the part of the machine that this process may use. Also "
    "show the network interfaces that Hierax uses, and every setting with its value, source and meaning. In a job (coll_run, "
    "srun) rank 0 prints this once, with the job's nodes and ranks, and rank 0's counters. HX_STATS=1 makes any job print "
    "these counters at its end.\n\n"
    "With --algorithms: show every algorithm, by the name that HX_... settings take. Its scope is intra (inside a node), "
    "inter (between nodes) or flat (over all ranks of several nodes). The other columns show its needs and the plans of N "
    "ranks. S is the whole vector. For allgather and gather, S is the whole output. For alltoall, S is all blocks of a rank.\v"
    "  rounds    messages or flags one after the other; for a chain, of one slice\n"
    "  messages  sent or received by the busiest rank; 0 in shared memory\n"
    "  sent      bytes sent by the rank that sends most, as a multiple of S. In\n"
    "            shared memory: bytes that a rank writes for other ranks to read\n"
    "  received  bytes received by the rank that receives most. In shared memory:\n"
    "            bytes that a rank reads and other ranks have written\n"
    "  steps     number of steps of the longest plan\n"
    "  plan      bytes of memory of the largest plan\n\n"
    "  coll_info\n"
    "  srun -N 4 -n 8 --mpi=pmi2 coll_info\n"
    "  coll_info --algorithms allreduce -p 64\n"
    "  coll_info --table tuned.json\n"
    "  coll_run -n 4 --nodes 2 -- coll_info --constants\n"
    "  coll_info --doctor\n"
    "  srun -N 4 -n 8 --mpi=pmi2 coll_info --doctor\n\n"
    "The doctor tests everything that a job needs, and ends within minutes. It works even if Hierax cannot start. Each line "
    "begins with ok, warn or fail. For warn and fail, two more lines give the meaning and the fix. warn: a job runs, but is "
    "slower, or is close to a limit at which it will fail.\n\n"
    "busy core: each rank computes for 60 ms, and compares its processor time with the elapsed time. If it lost more "
    "than 15 %, the doctor looks for a process that takes the core all the time.\n\n"
    "links: if no check has failed, the job starts Hierax and measures latency and rate between the hosts, each way, in pairs. "
    "With many hosts it measures for 10 s, not all links, and then repeats slow links for at most 10 s. A host or link is "
    "slow if its rate is less than a third of the median host's. It is also slow if its latency is more than "
    "8 times as long, and more than 1 ms longer.\n\n"
    "The exit status is 0; 1 if Hierax cannot start, or a check of the doctor has failed; 2 for a wrong command line or setting.";

static int word_take(void *options, char **words, char error[OPTION_TEXT_BYTES])
{
    struct info_options *o = options;
    const char *names[HX_COLL_COUNT + 1] = {NULL};

    for (int i = 0; i < HX_COLL_COUNT; i++)
        names[i] = hx_coll_name((enum hx_coll)i);
    if (!o->table)
        return option_collective_add(words[0], names, o->colls, &o->ncolls, error) < 0 ? -1 : 1;
    if (o->files || !words[0][strspn(words[0], ":")]) {
        snprintf(error, OPTION_TEXT_BYTES, "--table takes one argument, FILE[:FILE]...; \"%.1000s\" %s", words[0],
                 o->files ? "is a second one: join the files with ':'" : "names no file");
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
    if (o->algorithms + o->constants + o->doctor + o->table > 1)
        snprintf(o->error, sizeof(o->error), "choose only one of --algorithms, --constants, --doctor and --table");
    else if (!o->algorithms && (o->ncolls || o->ranks))
        snprintf(o->error, sizeof(o->error), "\"%s\" needs --algorithms: add it to list algorithms",
                 o->ncolls ? hx_coll_name((enum hx_coll)o->colls[0]) : "--ranks");
    o->ranks = o->ranks ? o->ranks : 8;
    for (int i = 0; !o->ncolls && i < HX_COLL_COUNT; i++)
        o->colls[i] = i;
    o->ncolls = o->ncolls ? o->ncolls : HX_COLL_COUNT;
}
