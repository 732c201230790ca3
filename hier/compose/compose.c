/* SPDX-License-Identifier: BSD-3-Clause */
/* Composition: see compose.h. Every stage is an ordinary algorithm over a group of members whose block j belongs to member j; what
 * differs is which blocks of the plan that block holds. */
#include "hier/compose/composer.h"
#include "intra/algorithms/algorithms.h"
#include "runtime/base/error.h"
#include "runtime/plan/graph.h"
#include "runtime/plan/lane.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the composer ------------------------------------------------------------------------------------------------- */

void hx_composer_lacks(struct composer *c, const char *what)
{
    if (c->status == HX_SUCCESS)
        c->status = hx_fail(HX_ERR_NOMEM, "no memory for the %s of a plan", what);
}

static int covers_from(const struct composer *c, int lane, int node)
{
    return hx_lane_carrier(lane, c->candidate->lanes, hx_shape_node_size(c->shape, node));
}

int hx_composer_root_node(const struct composer *c)
{
    return c->shape->node_of[c->candidate->root];
}

int hx_composer_carrier(const struct composer *c, int lane, int node)
{
    int from = covers_from(c, lane, node);

    if (hx_coll_is_scan(c->plan->coll)) /* the last rank has the sum of its node */
        return hx_shape_node_size(c->shape, node) - 1;
    if (!hx_coll_is_rooted(c->plan->coll) || node != hx_composer_root_node(c))
        return from;
    return (from + c->shape->local_of[c->candidate->root]) % hx_shape_node_size(c->shape, node);
}

/* Blocks between a root and the ranks of its own node stay there: no lane covers them. */
void hx_composer_covered(struct composer *c, struct hx_lists *l, int lane, int node)
{
    if (hx_coll_is_rooted(c->plan->coll) && node == hx_composer_root_node(c))
        return;
    for (int local = covers_from(c, lane, node); local < covers_from(c, lane + 1, node); local++)
        hx_lists_item(l, hx_shape_member(c->shape, node, local));
}

/* The first lane that it carries, if it carries any: they follow each other. */
static int first_carried(const struct composer *c, int local)
{
    int n = hx_shape_node_size(c->shape, c->node), from = local;

    if (hx_coll_is_scan(c->plan->coll))
        return 0;
    if (hx_coll_is_rooted(c->plan->coll) && c->node == hx_composer_root_node(c))
        from = (local + n - c->shape->local_of[c->candidate->root]) % n;
    return (int)(((int64_t)from * c->candidate->lanes + n - 1) / n);
}

void hx_composer_carried(struct composer *c, struct hx_lists *l, int local)
{
    for (int lane = first_carried(c, local); lane < c->candidate->lanes && hx_composer_carrier(c, lane, c->node) == local; lane++) {
        if (!hx_coll_has_blocks(c->plan->coll))
            hx_lists_item(l, lane);
        for (int node = 0; hx_coll_has_blocks(c->plan->coll) && node < c->shape->nnodes; node++)
            hx_composer_covered(c, l, lane, node);
    }
}

void hx_composer_handed(struct composer *c, struct hx_lists *l)
{
    for (int lane = 0; lane < c->candidate->lanes; lane++)
        if (hx_composer_carrier(c, lane, c->node) == c->local)
            hx_composer_covered(c, l, lane, c->node);
}

int hx_composer_lists_are_good(struct composer *c, struct hx_lists *l, const struct hx_stage *stage)
{
    if (!l->failed && stage)
        return 1;
    hx_composer_lacks(c, "blocks");
    free(l->start);
    free(l->items);
    return 0;
}

void hx_composer_lists_give(struct composer *c, struct hx_lists *l, struct hx_stage *stage)
{
    if (!hx_composer_lists_are_good(c, l, stage))
        return;
    stage->list_start = l->start;
    stage->list = l->items;
}

struct hx_stage *hx_composer_stage(struct composer *c, int level, enum hx_scope scope, const int *members, int n, int me,
                                   enum hx_space in, enum hx_space out)
{
    struct hx_stage *stage = c->status == HX_SUCCESS ? hx_plan_add_stage(c->plan, level + c->shift, scope, members, n, me) : NULL;

    if (!stage) {
        c->status = c->status == HX_SUCCESS ? HX_ERR_NOMEM : c->status;
        return NULL;
    }
    stage->in = in;
    stage->out = out;
    stage->share = c->share;
    return stage;
}

void hx_composer_run(struct composer *c, struct hx_stage *stage, const struct hx_algorithm *algorithm)
{
    if (c->status == HX_SUCCESS)
        c->status = hx_stage_run(stage, algorithm);
}

void hx_composer_build(struct composer *c, struct hx_stage *stage, const char *name, void (*build)(struct hx_builder *))
{
    if (c->status == HX_SUCCESS)
        c->status = hx_stage_build(stage, name, build);
}

const int *hx_composer_node(const struct composer *c)
{
    return c->shape->members + c->shape->node_start[c->node];
}

struct hx_stage *hx_composer_local(struct composer *c, int level, enum hx_space in, enum hx_space out, hx_composer_list_t *list)
{
    struct hx_stage *stage = hx_composer_stage(c, level, HX_SCOPE_INTRA, hx_composer_node(c), c->n, c->local, in, out);
    struct hx_lists l;

    hx_lists_open(&l, c->n);
    for (int local = 0; local < c->n && !l.failed; local++) {
        list(c, &l, local);
        hx_lists_block_end(&l);
    }
    hx_composer_lists_give(c, &l, stage);
    return stage;
}

/* The same, whose root carries lane 0. */
static struct hx_stage *node_stage(struct composer *c, int level, enum hx_space in, enum hx_space out, hx_composer_list_t *list)
{
    struct hx_stage *stage = hx_composer_local(c, level, in, out, list);

    if (c->status == HX_SUCCESS)
        stage->root = hx_composer_carrier(c, 0, c->node);
    return stage;
}

void hx_composer_intra(struct composer *c, int level, const struct hx_algorithm *algorithm, enum hx_space in, enum hx_space out)
{
    struct hx_stage *stage = node_stage(c, level, in, out, hx_composer_carried);

    hx_composer_rows(c, stage, HX_ROW_OF_MEMBER);
    hx_composer_run(c, stage, algorithm);
}

static void part_stage(struct composer *c, int level, const struct hx_algorithm *part, enum hx_space in, enum hx_space out)
{
    if (part->needs & HX_NEEDS_LEVELS)
        hx_composer_levels(c, level, part, in, out);
    else
        hx_composer_intra(c, level, part, in, out);
}

void hx_composer_fixed(struct composer *c, int level, const char *name, void (*build)(struct hx_builder *),
                       enum hx_space in, enum hx_space out)
{
    struct hx_stage *stage = node_stage(c, level, in, out, hx_composer_carried);

    if (c->status == HX_SUCCESS)
        hx_composer_alike(stage);
    hx_composer_build(c, stage, name, build);
}

void hx_composer_rank(struct composer *c, struct hx_lists *l, int local)
{
    hx_lists_item(l, hx_composer_node(c)[local]);
}

struct hx_stage *hx_composer_own(struct composer *c, int level, enum hx_space in, enum hx_space out)
{
    return node_stage(c, level, in, out, hx_composer_rank);
}

void hx_composer_holders(struct composer *c, int level, const char *name, void (*build)(struct hx_builder *), enum hx_space in,
                         enum hx_space out)
{
    struct hx_stage *stage = hx_composer_own(c, level, in, out);
    int *holder = malloc((size_t)c->n * sizeof(int));

    for (int lane = 0; holder && lane < c->candidate->lanes; lane++)
        for (int local = covers_from(c, lane, c->node); local < covers_from(c, lane + 1, c->node); local++)
            holder[local] = covers_from(c, lane, c->node);
    if (!holder)
        hx_composer_lacks(c, "holders");
    hx_composer_rows(c, stage, HX_ROW_OF_ALL);
    if (c->status == HX_SUCCESS) {
        stage->holder = holder;
        if (c->candidate->lanes < c->n) /* else every rank holds its own block, and no rank has a slot */
            hx_composer_alike(stage);
        hx_composer_build(c, stage, name, build);
    } else {
        free(holder);
    }
}

/* The node whose carrier is member i of a lane's stage. */
static int lane_node(const struct composer *c, int i)
{
    return c->candidate->inter->needs & HX_PASSES_RING ? hx_shape_ring_node(c->shape, i) : i;
}

static int lane_member(const struct composer *c, int node)
{
    int i = 0;

    while (lane_node(c, i) != node)
        i++;
    return i;
}

/* The stage of one lane between nodes: its members are the lane's carriers on them. */
static void lane_stage(struct composer *c, int level, int lane, enum hx_space in, enum hx_space out)
{
    int nodes = c->shape->nnodes;
    struct hx_stage *stage;
    struct hx_lists l;

    for (int i = 0; i < nodes; i++)
        c->members[i] = hx_shape_member(c->shape, lane_node(c, i), hx_composer_carrier(c, lane, lane_node(c, i)));
    stage = hx_composer_stage(c, level, HX_SCOPE_INTER, c->members, nodes, lane_member(c, c->node), in, out);
    hx_lists_open(&l, nodes);
    for (int i = 0; i < nodes && !l.failed; i++) {
        if (!hx_coll_has_blocks(c->plan->coll))
            hx_lists_item(&l, lane); /* the algorithm splits the lane's block; see hx_split */
        else
            hx_composer_covered(c, &l, lane, lane_node(c, i));
        hx_lists_block_end(&l);
    }
    hx_composer_lists_give(c, &l, stage);
    if (c->status == HX_SUCCESS) {
        stage->coarse = 1;
        stage->wire = c->candidate->wire;
        stage->root = hx_coll_is_rooted(c->plan->coll) ? lane_member(c, hx_composer_root_node(c)) : 0;
    }
    hx_composer_rows(c, stage, HX_ROW_OF_NODE);
    hx_composer_run(c, stage, c->candidate->inter);
}

void hx_composer_lanes(struct composer *c, int level, enum hx_space in, enum hx_space out)
{
    for (int lane = 0; lane < c->candidate->lanes; lane++)
        if (hx_composer_carrier(c, lane, c->node) == c->local)
            lane_stage(c, level, lane, in, out);
}

/* How many blocks one of this rank's buffers holds. */
static uint32_t held(const struct composer *c, enum hx_holds holds, uint32_t all)
{
    if (holds == HX_HOLDS_NOTHING || (holds == HX_HOLDS_ROOT && c->rank != c->candidate->root))
        return 0;
    return holds == HX_HOLDS_OWN ? 1 : all;
}

static void buffers_lay_out(struct composer *c)
{
    struct hx_plan *plan = c->plan;
    uint32_t lanes = (uint32_t)c->candidate->lanes, all = lanes ? lanes : (uint32_t)hx_candidate_channels(c->candidate);
    int pairs = hx_coll_has_pairs(plan->coll);

    plan->partition = hx_coll_has_blocks(plan->coll) ? HX_PARTITION_PER_RANK : HX_PARTITION_EVEN;
    if (hx_coll_has_blocks(plan->coll) || (!lanes && c->candidate->flat->needs & HX_NEEDS_LEVELS))
        all = (uint32_t)c->shape->nranks;
    plan->nblocks = pairs ? (uint64_t)all * all : all;
    plan->in_block = hx_coll_in_block(plan->coll, c->shape->nranks, c->rank);
    plan->in_nblocks = held(c, hx_coll_gives(plan->coll), all);
    plan->out_block = pairs || hx_coll_gets(plan->coll) == HX_HOLDS_OWN ? (uint64_t)c->rank : 0;
    plan->out_nblocks = hx_coll_is_exclusive(plan->coll) && c->rank == 0 ? 0 : held(c, hx_coll_gets(plan->coll), all);
    plan->out_stride = pairs ? all : 1;
    if (c->candidate->graph) {
        const struct hx_graph *graph = plan->graph = hx_graph_retain(c->candidate->graph);
        plan->nblocks = graph->nedges;
        plan->in_block = graph->start[c->rank];
        plan->in_nblocks = graph->start[c->rank + 1] - graph->start[c->rank];
        plan->out_block = 0;
        plan->out_nblocks = graph->in_start[c->rank + 1] - graph->in_start[c->rank];
        plan->out_stride = 1;
    }
}

/* ---- the collectives ---------------------------------------------------------------------------------------------- */

void hx_compose_allreduce(struct composer *c)
{
    part_stage(c, 0, c->candidate->first, HX_IN, HX_OUT);
    hx_composer_lanes(c, 1, HX_OUT, HX_OUT);
    if (c->n > 1)
        part_stage(c, 2, c->candidate->last, HX_OUT, HX_OUT);
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The numbers of a list, ascending. Returns how many. */
uint32_t hx_composer_numbers(struct composer *c, struct hx_lists *l, uint32_t **numbers)
{
    free(l->start);
    if (l->failed)
        hx_composer_lacks(c, "blocks");
    if (l->nitems)
        qsort(l->items, l->nitems, sizeof(*l->items), by_number);
    *numbers = l->items;
    return l->nitems;
}

/* WORK holds the blocks of the list. */
void hx_composer_work_take(struct composer *c, struct hx_lists *l)
{
    c->plan->work[0].ncolumns = hx_composer_numbers(c, l, &c->plan->work[0].columns);
}

/* WORK holds all blocks of my lanes, and what I have charge of on the way to them. */
void hx_composer_work(struct composer *c)
{
    const struct hx_algorithm *part = c->candidate->lanes ? c->candidate->first : c->candidate->flat;
    struct hx_lists l;

    hx_lists_open(&l, 1);
    if (part && part->needs & HX_NEEDS_LEVELS)
        hx_composer_levels_held(c, &l);
    else
        hx_composer_carried(c, &l, c->local);
    hx_composer_work_take(c, &l);
}

void hx_compose_reduce_scatter_block(struct composer *c)
{
    int few_lanes = c->candidate->lanes < c->n; /* then a carrier ends with the blocks of several ranks */

    hx_composer_work(c);
    part_stage(c, 0, c->candidate->first, HX_IN, HX_WORK);
    hx_composer_lanes(c, 1, HX_WORK, few_lanes ? HX_WORK : HX_OUT);
    if (few_lanes)
        hx_composer_holders(c, 2, "scatter", hx_scatter_nary.build, HX_WORK, HX_OUT);
}

void hx_compose_allgather(struct composer *c)
{
    /* with a lane for everybody, everybody holds its own block and this only copies */
    hx_composer_holders(c, 0, "gather", hx_gather_nary.build, HX_IN, HX_OUT);
    hx_composer_lanes(c, 1, HX_OUT, HX_OUT);
    if (c->n > 1)
        part_stage(c, 2, c->candidate->last, HX_OUT, HX_OUT);
}

/* The vector stands in OUT, of the root only at first. */
void hx_compose_bcast(struct composer *c)
{
    if (c->node == hx_composer_root_node(c) && c->candidate->lanes > 1 && c->n > 1)
        hx_composer_fixed(c, 0, "scatter", hx_scatter_nary.build, HX_OUT, HX_OUT);
    hx_composer_lanes(c, 1, HX_OUT, HX_OUT);
    if (c->n > 1)
        part_stage(c, 2, c->candidate->last, HX_OUT, HX_OUT);
}

/* The root's sums, as far as it carries them, stand in OUT; the other ranks' sums stand in WORK. */
void hx_compose_reduce(struct composer *c)
{
    enum hx_space mine = c->rank == c->candidate->root ? HX_OUT : HX_WORK;

    if (mine == HX_WORK)
        hx_composer_work(c);
    part_stage(c, 0, c->candidate->first, HX_IN, mine);
    hx_composer_lanes(c, 1, mine, mine);
    if (c->node == hx_composer_root_node(c) && c->candidate->lanes > 1 && c->n > 1)
        hx_composer_fixed(c, 2, "gather", hx_gather_nary.build, mine, mine);
}

/* IN is a token without data. */
void hx_compose_barrier(struct composer *c)
{
    if (c->n > 1)
        hx_composer_build(c, node_stage(c, 0, HX_IN, HX_NOWHERE, hx_composer_carried), "arrive", hx_barrier_arrive);
    hx_composer_lanes(c, 1, HX_IN, HX_NOWHERE);
    if (c->n > 1)
        hx_composer_build(c, node_stage(c, 2, HX_IN, HX_NOWHERE, hx_composer_carried), "release", hx_barrier_release);
}

static void (*const composers[])(struct composer *) = {
#define HX_COLL(ID, name, gives, gets, traits) hx_compose_##name,
#include "runtime/base/coll.def"
};

struct hx_plan *hx_compose(const struct hx_shape *shape, int rank, const struct hx_candidate *candidate)
{
    struct composer c = {.shape = shape, .candidate = candidate, .rank = rank, .node = shape->node_of[rank],
                         .local = shape->local_of[rank]};

    if (candidate->lanes > HX_MATCH_STAGES) { /* two ranks might share all of them */
        char name[HX_CANDIDATE_NAME_BYTES];
        hx_candidate_name(candidate, name);
        hx_fail(HX_ERR_ENV, "plan %s of %s has too many lanes: at most %d are "
                            "possible", name, hx_coll_name(candidate->coll), HX_MATCH_STAGES);
        return NULL;
    }
    c.n = hx_shape_node_size(shape, c.node);
    c.plan = hx_plan_new(candidate->coll, shape->nranks, rank, candidate->lanes + hx_candidate_channels(candidate) + 3 + 2 * shape->nlevels);
    if (!c.plan)
        return NULL;
    hx_candidate_name(candidate, c.plan->name);
    c.plan->nlanes = candidate->lanes;
    c.plan->root = candidate->root;
    buffers_lay_out(&c);
    if (!(c.members = malloc((size_t)shape->nranks * sizeof(int))))
        hx_composer_lacks(&c, "members");
    else
        (candidate->graph                             ? hx_compose_neighbors
         : candidate->lanes                           ? composers[candidate->coll]
         : candidate->flat->needs & HX_NEEDS_LEVELS ? hx_compose_levels
                                                      : hx_compose_flat)(&c);
    free(c.members);
    /* without a root it depends on every rank, unless it is a scan; engine.h says what relies on this, the checker proves it */
    c.plan->awaits_all = hx_coll_awaits_all(candidate->coll);
    if (c.status == HX_SUCCESS)
        c.status = hx_plan_seal(c.plan);
    if (c.status != HX_SUCCESS) {
        hx_plan_release(c.plan);
        return NULL;
    }
    return c.plan;
}
