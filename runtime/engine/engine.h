/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An engine runs bound plans, one call after the other, in one context. A communicator has one for its blocking calls and several for
 * non-blocking ones. bind.c turns a plan and a count into addresses once; run.c runs a call: run_inline
 * walks a plan of one slice, blocking; run_slices.c keeps a window of slices of every stage under way. data.c copies
 * and reduces; transfer.c moves messages, over the shared rings inside the node and over the network between nodes.
 *
 * Flags and slots are reused from call to call. Call c raises flags that call c - calls_kept raised. Tiny slots
 * stand beside the flags. The other slots of calls of one parity are a bank. A plan takes the whole bank, or its parts
 * in turn: then call c writes where call c - 2 parts wrote. A rank that starts c has ended c-1. If all ranks had
 * entered c-1 by then (awaits_all), all had left c-2, and the rank need not ask. If c-1 does not await all (it has a
 * root, or is a scan, or some blocks may be empty), the rank looks how far the ranks of its node are. It waits until
 * all have left the last call that used the same flags or slots: see kept. So the root of a short broadcast begins
 * calls_kept calls before it waits for the others, which on shared cores costs changes of process. Between nodes a
 * rank that only sends could still run ahead of the others for ever, and match ids of calls repeat. So after
 * HX_CALLS_AHEAD such calls in a row the next one begins with a barrier (hx_call_is_ahead).
 */
#pragma once

#include "runtime/plan/layout.h"
#include "runtime/base/reduce.h"
#include "runtime/base/user_table.h"
#include "runtime/engine/call_key.h"
#include "runtime/engine/members.h"
#include "runtime/engine/process.h"

struct hx_request;

/* A message under way. */
struct hx_transfer {
    struct hx_net_op net; /* direction, peer, segments and done serve both kinds */
    struct hx_segment first_segments[2], *more_segments;
    int more_capacity;
    int far;                  /* 1 + the rank with which the network connects it; 0: it goes through a ring, or is empty */
    struct hx_transfer *next; /* in its ring's queue */
    uint64_t stamp;           /* ring: the call's stamp; without the call number if pairs count their messages (pairs.h) */
    int segment;              /* ring: the segment reached, and how far */
    size_t within;
};

/* Data that this rank asks others of its node for, or they ask it for, because the kernel refuses to read it: see fetch_ask.c. */
struct hx_asks {
    const struct hx_instance *reader; /* the slice whose FETCH asks; NULL: none */
    struct hx_transfer arrival;       /* the data that it awaits */
    uint64_t number;                  /* of its asks */
    uint64_t looked;                  /* at this rank's asks, which were so many then */
    struct hx_answer {
        uint64_t asked; /* the last one that was answered */
        struct hx_transfer sent;
    } *answers;         /* [ranks of the node]; NULL until used */
    uint64_t last_call; /* in which this rank has asked, or was asked */
    uint64_t refused;   /* reads that the kernel has refused */
};

#define HX_TINY_SLOT HX_SPACE_COUNT /* the space of a SLOT that stands beside a flag */

/* The place of an operand: bytes after the base of its space. */
struct hx_operand {
    enum hx_space space;
    size_t offset;
};

/* A step with addresses: of the one slice, or resolved for one slice as it is issued. */
struct hx_bound_step {
    enum hx_opcode op;
    int contiguous; /* every operand is one span; else offsets are of the slice, and the layout is asked for spans */
    int streams;    /* COPY, FETCH: no rank reads the result soon, so it goes around the caches: see stream.h */
    uint32_t peer, n, tag, handle;
    uint32_t self;           /* AWAIT: the member whose flag is not looked at: this rank, unless it awaits that flag alone */
    uint32_t lags;           /* AWAIT: nonzero for the slice one window before */
    uint32_t touches;        /* AWAIT: lines of a slot that the next step reads, fetched while waiting; 0: too many, or none */
    size_t flag_offset;      /* PUBLISH, AWAIT: of the flag after a control, in calls whose number is a multiple of calls_kept */
    struct hx_operand dst, src, own; /* REDUCE from SLOT: src is that of the segment's first row */
    size_t bytes, elements;
    const struct hx_step *plan_step;
    /* of an only slice: */
    struct hx_instance *instance;
    const void **sources; /* REDUCE from slots: [calls_kept][n], by number of the call; else NULL */
    int64_t sent, received; /* with pair counts: the place of its block among those that this rank sends, or receives; -1: it does not */
};

struct hx_instance { /* one slice of one stage under way */
    struct hx_bound_stage *stage;
    uint64_t slice;
    uint64_t since;  /* HX_TRACE: when it was started */
    uint32_t pc;     /* the next step */
    uint32_t cursor; /* progress of an AWAIT or JOIN, or of a FETCH that asks; 0 outside of these */
    struct hx_transfer *transfers;
};

#define HX_NO_MATE UINT32_MAX

struct hx_bound_stage {
    const struct hx_stage *stage;
    uint32_t me, mate;           /* as the stage has them; HX_NO_MATE: shared->mate is not in it */
    struct hx_layout layout;
    struct hx_bound_step *steps;  /* of the only slice; NULL when there are several */
    uint32_t nsteps;              /* of steps, if there are such: where nothing lags steps that only serve the next window are left out, and
                                   * a COPY may be two; else of the stage */
    struct hx_control **controls; /* [stage->n] of each member, NULL on another node */
    struct hx_doorbell **doorbells; /* likewise */
    unsigned window;
    int reduces_by_spans;        /* the program's own operation: a REDUCE always walks along spans */
    hx_wire_kernel_t *encode, *decode; /* in the wire format of the stage; NULL: it has none */
    uint32_t streams_from;       /* the steps from this one on write their part of OUT around the caches; nsteps of the stage: none */
    int ring;                 /* first of its rings */
    int tiny_slot;               /* the slot is the payload of the stage's first flag */
    size_t slot_offset;          /* in a part of a bank */
    size_t *slot_offsets;        /* [stage->n] from the slots of the segment's first row to those of each member */
    size_t scratch_offset;
    struct hx_instance *instances; /* [window] */
    uint64_t started, finished;    /* slices */
};

struct hx_bound {
    struct hx_call_key key; /* without the blocks' arrays, which are the caller's: sizes has them */
    struct hx_signature signature;
    uint64_t signature_bits;
    uint32_t elem_bytes; /* of what the plan counts in: an element, or a part of one where elements may be cut */
    uint64_t per_element;
    hx_reduce_kernel_t *kernel; /* NULL: the collective reduces nothing, or by the program's own operation */
    struct hx_user_op user;
    size_t fold_bytes; /* of each of two places for its results, after work and scratch */
    struct hx_plan *plan;
    uint64_t *starts, *places; /* of sizes; one piece of memory */
    struct hx_sizes sizes;
    struct hx_pair_counts pair_counts; /* of the call under way */
    size_t *heard;             /* the lengths that it learns; NULL: it learns none */
    uint64_t kept; /* a call may write what others of its node read only when they have left the call that is so many calls before it: see
                    * bind.c. UINT64_MAX: it writes no such thing */
    size_t turn_bytes, turn_mask; /* of the bank: parts of so many bytes (0: it uses none), their number less one */
    int runs_inline; /* one slice, stage after stage: run_inline */
    int offers;      /* some stage offers the call's buffers */
    int rings;       /* of each pair of ranks, that its messages use on this rank */
    int is_short;    /* runs inline, and that is all there is to a run */
    int fast_path;   /* and to a call: it has no rival */
    const char *traced_as; /* HX_TRACE: its plan's name, for as long as the trace lives */
    int awaits_all;
    size_t work_bytes, scratch_bytes;
    int nstages;
    struct hx_bound_stage *stages;
    struct hx_bound_step *steps, *steps_end; /* of all stages that have only one slice, one after the other */
    int max_spans, max_sources;
    int has_rival;            /* HX_ADAPT: its calls may run by another plan as well, see adapt.c */
    uint32_t warm[2];         /* calls of this plan, and of its rival once it is bound, that fill all their slots */
    struct hx_traits traits;  /* with which the plan was chosen */
    struct hx_bound *rival;   /* the rival of number rival_number, NULL: not bound yet */
    uint32_t rival_number;
    struct hx_kind *kind;     /* the state of such calls when this plan ran last, */
    uint64_t kind_number;     /* if it still has this number */
};

#define HX_BOUND_SETS 128 /* of the cache of bound plans: few kinds of call that a program makes in turn share one */
#define HX_BOUND_WAYS 2   /* plans of one set, the last used first */

struct hx_ring_queue { /* transfers of one (peer, ring, direction), in order */
    struct hx_transfer *head, *tail;
    uint64_t number; /* chunks moved so far */
    int peer, ring, sending, active;
};

struct hx_run { /* a call under way */
    struct hx_engine *engine;
    const char *name;
    struct hx_bound *bound;
    uint64_t epoch;   /* call << HX_SLICE_BITS */
    uint64_t stamp;   /* the same, and the signature's bits */
    unsigned turn;    /* call % calls_kept */
    size_t flag_turn; /* bytes from the first of the flags to those of this call */
    hx_status_t status;
    const struct hx_bound_step *waits;   /* run_inline: the step that waits; else NULL */
    unsigned char *base[HX_SPACE_COUNT + 1]; /* SLOT, HX_TINY_SLOT: of the context, and how far this call's part is from the first */
};

struct hx_engine {
    struct hx_members *members;
    struct hx_process *process;
    struct hx_node node;     /* its context in shared memory */
    struct hx_control *mine; /* this rank's in it */
    _Atomic uint64_t *passed; /* the process's stamp of the last call, of whichever communicator */
    int context;
    uint64_t prefix;         /* of its match ids: see hx_members_prefix */
    uint64_t flow_prefix;    /* of its flows: the same with the whole generation */
    uint64_t first_call;
    uint64_t call;           /* number of the last call entered */
    int ahead;               /* calls since the last one that awaited all, at most HX_CALLS_AHEAD */
    uint64_t left_by_all;    /* the last call that this rank has seen all others of its node leave */
    uint64_t turns_since;    /* the first of the last calls that divided their banks alike */
    size_t turn_mask;        /* as these do; SIZE_MAX: there was none yet */
    struct hx_bound *cache[HX_BOUND_SETS][HX_BOUND_WAYS];
    unsigned char *memory;   /* WORK, then SCRATCH */
    size_t memory_bytes;
    struct hx_span *spans[3];
    int span_capacity;
    const void **sources;
    int source_capacity;
    struct hx_ring_queue *queues; /* [n][HX_PAIR_RINGS][2] */
    int *active;             /* indices of queues with transfers */
    int nactive;
    unsigned net_looks;
    struct hx_wait_clock wait_clock; /* with the call under way */
    struct hx_signature sent;    /* of a peer's call, as the peer says: a message of that call may have been dropped here */
    uint64_t bytes_moved;    /* of its messages, when hx_stall_tell looked last */
    int awaits_finished;     /* if pairs: 1 + the awaited rank that the last look found in hx_finalize, or 0 */
    int refused;             /* if pairs: 1 + a member that the last look found to have failed in a group with this rank, or 0 */
    uint64_t told;           /* the last call for which a warning reported a long wait */
    int blocks;              /* 1: the program is in a blocking call until the call under way ends; 0: it tests the call at times */
    uint64_t *pairs;         /* [ranks][2] messages received from each rank and sent to it: they replace call in match ids (pairs.h); or
                              * NULL */
    struct hx_asks asks;
    struct hx_adapt *adapt; /* HX_ADAPT; NULL: no call has taken part */
    uint64_t adapt_trials, adapt_changes;
    uint64_t plans_bound, ring_messages, ring_bytes, fetches, fetched_bytes, shared_alloc_bytes, streamed_bytes;
    const char *traced_as; /* HX_TRACE: of the last plan that ran */
    unsigned char token;   /* the byte that a barrier sends and receives */
    /* non-blocking calls: */
    struct hx_run run;       /* that of the first */
    enum { HX_IDLE, HX_AWAITS_SLOTS, HX_RUNS } running;
    int awaiting; /* threads that wait until it is idle */
    enum { HX_PART_CALL, HX_PART_BARRIER, HX_PART_COUNTS } part; /* of the first, under way: itself, or what comes before */
    struct hx_request *first, *last;
    struct hx_engine *next_active;
};

#define HX_CALLS_AHEAD 32 /* half of the call numbers that match ids tell apart */

extern _Atomic uintptr_t hx_folder; /* the thread, as pthread_self() names it, that is in an operation of the program's; 0: none is */

/* Open the engine of context number which of these members. */
hx_status_t hx_engine_open(struct hx_engine *engine, struct hx_process *process, struct hx_members *members, int which);
/* A number above which no epoch and no ring chunk number was used: calls of a new communicator count from the next one on. */
uint64_t hx_engine_last_call(const struct hx_engine *engine);
void hx_engine_close(struct hx_engine *engine);
/* Memory for at least this many bytes of WORK and SCRATCH, instead of what there was. Errors: HX_ERR_NOMEM. */
hx_status_t hx_engine_grow(struct hx_engine *engine, size_t bytes);
/* Drop all bound plans, so that the next calls plan again. */
void hx_engine_forget_bound(struct hx_engine *engine);

static inline struct hx_bound **hx_bound_set(struct hx_engine *engine, struct hx_call_key key)
{
    uint64_t mixed = (key.count + key.blocks.hash) * 0x9e3779b97f4a7c15u >> 32;
    return engine->cache[(mixed + key.coll + key.dtype + key.op + (unsigned)key.root) % HX_BOUND_SETS];
}

/* Was it bound for the same blocks, entry by entry? */
int hx_bound_fits_blocks(const struct hx_bound *bound, const struct hx_blocks *blocks);

static inline int hx_bound_fits(const struct hx_bound *bound, struct hx_call_key key)
{
    return bound && !((bound->key.count ^ key.count) | (bound->key.blocks.hash ^ key.blocks.hash) | (bound->key.coll ^ key.coll) |
                      (bound->key.dtype ^ key.dtype) | (bound->key.op ^ key.op) |
                      (unsigned)(bound->key.root ^ key.root) | (unsigned)(bound->key.manner ^ key.manner) |
                      (bound->key.purpose ^ key.purpose) | (key.purpose ? bound->key.about ^ key.about : 0)) &&
           (!key.blocks.hash || hx_bound_fits_blocks(bound, &key.blocks));
}

/* The plan bound to this kind if it was the last of its set, else NULL: hx_bind looks further. */
static inline struct hx_bound *hx_bound_find(struct hx_engine *engine, struct hx_call_key key)
{
    struct hx_bound *first = hx_bound_set(engine, key)[0];
    return hx_bound_fits(first, key) ? first : NULL;
}

/* Find or bind a plan for a call key whose type, operation and count are right. */
hx_status_t hx_bind(struct hx_engine *engine, struct hx_call_key key, struct hx_bound **bound);

/* Bind this plan, not from or for the cache. Takes the caller's reference to the plan, also when it fails. */
hx_status_t hx_bind_plan(struct hx_engine *engine, struct hx_call_key key, const struct hx_choice *choice, struct hx_bound **bound);

/* Run one collective to its end. Blocking. name: of the public function, for messages. */
hx_status_t hx_engine_run(struct hx_engine *engine, struct hx_bound *bound, const char *name, const void *in, void *out);

/* The same in parts, for a call that does not block: engine->run. If advance returns nonzero, the caller must end the call: it
 * is complete, or has failed. */
void hx_run_begin(struct hx_engine *engine, struct hx_bound *bound, const char *name, const void *in, void *out);
int hx_run_advance(struct hx_engine *engine);
hx_status_t hx_run_end(struct hx_run *run);

/* For a run that has failed: take its messages back, and return its buffers to the caller. Tells the ranks that may wait for it. */
void hx_run_cancel(struct hx_run *run);

/* ---- inside the engine */

void hx_bound_release(struct hx_bound *bound);
/* Set the lengths and places of the next run of a plan: the caller's arrays, until its end. */
void hx_bound_set_pair_counts(struct hx_engine *engine, struct hx_bound *bound, const struct hx_pair_counts *pair_counts);
/* The run now knows the lengths of the blocks that it moves for other ranks. Errors: HX_ERR_ARG, a rank of this node sends this
 * rank more or less than it expects. */
hx_status_t hx_bound_learn(struct hx_run *run);
/* Addresses of a step for one slice. */
void hx_bind_step(const struct hx_node *node, const struct hx_bound_stage *bs, const struct hx_step *step,
                  uint64_t slice, struct hx_bound_step *out);

/* The steps of stages of an only slice, which stands still: write down where. */
hx_status_t hx_bind_steps(const struct hx_node *node, struct hx_bound *bound);

/* Find from which step on each stage may write its part of OUT around the caches. */
void hx_bind_streams(const struct hx_engine *engine, struct hx_bound *bound);

/* A step of the plan's step number i of its stage: does it? */
static inline void hx_bind_stream(const struct hx_bound_stage *bs, uint32_t i, struct hx_bound_step *step)
{
    step->streams = i >= bs->streams_from && step->dst.space == HX_OUT;
}

/* Note of a step of a plan with pair counts which pair's block it moves. */
hx_status_t hx_bind_pair(const struct hx_bound *bound, const struct hx_bound_stage *bs, struct hx_bound_step *step);

/* adapt.c. Has the plan that was bound for a call a rival? Asked once, when it is bound. Errors: HX_ERR_NOMEM. */
hx_status_t hx_adapt_bind(struct hx_engine *engine, struct hx_bound *bound, const struct hx_choice *chosen, struct hx_traits traits);
/* Run a call of a plan that has one, by itself or by its rival. */
hx_status_t hx_adapt_run(struct hx_engine *engine, struct hx_bound *bound, const char *name, const void *in, void *out);
void hx_adapt_free(struct hx_engine *engine);
/* For tests: ns that are added to the time of a call by this plan. NULL: none. */
extern uint64_t (*hx_adapt_extra_ns)(const struct hx_bound *bound);

/* Bytes from the first part of a bank to that of a call; call may be a number modulo calls_kept. */
static inline size_t hx_bank_turn(const struct hx_node *node, const struct hx_bound *bound, uint64_t call)
{
    return (call & 1) * node->shared->bank_bytes + (call >> 1 & bound->turn_mask) * bound->turn_bytes;
}

static inline unsigned char *hx_operand_at(const struct hx_run *run, const struct hx_operand *operand)
{
    return run->base[operand->space] + operand->offset;
}

/* A slice of a reduction in place has just read what it overwrites: that is in the cache. */
static inline int hx_reduces_in_place(const struct hx_run *run)
{
    return hx_coll_reduces(run->bound->key.coll) && run->base[HX_IN] == run->base[HX_OUT];
}

struct hx_walk { /* along the spans of an operand */
    const struct hx_span *spans;
    int n, i;
    size_t within;
};

static inline size_t hx_walk_at(const struct hx_walk *w)
{
    return w->spans[w->i].offset + w->within;
}

static inline size_t hx_walk_left(const struct hx_walk *w)
{
    return w->spans[w->i].bytes - w->within;
}

static inline void hx_walk_advance(struct hx_walk *w, size_t bytes)
{
    w->within += bytes;
    if (w->within == w->spans[w->i].bytes) {
        w->i++;
        w->within = 0;
    }
}

/* COPY and REDUCE, done at once. */
void hx_data_copy(struct hx_run *run, const struct hx_instance *instance, const struct hx_bound_step *step);
void hx_data_code(struct hx_run *run, const struct hx_instance *instance, const struct hx_bound_step *step); /* ENCODE, DECODE */
void hx_data_reduce(struct hx_run *run, const struct hx_instance *instance, const struct hx_bound_step *step);
/* The caller's buffers are its own again, though others may not have fetched what was offered: their calls fail. */
void hx_fetch_withdraw(struct hx_control *mine);
/* FETCH. Returns 0 when it must wait for an answer of the rank whose memory the kernel refuses to read, or when run->status has become an
 * error. */
int hx_data_fetch(struct hx_run *run, struct hx_instance *instance, const struct hx_bound_step *step);

/* fetch_ask.c: ask the step's peer for these bytes at an address of it. Only one slice of an engine asks at a time. */
void hx_ask(struct hx_run *run, const struct hx_instance *instance, const struct hx_bound_step *step, void *to, uintptr_t from, size_t bytes);
/* Is the answer complete? 0 also when run->status has become an error. */
int hx_ask_ended(struct hx_run *run);
/* Answer what other ranks ask in the call under way. To be called while the run waits, if it offers its buffers. */
void hx_asks_answer(struct hx_run *run);
static inline void hx_asks_look(struct hx_run *run)
{
    if (run->bound->offers && atomic_load_explicit(&run->engine->mine->asks, memory_order_relaxed) != run->engine->asks.looked)
        hx_asks_answer(run);
}

void hx_transfer_start(struct hx_run *run, struct hx_instance *instance, const struct hx_bound_step *step);
/* The transfers of all slices under way, one after the other: for (struct hx_transfers at = {0}; hx_transfer_next(run, &at);) at.t ... */
struct hx_transfers {
    int stage;
    unsigned slice;
    uint32_t i;
    struct hx_transfer *t;
};
int hx_transfer_next(const struct hx_run *run, struct hx_transfers *at);

/* shm_ring.c: start a transfer with peer, a rank of this node, through this ring of the pair, after those that were started there before. */
void hx_shm_ring_start(struct hx_engine *engine, struct hx_transfer *t, int peer, int ring);
int hx_shm_rings_progress(struct hx_engine *engine); /* move what can be moved; returns the number of chunks */
void hx_shm_rings_cancel(struct hx_engine *engine);  /* forget all transfers under way */

/* Among the signatures of calls that this rank has bound last in the engine, is there one for which match holds? *out: that one. */
typedef int hx_signature_match_t(const struct hx_signature *signature, void *arg);
int hx_signature_find(const struct hx_engine *engine, hx_signature_match_t *match, void *arg, struct hx_signature *out);
/* The status with which a message has failed (net.done < 0). */
hx_status_t hx_transfer_failure(const struct hx_run *run, const struct hx_transfer *t);
void hx_transfer_cancel_all(struct hx_run *run);
/* Take back a message of a rank of another node: as cancel in struct hx_net_ops. */
int hx_op_cancel(const struct hx_process *process, struct hx_net_op *op);
