/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measuring the constants of a node. Its first rank asks and measures, and a second rank answers (struct hx_probe_side). The second rank is
 * on another core if possible: two ranks of one core share its caches, and copies between them would seem twice as fast.
 *
 *   asks      turn 1: nothing      turn 2: fill a slot from piece 0      ...      leaves
 *   answers         turn 1               turn 2, after it has filled it
 *
 * Cold: the second rank has just written the piece, and the first rank reads it into a buffer that it used last a while ago. Warm: both use
 * the same buffers as before. A value is the median of its samples, so that an interrupt does not count. All waits end: each side has a
 * deadline, and says when it leaves.
 */
#include "runtime/start/constants_measure.h"
#include "runtime/base/clock.h"
#include "runtime/base/memcpy.h"
#include "runtime/base/reduce.h"
#include "runtime/base/stream.h"
#include "runtime/engine/shm_write.h"
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>

#define PIECE_BYTES ((size_t)64 << 10)
#define SOURCES 9         /* pieces that the second rank writes */
#define TARGETS 24        /* pieces that the first rank reads into: more than a core's own cache, or most of it */
#define SAMPLES (SOURCES - 1)
#define HAND_OFFS 16      /* in a row, per sample */
#define CALLS 4
#define FIRST_NS 2000000   /* the second rank begins to answer within that time, or there is no measurement */
#define ANSWER_NS 100000000 /* the second rank answers so long: the first may read a file meanwhile */
#define BUSY_NS 2000000    /* after that time it sleeps between two looks */
#define POLLS 200          /* before a rank yields its core */

enum task { TASK_NONE, TASK_LINE, TASK_REWRITE, TASK_FILL };

int hx_probe_partner(const struct hx_shared *shared)
{
    int i = 1;

    while (i < shared->n && shared->doorbells[i].cpu == shared->doorbells[0].cpu)
        i++;
    return i < shared->n ? i : 1;
}

static void probe_open(struct hx_probe *p, struct hx_shared *shared, int64_t far_ns, uint64_t ns)
{
    struct hx_probe_side *sides = shared->header->probe;

    *p = (struct hx_probe){.shared = shared, .asks = &sides[0], .answers = &sides[1], .far_ns = far_ns, .begin = hx_now_ns()};
    p->deadline = p->begin + ns;
    p->bytes = shared->bank_bytes < PIECE_BYTES ? shared->bank_bytes : PIECE_BYTES;
}

/* Pages are allocated on first touch: the caller measures only after this. */
static void memory_open(struct hx_probe *p, int pieces)
{
    if (p->memory || p->failed)
        return;
    p->memory_bytes = p->bytes * (size_t)pieces;
    p->failed = hx_shared_context(p->shared, 0) != HX_SUCCESS;
    if (p->failed)
        return;
    p->slot = (unsigned char *)p->shared->contexts[0] + p->shared->slots_at + 2 * p->shared->bank_bytes * (size_t)hx_probe_partner(p->shared);
    p->memory = mmap(NULL, p->memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p->memory == MAP_FAILED) {
        p->memory = NULL;
        p->failed = 1;
        return;
    }
    memset(p->memory, 1, p->memory_bytes);
}

static void memory_close(struct hx_probe *p)
{
    if (p->memory)
        munmap(p->memory, p->memory_bytes);
}

/* Wait until the other side has reached this turn. Returns the turn, or HX_PROBE_GONE: it has left, or the time is up. */
static uint32_t turn_await(const struct hx_probe *p, const struct hx_probe_side *side, uint32_t turn)
{
    uint64_t begin = 0, now;
    uint32_t seen;

    /* acquire pairs with the releases in ask, hx_probe_answer and hx_probe_leave */
    for (unsigned polls = 1; (seen = atomic_load_explicit(&side->turn, memory_order_acquire)) < turn; polls++) {
        if (polls % POLLS)
            continue;
        now = hx_now_ns();
        begin = begin ? begin : now;
        if (now > p->deadline)
            return HX_PROBE_GONE;
        if (side == p->asks && now - begin > BUSY_NS)
            nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
        else
            sched_yield();
    }
    return seen;
}

/* ---- the rank that asks */

static void ask(struct hx_probe *p, enum task task, int piece)
{
    uint32_t turn = atomic_load_explicit(&p->asks->turn, memory_order_relaxed) + 1;

    if (task != TASK_NONE && hx_now_ns() > p->deadline)
        p->failed = 1;
    if (p->failed)
        return;
    p->asks->task = task;
    p->asks->piece = (uint32_t)piece;
    atomic_store_explicit(&p->asks->turn, turn, memory_order_release); /* pairs with the acquire in turn_await */
    p->failed = turn_await(p, p->answers, turn) == HX_PROBE_GONE;
}

static int order(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* At least 1: 0 means that a constant is not known. */
static uint64_t median_of(uint64_t ns[SAMPLES])
{
    qsort(ns, SAMPLES, sizeof(*ns), order);
    return ns[SAMPLES / 2] ? ns[SAMPLES / 2] : 1;
}

static int32_t rate_of(size_t bytes, uint64_t ns)
{
    return (int32_t)(1000 * bytes / ns);
}

static uint64_t clock_ns(void)
{
    uint64_t ns[SAMPLES];

    for (int i = 0; i < SAMPLES; i++) {
        uint64_t start = hx_now_ns();
        ns[i] = hx_now_ns() - start;
    }
    return median_of(ns);
}

static void hand_off_measure(struct hx_probe *p, struct hx_constants *constants)
{
    const uint64_t clock = clock_ns();
    uint64_t hand_off[SAMPLES], line[SAMPLES];

    for (int i = 0; i < SAMPLES; i++) {
        uint64_t start = hx_now_ns();
        for (int k = 0; k < HAND_OFFS; k++)
            ask(p, TASK_NONE, 0);
        hand_off[i] = (hx_now_ns() - start) / (2 * HAND_OFFS);
        ask(p, TASK_LINE, 0);
        uint64_t begin = hx_now_ns();
        /* the address depends on the clock, so that the processor reads the clock first */
        (void)atomic_load_explicit(&p->shared->header->probe_line + (begin >> 63), memory_order_acquire); /* TASK_LINE writes it */
        line[i] = hx_now_ns() - begin;
        line[i] = line[i] > clock ? line[i] - clock : 1;
    }
    constants->hand_off_ns = (int32_t)median_of(hand_off);
    constants->line_ns = (int32_t)median_of(line);
    p->asks->line_ns = (uint32_t)constants->line_ns;
}

/* Copy a piece by single copy; its time. */
static uint64_t fetch(struct hx_probe *p, int target, int source, size_t bytes)
{
    struct iovec to = {p->memory + p->bytes * (size_t)target, bytes};
    struct iovec from = {(void *)(p->answers->memory + p->bytes * (size_t)source), bytes};
    uint64_t start = hx_now_ns();

    if (!p->failed && process_vm_readv(p->shared->doorbells[hx_probe_partner(p->shared)].pid, &to, 1, &from, 1, 0) != (ssize_t)bytes)
        p->failed = 1;
    return hx_now_ns() - start;
}

static void fetch_measure(struct hx_probe *p, struct hx_constants *constants)
{
    uint64_t call[SAMPLES], cold[SAMPLES], warm[SAMPLES];

    for (int i = 0; i < SAMPLES; i++) {
        call[i] = 0;
        for (int k = 0; k < CALLS; k++)
            call[i] += fetch(p, TARGETS - 1, SOURCES - 1, 8) / CALLS;
    }
    constants->call_ns = (int32_t)median_of(call);
    for (int i = 0; i < SAMPLES; i++) {
        ask(p, TASK_REWRITE, i + 1);
        cold[i] = fetch(p, i, i + 1, p->bytes);
    }
    fetch(p, 0, 0, p->bytes);
    for (int i = 0; i < SAMPLES; i++)
        warm[i] = fetch(p, 0, 0, p->bytes);
    const uint64_t us[2] = {median_of(cold), median_of(warm)}, least = (uint64_t)constants->call_ns;
    constants->fetch_cold_mb_s = rate_of(p->bytes, us[0] > least ? us[0] - least : 1);
    constants->fetch_warm_mb_s = rate_of(p->bytes, us[1] > least ? us[1] - least : 1);
}

/* Both copies through a slot: the second rank fills it, and this rank reads it. The first time does not count. */
static int32_t slot_measure(struct hx_probe *p, int cold)
{
    uint64_t both[SAMPLES];

    for (int i = -1; i < SAMPLES; i++) {
        if (cold)
            ask(p, TASK_REWRITE, i + 1);
        ask(p, TASK_FILL, cold ? i + 1 : 0);
        uint64_t start = hx_now_ns();
        hx_memcpy(p->memory + p->bytes * (size_t)(cold ? SOURCES + i + 1 : 0), p->slot, p->bytes);
        if (i >= 0)
            both[i] = hx_now_ns() - start + p->answers->took_ns;
    }
    return rate_of(2 * p->bytes, median_of(both));
}

static int32_t own_measure(const struct hx_probe *p)
{
    uint64_t ns[SAMPLES];

    for (int i = -1; i < SAMPLES; i++) {
        uint64_t start = hx_now_ns();
        hx_memcpy(p->memory, p->memory + p->bytes, p->bytes);
        if (i >= 0)
            ns[i] = hx_now_ns() - start;
    }
    return rate_of(p->bytes, median_of(ns));
}

static int32_t fold_measure(struct hx_probe *p)
{
    hx_reduce_kernel_t *kernel = hx_reduce_kernel(HX_FLOAT32, HX_SUM);
    const void *sources[2] = {p->memory, p->slot};
    uint64_t ns[SAMPLES];

    for (int i = -1; i < SAMPLES; i++) {
        ask(p, TASK_FILL, 0);
        uint64_t start = hx_now_ns();
        kernel(p->memory + p->bytes, sources, 2, p->bytes / sizeof(float));
        if (i >= 0)
            ns[i] = hx_now_ns() - start;
    }
    return rate_of(2 * p->bytes, median_of(ns));
}

void hx_probe_begin(struct hx_probe *p, struct hx_shared *shared, int shares_core, int64_t far_ns, struct hx_constants *constants)
{
    probe_open(p, shared, far_ns, FIRST_NS);
    ask(p, TASK_NONE, 0);
    p->deadline = p->begin + HX_PROBE_NS;
    if (!p->failed && !shares_core)
        hand_off_measure(p, constants);
}

int hx_probe_copies(struct hx_probe *p, struct hx_constants *constants)
{
    memory_open(p, TARGETS);
    ask(p, TASK_REWRITE, 0);
    if (!p->failed)
        fetch_measure(p, constants);
    if (!p->failed)
        constants->slot_cold_mb_s = slot_measure(p, 1);
    if (!p->failed)
        constants->slot_warm_mb_s = slot_measure(p, 0);
    if (!p->failed)
        constants->own_mb_s = own_measure(p);
    if (!p->failed)
        constants->fold_mb_s = fold_measure(p);
    return p->failed ? -1 : 0;
}

void hx_probe_end(struct hx_probe *p)
{
    memory_close(p);
    hx_probe_leave(p->shared);
}

/* ---- the rank that answers */

static void task_do(struct hx_probe *p)
{
    enum task task = (enum task)p->asks->task;

    if (task == TASK_REWRITE || task == TASK_FILL)
        memory_open(p, SOURCES);
    if (p->failed)
        return;
    p->answers->memory = (uintptr_t)p->memory;
    unsigned char *piece = p->memory + p->bytes * (p->asks->piece % SOURCES);
    uint64_t start = hx_now_ns();
    if (task == TASK_LINE) /* turn publishes it */
        atomic_store_explicit(&p->shared->header->probe_line, start, memory_order_relaxed);
    else if (task == TASK_REWRITE)
        memset(piece, 0, p->bytes); /* zeros add up as fast as other floats */
    else if (task == TASK_FILL && hx_share_is_far(p->asks->line_ns, p->far_ns))
        hx_stream(p->slot, piece, p->bytes);
    else if (task == TASK_FILL)
        hx_memcpy(p->slot, piece, p->bytes);
    p->answers->took_ns = (uint32_t)(hx_now_ns() - start);
}

void hx_probe_answer(struct hx_shared *shared, int64_t far_ns)
{
    struct hx_probe p;

    probe_open(&p, shared, far_ns, ANSWER_NS);
    for (uint32_t turn = 1; turn_await(&p, p.asks, turn) != HX_PROBE_GONE; turn++) {
        task_do(&p);
        if (p.failed)
            break;
        atomic_store_explicit(&p.answers->turn, turn, memory_order_release); /* pairs with the acquire in turn_await */
    }
    memory_close(&p);
    hx_probe_leave(shared);
}

void hx_probe_leave(struct hx_shared *shared)
{
    const int side = shared->me == 0 ? 0 : 1;

    if (side == 0 || shared->me == hx_probe_partner(shared)) /* release pairs with the acquire in turn_await */
        atomic_store_explicit(&shared->header->probe[side].turn, HX_PROBE_GONE, memory_order_release);
}
