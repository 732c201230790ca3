/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads: one of them at a time is in Hierax; the public functions take this lock, and a thread that waits inside releases it
 * between two looks. A process of a single thread, as the C library knows it, never locks.
 *
 * The thread that holds the lock makes progress on the calls of all threads. If a sleeping thread may wait for this progress, the
 * holder wakes the sleepers when it releases the lock (hx_notify).
 */
#pragma once

#include "runtime/api/comm.h"
#if defined(__has_include) && __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define HX_SINGLE_THREADED __libc_single_threaded
#else
#define HX_SINGLE_THREADED 0
#endif

static inline void hx_lock(void)
{
    if (!HX_SINGLE_THREADED && hx_world)
        hx_inside_lock(&hx_inside);
}

static inline void hx_unlock(void)
{
    if (hx_world && hx_inside.locked)
        hx_inside_unlock(&hx_inside);
}

/* Is it this thread? The call that runs the operation holds the lock and the engine, so a call made from there would wait for itself. */
static inline int hx_is_folding(void)
{
    /* relaxed: only what this thread has written itself matters */
    return __builtin_expect(atomic_load_explicit(&hx_folder, memory_order_relaxed) != 0, 0) &&
           atomic_load_explicit(&hx_folder, memory_order_relaxed) == (uintptr_t)pthread_self();
}

hx_status_t hx_folding_refuse(void); /* the status of a call made from there */

static inline void hx_leave(const int *inside)
{
    (void)inside;
    hx_unlock();
}

/* First in a public function, behind its declarations: be inside until it returns. */
#define HX_ENTER()                                                                                                     \
    if (hx_is_folding())                                                                                               \
        return hx_folding_refuse();                                                                                    \
    hx_lock();                                                                                                         \
    const int inside __attribute__((cleanup(hx_leave), unused)) = 0
