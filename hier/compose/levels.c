/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Levels inside a node: a reduce-scatter or all-gather becomes one stage per level. Level 0 is the node, level k the domain
 * of level k - 1 of the shape, in which this rank is; of the levels each is divided into the domains of the next, the last
 * into ranks.
 *
 * A block belongs to a local rank. In every domain another has charge of it: going inwards, who had charge of it around a
 * domain, if he is in it, else his deputy there (intra/algorithms/domains.h). A reduce-scatter sums up the blocks from the innermost
 * level to the node, so that each domain's sum stands where the next stage wants it; an all-gather takes the same way back.
 *
 *   one node, 8/2, charge of block:    0 1 2 3 4 5 6 7
 *     level 0, the node                0 1 2 3 4 5 6 7
 *     level 1, domain 0 1 2 3          0 1 2 3 0 1 2 3
 *     level 1, domain 4 5 6 7          4 5 6 7 4 5 6 7
 *
 * On one node a broadcast is a scatter of equal parts to all ranks and such an all-gather, a reduction such a reduce-scatter
 * and a gather; on several nodes the lanes between them have scattered, or gather.
 *
 * A stage has a block for every local rank, each with all that belongs to it. So the slices of all stages hold the same
 * elements, and all ranks of the node lay out their slots alike however many members their stages have.
 */
#include "hier/compose/composer.h"
#include "intra/algorithms/algorithms.h"
#include "intra/algorithms/domains.h"
#include <stdlib.h>

struct level_map {
    int n, levels, me;  /* ranks of the node; levels beside it; my place */
    int *order;         /* [n] local ranks, domain by domain at every level */
    int *start, *end;   /* [levels + 1][n] places of the first in the group of that place at a level, and after the last */
    int *charge;        /* [levels + 1][n] place of who has charge of the block of that place in my group of a level */
};

static int *row(const struct level_map *map, int *of, int level)
{
    return of + (size_t)level * (size_t)map->n;
}

static int domain_of(const struct composer *c, int level, int local)
{
    return hx_shape_domain(c->shape, level, hx_composer_node(c)[local]);
}

/* From the innermost level outwards; insertion, since they mostly stand so, and those of one domain keep their order. */
static void order_find(const struct composer *c, struct level_map *map)
{
    for (int i = 0; i < map->n; i++)
        map->order[i] = i;
    for (int k = map->levels - 1; k >= 0; k--)
        for (int i = 1; i < map->n; i++) {
            int local = map->order[i], at = i;
            for (; at > 0 && domain_of(c, k, map->order[at - 1]) > domain_of(c, k, local); at--)
                map->order[at] = map->order[at - 1];
            map->order[at] = local;
        }
    while (map->order[map->me] != c->local)
        map->me++;
}

static void groups_find(const struct composer *c, struct level_map *map)
{
    for (int k = 0; k <= map->levels; k++) {
        int *start = row(map, map->start, k), *end = row(map, map->end, k);
        for (int i = 0; i < map->n; i++) {
            int same = i > 0 && (k == 0 || domain_of(c, k - 1, map->order[i]) == domain_of(c, k - 1, map->order[i - 1]));
            start[i] = same ? start[i - 1] : i;
        }
        for (int i = map->n - 1; i >= 0; i--)
            end[i] = i < map->n - 1 && start[i + 1] == start[i] ? end[i + 1] : i + 1;
    }
}

static void charges_find(struct level_map *map)
{
    for (int x = 0; x < map->n; x++)
        map->charge[x] = x;
    for (int k = 1; k <= map->levels; k++) {
        const int *start = row(map, map->start, k), *end = row(map, map->end, k), mine[2] = {start[map->me], end[map->me]};
        for (int x = 0; x < map->n; x++) {
            int of = row(map, map->charge, k - 1)[x];
            row(map, map->charge, k)[x] =
                of >= mine[0] && of < mine[1] ? of : hx_deputy(mine[0], mine[1], of - start[of], end[of] - start[of]);
        }
    }
}

static int map_open(struct composer *c, struct level_map *map)
{
    size_t n = (size_t)c->n, rows = (size_t)c->shape->nlevels + 1;

    *map = (struct level_map){.n = c->n, .levels = c->shape->nlevels, .order = malloc(n * (1 + 3 * rows) * sizeof(int))};
    if (!map->order) {
        hx_composer_lacks(c, "domains");
        return -1;
    }
    map->start = map->order + n;
    map->end = map->start + rows * n;
    map->charge = map->end + rows * n;
    order_find(c, map);
    groups_find(c, map);
    charges_find(map);
    return 0;
}

/* The blocks that belong to a local rank. On one node there are no lanes: the block of its number. */
static void list_own(struct composer *c, struct hx_lists *l, int local)
{
    if (c->candidate->lanes)
        hx_composer_carried(c, l, local);
    else
        hx_composer_rank(c, l, local);
}

/* All that `place` has charge of in my group of a level; each is a block, or with what comes before it one. Returns how many. */
static int list_charged(struct composer *c, struct hx_lists *l, const struct level_map *map, int level, int place, int each)
{
    int n = 0;

    for (int x = 0; x < map->n; x++)
        if (row(map, map->charge, level)[x] == place) {
            list_own(c, l, map->order[x]);
            n++;
            if (each && !l->failed)
                hx_lists_block_end(l);
        }
    return n;
}

static int *starts_new(struct composer *c, int n)
{
    int *starts = c->status == HX_SUCCESS ? calloc((size_t)n + 1, sizeof(int)) : NULL;

    if (!starts)
        hx_composer_lacks(c, "domains");
    return starts;
}

/* Set the domains of a level that is divided: they begin where the next level's groups begin. */
static void domains_give(struct composer *c, const struct level_map *map, int level, struct hx_stage *stage)
{
    int first = row(map, map->start, level)[map->me];
    const int *end = row(map, map->end, level + 1);

    if (!(stage->domain_start = starts_new(c, stage->n)))
        return;
    for (int at = 0; at < stage->n; at = stage->domain_start[stage->ndomains])
        stage->domain_start[++stage->ndomains] = end[first + at] - first;
}

/* A block of every local rank, by who has charge of it. */
static void blocks_give(struct composer *c, const struct level_map *map, int level, struct hx_stage *stage)
{
    int first = row(map, map->start, level)[map->me];
    struct hx_lists l;

    if (!(stage->charge_start = starts_new(c, stage->n)))
        return;
    stage->nblocks = (uint32_t)map->n;
    hx_lists_open(&l, map->n);
    for (int i = 0; i < stage->n && !l.failed; i++)
        stage->charge_start[i + 1] = stage->charge_start[i] + list_charged(c, &l, map, level, first + i, 1);
    hx_composer_lists_give(c, &l, stage);
}

static void level_stage(struct composer *c, const struct level_map *map, int at, int level, void (*build)(struct hx_builder *),
                        enum hx_space in, enum hx_space out)
{
    int first = row(map, map->start, level)[map->me], n = row(map, map->end, level)[map->me] - first;
    struct hx_stage *stage;

    for (int i = 0; i < n; i++)
        c->members[i] = hx_composer_node(c)[map->order[first + i]];
    stage = hx_composer_stage(c, at, HX_SCOPE_INTRA, c->members, n, map->me - first, in, out);
    if (!stage)
        return;
    blocks_give(c, map, level, stage);
    if (level < map->levels)
        domains_give(c, map, level, stage);
    hx_composer_alike(stage); /* even where a group is one rank */
    hx_composer_build(c, stage, "nary_levels", build);
}

/* Between the stages of a reduce-scatter blocks stand that are not this rank's in the end. */
static enum hx_space space_between(const struct composer *c, enum hx_space out)
{
    return c->plan->out_nblocks == c->plan->nblocks ? out : HX_WORK;
}

static void reduce_scatter_inwards_out(struct composer *c, const struct level_map *map, int at, int last, enum hx_space in, enum hx_space out)
{
    enum hx_space between = space_between(c, out);

    for (int k = map->levels; k >= last; k--) {
        level_stage(c, map, at, k, hx_reduce_scatter_levels.build, k == map->levels ? in : between, k ? between : out);
        c->shift += k > last;
    }
}

static void allgather_outwards_in(struct composer *c, const struct level_map *map, int at, int first, enum hx_space in, enum hx_space out)
{
    for (int k = first; k <= map->levels; k++) {
        level_stage(c, map, at, k, hx_allgather_levels.build, k == first ? in : out, out);
        c->shift += k < map->levels;
    }
}

void hx_composer_levels(struct composer *c, int level, const struct hx_algorithm *part, enum hx_space in, enum hx_space out)
{
    struct level_map map;

    if (map_open(c, &map) < 0)
        return;
    (hx_coll_reduces(part->coll) ? reduce_scatter_inwards_out : allgather_outwards_in)(c, &map, level, 0, in, out);
    free(map.order);
}

void hx_composer_levels_held(struct composer *c, struct hx_lists *l)
{
    struct level_map map;

    if (map_open(c, &map) < 0)
        return;
    list_charged(c, l, &map, map.levels, map.me, 0);
    free(map.order);
}

/* Between the root and each rank's own block. */
static void root_stage(struct composer *c, int level, const char *name, void (*build)(struct hx_builder *), enum hx_space space)
{
    struct hx_stage *stage = hx_composer_local(c, level, space, space, list_own);

    if (c->status == HX_SUCCESS) {
        stage->root = c->shape->local_of[c->candidate->root];
        hx_composer_alike(stage);
    }
    hx_composer_build(c, stage, name, build);
}

static void compose_allreduce(struct composer *c)
{
    struct level_map map;

    if (map_open(c, &map) < 0)
        return;
    reduce_scatter_inwards_out(c, &map, 0, 1, HX_IN, HX_OUT);
    level_stage(c, &map, 1, 0, hx_allreduce_levels.build, map.levels ? HX_OUT : HX_IN, HX_OUT);
    allgather_outwards_in(c, &map, 2, 1, HX_OUT, HX_OUT);
    free(map.order);
}

void hx_compose_levels(struct composer *c)
{
    enum hx_coll coll = c->plan->coll;
    int from_root = hx_coll_gives(coll) == HX_HOLDS_ROOT, to_root = hx_coll_gets(coll) == HX_HOLDS_ROOT;
    enum hx_space mine = to_root && c->rank != c->candidate->root ? HX_WORK : HX_OUT;

    if (hx_coll_phases(coll) == 2) {
        compose_allreduce(c);
        return;
    }
    if (hx_coll_gets(coll) == HX_HOLDS_OWN || mine == HX_WORK)
        hx_composer_work(c);
    if (from_root)
        root_stage(c, 0, "scatter", hx_scatter_nary.build, HX_OUT);
    hx_composer_levels(c, from_root, c->candidate->flat, from_root ? HX_OUT : HX_IN, mine);
    if (to_root)
        root_stage(c, 1, "gather", hx_gather_nary.build, mine);
}
