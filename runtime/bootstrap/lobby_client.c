/* SPDX-License-Identifier: BSD-3-Clause */
/* See lobby_client.h. The connection is that of a rank to its store (store_client.h). */
#include "runtime/bootstrap/lobby_client.h"
#include "runtime/bootstrap/store_client.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SESSION_SECONDS 10.0 /* to connect to a session, whose host may be slow */

struct hx_visit {
    struct hx_tcp tcp;
    struct hx_lobby_place place;
};

hx_status_t hx_lobby_place_parse(const char *label, const char *text, struct hx_lobby_place *place)
{
    const char *slash = strrchr(text, '/');
    const size_t at = slash ? (size_t)(slash - text) : 0, name = slash ? strlen(slash + 1) : 0;

    if (at < 3 || at >= sizeof place->at || name < 1 || name > HX_LOBBY_NAME_MAX || !memchr(text, ':', at))
        return hx_fail(HX_ERR_ENV, "%s\"%s\" is not host:port/name, the address of coll_store and one of its names", label, text);
    memcpy(place->at, text, at);
    place->at[at] = '\0';
    memcpy(place->name, slash + 1, name + 1);
    return HX_SUCCESS;
}

/* The text for a process in the store's list. */
static void who_write(char *text, size_t bytes)
{
    char host[64] = "";

    gethostname(host, sizeof host - 1);
    snprintf(text, bytes, "pid %d on %s", (int)getpid(), host);
}

static void tcp_end(struct hx_tcp *tcp)
{
    if (tcp->fd >= 0)
        close(tcp->fd);
    if (tcp->root.addresses)
        freeaddrinfo(tcp->root.addresses);
    free(tcp->answer.value);
}

/* That a store does not answer in time is an error of the store. The time-out of the communicator has not passed. */
static hx_status_t of_visit(hx_status_t status)
{
    return status == HX_ERR_TIMEOUT ? HX_ERR_BOOTSTRAP : status;
}

static hx_status_t visit_request(struct hx_visit *visit, enum hx_store_op op, const char *text)
{
    return of_visit(hx_tcp_request(&visit->tcp, op, visit->place.name, text, strlen(text)));
}

hx_status_t hx_visit_open(const struct hx_lobby_place *place, const char *secret, double seconds, int *refused, struct hx_visit **out)
{
    struct hx_visit *visit = calloc(1, sizeof *visit);
    hx_status_t status;

    *out = NULL;
    *refused = 0;
    if (!visit)
        return hx_fail(HX_ERR_NOMEM, "no memory for a connection to the store");
    visit->place = *place;
    visit->tcp.fd = -1;
    visit->tcp.server = HX_STORE_LAUNCHER;
    visit->tcp.boot.timeout = seconds;
    visit->tcp.own_limit = 1;
    if ((status = hx_root_resolve("", place->at, &visit->tcp.root)) == HX_SUCCESS) {
        visit->tcp.root.once = visit->tcp.root.lobby = 1;
        status = of_visit(hx_tcp_join(&visit->tcp, secret));
    }
    *refused = (visit->tcp.broken != HX_SUCCESS && visit->tcp.broken != HX_ERR_TIMEOUT) || status == HX_ERR_ENV;
    if (status == HX_SUCCESS)
        *out = visit;
    else
        hx_visit_close(visit);
    return status;
}

int hx_visit_is_lost(const struct hx_visit *visit)
{
    return visit->tcp.broken != HX_SUCCESS;
}

void hx_visit_close(struct hx_visit *visit)
{
    if (visit)
        tcp_end(&visit->tcp);
    free(visit);
}

static hx_status_t not_understood(const struct hx_visit *visit)
{
    return hx_fail(HX_ERR_BOOTSTRAP, "the answer of the store at %s is not valid: use the same version of Hierax everywhere", visit->place.at);
}

hx_status_t hx_visit_wait(struct hx_visit *visit, int *lost, struct hx_session *session)
{
    char who[128];
    hx_status_t status;

    *lost = 0;
    who_write(who, sizeof who);
    visit->tcp.boot.timeout = 0;
    if ((status = visit_request(visit, HX_STORE_WAIT, who)) != HX_SUCCESS) {
        *lost = visit->tcp.broken != HX_SUCCESS;
        return status;
    }
    if (sscanf(visit->tcp.answer.value, "%d %d %d %" SCNx64 " %" SCNu64 " %d", &session->rank, &session->size, &session->port, &session->id,
               &session->generation, &session->node) != 6)
        return not_understood(visit);
    return HX_SUCCESS;
}

hx_status_t hx_visit_count(struct hx_visit *visit, int members, uint64_t generation, int *waiting)
{
    char text[64];
    hx_status_t status;

    snprintf(text, sizeof text, "%d %" PRIu64, members, generation);
    status = visit_request(visit, HX_STORE_COUNT, text);
    if (status == HX_SUCCESS && sscanf(visit->tcp.answer.value, "%d", waiting) != 1)
        status = not_understood(visit);
    return status;
}

hx_status_t hx_visit_admit(struct hx_visit *visit, int most, int members, uint64_t generation, int nodes, struct hx_session *session)
{
    char text[128];
    hx_status_t status;

    snprintf(text, sizeof text, "%d %d %" PRIu64 " %d", most, members, generation, nodes);
    status = visit_request(visit, HX_STORE_ADMIT, text);
    if (status == HX_SUCCESS && sscanf(visit->tcp.answer.value, "%d %d %" SCNx64 " %" SCNu64, &session->count, &session->port, &session->id,
                                       &session->generation) != 4)
        status = not_understood(visit);
    session->size = members + session->count;
    return status;
}

hx_status_t hx_boot_open_session(const struct hx_lobby_place *place, const char *secret, const struct hx_session *session, double timeout,
                                 struct hx_boot **boot)
{
    struct hx_tcp *tcp = calloc(1, sizeof *tcp);
    char at[sizeof place->at + 16], *mixed = NULL;
    hx_status_t status;

    *boot = NULL;
    if (!tcp || asprintf(&mixed, "%s" HX_LOBBY_SESSION_SEPARATOR "%016" PRIx64, secret, session->id) < 0) {
        free(tcp);
        return hx_fail(HX_ERR_NOMEM, "no memory for a connection to the store");
    }
    snprintf(at, sizeof at, "%.*s:%d", (int)(strrchr(place->at, ':') - place->at), place->at, session->port);
    tcp->boot = (struct hx_boot){.kind = &hx_boot_tcp, .rank = session->rank, .size = session->size, .piece_bytes = SIZE_MAX,
                                 .timeout = timeout > 0 && timeout < SESSION_SECONDS ? timeout : SESSION_SECONDS};
    tcp->fd = -1;
    tcp->server = HX_STORE_LAUNCHER;
    tcp->own_limit = 1;
    if ((status = hx_root_resolve("", at, &tcp->root)) == HX_SUCCESS) {
        tcp->root.lobby = tcp->root.once = 1; /* it has listened before anyone learned its port: a refusal shows that the store has ended */
        status = hx_tcp_join(tcp, mixed);
    }
    free(mixed);
    tcp->boot.timeout = timeout;
    if (status == HX_SUCCESS) {
        *boot = &tcp->boot;
        return status;
    }
    tcp_end(tcp);
    free(tcp);
    return status;
}
