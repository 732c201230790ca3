/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creating communicators. The members of a new communicator agree on its identity (struct hx_comm_id): a number that is free on all of
 * them, as a rule the lowest (number.h); a generation; and the call number from which calls in its contexts are counted.
 *
 * Split and dup agree by collectives of the parent. Only its members create a group, so they agree by messages in a context of their own.
 * They have no call numbers in common there: each pair of ranks counts its messages (pairs.h). If the creation of a group fails, the counts
 * of its members may differ from then on, so these members refuse to create groups with each other again. A member that did not come may
 * still take the messages that were sent to it for those of a later group. It cannot complete that group: members agree three times, and
 * those that refuse take part in none.
 */
#include "runtime/api/call.h"
#include "runtime/api/lock.h"
#include "runtime/api/number.h"
#include "runtime/engine/pairs.h"
#include "runtime/engine/signature.h"
#include <stdlib.h>
#include <string.h>

#define AGREE_TRIES 100

/* ---- agreeing ------------------------------------------------------------------------------------------------ */

/* Ranks that create a communicator. */
struct agreement {
    const char *name;
    /* How they agree: they combine `count` words of each. */
    hx_status_t (*agree)(const struct agreement *a, uint64_t *words, size_t count, hx_op_t op);
    struct hx_comm *parent;
    uint32_t salt; /* the same for all of them; ranks that create another communicator at the same time have another one */
    enum hx_purpose purpose;
    const int *ranks; /* a group's: the members as ranks of the job, how many, and which of them this one is */
    int n, me;
    uint64_t about; /* a hash of parent and members: the same on all members */
};

/* Used when the lowest number was not free on all: the first number, from start on, that is. */
static hx_status_t number_choose(const struct agreement *a, uint32_t start, uint32_t *number)
{
    const uint32_t count = a->parent->world->numbers->count;
    uint64_t taken[HX_NUMBER_WORDS];
    hx_status_t status;

    hx_comm_numbers_taken(a->parent->world, taken);
    if ((status = a->agree(a, taken, HX_NUMBER_WORDS, HX_BOR)) != HX_SUCCESS)
        return status;
    for (uint32_t i = 0; i < count; i++) {
        *number = (start + i) % count;
        if (!(taken[*number / 64] >> (*number % 64) & 1))
            return HX_SUCCESS;
    }
    return hx_fail(HX_ERR_NOMEM, "%s: the members already have %u open communicators; free some", a->name, count - 2);
}

/* Agree on a number, which each rank takes, and on the rest of the identity. lowest: each rank has found its lowest free number; this is
 * the highest of these. It may be taken on some rank, perhaps by another thread that creates a communicator with other ranks. Then all try
 * again from another start. */
static hx_status_t id_agree(const struct agreement *a, uint32_t lowest, struct hx_comm_id *id)
{
    struct hx_comm_numbers *numbers = a->parent->world->numbers;

    for (uint32_t try = 0; try < AGREE_TRIES; try++) {
        uint64_t words[3]; /* 1 if some rank cannot take the number; generation; first call */
        hx_status_t status = HX_SUCCESS;
        id->number = lowest;
        if (try > 0 || lowest == HX_COMM_NUMBERS)
            status = number_choose(a, (try > 1 ? try : 0) * (2 * a->salt + 1), &id->number);
        if (status != HX_SUCCESS)
            return status;
        int mine = hx_number_take(numbers, id->number);
        words[0] = !mine;
        words[1] = numbers->generations[id->number] + UINT64_C(1);
        words[2] = numbers->calls[id->number] + 1;
        status = a->agree(a, words, 3, HX_MAX);
        if (status == HX_SUCCESS && words[0] == 0) {
            id->generation = (uint32_t)words[1];
            id->first_call = words[2];
            return HX_SUCCESS;
        }
        if (mine)
            hx_number_give_back(numbers, id->number);
        if (status != HX_SUCCESS)
            return status;
    }
    return hx_fail(HX_ERR_NOMEM, "%s: other threads have taken the communicator number %d times in a row; create communicators in fewer "
                   "threads", a->name, AGREE_TRIES);
}

/* Agree on the identity, make the communicator unless this rank is in none (n == 0), and learn whether all could make it. */
static hx_status_t comm_agree(const struct agreement *a, uint32_t lowest, const int *ranks, int n, struct hx_comm **out)
{
    uint64_t worst;
    struct hx_comm_id id;
    struct hx_comm *comm = NULL;
    hx_status_t status = id_agree(a, lowest, &id), heard;

    if (status != HX_SUCCESS)
        return status;
    if (n > 0)
        status = hx_comm_make(a->parent->world, ranks, n, &id, &comm);
    else
        hx_number_give_back(a->parent->world->numbers, id.number);
    worst = status == HX_SUCCESS ? 0 : ((uint64_t)status << 32 | (uint32_t)a->parent->world->process.rank);
    heard = a->agree(a, &worst, 1, HX_MAX);
    if (heard == HX_SUCCESS && worst == 0) {
        if (comm)
            hx_comm_inherit(comm, a->parent);
        *out = comm;
        return HX_SUCCESS;
    }
    if (comm) {
        if (heard != HX_SUCCESS) /* other ranks may have made the communicator, and may wait in it */
            hx_comm_break(comm, heard);
        hx_comm_release(comm);
    }
    if (status != HX_SUCCESS || heard != HX_SUCCESS)
        return status != HX_SUCCESS ? status : heard;
    return hx_fail((hx_status_t)(worst >> 32), "%s: rank %d of the job could not create the communicator", a->name,
                   (int)(uint32_t)worst);
}

static hx_status_t parent_agree(const struct agreement *a, uint64_t *words, size_t count, hx_op_t op)
{
    const struct hx_call_key key = hx_call_key_for(a->purpose, 0, hx_call_key_of(HX_COLL_ALLREDUCE, HX_UINT64, op, 0, count));
    hx_status_t status = hx_call_inner(a->name, a->parent, key, words, words);

    if (status != HX_SUCCESS && a->parent->members.failed) /* maybe another thread's call has failed: its text tells why */
        hx_recall(a->parent->members.detail);
    return status;
}

/* The checks that all have in common. */
hx_status_t hx_comm_create_check(const char *name, struct hx_comm *comm, hx_comm_t **out)
{
    hx_status_t status;

    if (out)
        *out = NULL;
    if ((status = hx_comm_check(comm, name)) == HX_SUCCESS && !out)
        status = hx_comm_fail(comm, hx_fail(HX_ERR_ARG, "%s: out is NULL", name));
    if (status == HX_SUCCESS && (status = hx_notice_refuse(name)) == HX_SUCCESS)
        status = hx_group_refuse(comm, name);
    return status;
}

/* ---- split and dup ------------------------------------------------------------------------------------------- */

struct place { /* of each rank, in an all-gather */
    int color, key;
    int lowest; /* hx_number_lowest; of a member then its rank of the parent */
};

static int by_key(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    return x->key != y->key ? (x->key < y->key ? -1 : 1) : x->lowest - y->lowest;
}

/* The job's ranks of those with this color, in order. Overwrites places. Returns how many. */
static int members_find(const struct hx_comm *parent, struct place *places, int color, int *ranks)
{
    int n = 0;

    for (int r = 0; color != HX_UNDEFINED && r < parent->members.size; r++)
        if (places[r].color == color)
            places[n++] = (struct place){color, places[r].key, r};
    qsort(places, (size_t)n, sizeof(*places), by_key);
    for (int i = 0; i < n; i++)
        ranks[i] = parent->members.ranks[places[i].lowest];
    return n;
}

static hx_status_t comm_split(const char *name, enum hx_purpose purpose, struct hx_comm *parent, int color, int key, hx_comm_t **out)
{
    const struct agreement agreement = {.name = name, .agree = parent_agree, .parent = parent,
                                        .salt = parent->members.id.number, .purpose = purpose};
    size_t size = (size_t)parent->members.size;
    struct place mine = {color, key, (int)hx_number_lowest(parent->world)}, *places = malloc(size * sizeof(*places));
    int *ranks = malloc(size * sizeof(*ranks)), lowest = 0;
    struct hx_call_key key_of_all = hx_call_key_of(HX_COLL_ALLGATHER, HX_INT32, HX_SUM, 0, sizeof(mine) / sizeof(int32_t));
    hx_status_t status;

    if (!places || !ranks) {
        hx_fail(HX_ERR_NOMEM, "%s: no memory for %d ranks", name, parent->members.size);
        status = hx_comm_break(parent, HX_ERR_NOMEM); /* the other ranks are in the all-gather, this one is not */
    } else if ((status = hx_call_inner(name, parent, hx_call_key_for(purpose, 0, key_of_all), &mine, places)) == HX_SUCCESS) {
        for (int r = 0; r < parent->members.size; r++)
            lowest = places[r].lowest > lowest ? places[r].lowest : lowest;
        status = comm_agree(&agreement, (uint32_t)lowest, ranks, members_find(parent, places, color, ranks), out);
        if (status != HX_SUCCESS && !parent->members.failed) /* if it has failed, its detail already tells why */
            hx_comm_fail(parent, status);
    }
    free(places);
    free(ranks);
    return status;
}

hx_status_t hx_comm_create_all(const char *name, enum hx_purpose purpose, hx_comm_t *parent, hx_comm_t **out)
{
    return comm_split(name, purpose, parent, 0, parent->members.rank, out);
}

hx_status_t hx_comm_split(hx_comm_t *comm, int color, int key, hx_comm_t **out)
{
    hx_status_t status;

    HX_ENTER();
    if ((status = hx_comm_create_check("hx_comm_split", comm, out)) != HX_SUCCESS)
        return status;
    if (color < 0 && color != HX_UNDEFINED)
        return hx_comm_fail(comm, hx_fail(HX_ERR_ARG, "hx_comm_split: color is %d; choose 0 or more, or HX_UNDEFINED", color));
    return comm_split("hx_comm_split", HX_FOR_SPLIT, comm, color, key, out);
}

hx_status_t hx_comm_split_node(hx_comm_t *comm, hx_comm_t **out)
{
    hx_status_t status;

    HX_ENTER();
    if ((status = hx_comm_create_check("hx_comm_split_node", comm, out)) != HX_SUCCESS)
        return status;
    return comm_split("hx_comm_split_node", HX_FOR_SPLIT_NODE, comm, comm->members.shape->node_of[comm->members.rank], comm->members.rank, out);
}

hx_status_t hx_comm_dup(hx_comm_t *comm, hx_comm_t **out)
{
    hx_status_t status;

    HX_ENTER();
    status = hx_comm_create_check("hx_comm_dup", comm, out);
    return status == HX_SUCCESS ? hx_comm_create_all("hx_comm_dup", HX_FOR_DUP, comm, out) : status;
}

/* ---- group --------------------------------------------------------------------------------------------------- */

/* Make the internal communicator in whose context groups agree, if there is none yet. Each rank does this by itself, at any time. */
static hx_status_t groups_open(struct hx_world *world)
{
    const struct hx_comm_id id = {.number = HX_NUMBER_GROUPS};
    hx_status_t status;

    if (world->groups) {
        if (world->groups->members.failed)
            hx_recall(world->groups->members.detail);
        return world->groups->members.failed;
    }
    if ((status = hx_comm_make(world, NULL, world->process.size, &id, &world->groups)) != HX_SUCCESS)
        return status;
    world->groups->engine.pairs = calloc(2 * (size_t)world->process.size, sizeof(uint64_t));
    if (world->groups->engine.pairs)
        return HX_SUCCESS;
    return hx_comm_break(world->groups,
                         hx_fail(HX_ERR_NOMEM, "no memory to create groups among %d ranks", world->process.size));
}

/* Does every other member count its messages with this rank as this one does? */
static hx_status_t pairs_check(const struct agreement *group, const struct hx_engine *engine)
{
    for (int i = 0; i < group->n; i++)
        if (i != group->me && hx_pair_lost(engine, group->ranks[i]) != HX_SUCCESS)
            return hx_fail(HX_ERR_STATE, "hx_comm_group: an earlier group with rank %d of the job could not be created; leave this rank "
                           "out of the list", group->ranks[i]);
    return HX_SUCCESS;
}

static void pairs_lose(const struct agreement *group, struct hx_engine *engine, hx_status_t status)
{
    for (int i = 0; i < group->n; i++)
        if (i != group->me)
            hx_pair_lose(engine, group->ranks[i], status);
}

/* All-reduce by recursive doubling among the members. The plan is for the world's ranks, but only the members take part. */
static hx_status_t group_agree(const struct agreement *group, uint64_t *words, size_t count, hx_op_t op)
{
    struct hx_world *world = group->parent->world;
    struct hx_engine *engine = &world->groups->engine;
    struct hx_call_key key = hx_call_key_for(HX_FOR_GROUP, group->about, hx_call_key_of(HX_COLL_ALLREDUCE, HX_UINT64, op, 0, count));
    struct hx_choice choice = {.fine_slices = 1, .coarse_slices = 1, .window_fine = 1, .window_coarse = 1};
    struct hx_bound *bound = NULL;
    hx_status_t status;

    if (group->n == 1)
        return HX_SUCCESS;
    if ((status = hx_engine_await(engine)) != HX_SUCCESS)
        return status;
    /* so that the members wait as long as calls on the parent */
    hx_comm_choose(world->groups, (struct hx_choices){.timeout_s = group->parent->choices.timeout_s});
    if ((status = pairs_check(group, engine)) != HX_SUCCESS) {
        pairs_lose(group, engine, status); /* so that the others do not wait for this rank */
        return status;
    }
    status = hx_registry.planner->among(world->comms->members.shape, world->process.rank, group->ranks, group->n, group->me,
                                        &choice.plan);
    if (status == HX_SUCCESS)
        status = hx_bind_plan(engine, key, &choice, &bound);
    if (status == HX_SUCCESS)
        status = hx_engine_run(engine, bound, "hx_comm_group", words, words);
    if (status != HX_SUCCESS) {
        pairs_lose(group, engine, status);
        engine->members->why[0] = '\0'; /* a later group fails for a reason of its own */
    }
    hx_bound_release(bound);
    return status;
}

/* The members as ranks of the job, and which of them this one is. */
static hx_status_t group_check(struct hx_comm *comm, const int *ranks, int n, int *members, int *me)
{
    unsigned char *seen = calloc((size_t)comm->members.size, 1);
    hx_status_t status = HX_SUCCESS;

    *me = -1;
    if (!seen)
        return hx_fail(HX_ERR_NOMEM, "hx_comm_group: no memory for %d ranks", comm->members.size);
    for (int i = 0; status == HX_SUCCESS && i < n; i++) {
        if (ranks[i] < 0 || ranks[i] >= comm->members.size)
            status = hx_fail(HX_ERR_ARG, "hx_comm_group: ranks[%d] is %d; choose 0 to %d", i, ranks[i], comm->members.size - 1);
        else if (seen[ranks[i]]++)
            status = hx_fail(HX_ERR_ARG, "hx_comm_group: rank %d is named twice", ranks[i]);
        else if (ranks[i] == comm->members.rank)
            *me = i;
        if (status == HX_SUCCESS)
            members[i] = comm->members.ranks[ranks[i]];
    }
    if (status == HX_SUCCESS && *me < 0)
        status = hx_fail(HX_ERR_ARG, "hx_comm_group: the caller, rank %d, is not among the %d ranks", comm->members.rank, n);
    free(seen);
    return status;
}

hx_status_t hx_comm_group(hx_comm_t *comm, const int *ranks, int n, hx_comm_t **out)
{
    struct agreement group = {.name = "hx_comm_group", .agree = group_agree, .parent = comm, .n = n};
    hx_status_t status;
    int *members;

    HX_ENTER();
    if ((status = hx_comm_create_check("hx_comm_group", comm, out)) != HX_SUCCESS)
        return status;
    if (!ranks || n < 1 || n > comm->members.size)
        return hx_comm_fail(comm,
                            !ranks ? hx_fail(HX_ERR_ARG, "hx_comm_group: ranks is NULL")
                                   : hx_fail(HX_ERR_ARG, "hx_comm_group: n is %d; choose 1 to %d", n, comm->members.size));
    if (!(members = malloc((size_t)n * sizeof(*members))))
        return hx_comm_fail(comm, hx_fail(HX_ERR_NOMEM, "hx_comm_group: no memory for %d ranks", n));
    group.ranks = members;
    group.salt = comm->members.id.number;
    for (int i = 0; i < n; i++) /* FNV-1a */
        group.salt = (group.salt ^ (uint32_t)ranks[i]) * 16777619u;
    status = group_check(comm, ranks, n, members, &group.me);
    group.about = status == HX_SUCCESS ? hx_about_group(hx_members_context(&comm->members, 0), members, n) : 0;
    if (status == HX_SUCCESS)
        status = groups_open(comm->world);
    if (status == HX_SUCCESS) {
        uint64_t lowest = hx_number_lowest(comm->world);
        status = group_agree(&group, &lowest, 1, HX_MAX);
        if (status == HX_SUCCESS)
            status = comm_agree(&group, (uint32_t)lowest, members, n, out);
    }
    free(members);
    return status == HX_SUCCESS || comm->members.failed ? status : hx_comm_fail(comm, status);
}
