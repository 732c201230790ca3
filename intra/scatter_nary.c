/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scatter from several holders in shared memory: the last stage of a reduce-scatter whose lanes are fewer than the node's members.
 * The block of member j stands at its holder, which carried j's lane.
 *
 *   holder of j:   slot[holder] block j = in[j], for all its j;  publish FILLED
 *   member j:      await FILLED of its holder;  out[j] = block j of slot[holder];  publish READ
 *
 * Cost: alpha + 2 S/n beta of memory traffic per member. Any n.
 */
#include "algorithms.h"

enum { FILLED, READ };

void hx_scatter_nary(struct hx_builder *b)
{
    const int *holder = b->stage->holder;
    int me = b->me, hands_out = 0;

    for (int j = 0; j < b->p; j++) {
        if (holder[j] == me && j != me) {
            hx_await_lag(b, READ, j, 1); /* j has read the slice that stood here one window before */
            hx_copy(b, hx_at(HX_SLOT, j, 1), hx_at(b->in, j, 1));
            hands_out = 1;
        }
    }
    if (hands_out)
        hx_publish(b, FILLED);
    if (holder[me] == me) {
        hx_copy(b, hx_at(b->out, me, 1), hx_at(b->in, me, 1));
    } else {
        hx_await(b, FILLED, holder[me]);
        hx_copy_from_slot(b, hx_at(b->out, me, 1), holder[me]);
        hx_publish_read(b, READ);
    }
}
