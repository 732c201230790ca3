/* SPDX-License-Identifier: BSD-3-Clause */
/* The door of a node's socket: while its host waits for its launcher, up to the fence, it takes connections out of the kernel's short queue,
 * so that strangers cannot keep ranks out. No thread does it: a process that has ever had two locks each call of Hierax. For join.c. */
#ifndef HX_PORTER_H
#define HX_PORTER_H

struct hx_porter;

/* Keep the door of listener, for a job of size ranks; NULL where there is no memory for that: then the queue is all there is. */
struct hx_porter *hx_porter_start(int listener, int size);
/* The fence is behind us. */
void hx_porter_stop(void);
/* Then: one connection after the other, of those kept and of those still in the queue; -1 and errno, EAGAIN when there are no more. */
int hx_porter_next(struct hx_porter *porter, int listener);
/* Close what was not taken. */
void hx_porter_release(struct hx_porter *porter);

#endif
