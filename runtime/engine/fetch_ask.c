/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A FETCH that the kernel refuses: process_vm_readv does not read memory of memfd_secret, of devices, or of a process that has made itself
 * unreadable since start-up. Then the reader asks the owner, which sends the data through a ring of the pair (shm_ring.c).
 *
 *   reader:  asked_at, asked_bytes = what it needs;  asked = number, owner (release);  owner's asks += 1;  wake the owner
 *   owner:   asks has changed: look at all members' asked (acquire); send what is new;  reader: receive it;  asked = 0
 *
 * The owner answers while it waits. It cannot leave the call before, because the reader has not yet confirmed that it has read: in every
 * plan that offers buffers the owner awaits this. The ring is the last of the pair. A plan that needs it for its own messages does not
 * ask, but fails.
 */
#include "runtime/base/probe.h"
#include "runtime/engine/engine.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define ASK_RING (HX_PAIR_RINGS - 1)

static uint64_t asked_word(uint64_t number, int row)
{
    return number << 32 | (uint32_t)(1 + row);
}

/* A transfer of these bytes of this rank with member i of the node. */
static void transfer_begin(struct hx_run *run, struct hx_transfer *t, enum hx_net_direction direction, int i, void *base, size_t bytes)
{
    struct hx_engine *engine = run->engine;

    *t = (struct hx_transfer){.first_segments = {{base, bytes}}, .stamp = run->stamp};
    t->net = (struct hx_net_op){.direction = direction, .peer = engine->members->ranks[engine->node.ranks[i]], .nsegments = 1,
                                .total_bytes = bytes, .why = engine->members->why, .segments = t->first_segments};
    HX_PROBE_POST(engine->process->trace, &t->net, run->epoch);
    engine->asks.last_call = engine->call;
    hx_shm_ring_start(engine, t, i, ASK_RING);
}

void hx_ask(struct hx_run *run, const struct hx_instance *instance, const struct hx_bound_step *step, void *to, uintptr_t from, size_t bytes)
{
    struct hx_engine *engine = run->engine;
    const struct hx_bound_stage *bs = instance->stage;
    struct hx_control *mine = engine->mine, *theirs = bs->controls[step->peer];
    int i = engine->members->shape->local_of[bs->stage->members[step->peer]];

    engine->asks.reader = instance;
    transfer_begin(run, &engine->asks.arrival, HX_NET_RECV, i, to, bytes);
    atomic_store_explicit(&mine->asked_at, from, memory_order_relaxed);
    atomic_store_explicit(&mine->asked_bytes, bytes, memory_order_relaxed);
    /* release pairs with the acquire in hx_asks_answer */
    atomic_store_explicit(&mine->asked, asked_word(++engine->asks.number, engine->node.rows[i]), memory_order_release);
    atomic_fetch_add_explicit(&theirs->asks, 1, memory_order_release); /* pairs with the acquire in hx_asks_answer: it sees asked */
    hx_wake_fence();
    hx_wake(engine->node.shared, bs->doorbells[step->peer]);
}

int hx_ask_ended(struct hx_run *run)
{
    struct hx_asks *asks = &run->engine->asks;

    if (asks->arrival.net.done == 0)
        return 0;
    asks->reader = NULL;
    atomic_store_explicit(&run->engine->mine->asked, 0, memory_order_relaxed); /* the owner has answered it */
    if (asks->arrival.net.done < 0)
        run->status = hx_transfer_failure(run, &asks->arrival);
    return run->status == HX_SUCCESS;
}

/* May this rank itself read that? The kernel says so without a signal: it copies a byte of each page into a pipe. */
static int is_readable(const unsigned char *at, size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int ends[2], readable = 1;
    char byte;

    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
        return 1; /* not known */
    for (size_t done = 0; readable && done < bytes; done += page - ((uintptr_t)at + done) % page) {
        readable = write(ends[1], at + done, 1) == 1 || errno != EFAULT;
        if (read(ends[0], &byte, 1) < 0)
            break;
    }
    close(ends[0]);
    close(ends[1]);
    return readable;
}

static void answer_send(struct hx_run *run, struct hx_transfer *t, int i, struct hx_control *theirs)
{
    void *at = (void *)atomic_load_explicit(&theirs->asked_at, memory_order_relaxed);
    size_t bytes = atomic_load_explicit(&theirs->asked_bytes, memory_order_relaxed);

    if (is_readable(at, bytes))
        transfer_begin(run, t, HX_NET_SEND, i, at, bytes);
    else
        run->status = hx_fail(HX_ERR_ARG, "%s: rank %d of the job needs %zu bytes at %p of rank %d, which are not readable: is the buffer "
                              "shorter than the call?", run->name, run->engine->members->ranks[run->engine->node.ranks[i]], bytes, at,
                              run->engine->members->ranks[run->engine->members->rank]);
}

__attribute__((noinline)) void hx_asks_answer(struct hx_run *run)
{
    struct hx_engine *engine = run->engine;
    const struct hx_node *node = &engine->node;
    struct hx_asks *asks = &engine->asks;

    if (!asks->answers && !(asks->answers = calloc((size_t)node->n, sizeof(*asks->answers)))) {
        run->status = hx_fail(HX_ERR_NOMEM, "%s: no memory to answer %d ranks that cannot read this rank's buffers", run->name, node->n);
        return;
    }
    /* acquire pairs with the release in hx_ask */
    asks->looked = atomic_load_explicit(&engine->mine->asks, memory_order_acquire);
    for (int i = 0; i < node->n && run->status == HX_SUCCESS; i++) {
        struct hx_control *theirs = hx_node_control(node, i);
        struct hx_answer *answer = &asks->answers[i];
        /* acquire pairs with the release in hx_ask: asked_at and asked_bytes belong to it */
        uint64_t asked = atomic_load_explicit(&theirs->asked, memory_order_acquire);
        if (i == node->me || asked == answer->asked || (uint32_t)asked != (uint32_t)asked_word(0, node->rows[node->me]))
            continue;
        answer->asked = asked;
        answer_send(run, &answer->sent, i, theirs);
    }
}
