/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Statistics: counters of a process, and with HX_STATS also the calls of each collective.
 *
 * Counters stand where things happen that are slow anyway. Calls are counted with HX_STATS alone: no plan is then found
 * on the short way (hx_bind keeps the first place of each set empty), so that every call goes the long one, past
 * hx_stats_call.
 */
#include "runtime/base/clock.h"
#include "runtime/api/call.h"

const struct hx_counter_row hx_counter_rows[] = {
#define HX_COUNTER(member, help) {#member, help, offsetof(struct hx_counters, member)},
#include "runtime/base/counter.def"
    {NULL, NULL, 0},
};

/* ---- counters ---- */

static void engine_add(const struct hx_engine *engine, struct hx_counters *c)
{
    c->plans_bound += engine->plans_bound;
    c->adapt_trials += engine->adapt_trials;
    c->adapt_changes += engine->adapt_changes;
    c->ring_messages += engine->ring_messages;
    c->ring_bytes += engine->ring_bytes;
    c->fetches += engine->fetches;
    c->fetches_refused += engine->asks.refused;
    c->fetched_bytes += engine->fetched_bytes;
    c->shared_alloc_bytes += engine->shared_alloc_bytes;
    c->streamed_bytes += engine->streamed_bytes;
}

static void comm_add(const struct hx_comm *comm, struct hx_counters *c)
{
    if (comm->members.planner)
        hx_registry.planner->count(comm->members.planner, c);
    engine_add(&comm->engine, c);
    for (int i = 0; i < HX_CONCURRENT; i++)
        if (comm->others[i])
            engine_add(comm->others[i], c);
}

static void p2p_add(const struct hx_p2p *p2p, struct hx_counters *c)
{
    c->p2p_sent = p2p->messages_sent;
    c->p2p_sent_bytes = p2p->bytes_sent;
    c->p2p_received = p2p->messages_received;
    c->p2p_received_bytes = p2p->bytes_received;
    c->p2p_fetched_bytes = p2p->copied_bytes;
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
    c->waits_spinning = world->process.waiter.spun;
    c->waits_yielding = world->process.waiter.yielded;
    c->waits_blocking = world->process.waiter.blocked;
    c->yields = world->process.waiter.yields;
    c->sleeps = world->process.waiter.sleeps;
    c->far_bytes = world->process.distance.far_bytes;
    if (world->process.net)
        hx_registry.net->counters(world->process.net, &net);
    if (world->process.p2p)
        p2p_add(world->process.p2p, c);
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

/* The bytes of the whole vector: the output of an all-gather, the elements that this rank sends in an all-to-all. */
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
        for (int r = 0; r < call->pair_counts.nsent; r++)
            elements += call->pair_counts.sent[r];
        return elements * each;
    }
    if (key->blocks.hash) { /* count is of all the blocks */
        for (int r = 0; r < call->comm->members.size; r++)
            elements += key->blocks.counts[r];
        return elements * each;
    }
    return key->count * each * (hx_coll_has_blocks(key->coll) ? (uint64_t)call->comm->members.size : 1);
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
