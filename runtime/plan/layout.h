/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Layout: where the blocks of a plan stand in memory, once the count is known. The engine turns spans into addresses, the checker into
 * symbolic cells; both by the functions here, so what is checked is what runs.
 *
 *   plan block x      elements [start(x), start(x) + length(x)) of the vector
 *   coarse piece K    the K-th of coarse_slices nearly equal parts of a plan block
 *   stage block b     LIST: the coarse pieces of its plan blocks, one after the other; SPLIT: the coarse piece of one plan block
 *   slice k           of m = fine_slices / coarse_slices in each coarse one: the (k mod m)-th part of that, of coarse piece k / m; a
 *                     SPLIT stage then cuts it into its blocks
 *
 * So m fine slices together are one coarse slice, whatever the lists are, and a slice can be smaller than one element per plan block.
 *
 * IN and OUT hold whole plan blocks at their place in the vector; WORK holds its plan blocks one after the other; SCRATCH holds rows of
 * one block each, so that part of a range can be sent on; a SLOT holds all blocks of one slice, or those of one row.
 *
 * Ranks' blocks of different length: SCRATCH and SLOT have room for blocks as long as the longest; WORK then holds its blocks at their
 * place in the vector too, from the first one on; and whichever of IN and OUT has them all may hold them wherever the
 * caller wants them.
 */
#pragma once

#include "runtime/plan/plan.h"

/* All that a rank sends and receives, where it is not the same for all pairs: an entry per rank, or, with a graph, per edge. */
struct hx_pair_counts {
    int nsent, nreceived; /* entries */
    const size_t *sent, *sent_at;         /* elements, and where they stand in IN; NULL: as without pair counts, to number them */
    const size_t *received, *received_at; /* likewise in OUT */
};

struct hx_sizes {
    uint64_t count;          /* elements: of the vector (EVEN), or of each rank's block, the longest if they differ (PER_RANK) */
    uint32_t elem_bytes;
    uint64_t fine_slices, coarse_slices; /* fine_slices is a multiple of coarse_slices; both >= 1 */
    const uint64_t *starts;  /* [nblocks + 1] PER_RANK: where each block starts in the vector; NULL: all have count elements */
    const struct hx_pair_counts *pair_counts; /* of this rank only; when it is checked, count is at least the longest */
    const size_t *heard;     /* with pair counts: how long the blocks are that WORK holds, in its order; NULL: nothing known */
    uint64_t limit;          /* elements of a short block at most, see enum hx_share */
    const uint64_t *places;  /* [nblocks] and in OUT or IN, whichever has all blocks; NULL: as in the vector */
    int for_smaller;         /* slots as long as those of nodes with fewer ranks may be, whose longer parts are rounded otherwise; to plan
                                with, not to run */
};

struct hx_extent { /* elements */
    uint64_t start, length;
};

struct hx_layout { /* of one stage in one call */
    const struct hx_plan *plan;
    const struct hx_stage *stage;
    struct hx_sizes sizes; /* of the call; if the stage moves lengths, in bytes. Its arrays outlive it */
    uint64_t nslices;
    uint64_t room;        /* elements of the longest plan block it moves, and from one to the next in WORK */
    uint64_t coarse, per_coarse; /* coarse slices, and slices of this stage in each */
    size_t row_bytes;     /* room of one block of one slice */
    size_t slot_bytes;    /* room of all blocks of one slice; 0 if the stage has no slot */
    int slot_lines;       /* blocks in SLOT start on lines of their own */
    uint32_t columns;     /* blocks of a row */
    size_t slot_stride;   /* SPLIT: from one block in SLOT to the next */
    size_t code_row_bytes; /* of one block of one slice, in the wire format of the stage */
    size_t scratch_bytes; /* scratch_rows * row_bytes, then code_rows * code_row_bytes: CODES */
};

struct hx_span { /* bytes of a space; for SLOT and SCRATCH relative to the slice's own slot or scratch */
    size_t offset, bytes;
};

void hx_layout_init(struct hx_layout *layout, const struct hx_plan *plan, const struct hx_stage *stage,
                    const struct hx_sizes *sizes);

/* A plan block in the vector. in_place, out_place: the start of block number i of IN or OUT there. */
struct hx_extent hx_layout_extent(const struct hx_plan *plan, const struct hx_sizes *sizes, uint64_t x);
uint64_t hx_layout_in_place(const struct hx_plan *plan, const struct hx_sizes *sizes, uint32_t i);
uint64_t hx_layout_out_place(const struct hx_plan *plan, const struct hx_sizes *sizes, uint32_t i);

/* Does the plan await all ranks, with these sizes? No rank waits for an empty block. A rank that
 * has an empty block does not wait either. */
int hx_layout_awaits_all(const struct hx_plan *plan, const struct hx_sizes *sizes);

/* Bytes of IN, OUT, WORK, COUNTS and HEARD. */
size_t hx_layout_space_bytes(const struct hx_plan *plan, const struct hx_sizes *sizes, enum hx_space space);

/* The spans of the range [block, block + nblocks) of slice, in order, neighbours merged, empty ones left out. Returns how many there
 * are; writes at most capacity. */
int hx_layout_spans(const struct hx_layout *layout, enum hx_space space, uint32_t block, uint32_t nblocks, uint32_t row,
                    uint64_t slice, struct hx_span *spans, int capacity);
/* The same of IN or OUT as another rank has it. OUT: of all ranks alike, if none has places. */
int hx_layout_spans_of(const struct hx_layout *layout, int rank, enum hx_space space, uint32_t block, uint32_t nblocks, uint64_t slice,
                       struct hx_span *spans, int capacity);

/* Bytes of that range; and what a SEND or RECV of such a step moves, which may be codes. */
size_t hx_layout_bytes(const struct hx_layout *layout, uint32_t block, uint32_t nblocks, uint64_t slice);
size_t hx_layout_moved(const struct hx_layout *layout, const struct hx_step *step, uint64_t slice);

/* The span of a whole slot, 0 bytes if it is more than one: alike on all members. */
struct hx_span hx_layout_slot_span(const struct hx_layout *layout);

/* The plan blocks of a stage block, by their place in it. */
uint64_t hx_layout_items(const struct hx_stage *stage, uint32_t block);
uint64_t hx_layout_item(const struct hx_plan *plan, const struct hx_stage *stage, uint32_t block, uint64_t i);
/* The block that is number i of the range from `first` on. */
uint32_t hx_layout_block(const struct hx_stage *stage, uint32_t first, uint32_t i);
/* How many plan blocks WORK holds, and which place among them one has; -1: none. */
uint64_t hx_layout_work_blocks(const struct hx_plan *plan);
int64_t hx_layout_work_place(const struct hx_plan *plan, uint64_t x);

/* The most spans any range of the stage can have. */
int hx_layout_max_spans(const struct hx_stage *stage);

/* ---- the order of slices, the same in the engine and the checker */

/* May a stage start its next slice: is there one, and room in its window? */
static inline int hx_slice_has_room(const struct hx_layout *layout, unsigned window, uint64_t started, uint64_t finished)
{
    return started < layout->nslices && started - finished < window;
}

/* How many slices of an earlier stage must have finished before slice k starts: those that it is made of, or is part of, and all before
 * them. The finer count is a multiple of the coarser. */
static inline uint64_t hx_slices_needed(const struct hx_layout *layout, const struct hx_layout *earlier, uint64_t k)
{
    uint64_t ours = layout->nslices, theirs = earlier->nslices;

    return theirs >= ours ? (k + 1) * (theirs / ours) : k / (ours / theirs) + 1;
}

/* How many steps a slice may have done: none overtakes the one before it, whose next step is `before`, unless that has finished. */
static inline uint32_t hx_slice_limit(uint64_t slice, uint64_t finished, uint32_t nsteps, uint32_t before)
{
    return slice > finished && before < nsteps ? before : nsteps;
}

/* ---- how soon slots are written again, likewise */

#define HX_BANKS 2 /* calls take them in turn */

/* A call divides its bank so that `kept` calls write to different places, if they all divide it alike. So did the
 * `alike` calls before this one. If they are fewer, a call before them may have written anywhere in this call's bank.
 * All must have left the last call that wrote to the same place: this many calls before this one. */
static inline uint64_t hx_bank_kept(uint64_t kept, uint64_t alike)
{
    if (alike + 1 >= kept)
        return kept;
    return alike + 1 > HX_BANKS ? alike + 1 : HX_BANKS;
}

/* ---- of layout.c and spaces.c */

/* Part i of m parts of whole. Part i begins at floor(i n / m), where n is the length of whole. */
static inline struct hx_extent hx_cut(struct hx_extent whole, uint64_t i, uint64_t m)
{
    if (m == 1)
        return whole;
    uint64_t each = whole.length / m, rest = whole.length % m, before = i * rest; /* i * whole.length may not fit */
    return (struct hx_extent){whole.start + i * each + before / m, each + (before % m + rest >= m)};
}

static inline uint64_t hx_ceil_div(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

/* Which of IN and OUT the places are of: it has all blocks, if this rank has them. */
static inline enum hx_space hx_placed_space(const struct hx_plan *plan)
{
    return hx_coll_gives(plan->coll) == HX_HOLDS_ROOT ? HX_IN : HX_OUT;
}

static inline uint64_t hx_plan_block_max(const struct hx_plan *plan, uint64_t count)
{
    return plan->partition == HX_PARTITION_PER_RANK ? count : hx_ceil_div(count, plan->nblocks);
}
