/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * n-ary all-reduce in shared memory: everybody puts its vector into its slot and says so; everybody reads all p slots
 * in one pass and writes the sum straight to its output. One hop. For small vectors: everybody does all of the
 * adding.
 *
 *   slot[r] = in;  publish;  await all;  out = slot[0] op slot[1] op ... op slot[p-1]    (own from in)
 *
 * Cost: alpha + (p + 2) S beta of memory traffic per member. Any p, any operation; all fold in rank
 * order, so results are equal bit by bit.
 * Source: the flag exchange of small-message shared-memory collectives (Open MPI xhc, MPICH release_gather), without
 * a tree.
 */
#include "runtime/plan/plan.h"

enum { FILLED, READ };

static void build(struct hx_builder *b)
{
    hx_split(b, 1);
    hx_await_lag(b, READ, 0, b->p); /* the slot held the slice one window before: all have read that */
    hx_copy(b, hx_at(HX_SLOT, 0, 1), hx_at(b->in, 0, 1));
    hx_publish(b, FILLED);
    hx_await_all(b, FILLED);
    hx_reduce_slots(b, hx_at(b->out, 0, 1), b->in);
    hx_publish_read(b, READ);
}

static struct hx_counts counts(struct hx_group g)
{
    return (struct hx_counts){.hops = 1, .flags = g.p - 1, .work = {{g.p, 1, g.p}}, .read_by_all = 1};
}

const struct hx_algorithm hx_allreduce_nary = {
    .name = "nary", .coll = HX_COLL_ALLREDUCE, .build = build, .counts = counts, .needs = HX_NEEDS_SHARED_MEMORY | HX_FOLDS_AT_ONCE,
    .about = "1 hop, everybody adds up all slots: small vectors", .source = "shared-memory flag exchange"};
