/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors of this process that somebody else has opened, sockets over IP above all, which are found by their addresses. It needs no
 * /proc, and calls only what a child made by fork in a program with threads may call.
 */
#ifndef HX_SOCKETS_H
#define HX_SOCKETS_H
#include <stdint.h>
#include <sys/socket.h>

/* Visit each descriptor of this process for which is() returns nonzero. */
typedef int hx_file_is_t(const void *ctx, int fd);
void hx_files_visit(hx_file_is_t *is, const void *ctx, void (*visit)(int fd));

/* Visitors: close it; have it closed when the process executes a program; end its connection, so that whoever reads gets an error;
 * do not wait for what is to be received. */
void hx_file_close(int fd);
void hx_file_guard(int fd);
void hx_socket_reset(int fd);
void hx_socket_hurry(int fd);

/* Is this a socket over IP? *local: its own address; *peer: where it is connected to, family AF_UNSPEC where it is not. */
int hx_socket_names(int fd, struct sockaddr_storage *local, struct sockaddr_storage *peer);
/* The port of such an address, in network order; 0: it has none. */
uint16_t hx_socket_port(const struct sockaddr_storage *name);
#endif
