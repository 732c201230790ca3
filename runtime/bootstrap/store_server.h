/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside the store's server: the connection of one client (store_wire.c), and the store itself. */
#pragma once

#include "runtime/bootstrap/store_keys.h"
#include "runtime/base/clock.h"
#include "runtime/base/keyvalue.h"
#include "runtime/hierax.h"

#define HX_STORE_TEXT_BYTES 512

struct hx_store;

struct hx_store_client {
    struct hx_store_client *next;
    void *seat;                 /* of a lobby's client */
    int fd, epoll_fd;
    int rank;                   /* -1: a stranger, whose proof is not accepted yet */
    int greeted, sealed;        /* HELLO is answered; the proof was right, so all is sealed */
    int foreign;                /* of another machine */
    double deadline;            /* for the proof */
    struct hx_store_greeting greeting;
    struct hx_store_keys keys;
    int fenced, left;           /* waits at the fence; has sent BYE */
    int closing, dead;          /* close when all is sent; close now */
    struct hx_store_frame head; /* in host order once complete */
    char *body;                 /* key and value */
    size_t got_bytes;           /* of head and body together */
    char *out;
    size_t out_bytes, sent_bytes, out_capacity;
};

/* A client on the connected socket fd, watched by epoll_fd, and by ends_fd for its end, with itself as data.ptr; NULL without memory
 * (fd is closed). */
struct hx_store_client *hx_store_client_open(int fd, int epoll_fd, int ends_fd);
void hx_store_client_close(struct hx_store_client *client);

/* Read on: 1 when a request is complete (in head and body, until _consume), else 0; look at ->dead after it. */
int hx_store_client_read(struct hx_store_client *client);
void hx_store_client_consume(struct hx_store_client *client);

void hx_store_client_flush(struct hx_store_client *client);
void hx_store_client_answer(struct hx_store_client *client, enum hx_store_op op, uint32_t status, const void *value,
                            size_t bytes);
/* Answer the request with a text and hang up. */
void hx_store_client_refuse(struct hx_store_client *client, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A use of a store: the meeting of one job's ranks (store_requests.c), or a lobby (lobby.c). */
struct hx_store_kind {
    void (*join)(struct hx_store *store, struct hx_store_client *client);    /* its proof is right: give it a rank, or refuse it */
    void (*request)(struct hx_store *store, struct hx_store_client *client); /* serve the one that was read, of a client with a rank */
    void (*died)(struct hx_store *store, const struct hx_store_client *client); /* its connection has closed. May be called again */
    void (*release)(struct hx_store *store, struct hx_store_client *client); /* it has a rank, and is about to be released */
    /* No descriptor is free for another connection. If has_evicted, a stranger was closed for it; else the store accepts no connection now. */
    void (*full)(struct hx_store *store, int has_evicted, const char *why);
};
extern const struct hx_store_kind hx_store_of_job;

struct hx_store {
    const struct hx_store_kind *kind;
    void *owner; /* of a kind that has one */
    int listen_fd, epoll_fd;
    int is_full; /* listen_fd is not in epoll_fd, where it would stay ready while no descriptor is free */
    int ends_fd; /* an epoll too: lists the connections that the other side has closed, in that order */
    int size, fenced, left, connected; /* ranks: in all, at the fence, left by BYE, ever accepted */
    int joined;                        /* ranks that are connected now */
    int gone;                          /* ranks that have left and are not connected either: they cannot come back */
    unsigned wrong_secrets;            /* connections refused for a wrong HX_SECRET */
    int strangers, strangers_max;      /* connections without a proof yet */
    int timer_fd;                      /* ticks while there are strangers, so that their deadlines are checked */
    uint32_t server;
    char *secret;
    struct hx_store_client *clients;
    struct hx_store_client **by_rank; /* NULL before JOIN and after the end */
    unsigned char *has_joined;              /* by rank: 1 from JOIN on, or if the rank has ended without JOIN */
    struct hx_keyvalue values, older; /* put since the last fence, and between the last two: a rank may still read these */
    char failure[HX_STORE_TEXT_BYTES]; /* "": the job has not failed */
    hx_status_t failure_status;
    int aborted_rank, dead_rank;
};

/* store_requests.c */
void hx_store_client_accept(struct hx_store *store, struct hx_store_client *client, int rank); /* it is a stranger no more */
void hx_store_request(struct hx_store *store, struct hx_store_client *client); /* serve the one that was read */
void hx_store_answer_failure(const struct hx_store *store, struct hx_store_client *client, enum hx_store_op op);
/* The job has failed. Ranks at the fence learn it now, the others at their next request. Only the first reason counts. */
void hx_store_fail(struct hx_store *store, hx_status_t status, const char *format, ...) __attribute__((format(printf, 3, 4)));
void hx_store_rank_gone(struct hx_store *store, int rank); /* it has left and cannot come back */
