/* SPDX-License-Identifier: BSD-3-Clause */
/* A process's connection to a store: that of its job (store_client.c), or a lobby (lobby_client.c). */
#pragma once

#include "runtime/base/error.h"
#include "runtime/bootstrap/launcher.h"
#include "runtime/bootstrap/root.h"
#include "runtime/bootstrap/store_keys.h"

struct hx_answer {
    uint32_t op, status;
    size_t bytes;
    char *value; /* malloc'ed, NUL behind it */
};

struct hx_tcp {
    struct hx_boot boot;
    int fd;
    hx_status_t broken;        /* why no further requests are possible */
    char why[HX_DETAIL_BYTES]; /* the text of that error */
    int launched;              /* by coll_run */
    int own_limit;             /* boot.timeout is not HX_TIMEOUT */
    char at[300];              /* HX_ROOT */
    int hung_up; /* the connection broke before the store knew this rank */
    enum { STRANGER, PROVING, EARLY, JOINED } state; /* EARLY: the store is that of an earlier world */
    uint32_t server; /* the rank that serves the store; HX_STORE_LAUNCHER: none, or unknown yet */
    struct hx_store_greeting greeting;
    struct hx_store_keys keys;
    struct hx_root root;
    struct hx_store_thread *thread; /* rank 0, where no launcher serves */
    struct hx_answer answer;           /* the last one */
};

/* Connect to tcp->root, with boot.rank, boot.size and, as the limit, boot.timeout set. Both sides prove that they know the secret. Errors:
 * HX_ERR_BOOTSTRAP, HX_ERR_PEER_DEAD, HX_ERR_TIMEOUT, HX_ERR_NOMEM. */
hx_status_t hx_tcp_join(struct hx_tcp *tcp, const char *secret);
/* Send a request, and wait for its answer within boot.timeout: it is in tcp->answer. Errors: those of hx_tcp_join, and the store's. */
hx_status_t hx_tcp_request(struct hx_tcp *tcp, enum hx_store_op op, const char *key, const void *value, size_t bytes);
