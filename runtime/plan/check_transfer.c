/* SPDX-License-Identifier: BSD-3-Clause */
/* The checker's transfers: matched as the engine does, between nodes by its id, within one by the order in a ring,
 * whichever side comes first. */
#include "runtime/plan/check_run.h"
#include <stdlib.h>
#include <string.h>

static int same_match(const struct hx_check_transfer *x, const struct hx_check_transfer *y)
{
    if (x->sender != y->sender || x->receiver != y->receiver || x->match != y->match)
        return 0;
    return x->network || (x->call == y->call && x->stage == y->stage && x->slice == y->slice);
}

static uint32_t *bucket_of(struct hx_check_run *run, const struct hx_check_transfer *t)
{
    const uint64_t parts[] = {(uint64_t)t->sender, (uint64_t)t->receiver, t->match,
                              t->network ? 0 : (uint64_t)t->call << 32 | (uint64_t)t->stage, t->network ? 0 : t->slice};
    uint64_t h = 1;

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        h = (h ^ parts[i]) * 0x9e3779b97f4a7c15u;
    return &run->buckets[(h >> 32) % HX_CHECK_BUCKETS];
}

/* Both sides are there: the data moves. No rank may touch either side before its JOIN, so the time does not matter. */
static void deliver(struct hx_check_step *s, uint32_t send_id, uint32_t recv_id)
{
    struct hx_check_store *store = &s->run->store;
    struct hx_check_transfer *send = hx_check_transfer_at(store, send_id), *recv = hx_check_transfer_at(store, recv_id);
    const struct hx_check_transfer *theirs = s->step->op == HX_OP_SEND ? recv : send;
    char place[HX_CHECK_PLACE_BYTES];

    send->partner = recv_id;
    recv->partner = send_id;
    if (send->tag != recv->tag) /* in a ring, or ids would differ */
        hx_check_step_fault(s, "its partner in the ring is of round %u", theirs->tag);
    if (send->ordinal != recv->ordinal) /* the transport may hold a long one up by those before it: see hx_flow_number */
        hx_check_step_fault(s, "message %u of its slice between these ranks is received as number %u", send->ordinal,
                            recv->ordinal);
    if (send->n != recv->n)
        hx_check_step_fault(s, "%u elements, but its partner has %u", theirs == recv ? send->n : recv->n, theirs->n);
    for (uint32_t i = 0; i < send->n; i++) {
        if (send->elements[i] != recv->elements[i])
            hx_check_step_fault(s, "element %u is sent where element %u is received; the partner is %s",
                                send->elements[i], recv->elements[i], hx_check_where_place(s->run, theirs->where, place));
        hx_check_cell_at(store, recv->cells[i])->value = hx_check_cell_at(store, send->cells[i])->value;
    }
    free(send->cells);
    free(send->elements);
    free(recv->cells);
    free(recv->elements);
    send->cells = send->elements = recv->cells = recv->elements = NULL;
}

static uint32_t *keep(struct hx_check_step *s, const uint32_t *items, uint32_t n)
{
    uint32_t *kept = malloc(n * sizeof(*kept));

    if (!kept)
        hx_check_stop(&s->run->store, HX_ERR_NOMEM);
    return memcpy(kept, items, n * sizeof(*kept));
}

static void transfer_post(struct hx_check_step *s, const struct hx_check_transfer *init)
{
    struct hx_check_store *store = &s->run->store;
    uint32_t *bucket = bucket_of(s->run, init), partner = HX_CHECK_NONE, id;
    struct hx_check_transfer *mine;
    char place[HX_CHECK_PLACE_BYTES];

    for (uint32_t i = *bucket; i; i = hx_check_transfer_at(store, i)->next) {
        struct hx_check_transfer *t = hx_check_transfer_at(store, i);
        int pending = t->partner == HX_CHECK_NONE;
        if (!same_match(t, init))
            continue;
        if (t->sends != init->sends)
            partner = pending ? i : partner;
        else if (pending || (t->call == init->call && t->slice == init->slice)) /* later ones may have it again */
            hx_check_step_fault(s, "the same match id as %s", hx_check_where_place(s->run, t->where, place));
    }
    id = hx_check_add(store, &store->transfers);
    mine = hx_check_transfer_at(store, id);
    *mine = *init;
    mine->next = *bucket;
    *bucket = s->instance->transfers[s->step->handle] = s->access.transfer = id;
    mine->cells = keep(s, s->run->cells[0], init->n);
    mine->elements = keep(s, s->run->elements, init->n);
    for (uint32_t i = 0; i < init->n; i++) {
        hx_check_step_access(s, mine->cells[i], !init->sends, init->sends ? "its source" : "its destination");
        if (init->sends)
            hx_check_step_value(s, mine->cells[i], mine->elements[i], "its source");
    }
    if (init->sends)
        mine->released = hx_check_release(store, s->access.thread);
    if (partner != HX_CHECK_NONE)
        deliver(s, init->sends ? id : partner, init->sends ? partner : id);
}

/* The match by which the engine finds the partner. */
static void match_set(struct hx_check_step *s, struct hx_check_transfer *t)
{
    uint32_t shared, peer = s->step->peer, n = (uint32_t)s->stage->stage->n;

    t->network = !hx_check_same_node(hx_check_peer(s->stage, peer)->of, s->r);
    t->ordinal = s->instance->ordinals[t->sends ? peer : n + peer]++;
    if (!t->network) {
        t->match = t->ordinal;
        return;
    }
    shared = hx_plan_shared(s->r->plan, (int)(s->stage - s->r->stages), peer);
    if (shared >= HX_MATCH_STAGES)
        hx_check_step_fault(s, "more than %d stages use rank %d: a match id has no room for more",
                            HX_MATCH_STAGES, s->stage->stage->members[peer]);
    if (t->tag >= 2 * HX_MATCH_ROUNDS) /* in a ring of all-reduce half of them may be under way */
        hx_check_step_fault(s, "round %u: a match id has room for only %d rounds", t->tag, HX_MATCH_ROUNDS);
    t->match = hx_match_id(0, (uint64_t)t->call, shared, t->slice, t->tag);
}

/* A handle is free again once its transfer has been joined. */
static int under_way(const struct hx_check_step *s, uint32_t id)
{
    return id && id != HX_CHECK_NONE && !hx_check_transfer_at(&s->run->store, id)->join_clock;
}

void hx_check_transfer_run(struct hx_check_step *s)
{
    const struct hx_stage *stage = s->stage->stage;
    const struct hx_step *step = s->step;
    struct hx_check_run *run = s->run;
    int sends = step->op == HX_OP_SEND, n, got;

    if (step->handle >= stage->ntransfers || under_way(s, s->instance->transfers[step->handle]))
        hx_check_step_fault(s, "handle %u is used twice, or beyond the stage's %u", step->handle, stage->ntransfers);
    if (step->peer >= (uint32_t)stage->n || step->peer == (uint32_t)stage->me)
        hx_check_step_fault(s, "there is no such peer");
    n = hx_check_elements(s, run->elements);
    got = hx_check_operand(s, (enum hx_space)(sends ? step->src : step->dst), (uint32_t)stage->me, step->row, run->cells[0]);
    if (got != n)
        hx_check_step_fault(s, "the operand has %d elements, but the blocks of the step have %d", got, n);
    if (n == 0) {
        s->instance->transfers[step->handle] = HX_CHECK_NONE; /* skipped, on both sides alike */
        return;
    }
    struct hx_check_transfer init = {.call = s->r->call,
                                     .sender = sends ? s->r->rank : stage->members[step->peer],
                                     .receiver = sends ? stage->members[step->peer] : s->r->rank,
                                     .stage = sends ? (int)(s->stage - s->r->stages) : s->stage->peers[step->peer],
                                     .slice = s->instance->slice,
                                     .tag = step->tag,
                                     .sends = sends,
                                     .partner = HX_CHECK_NONE,
                                     .where = s->access.where,
                                     .n = (uint32_t)n};
    match_set(s, &init);
    transfer_post(s, &init);
}

/* A send may be done only once its receive is posted; a receive brings what its sender knew. */
int hx_check_join_run(struct hx_check_step *s)
{
    struct hx_check_store *store = &s->run->store;
    const struct hx_step *step = s->step;

    if (step->handle > s->stage->stage->ntransfers || step->n > s->stage->stage->ntransfers - step->handle)
        hx_check_step_fault(s, "there are only %u transfers", s->stage->stage->ntransfers);
    for (uint32_t h = step->handle; h < step->handle + step->n; h++) {
        uint32_t id = s->instance->transfers[h];
        if (id == 0)
            hx_check_step_fault(s, "transfer %u was not started", h);
        if (id != HX_CHECK_NONE && hx_check_transfer_at(store, id)->partner == HX_CHECK_NONE)
            return 0;
    }
    for (uint32_t h = step->handle; h < step->handle + step->n; h++) {
        uint32_t id = s->instance->transfers[h];
        if (id == HX_CHECK_NONE || hx_check_transfer_at(store, id)->join_clock)
            continue;
        struct hx_check_transfer *t = hx_check_transfer_at(store, id), *partner = hx_check_transfer_at(store, t->partner);
        if (!t->sends && partner->released) {
            hx_check_acquire(store, s->access.thread, partner->released);
            hx_check_drop(store, partner->released);
            partner->released = NULL;
        }
        t->join_clock = store->threads[s->access.thread].clock[s->access.thread];
        store->threads[s->access.thread].dirty = 1;
    }
    return 1;
}
