/* SPDX-License-Identifier: BSD-3-Clause */
/* HX_PROGRESS_THREAD: a thread of our own that lets non-blocking calls move while the program's threads compute. */
#include "call.h"
#include "log.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TURN_NS 100000 /* it works in short bursts */

static int thread_look(void *ctx)
{
    struct hx_world *world = ctx;

    hx_progress_all(world);
    return !world->active || world->ends;
}

/* Ask to run soon after a wake-up, though the program's threads keep the cores busy: Linux from 6.12 on lets who asks for short turns
 * interrupt who takes long ones; earlier versions let the one that has slept do so, and ignore this. */
static void ask_for_short_turns(void)
{
    struct { /* sched_attr, which the C library does not declare */
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } attr = {.size = sizeof(attr), .policy = SCHED_OTHER, .runtime = TURN_NS};
    long refused = syscall(SYS_sched_setattr, 0, &attr, 0);

    (void)refused; /* it may come late then, no more */
}

/* Inside like any other thread, but only while non-blocking calls are under way. */
static void *thread_main(void *arg)
{
    struct hx_world *world = arg;

    ask_for_short_turns();
    hx_waiter_lock(&world->waiter);
    while (!world->ends) {
        if (world->active) {
            hx_sleep_until(&world->waiter, thread_look, NULL, world, 0);
            hx_waiter_unlock(&world->waiter); /* tells the news */
            hx_waiter_lock(&world->waiter);
            continue;
        }
        world->waiter.locked = 0;
        pthread_cond_wait(&world->work, &world->waiter.mutex);
        world->waiter.locked = 1;
    }
    hx_waiter_unlock(&world->waiter);
    return NULL;
}

void hx_progress_thread_start(struct hx_world *world)
{
    sigset_t all, old;
    int error;

    if (!world->env->progress_thread)
        return;
    pthread_cond_init(&world->work, NULL);
    sigfillset(&all); /* signals are for the program's own threads */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    error = pthread_create(&world->progress_thread, NULL, thread_main, world);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    world->has_thread = !error;
    if (error) /* the other ranks have started: go on without */
        hx_warn("HX_PROGRESS_THREAD: cannot start a thread: %s", strerror(error));
}

void hx_progress_thread_end(struct hx_world *world)
{
    if (!world->has_thread)
        return;
    hx_waiter_lock(&world->waiter);
    world->ends = world->waiter.news = 1;
    pthread_cond_signal(&world->work);
    hx_waiter_unlock(&world->waiter);
    pthread_join(world->progress_thread, NULL);
    pthread_cond_destroy(&world->work);
    world->has_thread = 0;
}
