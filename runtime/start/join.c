/* SPDX-License-Identifier: BSD-3-Clause */
/* hx_join: a process waits in a store (runtime/bootstrap/lobby.h) until a world that runs admits it. grow.c is the members' side. */
#include "runtime/api/call.h"
#include "runtime/api/lock.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/start/grow.h"
#include <math.h>
#include <time.h>

#define VISIT_SECONDS 10.0   /* for one connection */
#define PAUSE_NS 100000000   /* until the next one */
#define TRIES 8              /* starts that fail for a reason that may be this process's own */

struct joining {
    struct hx_env env;
    struct hx_lobby_place place;
    const char *secret;
    struct hx_visit *visit;
};

/* The store may be started again at any time. Past HX_TIMEOUT without a store it counts as gone. */
static hx_status_t store_visit(struct joining *j)
{
    const double timeout = j->env.timeout, deadline = hx_deadline(timeout);
    double seconds = timeout > 0 ? fmin(timeout, VISIT_SECONDS) : VISIT_SECONDS;
    hx_status_t status;
    int refused = 0;

    while ((status = hx_visit_open(&j->place, j->secret, seconds, &refused, &j->visit)) != HX_SUCCESS && !refused) {
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
        if (hx_deadline_passed(deadline))
            return hx_fail(status, "%s; tried for %g s (HX_TIMEOUT)", hx_last_detail(), timeout);
        if (timeout > 0)
            seconds = fmin(seconds, deadline - hx_clock_awake());
    }
    return status;
}

/* Until members admit this process. */
static hx_status_t admission_await(struct joining *j, struct hx_session *session)
{
    hx_status_t status;
    int lost;

    do {
        hx_visit_close(j->visit);
        j->visit = NULL;
        lost = 0;
        if ((status = store_visit(j)) != HX_SUCCESS)
            return status;
        hx_info("hx_join: this process waits in the store at %s until the ranks of %s admit it (hx_comm_grow)", j->place.at, j->place.name);
        status = hx_visit_wait(j->visit, &lost, session);
    } while (lost);
    return status;
}

/* Has the start failed for another process's reason, as far as this one knows? rank: this process's, in the session. */
static int is_others(hx_status_t status, int culprit, int rank)
{
    if (status == HX_ERR_PEER_DEAD || status == HX_ERR_TIMEOUT) /* the culprit is the rank that has noticed */
        return 1;
    return culprit >= 0 ? culprit != rank : status == HX_ERR_TRANSPORT;
}

/* Meet the members. *again: the start has failed, but for another process's reason, as far as this one knows. */
static hx_status_t session_join(struct joining *j, const struct hx_session *session, int *tries, int *again, hx_comm_t **out)
{
    struct hx_world *world = NULL;
    struct hx_boot *boot;
    hx_status_t status;
    int culprit = -1;

    if ((status = hx_boot_open_session(&j->place, j->secret, session, j->env.timeout, &boot)) == HX_SUCCESS)
        status = hx_growth_open(session, boot, NULL, &world, &culprit);
    if (status == HX_SUCCESS) {
        hx_growth_keep(world);
        *out = world->comms;
        return status;
    }
    *again = is_others(status, culprit, session->rank) || (culprit < 0 && --*tries > 0);
    hx_growth_drop(world, status);
    return status;
}

static hx_status_t join(struct joining *j, hx_comm_t **out)
{
    struct hx_session session;
    hx_status_t status;
    int tries = TRIES, again;

    do {
        again = 0;
        hx_fail_hold();
        if ((status = admission_await(j, &session)) == HX_SUCCESS)
            status = session_join(j, &session, &tries, &again, out);
        hx_fail_release(0);
        if (again)
            hx_info("hx_join: the start of generation %llu has failed, waiting again: %s", (unsigned long long)session.generation,
                    hx_last_detail());
    } while (again);
    hx_visit_close(j->visit); /* only now: it tells the store that this process lives */
    return status == HX_SUCCESS ? status : hx_fail(status, "hx_join %s/%s: %s", j->place.at, j->place.name, hx_last_detail());
}

hx_status_t hx_join(const char *where, hx_comm_t **out)
{
    struct joining j = {.visit = NULL};
    hx_status_t status;

    if (!out)
        return hx_fail(HX_ERR_ARG, "hx_join: out is NULL");
    *out = NULL;
    if (hx_is_folding())
        return hx_folding_refuse();
    if (hx_world_is_parents())
        return hx_fail(HX_ERR_STATE, "hx_join: Hierax %s", hx_world_ended());
    if ((status = hx_notice_refuse("hx_join")) != HX_SUCCESS)
        return status;
    if (!hx_growth_begin())
        return hx_fail(HX_ERR_STATE, "hx_join: another thread is in hx_join or hx_comm_grow");
    if ((status = hx_env_load(&j.env, NULL)) == HX_SUCCESS) {
        if (!where && !j.env.store)
            status = hx_fail(HX_ERR_ENV, "hx_join: where is NULL, and HX_STORE is not set: it is host:port/name, the address of coll_store");
        else
            status = hx_lobby_place_parse(where ? "hx_join: where " : "HX_STORE=", where ? where : j.env.store, &j.place);
    }
    j.secret = j.env.secret ? j.env.secret : "";
    if (status == HX_SUCCESS)
        status = join(&j, out);
    hx_env_release(&j.env);
    hx_growth_end();
    return status;
}
