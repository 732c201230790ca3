/* SPDX-License-Identifier: BSD-3-Clause */
/* A process's side of a lobby (lobby.h): wait there, admit those that wait, and meet in a session. */
#pragma once

#include "runtime/bootstrap/bootstrap.h"
#include "runtime/bootstrap/lobby.h"

struct hx_lobby_place { /* "host:port/name" */
    char at[264];       /* host:port */
    char name[HX_LOBBY_NAME_MAX + 1];
};
/* label: in front of the text in messages. Errors: HX_ERR_ENV. */
hx_status_t hx_lobby_place_parse(const char *label, const char *text, struct hx_lobby_place *place);

struct hx_visit; /* a connection to a lobby */

/* Connect, and prove that this process knows the secret ("": none). seconds: the longest time for it, and for each answer later; more than 0.
 * Returns at once if no process listens there. *refused: a program has answered, and the next try would end alike.
 * Errors: HX_ERR_ENV; HX_ERR_BOOTSTRAP, also if the store does not answer in time; HX_ERR_NOMEM. */
hx_status_t hx_visit_open(const struct hx_lobby_place *place, const char *secret, double seconds, int *refused, struct hx_visit **visit);
int hx_visit_is_lost(const struct hx_visit *visit); /* the connection is broken */
void hx_visit_close(struct hx_visit *visit); /* or NULL */

struct hx_session { /* the meeting of the members and newcomers of one generation */
    int rank, size, port, node;
    int count; /* of newcomers */
    uint64_t id, generation;
    double seconds; /* of the members: as in struct hx_opening */
};
/* Wait until members admit this process, without a limit. lost: set if the connection broke, and the lobby may have been started again. */
hx_status_t hx_visit_wait(struct hx_visit *visit, int *lost, struct hx_session *session);
/* How many wait. members, generation: of the job that asks. */
hx_status_t hx_visit_count(struct hx_visit *visit, int members, uint64_t generation, int *waiting);
/* Admit at most so many newcomers. nodes: as in lobby.h. Sets count, port, id, generation; count 0: none waited. */
hx_status_t hx_visit_admit(struct hx_visit *visit, int most, int members, uint64_t generation, int nodes, struct hx_session *session);

/* Meet in a session, as session->rank. timeout: HX_TIMEOUT. */
hx_status_t hx_boot_open_session(const struct hx_lobby_place *place, const char *secret, const struct hx_session *session, double timeout,
                                 struct hx_boot **boot);
