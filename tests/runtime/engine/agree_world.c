/* SPDX-License-Identifier: BSD-3-Clause */
/* A job in one process: see agree_world.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/runtime/engine/agree_world.h"
#include "runtime/engine/agree_state.h"
#include "runtime/engine/failure.h"
#include "runtime/engine/liveness.h"
#include "runtime/engine/whereabouts.h"
#include <stdlib.h>
#include <string.h>

static _Atomic uint64_t closed[WORLD_MOST * HX_COMM_NUMBERS]; /* no rank frees the communicator */
static struct hx_passed passed[WORLD_MOST];
static struct hx_control control;
static struct world *current;

int world_random(struct world *w, int n)
{
    w->seed = w->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((w->seed >> 33) % (uint64_t)n);
}

int world_is_dead(const struct world *w, int rank)
{
    return w->ranks[rank].life == LIFE_DEAD;
}

int world_is_across(const struct world *w, int from, int to)
{
    return (w->cut >> w->node_of[from] & 1) != (w->cut >> w->node_of[to] & 1);
}

/* ---- messages ------------------------------------------------------------------------------------------------- */

/* Inside a step, with a chance of one in so many, another rank takes a step or begins. */
static void overtake(struct world *w, int times)
{
    const int other = w->nests && w->depth == 1 && world_random(w, times) == 0 ? world_random(w, w->size) : -1;

    if (other < 0 || w->ranks[other].runs)
        return;
    if (world_begins(w, other))
        world_begin(w, other);
    else if (w->ranks[other].life == LIFE_WAITS)
        world_step(w, other);
}

/* The rules read parts by this function: the linker puts it in the place of hx_agree_part_of. */
struct part __wrap_hx_agree_part_of(const struct hx_agree *a, int rank);
struct part __real_hx_agree_part_of(const struct hx_agree *a, int rank);
struct part __wrap_hx_agree_part_of(const struct hx_agree *a, int rank)
{
    if (current->depth == 1 && current->comes_in && --current->comes_in == 0)
        current->comes(current);
    overtake(current, 16);
    return __real_hx_agree_part_of(a, rank);
}

/* A point where a rank may die, or other ranks may take steps. */
static void point(struct world *w, int rank)
{
    struct world_rank *r = &w->ranks[rank];

    if (r->dies_in > 0 && --r->dies_in == 0)
        world_kill(w, rank);
    overtake(w, 4);
    if (world_is_dead(w, rank) && r->runs)
        longjmp(r->ends, 1);
}

static void put(struct world *w, int from, int to, const struct hx_control_message *message)
{
    if (w->nmessages == w->capacity) {
        w->capacity = w->capacity ? 2 * w->capacity : 64;
        w->messages = realloc(w->messages, (size_t)w->capacity * sizeof(*w->messages));
        assert_non_null(w->messages);
    }
    w->messages[w->nmessages++] = (struct world_message){from, to, *message};
    point(w, from);
}

static void net_tell(struct hx_net *net, int peer, const struct hx_control_message *message)
{
    put(net->world, net->rank, peer, message);
}

static int net_ask(struct hx_net *net, int peer, const struct hx_control_message *message)
{
    struct world *w = net->world;

    if (world_is_dead(w, peer) || (w->is_cut && world_is_across(w, net->rank, peer)))
        return 1;
    w->ranks[net->rank].asked[peer] += message->kind == HX_MESSAGE_AGREE;
    put(w, net->rank, peer, message);
    return 0;
}

static int net_has_ended(const struct hx_net *net, int peer)
{
    return world_is_dead(net->world, peer) && !world_is_across(net->world, net->rank, peer);
}

static int net_progress(struct hx_net *net)
{
    (void)net;
    return 0;
}

static const struct hx_net_ops net = {.name = "world", .tell = net_tell, .ask = net_ask, .has_ended = net_has_ended, .progress = net_progress};
const struct hx_registry hx_registry = {.net = &net};

/* As in runtime/api/failed.c: deaths first, then the part. */
static void owner_tell(const struct hx_engine *engine, int peer)
{
    const struct hx_job_entry *table = engine->process->shared->table;
    struct hx_control_message deaths = {.kind = HX_MESSAGE_DEAD};

    if (atomic_load(&table[peer].dead))
        return;
    for (int rank = 0; rank < engine->members->size; rank++)
        if (atomic_load(&table[rank].dead))
            deaths.dead[deaths.ndead++] = atomic_load(&table[rank].ended) ? rank : HX_UNREACHABLE(rank);
    if (deaths.ndead && !current->deaths_are_late)
        net_tell(engine->process->net, peer, &deaths);
    hx_agree_tell(engine->process, engine->members, peer);
}

static const struct hx_owner owner = {.tell = owner_tell};

static void death_heard(struct world_rank *r, int told)
{
    const int rank = told >= 0 ? told : HX_UNREACHABLE(told);

    if (r->shared.table[r->process.rank].node != r->shared.table[rank].node)
        hx_watch_tell(&r->shared, rank, told >= 0);
}

int world_deliver(struct world *w, int i)
{
    const struct world_message m = w->messages[i];
    struct world_rank *to = &w->ranks[m.to];

    if (to->life == LIFE_BUSY || to->life == LIFE_OUTSIDE || to->runs)
        return 0;
    w->messages[i] = w->messages[--w->nmessages];
    if (to->life == LIFE_DEAD || (w->is_cut && world_is_across(w, m.from, m.to)))
        return 1;
    to->runs = 1;
    if (setjmp(to->ends) == 0) {
        switch (m.message.kind) {
        case HX_MESSAGE_AGREE:
            hx_agree_heard(&to->process, &to->members, m.from, &m.message);
            break;
        case HX_MESSAGE_DEAD:
            for (int k = 0; k < m.message.ndead; k++)
                death_heard(to, m.message.dead[k]);
            break;
        default: /* HX_MESSAGE_ASKS: is that rank of this node alive? */
            if (world_is_dead(w, m.message.rank)) {
                world_find(w, to->node, m.message.rank);
                owner_tell(&to->engine, m.from);
            }
        }
    }
    to->runs = 0;
    return 1;
}

void world_deliver_all(struct world *w)
{
    for (int i = 0, tries = 0; i < w->nmessages; i++, tries++) {
        assert_true(tries < 1000000);
        i -= world_deliver(w, i);
    }
}

void world_drop(struct world *w, int from, int to)
{
    for (int i = 0; i < w->nmessages; i++)
        if (w->messages[i].from == from && w->messages[i].to == to)
            w->messages[i--] = w->messages[--w->nmessages];
}

/* ---- deaths --------------------------------------------------------------------------------------------------- */

void world_find(struct world *w, int node, int rank)
{
    struct world_node *n = &w->nodes[node];
    const int ended = world_is_dead(w, rank) && !world_is_across(w, n->ranks[0], rank);

    for (int i = 0; i < n->n; i++)
        if (!world_is_dead(w, n->ranks[i])) {
            hx_watch_tell(&w->ranks[n->ranks[i]].shared, rank, ended);
            return;
        }
}

/* Each of its messages under way may be lost. */
void world_kill(struct world *w, int rank)
{
    w->ranks[rank].life = LIFE_DEAD;
    for (int i = 0; i < w->nmessages; i++)
        if (w->messages[i].from == rank && world_random(w, 2))
            w->messages[i--] = w->messages[--w->nmessages];
}

/* ---- steps ---------------------------------------------------------------------------------------------------- */

int world_begins(const struct world *w, int rank)
{
    const struct world_rank *r = &w->ranks[rank];

    return r->life == LIFE_BUSY || (r->life == LIFE_SERVES && r->ended < w->agreements && r->status == HX_SUCCESS);
}

void world_begin(struct world *w, int rank)
{
    struct world_rank *r = &w->ranks[rank];
    struct hx_agreement agreement = {.name = "test", .kind = HX_AGREE_FLAGS};

    agreement.words[0] = ~(UINT32_C(1) << rank);
    agreement.words[1] = 100 + (uint64_t)((rank + r->ended) % w->size);
    agreement.words[2] = agreement.words[3] = UINT64_MAX;
    assert_int_equal(hx_agree_begin(&r->process, &r->members, &agreement), HX_SUCCESS);
    r->life = LIFE_WAITS;
}

/* The words are those of the members. */
static void result_check(const struct world *w, const struct world_rank *r)
{
    const struct world_result *result = &r->results[r->ended];
    uint64_t least = UINT64_MAX;

    for (int rank = 0; rank < w->size; rank++) {
        const uint64_t word = 100 + (uint64_t)((rank + r->ended) % w->size);
        if (result->has >> rank & 1)
            least = word < least ? word : least;
    }
    assert_int_equal(result->words[0], ~result->has & UINT32_MAX);
    assert_int_equal(result->words[1], least);
}

/* Without a cut all results are equal, also those of ranks that die later. They contain every rank that is alive. */
static void whole_check(struct world *w, const struct world_rank *r)
{
    struct world_result *first = &w->results[r->ended];

    assert_int_equal(r->status, HX_SUCCESS);
    for (int rank = 0; rank < w->size; rank++)
        assert_true(world_is_dead(w, rank) || (r->results[r->ended].has >> rank & 1));
    if (first->is_known)
        assert_memory_equal(first, &r->results[r->ended], sizeof(*first));
    *first = r->results[r->ended];
}

/* With a cut the results of all ranks that are alive are equal. */
static void parted_check(const struct world *w, const struct world_rank *r)
{
    assert_true(r->status == HX_SUCCESS || r->status == HX_ERR_PEER_DEAD || r->status == HX_ERR_MINORITY);
    for (int rank = 0; rank < w->size && r->status == HX_SUCCESS; rank++) {
        const struct world_rank *other = &w->ranks[rank];
        if (!world_is_dead(w, rank) && other->results[r->ended].is_known)
            assert_memory_equal(&other->results[r->ended], &r->results[r->ended], sizeof(r->results[0]));
    }
}

static void step_end(struct world *w, struct world_rank *r)
{
    struct world_result *result = &r->results[r->ended];
    struct hx_agreement agreement = {.name = "test"};

    r->status = hx_agree_end(&r->members, HX_SUCCESS, &agreement);
    if (world_is_dead(w, r->process.rank)) /* it has died in this step */
        return;
    if (r->status == HX_SUCCESS) {
        result->is_known = 1;
        memcpy(result->words, agreement.words, sizeof(result->words));
        result->has = agreement.members[0];
        result_check(w, r);
    }
    if (w->cut)
        parted_check(w, r);
    else
        whole_check(w, r);
    r->ended++;
    r->life = LIFE_SERVES;
}

void world_step(struct world *w, int rank)
{
    struct world_rank *r = &w->ranks[rank];

    r->runs = 1;
    w->depth++;
    if (setjmp(r->ends) == 0) {
        point(w, rank);
        if (hx_agree_advance(&r->members))
            step_end(w, r);
    }
    w->depth--;
    r->runs = 0;
}

void world_slow(struct world *w, int rank)
{
    struct world_rank *r = &w->ranks[rank];

    r->runs = 1;
    w->depth += 2; /* no other rank takes a step inside */
    hx_agree_clock(&r->members)->waited += UINT64_C(1000000000);
    if (setjmp(r->ends) == 0)
        hx_agree_slow(&r->members);
    w->depth -= 2;
    r->runs = 0;
}

/* ---- all of it ------------------------------------------------------------------------------------------------ */

static void rank_start(struct world *w, int rank)
{
    struct world_rank *r = &w->ranks[rank];
    struct world_node *n = &w->nodes[r->node];

    r->shared = (struct hx_shared){.n = n->n, .me = w->local_of[rank], .ranks = n->ranks, .memory = -1, .header = &n->header,
                                   .table = n->table, .doorbells = n->doorbells, .passed = passed, .closed = closed,
                                   .agreement_bytes = sizeof(n->agreements[0])};
    r->net = (struct hx_net){w, rank};
    r->process = (struct hx_process){.rank = rank, .size = w->size, .owner = &owner, .env = &w->env, .shared = &r->shared,
                                     .net = w->nnodes > 1 ? &r->net : NULL};
    r->engine = (struct hx_engine){.members = &r->members, .process = &r->process, .mine = &control};
    r->engine.node = (struct hx_node){.shared = &r->shared, .n = n->n, .me = w->local_of[rank], .ranks = n->ranks, .rows = r->rows,
                                      .agreements = &n->agreements[0][0]};
    r->members = (struct hx_members){.id = {.generation = 1}, .rank = rank, .size = w->size, .ranks = w->all, .shape = &w->shape,
                                     .local_n = n->n, .local_me = w->local_of[rank], .local_ranks = n->ranks, .rows = r->rows,
                                     .blocking = &r->engine, .timeout_s = &w->timeout_s};
}

static void *memory_new(size_t bytes)
{
    const size_t all = (bytes + HX_LINE_BYTES - 1) / HX_LINE_BYTES * HX_LINE_BYTES;
    void *memory = aligned_alloc(HX_LINE_BYTES, all);

    assert_non_null(memory);
    return memset(memory, 0, all);
}

struct world *world_new(int size, const int *nodes, uint64_t seed)
{
    struct world *w = memory_new(sizeof(*w));

    for (int rank = 0; rank < size; rank++)
        w->nnodes = nodes[rank] >= w->nnodes ? nodes[rank] + 1 : w->nnodes;
    w->nodes = memory_new((size_t)w->nnodes * sizeof(*w->nodes));
    current = w;
    w->size = size;
    w->agreements = 1;
    w->seed = seed;
    w->shape = (struct hx_shape){.nranks = size, .node_of = w->node_of, .local_of = w->local_of};
    for (int rank = 0; rank < size; rank++) {
        struct world_node *n = &w->nodes[nodes[rank]];
        w->all[rank] = rank;
        w->node_of[rank] = w->ranks[rank].node = nodes[rank];
        w->local_of[rank] = n->n;
        n->ranks[n->n++] = rank;
        for (int row = 0; row < WORLD_MOST; row++)
            w->ranks[rank].rows[row] = row;
    }
    w->shape.nnodes = w->nnodes;
    for (int node = 0; node < w->nnodes; node++)
        for (int rank = 0; rank < size; rank++)
            w->nodes[node].table[rank] = (struct hx_job_entry){.node = w->node_of[rank], .address_state = HX_ADDRESS_THERE};
    for (int rank = 0; rank < size; rank++)
        rank_start(w, rank);
    return w;
}

void world_free(struct world *w)
{
    for (int rank = 0; rank < w->size; rank++) {
        free(w->ranks[rank].members.agree);
        hx_whereabouts_forget(&w->ranks[rank].process);
    }
    free(w->messages);
    free(w->nodes);
    free(w);
}
