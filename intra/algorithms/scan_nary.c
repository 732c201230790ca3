/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * n-ary scan in shared memory: everybody but the last puts its vector into its slot and says so; a member waits for the
 * lower ones only, reads their slots in one pass and writes the sum straight to its output.
 *
 *   slot[r] = in;  publish FILLED;  await 0 .. r-1;  out = slot[0] op ... op slot[r-1] op in;  publish READ
 *
 * Cost: alpha + (r + 3) S beta of memory traffic for member r. Any p, any operation (rank order).
 */
#include "intra/algorithms/scan_slots.h"

static void build(struct hx_builder *b)
{
    hx_split(b, 1);
    hx_lower_publish(b);
    if (b->me == 0) {
        hx_copy(b, hx_at(b->out, 0, 1), hx_at(b->in, 0, 1));
    } else {
        hx_await_first(b, HX_LOWER_FILLED, b->me);
        hx_reduce_first_slots(b, hx_at(b->out, 0, 1), b->me + 1, b->in, b->me);
        hx_publish_read(b, HX_LOWER_READ);
    }
}

const struct hx_algorithm hx_scan_nary = {
    .name = "nary", .coll = HX_COLL_SCAN, .build = build, .counts = hx_scan_slots_counts, .needs = HX_NEEDS_SHARED_MEMORY,
    .about = "1 hop, everybody adds up the slots of the lower ones", .source = "shared-memory flag exchange"};
