/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A newcomer that is killed while it joins. usage: grown_dies WHERE WHEN. WHEN:
 *   admitted   it knows that it is admitted
 *   met        it has connected to the session
 *   fenced     it has passed the first fence of the start
 *   started    it has gone through the start, and all know its address. The members wait for it in the first call of the new world
 *   stops      as met, but it stays, stopped, until it is killed or continued from outside
 *   stalls     the same, as started
 */
#include "runtime/start/grow.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void die(const char *when, const char *now)
{
    if ((!strcmp(when, "stops") && !strcmp(now, "met")) || (!strcmp(when, "stalls") && !strcmp(now, "started"))) {
        puts("stopped");
        fflush(stdout);
        raise(SIGSTOP);
    }
    if (!strcmp(when, now))
        raise(SIGKILL);
}

int main(int argc, char **argv)
{
    struct hx_lobby_place place;
    struct hx_session session;
    struct hx_visit *visit;
    struct hx_boot *boot;
    struct hx_world *world;
    struct hx_env env;
    int refused, lost;

    if (argc != 3 || hx_env_load(&env, NULL) != HX_SUCCESS || hx_lobby_place_parse("", argv[1], &place) != HX_SUCCESS ||
        hx_visit_open(&place, env.secret, 30, &refused, &visit) != HX_SUCCESS || hx_visit_wait(visit, &lost, &session) != HX_SUCCESS)
        return 2;
    die(argv[2], "admitted");
    if (hx_boot_open_session(&place, env.secret, &session, 60, &boot) != HX_SUCCESS)
        return 3;
    die(argv[2], "met");
    if (!strcmp(argv[2], "fenced") && hx_boot_fence(boot) == HX_SUCCESS)
        die(argv[2], "fenced");
    if (hx_world_open(&(struct hx_opening){.boot = boot, .generation = session.generation, .node = session.node}, &world) != HX_SUCCESS)
        return 4;
    die(argv[2], "started");
    return 5;
}
