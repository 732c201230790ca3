/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine with ranks as threads of one process over one anonymous segment, so that the thread sanitizer sees what ranks do to each
 * other: flags, slots, rings, sleep and wake. Every algorithm that serves within a node, whole and in many slices, collectives mixed.
 */
#include "hier/planner.h"
#include "runtime/api/call.h"
#include "runtime/api/number.h"
#include "runtime/engine/whereabouts.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { RANKS = 3, ROUNDS = 3 };
static const size_t counts[] = {1, 7, 1, 300, 5000, 7, 20000};
#define COUNTS (sizeof(counts) / sizeof(counts[0]))

struct setting {
    const char *names[HX_COLL_COUNT];
    int64_t slice;
    int spin;
};

struct rank {
    int rank;
    const struct setting *setting;
    const struct hx_shared *segment; /* mapped once for all */
    char failure[256];
};

static const struct hx_job job = {.llc_bytes = 2 << 20, .cpus_per_node = 2, .ranks_per_cpu = RANKS / 2.0, .single_copy = 1};

static int64_t contribution(int rank, size_t i)
{
    return (int64_t)(i * 31 + 7) * (rank + 1) + rank;
}

static int64_t total(size_t i, int ranks)
{
    int64_t sum = 0;
    for (int r = 0; r < ranks; r++)
        sum += contribution(r, i);
    return sum;
}

static void failed(struct rank *me, const char *what, size_t count)
{
    if (!me->failure[0])
        snprintf(me->failure, sizeof(me->failure), "%s of %zu: %s", what, count, hx_last_detail());
}

static int64_t wanted(const struct hx_comm *comm, enum hx_coll coll, size_t n, int root, size_t i)
{
    switch (coll) {
    case HX_COLL_ALLGATHER: return contribution((int)(i / n), i % n);
    case HX_COLL_REDUCE_SCATTER: return total((size_t)comm->members.rank * n + i, RANKS);
    case HX_COLL_BCAST: return contribution(root, i);
    case HX_COLL_GATHER: return contribution((int)(i / n), i % n);
    case HX_COLL_SCATTER: return contribution(root, (size_t)comm->members.rank * n + i);
    case HX_COLL_ALLTOALLV: /* here of blocks of one length */
    case HX_COLL_ALLTOALL: return contribution((int)(i / n), (size_t)comm->members.rank * n + i % n);
    default: return total(i, hx_coll_contributors(coll, RANKS, comm->members.rank));
    }
}

/* Element by element, of a buffer that one rank knows: under a thread sanitizer it would be half of the time. */
__attribute__((no_sanitize("thread"))) static size_t first_wrong(const struct hx_comm *comm, enum hx_coll coll, size_t n, int root,
                                                                 const int64_t *out, size_t out_n)
{
    size_t i = 0;

    while (i < out_n && out[i] == wanted(comm, coll, n, root, i))
        i++;
    return i;
}

static void call_run(struct rank *me, struct hx_comm *comm, enum hx_coll coll, size_t n, int root, int64_t *in, int64_t *out)
{
    struct hx_call_key key = {.coll = coll, .dtype = HX_INT64, .op = HX_SUM, .root = root, .count = n};
    struct hx_bound *bound;
    int no_out = coll == HX_COLL_BARRIER || (coll == HX_COLL_EXSCAN && comm->members.rank == 0) ||
                 ((coll == HX_COLL_REDUCE || coll == HX_COLL_GATHER) && comm->members.rank != root);
    int pairs = hx_coll_has_pairs(coll);
    size_t in_n = coll == HX_COLL_REDUCE_SCATTER || coll == HX_COLL_SCATTER || pairs ? n * RANKS : n;
    size_t out_n = no_out ? 0 : coll == HX_COLL_ALLGATHER || coll == HX_COLL_GATHER || pairs ? n * RANKS : n;

    for (size_t i = 0; i < in_n; i++)
        in[i] = contribution(comm->members.rank, i);
    if (coll == HX_COLL_BCAST)
        memcpy(out, in, n * sizeof(*out));
    if (hx_bind(&comm->engine, key, &bound) != HX_SUCCESS ||
        hx_engine_run(&comm->engine, bound, hx_coll_name(coll), coll == HX_COLL_BCAST ? out : in, out) != HX_SUCCESS) {
        failed(me, hx_coll_name(coll), n);
        return;
    }
    size_t wrong = first_wrong(comm, coll, n, root, out, out_n);
    if (wrong < out_n) {
        hx_fail(HX_ERR_INTERNAL, "element %zu is %lld, not %lld", wrong, (long long)out[wrong],
                (long long)wanted(comm, coll, n, root, wrong));
        failed(me, hx_coll_name(coll), n);
    }
}

/* More all-reduces under way than there are engines, with blocking calls between them, waited for from the last to the first. */
static void calls_overlap(struct rank *me, struct hx_comm *comm, size_t round)
{
    enum { CALLS = 2 * HX_CONCURRENT + 1 };
    static const size_t n = 3000;
    int64_t *in = malloc(n * sizeof(*in)), *out = malloc(CALLS * n * sizeof(*out));
    hx_request_t *requests[CALLS] = {0};
    int good = in && out;

    for (size_t i = 0; good && i < n; i++)
        in[i] = contribution(comm->members.rank, i);
    for (int c = 0; good && c < CALLS; c++) {
        struct hx_call_key key = hx_call_key_of(HX_COLL_ALLREDUCE, HX_INT64, HX_SUM, 0, (size_t)c % 2 ? n : round + 1);
        struct hx_call call = {.name = "overlap", .comm = comm, .key = key, .in = in, .out = out + (size_t)c * n};
        good = hx_request_new(&call, 0, &requests[c]) == HX_SUCCESS;
        if (c == CALLS / 2)
            call_run(me, comm, HX_COLL_BARRIER, 1, 0, in, out);
    }
    for (int c = CALLS - 1; good && c >= 0; c--) {
        good = hx_wait(requests[c]) == HX_SUCCESS;
        for (size_t i = 0; good && i < (c % 2 ? n : round + 1); i++)
            good = out[(size_t)c * n + i] == total(i, RANKS);
    }
    if (!good)
        failed(me, "overlapping calls", n);
    free(in);
    free(out);
}

static void *rank_main(void *arg)
{
    struct rank *me = arg;
    int ranks[RANKS] = {0, 1, 2};
    static const struct hx_comm_id id = {.number = HX_NUMBER_WORLD};
    struct hx_shared shared = *me->segment;
    struct hx_env env = {.timeout = 60, .slice = me->setting->slice};
    struct hx_world world = {
        .process = {.rank = me->rank, .size = RANKS, .owner = &hx_world_owner, .env = &env, .job = job, .shared = &shared}};
    struct hx_comm *comm = NULL;
    static const enum hx_coll rooted[5] = {HX_COLL_BCAST, HX_COLL_BCAST, HX_COLL_SCATTER, HX_COLL_REDUCE, HX_COLL_GATHER};
    size_t most = counts[COUNTS - 1] * RANKS;
    int64_t *in = malloc(most * sizeof(*in)), *out = malloc(most * sizeof(*out));

#define HX_COLL(ID, name, gives, gets, traits) env.name = (char *)(uintptr_t)me->setting->names[HX_COLL_##ID];
#include "runtime/base/coll.def"
    shared.me = me->rank;
    shared.ranks = ranks;
    hx_waiter_init(&world.process.waiter, &shared, 1.5, me->setting->spin);
    if (!in || !out || hx_comm_numbers_open(&world) != HX_SUCCESS ||
        hx_comm_make(&world, NULL, RANKS, &id, &comm) != HX_SUCCESS) {
        failed(me, "start", 0);
    } else {
        for (size_t i = 0; i < ROUNDS * COUNTS * HX_COLL_COUNT && !me->failure[0]; i++)
            call_run(me, comm, (enum hx_coll)(i % HX_COLL_COUNT), counts[i % COUNTS], 0, in, out);
        for (size_t i = 0; i < 2 * ROUNDS * COUNTS * RANKS && !me->failure[0]; i++) /* some run ahead */
            call_run(me, comm, rooted[i % 5], counts[i % COUNTS], (int)(i / COUNTS % RANKS), in, out);
        for (size_t i = 0; i < ROUNDS && !me->failure[0]; i++)
            calls_overlap(me, comm, i);
        hx_comm_release(comm);
    }
    hx_comm_numbers_close(&world);
    hx_whereabouts_forget(&world.process); /* a rank that waits for long looks where the others are */
    free(in);
    free(out);
    return NULL;
}

/* Run all collectives under one setting. Returns the number of ranks that failed. */
static int setting_run(const struct setting *setting)
{
    struct hx_shared segment = {.contexts = calloc(HX_CONTEXTS, sizeof(void *))};
    struct rank ranks[RANKS] = {0};
    pthread_t threads[RANKS];
    int failures = 0;

    hx_shared_dimension(&segment, RANKS, RANKS, job.llc_bytes);
    segment.calls_kept = hx_calls_kept(job.ranks_per_cpu);
    size_t bytes = segment.head_bytes + HX_COMM_CONTEXTS * segment.context_bytes;
    char *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED || !segment.contexts)
        return RANKS;
    hx_shared_map(&segment, base);
    segment.table[RANKS - 1].place[0] = 1; /* on another socket than the others, */
    segment.doorbells[RANKS - 1].cpu = 1;  /* which are mates */
    for (int c = 0; c < HX_COMM_CONTEXTS; c++)
        segment.contexts[c] = base + segment.head_bytes + (size_t)c * segment.context_bytes;
    for (int r = 0; r < RANKS; r++) {
        ranks[r] = (struct rank){.rank = r, .setting = setting, .segment = &segment};
        if (pthread_create(&threads[r], NULL, rank_main, &ranks[r]))
            exit(1);
    }
    for (int r = 0; r < RANKS; r++) {
        pthread_join(threads[r], NULL);
        if (!ranks[r].failure[0])
            continue;
        fprintf(stderr, "rank %d, %s/%s/%s, slice %lld: %s\n", r, setting->names[0], setting->names[1], setting->names[2],
                (long long)setting->slice, ranks[r].failure);
        failures++;
    }
    munmap(base, bytes);
    free(segment.contexts);
    return failures;
}

/* The idx-th algorithm that serves coll within a node, from the start again after the last. */
static const char *name_at(enum hx_coll coll, int wanted)
{
    const struct hx_algorithm *a;
    const char *names[64];
    int n = 0, idx = 0;

    while (n < 64 && (a = hx_algorithm_next(coll, HX_SCOPE_INTRA, &idx)))
        names[n++] = a->name;
    return names[wanted % n];
}

/* Algorithms of the collective that has most. */
static int longest(void)
{
    int most = 0;

    for (int c = 0; c < HX_COLL_COUNT; c++) {
        int n = 0, idx = 0;
        while (hx_algorithm_next((enum hx_coll)c, HX_SCOPE_INTRA, &idx))
            n++;
        most = n > most ? n : most;
    }
    return most;
}

int main(void)
{
    static const int64_t slices[] = {0, 4096, 50000};
    int failures = 0, runs = 0;

    for (int i = 0; i < longest(); i++)
        for (int s = i % 3, n = 0; n < 2; s = (s + 1) % 3, n++, runs++) {
            struct setting setting = {.slice = slices[s], .spin = s == 1 ? 0 : s == 0 ? -1 : 50};
            for (int c = 0; c < HX_COLL_COUNT; c++)
                setting.names[c] = name_at((enum hx_coll)c, i);
            failures += setting_run(&setting);
        }
    printf("%d settings, %d failures\n", runs, failures);
    return failures > 0;
}
