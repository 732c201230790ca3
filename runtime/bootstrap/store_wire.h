/* SPDX-License-Identifier: BSD-3-Clause */
/* One client's connection to the store's server: whole requests in, answers out, never blocking. */
#ifndef HX_BOOTSTRAP_STORE_WIRE_H
#define HX_BOOTSTRAP_STORE_WIRE_H
#include "runtime/bootstrap/store_keys.h"
#include "runtime/base/clock.h"

#define HX_STORE_TEXT_BYTES 512

struct hx_store_client {
    struct hx_store_client *next;
    int fd, epoll_fd;
    int rank;                   /* -1: a stranger, whose proof is not accepted yet */
    int greeted, sealed;        /* HELLO is answered; the proof was right, so all is sealed */
    int foreign;                /* of another machine */
    double deadline;            /* for the proof */
    struct hx_store_greeting greeting;
    struct hx_store_keys keys;
    int fenced, left;           /* waits at the fence; has said BYE */
    int closing, dead;          /* close when all is sent; close now */
    struct hx_store_frame head; /* in host order once complete */
    char *body;                 /* key and value */
    size_t got_bytes;           /* of head and body together */
    char *out;
    size_t out_bytes, sent_bytes, out_capacity;
};

/* A client on the connected socket fd, watched by epoll_fd with itself as data.ptr; NULL without memory (fd is
 * closed). */
struct hx_store_client *hx_store_client_open(int fd, int epoll_fd);
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

#endif
