/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost model: see cost.h. Formulas: the heads of the algorithms' files. */
#include "cost.h"
#include "inter/bruck.h"
#include "inter/circulant_schedule.h"
#include "inter/double_tree.h"
#include "inter/tree.h"
#include <math.h>
#include <string.h>

#define FINE_SLICE_BYTES (256.0 * 1024) /* as the planner cuts them */
#define FURTHER_FLAG 0.125 /* of alpha: another flag read in the same wait */
#define EMPTY_STEP 0.125 /* of alpha: a block that there is none of: sent, received, joined */
#define RING_PASSES 4 /* over a message through a ring: copy in, copy out, reduce */

static double floor_log2(int p)
{
    int k = 0;
    while (p >>= 1)
        k++;
    return k;
}

static double ceil_log2(int p)
{
    return p > 1 ? floor_log2(p - 1) + 1 : 0;
}

/* Gather and scatter: all blocks but the root's own pass its link once. */
static int blocks_book(const char *name, int p, double *rounds, double *messages, double *vectors)
{
    if (strcmp(name, "flat") && strcmp(name, "binomial"))
        return -1;
    *rounds = name[0] == 'f' ? p > 1 : ceil_log2(p);
    *messages = name[0] == 'f' ? p - 1 : ceil_log2(p);
    *vectors = (double)(p - 1) / p;
    return 0;
}

/* The book of trees: broadcasts, and reductions, which are the same backwards. */
static int tree_book(const char *name, int p, double *rounds, double *messages, double *vectors)
{
    double log = ceil_log2(p), others = p - 1;

    if (!strcmp(name, "flat")) {
        *rounds = p > 1;
        *messages = *vectors = others;
    } else if (!strcmp(name, "binomial")) {
        *rounds = *messages = *vectors = log;
    } else if (!strcmp(name, "knomial")) {
        *rounds = hx_tree_rounds(p, HX_KNOMIAL_RADIX);
        *messages = *vectors = hx_tree_children(p, HX_KNOMIAL_RADIX);
    } else if (!strcmp(name, "scatter_ring")) {
        *rounds = *messages = log + others;
        *vectors = 2 * others / p;
    } else if (!strcmp(name, "scatter_circulant") || !strcmp(name, "scatter_gather")) {
        *rounds = *messages = 2 * log;
        *vectors = 2 * others / p;
    } else if (!strcmp(name, "chain")) {
        *rounds = others;
        *messages = *vectors = 1;
    } else if (!strcmp(name, "circulant")) { /* the root sends in every round */
        *rounds = *messages = p > 1 ? hx_circulant_blocks(p) - 1 + log : 0;
        *vectors = *rounds / hx_circulant_blocks(p);
    } else if (!strcmp(name, "double_tree")) { /* two halves */
        *rounds = p > 1 ? hx_double_tree_rounds(p - 1) : 0;
        *messages = 2;
        *vectors = 1;
    } else {
        return -1;
    }
    return 0;
}

static int barrier_book(const char *name, int p, double *rounds, double *messages, double *vectors)
{
    if (!strcmp(name, "dissemination") || !strcmp(name, "tree")) {
        *messages = ceil_log2(p);
        *rounds = name[0] == 't' ? 2 * *messages : *messages;
    } else if (!strcmp(name, "mesh") || !strcmp(name, "pairwise")) {
        *messages = p - 1;
        *rounds = name[0] == 'p' ? p - 1 : p > 1;
    } else {
        return -1;
    }
    *vectors = *messages; /* tokens */
    return 0;
}

/* Scans and exclusive scans: whole vectors upwards. */
static int scan_book(const char *name, int p, double *rounds, double *messages, double *vectors)
{
    int q = p > 2 ? 2 : p - 1; /* of 123-doubling: 3 2^(q-2) members are heard of after q rounds */

    if (!strcmp(name, "mesh")) {
        *rounds = p > 1;
        *messages = *vectors = p - 1;
    } else if (!strcmp(name, "chain")) {
        *rounds = p - 1;
        *messages = *vectors = p > 1;
    } else if (!strcmp(name, "recursive_doubling")) {
        *rounds = *messages = *vectors = ceil_log2(p);
    } else if (!strcmp(name, "exclusive_dissemination")) {
        for (int skip = 3; skip + 1 < p; skip *= 2)
            q++;
        *rounds = *messages = *vectors = q;
    } else {
        return -1;
    }
    return 0;
}

static int alltoall_book(const char *name, int p, double *rounds, double *messages, double *vectors)
{
    int bruck = !strcmp(name, "bruck"), in_rounds, in_messages;
    long blocks;

    if (bruck || !strcmp(name, "kbruck")) {
        hx_bruck_count(p, bruck ? 2 : HX_KBRUCK_RADIX, &in_rounds, &in_messages, &blocks);
        *rounds = in_rounds;
        *messages = in_messages;
        *vectors = (double)blocks / p;
    } else if (!strcmp(name, "mesh") || !strcmp(name, "pairwise")) {
        *rounds = name[0] == 'p' ? p - 1 : p > 1;
        *messages = p - 1;
        *vectors = (double)(p - 1) / p;
    } else {
        return -1;
    }
    return 0;
}

int hx_cost_book(const struct hx_algorithm *algorithm, int p, double *rounds, double *messages, double *vectors)
{
    const char *name = algorithm->name;
    double phases = algorithm->coll == HX_COLL_ALLREDUCE ? 2 : 1, others = p - 1, log = ceil_log2(p), fold = 0;

    if (hx_coll_is_rooted(algorithm->coll) && hx_coll_has_blocks(algorithm->coll))
        return blocks_book(name, p, rounds, messages, vectors);
    if (hx_coll_is_rooted(algorithm->coll))
        return tree_book(name, p, rounds, messages, vectors);
    if (algorithm->coll == HX_COLL_BARRIER)
        return barrier_book(name, p, rounds, messages, vectors);
    if (hx_coll_is_scan(algorithm->coll))
        return scan_book(name, p, rounds, messages, vectors);
    if (hx_coll_has_pairs(algorithm->coll))
        return alltoall_book(name, p, rounds, messages, vectors);
    *vectors = phases * others / p;
    if (!strcmp(name, "ring")) {
        *rounds = *messages = phases * others;
    } else if (!strcmp(name, "mesh")) {
        *rounds = phases;
        *messages = phases * others;
    } else if (!strcmp(name, "kbruck")) { /* messages as of the tree to that base */
        *rounds = hx_tree_rounds(p, HX_KBRUCK_RADIX);
        *messages = hx_tree_children(p, HX_KBRUCK_RADIX);
    } else if (!strcmp(name, "kangaring")) { /* of an odd number of blocks one ring has one more */
        *rounds = phases * (p - p / 2);
        fold = algorithm->coll != HX_COLL_REDUCE_SCATTER && p > 1 ? p % 2 : 0;
        *messages = phases * others + fold;
        *vectors += fold / p;
    } else if (!strcmp(name, "mesh_single")) {
        *rounds = 1;
        *messages = *vectors = others;
    } else if (!strcmp(name, "circulant")) {
        *rounds = *messages = phases * log;
    } else if (!strcmp(name, "exclusive_dissemination")) {
        *rounds = *messages = *vectors = log;
    } else if (!strcmp(name, "recursive_doubling")) {
        fold = (p & (p - 1)) ? 2 : 0;
        *rounds = *messages = *vectors = floor_log2(p) + fold;
    } else if (!strcmp(name, "rdh")) {
        fold = (p & (p - 1)) ? 1 : 0;
        *rounds = *messages = phases * floor_log2(p) + 2 * fold; /* who folds hands in a vector first and is served at the end */
        *vectors += fold;
    } else if (!strcmp(name, "double_tree")) { /* of four halves; among two or three members nobody has so many */
        *rounds = p > 1 ? 2 * (hx_double_tree_rounds(p) - 1) : 0;
        *messages = p > 4 ? 4 : p;
        *vectors = *messages / 2;
    } else if (!strcmp(name, "tree")) {
        *rounds = 2 * log;
        *messages = *vectors = log;
    } else {
        return -1;
    }
    return 0;
}

static double switches(const struct hx_cost_params *p)
{
    return p->oversubscription > 1 ? p->oversubscription * p->switch_us : 0;
}

/* Messages beside the one that each round waits for. In a chain or tree the rounds outnumber those of any member. */
static double further(double messages, double rounds)
{
    return messages > rounds ? messages - rounds : 0;
}

static int is_pipelined(const struct hx_algorithm *algorithm)
{
    return !strcmp(algorithm->name, "chain") || !strcmp(algorithm->name, "double_tree");
}

double hx_cost_slices(const struct hx_cost_params *p, const struct hx_algorithm *algorithm, int members, double bytes)
{
    double rounds, messages, vectors, coarsest = bytes / p->least_message;

    if (!is_pipelined(algorithm) || algorithm->coll == HX_COLL_ALLREDUCE ||
        hx_cost_book(algorithm, members, &rounds, &messages, &vectors) < 0)
        return coarsest;
    double best = sqrt((rounds - 1) * coarsest * HX_MESSAGE_PARTS / 2); /* who passes a slice on receives and sends it */
    return best > coarsest ? best : coarsest;
}

/* Vectors that pass before the last member of a chain or tree gets its first slice: it is as good as its slices are many. An
 * all-reduce holds each slice until its sum has come back, and few are under way. */
static double pipeline_fill(const struct hx_algorithm *algorithm, double rounds, double slices)
{
    double most = algorithm->coll == HX_COLL_ALLREDUCE ? HX_COARSE_WINDOW : HX_COARSE_SLICES_MAX;

    if (!is_pipelined(algorithm))
        return 0;
    return (rounds - 1) / (slices < 1 ? 1 : slices > most ? most : slices);
}

/* Members of a node, n of them with a part each, hand one of them so many bytes in all by their slots, or get them from his. */
static double parts_us(const struct hx_cost_params *p, int n, double bytes)
{
    return p->intra_alpha_us + switches(p) + (1 + 1.0 / n) * bytes / p->intra_gb_s * 1e-3 * p->oversubscription;
}

#define CORE_CACHE_BYTES (2.0 * 1024 * 1024) /* second level: 1 or 2 MiB on today's servers */
#define OUTGROWN_FETCH 1.6                   /* of fetch_gb_s, so that predictions stand to each other about as measured */
#define WINDOW_FETCH_US 0.3                  /* what is mapped needs no system call */

/* Single copy: two or three hand-overs, a system call per other member, and nothing is staged. */
static double single_copy_us(const struct hx_cost_params *p, enum hx_coll coll, int n, int owners, double bytes)
{
    double others = (double)(n - 1) / n, hops = 2, calls = n - 1, fetched = others, copied = 0, reduced = 0; /* parts of bytes */
    double fetch_us = p->windows ? WINDOW_FETCH_US : p->fetch_us, fetch_gb_s = p->windows ? p->intra_gb_s : p->fetch_gb_s;

    if (coll == HX_COLL_ALLREDUCE) {
        hops = 3;
        calls *= 2;
        fetched *= 2;
        reduced = 1;
    } else if (coll == HX_COLL_REDUCE_SCATTER) {
        fetched = (double)(n - 1) / owners;
        reduced = (double)n / owners;
    } else if (coll == HX_COLL_REDUCE) {
        copied = others;
        reduced = 1;
    } else if (coll == HX_COLL_ALLGATHER && owners < n) { /* the others, who own nothing, fetch all */
        calls = owners;
        fetched = 1;
    } else if (coll == HX_COLL_BCAST) { /* many that read one process get in each other's way */
        fetched = 1;
    } else {
        copied = 1.0 / n;
    }
    return hops * (p->intra_alpha_us + switches(p)) +
           (calls * fetch_us + bytes * (fetched / fetch_gb_s + copied / p->intra_gb_s + reduced / p->reduce_gb_s) * 1e-3) *
               p->oversubscription;
}

/* One stage over n members of a node that moves or reduces `bytes` in all; `owners` of them share the blocks. As if the node had no levels. */
static double level_stage_us(const struct hx_cost_params *p, const struct hx_algorithm *algorithm, int n, int owners, double bytes)
{
    int one_begins = algorithm->coll == HX_COLL_BCAST || algorithm->coll == HX_COLL_REDUCE || hx_coll_is_scan(algorithm->coll);
    double rounds, messages, vectors, slice = one_begins ? hx_cost_ahead_slice(p, bytes) : FINE_SLICE_BYTES;

    if (n == 1)
        return 0;
    if (algorithm->needs & HX_NEEDS_SINGLE_COPY)
        return single_copy_us(p, algorithm->coll, n, algorithm->coll == HX_COLL_BCAST ? 1 : owners,
                              bytes * (hx_coll_has_pairs(algorithm->coll) ? (double)n / owners : 1));
    if (!strcmp(algorithm->name, "nary") && algorithm->coll == HX_COLL_REDUCE) /* while the root reads n slots, the next slice comes in */
        return p->intra_alpha_us + switches(p) +
               (slice / p->intra_gb_s + n * bytes / p->reduce_gb_s) * 1e-3 * p->oversubscription;
    /* copy in, read n slots, write */
    if (!strcmp(algorithm->name, "nary") &&
        (algorithm->coll == HX_COLL_ALLREDUCE || hx_coll_is_scan(algorithm->coll)))
        return p->intra_alpha_us + switches(p) + (bytes / p->intra_gb_s + n * bytes / p->reduce_gb_s) * 1e-3 * p->oversubscription;
    if (!strcmp(algorithm->name, "last_arriver")) /* all copy in and out; one reads n slots, and somebody gives his core away in vain */
        return 2 * p->intra_alpha_us + switches(p) * (1 + 1 / p->oversubscription) +
               (2 * bytes / p->intra_gb_s * p->oversubscription + n * bytes / p->reduce_gb_s) * 1e-3;
    if (!strcmp(algorithm->name, "nary_sliced"))
        return 2 * (p->intra_alpha_us + switches(p)) + 0.95 * (2 * bytes / p->intra_gb_s + bytes / p->reduce_gb_s) * 1e-3 * p->oversubscription;
    if (!strcmp(algorithm->name, "nary") && algorithm->coll == HX_COLL_REDUCE_SCATTER) /* all copy in, owners read n slots */
        return p->intra_alpha_us + switches(p) +
               (bytes / p->intra_gb_s + n * bytes / owners / p->reduce_gb_s) * 1e-3 * p->oversubscription;
    if (algorithm->coll == HX_COLL_BARRIER && !strcmp(algorithm->name, "nary"))
        return p->intra_alpha_us * (1 + (n - 2) * FURTHER_FLAG) + switches(p);
    if (!strcmp(algorithm->name, "flag_tree")) /* up and down, as many levels as there are powers of 8 in n */
        return 2 * (((int)ceil_log2(n) + 2) / 3) *
               (p->intra_alpha_us * (1 + (n < 9 ? n - 2 : 7) * FURTHER_FLAG) + switches(p));
    if (hx_coll_has_pairs(algorithm->coll)) /* all copy in, owners copy out or take from rings */
        bytes *= (double)n / owners;
    if (!strcmp(algorithm->name, "nary") && algorithm->coll == HX_COLL_ALLTOALL)
        return p->intra_alpha_us * (1 + (n - 2) * FURTHER_FLAG) + switches(p) +
               (bytes * owners / n + bytes) / p->intra_gb_s * 1e-3 * p->oversubscription;
    if (algorithm->coll == HX_COLL_BCAST)
        owners = 1; /* the root */
    if (!strcmp(algorithm->name, "nary") && (algorithm->coll == HX_COLL_GATHER || algorithm->coll == HX_COLL_SCATTER))
        return parts_us(p, n, bytes);
    if (!strcmp(algorithm->name, "nary")) /* owners copy in, all copy out */
        return p->intra_alpha_us + switches(p) + (1.0 / owners + 1) * bytes / p->intra_gb_s * 1e-3 * p->oversubscription;
    if (hx_cost_book(algorithm, n, &rounds, &messages, &vectors) < 0)
        return 1e12;
    return rounds * (p->intra_alpha_us + switches(p)) + further(messages, rounds) * p->intra_alpha_us / 2 +
           (vectors + pipeline_fill(algorithm, rounds, slice > 0 ? bytes / slice : 1)) * bytes * RING_PASSES / p->intra_gb_s * 1e-3 *
               p->oversubscription;
}

/* All-to-alls, of which each byte is read once: what slots hold has left a core's own cache when it is read, if that cannot hold input,
 * output and slot. Fetching was up to 1.3 times as fast then, on one node with 2 and 4 ranks, until the last-level cache was full too. */
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
                ? hx_cost_levels_us(p, shape, algorithm->coll, n, owners, bytes, p->intra_alpha_us + switches(p))
                : level_stage_us(p, algorithm, n, owners, bytes));
}

/* The stages inside the nodes of a gather or scatter: every node's own blocks; with several lanes, what the other nodes' carriers
 * hand the root or get from it. */
static double blocks_us(const struct hx_cost_params *p, const struct hx_shape *shape, const struct hx_candidate *candidate, double bytes)
{
    const struct hx_algorithm *part = candidate->first ? candidate->first : candidate->last;
    double own = bytes / shape->nnodes;

    return part ? intra_stage_us(p, shape, part, shape->max_local, 1, own)
                : parts_us(p, shape->max_local, own) + parts_us(p, candidate->lanes, bytes - own);
}

/* One algorithm between N nodes whose `streams` members per node run side by side, each on `bytes`. */
static double inter_stage_us(const struct hx_cost_params *p, const struct hx_algorithm *algorithm, int N, double bytes,
                             int streams, struct hx_cost *cost)
{
    double rounds, messages, vectors;

    if (N == 1 || hx_cost_book(algorithm, N, &rounds, &messages, &vectors) < 0)
        return N == 1 ? 0 : 1e12;
    cost->rounds = rounds;
    cost->net_bytes = vectors * bytes * streams;
    double each = hx_coll_is_rooted(algorithm->coll) ? p->message_us / 2 : p->message_us; /* a root only sends, or only receives */
    return rounds * (p->net_alpha_us + switches(p)) + further(messages, rounds) * each * p->oversubscription +
           (vectors + pipeline_fill(algorithm, rounds, hx_cost_slices(p, algorithm, N, bytes))) * bytes *
               (streams / p->net_gb_s > 1 / p->stream_gb_s ? streams / p->net_gb_s : 1 / p->stream_gb_s) * 1e-3;
}

double hx_cost_lane_bytes(const struct hx_shape *shape, enum hx_coll coll, int lanes, double bytes)
{
    if (lanes == 0)
        return bytes;
    return bytes * (hx_coll_has_pairs(coll) ? shape->max_local : 1) / lanes; /* each rank has a vector of its own */
}

struct hx_cost hx_cost_of(const struct hx_cost_params *params, const struct hx_shape *shape, const struct hx_candidate *candidate,
                          double bytes)
{
    struct hx_cost cost = {0};
    int lanes = candidate->lanes;

    if (lanes == 0 && shape->nnodes == 1) {
        cost.intra_us = intra_stage_us(params, shape, candidate->flat, shape->nranks, shape->nranks, bytes);
    } else if (lanes == 0) {
        /* every rank is a member, in the order of nodes: a ring or chain crosses each link once, a root's blocks cross its
         * link only, the others cross each with nearly all of their messages */
        int neighbours = (!strcmp(candidate->flat->name, "ring") || !strcmp(candidate->flat->name, "chain")) &&
                         (!hx_coll_is_scan(candidate->coll) || hx_shape_is_in_order(shape));
        int roots_blocks = hx_coll_is_rooted(candidate->coll) && hx_coll_has_blocks(candidate->coll);
        int channels = hx_candidate_channels(candidate), crossing = neighbours ? channels : roots_blocks ? 1 : shape->max_local;
        double rounds, messages, vectors = 0, others = shape->nranks - 1, inside = 1, outside = 1; /* parts of what is sent */
        if ((hx_coll_has_pairs(candidate->coll) || roots_blocks) && others > 0) {
            inside = (shape->max_local - 1) / others;
            outside = 1 - inside;
        }
        cost.inter_us = inter_stage_us(params, candidate->flat, shape->nranks, outside * bytes / channels, crossing, &cost);
        cost.inter_us += cost.rounds * params->message_us * (channels - 1) * params->oversubscription; /* as of lanes */
        if (shape->max_local > 1 && hx_cost_book(candidate->flat, shape->nranks, &rounds, &messages, &vectors) == 0) {
            cost.inter_us += further(messages, rounds) * params->message_us * (crossing - 1);
            cost.intra_us = inside * vectors * bytes * RING_PASSES / params->intra_gb_s * 1e-3 * params->oversubscription;
        }
    } else {
        double lane_bytes = hx_cost_lane_bytes(shape, candidate->coll, lanes, bytes);
        if (hx_coll_has_traffic(candidate->coll)) /* counts, then short blocks, and a look at each of the long ones, which there may be */
            cost.intra_us += 2 * (params->intra_alpha_us * (1 + (shape->max_local - 2) * FURTHER_FLAG) + switches(params)) +
                             2 * (8.0 * shape->nranks + bytes) / params->intra_gb_s * 1e-3 + shape->nranks * EMPTY_STEP * params->intra_alpha_us;
        if (hx_coll_is_rooted(candidate->coll) && hx_coll_has_blocks(candidate->coll))
            cost.intra_us += blocks_us(params, shape, candidate, bytes);
        else if (candidate->first)
            cost.intra_us += intra_stage_us(params, shape, candidate->first, shape->max_local, lanes, bytes);
        else if (candidate->coll == HX_COLL_BCAST && lanes > 1) /* the root copies in, carriers copy out */
            cost.intra_us += params->intra_alpha_us + switches(params) + 2 * bytes / params->intra_gb_s * 1e-3;
        else if (candidate->coll == HX_COLL_ALLGATHER && lanes < shape->max_local)
            cost.intra_us += params->intra_alpha_us + switches(params);
        if (candidate->last && candidate->coll != HX_COLL_SCATTER)
            cost.intra_us += intra_stage_us(params, shape, candidate->last, shape->max_local, lanes, bytes);
        else if (candidate->coll == HX_COLL_BARRIER && shape->max_local > 1) /* arrive and release */
            cost.intra_us += 2 * (params->intra_alpha_us * (1 + (shape->max_local - 2) * FURTHER_FLAG / 2) +
                                  switches(params));
        else if (candidate->coll == HX_COLL_REDUCE && lanes > 1) /* carriers copy in, the root copies out */
            cost.intra_us += params->intra_alpha_us + switches(params) + 2 * bytes / params->intra_gb_s * 1e-3;
        else if (candidate->coll == HX_COLL_REDUCE_SCATTER && lanes < shape->max_local)
            cost.intra_us += params->intra_alpha_us + switches(params);
        else if (candidate->coll == HX_COLL_ALLTOALL && lanes < shape->max_local) /* carriers copy in, all copy out */
            cost.intra_us += params->intra_alpha_us + switches(params) + (lane_bytes + bytes) / params->intra_gb_s * 1e-3;
        if (hx_coll_is_scan(candidate->coll)) /* apply: a copy and a fold; keep and total: about the same again */
            cost.intra_us += params->intra_alpha_us + switches(params) +
                             (bytes / params->intra_gb_s + 2 * bytes / params->reduce_gb_s) * 1e-3 *
                                 (candidate->coll == HX_COLL_EXSCAN ? 2 : 1);
        cost.inter_us = inter_stage_us(params, candidate->inter, shape->nnodes, lane_bytes, lanes, &cost);
        if (lanes > 1) /* lanes share their node's cores */
            cost.inter_us += cost.rounds * params->message_us * (lanes - 1) * params->oversubscription;
    }
    cost.total_us = cost.intra_us + cost.inter_us;
    return cost;
}
