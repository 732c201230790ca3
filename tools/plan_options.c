/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_plan's command line. Whatever is wrong is told with its value, the nearest good one and the choices. */
#include "coll_plan.h"
#include "options.h"
#include "runtime/env_value.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { EXPLAIN = 1, VERIFY = 2, BIG = 4 };
static const char *const command_names[] = {"explain", "verify", "big", NULL}; /* in the order of these bits */

enum {
    KEY_SHAPE = 0x100, KEY_SIZE, KEY_DTYPE, KEY_RANK, KEY_ALL_RANKS, KEY_SET, KEY_LLC, KEY_CPUS, KEY_ROOT, KEY_MAX_RANKS,
    KEY_ALGORITHM, KEY_ALL, KEY_ORDERED, KEY_END
};

static const struct argp_option option_table[] = {
    {"shape", KEY_SHAPE, "SHAPE", 0,
     "ranks per node: 4,4,3 or 33x1 or 4x96,2x95; then :block (default) or :cyclic. "
     "May be repeated (verify, big)",
     1},
    {"size", KEY_SIZE, "BYTES", 0,
     "of the whole vector, as in coll_bench (default: explain 1M, big 64M); suffixes K M G", 2},
    {"dtype", KEY_DTYPE, "TYPE", 0, "element type (default float32)", 2},
    {"set", KEY_SET, "HX_NAME=VALUE", 0, "a setting of the job; beats the environment's. May be repeated", 2},
    {"llc", KEY_LLC, "BYTES", 0, "last-level cache of a node (default 32M)", 2},
    {"cpus", KEY_CPUS, "N", 0, "usable cores of a node (default: one per rank)", 2},
    {"ordered", KEY_ORDERED, NULL, 0, "explain: for an operation that is not commutative", 2},
    {"root", KEY_ROOT, "R", 0, "the root, of collectives that have one (default 0)", 2},
    {"rank", KEY_RANK, "R", 0, "explain: show this rank's steps (default 0)", 3},
    {"all-ranks", KEY_ALL_RANKS, NULL, 0, "explain: show the steps of all ranks", 3},
    {"algorithm", KEY_ALGORITHM, "NAME", 0, "verify: only plans that use this algorithm", 4},
    {"max-ranks", KEY_MAX_RANKS, "N", 0, "verify: one node of 1 to N ranks, and 1 to N nodes of one (default 16)", 4},
    {"all", KEY_ALL, NULL, 0, "verify: all collectives (the default where none is named)", 4},
    {"help", 'h', NULL, 0, "show this text", 5},
    {"version", 'V', NULL, 0, "show the version", 5},
    {0}};

static const unsigned option_commands[KEY_END - KEY_SHAPE] = {
    [KEY_SHAPE - KEY_SHAPE] = EXPLAIN | VERIFY | BIG, [KEY_SIZE - KEY_SHAPE] = EXPLAIN | BIG,
    [KEY_DTYPE - KEY_SHAPE] = EXPLAIN | BIG,          [KEY_RANK - KEY_SHAPE] = EXPLAIN,
    [KEY_ALL_RANKS - KEY_SHAPE] = EXPLAIN,            [KEY_SET - KEY_SHAPE] = EXPLAIN | BIG,
    [KEY_LLC - KEY_SHAPE] = EXPLAIN | BIG,            [KEY_CPUS - KEY_SHAPE] = EXPLAIN | BIG,
    [KEY_ROOT - KEY_SHAPE] = EXPLAIN | BIG,
    [KEY_MAX_RANKS - KEY_SHAPE] = VERIFY,             [KEY_ALGORITHM - KEY_SHAPE] = VERIFY,
    [KEY_ALL - KEY_SHAPE] = VERIFY,                   [KEY_ORDERED - KEY_SHAPE] = EXPLAIN,
};

static const char doc[] =
    "Plans without a job: what Hierax would do for a collective, a shape and a size.\n\n"
    "  explain  the candidates with their predicted cost and why they lost; the plan chosen, its roundings, its steps, its slices, "
    "and "
    "what each rank sends\n"
    "  verify   run the checker over the plans of all ranks: every algorithm alone, and every composition with 1, 2 "
    "and "
    "the most lanes\n"
    "  big      large nodes: no small messages between nodes, slots within half the cache\n\v"
    "Collectives: allreduce, reduce_scatter_block, allgather, bcast, reduce, barrier, gather, scatter, alltoall, "
    "alltoallv (verify, big: all where none is named).\n\n"
    "  coll_plan explain allreduce --shape 3,1,2 --size 1M\n"
    "  coll_plan explain allgather --shape 4x96 --size 64M --set HX_LANES=2\n"
    "  coll_plan verify --all --max-ranks 64\n"
    "  coll_plan verify allreduce --algorithm rdh --shape 8,7:cyclic\n\n"
    "The exit status is 0; 1 when verify or big finds a fault; 2 for a wrong command line.";

void plan_refuse(const char *format, ...)
{
    va_list args;

    fflush(stdout);
    fprintf(stderr, "coll_plan: ");
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\n");
    exit(2);
}

void *plan_memory(void *pointer)
{
    if (!pointer) {
        fprintf(stderr, "coll_plan: no memory\n");
        exit(1);
    }
    return pointer;
}

int plan_name_choose(const char *what, const char *text, const char *const *names)
{
    char error[OPTION_TEXT_BYTES];
    int chosen = option_choose(what, text, names, error);

    if (chosen < 0)
        plan_refuse("%s", error);
    return chosen;
}

static uint64_t number_parse(const char *option, const char *text, uint64_t low, uint64_t high)
{
    char error[OPTION_TEXT_BYTES];
    uint64_t value;

    if (option_number(option, text, low, high, &value, error) < 0)
        plan_refuse("%s", error);
    return value;
}

static double cpus_parse(const char *text)
{
    char error[OPTION_TEXT_BYTES];
    double value;

    if (option_real("cpus", text, 0, 65536, &value, error) < 0)
        plan_refuse("%s", error);
    return value;
}

static void setting_add(struct plan_options *o, const char *text)
{
    const char *names[HX_ENV_COUNT + 1] = {NULL}, *equals = strchr(text, '=');
    char name[64] = "";

    if (!equals)
        plan_refuse("--set %s: expected HX_NAME=VALUE", text);
    strncat(name, text, (size_t)(equals - text) < sizeof(name) - 1 ? (size_t)(equals - text) : sizeof(name) - 1);
    for (int i = 0; i < HX_ENV_COUNT; i++)
        names[i] = hx_env_rows[i].name;
    plan_name_choose("setting", name, names);
    o->settings[o->nsettings++] = text;
}

static void coll_add(struct plan_options *o, const char *text)
{
    const char *names[HX_COLL_COUNT + 1] = {NULL};

    for (int i = 0; i < HX_COLL_COUNT; i++)
        names[i] = hx_coll_name((enum hx_coll)i);
    enum hx_coll coll = (enum hx_coll)plan_name_choose("collective", text, names);
    for (int i = 0; i < o->ncolls; i++)
        if (o->colls[i] == coll)
            return;
    o->colls[o->ncolls++] = coll;
}

static void dtype_set(struct plan_options *o, const char *text)
{
    const char *names[HX_DTYPE_COUNT + 1] = {NULL};

    for (int i = 0; i < HX_DTYPE_COUNT; i++)
        names[i] = hx_dtype_name((hx_dtype_t)i);
    o->dtype = (hx_dtype_t)plan_name_choose("dtype", text, names);
}

struct parsing {
    struct plan_options *options;
    unsigned command; /* bit */
    unsigned used;    /* options, a bit each */
};

static error_t option_take(int key, char *arg, struct argp_state *state)
{
    struct parsing *p = state->input;
    struct plan_options *o = p->options;
    char error[OPTION_TEXT_BYTES];

    if (key >= KEY_SHAPE && key < KEY_END)
        p->used |= 1u << (key - KEY_SHAPE);
    switch (key) {
    case KEY_SHAPE:
        hx_shape_free(plan_shape_parse(arg)); /* refuse at once */
        o->shapes[o->nshapes++] = arg;
        return 0;
    case KEY_SIZE: o->bytes = number_parse("size", arg, 0, (uint64_t)1 << 40); return 0;
    case KEY_DTYPE: dtype_set(o, arg); return 0;
    case KEY_RANK: o->rank = number_parse("rank", arg, 0, 1 << 24); return 0;
    case KEY_ROOT: o->root = number_parse("root", arg, 0, 1 << 24); return 0;
    case KEY_ALL_RANKS: o->all_ranks = 1; return 0;
    case KEY_SET: setting_add(o, arg); return 0;
    case KEY_LLC: o->llc_bytes = number_parse("llc", arg, 1, (uint64_t)1 << 40); return 0;
    case KEY_CPUS: o->cpus = cpus_parse(arg); return 0;
    case KEY_MAX_RANKS: o->max_ranks = number_parse("max-ranks", arg, 0, 512); return 0;
    case KEY_ALGORITHM: o->algorithm = arg; return 0;
    case KEY_ALL: o->all = 1; return 0;
    case KEY_ORDERED: o->ordered = 1; return 0;
    case 'h':
        argp_help(state->root_argp, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC,
                  (char *)"coll_plan");
        exit(0);
    case 'V':
        printf("coll_plan %s\n", hx_version());
        exit(0);
    case ARGP_KEY_ARG:
        if (!o->command) {
            p->command = 1u << plan_name_choose("command", arg, command_names);
            o->command = arg;
        } else {
            coll_add(o, arg);
        }
        return 0;
    case ARGP_KEY_ERROR:
        option_refused(option_table, state->argv[state->next - 1], error);
        plan_refuse("%s", error);
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* What is wrong as a whole, once every option is read. */
static void together_check(const struct parsing *p)
{
    struct plan_options *o = p->options;

    if (!o->command)
        plan_refuse("no command given; choices: explain verify big (coll_plan --help teaches)");
    for (int i = 0; i < KEY_END - KEY_SHAPE; i++)
        for (int t = 0; (p->used & (1u << i)) && !(option_commands[i] & p->command) && option_table[t].name; t++)
            if (option_table[t].key == KEY_SHAPE + i)
                plan_refuse("option --%s is not one of coll_plan %s", option_table[t].name, o->command);
    if (p->command == EXPLAIN && (o->ncolls != 1 || o->nshapes != 1))
        plan_refuse(
            "explain takes one collective and one --shape, for example: coll_plan explain allreduce --shape 3,1,2");
    if (o->all && o->ncolls)
        plan_refuse("--all and \"%s\" contradict each other", hx_coll_name(o->colls[0]));
}

void plan_options_parse(struct plan_options *o, int argc, char **argv)
{
    static const struct argp argp = {option_table, option_take, "COMMAND [COLLECTIVE...]", doc, NULL, NULL, NULL};
    struct parsing p = {.options = o};
    size_t room = (size_t)argc + 1;

    *o = (struct plan_options){.llc_bytes = 32 << 20, .max_ranks = 16, .dtype = HX_FLOAT32, .bytes = UINT64_MAX};
    o->shapes = plan_memory(calloc(room, sizeof(*o->shapes)));
    o->settings = plan_memory(calloc(room, sizeof(*o->settings)));
    argp_parse(&argp, argc, argv, ARGP_NO_EXIT | ARGP_NO_ERRS | ARGP_NO_HELP, NULL, &p);
    together_check(&p);
    if (o->bytes == UINT64_MAX)
        o->bytes = p.command == BIG ? 64 << 20 : 1 << 20;
    for (int i = 0; !o->ncolls && i < HX_COLL_COUNT; i++)
        o->colls[i] = (enum hx_coll)i;
    o->ncolls = o->ncolls ? o->ncolls : HX_COLL_COUNT;
}

void plan_options_release(struct plan_options *o)
{
    free(o->shapes);
    free(o->settings);
}
