/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters and HX_STATS: see stats.h. */
#include "runtime/api/stats.h"
#include "runtime/base/clock.h"
#include "runtime/api/blocks.h"
#include "runtime/api/call.h"
#include "runtime/api/lock.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const struct hx_counter_row hx_counter_rows[] = {
#define HX_COUNTER(member, help) {#member, help, offsetof(struct hx_counters, member)},
#include "runtime/base/counter.def"
    {NULL, NULL, 0},
};

/* ---- counters ---- */

static void engine_add(const struct hx_engine *engine, struct hx_counters *c)
{
    c->plans_bound += engine->plans_bound;
    c->ring_messages += engine->ring_messages;
    c->ring_bytes += engine->ring_bytes;
    c->fetches += engine->fetches;
    c->fetched_bytes += engine->fetched_bytes;
    c->shared_alloc_bytes += engine->shared_alloc_bytes;
    c->streamed_bytes += engine->streamed_bytes;
}

static void comm_add(const struct hx_comm *comm, struct hx_counters *c)
{
    if (comm->planner)
        hx_registry.planner->count(comm->planner, c);
    engine_add(&comm->engine, c);
    for (int i = 0; i < HX_CONCURRENT; i++)
        if (comm->others[i])
            engine_add(comm->others[i], c);
}

void hx_counters_keep(struct hx_comm *comm)
{
    comm_add(comm, &comm->world->stats.counters);
}

void hx_counters_read(const struct hx_world *world, struct hx_counters *c)
{
    struct hx_net_counters net = {0};

    *c = world->stats.counters;
    for (const struct hx_comm *comm = world->comms; comm; comm = comm->next)
        comm_add(comm, c);
    c->waits_spinning = world->waiter.spun;
    c->waits_yielding = world->waiter.yielded;
    c->waits_blocking = world->waiter.blocked;
    c->yields = world->waiter.yields;
    c->sleeps = world->waiter.sleeps;
    c->far_bytes = world->distance.far_bytes;
    if (world->net)
        hx_registry.net->counters(world->net, &net);
    c->net_messages_sent = net.messages_sent;
    c->net_bytes_sent = net.bytes_sent;
    c->net_messages_received = net.messages_received;
    c->net_bytes_received = net.bytes_received;
    c->net_chunks_sent = net.chunks_sent;
    c->net_chunks_written = net.chunks_written;
    c->net_credits_sent = net.credits_sent;
    c->net_again = net.again;
    c->net_bounced_bytes = net.bounced_bytes;
    c->net_forged = net.forged;
}

/* ---- calls ---- */

/* Of the whole vector: of an all-gather the output, of an all-to-all what this rank sends. */
static uint64_t vector_bytes(const struct hx_call *call)
{
    const struct hx_call_key *key = &call->key;
    size_t each = hx_dtype_bytes(key->dtype);
    uint64_t elements = 0;

    if (key->coll == HX_COLL_BARRIER)
        return 0;
    if (call->root_knows)
        return call->said_count * each;
    if (hx_coll_has_pair_counts(key->coll)) {
        for (int r = 0; r < call->comm->size; r++)
            elements += call->pair_counts.sent[r];
        return elements * each;
    }
    if (key->blocks.hash) { /* count is of all the blocks */
        for (int r = 0; r < call->comm->size; r++)
            elements += key->blocks.counts[r];
        return elements * each;
    }
    return key->count * each * (hx_coll_has_blocks(key->coll) ? (uint64_t)call->comm->size : 1);
}

void hx_stats_call(const struct hx_call *call, uint64_t start_ns)
{
    struct hx_coll_stats *stats = &call->comm->world->stats.colls[call->key.coll];
    uint64_t ns = hx_now_ns() - start_ns;

    stats->calls++;
    stats->bytes += vector_bytes(call);
    stats->ns += ns;
    stats->longest_ns = ns > stats->longest_ns ? ns : stats->longest_ns;
}

void hx_stats_start(const struct hx_call *call)
{
    struct hx_coll_stats *stats = &call->comm->world->stats.colls[call->key.coll];

    stats->started++;
    stats->bytes += vector_bytes(call);
}

/* ---- telling ---- */

static void print(const struct hx_stats *stats, const char *whose)
{
    char text[8192];
    size_t n = 0;

#define PUT(...) (n += n < sizeof(text) ? (size_t)snprintf(text + n, sizeof(text) - n, __VA_ARGS__) : 0)
    for (int i = 0; i < HX_COLL_COUNT; i++) {
        const struct hx_coll_stats *c = &stats->colls[i];
        if (c->calls + c->started)
            PUT("hierax stats: %s: %-21s %10" PRIu64 " calls, %10" PRIu64 " without blocking, %14" PRIu64
                " bytes, %12.3f ms, longest %.3f ms\n",
                whose, hx_coll_name((enum hx_coll)i), c->calls, c->started, c->bytes, (double)c->ns * 1e-6,
                (double)c->longest_ns * 1e-6);
    }
    for (const struct hx_counter_row *row = hx_counter_rows; row->name; row++) {
        uint64_t value;
        memcpy(&value, (const char *)&stats->counters + row->offset, sizeof(value));
        if (value)
            PUT("hierax stats: %s: %-21s %10" PRIu64 " %s\n", whose, row->name, value, row->help);
    }
#undef PUT
    text[n < sizeof(text) ? n : sizeof(text) - 1] = 0;
    fputs(text, stderr);
}

_Static_assert(sizeof(struct hx_stats) % sizeof(uint64_t) == 0, "sums of numbers of 64 bits");

/* The sums over all ranks, but the longest of the longest. */
static hx_status_t sum(struct hx_comm *comm, const struct hx_stats *mine, struct hx_stats *all)
{
    uint64_t longest[HX_COLL_COUNT];
    hx_status_t status;

    for (int i = 0; i < HX_COLL_COUNT; i++)
        longest[i] = mine->colls[i].longest_ns;
    status = hx_allreduce(mine, all, sizeof(*mine) / sizeof(uint64_t), HX_UINT64, HX_SUM, comm);
    if (status == HX_SUCCESS)
        status = hx_allreduce(HX_IN_PLACE, longest, HX_COLL_COUNT, HX_UINT64, HX_MAX, comm);
    for (int i = 0; i < HX_COLL_COUNT; i++)
        all->colls[i].longest_ns = longest[i];
    return status;
}

void hx_stats_tell(struct hx_world *world, int failed)
{
    struct hx_stats mine = world->stats, all;
    char whose[64];

    hx_lock(); /* a progress thread counts as well */
    hx_counters_read(world, &mine.counters);
    hx_unlock();
    if (world->env->stats > 1 || (failed && world->rank == 0)) {
        snprintf(whose, sizeof(whose), "rank %d", world->rank);
        print(&mine, whose);
    }
    if (failed || sum(world->comms, &mine, &all) != HX_SUCCESS || world->rank != 0)
        return;
    snprintf(whose, sizeof(whose), "all %d ranks", world->size);
    print(&all, whose);
}
