/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hx_abort. The order matters:
 *   1  a thread ends the process after a bounded time, whatever the rest of this waits for
 *   2  this thread takes the world and the lock of Hierax, and keeps them. So no other thread can return from a call, or from hx_finalize,
 *      and end the process with another status
 *   3  coll_run, then the ranks of this node by the segment, then those of other nodes by control messages
 *   4  the trace, stdio's buffers, _exit. Functions of atexit do not run: they may wait for a thread that waits for the lock.
 */
#include "runtime/api/call.h"
#include "runtime/api/failed.h"
#include "runtime/api/lock.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/engine/liveness.h"
#include "runtime/engine/trace_spans.h"
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define LIMIT_SECONDS 2     /* for all of it */
#define LOCK_SECONDS 0.5    /* for a lock: a thread may be in an operation of the program */
#define LOCK_STEP_NS 200000

static void *limit(void *status)
{
    nanosleep(&(struct timespec){.tv_sec = LIMIT_SECONDS}, NULL); /* no signal can interrupt it: all are blocked */
    _exit(*(const int *)status);
}

/* Returns whether the process ends in time now. */
static int limit_begin(int *status)
{
    sigset_t all, before;
    pthread_t thread;
    int begun;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    begun = pthread_create(&thread, NULL, limit, status) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return begun;
}

/* Returns whether this thread has it now. If this is a signal handler, its own thread may hold it for ever. */
static int mutex_take(pthread_mutex_t *mutex)
{
    const double deadline = hx_deadline(LOCK_SECONDS);
    int taken;

    while (!(taken = pthread_mutex_trylock(mutex) == 0) && !hx_deadline_passed(deadline))
        nanosleep(&(struct timespec){.tv_nsec = LOCK_STEP_NS}, NULL);
    return taken;
}

/* Returns whether this thread is the only one in Hierax. */
static int lock_take(void)
{
    if (hx_is_folding())
        return 1;
    atomic_fetch_add_explicit(&hx_inside.wanted, 1, memory_order_relaxed);
    return mutex_take(&hx_inside.mutex);
}

/* As much as fits, on one line. */
static void words_set(char words[HX_LAST_WORDS_BYTES], const char *text)
{
    snprintf(words, HX_LAST_WORDS_BYTES, "%s", text ? text : "");
    hx_one_line(words);
}

static void others_tell(const char *words)
{
    const int alone = lock_take();

    for (struct hx_world *world = hx_world; world; world = world->older) {
        if (world->boot)
            hx_boot_vanish(world->boot);
        hx_watch_tell_abort(world->process.shared, world->process.rank, words);
        if (alone && world->process.net)
            hx_failed_abort(world);
        if (alone && HX_TRACING)
            hx_trace_write(world);
    }
}

void hx_abort(hx_comm_t *comm, int code, const char *text)
{
    static _Atomic pid_t first; /* the process, so that a child made by fork meanwhile can call it too */
    static int status;
    char words[HX_LAST_WORDS_BYTES];
    pid_t before = 0;

    (void)comm;
    while (!atomic_compare_exchange_strong(&first, &before, getpid()))
        while (before == getpid()) /* another thread ends this process; a signal ends a pause */
            pause();
    status = code & 0xff ? code & 0xff : 1;
    words_set(words, text);
    const int limited = limit_begin(&status);
    if (mutex_take(&hx_world_change) && hx_world) /* now it stays until the process ends */
        others_tell(words);
    hx_log(HX_LOG_ERROR, "hx_abort%s%s; this process ends with status %d", *words ? ": " : "", words, status);
    if (limited) /* a pipe may be full, or a thread may hold a stream's lock */
        fflush(NULL);
    _exit(status);
}
