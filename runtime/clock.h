/* SPDX-License-Identifier: BSD-3-Clause */
/* Clocks, and moments until which something is waited for. A process that was stopped (SIGTSTP, SIGSTOP, a machine that slept) has not
 * waited: of a gap in which nobody looked at the clock only HX_UNSEEN_NS count. So a wait with a deadline sleeps for at most
 * HX_LOOK_MS, and looks again. */
#ifndef HX_CLOCK_H
#define HX_CLOCK_H
#include <stdint.h>
#include <time.h>

#define HX_UNSEEN_NS 1000000000u /* the most that counts of a time in which nobody looked */
#define HX_LOOK_MS 500           /* the longest sleep between two looks */

static inline uint64_t hx_clock_ns(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* What counts of the time from *last (0: none yet) until now, which becomes *last. */
static inline uint64_t hx_clock_counted(uint64_t *last, uint64_t now)
{
    const uint64_t gone = *last ? now - *last : 0;

    *last = now;
    return gone < HX_UNSEEN_NS ? gone : HX_UNSEEN_NS;
}

/* Seconds, monotonic, without the gaps in which no thread of this process looked here. */
double hx_clock_awake(void);
double hx_deadline(double timeout); /* a moment of that clock; 0 stays 0: never */
int hx_deadline_passed(double deadline);
int hx_deadline_ms(double deadline); /* how long to sleep before the next look, for poll */

#endif
