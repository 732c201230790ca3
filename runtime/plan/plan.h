/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plan: what one rank does in one collective, for any buffer and any size.
 *
 * A plan is a chain of stages. A stage is the program of one slice for a group of members: a short list of steps that are issued in
 * order. SEND and RECV only start a transfer; JOIN waits for it; AWAIT waits for members' flags; all else completes at once. Slice k of a
 * stage is the k-th piece of each of its blocks; a slice enters a stage when the stages of the level before have finished the slices
 * it is made of, on this rank. Several slices are under way at once; a step of slice k+1 is never issued before the same step of
 * slice k.
 *
 *   vector of the collective:   |  plan block 0  |  plan block 1  | ...      lanes of an all-reduce, or one block per rank
 *   blocks of a stage:          lists of plan blocks (LIST), or equal parts of one plan block's slice (SPLIT)
 *
 * Blocks are named by index; a range of blocks wraps around at the stage's number of blocks. Nothing here knows pointers or sizes.
 *
 * An all-to-all has a block for each pair of ranks. They form a matrix that is not stored: plan block s*p + d goes from rank s to
 * rank d, IN of rank r is row r, OUT is column r. A stage's blocks are a matrix too, (i, j) being number i*columns + j: every plan block
 * from a rank of row i's list to one of column j's, destination by destination. So a stage lists p ranks twice, not p*p pairs; ranges run
 * along a row and wrap around at its end, and a slot holds one row.
 *
 *   4 ranks on 2 nodes, a stage between the nodes, rows {0 1} {2 3}, columns {0} {2}:  block (0, 1) is 0->2 1->2, plan blocks 2 and 6
 */
#pragma once

#include "runtime/base/coll.h"
#include "runtime/base/wire.h"
#include "runtime/hierax.h"
#include "topo/shape.h"
#include <stdint.h>

enum hx_opcode {
#define HX_OPCODE(name, text, writes, async, synopsis) HX_OP_##name,
#include "runtime/plan/op.def"
#undef HX_OPCODE
    HX_OPCODE_COUNT
};

/* The memory that holds an operand. */
enum hx_space {
    HX_NOWHERE,
    HX_IN,      /* the caller's input */
    HX_OUT,     /* the caller's output */
    HX_WORK,    /* private, from stage to stage of one call: the blocks of plan->work, whole */
    HX_SCRATCH, /* private, of one slice of one stage: rows of one block each */
    HX_SLOT,    /* shared memory of one member's slice: all blocks of the stage, or of one row */
    HX_COUNTS,  /* of an all-to-all with counts: how long each block is that this rank sends */
    HX_HEARD,   /* likewise: how long the blocks are that WORK has room for */
    HX_CODES,   /* private, as SCRATCH: rows of one block each in the wire format of the stage */
    HX_SPACE_COUNT
};

/* Which blocks of an all-to-all with counts a stage moves. Those of at most hx_sizes.limit elements go through the ranks' nodes, so that
 * slots and WORK have room for any; longer ones from rank to rank. Both ends of a block know how long it is. */
enum hx_share {
    HX_SHARE_ALL,
    HX_SHARE_SHORT,
    HX_SHARE_LONG,
    HX_SHARE_COUNTS /* none, but how long they are: 8 bytes for each */
};

/* One step. A range of blocks [block, block + nblocks) names the data; row says where in SCRATCH it stands. From block stage->nblocks on
 * a range is of picks: any blocks, each with a row of its own. */
struct hx_step {
    uint8_t op;       /* enum hx_opcode */
    uint8_t dst, src; /* enum hx_space */
    uint8_t own;      /* REDUCE: space of this rank's own contribution, or HX_NOWHERE. AWAIT: 1 = lag. PUBLISH: 1 = awaited only with lag */
    uint32_t peer;    /* member: SEND, RECV, FETCH, COPY from SLOT; whose SLOT it is: REDUCE to SLOT; first member: AWAIT, ELECT, PUBLISH
                       * (who may wait for it) */
    uint32_t n;       /* members, sources or handles */
    uint32_t block, nblocks;
    uint32_t row;     /* SCRATCH row; REDUCE from SCRATCH: first of its rows, one source each nblocks rows apart */
    uint32_t tag;     /* SEND, RECV: round. PUBLISH, ELECT, AWAIT: flag of the stage. REDUCE: position of own among the sources */
    union {
        uint32_t handle;  /* SEND, RECV: its number among the stage's transfers, free after a join. JOIN: the first to wait for.
                           * PUBLISH: the member whose flag it is. ELECT: how many steps only the elected one issues */
        uint32_t dst_row; /* REDUCE: SCRATCH row of dst, and of own where that is SCRATCH. ENCODE, DECODE: row of dst */
    };
};
_Static_assert(sizeof(struct hx_step) == 32, "a step fills half a cache line");

/* Row of a step's dst, and of a REDUCE's own. */
static inline uint32_t hx_step_dst_row(const struct hx_step *step)
{
    return step->op == HX_OP_REDUCE || step->op == HX_OP_ENCODE || step->op == HX_OP_DECODE ? step->dst_row : step->row;
}

struct hx_pick {
    uint32_t block, row;
};

struct hx_graph;

/* Members of a matrix stage: its blocks are numbered in 31 bits. */
#define HX_MATRIX_MEMBERS 46340

enum hx_scope { HX_SCOPE_INTRA = 1, HX_SCOPE_INTER = 2, HX_SCOPE_FLAT = 4 };

#define HX_MAX_FLAGS 4 /* flags of one stage */

struct hx_stage {
    const char *algorithm;  /* its name in the registry, or of a fixed part ("gather", "scatter") */
    enum hx_scope scope;
    int level;              /* stages of one level run side by side */
    int after;              /* it starts a slice when this level has finished it: the next lower one that this rank has; -1: none */
    int coarse;             /* 1: its slices each gather several slices of the fine stages */
    enum hx_share share;
    int n, me, root;        /* members of the group; which one this rank is, and which the root, 0 where there is none */
    int *members;           /* [n] ranks of the communicator */
    enum hx_space in, out;  /* the spaces of its input and output */
    uint32_t nblocks;
    int split;              /* 1: blocks are equal parts of the slice of plan block list[0]; 0: block b is list[list_start[b] ..
                             * list_start[b+1]) */
    uint32_t *list_start;   /* [nblocks + 1], NULL: block b is plan block b. In a matrix [columns + 1], of ranks */
    uint32_t *list;
    uint32_t nrows;         /* of the matrix; 0: none */
    uint32_t *row_start;    /* [nrows + 1], NULL: row i is rank i's */
    uint32_t *rows;         /* NULL: the ranks one after the other */
    uint32_t npicks;
    struct hx_pick *picks;
    int listed;             /* 1: block (i, j) of the matrix is none of ranks, but list[list_start[i columns + j] ..] like the blocks of a LIST */
    uint32_t nreceived;     /* "exchange": the first so many blocks are received, the others are sent */
    uint32_t *partners;     /* [nblocks] then: the member that block b comes from, or goes to; else NULL */
    int *holder;            /* [n] "gather", "scatter": the member that collects or hands out the block of each; NULL: the root */
    /* "nary_levels", of several levels in a node: members stand domain by domain, and have charge of runs of blocks. Else both NULL. */
    int ndomains;
    int *domain_start;      /* [ndomains + 1] first member of each; NULL: each member is one */
    int *charge_start;      /* [n + 1] first block of each member's */
    const struct hx_wire *wire; /* its messages are codes in this format; NULL: plain data */
    uint32_t code_rows;
    uint32_t nsteps, ntransfers, scratch_rows, nflags;
    int uses_slot, offers, elects; /* members use slots, fetch from each other, elect one of them */
    uint32_t first_flag;    /* of the plan's flags */
    struct hx_step *steps;
};

static inline uint32_t hx_stage_columns(const struct hx_stage *stage)
{
    return stage->nrows ? stage->nblocks / stage->nrows : stage->nblocks;
}

enum hx_partition { HX_PARTITION_EVEN, HX_PARTITION_PER_RANK };

/* Some plan blocks: those in these columns, ascending, of these rows likewise; without rows those that the columns name. */
struct hx_area {
    uint32_t nrows, ncolumns;
    uint32_t *rows, *columns;
};

/* Immutable once built; shared by reference count. */
struct hx_plan {
    enum hx_coll coll;
    char name[64];              /* of the composition: "hier(nary,ring,nary)", "flat(ring)" */
    int p, rank, root;           /* root: a rank, 0 where there is none */
    enum hx_partition partition; /* EVEN: the vector's count elements split over nblocks. PER_RANK: each block has count elements, or as
                                  * many as hx_sizes says */
    uint64_t nblocks;
    uint64_t in_block, out_block;      /* IN and OUT hold plan blocks from these on (all, or this rank's own, or its row, or column) */
    uint32_t in_nblocks, out_nblocks;
    uint32_t out_stride;               /* from one to the next in OUT: p for a column, else 1 */
    struct hx_graph *graph;            /* of a neighbourhood collective: plan blocks are its edges, see graph.h; NULL: none */
    struct hx_area work[2];            /* WORK holds these plan blocks, column by column */
    int nlanes;
    int nstages, nlevels;
    struct hx_stage *stages;
    uint32_t nflags;
    int awaits_all; /* when it ends on one rank, every rank has entered the call: proved by the checker; not if rooted or a scan, see
                     * hx_layout_awaits_all */
    int references;
};

/* ---- limits of a plan ------------------------------------------------------------------------------------------ */

/* Flags of one plan. 16 are enough; but then two ranks' controls are a line more than 4 KiB apart, and the processor takes looking at one's
 * first line for looking at the flag that was just written in the other's (4K aliasing): a small broadcast took 1.15 times as long. */
#define HX_NODE_FLAGS 18
#define HX_PAIR_RINGS 8 /* stage position x slice: rings whose messages stay in program order */

/* ---- match ids ------------------------------------------------------------------------------------------------- */

/* How many calls of a context, stages shared by two ranks, slices and rounds a match id tells apart: more than are under way at once,
 * but for stages, whose number is limited. All slices of a call may be: short messages wait for no credit, and the head of a chain
 * waits for no rank. Rounds of two ranks follow one another. */
enum { HX_MATCH_CALLS = 64, HX_MATCH_STAGES = 1024, HX_MATCH_SLICES = 64, HX_MATCH_ROUNDS = 1024 };

/* The match id of a message between ranks of two nodes. It is the same on both sides, and no other message has it while this one is under
 * way. shared: hx_plan_shared. prefix: of the context, see hx_comm_prefix. */
static inline uint64_t hx_match_id(uint64_t prefix, uint64_t call, uint32_t shared, uint64_t slice, uint32_t round)
{
    uint64_t id = prefix * HX_MATCH_CALLS + call % HX_MATCH_CALLS;

    id = id * HX_MATCH_STAGES + shared % HX_MATCH_STAGES;
    id = id * HX_MATCH_SLICES + slice % HX_MATCH_SLICES;
    return id * HX_MATCH_ROUNDS + round % HX_MATCH_ROUNDS;
}

/* Which long messages may hold each other up, of a context: those of a stage and a slice, which both ranks pass in the order of its rounds.
 * Slices and stages run side by side, and each rank is where it is: if one that is ahead on this side held up one that the other side waits
 * for first, both could wait for ever. A slice of the same number begins when the earlier one has ended here. */
#define HX_FLOW_SLICES 4 /* at least as many as are under way at once */
#define HX_CONTEXT_FLOWS ((uint64_t)HX_MATCH_STAGES * HX_FLOW_SLICES)
static inline uint64_t hx_flow_number(uint64_t prefix, uint32_t shared, uint64_t slice)
{
    return (prefix * HX_MATCH_STAGES + shared % HX_MATCH_STAGES) * HX_FLOW_SLICES + slice % HX_FLOW_SLICES;
}

/* The number of an INTER or FLAT stage among those that this rank shares with a member: alike on both sides, whatever other lanes each
 * carries. (Member i of a lane is its carrier on node i; of a FLAT stage all ranks are members.) */
uint32_t hx_plan_shared(const struct hx_plan *plan, int stage, uint32_t member);

/* ---- building ------------------------------------------------------------------------------------------------- */

/* The group that an algorithm's build function sees: p members; this one is number me. For all-reduce it first calls
 * hx_split; for reduce-scatter and all-gather block j belongs to member j and may be empty. in and out may be the same
 * space: read a block of in before the same block of out is written. A broadcast, after hx_split, finds its vector in the root's
 * out and leaves it in every member's. A reduction, after hx_split, leaves the result in the root's out; the others have none.
 * In a gather the root's out has all blocks, and the others have none; in a scatter the root's in has all.
 * A scan, after hx_split, leaves in out the contributions of members 0 .. me, an exclusive one 0 .. me-1: member 0 has no out then.
 * In an all-to-all block (i, j), hx_pair, goes from member i to j; in has row me, out gets column me.
 * A barrier has no data: after hx_split it sends a token, in's only block, and ignores the contents of the token that it gets. */
struct hx_builder {
    int p, me, root;
    enum hx_space in, out;
    struct hx_stage *stage; /* under construction */
    uint32_t capacity, picks_capacity;
    uint32_t started, joined; /* transfers; those below this number have been joined */
    uint32_t limit;         /* of transfers under way, even; 0: none */
    uint32_t elect;         /* 1 + the ELECT whose steps are being built; 0: none */
    struct hx_coded *coded; /* of a stage with a wire format: the rows of CODES */
    uint32_t ncoded, coded_capacity;
    int radix;              /* of the algorithm's row; 0: it takes none */
    struct hx_step discarded; /* a step that is in no plan is written here */
    hx_status_t status;     /* sticky: the first error; checked once at the end */
};

struct hx_coded;

struct hx_ref { /* operand: a range of blocks in a space */
    enum hx_space space;
    uint32_t block, nblocks, row;
};

static inline struct hx_ref hx_at(enum hx_space space, int block, int nblocks)
{
    return (struct hx_ref){space, (uint32_t)block, (uint32_t)nblocks, 0};
}

/* The same range, standing in SCRATCH from this row on. */
static inline struct hx_ref hx_row(int row, int block, int nblocks)
{
    return (struct hx_ref){HX_SCRATCH, (uint32_t)block, (uint32_t)nblocks, (uint32_t)row};
}

/* The range of row i from column j on; both may be arithmetic on ranks. */
struct hx_ref hx_pair(const struct hx_builder *b, enum hx_space space, int i, int j, int nblocks);
/* Note one more block, which stands in this row of SCRATCH. Those noted one after the other make a range: n from `first` on, which is what
 * the first hx_pick returned. */
int hx_pick(struct hx_builder *b, int i, int j, int row);
struct hx_ref hx_picked(const struct hx_builder *b, enum hx_space space, int first, int n);

void hx_split(struct hx_builder *b, int nblocks);             /* cut the slice into equal blocks */
int hx_block_is_empty(const struct hx_builder *b, int block); /* known to hold nothing, whatever the sizes */

void hx_copy(struct hx_builder *b, struct hx_ref dst, struct hx_ref src);
int hx_alone(struct hx_builder *b); /* in a group of one: copy in to out, all blocks; returns 1 there */
void hx_copy_from_slot(struct hx_builder *b, struct hx_ref dst, int member); /* the same range in member's slot */
void hx_take(struct hx_builder *b, int flag, struct hx_ref dst, int member); /* the same, once member has raised the flag */
/* dst = the same range of member's own in or out (src), once member has offered it by the flag. The member waits for
 * confirmation that the range has been read, before it writes there or ends. */
void hx_fetch(struct hx_builder *b, int flag, struct hx_ref dst, enum hx_space src, int member);
/* dst = src op own; src is in SCRATCH. If dst and own are both in SCRATCH, own is the old value of dst: accumulate. */
void hx_reduce_row(struct hx_builder *b, struct hx_ref dst, struct hx_ref src, struct hx_ref own);
/* A reduction of own alone is a copy.
 * dst = the slots of all p members folded in order; own replaces this rank's slot unless it is HX_SLOT */
void hx_reduce_slots(struct hx_builder *b, struct hx_ref dst, enum hx_space own);
/* dst = the slots of members 0 .. n-1 folded in order; own, unless it is HX_NOWHERE, stands for the slot of number own_position */
void hx_reduce_first_slots(struct hx_builder *b, struct hx_ref dst, int n, enum hx_space own, int own_position);
/* dst = n sources in order: scratch rows from first_row on, each nblocks rows long, with own as number own_position */
void hx_reduce_rows(struct hx_builder *b, struct hx_ref dst, int first_row, int n, enum hx_space own, int own_position);
int hx_send_to(struct hx_builder *b, int round, int member, struct hx_ref src); /* returns its handle */
int hx_recv_from(struct hx_builder *b, int round, int member, struct hx_ref dst); /* returns its handle */
/* Members that get this range from here on, this one and others, must have the same bits of it. If messages are codes, this member decodes
 * the codes that it will send. Else hx_settle does nothing. */
void hx_settle(struct hx_builder *b, struct hx_ref ref);
void hx_join_one(struct hx_builder *b, int handle);
void hx_join_all(struct hx_builder *b); /* all that are not joined yet */
/* For long lists, before any transfer: transfers come in pairs, and at most n are under way at once. Before one more is started,
 * the oldest is joined. */
void hx_limit(struct hx_builder *b, int n);
/* In a group of one there are no flags, and nothing is put into a slot. */
void hx_publish(struct hx_builder *b, int flag);          /* any member may wait for it */
void hx_offer(struct hx_builder *b, int flag);            /* the same, and may then fetch this rank's in and out */
void hx_publish_read(struct hx_builder *b, int flag);     /* members wait for it only with lag: to reuse what was read */
/* Raise the flag, as hx_publish; no member awaits it. Only one member issues the steps from here to hx_elected_end. It has found
 * the flags of all raised: it is the last to arrive, or one of the last. */
void hx_elect(struct hx_builder *b, int flag);
void hx_elected_end(struct hx_builder *b);
/* For the elected one: the slots of all members folded in order into the range of member's slot; and what hx_publish does, for a member. */
void hx_reduce_slots_into(struct hx_builder *b, int member, int block, int nblocks);
void hx_publish_for(struct hx_builder *b, int flag, int member);
void hx_await(struct hx_builder *b, int flag, int member);
void hx_await_all(struct hx_builder *b, int flag);
void hx_await_first(struct hx_builder *b, int flag, int n); /* members 0 .. n-1 */
void hx_await_run(struct hx_builder *b, int flag, int member, int n); /* members member .. member+n-1 */
void hx_await_lag(struct hx_builder *b, int flag, int member, int n); /* the same flag, one window of slices before */
void hx_learn(struct hx_builder *b); /* out has the lengths of all blocks in WORK: from here on they are known */

enum hx_needs {
    HX_NEEDS_SHARED_MEMORY = 1, /* slots and flags: members on one node */
    HX_NEEDS_COMMUTATIVE = 2,
    HX_NEEDS_EXACT = 4,         /* ranks fold in different orders, and must get the same bits */
    HX_NEEDS_SINGLE_COPY = 8,   /* members read each other's memory: FETCH */
    HX_NEEDS_LEVELS = 16,       /* inside the nodes: it is a stage for each, see hier/compose/levels.c */
    HX_PASSES_RING = 32,        /* members mostly send to the next: they stand in the ring order of their nodes, if that may be */
    HX_TAKES_CHANNELS = 64,     /* several may run side by side, each on its part of the vector, see hier/compose/flat.c */
    HX_FOLDS_AT_ONCE = 128,     /* each element of the result is one fold of all members' contributions in their order, so that all such
                                 * algorithms give the same bits */
    HX_CARRIES_CODES = 256      /* its messages may be codes of a wire format: whatever several members get, they settle first */
};

/* How a plan may fold what ranks contribute to a reduction. */
enum hx_folding {
    HX_FOLDS_ALIKE,    /* in any order, the same on all ranks: the operation rounds */
    HX_FOLDS_IN_ORDER, /* in the order of ranks: it is not commutative */
    HX_FOLDS_EXACTLY   /* in any order: it is exact, as all are on integers */
};

/* The kind of number that it folds: kinds take different times. */
enum hx_numbers {
    HX_NUMBERS_FLOAT,   /* of 32 bits and more; also where nothing is folded */
    HX_NUMBERS_HALF,    /* floats of 16 bits */
    HX_NUMBERS_INTEGER, /* and bytes, and pairs of value and index */
    HX_NUMBERS_OWN,     /* whatever the program's own operation takes */
    HX_NUMBERS_COUNT
};

/* Properties of a call that the choice of a plan depends on, beside collective, shape and size. */
struct hx_traits {
    enum hx_folding folding;
    enum hx_numbers numbers;
    int shared_alloc; /* buffers are taken to be memory of hx_alloc that others of the node can read */
    const struct hx_wire *wire; /* sums may cross between nodes in this format; NULL: only as they are */
    uint32_t wire_elem_bytes;   /* then */
    const char *exact_because;  /* why they may not, though the communicator has a format; NULL: it has none, or they may */
    struct hx_graph *graph; /* of a neighbourhood collective; NULL: it is none */
};

struct hx_traits hx_traits_of(hx_dtype_t dtype); /* of a built-in operation on it; not shared_alloc */

struct hx_work { /* in shared memory */
    double members, copied, reduced; /* so many members copy, and read in a reduction, so much each */
};

struct hx_group {
    enum hx_coll coll;
    int p;      /* members */
    int owners; /* in shared memory: members that share the blocks; the others own none */
    int radix;  /* of the algorithm's row; 0: it takes none */
};

/* The work of a group in an algorithm, for the cost model: bytes are in multiples of the collective's vector.
 * tests/inter/algorithms/test_rounds.c finds the same messages in plans. */
struct hx_counts {
    /* by messages: of the busiest member, and of all together; all_messages 0: all are as busy */
    double rounds;                    /* messages one after the other */
    double messages, vectors;         /* it sends or receives, whatever is more */
    double all_messages, all_vectors; /* all send */
    double reads, all_reads;          /* vectors that reductions read */
    int one_way;                      /* the busiest member only sends, or only receives, or nearly so */
    int neighbours;                   /* members send to the next one only */
    int pipelined;                    /* members pass slices on: the more there are, the sooner the last member begins */
    /* in shared memory */
    double hops, flags;               /* hand-overs one after the other; in each a member awaits the flags of so many others */
    double calls, fetched;            /* by single copy: system calls of each member, and what it reads by them */
    struct hx_work work[2];           /* one after the other */
    int runs_ahead;                   /* but the first of these work on the next slice while the second work on this one */
    int overlaps;                     /* likewise; known only where the constants of the node are measured */
    double own;                       /* of what members copy, or do not copy at all: their own part, in their own memory */
    int elects;                       /* the last arriver works for all; others may wake earlier */
    int folds_own;                    /* reductions read what the member has fetched before, from its own cache */
    /* data that members read from each other's memory, from each of the others: */
    double read_by_all, read_by_one;  /* every member the same, or one member */
    double read_in_parts;             /* every member another part */
    double read_from_one;             /* every member the same from one member */
};

/* An algorithm: its file ends with it, and stands in the list of algorithms.mk. One that takes a radix has a row for each, HX_RADICES. */
struct hx_algorithm {
    const char *name;
    const char *family;  /* with a radix: the name without it, "knomial" of "knomial8" */
    int radix, usual;    /* its radix, and the family's usual one: in older tables a family's name means that */
    enum hx_coll coll;
    void (*build)(struct hx_builder *);
    struct hx_counts (*counts)(struct hx_group); /* NULL: by levels, see hier/cost/levels.c */
    unsigned needs; /* bits of enum hx_needs */
    const char *about, *source;
};

/* The radices, a row for each, ascending. From one to the next the messages of a round become about 1.4 times as many. Round by round members
 * divide as evenly as they can, so that a radix between two of these would save a message or two. */
#define HX_RADICES(ROW) ROW(2), ROW(3), ROW(4), ROW(6), ROW(8), ROW(12), ROW(16), ROW(24), ROW(32), ROW(48), ROW(64)
#define HX_RADIX_COUNT 11
#define HX_RADIX_LEAST 2
#define HX_RADIX_NAMED(of, k, at_first) .name = of #k, .family = of, .radix = k, .usual = at_first

/* The scopes it may serve: bits of enum hx_scope. If it sends messages it serves inside a node too, over its rings. */
static inline unsigned hx_algorithm_scopes(const struct hx_algorithm *algorithm)
{
    return algorithm->needs & HX_NEEDS_SHARED_MEMORY ? HX_SCOPE_INTRA : HX_SCOPE_INTRA | HX_SCOPE_INTER | HX_SCOPE_FLAT;
}

/* ---- plans ---------------------------------------------------------------------------------------------------- */

struct hx_plan *hx_plan_new(enum hx_coll coll, int p, int rank, int max_stages);
/* Append an empty stage; members is copied. The caller then fills in the fields that a builder reads: in, out, root, blocks or
 * rows. NULL: no memory. */
struct hx_stage *hx_plan_add_stage(struct hx_plan *plan, int level, enum hx_scope scope, const int *members, int n, int me);
/* Run an algorithm over it: its steps. hx_stage_build: a fixed part, called name. */
hx_status_t hx_stage_run(struct hx_stage *stage, const struct hx_algorithm *algorithm);
hx_status_t hx_stage_build(struct hx_stage *stage, const char *name, void (*build)(struct hx_builder *));
hx_status_t hx_plan_seal(struct hx_plan *plan); /* numbers flags, counts levels; then it is immutable */
void hx_plan_retain(struct hx_plan *plan);
void hx_plan_release(struct hx_plan *plan);
size_t hx_plan_bytes(const struct hx_plan *plan);
