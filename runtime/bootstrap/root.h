/* SPDX-License-Identifier: BSD-3-Clause */
/* HX_ROOT, the address of the TCP store, and the store that rank 0 serves there if no launcher does. */
#pragma once

#include "runtime/bootstrap/launcher.h"

#include <netdb.h>

#define HX_CONNECT_SECONDS 60.0 /* how long a store may take to answer */

struct hx_root {
    const char *label; /* in front of the address in messages: "HX_ROOT=", or "" */
    char host[256], port[8];
    struct addrinfo *addresses; /* freeaddrinfo */
    int listen_error;           /* errno: why this process, rank 0, does not serve it */
    int has_listened;           /* a connection has succeeded before */
    int once;                   /* a refusal is final: the caller decides when to try again */
    int lobby;                  /* coll_store serves it or started it */
};

/* The setting that says where the store is. */
static inline const char *hx_root_setting(const struct hx_root *root)
{
    return root->lobby ? "HX_STORE" : "HX_ROOT";
}

/* Split and resolve host:port ([host]:port for a numeric IPv6 address). */
hx_status_t hx_root_resolve(const char *label, const char *text, struct hx_root *root);
/* A socket that listens at root; -1 and errno: it is not an address of this machine, or the port is taken. local_only: for
 * processes of this machine. */
int hx_root_listen(const struct hx_root *root, int local_only);
/* Connect as this rank of the job. *fd: the socket. */
hx_status_t hx_root_connect(struct hx_root *root, int rank, double timeout_s, int *fd);

struct hx_store_thread; /* store_thread.c: a thread that runs a store */

/* Serve the store if this process can listen at root. Else *thread is NULL, and root->listen_error says why: another process serves
 * it. */
hx_status_t hx_store_thread_start(struct hx_root *root, int size, const char *secret, struct hx_store_thread **thread);
/* First wait, for a bounded time, until all ranks have left; if not orderly, until all know that the job has failed. */
void hx_store_thread_stop(struct hx_store_thread *thread, int orderly);
