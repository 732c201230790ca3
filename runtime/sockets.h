/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sockets over IP among the descriptors of this process, found by their addresses. It needs no /proc, and calls only what a child made by
 * fork in a program with threads may call.
 */
#ifndef HX_SOCKETS_H
#define HX_SOCKETS_H
#include <stdint.h>
#include <sys/socket.h>

/* Visit each such socket for which is() returns nonzero. local: its own address; peer: where it is connected to, family AF_UNSPEC
 * where it is not. */
typedef int hx_socket_is_t(const void *ctx, const struct sockaddr_storage *local, const struct sockaddr_storage *peer);
void hx_sockets_visit(hx_socket_is_t *is, const void *ctx, void (*visit)(int fd));

/* Visitors: close it; have it closed when the process executes a program. */
void hx_socket_close(int fd);
void hx_socket_guard(int fd);

/* The port of such an address, in network order; 0: it has none. */
uint16_t hx_socket_port(const struct sockaddr_storage *name);
#endif
