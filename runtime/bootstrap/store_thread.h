/* SPDX-License-Identifier: BSD-3-Clause */
/* HX_ROOT's address, and the store that rank 0 serves itself where no launcher does. */
#ifndef HX_BOOTSTRAP_STORE_THREAD_H
#define HX_BOOTSTRAP_STORE_THREAD_H
#include "runtime/bootstrap/launcher.h"

#include <netdb.h>

struct hx_root {
    char host[256], port[8];
    struct addrinfo *addresses; /* freeaddrinfo */
    int unserved;               /* errno: why this process, rank 0, does not serve it */
};

/* Split and resolve host:port ([host]:port for a numeric IPv6 address). */
hx_status_t hx_root_resolve(const char *text, struct hx_root *root);

struct hx_serve; /* a thread that runs a store */

/* Serve the store if root names this machine and its port is free; else *serve is NULL, and root->unserved tells why: somebody else does. */
hx_status_t hx_serve_start(struct hx_root *root, int size, const char *secret, struct hx_serve **serve);
/* First wait, for a bounded time, until all ranks have left, or if not orderly have heard that the job has failed. */
void hx_serve_stop(struct hx_serve *serve, int orderly);

#endif
