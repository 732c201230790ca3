/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * n-ary reduce-scatter level by level: in the innermost domains of a node, then in each larger one across the domains in
 * it. This is one of its stages. Each domain has a sum of the blocks that a member has charge of. The member's deputy in
 * that domain holds this sum (domains.h).
 *
 *   slot[r] = in, what those have charge of whose deputy r is;  publish FILLED
 *   for each other domain:  await FILLED of the deputy there;  row = r's charge in its slot
 *   out = the rows op ... op, own from in;  publish READ
 *
 * In an innermost domain the slots are added up where they stand, as in reduce_scatter_nary.c.
 *
 * Cost: a hand-over per level; across it pass S (d - 1) bytes of d domains of m members each, where n-ary without levels
 * reads m times that. Any sizes of domains, any operation; fold in the order of domains. Blocks may be empty.
 */
#include "intra/algorithms/domains.h"

enum { FILLED, READ };

static void build(struct hx_builder *b)
{
    int mine = hx_domain_of(b, b->me), filled = 0;

    for (int q = -1; (q = hx_served_next(b, mine, q)) >= 0;) {
        hx_await_lag(b, READ, q, 1); /* the slot held the slice one window before: q has read that */
        hx_copy(b, hx_charge(b, HX_SLOT, q), hx_charge(b, b->in, q));
        filled = 1;
    }
    if (filled || !b->stage->domain_start)
        hx_publish(b, FILLED);
    if (!hx_has_charge(b, b->me))
        return;
    hx_domains_reduce(b, mine, FILLED);
    hx_publish_read(b, READ);
}

const struct hx_algorithm hx_reduce_scatter_levels = {
    .name = "nary_levels", .coll = HX_COLL_REDUCE_SCATTER, .build = build,
    .needs = HX_NEEDS_SHARED_MEMORY | HX_NEEDS_LEVELS,
    .about = "1 hop per level, inwards out", .source = "hierarchical n-ary reduce-scatter"};

const struct hx_algorithm hx_reduce_levels = {
    .name = "nary_levels", .coll = HX_COLL_REDUCE, .build = build,
    .needs = HX_NEEDS_SHARED_MEMORY | HX_NEEDS_LEVELS,
    .about = "1 hop per level, and 1: reduce-scatter inwards out and gather", .source = "hierarchical n-ary reduce-scatter"};
