/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_plan's command line. An error names the value, the nearest valid one and the choices. */
#include "tools/plan/coll_plan.h"
#include "tools/common/bench.h"
#include "runtime/base/env_value.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS struct plan_options
#define DEFAULT_SIZES 32 /* of compare, at most */
#define SIZE_MAX_BYTES ((uint64_t)1 << 40)

/* A bit for each of plan_commands. */
enum {
    EXPLAIN = 1, COST = 2, DRAW = 4, COMPARE = 8, VERIFY = 16, STEPS = 32, BIG = 64, EVERY = 127,
    CHOOSES = EXPLAIN | COST | DRAW | COMPARE | STEPS | BIG
};

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

static int shape_take(void *options, const char *text, char error[OPTION_TEXT_BYTES])
{
    struct plan_options *o = options;

    (void)error;
    hx_shape_free(plan_shape_parse(text)); /* refuse at once */
    o->shapes[o->nshapes++] = text;
    return 0;
}

static int size_take(void *options, const char *text, char error[OPTION_TEXT_BYTES])
{
    struct plan_options *o = options;

    return option_number("size", text, 0, SIZE_MAX_BYTES, &o->sizes[o->nsizes++], error);
}

/* The index of the name before "=" of NAME=VALUE, or -1. */
static int assignment_find(const char *option, const char *expected, const char *what, const char *text, const char *const *names,
                           char error[OPTION_TEXT_BYTES])
{
    char name[64] = "";

    if (!strchr(text, '=')) {
        snprintf(error, OPTION_TEXT_BYTES, "--%s %s: expected %s", option, text, expected);
        return -1;
    }
    strncat(name, text, strcspn(text, "=") < sizeof(name) - 1 ? strcspn(text, "=") : sizeof(name) - 1);
    return option_choose(what, name, names, error);
}

static int setting_take(void *options, const char *text, char error[OPTION_TEXT_BYTES])
{
    struct plan_options *o = options;
    const char *names[HX_ENV_COUNT + 1] = {NULL};

    for (int i = 0; i < HX_ENV_COUNT; i++)
        names[i] = hx_env_rows[i].name;
    o->settings[o->nsettings++] = text;
    return assignment_find("set", "HX_NAME=VALUE", "setting", text, names, error) < 0 ? -1 : 0;
}

static int provider_take(void *options, const char *name, char error[OPTION_TEXT_BYTES])
{
    struct plan_options *o = options;

    o->provider = name;
    return option_choose("provider", name, hx_registry.net->providers(), error) < 0 ? -1 : 0;
}

static int model_take(void *options, const char *text, char error[OPTION_TEXT_BYTES])
{
    struct plan_options *o = options;
    const char *names[HX_COST_PARAMETERS + 1] = {NULL};

    for (int k = 0; k < HX_COST_PARAMETERS; k++)
        names[k] = hx_cost_parameters[k].name;
    const int i = assignment_find("model", "NAME=VALUE", "parameter of the model", text, names, error);
    if (i >= 0 && option_real(names[i], strchr(text, '=') + 1, 0, 1e6, &o->model[i], error) < 0)
        plan_refuse("--model %s", error + 2);
    return i < 0 ? -1 : 0;
}

static int constants_take(void *options, const char *path, char error[OPTION_TEXT_BYTES])
{
    char machine[HX_CONSTANTS_MACHINE_BYTES];
    struct plan_options *o = options;
    hx_status_t status = hx_constants_read(path, &o->constants, machine);

    o->constants_path = path;
    if (status != HX_SUCCESS)
        snprintf(error, OPTION_TEXT_BYTES, "--constants %s", status == HX_ERR_STATE ? path : hx_last_detail());
    if (status == HX_ERR_STATE)
        strncat(error, ": there is no such file", OPTION_TEXT_BYTES - strlen(error) - 1);
    return status == HX_SUCCESS ? 0 : -1;
}

/* A parameter has one source. */
static void constants_check(const struct plan_options *o)
{
    for (int k = 0; o->constants_path && hx_cost_parameters[k].name; k++)
        if (o->model[k] > 0 && !hx_cost_parameters[k].net)
            plan_refuse("--model %s and --constants both set parameters of the node: use one of them", hx_cost_parameters[k].name);
}

static int algorithm_take(void *options, const char *name, char error[OPTION_TEXT_BYTES])
{
    struct plan_options *o = options;
    const char *names[PLAN_NAMES_MAX + 1] = {NULL};
    const struct hx_algorithm *a;
    int n = 0;

    for (int c = 0; c < HX_COLL_COUNT; c++)
        for (int idx = 0; n < PLAN_NAMES_MAX && (a = hx_algorithm_next((enum hx_coll)c, ~0u, &idx));)
            n = plan_name_add(names, a->family ? plan_name_add(names, n, a->family) : n, a->name);
    if (!strchr(name, '(') && option_choose("algorithm", name, names, error) < 0) /* a plan's is known when there are candidates */
        return -1;
    o->algorithms[o->nalgorithms++] = name;
    return 0;
}

/* Words that are not options: the command, then sizes and collectives. */
static int word_take(void *options, char **words, char error[OPTION_TEXT_BYTES])
{
    struct plan_options *o = options;
    const char *commands[PLAN_COMMANDS_MAX + 1] = {NULL}, *colls[HX_COLL_COUNT + 1] = {NULL};
    char *word = words[0];

    for (int c = 0; plan_commands[c].name; c++)
        commands[c] = plan_commands[c].name;
    for (int i = 0; i < HX_COLL_COUNT; i++)
        colls[i] = hx_coll_name((enum hx_coll)i);
    if (o->command < 0)
        return (o->command = option_choose("command", word, commands, error)) < 0 ? -1 : 1;
    if (word[0] >= '0' && word[0] <= '9' && CHOOSES & 1u << o->command) {
        if (strchr("x,/:", word[strspn(word, "0123456789")]) && word[strspn(word, "0123456789")])
            plan_refuse("\"%s\" is not a size; to give a shape, write --shape before it", word);
        return size_take(o, word, error) < 0 ? -1 : 1;
    }
    if (1u << o->command == COMPARE && o->ncolls == 1) {
        if (o->nsides == 2)
            plan_refuse("compare takes two plans or algorithms; \"%s\" is a third", word);
        o->sides[o->nsides++] = word;
        return 1;
    }
    return option_collective_add(word, colls, o->colls, &o->ncolls, error) < 0 ? -1 : 1;
}

static const struct option_row option_rows[] = {
    {"shape", 0, "SHAPE", "ranks per node: 4,4,3 or 33x1 or 4x96,2x95; with domains inside a node: 2x96/2/12. Then :block "
     "(default) or :cyclic. May be repeated (cost, verify, steps, big)", 1, EVERY, IS_TAKEN(shape_take)},
    {"size", 0, "BYTES", "bytes of the whole vector, as in coll_bench (default: 1M; big: 64M; compare: 8 to 64M). The word --size may "
     "be left out. Suffixes K M G are powers of 1024", 2, CHOOSES, IS_TAKEN(size_take)},
    {"dtype", 0, "TYPE", "element type (default float32)", 2, CHOOSES, IS_CHOICE(dtype, bench_dtype_names)},
    {"set", 0, "HX_NAME=VALUE", "a setting of the job; it takes precedence over the environment. May be repeated",
     2, CHOOSES, IS_TAKEN(setting_take)},
    {"llc", 0, "BYTES", "last-level cache of a node (default 32M)", 2, CHOOSES, IS_COUNT(llc_bytes, 1, SIZE_MAX_BYTES)},
    {"cpus", 0, "N", "usable cores of a node (default: one per rank). With --set HX_NODES: of the machine", 2, CHOOSES, IS_POSITIVE(cpus, 65536)},
    {"ordered", 0, NULL, "plan for an operation that is not commutative", 2, CHOOSES & ~BIG, IS_FLAG(ordered)},
    {"alloc", 0, NULL, "plan for a communicator with memory of hx_alloc", 2, CHOOSES & ~BIG, IS_FLAG(alloc)},
    {"ring-order", 0, "NODES", "rings pass the nodes in this order, as in 0,2,1,3 (default: HX_RING_ORDER)",
     2, EVERY, IS_TEXT(ring_order)},
    {"provider", 0, "NAME", "libfabric provider between nodes (default efa). explain and draw use its cost model "
     "and its entries of HX_TABLE; cost and compare use only the cost model", 2, CHOOSES & ~BIG, IS_TAKEN(provider_take)},
    {"root", 0, "R", "root of collectives that have one (default 0)", 2, CHOOSES, IS_COUNT(root, 0, 1 << 24)},
    {"model", 0, "NAME=VALUE", "a parameter of the cost model, see below (default: HX_TABLE's, else the provider's). May be repeated",
     2, CHOOSES, IS_TAKEN(model_take)},
    {"constants", 0, "FILE", "use these constants of a node, as measured by a job: see HX_CONSTANTS", 2, CHOOSES, IS_TAKEN(constants_take)},
    {"rank", 0, "R", "show this rank only (explain: default 0)", 3, EXPLAIN | DRAW, IS_COUNT(rank, 0, 1 << 24)},
    {"all-ranks", 0, NULL, "show the steps of all ranks", 3, EXPLAIN, IS_FLAG(all_ranks)},
    {"json", 0, NULL, "write JSON; coll_plan COMMAND --help explains the keys", 3, EXPLAIN | COST | DRAW | COMPARE, IS_FLAG(json)},
    {"table", 0, NULL, "write a line for each shape and size, and a column for each plan; * marks the fastest plan",
     3, COST, IS_FLAG(table)},
    {"time", 0, NULL, "show the time that the planner needs to choose and build the plan, with nothing cached", 3, COST, IS_FLAG(time)},
    {"output", 'o', "FILE", "write the picture to FILE (default and -: standard output); needs coll_report",
     3, DRAW, IS_TEXT(output)},
    {"svg", 0, "FILE", "also write a log-log plot of time against size to FILE (-: to standard output, without the "
     "list); needs coll_report", 3, COMPARE, IS_TEXT(svg)},
    {"algorithm", 0, "NAME", "only plans that use this algorithm, or the plan of this name. May be repeated",
     4, EXPLAIN | COST | DRAW | VERIFY | STEPS, IS_TAKEN(algorithm_take)},
    {"max-ranks", 0, "N", "verify one node of 1 to N ranks, with and without domains, and 1 to N nodes of one "
     "rank (default 16). steps: of 2 to N ranks", 4, VERIFY | STEPS, IS_COUNT(max_ranks, 1, 512)},
    {"all", 0, NULL, "verify all collectives (the default if none is named)", 4, VERIFY, IS_FLAG(all)},
    {0}};

static const struct option_tool tool = {NULL, NULL, option_rows, word_take};

/* Check all options together, once every one is read. */
static void together_check(const struct plan_options *o, uint64_t used)
{
    const unsigned command = o->command < 0 ? 0 : 1u << o->command;
    const char *foreign = option_foreign(&tool, used, command), *name = command ? plan_commands[o->command].name : NULL;

    if (!command)
        plan_refuse("no command given; choices: explain cost draw compare verify steps big (see coll_plan --help)");
    if (foreign)
        plan_refuse("coll_plan %s has no option --%s", name, foreign);
    if (command & (EXPLAIN | DRAW) && (o->ncolls != 1 || o->nshapes != 1 || o->nsizes > 1))
        plan_refuse("%s takes one collective, one --shape and one size, for example: coll_plan %s allreduce --shape 3,1,2 1M", name,
                    name);
    if (command == COST && (o->ncolls != 1 || o->nshapes < 1))
        plan_refuse("cost takes one collective and a --shape, for example: coll_plan cost allreduce --shape 4x96 64K 16M");
    if (command == COMPARE && (o->ncolls != 1 || o->nshapes != 1 || o->nsides != 2))
        plan_refuse("compare takes one collective, one --shape and two plans or algorithms, for example: "
                    "coll_plan compare allreduce ring rdh --shape 8x1");
    if (command & (BIG | STEPS) && o->nsizes > 1)
        plan_refuse("%s takes one size", name);
    if (o->one_rank && o->all_ranks)
        plan_refuse("choose only one of --rank and --all-ranks");
    if (option_is_given(&tool, used, "root") && o->ncolls == 1 && !hx_coll_is_rooted((enum hx_coll)o->colls[0]))
        plan_refuse("--root=%llu has no effect: %s has no root", (unsigned long long)o->root, hx_coll_name((enum hx_coll)o->colls[0]));
    if (command == COMPARE && !strcmp(o->sides[0], o->sides[1]))
        plan_refuse("compare takes two different plans or algorithms; both are \"%s\"", o->sides[0]);
    if (o->json && o->table)
        plan_refuse("choose only one of --json and --table");
    if (o->ring_order && !o->nshapes)
        plan_refuse("--ring-order %s: add --shape, because the order names nodes of a shape", o->ring_order);
    if (o->all && o->ncolls)
        plan_refuse("choose only one of --all and \"%s\"", hx_coll_name(o->colls[0]));
}

static int size_compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

void plan_options_parse(struct plan_options *o, int argc, char **argv)
{
    char error[OPTION_TEXT_BYTES];
    uint64_t used;
    size_t room = (size_t)argc + 1;

    *o = (struct plan_options){.command = -1, .rank = UINT64_MAX, .llc_bytes = 32 << 20, .max_ranks = 16, .dtype = HX_FLOAT32, .provider = "efa"};
    o->shapes = plan_memory(calloc(room, sizeof(*o->shapes)));
    o->settings = plan_memory(calloc(room, sizeof(*o->settings)));
    o->algorithms = plan_memory(calloc(room, sizeof(*o->algorithms)));
    o->sizes = plan_memory(calloc(room + DEFAULT_SIZES, sizeof(*o->sizes)));
    const enum option_end end = option_parse(&tool, argc, argv, o, &used, error);
    if (end >= OPTION_HELP)
        exit(end == OPTION_HELP ? plan_help(o->command, option_rows) : option_answer(&tool, end, "coll_plan", hx_version()));
    if (end == OPTION_WRONG)
        plan_refuse("%s", error);
    o->one_rank = o->rank != UINT64_MAX;
    together_check(o, used);
    const unsigned command = 1u << o->command;
    o->rank = o->one_rank ? o->rank : 0;
    o->by_table = (EXPLAIN | DRAW) & command && !o->nalgorithms;
    constants_check(o);
    o->by_model = ((EXPLAIN | DRAW | COST | COMPARE) & command) != 0;
    for (int i = 0; !o->by_model && o->settings[i]; i++)
        if (!strncmp(o->settings[i], "HX_TABLE", 8))
            plan_refuse("--set %s: %s does not use a table; explain, draw, cost and compare do", o->settings[i],
                        plan_commands[o->command].name);
    if (!o->nsizes && command == COMPARE)
        for (uint64_t bytes = 8; bytes <= 64 << 20; bytes *= 2)
            o->sizes[o->nsizes++] = bytes;
    else if (!o->nsizes)
        o->sizes[o->nsizes++] = command == BIG ? 64 << 20 : 1 << 20;
    qsort(o->sizes, (size_t)o->nsizes, sizeof(*o->sizes), size_compare);
    for (int i = 0; !o->ncolls && i < HX_COLL_COUNT; i++)
        o->colls[i] = i;
    o->ncolls = o->ncolls ? o->ncolls : HX_COLL_COUNT;
}
