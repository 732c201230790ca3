/* SPDX-License-Identifier: BSD-3-Clause */
/* A small job for endpoint tests: processes of this machine that exchange addresses through shared memory and run one
 * case each. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "inter/fabric/fabric.h"
#include "runtime/base/error.h"
#include "runtime/base/clock.h"
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define RANKS_MAX 4
#define BLOB_BYTES 1024
#define MB (1 << 20)

#define ops (&hx_net_fabric)

static const unsigned char job_key[HX_NET_KEY_BYTES] = "the key of a test's job";

struct meeting {
    atomic_int arrived, departed, begun;
    size_t bytes[RANKS_MAX];
    char blob[RANKS_MAX][BLOB_BYTES];
} * meeting;

struct world {
    struct hx_net *net;
    int me, n;
    struct meeting *meet;
    int departures; /* meetings at the second counter that the case has held itself */
    char why[HX_DETAIL_BYTES]; /* what the message posted last has failed of */
};

#define check(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "rank %d, line %d: %s; last error: %s\n", w->me, __LINE__, #condition, hx_last_detail());  \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

/* ---- helpers of a rank */

static void turn(struct world *w)
{
    if (ops->progress(w->net) == 0)
        sched_yield();
}

/* Everybody here; progress goes on meanwhile. count: how many such meetings there have been, this one included. */
static void meet(struct world *w, atomic_int *counter, int count)
{
    atomic_fetch_add(counter, 1);
    while (atomic_load(counter) < count * w->n)
        turn(w);
}

static inline void take_back(struct hx_net *net, struct hx_net_op *op)
{
    while (!ops->cancel(net, op, 0))
        ops->progress(net);
}

static struct hx_net_op *post_in(struct world *w, struct hx_net_op *op, uint64_t flow, enum hx_net_direction direction, int peer,
                                 uint64_t match, const struct hx_segment *segments, int nsegments)
{
    *op = (struct hx_net_op){.direction = direction, .peer = peer, .match = match, .flow = flow, .segments = segments,
                             .nsegments = nsegments, .why = w->why};
    w->why[0] = '\0';
    ops->post(w->net, op);
    return op;
}

static inline struct hx_net_op *post(struct world *w, struct hx_net_op *op, enum hx_net_direction direction, int peer,
                              uint64_t match, const struct hx_segment *segments, int nsegments)
{
    return post_in(w, op, 0, direction, peer, match, segments, nsegments);
}

static inline int finish(struct world *w, struct hx_net_op *op)
{
    double limit = hx_now_s() + 20;

    while (op->done == 0 && hx_now_s() < limit)
        turn(w);
    return op->done;
}

/* The bytes of a message, eight at a time: other messages have others, and so have other places of it. */
static inline uint64_t pattern(uint64_t seed, size_t k)
{
    uint64_t x = seed * 0x9e3779b97f4a7c15 + (k + 1) * 0xbf58476d1ce4e5b9;

    return x ^ x >> 32;
}

static inline uint8_t *fill(size_t bytes, uint64_t seed)
{
    uint8_t *buffer = malloc(bytes);

    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word = pattern(seed, i / 8);
        memcpy(buffer + i, &word, bytes - i < 8 ? bytes - i : 8);
    }
    return buffer;
}

static inline int holds(const uint8_t *buffer, size_t bytes, uint64_t seed)
{
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word = pattern(seed, i / 8);
        if (memcmp(buffer + i, &word, bytes - i < 8 ? bytes - i : 8) != 0)
            return 0;
    }
    return 1;
}

/* ---- running a case */

static int connects = 1; /* ranks are connected when the case begins */

/* How messages go: straight from the caller's memory, through registered buffers as EFA demands, or by remote writes. */
enum mode { PLAIN, BOUNCED, WRITTEN, MODES };

static void rank_run(const char *provider, enum mode mode, size_t chunk, int me, int n, void (*body)(struct world *))
{
    struct hx_env env = {.provider = provider, .chunk = (int64_t)chunk, .silent = 10};
    struct world world = {.me = me, .n = n, .meet = meeting}, *w = &world;

    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS};

    for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
        signal(faults[i], SIG_DFL); /* cmocka's handler would go on with the next case, which starts processes, in this one */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(60);
    hx_fabric_test.register_local = mode == BOUNCED;
    hx_fabric_test.write_bytes = mode == WRITTEN;
    check(ops->open(&env, me, n, &(struct hx_net_seat){0, 1, 0, 1}, job_key, &(struct hx_net_refusals){0}, &w->net) == HX_SUCCESS);
    meeting->bytes[me] = BLOB_BYTES;
    check(ops->address(w->net, meeting->blob[me], &meeting->bytes[me]) == HX_SUCCESS);
    atomic_fetch_add(&meeting->arrived, 1);
    while (atomic_load(&meeting->arrived) < n) /* no progress: what came now would be of an unknown sender */
        sched_yield();
    for (int i = 0; i < n && connects; i++)
        if (i != me)
            check(ops->connect(w->net, i, meeting->blob[i], meeting->bytes[i]) == HX_SUCCESS);
    body(w);
    meet(w, &meeting->departed, w->departures + 1);
    ops->close(w->net, 1);
    _exit(0);
}

static int job_run(const char *provider, enum mode mode, size_t chunk, int n, void (*body)(struct world *))
{
    int status, failed = 0;

    if (!meeting)
        meeting = mmap(NULL, sizeof(*meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(meeting, MAP_FAILED);

    memset(meeting, 0, sizeof(*meeting));
    for (int me = 0; me < n; me++)
        if (fork() == 0)
            rank_run(provider, mode, chunk, me, n, body);
    while (wait(&status) > 0)
        failed += status != 0;
    return failed;
}
