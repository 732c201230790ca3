/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks that make different calls: whatever differs, and whichever plan runs, no rank gets HX_SUCCESS with data that are not those of its
 * own call.
 * usage: unlike SEED FROM TO [all]      trials FROM .. TO-1: drawn by the seed, or ("all") of the whole matrix
 *        unlike list                    rank 0 tells how many trials "all" has on this shape
 *        unlike groups                  lists of members that differ, in hx_comm_group
 *        unlike stale                   two ranks: a message that nobody received
 *        unlike late                    a flag that has been raised again
 *        unlike finalize                hx_finalize against a barrier of the world
 *
 * A trial has a communicator of its own, duplicated from the world communicator, which stays healthy. Its plan is forced by name. First
 * all ranks make the same call, and their data must be right. In the second call some ranks, the odd ones out, do something else. In the
 * third call all do the same again. The data that a rank contributes depend on its party and on its idea of the length. So a rank that
 * succeeds with data of the other party, or of an earlier call, notices that.
 *
 * It prints for unlike.sh what it has tried: "trials ...", "covered COLLECTIVE ALGORITHM ..." for each plan that has run, and "spent ...",
 * the time of each kind of difference.
 */
#include "hier/planner.h"
#include "runtime/api/call.h"
#include "runtime/base/clock.h"
#include "runtime/api/lock.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RANKS = 64, BUFFER = 12 << 20, SIZES = 7, REPORTS = 20 };
#define TRIAL_SECONDS 0.5 /* HX_TIMEOUT while some ranks wait for what never comes */
#define CALM_SECONDS 60

static const size_t sizes[SIZES] = {8, 200, 4096, 24 << 10, 65536 + 8, 300000, 1 << 20}; /* bytes of the vector; slices end between these */

/* What the odd ones out do. */
#define ODDITIES(X) \
    X(COLLECTIVE) X(COUNT) X(COUNT_NEAR) X(EMPTY) X(TYPE_ALIKE) X(TYPE_LONGER) X(OP) X(OWN_OP) X(ROOT) X(COUNTS) X(INTERNAL) X(SKIPS) X(SWAPS) \
    X(BLOCKS) X(STARTS)
enum oddity {
#define NAME(name) name,
    ODDITIES(NAME)
#undef NAME
    ODDITIES_COUNT
};
static const char *const oddity_names[] = {
#define NAME(name) #name,
    ODDITIES(NAME)
#undef NAME
};

struct args { /* of a call, as one rank makes it */
    enum hx_coll coll;
    int lists; /* with counts */
    enum hx_mode mode;
    size_t n; /* elements of the vector, or of each block */
    hx_dtype_t dtype;
    hx_op_t op;
    int root, party, number;
    int bump; /* with counts: this rank's is one more; -1: none's */
};

static hx_comm_t *world;
static int rank, size;
static hx_op_t own_sum, own_last;
static uint64_t state;
static unsigned char *in_buffer, *out_buffer;
static long wrong, succeeded, mismatched, timed_out, otherwise;
static struct hx_candidate *candidates;
static int ncandidates;
static char doing[256];
static struct { /* on rank 0 */
    int trials, timed_out;
    double seconds;
} spent[ODDITIES_COUNT];

static uint64_t draw(uint64_t n) /* splitmix64, alike on all ranks */
{
    uint64_t z = (state += 0x9e3779b97f4a7c15u);

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (z ^ z >> 31) % n;
}

static void must(hx_status_t status, const char *what)
{
    if (status == HX_SUCCESS)
        return;
    fprintf(stderr, "unlike: rank %d, %s: %s: %s: %s\n", rank, doing, what, hx_strerror(status), hx_last_detail());
    exit(1);
}

/* ---- numbers --------------------------------------------------------------------------------------------------- */

static void sum_fn(const void *left, const void *right, void *result, size_t n, hx_dtype_t dtype, void *ctx)
{
    const void *both[2] = {left, right};

    (void)ctx;
    hx_reduce_kernel(dtype, HX_SUM)(result, both, 2, n);
}

static void last_fn(const void *left, const void *right, void *result, size_t n, hx_dtype_t dtype, void *ctx)
{
    (void)left;
    (void)ctx;
    memcpy(result, right, n * hx_dtype_bytes(dtype));
}

static double value(const struct args *a, int sender, int block, size_t i, size_t length)
{
    return (double)((uint64_t)(a->party * 37 + sender * 7 + block * 13 + a->number * 11) + 3 * i + 5 * length) - 251 *
           (double)(((uint64_t)(a->party * 37 + sender * 7 + block * 13 + a->number * 11) + 3 * i + 5 * length) / 251);
}

static void put(unsigned char *at, hx_dtype_t dtype, double v)
{
    switch (dtype) {
    case HX_INT32: memcpy(at, &(int32_t){(int32_t)v}, 4); break;
    case HX_UINT32: memcpy(at, &(uint32_t){(uint32_t)v}, 4); break;
    case HX_FLOAT32: memcpy(at, &(float){(float)v}, 4); break;
    case HX_INT64: memcpy(at, &(int64_t){(int64_t)v}, 8); break;
    default: memcpy(at, &v, 8); break;
    }
}

/* What ranks 0 .. n-1 give, folded. */
static double folded(const struct args *a, int n, int block, size_t i, size_t length)
{
    double v = value(a, 0, block, i, length);

    for (int q = 1; q < n; q++) {
        double w = value(a, q, block, i, length);
        v = a->op == own_last ? w : a->op == HX_MAX ? (v > w ? v : w) : v + w;
    }
    return v;
}

/* ---- calls ----------------------------------------------------------------------------------------------------- */

/* Of the block from one rank to another, or of a rank. */
static size_t length_of(const struct args *a, int from, int to)
{
    int odd = a->coll == HX_COLL_ALLTOALLV ? a->bump >= 0 && from == rank && to == a->bump : to == a->bump;

    if (!a->lists)
        return a->n;
    return a->n + (size_t)((a->coll == HX_COLL_ALLTOALLV ? from + 2 * to : to) % 3) + (size_t)odd;
}

static int has_list(enum hx_coll coll)
{
    return coll == HX_COLL_REDUCE_SCATTER || coll == HX_COLL_ALLGATHER || coll == HX_COLL_GATHER || coll == HX_COLL_SCATTER;
}

/* The block that rank `from` gives `to` stands at *at; what stands there. */
static void block_put(const struct args *a, unsigned char **at, int from, int to, size_t length)
{
    size_t e = hx_dtype_bytes(a->dtype);

    for (size_t i = 0; i < length; i++, *at += e)
        put(*at, a->dtype, value(a, from, to, i, length));
}

static void input_fill(const struct args *a, unsigned char *in, unsigned char *out)
{
    switch (a->coll) {
    case HX_COLL_BCAST: block_put(a, &out, rank, 0, a->n); break;
    case HX_COLL_ALLGATHER:
    case HX_COLL_GATHER: block_put(a, &in, rank, rank, length_of(a, rank, rank)); break;
    case HX_COLL_REDUCE_SCATTER:
    case HX_COLL_SCATTER:
    case HX_COLL_ALLTOALL:
    case HX_COLL_ALLTOALLV:
        for (int r = 0; r < size; r++)
            block_put(a, &in, rank, r, length_of(a, rank, r));
        break;
    case HX_COLL_BARRIER: break;
    default: block_put(a, &in, rank, 0, a->n);
    }
}

static size_t differs(const struct args *a, const unsigned char *out, size_t i, double v)
{
    unsigned char right[8];
    size_t e = hx_dtype_bytes(a->dtype);

    put(right, a->dtype, v);
    return memcmp(right, out + i * e, e) != 0;
}

/* How many elements of this rank's result differ from the right result of its own call? */
static size_t output_differs(const struct args *a, const unsigned char *out)
{
    size_t bad = 0, e = hx_dtype_bytes(a->dtype), mine = length_of(a, a->root, rank);
    int n = a->coll == HX_COLL_SCAN ? rank + 1 : a->coll == HX_COLL_EXSCAN ? rank : size;

    switch (a->coll) {
    case HX_COLL_BARRIER: return a->party != 0; /* somebody has entered none */
    case HX_COLL_BCAST:
        for (size_t i = 0; i < a->n; i++)
            bad += differs(a, out, i, value(a, a->root, 0, i, a->n));
        return bad;
    case HX_COLL_ALLREDUCE:
    case HX_COLL_SCAN:
    case HX_COLL_EXSCAN:
    case HX_COLL_REDUCE:
        for (size_t i = 0; i < a->n && n && (a->coll != HX_COLL_REDUCE || rank == a->root); i++)
            bad += differs(a, out, i, folded(a, n, 0, i, a->n));
        return bad;
    case HX_COLL_REDUCE_SCATTER:
        for (size_t i = 0; i < mine; i++)
            bad += differs(a, out, i, folded(a, size, rank, i, mine));
        return bad;
    case HX_COLL_SCATTER:
        for (size_t i = 0; i < mine; i++)
            bad += differs(a, out, i, value(a, a->root, rank, i, mine));
        return bad;
    default:
        for (int r = 0; r < size && (a->coll != HX_COLL_GATHER || rank == a->root); r++) {
            int to = hx_coll_has_pairs(a->coll) ? rank : r;
            size_t length = length_of(a, r, to);
            for (size_t i = 0; i < length; i++)
                bad += differs(a, out, i, value(a, r, to, i, length));
            out += length * e;
        }
        return bad;
    }
}

#define FORMS(name, ...)                                                 \
    (a->mode == HX_BLOCKING      ? hx_##name(__VA_ARGS__, comm)          \
     : a->mode == HX_NONBLOCKING ? hx_i##name(__VA_ARGS__, comm, request) \
                                 : hx_##name##_init(__VA_ARGS__, comm, request))

struct lists { /* of a call, as long as it is under way */
    size_t sent[RANKS], sent_at[RANKS], got[RANKS], got_at[RANKS];
};

static void lists_fill(const struct args *a, struct lists *l)
{
    size_t sent = 0, got = 0;

    for (int r = 0; r < size; r++) {
        l->sent[r] = length_of(a, rank, r);
        l->got[r] = a->coll == HX_COLL_ALLTOALLV ? length_of(a, r, rank) : l->sent[r];
        l->sent_at[r] = sent;
        l->got_at[r] = got;
        sent += l->sent[r];
        got += l->got[r];
    }
}

static hx_status_t call(const struct args *a, hx_comm_t *comm, struct lists *l, unsigned char *in, unsigned char *out, hx_request_t **request)
{
    lists_fill(a, l);
    switch (a->coll) {
    case HX_COLL_ALLREDUCE: return FORMS(allreduce, in, out, a->n, a->dtype, a->op);
    case HX_COLL_REDUCE_SCATTER:
        return a->lists ? FORMS(reduce_scatter, in, out, l->sent, a->dtype, a->op)
                        : FORMS(reduce_scatter_block, in, out, a->n, a->dtype, a->op);
    case HX_COLL_ALLGATHER:
        return a->lists ? FORMS(allgatherv, in, l->sent[rank], out, l->sent, NULL, a->dtype) : FORMS(allgather, in, out, a->n, a->dtype);
    case HX_COLL_BCAST: return FORMS(bcast, out, a->n, a->dtype, a->root);
    case HX_COLL_REDUCE: return FORMS(reduce, in, out, a->n, a->dtype, a->op, a->root);
    case HX_COLL_BARRIER:
        return a->mode == HX_BLOCKING ? hx_barrier(comm) : a->mode == HX_NONBLOCKING ? hx_ibarrier(comm, request) : hx_barrier_init(comm, request);
    case HX_COLL_GATHER:
        return a->lists ? FORMS(gatherv, in, l->sent[rank], out, l->sent, NULL, a->dtype, a->root)
                        : FORMS(gather, in, out, a->n, a->dtype, a->root);
    case HX_COLL_SCATTER:
        return a->lists ? FORMS(scatterv, in, l->sent, NULL, out, l->sent[rank], a->dtype, a->root)
                        : FORMS(scatter, in, out, a->n, a->dtype, a->root);
    case HX_COLL_SCAN: return FORMS(scan, in, out, a->n, a->dtype, a->op);
    case HX_COLL_EXSCAN: return FORMS(exscan, in, out, a->n, a->dtype, a->op);
    case HX_COLL_ALLTOALL: return FORMS(alltoall, in, out, a->n, a->dtype);
    default: return FORMS(alltoallv, in, l->sent, l->sent_at, out, l->got, l->got_at, a->dtype);
    }
}

/* A call under way, with buffers of its own. */
struct made {
    struct args args;
    struct lists lists;
    unsigned char *in, *out;
    hx_request_t *request;
    hx_status_t status;
};

static void call_begin(struct made *m, hx_comm_t *comm, const struct args *a, int which)
{
    m->args = *a;
    m->in = in_buffer + (size_t)which * BUFFER;
    m->out = out_buffer + (size_t)which * BUFFER;
    m->request = NULL;
    memset(m->out, 0xa5, (hx_coll_has_blocks(a->coll) ? (size_t)size * (a->n + 4) : a->n) * 8);
    input_fill(a, m->in, m->out);
    m->status = call(a, comm, &m->lists, m->in, m->out, &m->request);
    if (m->status == HX_SUCCESS && a->mode == HX_PERSISTENT)
        m->status = hx_start(m->request);
}

/* Returns whether the call has succeeded with wrong data. */
static int call_end(struct made *m)
{
    size_t bad;

    if (m->request && m->status == HX_SUCCESS)
        m->status = hx_wait(m->request);
    if (m->request && m->args.mode == HX_PERSISTENT)
        hx_request_free(m->request);
    succeeded += m->status == HX_SUCCESS;
    mismatched += m->status == HX_ERR_MISMATCH;
    timed_out += m->status == HX_ERR_TIMEOUT;
    otherwise += m->status != HX_SUCCESS && m->status != HX_ERR_MISMATCH && m->status != HX_ERR_TIMEOUT;
    if (m->status != HX_SUCCESS || (bad = output_differs(&m->args, m->out)) == 0)
        return 0;
    if (wrong++ < REPORTS)
        fprintf(stderr, "unlike: rank %d, %s: %s (party %d, call %d) succeeds with %zu wrong elements\n", rank, doing,
                hx_coll_name(m->args.coll), m->args.party, m->args.number, bad);
    return 1;
}

/* ---- what the odd ones do -------------------------------------------------------------------------------------- */

/* The parts of other functions, and calls that look like them. */
enum internal { SPLIT, DUP, ALLOC, COUNTS_GATHERED, COUNTS_SCATTERED, INTERNALS };

static struct args imitation(enum internal which, struct args a)
{
    a.lists = 0;
    a.mode = HX_BLOCKING;
    a.coll = which == ALLOC ? HX_COLL_ALLREDUCE : which == COUNTS_SCATTERED ? HX_COLL_BCAST : HX_COLL_ALLGATHER;
    a.dtype = which == COUNTS_GATHERED || which == COUNTS_SCATTERED ? HX_INT64 : HX_INT32;
    a.op = HX_SUM;
    a.n = which == ALLOC || which == COUNTS_GATHERED ? 1 : which == COUNTS_SCATTERED ? (size_t)size : 2;
    return a;
}

static int has_imitation(enum hx_coll coll)
{
    return coll == HX_COLL_ALLREDUCE || coll == HX_COLL_ALLGATHER || coll == HX_COLL_BCAST;
}

/* Only this rank makes the call, so it must not succeed, unless this rank only sends. */
static void internal_do(enum internal which, hx_comm_t *comm)
{
    static size_t counts[RANKS];
    hx_comm_t *out = NULL;
    void *memory = NULL;
    hx_status_t status;

    for (int r = 0; r < size; r++)
        counts[r] = 3;
    status = which == SPLIT   ? hx_comm_split(comm, 0, 0, &out)
             : which == DUP   ? hx_comm_dup(comm, &out)
             : which == ALLOC ? hx_alloc(comm, 100, &memory)
             : which == COUNTS_GATHERED
                 ? hx_gatherv(in_buffer, 3, out_buffer, counts, NULL, HX_INT32, rank, comm) /* this one would get something */
                 : hx_scatterv(in_buffer, counts, NULL, out_buffer, 3, HX_INT32, (rank + 1) % size, comm);
    if (status == HX_SUCCESS && wrong++ < REPORTS)
        fprintf(stderr, "unlike: rank %d, %s: number %d of what has parts succeeds alone\n", rank, doing, (int)which);
}

/* Returns whether it is really a different call. */
static int alter(enum oddity oddity, struct args *a)
{
    static const hx_dtype_t alike[] = {[HX_INT32] = HX_FLOAT32, [HX_UINT32] = HX_INT32, [HX_FLOAT32] = HX_UINT32, [HX_INT64] = HX_FLOAT64, [HX_FLOAT64] = HX_INT64};
    int reduces = hx_coll_reduces(a->coll);

    a->party = 1;
    switch (oddity) {
    case COLLECTIVE:
        a->coll = (enum hx_coll)(((int)a->coll + 1 + (int)draw(HX_COLL_COUNT - 1)) % HX_COLL_COUNT);
        a->lists = a->coll == HX_COLL_ALLTOALLV || (a->lists && has_list(a->coll));
        if (hx_coll_has_blocks(a->coll) && a->n > (size_t)size)
            a->n /= (size_t)size;
        a->root = 0;
        return 1;
    case COUNT: a->n = draw(2) ? a->n * 2 : a->n / 2; return a->coll != HX_COLL_BARRIER && a->coll != HX_COLL_ALLTOALLV && a->n;
    case COUNT_NEAR: a->n++; return a->coll != HX_COLL_BARRIER && a->coll != HX_COLL_ALLTOALLV;
    case EMPTY: a->n = 0; return !a->lists && a->coll != HX_COLL_BARRIER;
    case TYPE_ALIKE: a->dtype = alike[a->dtype]; return a->coll != HX_COLL_BARRIER;
    case TYPE_LONGER: a->dtype = hx_dtype_bytes(a->dtype) == 4 ? HX_INT64 : HX_INT32; return a->coll != HX_COLL_BARRIER;
    case OP: a->op = a->op == HX_SUM ? HX_MAX : HX_SUM; return reduces;
    case OWN_OP: a->op = a->op == own_last ? own_sum : own_last; return reduces;
    case ROOT: a->root = (a->root + 1 + (int)draw((uint64_t)size - 1)) % size; return hx_coll_is_rooted(a->coll);
    case COUNTS:
        a->bump = (int)draw((uint64_t)size);
        if (a->bump == rank && a->coll == HX_COLL_ALLTOALLV) /* what it gives itself it knows */
            a->bump = (rank + 1) % size;
        a->party = a->coll == HX_COLL_REDUCE_SCATTER || a->coll == HX_COLL_ALLGATHER; /* else it matters for some only */
        return a->lists;
    case SKIPS:
    case SWAPS: a->party = 0; return 1; /* the same calls; where one blocks and the other does not, their order is free */
    case BLOCKS: a->mode = a->mode == HX_BLOCKING ? HX_NONBLOCKING : HX_BLOCKING; return 1;
    default: return 1;
    }
}

struct trial {
    const struct hx_candidate *candidate;
    enum oddity oddity;
    struct args base;
    uint64_t odd; /* ranks, a bit each */
    unsigned delay[RANKS]; /* µs */
};

/* ---- plans ----------------------------------------------------------------------------------------------------- */

/* Every plan of this shape, by the tables; those that show an algorithm for the first time come first. */
static void candidates_find(void)
{
    struct hx_candidate *found = malloc(HX_MAX_CANDIDATES * sizeof(*found));
    const char *fallback;
    int seen = 0;

    if (!found || !(candidates = malloc(HX_COLL_COUNT * HX_MAX_CANDIDATES * sizeof(*candidates))))
        exit(3);
    for (int c = 0; c < HX_COLL_COUNT; c++) {
        int n = hx_planner_candidates(world->members.planner, (enum hx_coll)c, 0, hx_traits_of(HX_INT32).folding, 1 << 20, found, &fallback);
        for (int i = 0; i < n; i++, ncandidates++) {
            const struct hx_candidate *f = &found[i];
            int fresh = 1, flat = 0, first = 0, inter = 0, last = 0;
            for (int k = 0; k < ncandidates; k++) {
                const struct hx_candidate *g = &candidates[k];
                if (g->coll != f->coll)
                    continue;
                flat |= g->flat == f->flat && f->flat;
                first |= g->first == f->first;
                inter |= g->inter == f->inter;
                last |= g->last == f->last;
            }
            fresh = f->flat ? !flat : !(first && inter && last);
            candidates[ncandidates] = *f;
            if (fresh) {
                struct hx_candidate swap = candidates[seen];
                candidates[seen++] = *f;
                candidates[ncandidates] = swap;
            }
        }
    }
    free(found);
}

/* The communicator's plans of this collective are this one from now on, whatever is folded. */
static void plan_force(hx_comm_t *comm, const struct hx_candidate *candidate)
{
    static struct hx_table_entry entries[2 * HX_NUMBERS_COUNT]; /* of one communicator at a time */
    int n = 0;

    for (int ordered = 0; ordered < 2; ordered++)
        for (int numbers = 0; numbers < HX_NUMBERS_COUNT; numbers++) {
            struct hx_traits traits = {.folding = ordered ? HX_FOLDS_IN_ORDER : HX_FOLDS_ALIKE, .numbers = (enum hx_numbers)numbers};
            struct hx_candidate wanted = *candidate;
            struct hx_table_entry *entry = &entries[n++];
            hx_table_key(entry, candidate->coll, traits, comm->members.shape, comm->members.planner->provider);
            entry->to_bytes = UINT64_MAX;
            wanted.ordered = entry->ordered;
            hx_candidate_name(&wanted, entry->plan);
        }
    hx_planner_use_table(comm->members.planner, entries, n);
}

/* Has the engine run the plan of this name? In a table it may have lanes and channels, and so on, after it. */
static int engine_has(const struct hx_engine *engine, const char *name)
{
    size_t length = strcspn(name, ")") + 1;

    for (int s = 0; engine && s < HX_BOUND_SETS; s++)
        for (int w = 0; w < HX_BOUND_WAYS; w++)
            if (engine->cache[s][w] && !strncmp(engine->cache[s][w]->plan->name, name, length))
                return 1;
    return 0;
}

/* Tell which algorithms have run, if it was the plan that is forced: some operations and lengths have none like it. */
static void covered_tell(hx_comm_t *comm, const struct hx_candidate *candidate)
{
    const struct hx_algorithm *parts[] = {candidate->flat, candidate->first, candidate->inter, candidate->last};
    char name[HX_CANDIDATE_NAME_BYTES];
    int ran;

    hx_candidate_name(candidate, name);
    ran = engine_has(&comm->engine, name);
    for (int i = 0; i < HX_CONCURRENT; i++)
        ran |= engine_has(comm->others[i], name);
    for (int i = 0; i < 4 && ran && rank == 0; i++)
        if (parts[i])
            printf("covered %s %s\n", hx_coll_name(parts[i]->coll), parts[i]->name);
}

/* ---- trials ---------------------------------------------------------------------------------------------------- */

static void trial_draw(struct trial *t, long number, int all)
{
    static const hx_dtype_t types[] = {HX_INT32, HX_UINT32, HX_FLOAT32, HX_INT64, HX_FLOAT64};
    struct args *a = &t->base;
    size_t bytes = sizes[draw(SIZES)];

    t->oddity = (enum oddity)draw(ODDITIES_COUNT);
    t->candidate = &candidates[number % ncandidates];
    if (all) {
        t->oddity = (enum oddity)(number / ncandidates % ODDITIES_COUNT);
        bytes = sizes[number / ncandidates / ODDITIES_COUNT % SIZES];
    }
    *a = (struct args){.coll = t->candidate->coll, .dtype = types[draw(5)], .root = (int)draw((uint64_t)size), .number = 1, .bump = -1};
    a->lists = a->coll == HX_COLL_ALLTOALLV || (has_list(a->coll) && (t->oddity == COUNTS || draw(4) == 0));
    a->mode = (enum hx_mode)(draw(5) > 1 ? 0 : 1 + draw(2));
    a->op = draw(4) ? HX_SUM : draw(2) ? HX_MAX : own_last;
    if (number < ncandidates) { /* that any plan serves */
        a->dtype = HX_INT32;
        a->op = HX_SUM;
    }
    a->root = hx_coll_is_rooted(a->coll) ? a->root : 0;
    a->n = bytes / hx_dtype_bytes(a->dtype) / (hx_coll_has_blocks(a->coll) ? (size_t)size : 1);
    a->n += a->n == 0;
    t->odd = draw(3) ? UINT64_C(1) << draw((uint64_t)size) : 1 + draw((UINT64_C(1) << size) - 2);
    for (int r = 0; r < size; r++)
        t->delay[r] = draw(3) ? 0 : (unsigned)draw(1500);
}

/* Start a, then b; complete them in this order. */
static void both_start(hx_comm_t *comm, struct args *a, int a_is_second, struct args *b, int b_is_second)
{
    struct made made[2];

    a->mode = b->mode = HX_NONBLOCKING;
    call_begin(&made[0], comm, a, a_is_second);
    call_begin(&made[1], comm, b, b_is_second);
    call_end(&made[0]);
    call_end(&made[1]);
}

static void call_make(hx_comm_t *comm, const struct args *a, int is_second)
{
    struct made made;

    call_begin(&made, comm, a, is_second);
    call_end(&made);
}

static void odd_calls(struct trial *t, hx_comm_t *comm, const struct args *second, enum internal internal)
{
    struct args a = t->base;
    int known = alter(t->oddity, &a);

    if (t->oddity == INTERNAL) {
        internal_do(internal, comm);
        return;
    }
    if (!known) { /* of this collective that is no difference */
        a = t->base;
        alter(a.coll == HX_COLL_BARRIER || a.coll == HX_COLL_ALLTOALLV ? COLLECTIVE : COUNT_NEAR, &a);
    }
    if (t->oddity == STARTS) { /* the second of two that are started */
        struct args other = *second;
        both_start(comm, &other, 1, &a, 0);
        return;
    }
    if (t->oddity != SKIPS && t->oddity != SWAPS)
        call_make(comm, &a, 0);
    call_make(comm, second, 1);
    if (t->oddity == SWAPS)
        call_make(comm, &a, 0);
}

static void even_calls(struct trial *t, hx_comm_t *comm, const struct args *second)
{
    if (t->oddity == STARTS) {
        struct args a = t->base, b = *second;
        both_start(comm, &a, 0, &b, 1);
        return;
    }
    call_make(comm, &t->base, 0);
    call_make(comm, second, 1);
}

static void comm_end(hx_comm_t *comm)
{
    hx_lock();
    if (!comm->members.failed)
        hx_comm_break(comm, hx_fail(HX_ERR_STATE, "this trial is over"));
    hx_unlock();
    hx_comm_free(comm);
}

static void trial_run(uint64_t seed, long number, int all)
{
    struct args second = {.coll = HX_COLL_ALLREDUCE, .n = 3, .dtype = HX_INT64, .op = HX_SUM, .number = 2, .bump = -1}, first;
    struct trial t;
    struct made made;
    enum internal internal;
    hx_comm_t *comm;
    char name[HX_CANDIDATE_NAME_BYTES];
    double begin = hx_clock_awake();
    long before = timed_out;

    state = seed * 1000003 + (uint64_t)number;
    trial_draw(&t, number, all);
    do
        internal = (enum internal)draw(INTERNALS);
    while (has_imitation(t.base.coll) && imitation(internal, t.base).coll != t.base.coll);
    hx_candidate_name(t.candidate, name);
    snprintf(doing, sizeof(doing), "trial %" PRIu64 " %ld: %s %s%s of %zu %s, mode %d, odd ones %#" PRIx64 ": %s", seed, number,
             hx_coll_name(t.base.coll), name, t.base.lists ? " with counts" : "", t.base.n, hx_dtype_name(t.base.dtype), (int)t.base.mode,
             t.odd, oddity_names[t.oddity]);
    if (getenv("UNLIKE_TELL") && rank == 0)
        fprintf(stderr, "%s\n", doing);
    must(hx_comm_dup(world, &comm), "hx_comm_dup");
    plan_force(comm, t.candidate);
    first = t.base;
    first.number = 0;
    call_begin(&made, comm, &first, 0);
    call_end(&made);
    must(made.status, "a call that all make");
    must(hx_barrier(world), "hx_barrier"); /* else some may still be in it when others find that the next one differs */
    covered_tell(comm, t.candidate);
    if (t.oddity == INTERNAL)
        t.base = imitation(internal, t.base);
    world->world->process.env->timeout = TRIAL_SECONDS;
    usleep(t.delay[rank]);
    if (t.odd >> rank & 1)
        odd_calls(&t, comm, &second, internal);
    else
        even_calls(&t, comm, &second);
    world->world->process.env->timeout = CALM_SECONDS;
    comm_end(comm);
    spent[t.oddity].trials++;
    spent[t.oddity].timed_out += timed_out > before;
    spent[t.oddity].seconds += hx_clock_awake() - begin;
}

static void spent_tell(void)
{
    for (int i = 0; i < ODDITIES_COUNT && rank == 0; i++)
        printf("spent %s %d trials %.3f s, timed out in %d\n", oddity_names[i], spent[i].trials, spent[i].seconds, spent[i].timed_out);
}

/* ---- groups, the end ------------------------------------------------------------------------------------------- */

/* This rank asks for a group of these. Returns its status; if it is HX_SUCCESS, a sum in the group is looked at. */
static hx_status_t group_try(const int *ranks, int n)
{
    hx_comm_t *comm;
    hx_status_t status = hx_comm_group(world, ranks, n, &comm);
    int64_t one = 1, sum = 0;

    if (status != HX_SUCCESS)
        return status;
    if (hx_allreduce(&one, &sum, 1, HX_INT64, HX_SUM, comm) != HX_SUCCESS || sum != n) {
        fprintf(stderr, "unlike: rank %d: a group of %d ranks counts %d\n", rank, n, (int)sum);
        wrong++;
    }
    hx_comm_free(comm);
    return HX_SUCCESS;
}

static void group_expect(const char *what, int does, int succeeds, const int *ranks, int n)
{
    hx_status_t status = does ? group_try(ranks, n) : HX_SUCCESS;

    if (does && ((status == HX_SUCCESS) != succeeds || status == HX_ERR_TIMEOUT)) { /* nobody waits for a member that has failed */
        fprintf(stderr, "unlike: rank %d, %s: status %d: %s\n", rank, what, (int)status, hx_error_detail(world));
        wrong++;
    }
    if (does && !succeeds)
        printf("rank %d, %s: status %d: %s\n", rank, what, (int)status, hx_error_detail(world));
    must(hx_barrier(world), what); /* the parent goes on */
}

/* At least 6 ranks. */
static void groups_run(void)
{
    static const int two[] = {0, 1}, three[] = {0, 1, 2}, ordered[] = {3, 4}, turned[] = {4, 3}, others[] = {2, 3, 5}, across[] = {0, 5, 4};

    group_expect("lists of two and of three", rank < 3, 0, rank == 0 ? two : three, rank == 0 ? 2 : 3);
    group_expect("other ranks", rank == 2 || rank == 3 || rank == 5, 1, others, 3);
    group_expect("another order", rank == 3 || rank == 4, 0, rank == 3 ? ordered : turned, 2);
    group_expect("ranks of both", rank == 0 || rank == 4 || rank == 5, 1, across, 3);
    group_expect("the same again", rank < 2, 0, two, 2);
}

/* Rank 0 has raised its flags anew, in the barrier two calls on, when the others come to the broadcast: of `odd` elements, or one. */
static void late_run(size_t odd)
{
    int32_t numbers[2] = {-1, -1}, more = 0;
    hx_status_t status;
    hx_comm_t *comm;

    must(hx_comm_dup(world, &comm), "hx_comm_dup");
    if (rank == 0)
        numbers[0] = numbers[1] = (int32_t)odd;
    else
        usleep(200000);
    status = hx_bcast(numbers, rank == 0 ? odd : 1, HX_INT32, 0, comm);
    if (rank && (odd == 1 ? status != HX_SUCCESS || numbers[0] != 1 : status == HX_SUCCESS)) {
        fprintf(stderr, "unlike: rank %d: 1 of %zu numbers comes late: status %d: %s\n", rank, odd, (int)status, hx_error_detail(comm));
        wrong++;
    }
    if (hx_bcast(&more, 1, HX_INT32, 0, comm) == HX_SUCCESS) /* one that has failed fails again */
        status = hx_barrier(comm);
    hx_comm_free(comm);
}

/* Ranks 0 and 1 both take themselves for the root of a broadcast, and succeed. What rank 0 has sent nobody has received: it is
 * dropped when match ids come again, and no later broadcast takes it for its own. */
static void stale_run(void)
{
    hx_status_t status = HX_SUCCESS;
    int32_t number;
    int call;

    for (call = 1; status == HX_SUCCESS && call <= 200; call++) {
        number = rank == 0 || call == 1 ? call : -1;
        status = hx_bcast(&number, 1, HX_INT32, call == 1 ? rank : 0, world);
        if (status == HX_SUCCESS && number != call) {
            fprintf(stderr, "unlike: rank %d: broadcast %d brings what was sent in %d\n", rank, call, (int)number);
            wrong++;
        }
    }
    printf("rank %d ends with broadcast %d: %s\n", rank, call - 1, hx_error_detail(world));
    if (status != HX_SUCCESS) {
        fprintf(stderr, "unlike: rank %d: what is left of a broadcast ends a later one: status %d\n", rank, (int)status);
        wrong++;
    }
}

/* One rank ends Hierax, the others wait for it. */
static void finalize_run(void)
{
    int64_t one = 1, sum = 0;
    hx_status_t status;

    world->world->process.env->timeout = 10;
    status = rank == 0 ? hx_finalize() : rank % 2 ? hx_barrier(world) : hx_allreduce(&one, &sum, 1, HX_INT64, HX_SUM, world);
    printf("rank %d: %s\n", rank, rank ? hx_error_detail(world) : hx_error_detail(NULL));
    if (status == HX_SUCCESS) {
        fprintf(stderr, "unlike: rank %d: %s succeeds alone\n", rank, rank ? "a call" : "hx_finalize");
        wrong++;
    }
}

int main(int argc, char **argv)
{
    int all = argc > 4 && !strcmp(argv[4], "all");
    int64_t counts[5], sums[5];

    must(hx_init(&world), "hx_init");
    rank = hx_rank(world);
    size = hx_size(world);
    in_buffer = malloc(2 * (size_t)BUFFER);
    out_buffer = malloc(2 * (size_t)BUFFER);
    if (!in_buffer || !out_buffer || size > RANKS)
        return 3;
    must(hx_op_create(sum_fn, 1, NULL, &own_sum), "hx_op_create");
    must(hx_op_create(last_fn, 0, NULL, &own_last), "hx_op_create");
    candidates_find();
    world->world->process.env->timeout = CALM_SECONDS;
    if (argc > 1 && !strcmp(argv[1], "list")) {
        if (rank == 0)
            printf("%ld\n", (long)ncandidates * ODDITIES_COUNT * SIZES);
    } else if (argc == 2 && !strcmp(argv[1], "groups")) {
        groups_run();
    } else if (argc == 2 && !strcmp(argv[1], "late")) {
        late_run(1);
        late_run(2);
    } else if (argc == 2 && (!strcmp(argv[1], "finalize") || !strcmp(argv[1], "stale"))) {
        if (argv[1][0] == 's')
            stale_run();
        else
            finalize_run();
        if (hx_world)
            hx_finalize();
        return wrong != 0;
    } else if (argc > 3) {
        for (long i = atol(argv[2]); i < atol(argv[3]); i++)
            trial_run(strtoull(argv[1], NULL, 0), i, all);
        counts[0] = wrong;
        counts[1] = succeeded;
        counts[2] = mismatched;
        counts[3] = timed_out;
        counts[4] = otherwise;
        must(hx_allreduce(counts, sums, 5, HX_INT64, HX_SUM, world), "hx_allreduce");
        if (rank == 0)
            printf("trials %ld plans %d: calls that succeeded %" PRId64 ", HX_ERR_MISMATCH %" PRId64 ", HX_ERR_TIMEOUT %" PRId64 ", others %" PRId64
                   ", wrong %" PRId64 "\n", atol(argv[3]) - atol(argv[2]), ncandidates, sums[1], sums[2], sums[3], sums[4], sums[0]);
        spent_tell();
    }
    must(hx_finalize(), "hx_finalize");
    free(candidates);
    free(in_buffer);
    free(out_buffer);
    return wrong != 0;
}
