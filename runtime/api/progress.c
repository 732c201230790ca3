/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hx_progress: for a program that waits outside Hierax. It polls once, and never waits, not even for the lock: the thread that holds the
 * lock makes progress on the calls of all threads.
 *
 * A network may still have to send data of calls that have returned, and does not report when it has. So hx_progress polls the network even
 * if no call is under way, but then only seldom.
 */
#include "runtime/api/call.h"
#include "runtime/api/lock.h"

#define NET_LOOK_EVERY 16 /* if no call is under way, one in so many calls of hx_progress polls the network */

static int is_active(const struct hx_world *world)
{
    return hx_calls_are_active(&world->process) || hx_p2p_is_due(&world->process) || world->notices.first || world->notices.running;
}

static void worlds_look(void)
{
    struct hx_process *process = &hx_world->process;
    int events = hx_progress_all(process); /* on calls of the other worlds too */

    for (const struct hx_world *world = hx_world; world; world = world->older) {
        hx_requests_look(&world->process, &world->process == process ? events : 0);
        hx_requests_check(&world->process);
    }
    for (struct hx_world *world = hx_world; world; world = world->older)
        if (hx_notices_wait(world)) {
            hx_notices_tell(world); /* this lets go of the lock, and other worlds may end: the next call serves them */
            break;
        }
}

int hx_progress(void)
{
    static unsigned looks; /* under the lock */
    int active = 0, has_net = 0;

    if (!hx_world || hx_is_folding())
        return 0;
    if (!HX_SINGLE_THREADED && !hx_inside_try(&hx_inside))
        return 1;
    for (const struct hx_world *world = hx_world; world; world = world->older) {
        active |= is_active(world);
        has_net |= world->process.net != NULL;
    }
    if (active || (has_net && ++looks % NET_LOOK_EVERY == 0)) {
        worlds_look();
        active = 0;
        for (const struct hx_world *world = hx_world; world; world = world->older)
            active |= is_active(world);
    }
    hx_unlock();
    return active || has_net;
}
