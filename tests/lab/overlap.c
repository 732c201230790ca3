/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much of a non-blocking all-reduce hides behind computation. usage: overlap MIB [TEST_US]
 *
 * Alone the call takes C and the computation, made about as long, W. Together they take T: the overlap is (C + W - T) / min(C, W),
 * medians of several rounds, in each of which the three take turns, since the speed of a machine drifts. The computation calls nothing,
 * or hx_test every TEST_US microseconds; then the cost of hx_test is told too.
 */
#include "runtime/base/clock.h"
#include "tools/common/median.h"
#include <hierax.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 9 };

static hx_comm_t *world;
static float *in, *out;
static size_t count;

static void check(hx_status_t status)
{
    if (status != HX_SUCCESS) {
        fprintf(stderr, "%s: %s\n", hx_strerror(status), hx_error_detail(world));
        exit(1);
    }
}

static double steps_per_second;

/* A piece of work that touches no memory. */
static double work(long steps)
{
    volatile double x = 1;

    for (long i = 0; i < steps; i++)
        x = x * 0.999999 + 0.000001;
    return x;
}

static double call_alone(void)
{
    hx_request_t *request;
    double start;

    check(hx_barrier(world));
    start = hx_now_s();
    check(hx_iallreduce(in, out, count, HX_FLOAT32, HX_SUM, world, &request));
    check(hx_wait(request));
    return hx_now_s() - start;
}

/* Work for so many seconds of its own time, testing every test_s (0: never) if there is a call; then wait for that. */
static double work_with(int call, double seconds, double test_s, double *tests, double *testing)
{
    long left = (long)(seconds * steps_per_second), piece = test_s > 0 ? (long)(test_s * steps_per_second) : left;
    hx_request_t *request = NULL;
    double start;
    int done = !call;

    check(hx_barrier(world));
    start = hx_now_s();
    if (call)
        check(hx_iallreduce(in, out, count, HX_FLOAT32, HX_SUM, world, &request));
    for (; left > 0; left -= piece) {
        work(left < piece ? left : piece);
        if (test_s > 0 && !done) {
            double before = hx_now_s();
            check(hx_test(request, &done));
            *testing += hx_now_s() - before;
            ++*tests;
        }
    }
    if (!done)
        check(hx_wait(request));
    return hx_now_s() - start;
}

int main(int argc, char **argv)
{
    double alone[ROUNDS], working[ROUNDS], together[ROUNDS], test_s = argc > 2 ? atof(argv[2]) * 1e-6 : 0;
    double tests = 0, testing = 0, start, c, w, t;

    if (hx_init(&world) != HX_SUCCESS)
        return 1;
    count = (size_t)(argc > 1 ? atol(argv[1]) : 1) * 1048576 / sizeof(float);
    in = malloc(count * sizeof(*in));
    out = malloc(count * sizeof(*out));
    if (!in || !out)
        return 1;
    for (size_t i = 0; i < count; i++)
        in[i] = (float)(i % 1000);
    start = hx_now_s();
    work(20000000);
    steps_per_second = 20000000 / (hx_now_s() - start);
    call_alone(); /* opens connections */
    c = call_alone();
    check(hx_bcast(&c, 1, HX_FLOAT64, 0, world));
    for (int i = 0; i < ROUNDS; i++) {
        alone[i] = call_alone();
        working[i] = work_with(0, c, 0, NULL, NULL);
        together[i] = work_with(1, c, test_s, &tests, &testing);
    }
    c = median(alone, ROUNDS);
    w = median(working, ROUNDS);
    t = median(together, ROUNDS);
    for (size_t i = 0; i < count; i += 997)
        if (out[i] != in[i] * (float)hx_size(world)) {
            fprintf(stderr, "element %zu is %g\n", i, out[i]);
            return 1;
        }
    if (hx_rank(world) == 0) {
        printf("call %.1f ms, work %.1f ms, together %.1f ms: overlap %.0f %%", c * 1e3, w * 1e3, t * 1e3,
               100 * (c + w - t) / (c < w ? c : w));
        if (tests > 0)
            printf(", %.0f tests of %.1f us each", tests / ROUNDS, testing / tests * 1e6);
        printf("\n");
    }
    free(in);
    free(out);
    return hx_finalize() != HX_SUCCESS;
}
