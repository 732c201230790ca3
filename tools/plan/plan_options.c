/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_plan's command line. Whatever is wrong is told with its value, the nearest good one and the choices. */
#include "tools/plan/coll_plan.h"
#include "tools/common/options.h"
#include "runtime/base/env_value.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_SIZES 32 /* of compare, at most */
#define SIZE_MAX_BYTES ((uint64_t)1 << 40)

/* A bit for each of plan_commands. */
enum {
    EXPLAIN = 1, COST = 2, DRAW = 4, COMPARE = 8, VERIFY = 16, BIG = 32, EVERY = 63,
    CHOOSES = EXPLAIN | COST | DRAW | COMPARE | BIG
};

/* In the order of option_table. */
enum {
    KEY_SHAPE = 0x100, KEY_SIZE, KEY_DTYPE, KEY_SET, KEY_LLC, KEY_CPUS, KEY_ORDERED, KEY_ALLOC, KEY_RING_ORDER, KEY_PROVIDER, KEY_ROOT, KEY_MODEL, KEY_RANK,
    KEY_ALL_RANKS, KEY_JSON, KEY_TABLE, KEY_TIME, KEY_OUTPUT, KEY_SVG, KEY_ALGORITHM, KEY_MAX_RANKS, KEY_ALL, KEY_END
};

/* The commands that take each; after these the options that none needs to take. */
static const unsigned option_takers[KEY_END - KEY_SHAPE + 2] = {
    EVERY, CHOOSES, CHOOSES, CHOOSES, CHOOSES, CHOOSES, CHOOSES & ~BIG, CHOOSES & ~BIG, EVERY, CHOOSES & ~BIG, CHOOSES, CHOOSES, EXPLAIN | DRAW,
    EXPLAIN, EXPLAIN | COST | DRAW | COMPARE, COST, COST, DRAW, COMPARE, EXPLAIN | COST | DRAW | VERIFY, VERIFY, VERIFY, EVERY, EVERY,
};

static const struct argp_option option_table[] = {
    {"shape", KEY_SHAPE, "SHAPE", 0,
     "ranks per node: 4,4,3 or 33x1 or 4x96,2x95; with domains inside a node: 2x96/2/12. Then :block (default) or :cyclic. May "
     "be repeated (cost, verify, big)", 1},
    {"size", KEY_SIZE, "BYTES", 0,
     "bytes of the whole vector, as in coll_bench (default: 1M; big: 64M; compare: 8 to 64M); suffixes K M G. --size itself may "
     "be left out", 2},
    {"dtype", KEY_DTYPE, "TYPE", 0, "element type (default float32)", 2},
    {"set", KEY_SET, "HX_NAME=VALUE", 0, "a setting of the job; it wins over the environment. May be repeated", 2},
    {"llc", KEY_LLC, "BYTES", 0, "last-level cache of a node (default 32M)", 2},
    {"cpus", KEY_CPUS, "N", 0, "usable cores of a node (default: one per rank)", 2},
    {"ordered", KEY_ORDERED, NULL, 0, "for an operation that is not commutative", 2},
    {"alloc", KEY_ALLOC, NULL, 0, "for a communicator with memory of hx_alloc", 2},
    {"ring-order", KEY_RING_ORDER, "NODES", 0, "rings pass the nodes in this order, as in 0,2,1,3 (default: HX_RING_ORDER)", 2},
    {"provider", KEY_PROVIDER, "NAME", 0, "libfabric provider between nodes (default efa): its cost model and its entries of "
                                          "HX_TABLE are used; cost and compare use the model only", 2},
    {"root", KEY_ROOT, "R", 0, "root of collectives that have one (default 0)", 2},
    {"model", KEY_MODEL, "NAME=VALUE", 0, "a parameter of the cost model, see below (default: HX_TABLE's, else EFA's). May be repeated", 2},
    {"rank", KEY_RANK, "R", 0, "show this rank only (explain: default 0)", 3},
    {"all-ranks", KEY_ALL_RANKS, NULL, 0, "show the steps of all ranks", 3},
    {"json", KEY_JSON, NULL, 0, "write JSON; coll_plan COMMAND --help explains the keys", 3},
    {"table", KEY_TABLE, NULL, 0, "write a line for each shape and size and a column for each plan; * marks the fastest", 3},
    {"time", KEY_TIME, NULL, 0, "show how long the planner takes for the first such call", 3},
    {"output", 'o', "FILE", 0, "write the picture to FILE (default, and -: to standard output), by coll_report", 3},
    {"svg", KEY_SVG, "FILE", 0, "also plot time against size, log-log, into FILE (-: to standard output, instead of the table), by "
                                "coll_report", 3},
    {"algorithm", KEY_ALGORITHM, "NAME", 0, "only plans that use this algorithm, or the plan of this name. May be repeated", 4},
    {"max-ranks", KEY_MAX_RANKS, "N", 0, "verify one node of 1 to N ranks, with and without domains, and 1 to N nodes of one "
                                         "rank (default 16)", 4},
    {"all", KEY_ALL, NULL, 0, "verify all collectives (the default if none is named)", 4},
    {"help", 'h', NULL, 0, "show this text; after a command, its options and output", 5},
    {"version", 'V', NULL, 0, "show the version", 5},
    {0}};

/* ---- values ---- */

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

void plan_end(int status)
{
    if (fflush(stdout) || ferror(stdout)) {
        perror("coll_plan: standard output");
        status = 1;
    }
    exit(status);
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
    char error[OPTION_TEXT_BYTES];

    for (int i = 0; i < HX_COLL_COUNT; i++)
        names[i] = hx_coll_name((enum hx_coll)i);
    int chosen = option_collective(text, names, error);
    if (chosen < 0)
        plan_refuse("%s", error);
    enum hx_coll coll = (enum hx_coll)chosen;
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

static void algorithm_add(struct plan_options *o, const char *name)
{
    const char *names[PLAN_NAMES_MAX + 1] = {NULL};
    int n = 0;

    if (strchr(name, '(')) { /* of a plan: known when there are candidates */
        o->algorithms[o->nalgorithms++] = name;
        return;
    }
    for (int c = 0; c < HX_COLL_COUNT; c++) {
        const struct hx_algorithm *a;
        int idx = 0, known;
        while (n < PLAN_NAMES_MAX && (a = hx_algorithm_next((enum hx_coll)c, ~0u, &idx))) {
            known = 0;
            for (int i = 0; i < n; i++)
                known |= !strcmp(names[i], a->name);
            if (!known)
                names[n++] = a->name;
        }
    }
    o->algorithms[o->nalgorithms++] = names[plan_name_choose("algorithm", name, names)];
}

static void model_set(struct plan_options *o, const char *text)
{
    const char *names[HX_COST_PARAMETERS + 1] = {NULL}, *equals = strchr(text, '=');
    char name[64] = "", error[OPTION_TEXT_BYTES];

    if (!equals)
        plan_refuse("--model %s: expected NAME=VALUE", text);
    strncat(name, text, (size_t)(equals - text) < sizeof(name) - 1 ? (size_t)(equals - text) : sizeof(name) - 1);
    for (int i = 0; i < HX_COST_PARAMETERS; i++)
        names[i] = hx_cost_parameters[i].name;
    int i = plan_name_choose("parameter of the model", name, names);
    if (option_real(hx_cost_parameters[i].name, equals + 1, 0, 1e6, &o->model[i], error) < 0)
        plan_refuse("--model %s", error + 2);
}

struct parsing {
    struct plan_options *options;
    int command;   /* of plan_commands, -1: none yet */
    unsigned used; /* options, a bit each */
};

/* Whatever is no option: the command, then sizes and collectives. */
static void word_take(struct parsing *p, char *word)
{
    struct plan_options *o = p->options;
    const char *names[PLAN_COMMANDS_MAX + 1] = {NULL};

    if (p->command < 0) {
        for (int c = 0; plan_commands[c].name; c++)
            names[c] = plan_commands[c].name;
        p->command = plan_name_choose("command", word, names);
        o->command = word;
    } else if (word[0] >= '0' && word[0] <= '9' && CHOOSES & 1u << p->command) {
        if (word[strspn(word, "0123456789")] == 'x')
            plan_refuse("\"%s\" is not a size; to give a shape, write --shape before it", word);
        o->sizes[o->nsizes++] = number_parse("size", word, 0, SIZE_MAX_BYTES);
    } else if (1u << p->command == COMPARE && o->ncolls == 1) {
        if (o->nsides == 2)
            plan_refuse("compare takes two plans or algorithms; \"%s\" is a third", word);
        o->sides[o->nsides++] = word;
    } else {
        coll_add(o, word);
    }
}

static error_t option_take(int key, char *arg, struct argp_state *state)
{
    struct parsing *p = state->input;
    struct plan_options *o = p->options;
    char error[OPTION_TEXT_BYTES];

    key = key == 'o' ? KEY_OUTPUT : key;
    if (key >= KEY_SHAPE && key < KEY_END)
        p->used |= 1u << (key - KEY_SHAPE);
    switch (key) {
    case KEY_SHAPE:
        hx_shape_free(plan_shape_parse(arg)); /* refuse at once */
        o->shapes[o->nshapes++] = arg;
        return 0;
    case KEY_SIZE: o->sizes[o->nsizes++] = number_parse("size", arg, 0, SIZE_MAX_BYTES); return 0;
    case KEY_DTYPE: dtype_set(o, arg); return 0;
    case KEY_RANK:
        o->rank = number_parse("rank", arg, 0, 1 << 24);
        o->one_rank = 1;
        return 0;
    case KEY_ROOT: o->root = number_parse("root", arg, 0, 1 << 24); return 0;
    case KEY_ALL_RANKS: o->all_ranks = 1; return 0;
    case KEY_SET: setting_add(o, arg); return 0;
    case KEY_LLC: o->llc_bytes = number_parse("llc", arg, 1, (uint64_t)1 << 40); return 0;
    case KEY_CPUS: o->cpus = cpus_parse(arg); return 0;
    case KEY_MODEL: model_set(o, arg); return 0;
    case KEY_MAX_RANKS: o->max_ranks = number_parse("max-ranks", arg, 1, 512); return 0;
    case KEY_ALGORITHM: algorithm_add(o, arg); return 0;
    case KEY_RING_ORDER: o->ring_order = arg; return 0;
    case KEY_ALL: o->all = 1; return 0;
    case KEY_ORDERED: o->ordered = 1; return 0;
    case KEY_ALLOC: o->alloc = 1; return 0;
    case KEY_JSON: o->json = 1; return 0;
    case KEY_TABLE: o->table = 1; return 0;
    case KEY_TIME: o->time = 1; return 0;
    case KEY_PROVIDER: o->provider = arg; return 0;
    case KEY_SVG: o->svg = arg; return 0;
    case KEY_OUTPUT: o->output = arg; return 0;
    case 'h':
        plan_help(p->command, option_table, option_takers);
        plan_end(0);
    case 'V':
        printf("coll_plan %s\n", hx_version());
        plan_end(0);
    case ARGP_KEY_ARG: word_take(p, arg); return 0;
    case ARGP_KEY_ERROR:
        option_refused(option_table, state, error);
        plan_refuse("%s", error);
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* What is wrong as a whole, once every option is read. */
static void together_check(const struct parsing *p)
{
    struct plan_options *o = p->options;
    unsigned command = p->command < 0 ? 0 : 1u << p->command;

    if (!command)
        plan_refuse("no command given; choices: explain cost draw compare verify big (see coll_plan --help)");
    for (int t = 0; t < KEY_END - KEY_SHAPE; t++)
        if (p->used & 1u << t && !(option_takers[t] & command))
            plan_refuse("option --%s is not one of coll_plan %s", option_table[t].name, o->command);
    if (command & (EXPLAIN | DRAW) && (o->ncolls != 1 || o->nshapes != 1 || o->nsizes > 1))
        plan_refuse("%s takes one collective, one --shape and one size, for example: coll_plan %s allreduce --shape 3,1,2 1M",
                    o->command, o->command);
    if (command == COST && (o->ncolls != 1 || o->nshapes < 1))
        plan_refuse("cost takes one collective and a --shape, for example: coll_plan cost allreduce --shape 4x96 64K 16M");
    if (command == COMPARE && (o->ncolls != 1 || o->nshapes != 1 || o->nsides != 2))
        plan_refuse("compare takes one collective, one --shape and two plans or algorithms, for example: "
                    "coll_plan compare allreduce ring rdh --shape 8x1");
    if (command == BIG && o->nsizes > 1)
        plan_refuse("big takes one size");
    if (o->json && o->table)
        plan_refuse("--json and --table contradict each other");
    if (o->ring_order && !o->nshapes)
        plan_refuse("--ring-order %s needs the --shape whose nodes it orders", o->ring_order);
    if (o->all && o->ncolls)
        plan_refuse("--all and \"%s\" contradict each other", hx_coll_name(o->colls[0]));
}

static int size_compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

void plan_options_parse(struct plan_options *o, int argc, char **argv)
{
    static const struct argp argp = {option_table, option_take, NULL, NULL, NULL, NULL, NULL};
    struct parsing p = {.options = o, .command = -1};
    size_t room = (size_t)argc + 1;

    *o = (struct plan_options){.llc_bytes = 32 << 20, .max_ranks = 16, .dtype = HX_FLOAT32, .provider = "efa"};
    o->shapes = plan_memory(calloc(room, sizeof(*o->shapes)));
    o->settings = plan_memory(calloc(room, sizeof(*o->settings)));
    o->algorithms = plan_memory(calloc(room, sizeof(*o->algorithms)));
    o->sizes = plan_memory(calloc(room + DEFAULT_SIZES, sizeof(*o->sizes)));
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER | ARGP_NO_EXIT | ARGP_NO_ERRS | ARGP_NO_HELP, NULL, &p);
    together_check(&p);
    o->by_table = (EXPLAIN | DRAW) & 1u << p.command && !o->nalgorithms;
    o->by_model = ((EXPLAIN | DRAW | COST | COMPARE) & 1u << p.command) != 0;
    for (int i = 0; !o->by_model && o->settings[i]; i++)
        if (!strncmp(o->settings[i], "HX_TABLE", 8))
            plan_refuse("--set %s: %s looks at no table; explain, draw, cost and compare do", o->settings[i], plan_commands[p.command].name);
    if (!o->nsizes && 1u << p.command == COMPARE)
        for (uint64_t bytes = 8; bytes <= 64 << 20; bytes *= 2)
            o->sizes[o->nsizes++] = bytes;
    else if (!o->nsizes)
        o->sizes[o->nsizes++] = 1u << p.command == BIG ? 64 << 20 : 1 << 20;
    qsort(o->sizes, (size_t)o->nsizes, sizeof(*o->sizes), size_compare);
    for (int i = 0; !o->ncolls && i < HX_COLL_COUNT; i++)
        o->colls[i] = (enum hx_coll)i;
    o->ncolls = o->ncolls ? o->ncolls : HX_COLL_COUNT;
}

void plan_options_release(struct plan_options *o)
{
    free(o->shapes);
    free(o->settings);
    free(o->algorithms);
    free(o->sizes);
}
