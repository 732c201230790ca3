/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How fast can a short payload go from core to core? Two threads on two cores exchange payloads, in five ways
 * (runtime/engine/shm_write.h says which Hierax takes). Prints nanoseconds a call, the least of several
 * batches. Usage: handoff [CPU CPU]
 *
 *   apart     flag in one line, payload elsewhere: two journeys
 *   behind    payload from the flag's line on
 *   touched   apart; the reader fetches the payload's lines whenever it looks at the flag
 *   demoted   apart; the writer moves the lines to the shared cache
 *   flags     a flag in each line, 56 bytes of payload after it
 */
#include "runtime/engine/wait.h"
#include "runtime/base/clock.h"
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64, PAYLOAD_MAX = 1024, CALLS = 2000, BATCHES = 8, WORD = 8 };
static const char *const ways[] = {"apart", "behind", "touched", "demoted", "flags"};
enum { APART, BEHIND, TOUCHED, DEMOTED, FLAGS, NWAYS };
static const size_t sizes[] = {8, 48, 64, 128, 192, 256, 384, 512, 768, 1024};

/* A thread's payload in calls of one parity; the first byte is a flag, and each line of FLAGS begins with one. */
static struct box {
    _Alignas(4096) unsigned char lines[2 * PAYLOAD_MAX], apart[2 * PAYLOAD_MAX];
} boxes[2][2];
static int cpus[2] = {0, 1}, way;
static size_t bytes;
static double ns[2];
static pthread_barrier_t start;

static _Atomic uint64_t *flag_of(unsigned char *line)
{
    return (_Atomic uint64_t *)(void *)line;
}

static unsigned char *payload_of(struct box *box)
{
    return way == BEHIND ? box->lines + 2 * WORD : box->apart;
}

/* FLAGS: how much of the payload, from `at` on, is in a line. */
static size_t part(size_t at)
{
    return bytes - at < LINE - WORD ? bytes - at : LINE - WORD;
}

static void box_write(struct box *box, const unsigned char *from, uint64_t call)
{
    if (way == FLAGS) {
        unsigned char *line = box->lines;
        for (size_t at = 0; at < bytes; at += LINE - WORD, line += LINE) {
            memcpy(line + WORD, from + at, part(at));
            atomic_store_explicit(flag_of(line), call, memory_order_release); /* acquire: await */
        }
        return;
    }
    memcpy(payload_of(box), from, bytes);
#if defined(__x86_64__)
    for (size_t at = 0; way == DEMOTED && at < bytes; at += LINE)
        __asm__ volatile(".byte 0x0f, 0x1c, 0x00" : : "a"(box->apart + at) : "memory");
#endif
    atomic_store_explicit(flag_of(box->lines), call, memory_order_release); /* acquire: await */
}

static void await(struct box *box, unsigned char *line, uint64_t call)
{
    while (atomic_load_explicit(flag_of(line), memory_order_acquire) < call) { /* release: box_write */
        for (size_t at = 0; way == TOUCHED && at < bytes; at += LINE)
            __builtin_prefetch(box->apart + at);
        hx_pause();
    }
}

static void box_read(struct box *box, unsigned char *to, uint64_t call)
{
    unsigned char *line = box->lines;

    await(box, line, call);
    if (way != FLAGS) {
        memcpy(to, payload_of(box), bytes);
        return;
    }
    for (size_t at = 0; at < bytes; at += LINE - WORD, line += LINE) {
        await(box, line, call);
        memcpy(to + at, line + WORD, part(at));
    }
}

static void *exchange(void *arg)
{
    static uint64_t calls[2];
    int me = arg != NULL;
    _Alignas(LINE) unsigned char in[PAYLOAD_MAX] = {0}, out[PAYLOAD_MAX];
    cpu_set_t cpu;

    CPU_ZERO(&cpu);
    CPU_SET(cpus[me], &cpu);
    pthread_setaffinity_np(pthread_self(), sizeof(cpu), &cpu);
    ns[me] = 1e9;
    for (int batch = 0; batch < BATCHES; batch++) {
        pthread_barrier_wait(&start);
        double begin = (double)hx_now_ns(), each;
        for (int i = 0; i < CALLS; i++) {
            uint64_t call = ++calls[me];
            in[bytes - 1] = (unsigned char)call;
            box_write(&boxes[me][call % 2], in, call);
            box_read(&boxes[!me][call % 2], out, call);
            if (out[bytes - 1] != (unsigned char)call)
                abort();
        }
        each = ((double)hx_now_ns() - begin) / CALLS;
        ns[me] = each < ns[me] ? each : ns[me];
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t other;

    for (int i = 0; i < 2 && argc == 3; i++)
        cpus[i] = atoi(argv[1 + i]);
    pthread_barrier_init(&start, NULL, 2);
    printf("%6s", "bytes");
    for (way = 0; way < NWAYS; way++)
        printf(" %8s", ways[way]);
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        bytes = sizes[s];
        printf("\n%6zu", bytes);
        for (way = 0; way < NWAYS; way++) {
            memset(boxes, 0, sizeof(boxes)); /* what one way writes as payload is a flag of another one's */
            if (pthread_create(&other, NULL, exchange, boxes))
                return 1;
            exchange(NULL);
            pthread_join(other, NULL);
            printf(" %8.0f", ns[0] > ns[1] ? ns[0] : ns[1]);
        }
    }
    printf("\n");
    return 0;
}
