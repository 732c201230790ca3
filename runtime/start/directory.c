/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which ranks of a node open network endpoints at start, and the addresses of ranks that open theirs later. The job table of the node holds
 * them (struct hx_net_directory). Any rank of the node may enter an address, because another node may send it to any of them.
 */
#include "runtime/base/clock.h"
#include "runtime/engine/liveness.h"
#include "runtime/engine/wait.h"
#include "runtime/plan/lane.h"
#include "runtime/start/startup.h"
#include <stdio.h>
#include <string.h>

#define TURN_NS 100000000

int hx_opens_at_start(const struct hx_env *env, int local, int n)
{
    return env->endpoints == 0 || env->endpoints >= n || hx_lane_carried(local, (int)env->endpoints, n) >= 0;
}

static struct hx_job_entry *entry_of(void *arg, int rank)
{
    const struct hx_world *world = arg;

    return &world->process.shared->table[rank];
}

static int is_alive(const struct hx_job_entry *entry)
{
    return !atomic_load_explicit(&entry->dead, memory_order_relaxed);
}

static int is_addressed(const struct hx_job_entry *entry)
{
    return atomic_load_explicit(&entry->address_state, memory_order_relaxed) == HX_ADDRESS_THERE;
}

static const void *find(void *arg, int rank, size_t *bytes, const char **why)
{
    const struct hx_job_entry *entry = entry_of(arg, rank);
    /* acquire pairs with the release in put */
    const uint32_t state = atomic_load_explicit(&entry->address_state, memory_order_acquire);

    if (state == HX_ADDRESS_REFUSED)
        *why = (const char *)entry->address;
    *bytes = entry->address_bytes;
    return state == HX_ADDRESS_THERE ? entry->address : NULL;
}

/* May this rank write the address? Not if the address is there, or if a living rank writes it. */
static int put_begin(const struct hx_process *process, struct hx_job_entry *entry)
{
    uint32_t state = atomic_load_explicit(&entry->address_state, memory_order_relaxed);

    if (state == HX_ADDRESS_THERE || state == HX_ADDRESS_REFUSED)
        return 0;
    if (state >= HX_ADDRESS_WRITING) {
        const int writer = (int)(state - HX_ADDRESS_WRITING);
        hx_watch_look_at(process->shared, writer);
        if (!atomic_load_explicit(&process->shared->table[writer].ended, memory_order_relaxed))
            return 0;
    }
    return atomic_compare_exchange_strong_explicit(&entry->address_state, &state, HX_ADDRESS_WRITING + (uint32_t)process->rank,
                                                   memory_order_relaxed, memory_order_relaxed);
}

static void put(const struct hx_world *world, int rank, const void *what, size_t bytes, enum hx_address_state state, hx_status_t status)
{
    struct hx_job_entry *entry = &world->process.shared->table[rank];

    if (!put_begin(&world->process, entry))
        return;
    memcpy(entry->address, what, bytes);
    entry->address_bytes = state == HX_ADDRESS_THERE ? (uint32_t)bytes : (uint32_t)status;
    atomic_store_explicit(&entry->address_state, state, memory_order_release);
}

static void enter(void *arg, int rank, const void *address, size_t bytes)
{
    put(arg, rank, address, bytes, HX_ADDRESS_THERE, HX_SUCCESS);
}

static void refuse(void *arg, int rank, hx_status_t status, const char *why)
{
    char text[HX_ADDRESS_BYTES];

    snprintf(text, sizeof(text), "%s", why);
    if (status == HX_ERR_PEER_DEAD) /* from hx_directory_leave of that rank */
        atomic_store_explicit(&entry_of(arg, rank)->finished, 1, memory_order_relaxed);
    put(arg, rank, text, strlen(text) + 1, HX_ADDRESS_REFUSED, status);
}

void hx_directory_leave(struct hx_world *world)
{
    if (world->process.net)
        refuse(world, world->process.rank, HX_ERR_PEER_DEAD, "it " HX_HAS_FINISHED);
}

static int gate(void *arg, int peer, unsigned turn)
{
    const struct hx_world *world = arg;
    const struct hx_job_entry *table = world->process.shared->table;
    int gates = 0;

    for (int pass = 0; pass < 2 && (pass == 0 || gates > 0); pass++) /* the first pass counts the gates */
        for (int rank = 0, at = 0; rank < world->process.size; rank++) {
            if (table[rank].node != table[peer].node || rank == peer || !is_alive(&table[rank]) || !is_addressed(&table[rank]))
                continue;
            if (pass == 1 && at++ == (int)(turn % (unsigned)gates))
                return rank;
            gates += pass == 0;
        }
    return -1;
}

static void want(void *arg, int rank, int by)
{
    const struct hx_world *world = arg;
    const struct hx_shared *shared = world->process.shared;

    for (int i = 0; i < shared->n; i++) {
        if (shared->ranks[i] != rank)
            continue;
        atomic_store_explicit(&shared->table[rank].wanted, 1 + by, memory_order_relaxed);
        hx_wake_fence();
        hx_wake(shared, &shared->doorbells[i]);
    }
}

/* If ranks with endpoints have died, the first living ranks without one take their place. Is this rank one of them? Without substitutes, other
 * nodes might no longer reach this node. A rank outside Hierax opens none, so every TURN_NS one more rank may take the place. */
static int is_substitute(struct hx_world *world)
{
    const struct hx_shared *shared = world->process.shared;
    const uint32_t deaths = atomic_load_explicit(&shared->header->deaths, memory_order_relaxed);
    int64_t lacks = world->process.env->endpoints, before = 0;
    uint64_t now;

    if (deaths == world->deaths_seen)
        return 0;
    for (int i = 0; i < shared->n; i++) {
        const struct hx_job_entry *entry = &shared->table[shared->ranks[i]];
        lacks -= is_alive(entry) && is_addressed(entry);
        before += i < shared->me && is_alive(entry) && !is_addressed(entry);
    }
    now = hx_clock_ns(CLOCK_MONOTONIC_COARSE);
    if (lacks > 0 && world->lack_since == 0)
        world->lack_since = now;
    if (lacks > 0 && before >= lacks + (int64_t)((now - world->lack_since) / TURN_NS))
        return 0;
    world->deaths_seen = deaths;
    world->lack_since = 0;
    return lacks > 0;
}

/* The next gate of another node to which a substitute must connect, so that its own node stays reachable. -1: none is left. */
static int next_gate(struct hx_world *world)
{
    const struct hx_job_entry *table = world->process.shared->table;

    while (world->gates_left > 0) {
        const struct hx_job_entry *entry = &table[--world->gates_left];
        if (entry->node != table[world->process.rank].node && is_alive(entry) && is_addressed(entry))
            return world->gates_left;
    }
    return -1;
}

static int wanted(void *arg)
{
    struct hx_world *world = arg;
    _Atomic int32_t *mine = &entry_of(arg, world->process.rank)->wanted;

    if (atomic_load_explicit(mine, memory_order_relaxed) != 0)
        return atomic_exchange_explicit(mine, 0, memory_order_relaxed) - 1;
    if (is_substitute(world))
        world->gates_left = world->process.size;
    return next_gate(world);
}

static void opened(void *arg)
{
    struct hx_world *world = arg;

    world->process.waiter.net = world->process.net;
}

static int opened_here(void *arg)
{
    const struct hx_world *world = arg;
    int n = 0;

    for (int i = 0; i < world->process.shared->n; i++)
        n += is_addressed(entry_of(arg, world->process.shared->ranks[i]));
    return n;
}

struct hx_net_directory hx_directory_of(struct hx_world *world)
{
    return (struct hx_net_directory){.arg = world, .find = find, .enter = enter, .refuse = refuse, .gate = gate, .want = want,
                                     .wanted = wanted, .opened = opened, .opened_here = opened_here};
}
