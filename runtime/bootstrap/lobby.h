/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lobby: where processes wait until a job that runs admits them. It outlives the ranks of all jobs that use it. coll_store serves it,
 * with the code that serves a job's start (store.h): the same frames, the same proof of HX_SECRET, the same seals.
 *
 *   newcomer                    lobby                      rank 0 of the members
 *   WAIT name      ----------->
 *                               <------------------ COUNT  how many wait?
 *                               <------------------ ADMIT  at most so many
 *                               opens a session: a store for size = members + newcomers, at a port of its own
 *   <---- rank, size, port                       ---------> how many, port
 *   meets the members in the session             <-------- all members meet the newcomers in the session
 *
 * The members learn the answer by a call in their old world. If a newcomer's connection to the lobby closes before the newcomer has joined
 * the session, the session fails at once, and the members learn which rank has ended. Names are given when the lobby is opened: a process
 * that asks for another name gets the list. Each COUNT and ADMIT brings all that the lobby knows of a job. So a lobby that has been started
 * again needs nothing from the one before.
 *
 * A client of the lobby greets with rank 0 and size 0. Values are text:
 *   WAIT   key name, value who (for lists); answer, when it is admitted: "rank size port session generation node"
 *   COUNT  key name, value "members generation"; answer: "waiting"
 *   ADMIT  key name, value "most members generation nodes"; answer: "count port session generation", and count may be 0
 * nodes: how many nodes HX_NODES emulates, 0: none. A newcomer gets one of them. session: 16 hexadecimal digits, which follow HX_SECRET in
 * the secret of the session, so that no process of another session can meet there.
 */
#pragma once

#include <stdio.h>

#define HX_LOBBY_NAME_MAX 63
#define HX_LOBBY_SESSION_SEPARATOR "."

struct hx_lobby;

/* Serve the names on listen_fd, a listening socket that the lobby then owns. secret: as in hx_store_open. Returns 0, or -1 with errno set, and
 * the caller still owns listen_fd. */
int hx_lobby_open(int listen_fd, const char *secret, char *const *names, int n, struct hx_lobby **lobby);
int hx_lobby_fd(const struct hx_lobby *lobby);  /* readable (poll) when hx_lobby_serve has work */
int hx_lobby_wait_ms(const struct hx_lobby *lobby); /* call hx_lobby_serve after that time in any case; -1: no need */
/* Handle what is ready; never blocks. Returns NULL, or a warning that stays valid until the next call. */
const char *hx_lobby_serve(struct hx_lobby *lobby);
void hx_lobby_list(const struct hx_lobby *lobby, FILE *out); /* names, facts about their jobs, waiting processes */
int hx_lobby_waiting(const struct hx_lobby *lobby, int name); /* how many processes wait for the name */
int hx_lobby_has_admitted(const struct hx_lobby *lobby, int name); /* has any process been admitted? */
void hx_lobby_close(struct hx_lobby *lobby);
