/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_info's command line. */
#include "tools/info/coll_info.h"
#include <errno.h>
#include <string.h>

enum { KEY_ALGORITHMS = 0x100, KEY_DOCTOR, KEY_TABLE, KEY_JSON };

#define RANKS_MAX 1024

static const struct argp_option option_table[] =
    {{"algorithms", KEY_ALGORITHMS, NULL, 0, "list the algorithms of these collectives, or of all", 1},
     {"ranks", 'p', "N", 0, "with --algorithms: count what they do on N ranks (default 8)", 1},
     {"doctor", KEY_DOCTOR, NULL, 0,
      "examine this process, its node and its job, and say how to mend what is wrong", 1},
     {"table", KEY_TABLE, NULL, 0,
      "show the entries of the tuning tables in FILE[:FILE]... (default: HX_TABLE), and whether they can be used here", 1},
     {"json", KEY_JSON, NULL, 0, "write JSON", 2},
     {"help", 'h', NULL, 0, "show this text", 3},
     {"version", 'V', NULL, 0, "show the library's version", 3},
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

static error_t coll_add(struct info_options *o, const char *text)
{
    const char *names[HX_COLL_COUNT + 1] = {NULL};

    for (int i = 0; i < HX_COLL_COUNT; i++)
        names[i] = hx_coll_name((enum hx_coll)i);
    int chosen = option_collective(text, names, o->error);
    if (chosen < 0)
        return EINVAL;
    for (int i = 0; i < o->ncolls; i++)
        if (o->colls[i] == (enum hx_coll)chosen)
            return 0;
    o->colls[o->ncolls++] = (enum hx_coll)chosen;
    return 0;
}

static error_t option_take(int key, char *arg, struct argp_state *state)
{
    struct info_options *o = state->input;

    switch (key) {
    case KEY_ALGORITHMS: o->algorithms = 1; return 0;
    case 'p':
        o->ranks_given = 1;
        return option_number("ranks", arg, 1, RANKS_MAX, &o->ranks, o->error) < 0 ? EINVAL : 0;
    case KEY_DOCTOR: o->doctor = 1; return 0;
    case KEY_TABLE: o->table = 1; return 0;
    case KEY_JSON: o->json = 1; return 0;
    case 'h': o->help = 1; return 0;
    case 'V': o->version = 1; return 0;
    case ARGP_KEY_ARG:
        if (!o->table)
            return coll_add(o, arg);
        if (o->files) {
            snprintf(o->error, sizeof(o->error), "--table takes FILE[:FILE]...; \"%.1000s\" is one more", arg);
            return EINVAL;
        }
        if (!arg[strspn(arg, ":")]) {
            snprintf(o->error, sizeof(o->error), "--table takes FILE[:FILE]...; \"%.1000s\" names none", arg);
            return EINVAL;
        }
        o->files = arg;
        return 0;
    case ARGP_KEY_ERROR:
        if (!o->error[0])
            option_refused(option_table, state, o->error);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {option_table, option_take, "[COLLECTIVE... | FILE[:FILE]...]", doc, NULL, NULL, NULL};

void info_options_help(void)
{
    argp_help(&argp, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, (char *)"coll_info");
}

void info_options_parse(struct info_options *o, int argc, char **argv)
{
    *o = (struct info_options){.ranks = 8};
    if (argp_parse(&argp, argc, argv, ARGP_SILENT, NULL, o) != 0)
        return;
    if (o->algorithms + o->doctor + o->table > 1)
        snprintf(o->error, sizeof(o->error), "--algorithms, --doctor and --table are told one at a time");
    else if (!o->algorithms && (o->ncolls || o->ranks_given))
        snprintf(o->error, sizeof(o->error), "%s%s goes with --algorithms",
                 o->ncolls ? "the collective " : "option --ranks", o->ncolls ? hx_coll_name(o->colls[0]) : "");
    for (int i = 0; !o->ncolls && i < HX_COLL_COUNT; i++)
        o->colls[i] = (enum hx_coll)i;
    o->ncolls = o->ncolls ? o->ncolls : HX_COLL_COUNT;
}
