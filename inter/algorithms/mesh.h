/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mesh: every member exchanges with every other in one round. Targets are staggered, r+1, r+2, ..., so that no
 * member is everybody's first. Two phases of one round, shared by all-reduce, reduce-scatter and all-gather; each
 * costs alpha + S (p-1)/p beta.
 */
#pragma once

#include "runtime/plan/plan.h"

#define HX_MESH_WINDOW 32 /* exchanges of an all-to-all under way at once */

/* The row for what member q sends: rows stand in rank order, without this member's own. */
static inline int hx_mesh_row(const struct hx_builder *b, int q)
{
    return q < b->me ? q : q - 1;
}

/* Everybody sends each member q block q of in, or block 0 if all get the same. The receiver folds what comes in rank order
 * into out. Ends with everything joined. */
static inline void hx_mesh_reduce(struct hx_builder *b, int round, int all_the_same)
{
    int own = all_the_same ? 0 : b->me;

    for (int i = 1; i < b->p; i++) {
        int to = (b->me + i) % b->p, from = (b->me - i + b->p) % b->p;
        hx_send_to(b, round, to, hx_at(b->in, all_the_same ? 0 : to, 1));
        hx_recv_from(b, round, from, hx_row(hx_mesh_row(b, from), own, 1));
    }
    hx_join_all(b);
    hx_reduce_rows(b, hx_at(b->out, own, 1), 0, b->p, b->in, b->me);
}

/* Everybody sends its block of out to everybody. */
static inline void hx_mesh_allgather(struct hx_builder *b, int round)
{
    hx_settle(b, hx_at(b->out, b->me, 1));
    for (int i = 1; i < b->p; i++) {
        hx_send_to(b, round, b->me + i, hx_at(b->out, b->me, 1));
        hx_recv_from(b, round, b->me - i, hx_at(b->out, b->me - i, 1));
    }
    hx_join_all(b);
}

static inline struct hx_counts hx_mesh_counts(struct hx_group g)
{
    double phases = hx_coll_phases(g.coll), messages = phases * (g.p - 1);

    return (struct hx_counts){.rounds = phases, .messages = messages, .vectors = messages / g.p, .reads = 1, .all_reads = g.p};
}
