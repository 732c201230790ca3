/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creating communicators. The members of a new one agree on the lowest contexts that are free in all of them, and on
 * the numbers from which calls are counted there, above all that anybody has used before: flags are never reset.
 *
 * Split and dup agree by collectives of the parent; a group, which its members alone create, by messages between them
 * in a context kept for that, where each pair of ranks counts its messages, because these ranks have no calls in
 * common. When that fails members may count differently from then on, and are not trusted again: one that did not come
 * may yet take what was sent to it for another group's. It cannot complete that one: of the three times that members
 * agree, who refuses takes part in none.
 */
#include "call.h"
#include "lock.h"
#include "pairs.h"
#include <stdlib.h>
#include <string.h>

#define FIRST_CONTEXT (2 * HX_COMM_CONTEXTS) /* those before are the world's, and of the creation of groups */
#define AGREE_TRIES 100
#define WORDS (HX_CONTEXTS / 64)

/* ---- agreeing ------------------------------------------------------------------------------------------------ */

/* The first contexts, from start on, that are free in taken. */
static hx_status_t contexts_choose(const uint64_t taken[WORDS], uint32_t start, const char *name,
                                   int contexts[HX_COMM_CONTEXTS])
{
    const uint32_t span = HX_CONTEXTS - FIRST_CONTEXT;
    int n = 0;

    for (uint32_t i = 0; i < span && n < HX_COMM_CONTEXTS; i++) {
        int context = FIRST_CONTEXT + (int)((start + i) % span);
        if (!(taken[context / 64] >> (context % 64) & 1))
            contexts[n++] = context;
    }
    if (n == HX_COMM_CONTEXTS)
        return HX_SUCCESS;
    return hx_fail(HX_ERR_NOMEM, "%s: its members have %u communicators open already, or freed after they had failed; free some", name,
                   span / HX_COMM_CONTEXTS);
}

/* How those who create a communicator agree: by combining count words of them all. */
struct agreement {
    const char *name;
    hx_status_t (*agree)(void *ctx, uint64_t *words, size_t count, hx_op_t op);
    void *ctx;
    uint32_t salt; /* the same for all of them, another one for those who create another at the same time */
};

static int contexts_are_free(const struct hx_world *world, const int contexts[HX_COMM_CONTEXTS])
{
    for (int i = 0; i < HX_COMM_CONTEXTS; i++)
        if (world->taken[contexts[i] / 64] >> (contexts[i] % 64) & 1)
            return 0;
    return 1;
}

/* Contexts, reserved on each of them, and from where calls are counted there. While this thread waits for others,
 * another of this process may create a communicator with other ranks and take the same contexts: then all try again
 * from another start. */
static hx_status_t contexts_agree(struct hx_world *world, const struct agreement *a, int contexts[HX_COMM_CONTEXTS],
                                  uint64_t first_calls[HX_COMM_CONTEXTS])
{
    for (uint32_t try = 0; try < AGREE_TRIES; try++) {
        uint64_t taken[WORDS], words[HX_COMM_CONTEXTS + 1]; /* the last: somebody has met another's reservation */
        hx_status_t status;
        memcpy(taken, world->taken, sizeof(taken));
        if ((status = a->agree(a->ctx, taken, WORDS, HX_BOR)) != HX_SUCCESS ||
            (status = contexts_choose(taken, try * (2 * a->salt + 1) * HX_COMM_CONTEXTS, a->name, contexts)) !=
                HX_SUCCESS)
            return status;
        words[HX_COMM_CONTEXTS] = !contexts_are_free(world, contexts);
        int reserved = words[HX_COMM_CONTEXTS] == 0;
        for (int i = 0; i < HX_COMM_CONTEXTS; i++) {
            words[i] = world->calls[contexts[i]];
            if (reserved)
                hx_context_take(world, contexts[i]);
        }
        if ((status = a->agree(a->ctx, words, HX_COMM_CONTEXTS + 1, HX_MAX)) != HX_SUCCESS)
            return status; /* what was reserved stays so: somebody may have agreed */
        if (words[HX_COMM_CONTEXTS] == 0) {
            memcpy(first_calls, words, HX_COMM_CONTEXTS * sizeof(*first_calls));
            return HX_SUCCESS;
        }
        if (reserved)
            hx_contexts_give_back(world, contexts);
    }
    return hx_fail(HX_ERR_NOMEM, "%s: other threads have taken the contexts agreed on, %d times", a->name, AGREE_TRIES);
}

/* Agree on contexts, make the communicator unless this rank is in none (n == 0), and hear whether all could. */
static hx_status_t comm_agree(struct hx_world *world, const struct agreement *a, const int *ranks, int n,
                              struct hx_comm **out)
{
    uint64_t first_calls[HX_COMM_CONTEXTS], worst;
    int contexts[HX_COMM_CONTEXTS];
    struct hx_comm *comm = NULL;
    hx_status_t status = contexts_agree(world, a, contexts, first_calls), heard;

    if (status != HX_SUCCESS)
        return status;
    if (n > 0)
        status = hx_comm_make(world, ranks, n, contexts, first_calls, &comm);
    else
        hx_contexts_give_back(world, contexts);
    worst = status == HX_SUCCESS ? 0 : ((uint64_t)status << 32 | (uint32_t)world->rank);
    heard = a->agree(a->ctx, &worst, 1, HX_MAX);
    if (heard == HX_SUCCESS && worst == 0) {
        *out = comm;
        return HX_SUCCESS;
    }
    if (comm) {
        if (heard != HX_SUCCESS) /* then others may have it, and wait in it */
            hx_comm_break(comm, heard);
        hx_comm_release(comm);
    }
    if (status != HX_SUCCESS || heard != HX_SUCCESS)
        return status != HX_SUCCESS ? status : heard;
    return hx_fail((hx_status_t)(worst >> 32), "%s: rank %d of the job could not create it", a->name,
                   (int)(uint32_t)worst);
}

struct parent {
    const char *name;
    enum hx_purpose purpose;
    struct hx_comm *comm;
};

static hx_status_t parent_agree(void *ctx, uint64_t *words, size_t count, hx_op_t op)
{
    const struct parent *parent = ctx;
    struct hx_call call = {.name = parent->name,
                           .comm = parent->comm,
                           .kind = hx_kind_for(parent->purpose, 0, hx_kind_of(HX_COLL_ALLREDUCE, HX_UINT64, op, 0, count)),
                           .in = words,
                           .out = words,
                           .needed = {words, words}};
    hx_status_t status = hx_call_do(&call, HX_BLOCKING, NULL);

    if (status != HX_SUCCESS && parent->comm->failed) /* maybe by another thread's call, whose text it is */
        hx_recall(parent->comm->detail);
    return status;
}

/* ---- split and dup ------------------------------------------------------------------------------------------- */

struct place { /* what each rank says */
    int color, key;
};

struct member {
    int key, rank; /* of the parent */
};

static int by_key(const void *a, const void *b)
{
    const struct member *x = a, *y = b;

    return x->key != y->key ? (x->key < y->key ? -1 : 1) : x->rank - y->rank;
}

/* The job's ranks of those with this color, in order. Returns how many. */
static int members_find(const struct hx_comm *parent, const struct place *places, int color, struct member *members,
                        int *ranks)
{
    int n = 0;

    for (int r = 0; color != HX_UNDEFINED && r < parent->size; r++)
        if (places[r].color == color)
            members[n++] = (struct member){places[r].key, r};
    qsort(members, (size_t)n, sizeof(*members), by_key);
    for (int i = 0; i < n; i++)
        ranks[i] = parent->ranks[members[i].rank];
    return n;
}

static hx_status_t comm_split(const char *name, enum hx_purpose purpose, struct hx_comm *parent, int color, int key, hx_comm_t **out)
{
    struct parent ctx = {name, purpose, parent};
    struct agreement agreement = {name, parent_agree, &ctx, (uint32_t)parent->contexts[0]};
    size_t size = (size_t)parent->size;
    struct place mine = {color, key}, *places = malloc(size * sizeof(*places));
    struct member *members = malloc(size * sizeof(*members));
    int *ranks = malloc(size * sizeof(*ranks));
    struct hx_call call = {.name = name,
                           .comm = parent,
                           .kind = hx_kind_for(purpose, 0, hx_kind_of(HX_COLL_ALLGATHER, HX_INT32, HX_SUM, 0, 2)),
                           .in = &mine,
                           .out = places,
                           .needed = {&mine, places}};
    hx_status_t status;

    if (!places || !members || !ranks) {
        hx_fail(HX_ERR_NOMEM, "%s: no memory for %d ranks", name, parent->size);
        status = hx_comm_break(parent, HX_ERR_NOMEM); /* the other ranks are in it, this one is not */
    } else if ((status = hx_call_do(&call, HX_BLOCKING, NULL)) == HX_SUCCESS) {
        int n = members_find(parent, places, color, members, ranks);
        status = comm_agree(parent->world, &agreement, ranks, n, out);
        if (status != HX_SUCCESS && !parent->failed) /* else its detail tells why, of another thread's call maybe */
            hx_comm_fail(parent, status);
    }
    free(places);
    free(members);
    free(ranks);
    return status;
}

static hx_status_t comm_split_locked(hx_comm_t *comm, int color, int key, hx_comm_t **out)
{
    hx_status_t status;

    if (out)
        *out = NULL;
    if ((status = hx_comm_check(comm, "hx_comm_split")) != HX_SUCCESS)
        return status;
    if (!out)
        return hx_comm_fail(comm, hx_fail(HX_ERR_ARG, "hx_comm_split: out is NULL"));
    if (color < 0 && color != HX_UNDEFINED)
        return hx_comm_fail(comm,
                            hx_fail(HX_ERR_ARG, "hx_comm_split: color %d is none; choose 0 or more, or HX_UNDEFINED",
                                    color));
    return comm_split("hx_comm_split", HX_FOR_SPLIT, comm, color, key, out);
}

hx_status_t hx_comm_split(hx_comm_t *comm, int color, int key, hx_comm_t **out)
{
    return HX_LOCKED(comm_split_locked(comm, color, key, out));
}

static hx_status_t comm_dup_locked(hx_comm_t *comm, hx_comm_t **out)
{
    hx_status_t status;

    if (out)
        *out = NULL;
    if ((status = hx_comm_check(comm, "hx_comm_dup")) != HX_SUCCESS)
        return status;
    if (!out)
        return hx_comm_fail(comm, hx_fail(HX_ERR_ARG, "hx_comm_dup: out is NULL"));
    return comm_split("hx_comm_dup", HX_FOR_DUP, comm, 0, comm->rank, out);
}

hx_status_t hx_comm_dup(hx_comm_t *comm, hx_comm_t **out)
{
    return HX_LOCKED(comm_dup_locked(comm, out));
}

/* ---- group --------------------------------------------------------------------------------------------------- */

struct group {
    struct hx_world *world;
    const int *ranks; /* of the job */
    int n, me;
    uint64_t about; /* parent and members, which all must say alike */
};

/* The communicator in whose context groups agree. It is a rank's own affair when it makes it: nobody else has to. */
static hx_status_t groups_open(struct hx_world *world)
{
    int contexts[HX_COMM_CONTEXTS];
    const uint64_t first_calls[HX_COMM_CONTEXTS] = {0};
    hx_status_t status;

    if (world->groups) {
        if (world->groups->failed)
            hx_recall(world->groups->detail);
        return world->groups->failed;
    }
    for (int i = 0; i < HX_COMM_CONTEXTS; i++)
        contexts[i] = HX_COMM_CONTEXTS + i;
    if ((status = hx_comm_make(world, NULL, world->size, contexts, first_calls, &world->groups)) != HX_SUCCESS)
        return status;
    world->groups->engine.pairs = calloc(2 * (size_t)world->size, sizeof(uint64_t));
    if (world->groups->engine.pairs)
        return HX_SUCCESS;
    return hx_comm_break(world->groups,
                         hx_fail(HX_ERR_NOMEM, "no memory to create groups among %d ranks", world->size));
}

/* Does every other member count its messages with this rank as this one does? */
static hx_status_t pairs_check(const struct group *group, const struct hx_engine *engine)
{
    for (int i = 0; i < group->n; i++)
        if (i != group->me && hx_pair_lost(engine, group->ranks[i]) != HX_SUCCESS)
            return hx_fail(HX_ERR_STATE, "hx_comm_group: an earlier group with rank %d of the job could not be created", group->ranks[i]);
    return HX_SUCCESS;
}

static void pairs_lose(const struct group *group, struct hx_engine *engine, hx_status_t status)
{
    for (int i = 0; i < group->n; i++)
        if (i != group->me)
            hx_pair_lose(engine, group->ranks[i], status);
}

/* All-reduce by recursive doubling among the members: a plan of the world's ranks of which only some take part. */
static hx_status_t group_agree(void *ctx, uint64_t *words, size_t count, hx_op_t op)
{
    const struct group *group = ctx;
    struct hx_engine *engine = &group->world->groups->engine;
    struct hx_kind kind = hx_kind_for(HX_FOR_GROUP, group->about, hx_kind_of(HX_COLL_ALLREDUCE, HX_UINT64, op, 0, count));
    struct hx_choice choice = {.fine_slices = 1, .coarse_slices = 1, .window_fine = 1, .window_coarse = 1};
    struct hx_bound *bound = NULL;
    hx_status_t status;

    if (group->n == 1)
        return HX_SUCCESS;
    if ((status = hx_engine_await(engine)) != HX_SUCCESS)
        return status;
    if ((status = pairs_check(group, engine)) != HX_SUCCESS) {
        pairs_lose(group, engine, status); /* the others need not wait for this one */
        return status;
    }
    status = hx_registry.planner->among(group->world->comms->shape, group->world->rank, group->ranks, group->n,
                                        group->me, &choice.plan);
    if (status == HX_SUCCESS)
        status = hx_bind_plan(engine, kind, &choice, &bound);
    if (status == HX_SUCCESS)
        status = hx_engine_run(engine, bound, "hx_comm_group", words, words);
    if (status != HX_SUCCESS) {
        pairs_lose(group, engine, status);
        engine->comm->why[0] = '\0'; /* it is not what the next ones fail of */
    }
    hx_bound_release(bound);
    return status;
}

/* The members as ranks of the job, and which of them this one is. */
static hx_status_t group_check(struct hx_comm *comm, const int *ranks, int n, int *members, int *me)
{
    unsigned char *seen = calloc((size_t)comm->size, 1);
    hx_status_t status = HX_SUCCESS;

    *me = -1;
    if (!seen)
        return hx_fail(HX_ERR_NOMEM, "hx_comm_group: no memory for %d ranks", comm->size);
    for (int i = 0; status == HX_SUCCESS && i < n; i++) {
        if (ranks[i] < 0 || ranks[i] >= comm->size)
            status = hx_fail(HX_ERR_ARG, "hx_comm_group: ranks[%d] is %d; choose 0 to %d", i, ranks[i], comm->size - 1);
        else if (seen[ranks[i]]++)
            status = hx_fail(HX_ERR_ARG, "hx_comm_group: rank %d is named twice", ranks[i]);
        else if (ranks[i] == comm->rank)
            *me = i;
        if (status == HX_SUCCESS)
            members[i] = comm->ranks[ranks[i]];
    }
    if (status == HX_SUCCESS && *me < 0)
        status = hx_fail(HX_ERR_ARG, "hx_comm_group: the caller, rank %d, is not among the %d ranks", comm->rank, n);
    free(seen);
    return status;
}

static hx_status_t comm_group_locked(hx_comm_t *comm, const int *ranks, int n, hx_comm_t **out)
{
    struct group group = {.n = n};
    struct agreement agreement = {"hx_comm_group", group_agree, &group, 0};
    hx_status_t status;
    int *members;

    if (out)
        *out = NULL;
    if ((status = hx_comm_check(comm, "hx_comm_group")) != HX_SUCCESS)
        return status;
    if (!out)
        return hx_comm_fail(comm, hx_fail(HX_ERR_ARG, "hx_comm_group: out is NULL"));
    if (!ranks || n < 1 || n > comm->size)
        return hx_comm_fail(comm,
                            !ranks ? hx_fail(HX_ERR_ARG, "hx_comm_group: ranks is NULL")
                                   : hx_fail(HX_ERR_ARG, "hx_comm_group: n is %d; choose 1 to %d", n, comm->size));
    if (!(members = malloc((size_t)n * sizeof(*members))))
        return hx_comm_fail(comm, hx_fail(HX_ERR_NOMEM, "hx_comm_group: no memory for %d ranks", n));
    group.world = comm->world;
    group.ranks = members;
    agreement.salt = (uint32_t)comm->contexts[0];
    for (int i = 0; i < n; i++) /* FNV-1a */
        agreement.salt = (agreement.salt ^ (uint32_t)ranks[i]) * 16777619u;
    status = group_check(comm, ranks, n, members, &group.me);
    group.about = status == HX_SUCCESS ? hx_about_group(comm->contexts[0], members, n) : 0;
    if (status == HX_SUCCESS)
        status = groups_open(comm->world);
    if (status == HX_SUCCESS)
        status = comm_agree(comm->world, &agreement, members, n, out);
    free(members);
    return status == HX_SUCCESS || comm->failed ? status : hx_comm_fail(comm, status);
}

hx_status_t hx_comm_group(hx_comm_t *comm, const int *ranks, int n, hx_comm_t **out)
{
    return HX_LOCKED(comm_group_locked(comm, ranks, n, out));
}
