/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every way to make a communicator from another one, and every choice: the new communicator inherits the choices of the other one, whatever
 * the settings of the job are. usage:
 *
 * inherited on|off          a rank of a job: the choices "on" or "off", and all ways but hx_comm_grow
 * inherited on|off TO       the same with hx_comm_grow, to TO ranks
 * inherited on|off join     a newcomer of that job
 */
#include <hierax.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_MOST = 16, FLOATS = 1 << 20, SECONDS = 60 };

#define FORMAT "int8"
#define TIMEOUT_S 2.0   /* of rank 0 */
#define TIMEOUT_STEP 0.125 /* each further rank of the job waits so much longer: ranks may differ in this choice alone */
#define CHECK(right) check(!!(right), #right, __LINE__)
#define OK(call) CHECK((call) == HX_SUCCESS)

static hx_comm_t *made;
static const char *way = "start", *choice = "none", *plan = "none";
static int rank_in_job, nodes, on; /* on: which value is chosen */
static int teller; /* the rank of made that waits until the time-out. Then made fails on all ranks */

static void check(int right, const char *what, int line)
{
    if (right)
        return;
    fprintf(stderr, "inherited: rank %d, line %d, %s, %s %s: not %s; plan %s; %s; %s\n", rank_in_job, line, way, choice, on ? "on" : "off",
            what, plan, made ? hx_error_detail(made) : "", hx_error_detail(NULL));
    exit(1);
}

/* ---- choices: how they are made, and whether a new communicator has them ------------------------------------------- */

static void atomic_choose(hx_comm_t *comm)
{
    OK(hx_comm_set_atomic(comm, on));
}

/* The root alone cannot complete a gather: it expects more of rank 1. An atomic gather then fails on all ranks. */
static void atomic_holds(void)
{
    int block[3] = {1, 2, 3}, blocks[4 * RANKS_MOST];
    size_t counts[RANKS_MOST];
    hx_status_t status;

    for (int r = 0; r < hx_size(made); r++)
        counts[r] = r == 1 ? 4 : 3;
    status = hx_gatherv(block, 3, blocks, counts, NULL, HX_INT32, 0, made);
    CHECK(status == (hx_rank(made) == 0 || on ? HX_ERR_ARG : HX_SUCCESS));
}

static void wire_choose(hx_comm_t *comm)
{
    OK(hx_comm_set_wire(comm, on ? FORMAT : "off"));
}

static void wire_holds(void)
{
    const size_t length = strlen(FORMAT);
    static hx_plan_info_t info;

    OK(hx_plan_info(made, "allreduce", FLOATS, HX_FLOAT32, HX_SUM, 0, &info));
    plan = info.plan;
    CHECK(strlen(info.plan) > length && (strcmp(info.plan + strlen(info.plan) - length, FORMAT) == 0) == (on && nodes > 1));
}

static double timeout_s = TIMEOUT_S; /* a newcomer has that of rank 0 */

static void timeout_choose(hx_comm_t *comm)
{
    timeout_s = TIMEOUT_S + TIMEOUT_STEP * rank_in_job;
    OK(hx_comm_set_timeout(comm, timeout_s));
}

/* A receive without a send. Afterwards made can only be freed. */
static void timeout_holds(void)
{
    char byte, text[64];

    if (hx_rank(made) != teller)
        return;
    snprintf(text, sizeof(text), "waited %g s (hx_comm_set_timeout)", timeout_s);
    CHECK(hx_recv(&byte, 1, HX_BYTE, hx_rank(made), 0, made) == HX_ERR_TIMEOUT);
    CHECK(strstr(hx_error_detail(made), text));
}

static const struct {
    const char *name;
    void (*choose)(hx_comm_t *comm);
    void (*holds)(void);
} choices[] = {{"atomic", atomic_choose, atomic_holds}, {"wire", wire_choose, wire_holds}, {"timeout", timeout_choose, timeout_holds}};
enum { CHOICES = sizeof(choices) / sizeof(*choices) }; /* the last one's check leaves made unusable */

static void choose(hx_comm_t *comm)
{
    for (int i = 0; i < CHOICES; i++)
        choices[i].choose(comm);
}

static void holds(int i, const char *name, hx_comm_t *comm)
{
    way = name;
    made = comm;
    choice = choices[i].name;
    choices[i].holds();
    made = NULL;
    choice = "none";
}

/* ---- ways -------------------------------------------------------------------------------------------------------- */

static hx_status_t split(hx_comm_t *comm, hx_comm_t **out)
{
    return hx_comm_split(comm, 0, -hx_rank(comm), out);
}

static hx_status_t group(hx_comm_t *comm, hx_comm_t **out)
{
    int ranks[RANKS_MOST];

    for (int r = 0; r < hx_size(comm); r++)
        ranks[r] = hx_size(comm) - 1 - r;
    return hx_comm_group(comm, ranks, hx_size(comm), out);
}

static hx_status_t dup_twice(hx_comm_t *comm, hx_comm_t **out)
{
    hx_comm_t *first;
    hx_status_t status = hx_comm_dup(comm, &first);

    if (status == HX_SUCCESS)
        status = hx_comm_dup(first, out);
    return status == HX_SUCCESS ? hx_comm_free(first) : status;
}

static const struct {
    const char *name;
    hx_status_t (*make)(hx_comm_t *comm, hx_comm_t **out);
    int in_node; /* all its ranks are on one node */
} ways[] = {{"hx_comm_dup", hx_comm_dup, 0},     {"hx_comm_split", split, 0}, {"hx_comm_split_node", hx_comm_split_node, 1},
            {"hx_comm_group", group, 0}, {"hx_comm_shrink", hx_comm_shrink, 0}, {"hx_comm_dup of its duplicate", dup_twice, 0}};

static void ways_try(hx_comm_t *world)
{
    hx_comm_t *parent, *comm;
    const int all_nodes = nodes;

    OK(hx_comm_dup(world, &parent));
    choose(parent);
    for (int w = 0; w < (int)(sizeof(ways) / sizeof(*ways)); w++) {
        way = ways[w].name;
        OK(ways[w].make(parent, &comm));
        nodes = ways[w].in_node ? 1 : all_nodes;
        teller = w % hx_size(comm);
        for (int i = 0; i < CHOICES; i++)
            holds(i, ways[w].name, comm);
        OK(hx_comm_free(comm));
        OK(hx_barrier(world)); /* which waits longer than teller does */
    }
    OK(hx_comm_free(parent));
    OK(hx_finalize());
}

/* At the end: the time-out of the world on its newcomer, and the time-out of a communicator that is made from it on rank 0. */
static void grown_holds(hx_comm_t *bigger)
{
    hx_comm_t *copy;

    OK(hx_comm_dup(bigger, &copy));
    for (int i = 0; i < CHOICES; i++) {
        teller = hx_size(bigger) - 1;
        holds(i, "hx_comm_grow", bigger);
        teller = 0;
        holds(i, "hx_comm_dup of a world that has grown", copy);
    }
    hx_finalize(); /* of a world that has failed */
}

static void grow_try(hx_comm_t *world, int to)
{
    hx_comm_t *parent, *bigger;

    way = "hx_comm_grow";
    OK(hx_comm_dup(world, &parent));
    choose(parent);
    OK(hx_comm_grow(parent, to - hx_size(parent), SECONDS, &bigger));
    CHECK(bigger && hx_size(bigger) == to);
    grown_holds(bigger);
}

int main(int argc, char **argv)
{
    const int joins = argc == 3 && !strcmp(argv[2], "join");
    hx_comm_t *world;

    if (argc < 2)
        return 2;
    on = !strcmp(argv[1], "on");
    nodes = getenv("HX_NODES") && *getenv("HX_NODES") ? 2 : 1; /* or more */
    OK(joins ? hx_join(NULL, &world) : hx_init(&world));
    rank_in_job = hx_rank(world);
    CHECK(hx_size(world) <= RANKS_MOST);
    if (joins)
        grown_holds(world);
    else if (argc == 3)
        grow_try(world, atoi(argv[2]));
    else
        ways_try(world);
    return 0;
}
