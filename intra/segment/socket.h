/* SPDX-License-Identifier: BSD-3-Clause */
/* The abstract Unix socket at which the ranks of a node meet, and what passes over it: messages with descriptors. For join.c. */
#ifndef HX_INTRA_SEGMENT_SOCKET_H
#define HX_INTRA_SEGMENT_SOCKET_H
#include <sys/types.h>

#define HX_PUBLIC_BYTES 8 /* of the job's random bytes: name the socket; the others stay secret */
#define HX_SOCKET_FDS 200 /* descriptors in one message; the kernel allows 253 */

/* Bind the name of this job's (emulated) node and listen (*hosting 1), or connect to the process that has bound it (*hosting 0). timeout:
 * how many seconds that process's queue may stay full; 0: for ever. Returns the socket, or -1 after hx_fail. A listener does not block. */
int hx_socket_meet(const unsigned char *secret, int emulated, double timeout, int *hosting);

/* Does the process at the other end run as this user? */
int hx_socket_same_user(int s);

/* 0, or -1. */
int hx_socket_send(int s, const void *data, size_t bytes, const int *fds, int nfds);
/* Returns the bytes received, -1 on error or when timeout seconds have passed (0: never; less: what lies there already). *nfds in: room in
 * fds; out: how many came. Those for which there is no room are closed. errno is EMFILE where some are missing. */
ssize_t hx_socket_receive(int s, void *data, size_t capacity, int *fds, int *nfds, double timeout);

#endif
