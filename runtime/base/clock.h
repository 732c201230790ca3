/* SPDX-License-Identifier: BSD-3-Clause */
/* Clocks and deadlines. Time in which a process was stopped (SIGTSTP, SIGSTOP, a machine that slept) is not waiting time. So if no
 * thread looked at the clock for a while, only HX_UNSEEN_NS of that gap count. Therefore a wait with a deadline sleeps at most
 * HX_LOOK_MS before it looks again. */
#pragma once

#include <stdint.h>
#include <time.h>

#define HX_UNSEEN_NS 1000000000u /* the most that counts of a gap between two looks */
#define HX_LOOK_MS 500           /* the longest sleep between two looks */

static inline uint64_t hx_clock_ns(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* CLOCK_MONOTONIC; it is read in user space, in some 25 ns. */
static inline uint64_t hx_now_ns(void)
{
    return hx_clock_ns(CLOCK_MONOTONIC);
}

static inline double hx_now_s(void)
{
    return 1e-9 * (double)hx_now_ns();
}

/* The part that counts of the time from *last to now; *last 0: there is no last look yet. Sets *last to now. */
static inline uint64_t hx_clock_counted(uint64_t *last, uint64_t now)
{
    const uint64_t gone = *last ? now - *last : 0;

    *last = now;
    return gone < HX_UNSEEN_NS ? gone : HX_UNSEEN_NS;
}

/* Seconds of a monotonic clock that leaves out the gaps in which no thread of this process called this function. */
double hx_clock_awake(void);
double hx_deadline(double timeout); /* timeout seconds from now on that clock; 0 stays 0: never */
int hx_deadline_passed(double deadline);
int hx_deadline_ms(double deadline); /* how long to sleep before the next look, for poll */
