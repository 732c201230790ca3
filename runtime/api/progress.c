/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hx_progress: for a program that waits outside Hierax. It looks once, and never waits, not even for the lock: the thread that holds the
 * lock makes progress on the calls of all threads.
 *
 * A network may still have to send what calls that have returned gave it, and cannot tell when it has. So a process with a network always
 * looks at it, but seldom if no call is under way.
 */
#include "runtime/api/call.h"
#include "runtime/api/lock.h"

#define NET_LOOK_EVERY 16 /* calls of hx_progress per look at the network, if no call is under way */

static int is_active(const struct hx_world *world)
{
    return hx_calls_are_active(&world->process) || hx_p2p_is_due(&world->process) || world->notices.first || world->notices.running;
}

static void worlds_look(void)
{
    struct hx_process *process = &hx_world->process;
    int events = hx_progress_all(process); /* on those of the other worlds too */

    for (const struct hx_world *world = hx_world; world; world = world->older) {
        hx_requests_look(&world->process, &world->process == process ? events : 0);
        hx_requests_check(&world->process);
    }
    for (struct hx_world *world = hx_world; world; world = world->older)
        if (hx_notices_wait(world)) {
            hx_notices_tell(world); /* without the lock: other worlds may end meanwhile, so they wait for the next call */
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
