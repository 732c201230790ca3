/* SPDX-License-Identifier: BSD-3-Clause */
/* A candidate: what it is made of, its name, whether it serves a shape. */
#include "hier/compose/algorithm_list.h"
#include "hier/compose/compose.h"
#include "runtime/ports/node.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum hx_coll hx_candidate_first(enum hx_coll coll, int lanes)
{
    if ((hx_coll_gets(coll) == HX_HOLDS_ROOT && lanes == 1) || hx_coll_is_scan(coll) ||
        (hx_coll_has_pairs(coll) && !hx_coll_has_pair_counts(coll)))
        return coll;
    return hx_coll_reduces(coll) ? HX_COLL_REDUCE_SCATTER : HX_COLL_COUNT;
}

enum hx_coll hx_candidate_last(enum hx_coll coll, int lanes)
{
    if (hx_coll_gives(coll) == HX_HOLDS_ROOT && lanes == 1)
        return coll;
    return hx_coll_gets(coll) == HX_HOLDS_ALL && !hx_coll_is_scan(coll) ? HX_COLL_ALLGATHER : HX_COLL_COUNT;
}

enum hx_coll hx_candidate_between(enum hx_coll coll)
{
    return hx_coll_is_scan(coll) ? HX_COLL_EXSCAN : coll;
}

int hx_candidate_composes(enum hx_coll coll, const struct hx_shape *shape)
{
    return !hx_coll_is_scan(coll) || hx_shape_is_in_order(shape);
}

int hx_candidate_takes_lanes(enum hx_coll coll)
{
    return hx_coll_gets(coll) != HX_HOLDS_NOTHING && !hx_coll_is_scan(coll);
}

/* On so many? With pair counts a rank must carry no other's lane. */
static int lanes_fit(const struct hx_candidate *candidate, const struct hx_shape *shape)
{
    if (candidate->lanes > shape->max_local || candidate->lanes > HX_MATCH_STAGES)
        return 0;
    if (hx_coll_has_pair_counts(candidate->coll)) /* one number more is for the long blocks */
        return candidate->lanes == shape->max_local && candidate->lanes < HX_MATCH_STAGES;
    return candidate->lanes == 1 || hx_candidate_takes_lanes(candidate->coll);
}

/* The first and last stages that are not chosen. On one lane a root's node carries it itself: it has none. */
static const char *fixed_first(enum hx_coll coll, int lanes)
{
    if (hx_coll_has_pair_counts(coll))
        return "counts";
    if (hx_coll_gets(coll) == HX_HOLDS_NOTHING)
        return "arrive";
    if (hx_coll_gives(coll) == HX_HOLDS_OWN)
        return "gather";
    return lanes == 1 ? "-" : "scatter";
}

static const char *fixed_last(enum hx_coll coll, int lanes)
{
    if (hx_coll_has_pair_counts(coll))
        return "direct";
    if (hx_coll_gets(coll) == HX_HOLDS_NOTHING)
        return "release";
    if (hx_coll_is_scan(coll))
        return "apply";
    if (hx_coll_gets(coll) == HX_HOLDS_OWN || hx_coll_has_pairs(coll))
        return "scatter";
    return lanes == 1 ? "-" : "gather";
}

void hx_candidate_name(const struct hx_candidate *candidate, char name[HX_CANDIDATE_NAME_BYTES])
{
    const char *order = candidate->ordered ? " ordered" : "", *space = candidate->wire ? " " : "";
    const char *wire = candidate->wire ? candidate->wire->name : "";

    if (candidate->lanes == 0 && candidate->channels > 1)
        snprintf(name, HX_CANDIDATE_NAME_BYTES, "flat(%s) x%d%s%s%s", candidate->flat->name, candidate->channels, order, space, wire);
    else if (candidate->lanes == 0)
        snprintf(name, HX_CANDIDATE_NAME_BYTES, "flat(%s)%s%s%s", candidate->flat->name, order, space, wire);
    else
        snprintf(name, HX_CANDIDATE_NAME_BYTES, "hier(%s,%s,%s) x%d%s%s%s",
                 candidate->first ? candidate->first->name : fixed_first(candidate->coll, candidate->lanes), candidate->inter->name,
                 candidate->last ? candidate->last->name : fixed_last(candidate->coll, candidate->lanes), candidate->lanes, order,
                 space, wire);
}

const char *hx_candidate_unreadable(enum hx_coll coll)
{
    if (coll == HX_COLL_ALLGATHER)
        return "single copy is not usable on several nodes: the plan needs every rank's displacements, and a rank knows only its own";
    if (coll == HX_COLL_SCATTER)
        return "single copy is not usable on several nodes: the ranks of a node get their blocks from memory that they cannot read";
    return NULL;
}

int hx_candidate_part_serves(enum hx_coll coll, const struct hx_algorithm *part)
{
    if (part->needs & HX_NEEDS_LEVELS && hx_coll_is_rooted(part->coll))
        return 0;
    return !(part->needs & HX_NEEDS_SINGLE_COPY) || !hx_candidate_unreadable(coll);
}

static int part_fits(const struct hx_algorithm *part, enum hx_coll wanted)
{
    return part ? part->coll == wanted : wanted == HX_COLL_COUNT;
}

int hx_candidate_needs(const struct hx_candidate *candidate, enum hx_needs needs)
{
    const struct hx_algorithm *parts[] = {candidate->flat, candidate->first, candidate->inter, candidate->last};

    for (int i = 0; i < 4; i++)
        if (parts[i] && parts[i]->needs & needs)
            return 1;
    return 0;
}

int hx_candidates_fold_alike(const struct hx_candidate *a, const struct hx_candidate *b, const struct hx_shape *shape)
{
    if (a == b || a->exact || !hx_coll_reduces(a->coll))
        return 1;
    return shape->nnodes == 1 && a->flat && b->flat && a->flat->needs & b->flat->needs & HX_FOLDS_AT_ONCE;
}

int hx_candidate_keeps_order(const struct hx_candidate *candidate, const struct hx_shape *shape)
{
    const struct hx_algorithm *folds[] = {candidate->flat, candidate->first, candidate->inter};

    for (int i = 0; i < 3 && hx_coll_reduces(candidate->coll); i++)
        if (folds[i] && (folds[i]->needs & HX_NEEDS_COMMUTATIVE || (folds[i]->needs & HX_NEEDS_LEVELS && !hx_shape_levels_in_order(shape))))
            return 0;
    return !hx_coll_reduces(candidate->coll) || (candidate->lanes == 0 && candidate->ordered) || hx_shape_is_in_order(shape) ||
           hx_coll_is_scan(candidate->coll);
}

int hx_candidate_member_nodes(const struct hx_candidate *candidate, const struct hx_shape *shape, int *nodes)
{
    int members, root_node = shape->node_of[candidate->root], root = 0;
    const int passes_ring = (hx_candidate_sender(candidate, shape, &members)->needs & HX_PASSES_RING) != 0;
    const int by_rank = !candidate->lanes && (hx_coll_is_scan(candidate->coll) || candidate->ordered);

    for (int rank = 0; by_rank && rank < members; rank++)
        nodes[rank] = shape->node_of[rank];
    for (int i = 0, at = 0; !by_rank && i < shape->nnodes; i++) {
        const int node = passes_ring ? hx_shape_ring_node(shape, i) : i;
        if (node == root_node)
            root = at + (candidate->lanes ? 0 : shape->local_of[candidate->root]);
        for (int k = 0; k < (candidate->lanes ? 1 : hx_shape_node_size(shape, node)); k++)
            nodes[at++] = node;
    }
    return !hx_coll_is_rooted(candidate->coll) ? 0 : by_rank ? candidate->root : root;
}

int hx_algorithm_most_channels(const struct hx_algorithm *flat, const struct hx_shape *shape)
{
    if (!(flat->needs & HX_TAKES_CHANNELS) || hx_flat_scope(shape) != HX_SCOPE_FLAT)
        return 1;
    return shape->max_local < HX_PAIR_RINGS ? shape->max_local : HX_PAIR_RINGS;
}

/* A late rank finds a message of every round of its ring: match ids tell that many apart. */
static int ring_fits(const struct hx_candidate *candidate, const struct hx_shape *shape)
{
    int members, passes_ring = (hx_candidate_sender(candidate, shape, &members)->needs & HX_PASSES_RING) != 0;

    return !passes_ring || shape->nnodes == 1 || members <= HX_MATCH_ROUNDS + 1;
}

/* Codes cross between nodes only: a flat plan has them where each rank has a node of its own. Elements that share a scale stand side by side
 * in the vector, so that each lane must carry the block of one rank. */
static int wire_fits(const struct hx_candidate *candidate, const struct hx_shape *shape)
{
    int members;

    if (!candidate->wire)
        return 1;
    if (candidate->lanes && hx_coll_has_blocks(candidate->coll) && candidate->lanes != shape->max_local)
        return 0;
    return hx_coll_reduces(candidate->coll) && shape->nnodes > 1 && (candidate->lanes || shape->max_local == 1) &&
           hx_candidate_sender(candidate, shape, &members)->needs & HX_CARRIES_CODES;
}

int hx_candidate_fits(const struct hx_candidate *candidate, const struct hx_shape *shape)
{
    unsigned scope = hx_flat_scope(shape);

    if (!wire_fits(candidate, shape))
        return 0;
    if ((candidate->ordered && !hx_candidate_keeps_order(candidate, shape)) || !ring_fits(candidate, shape) ||
        (!shape->nlevels && hx_candidate_needs(candidate, HX_NEEDS_LEVELS)))
        return 0;
    if (hx_coll_has_pairs(candidate->coll) &&
        (candidate->lanes && !hx_coll_has_pair_counts(candidate->coll) ? shape->nnodes : shape->nranks) > HX_MATRIX_MEMBERS)
        return 0;
    if (candidate->lanes == 0)
        return (hx_algorithm_scopes(candidate->flat) & scope) && candidate->channels <= hx_algorithm_most_channels(candidate->flat, shape);
    return scope == HX_SCOPE_FLAT && hx_candidate_composes(candidate->coll, shape) &&
           (hx_algorithm_scopes(candidate->inter) & HX_SCOPE_INTER) && candidate->inter->coll == hx_candidate_between(candidate->coll) &&
           part_fits(candidate->first, hx_candidate_first(candidate->coll, candidate->lanes)) &&
           part_fits(candidate->last, hx_candidate_last(candidate->coll, candidate->lanes)) &&
           (!candidate->first || hx_candidate_part_serves(candidate->coll, candidate->first)) &&
           (!candidate->last || hx_candidate_part_serves(candidate->coll, candidate->last)) &&
           lanes_fit(candidate, shape);
}

static int has_name(const struct hx_candidate *candidate, const char *name)
{
    char own[HX_CANDIDATE_NAME_BYTES];

    hx_candidate_name(candidate, own);
    return !strcmp(own, name);
}

int hx_candidate_find(const struct hx_candidate *candidates, int n, const char *name, const struct hx_shape *shape, int any_lanes,
                      struct hx_candidate *found)
{
    const char *times = strrchr(name, 'x');
    const int lanes = times ? atoi(times + 1) : 0;

    for (int i = 0; i < n; i++) {
        *found = candidates[i];
        if (has_name(found, name))
            return i;
    }
    for (int i = 0; i < n && any_lanes && lanes > 0; i++) {
        *found = candidates[i];
        found->lanes = found->lanes ? lanes : 0;
        if (has_name(found, name) && hx_candidate_fits(found, shape))
            return i;
    }
    return -1;
}

#define WORD "abcdefghijklmnopqrstuvwxyz_0123456789"

void hx_candidate_name_renew(char name[HX_CANDIDATE_NAME_BYTES])
{
    char renewed[HX_CANDIDATE_NAME_BYTES];
    size_t length = 0, n;

    for (const char *at = name; *at; at += n) {
        n = strspn(at, WORD);
        const char *usual = n ? hx_algorithm_usual_name(at, n) : NULL;
        n += n == 0;
        int wrote = usual ? snprintf(renewed + length, sizeof(renewed) - length, "%s", usual)
                          : snprintf(renewed + length, sizeof(renewed) - length, "%.*s", (int)n, at);
        length += (size_t)wrote;
        if (length >= sizeof(renewed)) /* no plan has such a name */
            return;
    }
    memcpy(name, renewed, length);
    name[length] = '\0';
}

int hx_candidate_name_is_known(const char *name)
{
    static const char *const fixed[] = {"flat",  "hier",    "gather", "scatter", "arrive", "release",
                                        "apply", "ordered", "counts", "direct"};

    for (size_t n; *name; name += n) {
        int known = 0;
        n = strspn(name, WORD);
        for (size_t i = 0; n && i < sizeof(fixed) / sizeof(*fixed); i++)
            known |= strlen(fixed[i]) == n && !strncmp(fixed[i], name, n);
        for (int w = 0; w < HX_WIRE_COUNT; w++)
            known |= strlen(hx_wires[w].name) == n && !strncmp(hx_wires[w].name, name, n);
        known |= *name == 'x' && n > 1 && strspn(name + 1, "0123456789") == n - 1;
        if (n && !known && !hx_algorithm_name(name, n))
            return 0;
        n += n == 0;
    }
    return 1;
}
