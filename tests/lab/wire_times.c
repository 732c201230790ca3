/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire_times MIB ROUNDS FORMAT...: the time of an all-reduce of MIB MiB of float32 as it is, and in each wire format. The calls alternate in one
 * job, each format on a communicator of its own. Rank 0 prints the median time of ROUNDS calls of each, and by how much a format is faster. The time
 * of a call is that of the slowest rank. Fails if ranks have different bits.
 */
#include <hierax.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { FORMATS_MAX = 8, ROUNDS_MAX = 1000 };

static struct format {
    const char *name;
    hx_comm_t *comm;
    double ms[ROUNDS_MAX];
} formats[FORMATS_MAX];
static hx_comm_t *world;

static void check(hx_status_t status, const char *what)
{
    if (status == HX_SUCCESS)
        return;
    fprintf(stderr, "wire_times: rank %d: %s: %s\n", hx_rank(world), what, hx_error_detail(NULL));
    exit(1);
}

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

static double slowest(double ms)
{
    double most;

    check(hx_allreduce(&ms, &most, 1, HX_FLOAT64, HX_MAX, world), "the slowest rank");
    return most;
}

static void bits_compare(const float *x, size_t count, const char *format)
{
    const unsigned char *bytes = (const unsigned char *)x;
    uint64_t hash = UINT64_C(0xcbf29ce484222325), least, most;

    for (size_t i = 0; i < count * sizeof(*x); i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    check(hx_allreduce(&hash, &least, 1, HX_UINT64, HX_MIN, world), "bits");
    check(hx_allreduce(&hash, &most, 1, HX_UINT64, HX_MAX, world), "bits");
    if (least == most)
        return;
    fprintf(stderr, "wire_times: rank %d: %s: ranks have different bits\n", hx_rank(world), format);
    exit(1);
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static double median(double *ms, int n)
{
    qsort(ms, (size_t)n, sizeof(*ms), by_size);
    return n % 2 ? ms[n / 2] : (ms[n / 2 - 1] + ms[n / 2]) / 2;
}

int main(int argc, char **argv)
{
    const size_t count = argc > 1 ? (size_t)atoi(argv[1]) << 18 : 0;
    const int rounds = argc > 2 ? atoi(argv[2]) : 0, n = argc - 2;
    float *in = malloc(count * sizeof(*in)), *out = malloc(count * sizeof(*out));

    if (count == 0 || rounds < 1 || rounds > ROUNDS_MAX || n > FORMATS_MAX || !in || !out) {
        fprintf(stderr, "usage: wire_times MIB ROUNDS FORMAT...\n");
        return 2;
    }
    check(hx_init(&world), "hx_init");
    for (size_t i = 0; i < count; i++)
        in[i] = (float)((i * 7919 + (size_t)hx_rank(world) * 104729) % 20011) / 10007 - 1;
    for (int f = 0; f < n; f++) {
        formats[f].name = f ? argv[2 + f] : "off";
        check(hx_comm_dup(world, &formats[f].comm), "hx_comm_dup");
        check(hx_comm_set_wire(formats[f].comm, formats[f].name), "hx_comm_set_wire");
    }
    for (int round = -1; round < rounds; round++) /* the first one makes connections and plans, and is not counted */
        for (int f = 0; f < n; f++) {
            double ms;
            check(hx_barrier(world), "hx_barrier");
            ms = now_ms();
            check(hx_allreduce(in, out, count, HX_FLOAT32, HX_SUM, formats[f].comm), formats[f].name);
            ms = slowest(now_ms() - ms);
            if (round >= 0)
                formats[f].ms[round] = ms;
            if (round < 0 || round == rounds - 1)
                bits_compare(out, count, formats[f].name);
        }
    for (int f = 0; f < n && hx_rank(world) == 0; f++) {
        const double ms = median(formats[f].ms, rounds), exact = median(formats[0].ms, rounds);
        printf("%s: median %.2f ms of %d, %.2f times as fast as off\n", formats[f].name, ms, rounds, exact / ms);
    }
    check(hx_finalize(), "hx_finalize");
    free(in);
    free(out);
    return 0;
}
