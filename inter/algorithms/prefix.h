/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by scans and exclusive scans. Everything folds in rank order: what comes from a lower member stands on the
 * left, so any associative operation serves. A result of one contribution is that contribution as it is.
 */
#pragma once

#include "runtime/plan/plan.h"

/* Everybody sends in to all higher members; what comes from member q stands in row q. Ends with everything joined. */
static inline void hx_prefix_mesh(struct hx_builder *b)
{
    hx_split(b, 1);
    for (int to = b->me + 1; to < b->p; to++)
        hx_send_to(b, 0, to, hx_at(b->in, 0, 1));
    for (int from = 0; from < b->me; from++)
        hx_recv_from(b, 0, from, hx_row(from, 0, 1));
    hx_join_all(b);
}

/* One round with a skip: send to the member that far above, receive into the row from the one that far below, from
 * lowest on, if there are such. Ends with everything joined; returns whether something came. */
static inline int hx_prefix_round(struct hx_builder *b, int round, int skip, int lowest, struct hx_ref sent, int row)
{
    int from = b->me - skip, comes = from >= lowest;

    if (b->me >= lowest && b->me + skip < b->p)
        hx_send_to(b, round, b->me + skip, sent);
    if (comes)
        hx_recv_from(b, round, from, hx_row(row, 0, 1));
    hx_join_all(b);
    return comes;
}

/* The busiest members are the last and the first. In an exclusive scan no member reads its own part. */
static inline struct hx_counts hx_prefix_mesh_counts(struct hx_group g)
{
    int exclusive = g.coll == HX_COLL_EXSCAN, p = g.p;
    double pairs = (double)p * (p - 1) / 2;

    return (struct hx_counts){.rounds = p > 1, .messages = p - 1, .vectors = p - 1, .all_messages = pairs, .all_vectors = pairs, .one_way = 1,
                              .reads = p > 1 + exclusive ? p - exclusive : 0, .all_reads = pairs - 1 + (exclusive ? 0 : p)};
}
