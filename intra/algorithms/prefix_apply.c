/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fixed parts of a scan over several nodes. "apply" is its last stage: member 0, which carries the node's lane, has
 * in its input the sum of all lower nodes; everybody puts that on the left of what it has of its own node.
 *
 *   member 0:   slot[0] = in;  publish FILLED
 *   all:        await FILLED of 0;  out = slot[0] op out;  publish READ
 *
 * In an exclusive scan the node's first rank has nothing of its own node: the sum is its result. Members are the node's
 * ranks, the last first: it has the sum of the node, so it is the one to carry the lane.
 *
 * "keep" and "total" make that sum in an exclusive scan, at the last rank alone: its input is put aside before its
 * output may overwrite it, then added to that.
 *
 * Cost of apply: alpha + 4 S beta of memory traffic at member 0, 3 S beta at the others. Any p, any operation (rank order).
 */
#include "intra/algorithms/algorithms.h"

enum { FILLED, READ };

/* first: the member that has nothing of its own, or -1. */
static void apply(struct hx_builder *b, int first)
{
    struct hx_ref out = hx_at(b->out, 0, 1);

    hx_split(b, 1);
    if (b->p == 1 && first == 0) {
        hx_prefix_keep(b);
    } else if (b->p == 1) {
        hx_prefix_total(b);
    } else {
        if (b->me == 0) {
            hx_await_lag(b, READ, 1, b->p - 1); /* the slot held the slice one window before: all have read that */
            hx_copy(b, hx_at(HX_SLOT, 0, 1), hx_at(b->in, 0, 1));
            hx_publish(b, FILLED);
        } else {
            hx_await(b, FILLED, 0);
        }
        if (b->me == first)
            hx_copy_from_slot(b, out, 0);
        else
            hx_reduce_first_slots(b, out, 2, b->out, 1);
        if (b->me > 0)
            hx_publish_read(b, READ);
    }
}

void hx_prefix_apply(struct hx_builder *b)
{
    apply(b, -1);
}

void hx_prefix_apply_exclusive(struct hx_builder *b)
{
    apply(b, b->p > 1 ? 1 : 0);
}

void hx_prefix_apply_nothing(struct hx_builder *b)
{
    hx_split(b, 1);
}

void hx_prefix_keep(struct hx_builder *b)
{
    hx_split(b, 1);
    hx_copy(b, hx_at(b->out, 0, 1), hx_at(b->in, 0, 1));
}

void hx_prefix_total(struct hx_builder *b)
{
    struct hx_ref row = hx_row(0, 0, 1), out = hx_at(b->out, 0, 1);

    hx_split(b, 1);
    hx_copy(b, row, hx_at(b->in, 0, 1));
    hx_reduce_row(b, out, row, out);
}
