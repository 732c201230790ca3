/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine runs bound plans. bind.c turns a plan and a count into addresses once; run.c issues steps: run_inline
 * walks a plan of one slice, blocking; run_progress keeps a window of slices of every stage under way. data.c copies
 * and reduces; transfer.c moves messages, over the shared rings inside the node and over the network between nodes.
 *
 * Slots are reused from call to call: call c writes into the bank that call c-2 used. Whoever starts c has ended c-1; if
 * all ranks had entered c-1 by then (plan->awaits_all), all had left c-2 and nobody needs to be asked. After a rooted
 * c-1 whoever writes a slot first waits until all ranks of its node have left c-2. Between nodes a rank that only sends
 * could still run ahead of the others for ever, and match ids of calls repeat: after HX_CALLS_AHEAD rooted calls in a
 * row the next one begins with a barrier (hx_engine_is_far_ahead).
 */
#ifndef HX_ENGINE_H
#define HX_ENGINE_H
#include "layout.h"
#include "node.h"
#include "reduce.h"
#include "transport.h"
#include <stdint.h>

struct hx_comm;

/* A message under way. */
struct hx_transfer {
    struct hx_net_op net; /* direction, peer, segments and done serve both kinds */
    struct hx_segment first_segments[2], *more_segments;
    int more_capacity;
    struct hx_transfer *next; /* in its ring's queue */
    int segment;              /* ring: the segment reached, and how far */
    size_t within;
};

/* A step with addresses: of the one slice, or resolved for one slice as it is issued. */
struct hx_bound_step {
    uint8_t op, dst, src, own;
    uint32_t peer, n, tag, handle;
    int contiguous; /* every operand is one span; else the layout is asked */
    size_t dst_offset, src_offset, own_offset, bytes, elements;
    const struct hx_step *plan_step;
    /* Slots of an only slice never move; their addresses for each parity of the call, NULL for what is no such slot */
    unsigned char *dst_slot[2];
    const unsigned char *src_slot[2];
    const void **sources; /* REDUCE: [2][n] */
};

struct hx_instance { /* one slice of one stage under way */
    uint64_t slice;
    uint32_t pc;     /* the next step */
    uint32_t cursor; /* how far an AWAIT or JOIN has come */
    struct hx_transfer *transfers;
};

struct hx_bound_stage {
    const struct hx_stage *stage;
    struct hx_layout layout;
    struct hx_bound_step *steps; /* of the only slice; NULL when there are several */
    uint32_t nsteps;             /* with one slice nothing lags, so steps that only serve the next window are left out */
    const int *local;            /* [stage->n] node-local rank of each member, -1 on another node */
    unsigned window;
    int channel;                 /* first ring channel */
    int tiny_slot;               /* the slot is the payload of the stage's first flag */
    size_t slot_offset, scratch_offset;
    struct hx_instance *instances; /* [window] */
    uint64_t started, finished;    /* slices */
};

/* A plan bound to a count. */
struct hx_bound {
    enum hx_coll coll;
    int root;
    uint64_t count;
    uint32_t elem_bytes;
    struct hx_plan *plan;
    int writes_slot;
    int one_slice; /* run_inline */
    size_t work_bytes, scratch_bytes;
    int nstages;
    struct hx_bound_stage *stages;
    int *local;          /* storage of the stages' local */
    int max_spans, max_sources;
    uint64_t used;       /* when, for eviction */
};

#define HX_BOUND_CACHE 64

struct hx_ring_queue { /* transfers of one (peer, channel, direction), in order */
    struct hx_transfer *head, *tail;
    uint64_t number; /* chunks moved so far */
    int peer, channel, sending, active;
};

struct hx_engine {
    uint64_t call;           /* number of the last call entered */
    int ahead;               /* rooted calls since the last one that awaited all */
    struct hx_bound *cache[HX_BOUND_CACHE], *last;
    unsigned char *memory;   /* WORK, then SCRATCH */
    size_t memory_bytes;
    struct hx_span *spans[3];
    int span_capacity;
    const void **sources;
    int source_capacity;
    struct hx_ring_queue *queues; /* [n][HX_RING_CHANNELS][2] */
    int *active;             /* indices of queues with transfers */
    int nactive;
    uint64_t plans_bound, ring_messages, ring_bytes;
};

/* What a call hands to the engine. */
struct hx_call {
    enum hx_coll coll;
    const char *name;
    const void *in;
    void *out;
    uint64_t count; /* as struct hx_sizes */
    uint32_t elem_bytes;
    hx_reduce_kernel_t *kernel; /* NULL: the collective reduces nothing */
    int root;                   /* 0 where there is none */
};

#define HX_CALLS_AHEAD 32 /* half of the call numbers that match ids tell apart */

hx_status_t hx_engine_open(struct hx_comm *comm);
void hx_engine_close(struct hx_comm *comm);

/* Run one collective to its end. Blocking. */
hx_status_t hx_engine_run(struct hx_comm *comm, const struct hx_call *call);

/* Is a barrier due before the next rooted call? The same on all ranks. */
int hx_engine_is_far_ahead(const struct hx_comm *comm);

/* ---- inside the engine */

struct hx_run {
    struct hx_comm *comm;
    const struct hx_call *call;
    struct hx_bound *bound;
    uint64_t epoch;   /* call << HX_SLICE_BITS */
    unsigned parity;
    hx_status_t status;
    struct hx_bound_stage *at; /* run_inline: where it stands */
    struct hx_instance *instance;
    unsigned char *base[HX_SPACE_COUNT];
    unsigned net_looks;
};

static inline int hx_bound_fits(const struct hx_bound *bound, const struct hx_call *call)
{
    return bound->count == call->count && bound->coll == call->coll && bound->elem_bytes == call->elem_bytes &&
           bound->root == call->root;
}

hx_status_t hx_bind(struct hx_comm *comm, const struct hx_call *call, struct hx_bound **bound);
/* Addresses of a step for one slice. */
void hx_bind_step(const struct hx_bound_stage *bs, const struct hx_step *step, uint64_t slice, struct hx_bound_step *out);
void hx_bound_release(struct hx_bound *bound);

/* A member's slot for one slice, in the bank of this parity. */
static inline unsigned char *hx_slot_address(const struct hx_node *node, const struct hx_bound_stage *bs, unsigned parity,
                                             uint32_t member, uint64_t slice)
{
    int local = bs->local[member];

    if (bs->tiny_slot)
        return node->controls[local].flags[parity][bs->stage->first_flag].payload;
    return hx_node_bank(node, local, parity) + bs->slot_offset + (size_t)(slice % bs->window) * bs->layout.slot_bytes;
}

/* A COPY or REDUCE, at once. */
void hx_data_move(struct hx_run *run, const struct hx_bound_stage *bs, const struct hx_instance *instance,
                  const struct hx_bound_step *step);

void hx_transfer_start(struct hx_run *run, struct hx_bound_stage *bs, struct hx_instance *instance,
                       const struct hx_bound_step *step, const struct hx_step *plan_step);
int hx_transfer_progress(struct hx_comm *comm); /* rings only; nonzero when something moved */
void hx_transfer_cancel_all(struct hx_run *run);

/* ctx: a struct hx_run that has waited for long. */
void hx_stall_tell(void *ctx);
/* The wait has timed out: record the operation and who is missing. Returns HX_ERR_TIMEOUT. */
hx_status_t hx_stall_fail(const struct hx_run *run);

#endif
