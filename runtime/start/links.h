/* SPDX-License-Identifier: BSD-3-Clause */
/* Measuring the links between the nodes: for HX_RING_ORDER=auto, and for coll_info --doctor. */
#pragma once

#include "runtime/api/comm.h"

enum hx_link_use {
    HX_LINK_BOTH_WAYS, /* both nodes send at the same time, as in a ring: [a][b] is equal to [b][a] */
    HX_LINK_EACH_WAY   /* first one node sends, then the other: [a][b] is of a's messages to b */
};

struct hx_links {
    enum hx_link_use use;
    int (*next)(void *arg, const struct hx_link *matrix); /* on rank 0: which round is next (see hx_pair_partner); -1: none */
    void *arg;
    struct hx_link *matrix; /* out, on rank 0: [nodes][nodes]. The best that any round has found; gb_s 0: not measured */
};

/* Measure, round by round. Collective over comm, which has all ranks of its nodes. Every rank passes the same use; what else is in
 * links is for rank 0, and may be 0 on others. HX_TIMEOUT bounds each round.
 * Errors: HX_ERR_NOMEM, and those of the calls that measure. The same on all ranks, if no call fails. */
hx_status_t hx_links_measure(struct hx_comm *comm, const struct hx_links *links);
