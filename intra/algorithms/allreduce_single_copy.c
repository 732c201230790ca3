/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Single-copy all-reduce inside a node: member r reads block r of everybody's input where it stands, adds it up into its own output,
 * and the others read it from there. Nothing is staged in shared memory.
 *
 *   offer READY
 *   for q = r+1, r+2, ...:  await READY of q;   row = block r of in of q         out[r] = block r of all, own from in
 *   offer SUMMED
 *   for q = r+1, r+2, ...:  await SUMMED of q;  out[q] = block q of out of q     publish READ;  await all
 *
 * The last wait keeps out as it is until all have read it; that of in is done when all have summed.
 * Cost: 3 alpha + 2 (p-1) system calls; each member fetches 2 S (p-1)/p and adds up S, from its own cache. For large vectors. Any p, any
 * operation (rank order).
 * Source: kernel-assisted single copy (KNEM, LiMIC2, CMA): Ma, Bosilca, Bouteiller, Goglin, Squyres, Dongarra 2011; MPICH, Open MPI.
 */
#include "intra/algorithms/single_copy.h"

enum { READY, SUMMED, READ };

static void build(struct hx_builder *b)
{
    int me = b->me;

    hx_split(b, b->p);
    hx_offer(b, READY);
    hx_fetch_rows(b, READY, me);
    hx_reduce_rows(b, hx_at(b->out, me, 1), 0, b->p, b->in, me);
    hx_offer(b, SUMMED);
    for (int q = me + 1; q < me + b->p; q++)
        hx_fetch(b, SUMMED, hx_at(b->out, q, 1), b->out, q);
    hx_publish(b, READ);
    hx_await_all(b, READ);
}

static struct hx_counts counts(struct hx_group g)
{
    double others = (double)(g.p - 1) / g.p;

    return (struct hx_counts){.folds_own = 1, .hops = 3, .flags = g.p - 1, .calls = 2 * (g.p - 1), .fetched = 2 * others, .work = {{g.p, 0, 1}},
                              .read_in_parts = 1.0 / g.p, .read_by_all = 1.0 / g.p};
}

const struct hx_algorithm hx_allreduce_single_copy = {
    .name = "single_copy", .coll = HX_COLL_ALLREDUCE, .build = build, .counts = counts,
    .needs = HX_NEEDS_SHARED_MEMORY | HX_NEEDS_SINGLE_COPY | HX_FOLDS_AT_ONCE,
    .about = "3 hops, each member adds up one block of all inputs where they stand: large vectors",
    .source = "Ma et al. 2011 (KNEM, CMA)"};
