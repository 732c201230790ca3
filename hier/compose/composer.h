/* SPDX-License-Identifier: BSD-3-Clause */
/* A composition under way, and what compositions are made of. Errors are sticky, in status. Private to compose*.c. */
#pragma once

#include "hier/compose/compose.h"
#include <stdlib.h>

/* Lists of numbers under construction: the blocks or rows of one stage. A failure is sticky. */
struct hx_lists {
    uint32_t *start, *items;
    uint32_t n, nitems, capacity;
    int failed;
};

static inline void hx_lists_open(struct hx_lists *l, int nblocks)
{
    *l = (struct hx_lists){.start = calloc((size_t)nblocks + 1, sizeof(uint32_t))};
    l->failed = !l->start;
}

static inline void hx_lists_item(struct hx_lists *l, int item)
{
    if (l->nitems == l->capacity) {
        uint32_t capacity = l->capacity ? 2 * l->capacity : 16, *items = realloc(l->items, capacity * sizeof(*items));
        if (!items) {
            l->failed = 1;
            return;
        }
        l->items = items;
        l->capacity = capacity;
    }
    l->items[l->nitems++] = (uint32_t)item;
}

static inline void hx_lists_block_end(struct hx_lists *l)
{
    if (!l->failed)
        l->start[++l->n] = l->nitems;
}

struct composer {
    const struct hx_shape *shape;
    const struct hx_candidate *candidate;
    struct hx_plan *plan;
    int rank, node, local, n; /* me, my node and its size */
    int *members;             /* [nranks] room for those of the next stage */
    enum hx_share share;      /* of the stages to come */
    int shift;                /* their levels come so much later: parts before them were several stages */
    hx_status_t status;
};

/* There is no memory for that. */
void hx_composer_lacks(struct composer *c, const char *what);
/* Append a stage; NULL after an error. */
struct hx_stage *hx_composer_stage(struct composer *c, int level, enum hx_scope scope, const int *members, int n, int me,
                                   enum hx_space in, enum hx_space out);
void hx_composer_run(struct composer *c, struct hx_stage *stage, const struct hx_algorithm *algorithm);
void hx_composer_build(struct composer *c, struct hx_stage *stage, const char *name, void (*build)(struct hx_builder *));

/* The node of the root. */
int hx_composer_root_node(const struct composer *c);

/* The ranks of my node. */
const int *hx_composer_node(const struct composer *c);

/* The local rank that carries lane on a node. */
int hx_composer_carrier(const struct composer *c, int lane, int node);

/* The stages, between nodes, of the lanes that this rank carries. */
void hx_composer_lanes(struct composer *c, int level, enum hx_space in, enum hx_space out);

/* To list what belongs to local rank `local` of my node. */
typedef void hx_composer_list_t(struct composer *c, struct hx_lists *l, int local);

/* A stage of my node whose block j is what `list` lists of local rank j. NULL after an error. */
struct hx_stage *hx_composer_local(struct composer *c, int level, enum hx_space in, enum hx_space out, hx_composer_list_t *list);

/* All ranks of a node lay out slots and flags alike, each for itself, stage by stage: so must a member that neither hands over nor
 * takes, whose builder asks for none. Two flags: filled, read. */
static inline void hx_composer_alike(struct hx_stage *stage)
{
    stage->uses_slot = 1;
    stage->nflags = 2;
}

/* A stage of my node whose block j is what local rank j has charge of between the levels; of an all-to-all (i, j) what
 * i sends there. */
void hx_composer_intra(struct composer *c, int level, const struct hx_algorithm *algorithm, enum hx_space in, enum hx_space out);
/* The same by a fixed algorithm. Some of its members neither hand over nor take. */
void hx_composer_fixed(struct composer *c, int level, const char *name, void (*build)(struct hx_builder *),
                       enum hx_space in, enum hx_space out);
/* A stage of my node whose block j is local rank j's own. */
struct hx_stage *hx_composer_own(struct composer *c, int level, enum hx_space in, enum hx_space out);
/* A gather to, or scatter from, the carriers of my node. */
void hx_composer_holders(struct composer *c, int level, const char *name, void (*build)(struct hx_builder *),
                         enum hx_space in, enum hx_space out);

/* The blocks that local rank `local` of my node has charge of between the levels: its lanes, or all ranks' blocks on its lanes. */
void hx_composer_carried(struct composer *c, struct hx_lists *l, int local);
/* Its own block. */
void hx_composer_rank(struct composer *c, struct hx_lists *l, int local);
/* The ranks of a node that lane covers, as plan blocks. */
void hx_composer_covered(struct composer *c, struct hx_lists *l, int lane, int node);
/* Those of my node that my lanes cover. */
void hx_composer_handed(struct composer *c, struct hx_lists *l);
/* WORK holds all blocks of my lanes. */
void hx_composer_work(struct composer *c);
/* It holds the blocks of a list, which is taken. */
void hx_composer_work_take(struct composer *c, struct hx_lists *l);
/* Take the numbers of a list, ascending. Returns how many. */
uint32_t hx_composer_numbers(struct composer *c, struct hx_lists *l, uint32_t **numbers);
/* Are they complete, and is there a stage to take them? Else they are gone. */
int hx_composer_lists_are_good(struct composer *c, struct hx_lists *l, const struct hx_stage *stage);
/* They become the stage's blocks. */
void hx_composer_lists_give(struct composer *c, struct hx_lists *l, struct hx_stage *stage);

/* hier/compose/alltoall.c. The rows of its stages; nothing for other collectives. Each member's rank, or all ranks of
 * its node; or one row, of all ranks. */
enum hx_row_of { HX_ROW_OF_MEMBER, HX_ROW_OF_NODE, HX_ROW_OF_ALL };
void hx_composer_rows(struct composer *c, struct hx_stage *stage, enum hx_row_of of);

/* Likewise: an all-to-all in my node of how long the blocks are. */
extern const struct hx_algorithm hx_composer_counts;

/* hier/compose/neighbors.c: the stages of a plan with a graph. */
void hx_compose_neighbors(struct composer *c);

/* The stages of each collective. */
#define HX_COLL(ID, name, gives, gets, traits) void hx_compose_##name(struct composer *c);
#include "runtime/base/coll.def"

/* hier/compose/flat.c */
void hx_compose_flat(struct composer *c);

/* hier/compose/levels.c. Stages level by level, inwards out or outwards in, of a reduce-scatter or all-gather whose block j
 * is what local rank j has charge of; what I have charge of between its stages; and the flat plan of such an algorithm. */
void hx_composer_levels(struct composer *c, int level, const struct hx_algorithm *part, enum hx_space in, enum hx_space out);
void hx_composer_levels_held(struct composer *c, struct hx_lists *l);
void hx_compose_levels(struct composer *c);
