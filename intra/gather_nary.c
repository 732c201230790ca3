/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gather to several holders in shared memory: the first stage of an all-gather whose lanes are fewer than the node's members. The
 * block of member j goes to its holder, which carries j's lane.
 *
 *   member j, no holder of itself:   slot[j] = in[j];  publish FILLED
 *   holder of j:                     await FILLED of j;  out[j] = slot[j];  after the last: publish READ
 *
 * Cost: alpha + 2 S/n beta of memory traffic per member. Any n.
 */
#include "algorithms.h"

enum { FILLED, READ };

void hx_gather_nary(struct hx_builder *b)
{
    const int *holder = b->stage->holder;
    int me = b->me, holds = 0;

    if (holder[me] == me) {
        hx_copy(b, hx_at(b->out, me, 1), hx_at(b->in, me, 1));
    } else {
        hx_await_lag(b, READ, holder[me], 1); /* it has read the slice that stood here one window before */
        hx_copy(b, hx_at(HX_SLOT, me, 1), hx_at(b->in, me, 1));
        hx_publish(b, FILLED);
    }
    for (int j = 0; j < b->p; j++) {
        if (holder[j] != me || j == me)
            continue;
        holds = 1;
        hx_await(b, FILLED, j);
        hx_copy_from_slot(b, hx_at(b->out, j, 1), j);
    }
    if (holds)
        hx_publish_read(b, READ);
}
