/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads: one of them at a time is in Hierax; the public functions take this lock, and who waits inside lets it go
 * between two looks. A process of a single thread, as the C library knows it, never locks.
 *
 * Whoever is inside moves the calls of all threads. What it has moved may be what a sleeping thread waits for: letting
 * go, it then wakes the sleepers (hx_news).
 */
#ifndef HX_LOCK_H
#define HX_LOCK_H
#include "comm.h"
#if defined(__has_include) && __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define HX_SINGLE_THREADED __libc_single_threaded
#else
#define HX_SINGLE_THREADED 0
#endif

static inline void hx_lock(void)
{
    if (!HX_SINGLE_THREADED && hx_world)
        hx_waiter_lock(&hx_world->waiter);
}

static inline void hx_unlock(void)
{
    if (hx_world && hx_world->waiter.locked)
        hx_waiter_unlock(&hx_world->waiter);
}

/* The status of a call made inside. */
#define HX_LOCKED(call)                                                                                                \
    __extension__({                                                                                                    \
        hx_lock();                                                                                                     \
        hx_status_t locked_status = (call);                                                                            \
        hx_unlock();                                                                                                   \
        locked_status;                                                                                                 \
    })

/* Something has moved that another thread may wait for. */
static inline void hx_news(struct hx_world *world)
{
    world->waiter.news = 1;
}

#endif
