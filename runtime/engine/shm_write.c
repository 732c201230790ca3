/* SPDX-License-Identifier: BSD-3-Clause */
/* Copying into shared memory, see shm_write.h. */
#include "runtime/engine/shm_write.h"
#include "runtime/engine/engine.h"
#include "runtime/base/clock.h"
#include "runtime/base/memcpy.h"
#include "runtime/base/stream.h"
#include <stdlib.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define LINES_MOST 768            /* bytes */
#define AROUND_LEAST 4096         /* bytes; for fewer, waiting for the memory would take longer than the copy */
#define MEASURE_EVERY (256 << 10) /* bytes: it takes as long as copying a few KiB */
#define MEASURE_SOON (16 << 10)   /* bytes: the first times, so that it is known before HX_ADAPT compares plans */
#define SOON_TIMES 32
#define WEIGHT (1.0 / 8)          /* of a measurement */
#define MOST_NS 300               /* an interrupt counts for no more */
#define CLOCK_NS 100              /* no measurement if reading the clock takes longer: it is slow, or was interrupted */

static int can_tell(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    return __builtin_cpu_is("amd");
#else
    return 0;
#endif
}

int hx_share_is_far(double line_ns, int64_t far_ns)
{
    return far_ns == 0 || (line_ns >= (double)far_ns && can_tell());
}

/* Read a line that another rank has written at the end of a call. Ranks take turns, so that no two read the same line at once: a
 * line arrives sooner from a neighbour that has just got it. The clock's own time is measured too. */
static void measure(const struct hx_node *node, struct hx_distance *distance)
{
    unsigned turn = distance->measured++, others = (unsigned)node->n - 1;
    int row = node->rows[(node->me + 1 + (int)(turn % others)) % node->n];
    const struct hx_passed *theirs = &node->shared->passed[row];

    /* the time to find the page does not count; each time by another line, or the processor learns which one comes next, and by none that
     * is beside it */
    (void)atomic_load_explicit(&theirs->lines[turn / others % (HX_PASSED_STAMP - 1)].stamp, memory_order_relaxed);
    uint64_t start = hx_now_ns(), begin = hx_now_ns();
    /* begin's highest bit is 0, which the processor does not know: else it would begin to load before it has read the clock */
    uint64_t passed = atomic_load_explicit(&theirs->lines[HX_PASSED_STAMP + (begin >> 63)].stamp, memory_order_relaxed);
    int64_t clock = (int64_t)(begin - start), ns = (int64_t)(hx_now_ns() - begin) - clock;

    if (clock <= CLOCK_NS && passed != distance->seen[row]) /* else it is still in this process's cache */
        distance->ns += WEIGHT * ((double)(ns < MOST_NS ? ns : MOST_NS) - distance->ns);
    distance->shared_bytes = 0;
    distance->seen[row] = passed;
}

int hx_can_demote(void)
{
#if defined(__x86_64__)
    unsigned a, b, c = 0, d;

    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && c >> 25 & 1;
#else
    return 0;
#endif
}

/* A hint: it orders and changes nothing. */
static void demote(const unsigned char *at, size_t bytes)
{
#if defined(__x86_64__)
    for (const unsigned char *end = at + bytes; at < end; at += HX_LINE)
        __asm__ volatile(".byte 0x0f, 0x1c, 0x00" : : "a"(at) : "memory"); /* cldemote (%rax) */
#else
    (void)at, (void)bytes;
#endif
}

/* A few lines, one after the other: the C library writes some of their bytes twice. */
static void lines_share(const struct hx_engine *engine, unsigned char *dst, const unsigned char *src, size_t bytes)
{
    size_t at = 0;

    for (; at + HX_LINE <= bytes; at += HX_LINE)
        memcpy(dst + at, src + at, HX_LINE);
    memcpy(dst + at, src + at, bytes - at);
    if (engine->process->demotes && bytes > HX_TOUCH_LINES * HX_LINE)
        demote(dst, bytes);
}

void hx_share(struct hx_engine *engine, void *dst, const void *src, size_t bytes)
{
    const struct hx_node *node = &engine->node;
    struct hx_distance *distance = &engine->process->distance;
    const int64_t far_ns = engine->process->env->far_ns;

    if (bytes <= LINES_MOST) {
        lines_share(engine, dst, src, bytes);
        return;
    }
    distance->shared_bytes += bytes;
    if (distance->shared_bytes >= (distance->measured < SOON_TIMES ? MEASURE_SOON : MEASURE_EVERY) && node->n > 1 && far_ns > 0 && far_ns <= MOST_NS && can_tell() &&
        (distance->seen || (distance->seen = calloc((size_t)node->shared->n, sizeof(*distance->seen)))))
        measure(node, distance);
    if (distance->ns >= (double)far_ns && bytes >= AROUND_LEAST)
        distance->far_bytes += hx_stream(dst, src, bytes);
    else
        hx_memcpy(dst, src, bytes);
}
