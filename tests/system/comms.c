/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One rank of a job that makes communicators, and calls that do not block, over and over.
 * usage: comms SEED OPERATIONS
 *
 * Every rank draws the same operations from the seed: it splits, duplicates and frees communicators, forms groups, and calls
 * collectives on any of them, blocking, non-blocking and persistent, in place or not, of numbers or of a type and an operation of its
 * own; each result is compared with what the members' inputs say.
 */
#include <hierax.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMMS = 12, CALLS = 24, PERSISTENT = 10, MOST = 20000 };

struct group { /* the same on all ranks, members or not */
    int open, size, *ranks; /* of the job */
    hx_comm_t *comm;        /* NULL: this rank is no member */
};

enum what { BARRIER, ALLREDUCE, REDUCE_SCATTER, ALLGATHER, BCAST, REDUCE, GATHER, SCATTER, SCAN, EXSCAN, ALLTOALL, REDUCE_SCATTERV, ALLGATHERV,
            ALLTOALLV, GATHERV, SCATTERV, WHATS };

struct call {
    enum what what;
    int group, root, in_place, stamp, busy; /* busy: started and not waited for, by the group's members */
    int allocated;                          /* its buffers are of hx_alloc */
    int ordered, placed;                    /* of a type of our own, reduced by compose; displs hold at every start */
    size_t count, counts[64], displs[64]; /* of the group's ranks; of ALLTOALLV from and to this one, alike */
    int64_t *in, *out;
    hx_request_t *request; /* NULL: not under way here */
};

static uint64_t state;
static int size, rank, stamps;
static struct group groups[COMMS];
static struct call calls[CALLS], persistent[PERSISTENT];
static const char *doing = "start";
static hx_dtype_t map_type;
static hx_op_t compose;

/* Drawn alike by all ranks: splitmix64. */
static uint64_t draw(uint64_t n)
{
    uint64_t z = (state += 0x9e3779b97f4a7c15u);

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (z ^ z >> 31) % n;
}

static void fail(const hx_comm_t *comm, const char *what)
{
    fprintf(stderr, "rank %d, %s: %s: %s\n", rank, doing, what, hx_error_detail(comm));
    exit(1);
}

static void check(hx_status_t status, const hx_comm_t *comm)
{
    if (status != HX_SUCCESS)
        fail(comm, hx_strerror(status));
}

static int64_t contribution(int job_rank, int stamp, size_t i)
{
    return (int64_t)(i * 31 + 7 + (size_t)stamp * 1001) * (job_rank + 1) + job_rank;
}

/* The low half a and the high half b of a number are the map x -> a x + b; composing them is not commutative. */
static int64_t composed(int64_t left, int64_t right)
{
    uint32_t a = (uint32_t)left, b = (uint32_t)(left >> 32), ra = (uint32_t)right, rb = (uint32_t)(right >> 32);

    return (int64_t)((uint64_t)(a * rb + b) << 32 | a * ra);
}

static void compose_all(const void *left, const void *right, void *result, size_t count, hx_dtype_t dtype, void *ctx)
{
    const int64_t *restrict l = left, *restrict r = right;
    int64_t *restrict out = result;

    (void)dtype;
    (void)ctx;
    for (size_t i = 0; i < count; i++)
        out[i] = composed(l[i], r[i]);
}

static hx_dtype_t type_of(const struct call *call)
{
    return call->ordered ? map_type : HX_INT64;
}

static hx_op_t op_of(const struct call *call)
{
    return call->ordered ? compose : HX_SUM;
}

/* Elements of the ranks before me. */
static size_t before(const struct call *call, int me)
{
    size_t n = 0;

    for (int r = 0; r < me; r++)
        n += call->counts[r];
    return n;
}

/* Where their blocks stand, where all of them stand: every other time in reverse order, and apart. */
static const size_t *displs_of(const struct call *call)
{
    return call->placed || call->stamp % 2 ? call->displs : NULL;
}

static size_t place(const struct call *call, int r)
{
    return displs_of(call) ? call->displs[r] : before(call, r);
}

/* What of element i of a call's result is right. me: this rank in the group. */
static int64_t wanted(const struct call *call, int me, size_t i)
{
    const struct group *g = &groups[call->group];
    int contributors = call->what == SCAN ? me + 1 : call->what == EXSCAN ? me : g->size;
    int64_t all;

    switch (call->what) {
    case ALLGATHER:
    case GATHER: return contribution(g->ranks[i / call->count], call->stamp, i % call->count);
    case ALLTOALL: return contribution(g->ranks[i / call->count], call->stamp, (size_t)me * call->count + i % call->count);
    case BCAST: return contribution(g->ranks[call->root], call->stamp, i);
    case SCATTER: return contribution(g->ranks[call->root], call->stamp, (size_t)me * call->count + i);
    case SCATTERV: return contribution(g->ranks[call->root], call->stamp, place(call, me) + i);
    case REDUCE_SCATTER: i += (size_t)me * call->count; break;
    case REDUCE_SCATTERV: i += before(call, me); break;
    default: break;
    }
    all = contribution(g->ranks[0], call->stamp, i);
    for (int r = 1; r < contributors; r++)
        all = call->ordered ? composed(all, contribution(g->ranks[r], call->stamp, i)) : all + contribution(g->ranks[r], call->stamp, i);
    return all;
}

static size_t in_count(const struct call *call)
{
    int blocks = call->what == REDUCE_SCATTER || call->what == SCATTER || call->what == ALLTOALL;

    if (call->what == REDUCE_SCATTERV)
        return before(call, groups[call->group].size);
    if (call->what == ALLTOALLV)
        return 0; /* filled block by block */
    if (call->what == ALLGATHERV || call->what == GATHERV)
        return call->counts[hx_rank(groups[call->group].comm)];
    if (call->what == SCATTERV) /* the gaps too */
        return (size_t)MOST;
    return blocks ? call->count * (size_t)groups[call->group].size : call->count;
}

static size_t out_count(const struct call *call, int me)
{
    switch (call->what) {
    case BARRIER:
    case ALLTOALLV:
    case ALLGATHERV: return 0; /* compared block by block */
    case GATHERV: return 0;
    case SCATTERV:
    case REDUCE_SCATTERV: return call->counts[me];
    case ALLTOALL:
    case ALLGATHER: return call->count * (size_t)groups[call->group].size;
    case GATHER: return me == call->root ? call->count * (size_t)groups[call->group].size : 0;
    case REDUCE: return me == call->root ? call->count : 0;
    case EXSCAN: return me ? call->count : 0;
    default: return call->count;
    }
}

/* Only the root may be in place. */
static int is_rooted(const struct call *call)
{
    return call->what == REDUCE || call->what == GATHER || call->what == SCATTER || call->what == GATHERV || call->what == SCATTERV;
}

static int scatters(const struct call *call)
{
    return call->what == SCATTER || call->what == SCATTERV;
}

/* Fill the buffers, in place as the call wants it. Returns what to pass as in and out. */
static void prepare(struct call *call, const void **in, void **out)
{
    const struct group *g = &groups[call->group];
    int me = hx_rank(g->comm), one = call->in_place && call->what != BCAST && call->what != BARRIER;
    size_t n = in_count(call), at = call->what == ALLGATHER || call->what == GATHER ? (size_t)me * n : 0;

    if (call->what == ALLGATHERV || call->what == GATHERV)
        at = place(call, me);
    for (size_t i = 0; i < (size_t)MOST; i++)
        call->in[i] = call->out[i] = -1;
    one = one && (!is_rooted(call) || me == call->root);
    for (size_t i = 0; i < n; i++)
        (one && !scatters(call) ? call->out + at : call->in)[i] = contribution(rank, call->stamp, i);
    for (int r = 0; call->what == ALLTOALLV && r < g->size; r++)
        for (size_t i = 0; i < call->counts[r]; i++)
            (one ? call->out : call->in)[call->displs[r] + i] = contribution(rank, call->stamp, (size_t)r * MOST + i);
    *in = one && !scatters(call) ? HX_IN_PLACE : call->in;
    *out = one && scatters(call) ? HX_IN_PLACE : call->out;
    if (call->what == BCAST)
        for (size_t i = 0; i < n && me == call->root; i++)
            call->out[i] = contribution(rank, call->stamp, i);
}

static void gathered_compare(const struct call *call)
{
    const struct group *g = &groups[call->group];

    for (int r = 0; r < g->size; r++)
        for (size_t i = 0; i < call->counts[r]; i++)
            if (call->out[place(call, r) + i] != contribution(g->ranks[r], call->stamp, i)) {
                fprintf(stderr, "rank %d: %s in group %d of %d, count %zu, in place %d: element %zu of rank %d is wrong\n", rank,
                        call->what == GATHERV ? "gatherv" : "allgatherv", call->group, g->size, call->count, call->in_place, i, r);
                exit(1);
            }
}

static void exchanged_compare(const struct call *call)
{
    const struct group *g = &groups[call->group];
    size_t me = (size_t)hx_rank(g->comm);

    for (int r = 0; r < g->size; r++)
        for (size_t i = 0; i < call->counts[r]; i++)
            if (call->out[call->displs[r] + i] != contribution(g->ranks[r], call->stamp, me * MOST + i)) {
                fprintf(stderr, "rank %d: alltoallv in group %d of %d, count %zu, in place %d: element %zu of rank %d is wrong\n", rank,
                        call->group, g->size, call->count, call->in_place, i, r);
                exit(1);
            }
}

static void compare(const struct call *call)
{
    int me = hx_rank(groups[call->group].comm), stays = call->in_place && scatters(call) && me == call->root;
    const int64_t *out = !stays ? call->out : call->in + (call->what == SCATTERV ? place(call, me) : (size_t)me * call->count);

    if (call->what == ALLGATHERV || (call->what == GATHERV && me == call->root))
        gathered_compare(call);
    if (call->what == ALLTOALLV)
        exchanged_compare(call);
    for (size_t i = 0; i < out_count(call, me); i++)
        if (out[i] != wanted(call, me, i)) {
            fprintf(stderr, "rank %d: collective %d in group %d of %d, root %d, count %zu, in place %d: element %zu is %" PRId64
                    ", not %" PRId64 "\n", rank, call->what, call->group, groups[call->group].size, call->root, call->count,
                    call->in_place, i, out[i], wanted(call, me, i));
            exit(1);
        }
}

static hx_status_t call_block(const struct call *call, const void *in, void *out)
{
    hx_comm_t *comm = groups[call->group].comm;
    int root = hx_rank(comm) == call->root;

    switch (call->what) {
    case BARRIER: return hx_barrier(comm);
    case ALLREDUCE: return hx_allreduce(in, out, call->count, type_of(call), op_of(call), comm);
    case REDUCE_SCATTER: return hx_reduce_scatter_block(in, out, call->count, type_of(call), op_of(call), comm);
    case ALLGATHER: return hx_allgather(in, out, call->count, type_of(call), comm);
    case BCAST: return hx_bcast(out, call->count, type_of(call), call->root, comm);
    case REDUCE: return hx_reduce(in, out, call->count, type_of(call), op_of(call), call->root, comm);
    case GATHER: return hx_gather(in, out, call->count, type_of(call), call->root, comm);
    case SCATTER: return hx_scatter(in, out, call->count, type_of(call), call->root, comm);
    case SCAN: return hx_scan(in, out, call->count, type_of(call), op_of(call), comm);
    case ALLTOALL: return hx_alltoall(in, out, call->count, type_of(call), comm);
    case EXSCAN: return hx_exscan(in, out, call->count, type_of(call), op_of(call), comm);
    case REDUCE_SCATTERV: return hx_reduce_scatter(in, out, call->counts, type_of(call), op_of(call), comm);
    case ALLGATHERV: return hx_allgatherv(in, call->counts[hx_rank(comm)], out, call->counts, displs_of(call), type_of(call), comm);
    case GATHERV:
        return hx_gatherv(in, call->counts[hx_rank(comm)], out, root ? call->counts : NULL, root ? displs_of(call) : NULL, type_of(call),
                          call->root, comm);
    case SCATTERV:
        return hx_scatterv(in, root ? call->counts : NULL, root ? displs_of(call) : NULL, out, call->counts[hx_rank(comm)], type_of(call),
                           call->root, comm);
    case ALLTOALLV: return hx_alltoallv(in, call->counts, call->displs, out, call->counts, call->displs, type_of(call), comm);
    case WHATS: break;
    }
    abort();
}

static hx_status_t call_start(struct call *call, const void *in, void *out)
{
    hx_comm_t *comm = groups[call->group].comm;
    int root = hx_rank(comm) == call->root;

    switch (call->what) {
    case BARRIER: return hx_ibarrier(comm, &call->request);
    case ALLREDUCE: return hx_iallreduce(in, out, call->count, type_of(call), op_of(call), comm, &call->request);
    case REDUCE_SCATTER: return hx_ireduce_scatter_block(in, out, call->count, type_of(call), op_of(call), comm, &call->request);
    case ALLGATHER: return hx_iallgather(in, out, call->count, type_of(call), comm, &call->request);
    case BCAST: return hx_ibcast(out, call->count, type_of(call), call->root, comm, &call->request);
    case REDUCE: return hx_ireduce(in, out, call->count, type_of(call), op_of(call), call->root, comm, &call->request);
    case GATHER: return hx_igather(in, out, call->count, type_of(call), call->root, comm, &call->request);
    case SCATTER: return hx_iscatter(in, out, call->count, type_of(call), call->root, comm, &call->request);
    case SCAN: return hx_iscan(in, out, call->count, type_of(call), op_of(call), comm, &call->request);
    case ALLTOALL: return hx_ialltoall(in, out, call->count, type_of(call), comm, &call->request);
    case EXSCAN: return hx_iexscan(in, out, call->count, type_of(call), op_of(call), comm, &call->request);
    case REDUCE_SCATTERV: return hx_ireduce_scatter(in, out, call->counts, type_of(call), op_of(call), comm, &call->request);
    case ALLGATHERV:
        return hx_iallgatherv(in, call->counts[hx_rank(comm)], out, call->counts, displs_of(call), type_of(call), comm, &call->request);
    case GATHERV:
        return hx_igatherv(in, call->counts[hx_rank(comm)], out, root ? call->counts : NULL, root ? displs_of(call) : NULL, type_of(call),
                           call->root, comm, &call->request);
    case SCATTERV:
        return hx_iscatterv(in, root ? call->counts : NULL, root ? displs_of(call) : NULL, out, call->counts[hx_rank(comm)], type_of(call),
                            call->root, comm, &call->request);
    case ALLTOALLV:
        return hx_ialltoallv(in, call->counts, call->displs, out, call->counts, call->displs, type_of(call), comm, &call->request);
    case WHATS: break;
    }
    abort();
}

static void draw_call(struct call *call)
{
    static const size_t counts[] = {0, 1, 2, 7, 100, 601, 1999};
    int64_t *in = call->in, *out = call->out;

    *call = (struct call){.what = (enum what)draw(WHATS), .group = (int)draw(COMMS), .in_place = (int)draw(2), .ordered = (int)draw(2),
                          .stamp = ++stamps, .allocated = call->allocated, .in = in, .out = out};
    while (!groups[call->group].open)
        call->group = (call->group + 1) % COMMS;
    call->root = (int)draw((uint64_t)groups[call->group].size);
    call->count = counts[draw(sizeof(counts) / sizeof(counts[0]))];
    for (int r = groups[call->group].size - 1, end = 0, shift = (int)draw(3); r >= 0; r--) { /* nothing, half, or all of it */
        int me = call->what == ALLTOALLV && groups[call->group].comm ? hx_rank(groups[call->group].comm) : 0;
        call->counts[r] = call->count * (size_t)((r + me + shift) % 3) / 2;
        call->displs[r] = (size_t)end;
        end += (int)call->counts[r] + r % 2;
    }
}

/* ---- communicators */

static void group_open(struct group *g, const int *ranks, int n, hx_comm_t *comm)
{
    g->open = 1;
    g->size = n;
    g->comm = comm;
    memcpy(g->ranks, ranks, (size_t)n * sizeof(int));
    if (comm && (hx_size(comm) != n || g->ranks[hx_rank(comm)] != rank))
        fail(comm, "the new communicator has other members");
}

static int in_use(int group)
{
    int used = 0;

    for (int i = 0; i < CALLS; i++)
        used |= calls[i].busy && calls[i].group == group;
    return used;
}

/* A split of an open group in two, of which the first becomes one of ours, in reverse order, and the second is freed. */
static void op_split(int from, int to)
{
    const struct group *g = &groups[from];
    int ranks[2][64], n[2] = {0}, threshold = (int)draw((uint64_t)g->size) + 1;
    hx_comm_t *comm = NULL;

    for (int i = g->size - 1; i >= 0; i--)
        ranks[i % threshold != 0][n[i % threshold != 0]++] = g->ranks[i];
    if (g->comm) {
        int me = hx_rank(g->comm), color = me % threshold != 0;
        check(hx_comm_split(g->comm, color && threshold % 2 ? HX_UNDEFINED : color, -me, &comm), g->comm);
        if (color && threshold % 2 && comm)
            fail(g->comm, "undefined color has a communicator");
        if (color && comm) {
            check(hx_comm_free(comm), comm);
            comm = NULL;
        }
    }
    group_open(&groups[to], ranks[0], n[0], comm);
}

static void op_dup(int from, int to)
{
    hx_comm_t *comm = NULL;

    if (groups[from].comm)
        check(hx_comm_dup(groups[from].comm, &comm), groups[from].comm);
    group_open(&groups[to], groups[from].ranks, groups[from].size, comm);
}

/* Some of the ranks of a group in any order. */
static void op_group(int from, int to)
{
    const struct group *g = &groups[from];
    int picked[64], ranks[64], n = (int)draw((uint64_t)g->size) + 1, member = 0;
    hx_comm_t *comm = NULL;

    for (int i = 0; i < g->size; i++)
        picked[i] = i;
    for (int i = 0; i < n; i++) {
        int j = i + (int)draw((uint64_t)(g->size - i)), other = picked[i];
        picked[i] = picked[j];
        picked[j] = other;
        ranks[i] = g->ranks[picked[i]];
        member |= ranks[i] == rank;
    }
    if (member)
        check(hx_comm_group(g->comm, picked, n, &comm), g->comm);
    group_open(&groups[to], ranks, n, comm);
}

static void op_communicator(void)
{
    int from = (int)draw(COMMS), to = 1 + (int)draw(COMMS - 1);

    while (!groups[from].open)
        from = (from + 1) % COMMS;
    if (groups[to].open) {
        if (in_use(to))
            return;
        if (groups[to].comm)
            check(hx_comm_free(groups[to].comm), groups[to].comm);
        groups[to].open = 0;
        return;
    }
    switch (draw(3)) {
    case 0: op_split(from, to); break;
    case 1: op_dup(from, to); break;
    default: op_group(from, to); break;
    }
}

/* ---- calls */

/* Some of hx_alloc, not the same on all ranks: who finds another's buffers elsewhere must read them otherwise. */
static void buffers_make(struct call *call, int allocated)
{
    void *in, *out;

    call->allocated = allocated;
    check(hx_alloc(groups[0].comm, allocated ? MOST * sizeof(int64_t) : 0, &in), groups[0].comm);
    check(hx_alloc(groups[0].comm, allocated ? MOST * sizeof(int64_t) : 0, &out), groups[0].comm);
    call->in = allocated ? in : malloc(MOST * sizeof(int64_t));
    call->out = allocated ? out : malloc(MOST * sizeof(int64_t));
    if (!call->in || !call->out)
        abort();
}

/* From now on the communicator's calls are planned for such memory: those under way on it, and waiting for their turn, are not. */
static void op_alloc(void)
{
    int g = (int)draw(COMMS);
    size_t bytes = draw(3) * 5000;
    void *memory;

    while (!groups[g].open)
        g = (g + 1) % COMMS;
    if (!groups[g].comm)
        return;
    check(hx_alloc(groups[g].comm, bytes, &memory), groups[g].comm);
    check(hx_free(groups[g].comm, memory), groups[g].comm);
}

static void buffers_free(struct call *call)
{
    for (int i = 0; i < 2; i++) {
        int64_t *memory = i ? call->out : call->in;
        if (call->allocated)
            check(hx_free(groups[0].comm, memory), groups[0].comm);
        else
            free(memory);
    }
}

static void op_block(void)
{
    static struct call call;
    const void *in;
    void *out;

    if (!call.in)
        buffers_make(&call, rank % 2);
    draw_call(&call);
    if (!groups[call.group].comm)
        return;
    prepare(&call, &in, &out);
    check(call_block(&call, in, out), groups[call.group].comm);
    compare(&call);
}

static void op_start(struct call *call)
{
    const void *in;
    void *out;

    if (call->busy)
        return;
    draw_call(call);
    call->busy = 1;
    if (!groups[call->group].comm)
        return;
    prepare(call, &in, &out);
    check(call_start(call, in, out), groups[call->group].comm);
}

static void op_wait(struct call *call, int tests)
{
    int done = 0;

    while (call->request && tests-- > 0 && !done)
        check(hx_test(call->request, &done), groups[call->group].comm);
    if (call->request && !done)
        check(hx_wait(call->request), groups[call->group].comm);
    if (call->request)
        compare(call);
    call->request = NULL;
    call->busy = 0;
}

/* Persistent calls of the world, made once, started many times. */
static void op_persistent(struct call *call)
{
    const void *in;
    void *out;
    int again = (int)draw(3);

    for (int i = 0; i <= again; i++) {
        call->stamp = ++stamps;
        prepare(call, &in, &out);
        check(hx_start(call->request), groups[0].comm);
        check(hx_wait(call->request), groups[0].comm);
        compare(call);
    }
}

static void all_wait(void)
{
    hx_request_t *requests[CALLS];

    int how = (int)draw(3), done = 0, index;

    for (int i = 0; i < CALLS; i++)
        requests[i] = calls[i].request;
    while (how == 1 && !done)
        check(hx_testall(CALLS, requests, &done), groups[0].comm);
    while (how == 2) {
        check(hx_waitany(CALLS, requests, &index), groups[0].comm);
        if (index == HX_UNDEFINED)
            break;
        if (index < 0 || index >= CALLS || !calls[index].request || requests[index])
            fail(groups[0].comm, "hx_waitany's index is wrong");
        compare(&calls[index]);
        calls[index].request = NULL;
    }
    if (how == 0)
        check(hx_waitall(CALLS, requests), groups[0].comm);
    for (int i = 0; i < CALLS; i++) {
        if (calls[i].request)
            compare(&calls[i]);
        if (requests[i])
            fail(groups[0].comm, "hx_waitall, hx_testall or hx_waitany left a request");
        calls[i].request = NULL;
        calls[i].busy = 0;
    }
}

static void operation(void)
{
    switch (draw(13)) {
    case 0: doing = "communicator"; op_communicator(); break;
    case 1:
    case 2:
    case 3: doing = "blocking"; op_block(); break;
    case 4:
    case 5:
    case 6:
    case 7: doing = "start"; op_start(&calls[draw(CALLS)]); break;
    case 8:
    case 9: doing = "wait"; op_wait(&calls[draw(CALLS)], 0); break;
    case 10: doing = "test"; op_wait(&calls[draw(CALLS)], 1000); break;
    case 11: doing = "alloc"; op_alloc(); break;
    default: doing = "persistent"; op_persistent(&persistent[draw(PERSISTENT)]); break;
    }
    if (draw(100) == 0)
        all_wait();
}

/* Make a persistent call of the world ready. root: this rank is. The stamp changes from start to start; the places must not. */
static void call_make(struct call *call, int root)
{
    hx_comm_t *comm = groups[0].comm;
    const size_t *counts = call->counts, *displs = call->displs;
    size_t n = call->count, mine = counts[rank];
    const void *in = call->in_place && (call->what != GATHERV || root) && call->what != SCATTERV ? HX_IN_PLACE : call->in;
    void *out = call->in_place && call->what == SCATTERV && root ? HX_IN_PLACE : call->out;
    hx_request_t **request = &call->request;

    switch (call->what) {
    case ALLREDUCE: check(hx_allreduce_init(in, out, n, type_of(call), op_of(call), comm, request), comm); break;
    case REDUCE_SCATTER: check(hx_reduce_scatter_block_init(in, out, n, type_of(call), op_of(call), comm, request), comm); break;
    case GATHERV: check(hx_gatherv_init(in, mine, out, counts, displs, type_of(call), call->root, comm, request), comm); break;
    case SCATTERV: check(hx_scatterv_init(in, counts, displs, out, mine, type_of(call), call->root, comm, request), comm); break;
    default: check(hx_alltoallv_init(in, counts, displs, out, counts, displs, type_of(call), comm, request), comm); break;
    }
    call->placed = 1;
}

static void start(void)
{
    int all[64];

    check(hx_init(&groups[0].comm), NULL);
    check(hx_op_create(compose_all, 0, NULL, &compose), NULL);
    check(hx_dtype_contiguous(sizeof(int64_t), &map_type), NULL);
    size = hx_size(groups[0].comm);
    rank = hx_rank(groups[0].comm);
    for (int r = 0; r < size && r < 64; r++)
        all[r] = r;
    for (int g = 0; g < COMMS; g++)
        if (!(groups[g].ranks = malloc(64 * sizeof(int))))
            abort();
    group_open(&groups[0], all, size, groups[0].comm);
    for (int i = 0; i < CALLS + PERSISTENT; i++) {
        struct call *call = i < CALLS ? &calls[i] : &persistent[i - CALLS];
        buffers_make(call, i % 3 ? i % 2 : rank % 2);
    }
    for (int i = 0; i < PERSISTENT; i++) {
        static const enum what whats[] = {ALLREDUCE, REDUCE_SCATTER, ALLTOALLV, GATHERV, SCATTERV};
        struct call *call = &persistent[i];
        int root = i % size;
        call->what = whats[i % 5];
        call->count = (size_t)(1 + 180 * i);
        call->root = root;
        call->in_place = i > 4;
        for (int r = 0; r < size; r++) { /* where there are counts */
            call->counts[r] = call->count * (size_t)((r + (call->what == ALLTOALLV ? rank : 0)) % 3) / 2;
            call->displs[r] = (size_t)r * call->count;
        }
        call_make(call, rank == root);
    }
}

int main(int argc, char **argv)
{
    long operations = argc == 3 ? atol(argv[2]) : 0;

    state = argc == 3 ? strtoull(argv[1], NULL, 10) : 0;
    start();
    for (long i = 0; i < operations; i++)
        operation();
    all_wait();
    for (int i = 0; i < PERSISTENT; i++)
        check(hx_request_free(persistent[i].request), groups[0].comm);
    for (int g = 1; g < COMMS; g++)
        if (groups[g].comm && groups[g].open)
            check(hx_comm_free(groups[g].comm), groups[g].comm);
    check(hx_barrier(groups[0].comm), groups[0].comm);
    if (rank == 0)
        printf("seed %s: %ld operations over %d ranks, no difference\n", argv[1], operations, size);
    for (int i = 0; i < CALLS + PERSISTENT; i++)
        buffers_free(i < CALLS ? &calls[i] : &persistent[i - CALLS]);
    check(hx_finalize(), NULL); /* the rest goes with it */
    for (int g = 0; g < COMMS; g++)
        free(groups[g].ranks);
    return 0;
}
