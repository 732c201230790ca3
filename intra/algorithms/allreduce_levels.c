/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * n-ary all-reduce level by level: reduce-scatter inwards out (reduce_scatter_levels.c), all-gather outwards in
 * (allgather_levels.c), and between them, across the domains of the node, this stage: both in one. Each domain has a
 * sum of the blocks that a member has charge of. The member's deputy in that domain holds this sum (domains.h).
 *
 *   slot[r] = in, what those have charge of whose deputy r is;  publish FILLED
 *   for each other domain:  await FILLED of the deputy there;  row = r's charge in its slot
 *   out = the rows op ... op, own from in;  slot[r], r's charge = out;  publish SUMMED
 *   for each other domain, each q whose deputy r is:  await SUMMED of q;  out = q's charge in its slot
 *
 * Cost: two hand-overs, and two more per level inside; across the outermost pass 2S (d - 1) bytes of d domains of m members
 * each, where n-ary without levels reads m times that. Any sizes of domains, any operation; fold in the order of domains.
 *
 * Why the slot may be rewritten for the slice one window later without asking anybody: a q whose deputy r is has published
 * SUMMED after it read its share here, and r has awaited that. A deputy of r publishes FILLED for the later slice after it
 * has copied r's sum of this one, and r awaits that before it writes the next sum.
 */
#include "intra/algorithms/domains.h"

enum { FILLED, SUMMED };

static void build(struct hx_builder *b)
{
    int mine = hx_domain_of(b, b->me);

    for (int q = -1; (q = hx_served_next(b, mine, q)) >= 0;)
        hx_copy(b, hx_charge(b, HX_SLOT, q), hx_charge(b, b->in, q));
    hx_publish(b, FILLED);
    hx_domains_reduce(b, mine, FILLED);
    hx_copy(b, hx_charge(b, HX_SLOT, b->me), hx_charge(b, b->out, b->me));
    hx_publish(b, SUMMED);
    for (int q = -1; (q = hx_served_next(b, mine, q)) >= 0;)
        hx_take(b, SUMMED, hx_charge(b, b->out, q), q);
}

const struct hx_algorithm hx_allreduce_levels = {
    .name = "nary_levels", .coll = HX_COLL_ALLREDUCE, .build = build, .needs = HX_NEEDS_SHARED_MEMORY | HX_NEEDS_LEVELS,
    .about = "2 hops per level, n-ary in each cache, NUMA node and socket, then across these: large vectors, many members",
    .source = "hierarchical n-ary reduce-scatter and all-gather"};
