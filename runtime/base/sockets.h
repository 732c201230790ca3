/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finding descriptors of this process that other libraries have opened: above all sockets over IP, by their addresses. It needs no /proc.
 * It calls only functions that are safe in a child made by fork from a program with threads.
 */
#pragma once

#include <stdint.h>
#include <sys/socket.h>

/* Visit each descriptor of this process for which is() returns nonzero. */
typedef int hx_file_is_t(const void *ctx, int fd);
void hx_files_visit(hx_file_is_t *is, const void *ctx, void (*visit)(int fd));

/* Visitors. */
void hx_file_close(int fd);
void hx_file_guard(int fd);   /* set FD_CLOEXEC */
void hx_socket_reset(int fd); /* end the connection: its owner gets an error when it reads */
void hx_socket_shut(int fd);  /* end the connection as its peer would. Its owner then reads the end, also if it waits in poll */
void hx_socket_hurry(int fd); /* receives on it, and on connections accepted from it, do not wait */

/* Is this a socket over IP? *local: its own address; *peer: the address that it is connected to, or family AF_UNSPEC. */
int hx_socket_names(int fd, struct sockaddr_storage *local, struct sockaddr_storage *peer);
/* The port of an IP address, in network order; 0: the address has none. */
uint16_t hx_socket_port(const struct sockaddr_storage *name);
