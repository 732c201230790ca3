/* SPDX-License-Identifier: BSD-3-Clause */
/* Draws a round from its seed: see faults.h. */
#include "faults.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct kind kinds[] = {
    {"none", NOWHERE, NOTHING, RIGHT, NO_CHILD, 0, 0},
    {"kill", IN_STEP, KILLS, RIGHT, NO_CHILD, 1, 0},
    {"exit", IN_STEP, EXITS, RIGHT, NO_CHILD, 1, 0},
    {"abort_in_op", IN_STEP, ABORTS, RIGHT, NO_CHILD, 1, 0},
    {"two", IN_STEP, KILLS, RIGHT, NO_CHILD, 2, 0},
    {"stop_brief", IN_STEP, STOPS_BRIEFLY, RIGHT, NO_CHILD, 1, 0},
    {"stop_long", IN_STEP, STOPS_LONG, RIGHT, NO_CHILD, 1, 0},
    {"stop_kill", IN_STEP, STOPS_AND_DIES, RIGHT, NO_CHILD, 1, 0},
    {"in_init", IN_INIT, KILLS, RIGHT, NO_CHILD, 1, 0},
    {"in_init_root", IN_INIT, KILLS, RIGHT, NO_CHILD, 1, 1},
    {"in_split", IN_CREATION, KILLS, RIGHT, NO_CHILD, 1, 0},
    {"in_finalize", IN_FINALIZE, KILLS, RIGHT, NO_CHILD, 1, 0},
    {"wrong_collective", IN_STEP, CALLS_WRONG, OTHER_COLLECTIVE, NO_CHILD, 1, 0},
    {"wrong_count", IN_STEP, CALLS_WRONG, OTHER_COUNT, NO_CHILD, 1, 0},
    {"wrong_root", IN_STEP, CALLS_WRONG, OTHER_ROOT, NO_CHILD, 1, 0},
    {"wrong_op", IN_STEP, CALLS_WRONG, OTHER_OP, NO_CHILD, 1, 0},
    {"wrong_type", IN_STEP, CALLS_WRONG, OTHER_TYPE, NO_CHILD, 1, 0},
    {"skipped", IN_STEP, CALLS_WRONG, SKIPPED, NO_CHILD, 1, 0},
    {"mixed", IN_STEP, CALLS_WRONG, MIXED, NO_CHILD, 1, 0},
    {"free", IN_STEP, CALLS_WRONG, FREES, NO_CHILD, 1, 0},
    {"child_fork", IN_STEP, KILLS, RIGHT, FORKED, 1, 0},
    {"child_exec", IN_STEP, KILLS, RIGHT, EXECUTED, 1, 0},
    {"child_spawn", IN_STEP, EXITS, RIGHT, SPAWNED, 1, 0},
};
const int kinds_count = sizeof(kinds) / sizeof(*kinds);

static const struct shape {
    int size;
    const char *nodes;
} shapes[] = {{4, "0"}, {8, "0"}, {4, "2"}, {6, "3,1,2"}};

static uint64_t state;

static uint64_t draw(uint64_t n) /* splitmix64 */
{
    uint64_t z = (state += 0x9e3779b97f4a7c15u);

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (z ^ z >> 31) % n;
}

const char *faults_what(enum what what)
{
    static const char *names[WHATS] = {"barrier", "allreduce", "reduce_scatter_block", "allgather", "bcast", "reduce",
                                       "gather", "scatter", "scan", "exscan", "alltoall"};
    return names[what];
}

hx_op_t faults_op(int op, hx_op_t own)
{
    const hx_op_t ops[OPS] = {HX_SUM, HX_MAX, HX_MIN, HX_BXOR, own};

    return ops[op];
}

int faults_is_deadly(const struct round *round)
{
    enum how how = round->kind->how;

    return how == KILLS || how == EXITS || how == ABORTS || how == STOPS_AND_DIES;
}

const struct group *faults_group(const struct round *round, int comm, int rank)
{
    int color = round->comms[comm].color[rank];

    return color < 0 ? NULL : &round->comms[comm].of[color];
}

int faults_place(const struct group *group, int rank)
{
    for (int i = 0; i < group->n; i++)
        if (group->ranks[i] == rank)
            return i;
    return -1;
}

static void world_draw(struct round *r, struct comm *comm)
{
    comm->parent = -1;
    comm->of[0].n = r->size;
    for (int i = 0; i < r->size; i++)
        comm->of[0].ranks[i] = i;
}

/* Order by key, then by rank of the world. */
static void split_draw(struct round *r, struct comm *comm)
{
    for (int i = 0; i < r->size; i++) {
        comm->color[i] = (int)draw(5) / 2;
        comm->color[i] = comm->color[i] == 2 ? -1 : comm->color[i];
        comm->key[i] = (int)draw(3);
    }
    for (int key = 0; key < 3; key++)
        for (int i = 0; i < r->size; i++)
            if (comm->color[i] >= 0 && comm->key[i] == key) {
                struct group *group = &comm->of[comm->color[i]];
                group->ranks[group->n++] = i;
            }
}

static void group_draw(struct round *r, struct comm *comm)
{
    int rest[RANKS], left = r->size, n = 2 + (int)draw((uint64_t)r->size - 2);

    for (int i = 0; i < r->size; i++) {
        rest[i] = i;
        comm->color[i] = -1;
    }
    for (int i = 0; i < n; i++) {
        int at = (int)draw((uint64_t)left);
        comm->of[0].ranks[comm->of[0].n++] = rest[at];
        comm->color[rest[at]] = 0;
        rest[at] = rest[--left];
    }
}

/* 0: the world's; 1: a split; 2: a dup of the world's; 3: a group; 4: a dup of the split */
static void comms_draw(struct round *r)
{
    world_draw(r, &r->comms[0]);
    split_draw(r, &r->comms[1]);
    world_draw(r, &r->comms[2]);
    group_draw(r, &r->comms[3]);
    r->comms[4] = r->comms[1];
    for (int i = 1; i < COMMS; i++)
        r->comms[i].parent = i == 4 ? 1 : 0;
}

static int smallest(const struct comm *comm)
{
    int n = comm->of[0].n;

    return comm->of[1].n && (comm->of[1].n < n || !n) ? comm->of[1].n : n ? n : 1;
}

static void step_draw(struct round *r, int i)
{
    struct step *s = &r->steps[i];
    size_t most;

    s->comm = (int)draw(COMMS);
    s->what = (enum what)draw(WHATS);
    s->dtype = draw(2) ? HX_INT64 : HX_INT32;
    s->op = (int)draw(OPS);
    s->root = (int)draw((uint64_t)smallest(&r->comms[s->comm]));
    s->wait_at = draw(3) || i + 2 > STEPS ? -1 : i + 1 + (int)draw((uint64_t)(STEPS - i));
    s->by_test = draw(3) == 0;
    most = (size_t)8 << draw(18); /* 8 B .. 1 MiB */
    s->count = (most / 2 + draw(most / 2 + 1)) / 8 / (s->what == ALLTOALL || s->what == ALLGATHER || s->what == REDUCE_SCATTER ? RANKS : 1);
    s->count = s->count ? s->count : 1;
}

static int is_reduction(enum what what)
{
    return what == ALLREDUCE || what == REDUCE || what == REDUCE_SCATTER || what == SCAN || what == EXSCAN;
}

static int is_rooted(enum what what)
{
    return what == BCAST || what == REDUCE || what == GATHER || what == SCATTER;
}

/* Choose the step of a wrong call, and change the call so that it really differs. */
static void wrong_draw(struct round *r, const struct victim *v)
{
    struct step *s = &r->steps[v->step];
    const struct group *group;

    while (!(group = faults_group(r, s->comm, v->rank)) || group->n < 2)
        s->comm = (int)draw(COMMS);
    s->root = (int)draw((uint64_t)smallest(&r->comms[s->comm]));
    while ((r->kind->wrong == OTHER_OP && !is_reduction(s->what)) || (r->kind->wrong == OTHER_ROOT && !is_rooted(s->what)) ||
           (s->what == BARRIER && (r->kind->wrong == OTHER_COUNT || r->kind->wrong == OTHER_TYPE)))
        s->what = (enum what)draw(WHATS);
    do
        r->wrong_what = (enum what)draw(WHATS);
    while (r->wrong_what == s->what);
    r->wrong_root = (s->root + 1) % group->n;
    if (r->kind->wrong != SKIPPED)
        return;
    for (int i = v->step + 1; i < STEPS; i++) /* the next call on it differs: else all calls would still match, except the last */
        if (r->steps[i].comm == s->comm) {
            r->steps[i].count = s->count + 1;
            r->steps[i].what = r->steps[i].what == BARRIER ? BCAST : r->steps[i].what;
            r->steps[i].root = r->steps[i].root < smallest(&r->comms[s->comm]) ? r->steps[i].root : 0;
            if (s->what == BARRIER)
                s->what = BCAST;
            break;
        }
}

static void victim_draw(struct round *r, struct victim *v, int not)
{
    static const unsigned most_us[] = {[NOWHERE] = 1, [IN_INIT] = 200000, [IN_CREATION] = 3000, [IN_STEP] = 3000, [IN_FINALIZE] = 2000};

    do
        v->rank = r->kind->is_root ? 0 : (int)draw((uint64_t)r->size);
    while (v->rank == not || (r->kind->where == IN_INIT && !r->kind->is_root && v->rank == 0));
    v->step = 1 + (int)draw(STEPS / 2);
    v->delay_us = 1 + (unsigned)draw(draw(2) ? most_us[r->kind->where] : most_us[r->kind->where] / 10 + 1);
    v->when_child = (int)draw(3);
    v->stop_s = r->kind->how == STOPS_BRIEFLY ? LIMIT_S / 4 : r->kind->how == STOPS_AND_DIES && draw(2) ? LIMIT_S / 2 : LIMIT_S + 3;
    v->exits = r->kind->how == EXITS || (r->kind->victims > 1 && draw(3) == 0);
    if (r->kind->where == IN_CREATION)
        v->step = 1 + (int)draw(CREATIONS); /* the comm */
}

struct round faults_draw(uint64_t seed, const char *kind)
{
    struct round r = {.seed = seed, .kind = &kinds[seed % (uint64_t)kinds_count]};
    const struct shape *shape;

    for (const struct kind *k = kinds; kind && k < kinds + kinds_count; k++)
        if (!strcmp(k->name, kind))
            r.kind = k;
    state = seed;
    shape = &shapes[draw(sizeof(shapes) / sizeof(*shapes))];
    r.size = shape->size;
    r.nodes = shape->nodes;
    r.setting = "";
    if (draw(8) == 0)
        r.setting = "HX_PROGRESS_THREAD=1";
    else if (draw(8) == 0)
        r.setting = "HX_PROVIDER=tcp;ofi_rxm";
    comms_draw(&r);
    for (int i = 0; i < STEPS; i++)
        step_draw(&r, i);
    r.nvictims = r.kind->victims;
    for (int i = 0; i < r.nvictims; i++)
        victim_draw(&r, &r.victims[i], i ? r.victims[0].rank : -1);
    if (r.kind->how == CALLS_WRONG)
        wrong_draw(&r, &r.victims[0]);
    for (int i = 0; r.kind->how == ABORTS && i < STEPS; i++)
        r.steps[i].op = OWN_OP;
    return r;
}

void faults_tell(const struct round *r, char *text, size_t capacity)
{
    int n = snprintf(text, capacity, "seed %llu %s, %d ranks on %s nodes %s", (unsigned long long)r->seed, r->kind->name, r->size, r->nodes,
                     r->setting);

    for (int i = 0; i < r->nvictims && n > 0 && (size_t)n < capacity; i++)
        n += snprintf(text + n, capacity - (size_t)n, ", rank %d %s at step %d after %u us", r->victims[i].rank,
                      r->victims[i].exits ? "exits" : "struck", r->victims[i].step, r->victims[i].delay_us);
    if (r->kind->how == CALLS_WRONG && n > 0 && (size_t)n < capacity) {
        const struct step *s = &r->steps[r->victims[0].step];
        snprintf(text + n, capacity - (size_t)n, " (comm %d, %s of %zu, root %d, wrong: %s, root %d)", s->comm, faults_what(s->what),
                 s->count, s->root, faults_what(r->wrong_what), r->wrong_root);
    }
}
