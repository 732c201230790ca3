/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * n-ary all-gather level by level: from the node on inwards, in each domain across the domains in it, last in the innermost
 * ones. This is one of its stages. Afterwards each domain has every block once, at the deputy there of who has charge of it
 * (domains.h), and after the last everybody has.
 *
 *   slot[r] = in, r's charge;  publish FILLED
 *   for each other domain, each q whose deputy r is:  await FILLED of q;  out = q's charge in its slot      then publish READ
 *
 * Cost: a hand-over per level; across it pass S (d - 1) bytes of d domains of m members each, where n-ary without levels
 * reads m times that. Any sizes of domains. Blocks may be empty.
 */
#include "intra/algorithms/domains.h"

enum { FILLED, READ };

static void build(struct hx_builder *b)
{
    int d = hx_domains(b), mine = hx_domain_of(b, b->me), reads = 0;

    if (hx_has_charge(b, b->me)) {
        for (int i = 1; i < d; i++) /* the slot held the slice one window before: my deputies have read that */
            hx_await_lag(b, READ, hx_domain_deputy(b, (mine + i) % d, mine, b->me), 1);
        if (d > 1) {
            hx_copy(b, hx_charge(b, HX_SLOT, b->me), hx_charge(b, b->in, b->me));
            hx_publish(b, FILLED);
        }
        hx_copy(b, hx_charge(b, b->out, b->me), hx_charge(b, b->in, b->me));
    }
    for (int q = -1; (q = hx_served_next(b, mine, q)) >= 0;) {
        hx_take(b, FILLED, hx_charge(b, b->out, q), q);
        reads = 1;
    }
    if (reads)
        hx_publish_read(b, READ);
}

const struct hx_algorithm hx_allgather_levels = {
    .name = "nary_levels", .coll = HX_COLL_ALLGATHER, .build = build,
    .needs = HX_NEEDS_SHARED_MEMORY | HX_NEEDS_LEVELS,
    .about = "1 hop per level, outwards in", .source = "hierarchical n-ary all-gather"};

const struct hx_algorithm hx_bcast_levels = {
    .name = "nary_levels", .coll = HX_COLL_BCAST, .build = build,
    .needs = HX_NEEDS_SHARED_MEMORY | HX_NEEDS_LEVELS,
    .about = "1 hop, and 1 per level: scatter and all-gather outwards in", .source = "hierarchical n-ary all-gather"};
