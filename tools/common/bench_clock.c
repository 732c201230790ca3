/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One moment for ranks that share no memory: rank 0 names it by its own clock, and each rank knows how far its clock is
 * from that.
 *
 *     rank 0   ---- a0 ------------------ b0 ---->     a, b: read before and after an all-gather of the a
 *                       \   all-gather  /
 *     rank r   ------ ar ------------------- br -->    no rank has a0 before it is read:  br - offset >= a0, b0 >= ar - offset
 *
 * so that ar - b0 <= offset <= br - a0; the tightest bounds of many rounds are a few microseconds apart.
 * Source: F. Cristian, "Probabilistic clock synchronization", Distributed Computing 3, 1989; windows as in S. Hunold
 * and A. Carpen-Amarie, "Reproducible MPI benchmarking is still not as easy as you think", IEEE TPDS 27, 2016.
 */
#include "tools/common/bench_backend.h"
#include <sched.h>
#include <stdlib.h>

#define ROUNDS 100
#define LEAD_FACTOR 4 /* of a broadcast of the moment, so that everybody has it in time */
#define LEAD_LEAST_NS 20e3
#define DRIFT_NS 1e9 /* clocks of machines drift apart, by some millionths: after so long they are compared again */

static double offset_ns; /* our clock's reading less rank 0's */
static double lead_ns;
static double compared_ns; /* when */

int bench_clock_open(const struct bench_job *job)
{
    double *all = malloc((size_t)job->size * sizeof(*all)), lower = -1e300, upper = 1e300, took = 0, longest;
    int failed = !all;

    for (int i = 0; i < ROUNDS && !failed; i++) {
        double before = 1e9 * hx_now_s(), after;
        failed = bench_allgather(&before, all, 1, HX_FLOAT64);
        after = 1e9 * hx_now_s();
        upper = !failed && after - all[0] < upper ? after - all[0] : upper;
        took += (after - before) / ROUNDS;
        failed = failed || bench_allgather(&after, all, 1, HX_FLOAT64);
        lower = !failed && before - all[0] > lower ? before - all[0] : lower;
    }
    free(all);
    if (failed || bench_allreduce(&took, &longest, 1, HX_FLOAT64, HX_MAX))
        return -1;
    offset_ns = job->rank ? (lower + upper) / 2 : 0;
    compared_ns = 1e9 * hx_now_s();
    lead_ns = LEAD_FACTOR * longest > LEAD_LEAST_NS ? LEAD_FACTOR * longest : LEAD_LEAST_NS;
    return 0;
}

double bench_clock_start(const struct bench_job *job)
{
    struct {
        double start, compares; /* or first all compare clocks */
    } said;
    do {
        int failed = bench_barrier(); /* no rank still writes inputs when rank 0 names the moment */
        said.start = 1e9 * hx_now_s() + lead_ns;
        said.compares = job->machines > 1 && 1e9 * hx_now_s() - compared_ns > DRIFT_NS;
        if (failed || bench_bcast(&said, 2, HX_FLOAT64, 0))
            return 1e9 * hx_now_s(); /* the call that is timed next will fail, too, and tell */
    } while (said.compares && bench_clock_open(job) == 0);
    double start = said.start + offset_ns;
    while (1e9 * hx_now_s() < start)
        if (job->oversubscribed)
            sched_yield();
    return start;
}
