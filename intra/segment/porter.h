/* SPDX-License-Identifier: BSD-3-Clause */
/* The porter of a node's socket, for join.c. While the host waits for its launcher, up to the fence, the porter takes connections out of
 * the kernel's short queue, so that strangers cannot fill it. The porter is not a thread: once a process has had two threads, every call of
 * Hierax has to take a lock. */
#ifndef HX_INTRA_SEGMENT_PORTER_H
#define HX_INTRA_SEGMENT_PORTER_H

struct hx_porter;

/* Start to accept connections at listener, for a job of size ranks. NULL: no memory; then connections stay in the kernel's queue. */
struct hx_porter *hx_porter_start(int listener, int size);
/* Stop accepting: the fence has passed. */
void hx_porter_stop(void);
/* After that: the next connection, of those kept and of those still in the queue; -1 and errno, EAGAIN when there are no more. */
int hx_porter_next(struct hx_porter *porter, int listener);
/* Close the connections that are left, and free the porter. */
void hx_porter_release(struct hx_porter *porter);

#endif
