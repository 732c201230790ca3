/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a vector is cut: into slices of some 256 KiB in the shared memory of a node, and into longer ones between nodes. The later cuts are
 * elsewhere: a slice into blocks in runtime/plan/layout.c, a message between nodes into chunks in inter/fabric/message.c, and a message
 * inside a node into entries of a ring in runtime/engine/shm_ring.c. Also here: how calls take turns in the slots of a node.
 */
#include "hier/planner.h"

#define FINE_SLICE_BYTES (256.0 * 1024)    /* of the vector, measured: shorter ones cost more hand-overs than they overlap */
#define PARTS_SLICE_BYTES (512.0 * 1024)   /* of gathers and scatters on one node, measured likewise: a member's part of it passes a slot */
#define FETCH_MIN_BYTES 16384.0            /* of one member by single copy: shorter ones are mostly system calls */
#define FETCH_WHOLE_BYTES (4096.0 * 1024)  /* of the vector, where there is nothing but fetching */
#define SLICES_MAX (1 << 23) /* an epoch has room for twice as many */
#define TURNS 4u
#define TURN_MIN_BYTES ((size_t)16 << 10)  /* measured: shorter slots do best in the first-level cache */
#define ROOM_MAX_BYTES ((size_t)1 << 20)  /* of a bank; measured, for turns: more of it pushes out what a rank reads and writes */
#define SHORT_BLOCK_COPIES 4
#define SHORT_BLOCK_MAX_BYTES 65536u
#define MESSAGE_MAX_BYTES (64.0 * 1024 * 1024)
/* A vector may take more than HX_COARSE_SLICES_MAX messages of that length: the transport's credits let no two of a flow go at
 * once. If each rank has a block of its own, which may be short, the limit holds, and the transport takes longer messages. */
_Static_assert(HX_COARSE_SLICES_MAX <= HX_MATCH_SLICES, "match ids tell all slices of a call apart");
_Static_assert(HX_COARSE_WINDOW <= HX_FLOW_SLICES, "slices under way have flows of their own");

double hx_planner_vector_bytes(const struct hx_planner *planner, enum hx_coll coll, uint64_t count, uint32_t elem_bytes)
{
    return (double)count * elem_bytes * (hx_coll_has_blocks(coll) ? planner->shape->nranks : 1);
}

size_t hx_planner_live_slots(const struct hx_plan *plan, const struct hx_sizes *sizes, unsigned window_fine, unsigned window_coarse)
{
    size_t bytes = 0;

    for (int s = 0; s < plan->nstages; s++) {
        struct hx_layout layout;
        hx_layout_init(&layout, plan, &plan->stages[s], sizes);
        uint64_t window = plan->stages[s].coarse ? window_coarse : window_fine;
        bytes += layout.slot_bytes * (layout.nslices < window ? layout.nslices : window);
    }
    return bytes;
}

/* For the slots of slices under way, and of calls in turn. */
static size_t slots_room(const struct hx_planner *planner)
{
    return planner->live_bytes < ROOM_MAX_BYTES ? planner->live_bytes : ROOM_MAX_BYTES;
}

static uint64_t at_least_one(double x)
{
    return x < 1 ? 1 : (uint64_t)x;
}

/* Plans that decide for all ranks how they cut, so that all cut alike. On nodes of other sizes the same stage has other slots: a
 * plan of the fullest node, the largest, decides. If there is a root, its node may have a stage more, and the root has a part in
 * every stage. */
struct deciding {
    struct hx_plan *fullest, *root; /* root: NULL where there is none */
};

static void deciding_release(struct deciding *d)
{
    hx_plan_release(d->fullest);
    hx_plan_release(d->root);
}

/* The plan of that rank: the given one, if it is his. */
static struct hx_plan *plan_of(const struct hx_shape *shape, int rank, const struct hx_candidate *candidate, struct hx_plan *plan)
{
    if (plan->rank != rank)
        return hx_compose(shape, rank, candidate);
    hx_plan_retain(plan);
    return plan;
}

static hx_status_t deciding_find(const struct hx_planner *planner, const struct hx_candidate *candidate, struct hx_plan *plan,
                                 struct deciding *d)
{
    const struct hx_shape *shape = planner->shape;
    int rooted = hx_coll_is_rooted(candidate->coll), node = shape->node_of[plan->rank];

    *d = (struct deciding){NULL, NULL};
    if (!rooted && hx_shape_node_size(shape, node) == shape->max_local) {
        hx_plan_retain(d->fullest = plan);
        return HX_SUCCESS;
    }
    for (node = 0; hx_shape_node_size(shape, node) < shape->max_local; node++)
        ;
    d->fullest = plan_of(shape, hx_shape_member(shape, node, 0), candidate, plan);
    if (rooted && d->fullest)
        d->root = plan_of(shape, candidate->root, candidate, plan->rank == candidate->root ? plan : d->fullest);
    if (d->fullest && (d->root || !rooted))
        return HX_SUCCESS;
    deciding_release(d);
    return HX_ERR_NOMEM; /* the composer has reported it */
}

/* How many messages a lane's slice becomes, each to another member. */
static int lane_parts(const struct hx_planner *planner, const struct deciding *d)
{
    if (hx_coll_is_scan(d->fullest->coll)) /* whole vectors */
        return 1;
    for (int s = 0; d->root && s < d->root->nstages; s++)
        if (d->root->stages[s].coarse && d->root->stages[s].split)
            return (int)d->root->stages[s].nblocks;
    return d->fullest->nlanes ? planner->shape->nnodes : planner->shape->nranks * d->fullest->nstages; /* of a flat one, channels */
}

/* Do all messages begin at once, and is none part of a sum? Then cutting them would overlap nothing. */
static int nothing_overlaps(const struct hx_planner *planner, const struct hx_candidate *candidate)
{
    struct hx_counts counts;

    return candidate->lanes == 0 && planner->shape->max_local == 1 && !hx_coll_reduces(candidate->coll) &&
           hx_cost_counts(candidate->flat, planner->shape->nranks, &counts) == 0 && counts.rounds < 2;
}

/* The network's slices: enough to overlap the levels, but no message so short that the CPU's part in it shows, unless a chain or tree gains
 * more by it; more where a message would be too long. */
static uint64_t coarse_slices(const struct hx_planner *planner, const struct hx_candidate *candidate, const struct deciding *d,
                              double bytes)
{
    double lane_bytes = hx_cost_lane_bytes(planner->shape, d->fullest->coll, d->fullest->nlanes, bytes);
    double part = lane_bytes / lane_parts(planner, d);
    int members;
    const struct hx_algorithm *sender = hx_candidate_sender(candidate, planner->shape, &members);
    uint64_t wanted = at_least_one(hx_cost_slices(&planner->cost, sender, members, part));
    double longest = hx_coll_has_pairs(d->fullest->coll) ? part : lane_bytes;
    uint64_t needed = at_least_one(longest / MESSAGE_MAX_BYTES + 1);

    if (wanted > HX_COARSE_SLICES_MAX)
        wanted = HX_COARSE_SLICES_MAX;
    if (needed > HX_COARSE_SLICES_MAX && hx_coll_has_blocks(d->fullest->coll))
        needed = HX_COARSE_SLICES_MAX;
    if (nothing_overlaps(planner, candidate))
        wanted = 1;
    if (planner->forced_slice > 0 && (double)wanted * (double)planner->forced_slice > bytes)
        wanted = at_least_one(bytes / (double)planner->forced_slice);
    return wanted > needed ? wanted : needed;
}

static size_t most_live_slots(const struct hx_planner *planner, const struct deciding *d, struct hx_sizes sizes, unsigned window)
{
    sizes.for_smaller = planner->shape->min_local < planner->shape->max_local;
    size_t fullest = hx_planner_live_slots(d->fullest, &sizes, window, HX_COARSE_WINDOW);
    size_t root = d->root ? hx_planner_live_slots(d->root, &sizes, window, HX_COARSE_WINDOW) : 0;

    return root > fullest ? root : fullest;
}

/* More slices under way than overlapping needs, where their slots have room: one that is soon written again comes back slowly from its
 * reader. Ranks that share a core gain too, since they change less often. Not by single copy, where little or nothing is in slots. */
static void window_widen(const struct hx_planner *planner, const struct hx_candidate *candidate, const struct deciding *d, uint64_t count,
                         uint32_t elem_bytes, struct hx_choice *choice)
{
    const struct hx_sizes sizes = {.count = count, .elem_bytes = elem_bytes, .fine_slices = choice->fine_slices,
                                   .coarse_slices = choice->coarse_slices};
    unsigned most = hx_fine_window_max(d->fullest);
    size_t room = slots_room(planner);

    if (d->root && most > hx_fine_window_max(d->root))
        most = hx_fine_window_max(d->root);
    if (planner->forced_turns && room > planner->bank_bytes / (size_t)planner->forced_turns)
        room = planner->bank_bytes / (size_t)planner->forced_turns;
    if (hx_candidate_needs(candidate, HX_NEEDS_SINGLE_COPY))
        return;
    while (choice->window_fine < choice->fine_slices && 2 * choice->window_fine <= most) {
        size_t live = most_live_slots(planner, d, sizes, 2 * choice->window_fine);
        if (live == 0 || live > room)
            break;
        choice->window_fine *= 2;
        choice->slot_bytes = live;
    }
}

/* On one node: does one rank begin or end alone with a slice, while the others wait? */
static int runs_ahead(const struct hx_candidate *candidate, int n)
{
    const struct hx_algorithm *flat = candidate->flat;

    if (candidate->coll != HX_COLL_REDUCE)
        return candidate->coll == HX_COLL_BCAST || hx_coll_is_scan(candidate->coll);
    if (!flat || !(flat->needs & HX_NEEDS_SHARED_MEMORY))
        return flat != NULL;
    return flat->counts && flat->counts((struct hx_group){.coll = flat->coll, .p = n, .owners = n}).runs_ahead;
}

/* By single copy there is nothing but fetching, and not all the same from one, where a reader finds what another has brought into the cache. */
static int fetches_whole(const struct hx_candidate *candidate)
{
    return candidate->lanes == 0 && hx_coll_has_blocks(candidate->coll) && !hx_coll_reduces(candidate->coll);
}

static double fine_slice(const struct hx_planner *planner, const struct hx_candidate *candidate, double bytes)
{
    double n = planner->shape->max_local, least = fetches_whole(candidate) ? FETCH_WHOLE_BYTES : FINE_SLICE_BYTES;

    if (hx_candidate_needs(candidate, HX_NEEDS_SINGLE_COPY)) /* of few lanes each carrier fetches more of a slice */
        return (FETCH_MIN_BYTES * n > least ? FETCH_MIN_BYTES * n : least) * (candidate->lanes ? candidate->lanes / n : 1);
    if (planner->shape->nnodes > 1)
        return FINE_SLICE_BYTES;
    if (hx_coll_is_rooted(candidate->coll) && hx_coll_has_blocks(candidate->coll))
        return PARTS_SLICE_BYTES;
    return runs_ahead(candidate, planner->shape->nranks) && bytes > 0 ? hx_cost_ahead_slice(&planner->cost, bytes) : FINE_SLICE_BYTES;
}

/* The length of a vector with pair counts is unknown: one slice. The choice is which of its blocks are short: copying them a few
 * times inside the nodes costs less than a message of their own, and there is room for all. */
static void limit_choose(const struct hx_planner *planner, const struct deciding *d, uint64_t count, uint32_t elem_bytes,
                         struct hx_choice *choice)
{
    double worth = planner->cost.message_us * planner->cost.intra_gb_s * 1e3 / SHORT_BLOCK_COPIES;
    struct hx_sizes sizes = {.count = count, .elem_bytes = elem_bytes, .fine_slices = 1, .coarse_slices = 1};
    uint64_t bytes = 64;

    while (2.0 * (double)bytes <= worth && bytes < SHORT_BLOCK_MAX_BYTES)
        bytes *= 2;
    for (;; bytes /= 2) {
        sizes.limit = bytes / elem_bytes;
        choice->slot_bytes = most_live_slots(planner, d, sizes, HX_FINE_WINDOW);
        if (choice->slot_bytes <= planner->live_bytes || sizes.limit == 0)
            break;
    }
    choice->fine_slices = choice->coarse_slices = 1;
    choice->limit = sizes.limit;
}

/* The slots of a window of fine slices should fit a rank's share of the cache, and must fit its bank: more slices until they do. */
static void fine_slices_choose(const struct hx_planner *planner, const struct deciding *d, double bytes, double slice, uint64_t count,
                               uint32_t elem_bytes, struct hx_choice *choice)
{
    double lane_bytes = hx_cost_lane_bytes(planner->shape, d->fullest->coll, d->fullest->nlanes, bytes);
    double most = lane_bytes > bytes ? lane_bytes : bytes; /* that pass through one rank's slot */
    double least = elem_bytes > HX_SLICE_LEAST ? elem_bytes : HX_SLICE_LEAST, coarse = (double)choice->coarse_slices;
    uint64_t per_coarse = at_least_one((bytes / slice + coarse - 1) / coarse);

    for (;; per_coarse += (per_coarse + 3) / 4) {
        struct hx_sizes sizes = {.count = count, .elem_bytes = elem_bytes, .fine_slices = choice->coarse_slices * per_coarse,
                                 .coarse_slices = choice->coarse_slices};
        double left = most / (double)sizes.fine_slices;
        choice->fine_slices = sizes.fine_slices;
        choice->slot_bytes = most_live_slots(planner, d, sizes, HX_FINE_WINDOW);
        if (choice->slot_bytes <= planner->live_bytes || left < least || sizes.fine_slices > SLICES_MAX)
            return;
        if (choice->slot_bytes <= planner->bank_bytes && left < (double)planner->shape->max_local * elem_bytes) /* blocks would be empty */
            return;
    }
}

hx_status_t hx_planner_slices(const struct hx_planner *planner, const struct hx_candidate *candidate, struct hx_plan *plan, uint64_t count,
                              uint32_t elem_bytes, uint64_t slice_bytes, struct hx_choice *choice)
{
    double bytes = hx_planner_vector_bytes(planner, plan->coll, count, elem_bytes);
    double wanted = planner->forced_slice ? (double)planner->forced_slice : (double)slice_bytes;
    struct deciding d;
    hx_status_t status = deciding_find(planner, candidate, plan, &d);

    if (status != HX_SUCCESS)
        return status;
    choice->window_fine = HX_FINE_WINDOW;
    choice->window_coarse = hx_coarse_window(plan);
    if (hx_coll_has_pair_counts(plan->coll) && plan->nlanes) {
        limit_choose(planner, &d, count, elem_bytes, choice);
    } else {
        /* half as many slices as there may be: slots that are too long still are cut */
        double slice = wanted > 0 ? wanted : fine_slice(planner, candidate, bytes), least = bytes / (SLICES_MAX / 2);
        choice->coarse_slices = planner->shape->nnodes > 1 ? coarse_slices(planner, candidate, &d, bytes) : 1;
        fine_slices_choose(planner, &d, bytes, slice > least ? slice : least, count, elem_bytes, choice);
        window_widen(planner, candidate, &d, count, elem_bytes, choice);
    }
    deciding_release(&d);
    return HX_SUCCESS;
}

/* Taking a line back from another core's cache costs more than writing to one that was left alone for a while: by slots in turn
 * a gather of 128 KiB between two ranks takes three quarters of the time. Ranks that share a core share its cache too, and the
 * room in it. The ranks that begin a rooted collective or a scan run ahead of the others as far as there are turns. */
unsigned hx_planner_turns(const struct hx_planner *planner, enum hx_coll coll, size_t slot_bytes)
{
    double sharers = planner->cost.oversubscription;
    size_t room = (size_t)((double)slots_room(planner) / (sharers > 1 ? sharers : 1));
    const int ahead = hx_coll_is_rooted(coll) || hx_coll_is_scan(coll);
    unsigned wanted = ahead ? (unsigned)planner->turns_most : slot_bytes >= TURN_MIN_BYTES ? TURNS : 1, turns = 1;

    if (planner->forced_turns) {
        wanted = (unsigned)planner->forced_turns;
        room = planner->bank_bytes;
    }
    while (turns * 2 <= wanted && turns * 2 * slot_bytes <= room)
        turns *= 2;
    return turns;
}
