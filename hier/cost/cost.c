/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost model: see cost.h. Each algorithm's own file counts its messages, flags and memory traffic. */
#include "hier/cost/cost.h"
#include "intra/algorithms/algorithms.h"
#include <math.h>

#define FINE_SLICE_BYTES (256.0 * 1024) /* as the planner cuts them */
#define FURTHER_FLAG 0.0625 /* of alpha: another flag read in the same wait. 0.02 to 0.04 where one core had written all; others read them too */
#define EMPTY_STEP 0.125 /* of alpha: a block that there is none of: sent, received, joined */
#define RING_FLAGS 1.7 /* alphas of a message through a ring, of two ranks */
#define RING_PASSES 4 /* over it: copy in, copy out, reduce */

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double switches(const struct hx_cost_params *p)
{
    return p->oversubscription > 1 ? p->oversubscription * p->switch_us : 0;
}

/* Ranks that work on each core, at least 1: so many of each node's n members work, and the others wait. */
static double crowd(const struct hx_cost_params *p, double working, double n)
{
    return larger(p->oversubscription * working / n, 1);
}

double hx_cost_hand_over(const struct hx_cost_params *p, double others)
{
    return p->intra_alpha_us * (1 + (others > 1 ? others - 1 : 0) * FURTHER_FLAG) + switches(p);
}

/* ---- messages */

int hx_cost_counts(const struct hx_algorithm *algorithm, int p, struct hx_counts *counts)
{
    if (!algorithm->counts || algorithm->needs & HX_NEEDS_SHARED_MEMORY)
        return -1;
    *counts = algorithm->counts((struct hx_group){.coll = algorithm->coll, .p = p, .owners = p, .radix = algorithm->radix});
    if (counts->all_vectors == 1 && (hx_coll_is_rooted(algorithm->coll) || hx_coll_is_scan(algorithm->coll))) /* from one to the other */
        counts->one_way = 1;
    if (!hx_coll_reduces(algorithm->coll))
        counts->reads = counts->all_reads = 0;
    if (counts->all_messages == 0) { /* all are as busy */
        counts->all_messages = p * counts->messages;
        counts->all_vectors = p * counts->vectors;
    }
    if (algorithm->coll == HX_COLL_BARRIER) { /* tokens */
        counts->vectors = counts->messages;
        counts->all_vectors = counts->all_messages;
    }
    return 0;
}

/* Messages beside the one that each round waits for. In a chain or tree the rounds outnumber those of any member. */
static double further(const struct hx_counts *counts)
{
    return counts->messages > counts->rounds ? counts->messages - counts->rounds : 0;
}

/* See hx_cost_slices. */
static double slices_of(const struct hx_cost_params *p, enum hx_coll coll, const struct hx_counts *counts, double bytes)
{
    double coarsest = bytes / p->least_message;

    if (!counts->pipelined || coll == HX_COLL_ALLREDUCE)
        return coarsest;
    double best = sqrt((counts->rounds - 1) * coarsest * HX_MESSAGE_PARTS / 2); /* each member receives a slice and sends it on */
    return best > coarsest ? best : coarsest;
}

double hx_cost_slices(const struct hx_cost_params *p, const struct hx_algorithm *algorithm, int members, double bytes)
{
    struct hx_counts counts = {0};

    hx_cost_counts(algorithm, members, &counts);
    return slices_of(p, algorithm->coll, &counts, bytes);
}

/* Slices in which a chain or tree passes a vector on. 1: another algorithm, or no member to pass it on to. An all-reduce holds
 * each slice until its sum is back, so few are under way. */
static double passed_slices(const struct hx_counts *counts, enum hx_coll coll, double slices)
{
    double most = coll == HX_COLL_ALLREDUCE ? HX_COARSE_WINDOW : HX_COARSE_SLICES_MAX;

    return !counts->pipelined || counts->rounds <= 1 || slices < 1 ? 1 : slices > most ? most : slices;
}

/* Vectors that the busiest member sends, and those that pass before the last member gets its first slice: a chain or tree is as good as its
 * slices are many. */
static double vectors_passed(const struct hx_counts *counts, double slices)
{
    return counts->vectors + (counts->pipelined ? (counts->rounds - 1) / slices : 0);
}

/* ---- stages inside a node */

#define CORE_CACHE_BYTES (2.0 * 1024 * 1024) /* second level: 1 or 2 MiB on today's servers */
#define OUTGROWN_FETCH 1.6                   /* of fetch_gb_s, so that predictions stand to each other about as measured */
#define WINDOW_FETCH_US 0.3                  /* mapped memory needs no system call */

static double work_us(const struct hx_cost_params *p, const struct hx_work *work, double bytes)
{
    return (work->copied / p->intra_gb_s + work->reduced / p->reduce_gb_s) * bytes * 1e-3;
}

/* Two kinds of members work, and the second are one slice behind. */
static double overlapped_us(const struct hx_cost_params *p, const struct hx_work work[2], double bytes)
{
    double slice = hx_cost_ahead_slice(p, bytes);

    return larger(work_us(p, &work[0], bytes) + work_us(p, &work[1], slice), work_us(p, &work[0], slice) + work_us(p, &work[1], bytes));
}

/* The stage of an algorithm that uses shared memory, over n members. */
static double shared_stage_us(const struct hx_cost_params *p, const struct hx_algorithm *algorithm, int n, int owners, double bytes)
{
    struct hx_counts c = algorithm->counts((struct hx_group){.coll = algorithm->coll, .p = n, .owners = owners});
    double fetch_us = p->shared_alloc ? WINDOW_FETCH_US : p->fetch_us, fetch_gb_s = p->shared_alloc ? p->intra_gb_s : p->fetch_gb_s;
    double us = c.hops * hx_cost_hand_over(p, c.flags) + (c.calls * fetch_us + bytes * c.fetched / fetch_gb_s * 1e-3) * p->oversubscription;
    double in_turn = 0, on_all_cores = 0;
    struct hx_cost_params own;

    if (c.folds_own && p->own_gb_s > p->reduce_gb_s) {
        own = *p;
        own.reduce_gb_s = p->own_gb_s;
        p = &own;
    }
    if (c.elects) /* a rank yields its core in vain */
        us += p->intra_alpha_us + switches(p) / p->oversubscription;
    for (int i = 0; i < 2; i++) {
        in_turn += work_us(p, &c.work[i], bytes) * crowd(p, c.work[i].members, n);
        on_all_cores += work_us(p, &c.work[i], bytes) * c.work[i].members * p->oversubscription / n;
    }
    if (c.overlaps && p->own_gb_s > 0)
        in_turn = larger(on_all_cores, overlapped_us(p, c.work, bytes));
    if (c.runs_ahead)
        in_turn = larger(work_us(p, &c.work[0], hx_cost_ahead_slice(p, bytes)) + work_us(p, &c.work[1], bytes), on_all_cores);
    if (p->own_gb_s > p->intra_gb_s)
        in_turn -= c.own * bytes * (1 / p->intra_gb_s - 1 / p->own_gb_s) * 1e-3;
    return us + larger(in_turn, 0);
}

/* One stage over n members of a node that moves or reduces `bytes` in all; `owners` of them share the blocks. As if the node had no levels:
 * what those cost is in levels.c. */
static double plain_stage_us(const struct hx_cost_params *p, const struct hx_algorithm *algorithm, int n, int owners, double bytes)
{
    int one_begins = algorithm->coll == HX_COLL_BCAST || algorithm->coll == HX_COLL_REDUCE || hx_coll_is_scan(algorithm->coll);
    double slice = one_begins ? hx_cost_ahead_slice(p, bytes) : FINE_SLICE_BYTES;
    struct hx_counts counts;

    if (n == 1)
        return 0;
    if (algorithm->needs & HX_NEEDS_SHARED_MEMORY)
        return algorithm->counts ? shared_stage_us(p, algorithm, n, owners, bytes) : 1e12;
    hx_cost_counts(algorithm, n, &counts);
    if (hx_coll_has_pairs(algorithm->coll)) /* owners take more from rings */
        bytes *= (double)n / owners;
    double vectors = vectors_passed(&counts, passed_slices(&counts, algorithm->coll, slice > 0 ? bytes / slice : 1));
    return counts.rounds * (RING_FLAGS * p->intra_alpha_us + switches(p)) + further(&counts) * p->intra_alpha_us / 2 +
           vectors * bytes * RING_PASSES / p->intra_gb_s * 1e-3 * p->oversubscription;
}

/* All-to-alls read each byte once. If a core's own cache cannot hold input, output and slot, data in slots has left it before it
 * is read. Fetching was then up to 1.3 times as fast, on one node with 2 and 4 ranks, until the last-level cache was full too. */
static int slots_outgrow_core(const struct hx_cost_params *p, const struct hx_shape *shape, enum hx_coll coll, double bytes)
{
    double touched = 3 * bytes * p->oversubscription;

    return shape->nnodes == 1 && hx_coll_has_pairs(coll) && touched > CORE_CACHE_BYTES && touched < p->core_cache_bytes;
}

static double intra_stage_us(const struct hx_cost_params *p, const struct hx_shape *shape, const struct hx_algorithm *algorithm, int n,
                             int owners, double bytes)
{
    struct hx_cost_params outgrown;

    if (algorithm->needs & HX_NEEDS_SINGLE_COPY && slots_outgrow_core(p, shape, algorithm->coll, bytes)) {
        outgrown = *p;
        outgrown.fetch_gb_s *= OUTGROWN_FETCH;
        p = &outgrown;
    }
    return hx_cost_far_us(p, shape, algorithm, n, bytes) +
           (algorithm->needs & HX_NEEDS_LEVELS && shape->nlevels
                ? hx_cost_levels_us(p, shape, algorithm->coll, n, owners, bytes)
                : plain_stage_us(p, algorithm, n, owners, bytes));
}

/* The stages inside the nodes of a gather or scatter: every node's own blocks; with several lanes, what the other nodes' carriers
 * hand the root or get from it. */
static double blocks_us(const struct hx_cost_params *p, const struct hx_shape *shape, const struct hx_candidate *candidate, double bytes)
{
    const struct hx_algorithm *part = candidate->first ? candidate->first : candidate->last;
    double own = bytes / shape->nnodes;

    if (part)
        return intra_stage_us(p, shape, part, shape->max_local, 1, own);
    part = candidate->coll == HX_COLL_GATHER ? &hx_gather_nary : &hx_scatter_nary;
    return shared_stage_us(p, part, shape->max_local, 1, own) + shared_stage_us(p, part, candidate->lanes, 1, bytes - own);
}

static double cores_of(const struct hx_cost_params *p, const struct hx_shape *shape)
{
    return shape->nranks / p->oversubscription;
}

/* To encode and decode a byte of the vector. */
static double coding_ns(const struct hx_cost_params *p, const struct hx_candidate *candidate)
{
    return candidate->wire ? candidate->wire->reads / p->reduce_gb_s : 0;
}

/* The same for a message, however short: it encodes a whole block. */
static double least_coding_us(const struct hx_cost_params *p, const struct hx_candidate *candidate)
{
    return candidate->wire ? coding_ns(p, candidate) * candidate->wire->block * sizeof(float) * 1e-3 : 0;
}

/* One algorithm between nodes. Ranks that outnumber the job's cores do all that goes between these on the cores that there are.
 * `streams` members per node run side by side, each on `bytes`; `all` such algorithms together, on whole_bytes. The part `crossing` of
 * these goes between nodes. Cores that copy what goes between nodes have the sums to do besides: the same part of them.
 * before_us: messages of others of its node that go before those of the busiest member. */
static double between_us(const struct hx_cost_params *p, const struct hx_shape *shape, const struct hx_candidate *candidate, enum hx_coll coll,
                         const struct hx_counts *c, double bytes, int streams, double all, double whole_bytes, double crossing, double before_us)
{
    double part = candidate->wire ? candidate->wire_part : 1, coding = coding_ns(p, candidate);
    double all_bytes = whole_bytes * crossing, cores = cores_of(p, shape), per_sum = p->copies ? 1 / p->reduce_gb_s : 0, ways = c->one_way ? 1 : 2;
    double slices = passed_slices(c, coll, slices_of(p, coll, c, bytes)), vectors = vectors_passed(c, slices);
    double wire = vectors * part * bytes * larger(streams / p->net_gb_s, 1 / p->stream_gb_s);
    wire += hx_uplink_ns(hx_uplinks_of(p, shape, candidate), wire, part * whole_bytes * p->uplink_taper / p->net_gb_s);
    double core = larger((vectors * (ways * part / p->core_gb_s + coding) + c->reads * per_sum * crossing) * bytes,
                       (c->all_vectors * (2 * part / p->core_gb_s + coding) + c->all_reads * per_sum) * all_bytes / cores);
    double each = p->message_us * (hx_coll_is_rooted(coll) ? ways / 2 : 1); /* most roots only send, or only receive */
    double one_us = c->rounds * (p->net_alpha_us + switches(p)) + further(c) * each + before_us;

    one_us += c->messages * least_coding_us(p, candidate);
    return larger(one_us, c->all_messages * slices * all * p->message_us / cores) + larger(wire, core) * 1e-3;
}

static double uplink_bytes(const struct hx_cost_params *p, const struct hx_shape *shape, const struct hx_candidate *candidate, double whole_bytes)
{
    const struct hx_uplink *uplink = hx_uplinks_of(p, shape, candidate);

    return uplink ? uplink->most * whole_bytes * (candidate->wire ? candidate->wire_part : 1) : 0;
}

double hx_cost_lane_bytes(const struct hx_shape *shape, enum hx_coll coll, int lanes, double bytes)
{
    if (lanes == 0)
        return bytes;
    return bytes * (hx_coll_has_pairs(coll) ? shape->max_local : 1) / lanes; /* each rank has a vector of its own */
}

/* Flat over several nodes. Every rank is a member, in the order of nodes: a ring or chain crosses each link once, a root's blocks cross its
 * link only, the others cross each with nearly all of their messages. */
static struct hx_cost flat_cost(const struct hx_cost_params *params, const struct hx_shape *shape, const struct hx_candidate *candidate,
                                double bytes)
{
    struct hx_cost cost = {0};
    struct hx_counts c = {0};
    hx_cost_counts(candidate->flat, shape->nranks, &c);
    int neighbours = c.neighbours && (!hx_coll_is_scan(candidate->coll) || hx_shape_is_in_order(shape));
    int roots_blocks = hx_coll_is_rooted(candidate->coll) && hx_coll_has_blocks(candidate->coll);
    int channels = hx_candidate_channels(candidate), crossing = neighbours ? channels : roots_blocks ? 1 : shape->max_local;
    double others = shape->nranks - 1, inside = 1, outside = 1; /* parts of what the busiest sends */
    double crossing_part = neighbours ? (double)shape->nnodes / shape->nranks : (shape->nranks - shape->max_local) / others; /* of all */

    if (hx_coll_has_pairs(candidate->coll) || roots_blocks) {
        inside = (shape->max_local - 1) / others;
        outside = 1 - inside;
    }
    double before_us = (c.rounds * (channels - 1) + further(&c) * (crossing - 1)) * params->message_us;
    cost.inter_us = between_us(params, shape, candidate, candidate->coll, &c, outside * bytes / channels, crossing, crossing_part * channels,
                               bytes, crossing_part, before_us);
    cost.rounds = c.rounds;
    cost.net_bytes = c.vectors * outside * bytes / channels * crossing * (candidate->wire ? candidate->wire_part : 1);
    cost.uplink_bytes = uplink_bytes(params, shape, candidate, bytes);
    if (shape->max_local > 1)
        cost.intra_us = larger(inside * c.vectors, (1 - crossing_part) * c.all_vectors / cores_of(params, shape)) * bytes *
                        RING_PASSES / params->intra_gb_s * 1e-3;
    return cost;
}

/* With pair counts: counts, then short blocks, and a look at each of the long ones, which there may be. */
static double pair_counts_us(const struct hx_cost_params *params, const struct hx_shape *shape, double bytes)
{
    return 2 * hx_cost_hand_over(params, shape->max_local - 1) + 2 * (8.0 * shape->nranks + bytes) / params->intra_gb_s * 1e-3 +
           shape->nranks * EMPTY_STEP * params->intra_alpha_us;
}

/* The stages inside the nodes that a composition has before its lanes. */
static double before_lanes_us(const struct hx_cost_params *params, const struct hx_shape *shape, const struct hx_candidate *candidate,
                              double bytes)
{
    double hand_over_us = hx_cost_hand_over(params, 1);

    if (hx_coll_is_rooted(candidate->coll) && hx_coll_has_blocks(candidate->coll)) /* those after them too */
        return blocks_us(params, shape, candidate, bytes);
    if (candidate->first)
        return intra_stage_us(params, shape, candidate->first, shape->max_local, candidate->lanes, bytes);
    if (candidate->coll == HX_COLL_BCAST && candidate->lanes > 1) /* the root copies in, carriers copy out */
        return hand_over_us + 2 * bytes / params->intra_gb_s * 1e-3;
    if (candidate->coll == HX_COLL_ALLGATHER && candidate->lanes < shape->max_local)
        return hand_over_us;
    return 0;
}

/* Those that come after them. */
static double after_lanes_us(const struct hx_cost_params *params, const struct hx_shape *shape, const struct hx_candidate *candidate,
                             double bytes)
{
    double hand_over_us = hx_cost_hand_over(params, 1);

    if (candidate->last && candidate->coll != HX_COLL_SCATTER)
        return intra_stage_us(params, shape, candidate->last, shape->max_local, candidate->lanes, bytes);
    if (candidate->coll == HX_COLL_BARRIER && shape->max_local > 1) /* release, and arrive before */
        return hx_cost_hand_over(params, 1) + hx_cost_hand_over(params, shape->max_local - 1);
    if (candidate->coll == HX_COLL_REDUCE && candidate->lanes > 1) /* carriers copy in, the root copies out */
        return hand_over_us + 2 * bytes / params->intra_gb_s * 1e-3;
    if (candidate->coll == HX_COLL_REDUCE_SCATTER && candidate->lanes < shape->max_local)
        return hand_over_us;
    if (candidate->coll == HX_COLL_ALLTOALL && candidate->lanes < shape->max_local) /* carriers copy in, all copy out */
        return hand_over_us + (hx_cost_lane_bytes(shape, candidate->coll, candidate->lanes, bytes) + bytes) / params->intra_gb_s * 1e-3;
    if (hx_coll_is_scan(candidate->coll)) /* apply: a copy and a fold; keep and total: about the same again */
        return hand_over_us + (bytes / params->intra_gb_s + 2 * bytes / params->reduce_gb_s) * 1e-3 *
                                  (candidate->coll == HX_COLL_EXSCAN ? 2 : 1);
    return 0;
}

static struct hx_cost composed_cost(const struct hx_cost_params *params, const struct hx_shape *shape, const struct hx_candidate *candidate,
                                    double bytes)
{
    struct hx_cost cost = {0};
    struct hx_counts c = {0};
    int lanes = candidate->lanes;

    cost.intra_us = (hx_coll_has_pair_counts(candidate->coll) ? pair_counts_us(params, shape, bytes) : 0) +
                    before_lanes_us(params, shape, candidate, bytes) + after_lanes_us(params, shape, candidate, bytes);
    double lane_bytes = hx_cost_lane_bytes(shape, candidate->coll, lanes, bytes);
    hx_cost_counts(candidate->inter, shape->nnodes, &c);
    cost.inter_us = between_us(params, shape, candidate, candidate->inter->coll, &c, lane_bytes, lanes, lanes, lanes * lane_bytes, 1,
                               c.rounds * (lanes - 1) * params->message_us);
    cost.rounds = c.rounds;
    cost.net_bytes = c.vectors * lane_bytes * lanes * (candidate->wire ? candidate->wire_part : 1);
    cost.uplink_bytes = uplink_bytes(params, shape, candidate, lanes * lane_bytes);
    return cost;
}

struct hx_cost hx_cost_of(const struct hx_cost_params *params, const struct hx_shape *shape, const struct hx_candidate *candidate,
                          double bytes)
{
    struct hx_cost cost = {0};

    if (candidate->lanes)
        cost = composed_cost(params, shape, candidate, bytes);
    else if (shape->nnodes > 1)
        cost = flat_cost(params, shape, candidate, bytes);
    else
        cost.intra_us = intra_stage_us(params, shape, candidate->flat, shape->nranks, shape->nranks, bytes);
    cost.total_us = cost.intra_us + cost.inter_us;
    return cost;
}
