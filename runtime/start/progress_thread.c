/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HX_PROGRESS_THREAD: a thread of Hierax that makes progress on non-blocking calls while the program's threads compute. It is
 * pinned to a core of this process (topo/helper.h) that no other progress thread of the node has taken. The thread sleeps most of
 * the time, and messages wake it. Without a pin the kernel would run it on any core that has room: far from the network interface,
 * or in the way of the program's threads.
 */
#include "runtime/api/call.h"
#include "runtime/base/log.h"
#include "runtime/start/startup.h"
#include "topo/helper.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TURN_NS 100000 /* it works in short bursts */

struct turn { /* of the thread's work */
    struct hx_world *world;
    struct hx_wait_clock wait_clock;
};

static int thread_look(void *ctx)
{
    struct turn *turn = ctx;
    struct hx_world *world = turn->world;

    hx_requests_look(&world->process, hx_progress_all(&world->process));
    turn->wait_clock.naps = 0;
    for (const struct hx_engine *engine = world->process.active; engine; engine = engine->next_active)
        turn->wait_clock.naps |= engine->wait_clock.naps;
    return !hx_calls_are_active(&world->process) || world->ends || hx_notices_wait(world);
}

static void thread_check(void *ctx)
{
    hx_requests_check(&((struct turn *)ctx)->world->process);
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
    hx_inside_lock(&hx_inside);
    while (!world->ends) {
        struct turn turn = {.world = world};
        hx_notices_tell(world);
        if (hx_calls_are_active(&world->process)) {
            hx_sleep_until(&world->process.waiter, &(struct hx_wait){.look = thread_look, .slow = thread_check, .ctx = &turn,
                                                                     .wait_clock = &turn.wait_clock});
            hx_inside_unlock(&hx_inside); /* tells the news */
            hx_inside_lock(&hx_inside);
            continue;
        }
        hx_inside.locked = 0;
        pthread_cond_wait(&world->work, &hx_inside.mutex);
        hx_inside.locked = 1;
    }
    hx_inside_unlock(&hx_inside);
    return NULL;
}

/* ---- where ------------------------------------------------------------------------------------------------------- */

#define UNITS_MAX 1024

static int is_none(const char *text)
{
    return !strcmp(text, "none");
}

hx_status_t hx_progress_core_check(const struct hx_env *env, const struct hx_topo *topo)
{
    char error[HX_TOPO_ERROR_BYTES];
    int unit;

    if (!env->progress_core || is_none(env->progress_core) ||
        hx_helper_units_parse(topo, env->progress_core, &unit, 1, error) > 0)
        return HX_SUCCESS;
    return hx_fail(HX_ERR_ENV, "HX_PROGRESS_CORE=%s: %s", env->progress_core, error);
}

/* Is it this rank's now? */
static int unit_take(struct hx_shared *shared, int unit)
{
    uint64_t bit = UINT64_C(1) << (unit % 64);

    return unit < UNITS_MAX &&
           !(atomic_fetch_or_explicit(&shared->header->helpers[unit / 64], bit, memory_order_relaxed) & bit);
}

/* The best that is free; -1, and why: none. A thread would be worse off on another's core than where the kernel finds room. */
static int unit_find(const struct hx_world *world, const struct hx_topo *topo, int *units, const char **why)
{
    struct hx_nic nic;
    int count;

    if (world->process.net)
        hx_registry.net->nic(world->process.net, &nic);
    count = hx_helper_units(topo, world->process.net ? &nic : NULL, sched_getcpu(), units, UNITS_MAX);
    for (int i = 0; i < count; i++)
        if (unit_take(world->process.shared, units[i]))
            return units[i];
    *why = count > 0 ? "progress threads of other ranks use all cores of this process" : "this process has one core";
    return -1;
}

/* The setting's; its places are counted from the node's first rank on. */
static int unit_set(const struct hx_world *world, const struct hx_topo *topo, int *units)
{
    char error[HX_TOPO_ERROR_BYTES];
    const char *text = world->process.env->progress_core;
    int count = is_none(text) ? 0 : hx_helper_units_parse(topo, text, units, UNITS_MAX, error);

    return count > 0 ? units[world->process.shared->me % count] : -1;
}

static void thread_pin(const struct hx_world *world)
{
    char error[HX_TOPO_ERROR_BYTES];
    const char *why = "HX_PROGRESS_CORE=none";
    int units[UNITS_MAX], unit;
    struct hx_topo *topo;

    if (hx_topo_open(NULL, NULL, 1, &topo, error) < 0) {
        hx_warn("HX_PROGRESS_THREAD: not pinned: %s", error);
        return;
    }
    unit = world->process.env->progress_core ? unit_set(world, topo, units) : unit_find(world, topo, units, &why);
    if (unit < 0)
        hx_info("progress thread: not pinned: %s", why);
    else if (hx_helper_pin(topo, world->progress_thread, unit) == 0)
        hx_info("progress thread: pinned to processing unit %d", unit);
    else
        hx_warn("HX_PROGRESS_THREAD: cannot be pinned to processing unit %d: %s", unit, strerror(errno));
    hx_topo_close(topo);
}

/* ---- beginning and end ------------------------------------------------------------------------------------------- */

void hx_progress_thread_start(struct hx_world *world)
{
    sigset_t all, old;
    int error;

    if (!world->process.env->progress_thread)
        return;
    pthread_cond_init(&world->work, NULL);
    sigfillset(&all); /* signals are for the program's own threads */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    error = pthread_create(&world->progress_thread, NULL, thread_main, world);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    world->has_thread = !error;
    if (error) { /* the other ranks have started: continue without the thread */
        hx_warn("HX_PROGRESS_THREAD: cannot start a thread: %s", strerror(error));
        return;
    }
    pthread_setname_np(world->progress_thread, "hierax-progress");
    thread_pin(world);
}

void hx_progress_thread_end(struct hx_world *world)
{
    if (!world->has_thread)
        return;
    hx_inside_lock(&hx_inside);
    world->ends = world->process.waiter.news = 1;
    pthread_cond_signal(&world->work);
    hx_inside_unlock(&hx_inside);
    pthread_join(world->progress_thread, NULL);
    pthread_cond_destroy(&world->work);
    world->has_thread = 0;
}
