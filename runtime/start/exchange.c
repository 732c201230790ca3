/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The exchange between ranks that starts a job, in three fences of the bootstrap:
 *   1  rank 0 puts its version, a secret, its JOB settings and the facts by which plans are chosen (job_facts.c)
 *   2  inside the node's join: all ranks of a node have met
 *   3  the leader (lowest rank) of each node puts one value: the ranks of the node, and their addresses if they have one. Leaders read the
 *      nodes' values one after the other. The lowest rank that no value named so far is the leader of the next node. This file does
 *      fence 3.
 *
 * If some ranks could not open a provider and the others use it, fence 3 is repeated: no rank uses the provider any more. Each such round
 * leaves out one provider more, so the rounds end.
 *
 * startup.h has the structs. A rank that cannot start goes through all fences nevertheless. Its failure takes the place of its address, so
 * every rank fails at once and names that rank and its reason. If a rank has no fences, or no value of rank 0, the others cannot go on. Then
 * the launcher gets the error.
 */
#include "runtime/bootstrap/launcher.h"
#include "runtime/api/failed.h"
#include "runtime/engine/fetch.h"
#include "runtime/start/startup.h"
#include "runtime/engine/liveness.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Wait 0.1 ms for other ranks of this node. HX_ERR_PEER_DEAD: rank `from` has died, or if from is -1, any rank of the node.
 * HX_ERR_TIMEOUT, without a text: the deadline has passed. */
static hx_status_t nap(const struct hx_world *world, double deadline, int from)
{
    struct hx_shared *shared = world->process.shared;
    char end[HX_END_BYTES];
    int dead;

    nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    hx_watch_look(shared);
    dead = from >= 0 ? hx_watch_dead(shared, &from, 1) : hx_watch_dead(shared, shared->ranks, shared->n);
    if (dead >= 0) {
        int rank = from >= 0 ? from : shared->ranks[dead];
        return hx_fail(HX_ERR_PEER_DEAD, "start-up: rank %d %s", rank, hx_watch_end(shared, rank, end));
    }
    return hx_deadline_passed(deadline) ? HX_ERR_TIMEOUT : HX_SUCCESS;
}

/* All ranks of this node meet. counter: it has been 0 before round 0; what each has written before is there afterwards. */
static hx_status_t node_arrive(const struct hx_world *world, _Atomic uint32_t *counter, int round)
{
    const uint32_t before = (uint32_t)(world->process.shared->n * round), all = before + (uint32_t)world->process.shared->n;
    double deadline = hx_deadline(world->process.env->timeout);
    hx_status_t status = HX_SUCCESS;
    uint32_t arrived;

    /* release pairs with the acquire below */
    atomic_fetch_add_explicit(counter, 1, memory_order_release);
    while ((arrived = atomic_load_explicit(counter, memory_order_acquire)) < all && status == HX_SUCCESS)
        status = nap(world, deadline, -1);
    if (arrived >= all) /* a rank that arrives during the nap may fail and leave during it too */
        return HX_SUCCESS;
    if (status == HX_ERR_TIMEOUT)
        return hx_fail(status, "start-up: only %u of the %d ranks of this node have arrived within %g s (HX_TIMEOUT)",
                       arrived - before, world->process.shared->n, world->process.env->timeout);
    return status;
}

/* The one processing unit that it is bound to, or -1. */
static int bound_to(const struct hx_place *place)
{
    for (int i = 0; place->bound_cpus == 1 && i < HX_PLACE_MASK_WORDS; i++)
        if (place->bound_mask[i])
            return 64 * i + __builtin_ctzll(place->bound_mask[i]);
    return -1;
}

static void place_tell(struct hx_world *world, const struct hx_place *place)
{
    struct hx_node_header *header = world->process.shared->header;

    world->process.shared->doorbells[world->process.shared->me].cpu = bound_to(place);
    for (int i = 0; i < HX_PLACE_MASK_WORDS; i++)
        atomic_fetch_or_explicit(&header->cpus[i], place->bound_mask[i], memory_order_relaxed);
    const int ids[HX_SHAPE_LEVELS] = {place->socket, place->numa, place->l3};
    for (int k = 0; k < HX_SHAPE_LEVELS; k++)
        world->process.shared->table[world->process.rank].place[k] = ids[k] <= INT16_MAX ? (int16_t)ids[k] : -1;
}

/* The ranks that open endpoints at start divide the interfaces among themselves. A later rank takes its part as if all ranks had endpoints. */
struct hx_net_seat hx_world_seat(const struct hx_world *world)
{
    const struct hx_shared *shared = world->process.shared;
    const struct hx_job_entry *mine = &shared->table[world->process.rank];
    const int first = hx_opens_at_start(world->process.env, shared->me, shared->n);
    struct hx_net_seat seat = {0};

    for (int i = 0; i < shared->n; i++) {
        const struct hx_job_entry *other = &shared->table[shared->ranks[i]];
        if (first && !hx_opens_at_start(world->process.env, i, shared->n))
            continue;
        seat.of_node += i < shared->me;
        seat.on_node++;
        if (other->place[0] != mine->place[0] || other->place[1] != mine->place[1])
            continue;
        seat.index += i < shared->me;
        seat.sharers++;
    }
    return seat;
}

/* Emulated nodes do not tell each other their masks: there the cpuset's cores count. */
double hx_world_ranks_per_cpu(const struct hx_world *world, const struct hx_place *place)
{
    double cpus = 0, emulated = world->process.env->nodes ? world->process.size / place->usable_cpus : 0;

    for (int i = 0; i < HX_PLACE_MASK_WORDS; i++)
        cpus += __builtin_popcountll(atomic_load_explicit(&world->process.shared->header->cpus[i], memory_order_relaxed));
    if (cpus < 1)
        cpus = place->usable_cpus;
    if (place->quota_cpus > 0 && place->quota_cpus < cpus)
        cpus = place->quota_cpus;
    return world->process.shared->n / cpus > emulated ? world->process.shared->n / cpus : emulated;
}

#define KEY_BYTES 32

static void key_write(char key[KEY_BYTES], int leader, int round)
{
    snprintf(key, KEY_BYTES, "node%d.%d", round, leader); /* a key ends with the rank that puts it */
}

/* One node's value: its facts, then for each rank its head and address; at the end of rank 0's the constants of its node. */
static hx_status_t node_put(struct hx_world *world, const struct hx_place *place, int round)
{
    const struct hx_shared *node = world->process.shared;
    char key[KEY_BYTES], *value = NULL;
    size_t bytes;
    FILE *out = open_memstream(&value, &bytes);
    hx_status_t status;
    struct hx_node_facts facts = {.ranks = node->n,
                               .single_copy = !atomic_load_explicit(&node->header->no_fetch, memory_order_relaxed),
                               .milli_per_cpu = (int32_t)(1e3 * hx_world_ranks_per_cpu(world, place))};

    if (out)
        fwrite(&facts, sizeof(facts), 1, out);
    for (int i = 0; out && i < node->n; i++) {
        const struct hx_job_entry *entry = &node->table[node->ranks[i]];
        struct hx_rank_head head = {.rank = node->ranks[i], .address_bytes = (int32_t)entry->address_bytes};
        memcpy(head.place, entry->place, sizeof(head.place));
        fwrite(&head, sizeof(head), 1, out);
        fwrite(entry->address, 1, entry->address_bytes, out);
    }
    if (out && world->process.rank == 0)
        fwrite(&world->process.job.constants, sizeof(struct hx_constants), 1, out);
    key_write(key, world->process.rank, round);
    status = out && fclose(out) == 0 ? hx_boot_put(world->boot, key, value, bytes)
                                     : hx_fail(HX_ERR_NOMEM, "no memory for the addresses of %d ranks", node->n);
    free(value);
    return status;
}

/* Put the value of a node with a failed rank: count 0, and the failure. */
static hx_status_t failure_put(struct hx_world *world, const struct hx_failure *failure, int round)
{
    unsigned char value[sizeof(int32_t) + sizeof(*failure)] = {0};
    char key[KEY_BYTES];

    memcpy(value + sizeof(int32_t), failure, sizeof(*failure));
    key_write(key, world->process.rank, round);
    return hx_boot_put(world->boot, key, value, sizeof(value));
}

/* Enter one node's value into the table as node `id`. */
static int node_enter(struct hx_world *world, const unsigned char *value, size_t bytes, int id, int leader)
{
    const unsigned char *at = value, *end = value + bytes;
    struct hx_rank_head head;
    struct hx_node_header *header = world->process.shared->header;
    struct hx_node_facts facts;

    if (bytes < sizeof(facts))
        return -1;
    memcpy(&facts, at, sizeof(facts));
    at += sizeof(facts);
    header->single_copy &= facts.single_copy;
    if (facts.milli_per_cpu > header->milli_per_cpu)
        header->milli_per_cpu = facts.milli_per_cpu;
    if (facts.ranks > header->max_local)
        header->max_local = facts.ranks;
    for (int32_t i = 0; i < facts.ranks; i++) {
        if ((size_t)(end - at) < sizeof(head))
            return -1;
        memcpy(&head, at, sizeof(head));
        at += sizeof(head);
        if (head.rank < leader || head.rank >= world->process.size || head.address_bytes < 0 || head.address_bytes > HX_ADDRESS_BYTES ||
            end - at < head.address_bytes || world->process.shared->table[head.rank].node)
            return -1;
        struct hx_job_entry *entry = &world->process.shared->table[head.rank];
        entry->node = id + 1; /* 0: no value has named this rank yet */
        memcpy(entry->place, head.place, sizeof(entry->place));
        entry->address_bytes = (uint32_t)head.address_bytes;
        entry->opened_first = head.address_bytes > 0;
        memcpy(entry->address, at, (size_t)head.address_bytes);
        /* relaxed: table_state is stored with release */
        atomic_store_explicit(&entry->address_state, entry->opened_first ? HX_ADDRESS_THERE : HX_ADDRESS_NONE, memory_order_relaxed);
        at += head.address_bytes;
    }
    if (leader == 0) {
        if ((size_t)(end - at) < sizeof(header->constants))
            return -1;
        memcpy(&header->constants, at, sizeof(header->constants));
    }
    return world->process.shared->table[leader].node ? 0 : -1;
}

static hx_status_t nodes_get(struct hx_world *world, int round, struct hx_failure *failure)
{
    int nodes = 0;

    for (int rank = 0; rank < world->process.size; rank++)
        world->process.shared->table[rank].node = 0;
    world->process.shared->header->single_copy = (int32_t)world->process.env->single_copy;
    for (int rank = 0; rank < world->process.size; rank++) {
        void *value = NULL;
        size_t bytes;
        char key[KEY_BYTES];
        hx_status_t status;
        if (world->process.shared->table[rank].node)
            continue;
        key_write(key, rank, round);
        if ((status = hx_boot_get(world->boot, key, &value, &bytes)) != HX_SUCCESS)
            return status;
        if (bytes == sizeof(int32_t) + sizeof(*failure) && !memcmp(value, &(int32_t){0}, sizeof(int32_t))) {
            memcpy(failure, (char *)value + sizeof(int32_t), sizeof(*failure));
            status = (hx_status_t)failure->status;
        } else if (node_enter(world, value, bytes, nodes++, rank) < 0) {
            status = hx_fail(HX_ERR_BOOTSTRAP, "the node of rank %d sent an address table that is not valid", rank);
        }
        free(value);
        if (status != HX_SUCCESS)
            return status;
    }
    return HX_SUCCESS;
}

/* Ranks of one node never connect, and an unlike one among them would be missed there: all are compared with rank 0, by every leader.
 * If they differ, and some rank could not open a provider, another round follows. */
static hx_status_t networks_agree(const struct hx_world *world)
{
    const struct hx_job_entry *table = world->process.shared->table;
    struct hx_node_header *header = world->process.shared->header;
    const uint32_t known = header->refused.providers;
    hx_status_t status = HX_SUCCESS;

    for (int rank = 0; world->process.net && rank < world->process.size; rank++)
        if (table[rank].address_bytes > 0)
            hx_registry.net->refusals(rank, table[rank].address, table[rank].address_bytes, &header->refused);
    for (int rank = 1; status == HX_SUCCESS && world->process.net && rank < world->process.size; rank++)
        if (table[rank].address_bytes > 0)
            status = hx_registry.net->agree(rank, table[rank].address, table[rank].address_bytes, 0, table[0].address,
                                            table[0].address_bytes);
    header->is_final = status == HX_SUCCESS || header->refused.providers == known;
    return header->is_final ? status : HX_SUCCESS;
}

/* The leader enters every node's value into this node's table, and tells the other ranks of the node whether that succeeded. It tells them
 * also if it has failed before. If a rank of any node has failed, *failure becomes the first such failure of the job. */
static void table_complete(struct hx_world *world, int round, hx_status_t fenced, struct hx_failure *failure)
{
    struct hx_node_header *header = world->process.shared->header;
    double deadline = hx_deadline(world->process.env->timeout);
    hx_status_t status = HX_SUCCESS;
    int leader = world->process.shared->ranks[0], state;

    if (world->process.shared->me == 0) {
        struct hx_failure first = {0}; /* the first failure of the job, so that all ranks name the same one */
        status = fenced == HX_SUCCESS ? nodes_get(world, round, &first) : fenced;
        if (first.status != HX_SUCCESS)
            *failure = first;
        hx_failure_keep(failure, world->process.rank, status);
        if (failure->status == HX_SUCCESS)
            hx_failure_keep(failure, world->process.rank, networks_agree(world));
        if (failure->status != HX_SUCCESS && fenced == HX_SUCCESS)
            header->failure = *failure; /* replaces the node's own failure, which all have read before the fence */
        else if (failure->status != HX_SUCCESS)
            hx_node_fail(world->process.shared, failure);
        /* release pairs with the acquire below */
        atomic_store_explicit(&header->table_state, failure->status == HX_SUCCESS ? round + 1 : -1, memory_order_release);
        return;
    }
    if (fenced != HX_SUCCESS)
        return;
    while ((state = atomic_load_explicit(&header->table_state, memory_order_acquire)) == round && status == HX_SUCCESS)
        status = nap(world, deadline, leader);
    if (state == round && status == HX_ERR_TIMEOUT)
        hx_fail(status, "start-up: rank %d has not sent this node the table of ranks within %g s "
                        "(HX_TIMEOUT)", leader, world->process.env->timeout);
    if (state == round)
        hx_failure_keep(failure, world->process.rank, status);
    if (state < 0)
        *failure = header->failure;
}

/* Open the endpoints of a rank that opens them at start. In a later round, open them again without the providers that some rank could not open. */
static hx_status_t net_open(struct hx_world *world)
{
    struct hx_job_entry *mine = &world->process.shared->table[world->process.rank];
    const struct hx_env *env = world->process.env;
    const struct hx_net_seat seat = hx_world_seat(world);
    const int now = hx_opens_at_start(env, world->process.shared->me, world->process.shared->n);
    size_t bytes = now ? HX_ADDRESS_BYTES : 0;
    hx_status_t status;

    if (world->process.shared->n == world->process.size)
        return env->provider || env->nic ? hx_registry.net->check(env, &seat) : HX_SUCCESS;
    if (world->process.net)
        hx_registry.net->close(world->process.net, 0);
    world->process.net = NULL;
    status = (now ? hx_registry.net->open : hx_registry.net->open_later)(env, world->process.rank, world->process.size, &seat, world->net_key,
                                                                         &world->process.shared->header->refused, &world->process.net);
    if (status == HX_SUCCESS)
        hx_registry.net->listen(world->process.net, hx_failed_heard, world);
    if (status == HX_SUCCESS && now)
        status = hx_registry.net->address(world->process.net, mine->address, &bytes);
    mine->address_bytes = (uint32_t)bytes;
    return status;
}

/* Open this rank's own resources, before the other ranks get its address. */
static hx_status_t own_open(struct hx_world *world, int round)
{
    hx_status_t status = HX_SUCCESS;

    if (round == 0)
        status = hx_shared_context(world->process.shared, 0); /* that of the world communicator's blocking calls */
    if (round == 0 && status == HX_SUCCESS)
        status = hx_trace_prepare(world);
    return status == HX_SUCCESS ? net_open(world) : status;
}

/* The ranks of this node open what is their own, and the leader puts the node's value. met: they have met before. */
static void round_prepare(struct hx_world *world, const struct hx_place *place, int round, int met, struct hx_failure *failure)
{
    struct hx_shared *shared = world->process.shared;

    if (failure->status == HX_SUCCESS)
        hx_failure_keep(failure, world->process.rank, own_open(world, round));
    if (failure->status != HX_SUCCESS) {
        hx_node_fail(shared, failure);
        hx_watch_set(shared, HX_LIFE_LEFT); /* this rank has reported its error: its end is not a death */
    }
    if (met)
        hx_failure_keep(failure, world->process.rank, node_arrive(world, &shared->header->arrived, round));
    else /* release pairs with the acquire in node_arrive */
        atomic_fetch_add_explicit(&shared->header->arrived, 1, memory_order_release);
    if (failure->status == HX_SUCCESS)
        *failure = shared->header->failure;
    if (failure->status == HX_SUCCESS && shared->me == 0)
        hx_failure_keep(failure, world->process.rank, node_put(world, place, round));
}

hx_status_t hx_world_exchange(struct hx_world *world, const struct hx_place *place, struct hx_failure *failure)
{
    struct hx_shared *shared = world->process.shared;
    hx_status_t placed = HX_SUCCESS, fenced;
    int round = 0;

    if (shared) {
        place_tell(world, place);
        if (world->process.env->single_copy)
            hx_fetch_offer(shared);
        placed = node_arrive(world, &shared->header->placed, 0);
        hx_failure_keep(failure, world->process.rank, placed);
        if (failure->status == HX_SUCCESS && world->process.env->single_copy)
            hx_fetch_try(shared);
        hx_constants_settle(world, place, failure->status == HX_SUCCESS);
    }
    do {
        if (shared)
            round_prepare(world, place, round, placed == HX_SUCCESS, failure);
        if (failure->status != HX_SUCCESS && (!shared || shared->me == 0))
            failure_put(world, failure, round);
        fenced = hx_boot_fence(world->boot);
        if (shared)
            table_complete(world, round++, fenced, failure);
    } while (fenced == HX_SUCCESS && failure->status == HX_SUCCESS && !shared->header->is_final);
    return fenced;
}
