/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A run of the checker: every rank's way through every call. Threads of the clocks are one per rank (its calls) and
 * one per rank, stage and place in the window: the engine promises no more order than that. Private to check*.c.
 */
#pragma once

#include "runtime/plan/check_memory.h"

struct hx_check_instance { /* one slice of one stage */
    uint64_t slice;
    uint32_t pc;
    uint32_t *transfers; /* of each handle; 0: not started, HX_CHECK_NONE: of no bytes */
    uint32_t *ordinals;  /* [2 n] of the next message: sent to, received from each member */
};

struct hx_check_stage { /* one stage of one rank in one call */
    struct hx_check_rank *of;
    const struct hx_stage *stage;
    struct hx_layout layout, whole; /* whole: with an IN that holds the whole vector, to number elements */
    int *peers;                     /* [n] index of the stage in each member's plan */
    int max_spans;                  /* of an operand of a step */
    unsigned window;
    uint32_t first_thread;
    size_t slot_offset;
    int ring;            /* its first ring */
    uint64_t started, finished;          /* slices */
    struct hx_check_instance *instances; /* [window] */
    struct hx_check_snapshot **flags;    /* [nflags][nslices] published */
    struct hx_check_snapshot **ends;     /* [nslices] */
    struct hx_check_memory *scratch;     /* [window] */
};

struct hx_check_rank { /* one rank in one call */
    struct hx_check_run *run;
    int call, rank;
    const struct hx_plan *plan;
    struct hx_plan whole;
    struct hx_sizes sizes;
    struct hx_pair_counts pair_counts, numbered; /* of sizes; the same, but numbers elements instead of placing them */
    struct hx_check_stage *stages;
    struct hx_check_memory user[2], work; /* IN and OUT, or both in user[0] */
    struct hx_check_memory counts, heard; /* COUNTS and HEARD, of a plan that learns how long blocks are */
    int learns, has_learnt;
    size_t in_base;                       /* offset of IN in its memory; OUT is at the beginning */
    uint32_t entered;                     /* clock of the rank's own thread, 0: not yet */
    struct hx_check_snapshot *entry, *end;
};

struct hx_check_run {
    struct hx_check_store store;
    const struct hx_shape *shape;
    const struct hx_check_call *calls;
    int ncalls;
    struct hx_check_rank **ranks;       /* [ncalls] -> [nranks] */
    struct hx_check_memory (*slots)[2]; /* [nranks] the banks of calls of either parity */
    size_t part_bytes;                  /* of each of HX_CHECK_TURNS_MAX parts of a bank */
    int *at;                            /* [nranks] the call each rank is in; ncalls: all done */
    uint32_t *buckets;                  /* of transfers, by match */
    uint64_t **expressions;             /* [ncalls] -> [count] of the results, 0: not seen yet */
    struct hx_span *spans;
    uint32_t *cells[3], *elements; /* of the operands of a step */
    uint32_t *fold;
    char *report;
    size_t capacity;
    int fetches; /* some step reads another rank's IN or OUT */
    int last;    /* which member is elected: number last + call + slice */
};

#define HX_CHECK_BUCKETS 65536u

struct hx_check_step { /* the step being run */
    struct hx_check_run *run;
    struct hx_check_rank *r;
    struct hx_check_stage *stage;
    struct hx_check_instance *instance;
    const struct hx_step *step;
    struct hx_check_access access;
};

static inline struct hx_check_rank *hx_check_rank_at(const struct hx_check_run *run, int call, int rank)
{
    return &run->ranks[call][rank];
}

/* The stage of a member of this one's group. */
static inline struct hx_check_stage *hx_check_peer(const struct hx_check_stage *stage, uint32_t member)
{
    return &hx_check_rank_at(stage->of->run, stage->of->call, stage->stage->members[member])->stages[stage->peers[member]];
}

static inline int hx_check_turns(const struct hx_check_run *run, int call)
{
    return run->calls[call].turns ? run->calls[call].turns : 1;
}

static inline int hx_check_same_node(const struct hx_check_rank *a, const struct hx_check_rank *b)
{
    return a->run->shape->node_of[a->rank] == a->run->shape->node_of[b->rank];
}

static inline uint32_t hx_check_thread(const struct hx_check_stage *stage, const struct hx_check_instance *instance)
{
    return stage->first_thread + (uint32_t)(instance - stage->instances);
}

static inline struct hx_check_where hx_check_here(const struct hx_check_stage *stage, const struct hx_check_instance *instance)
{
    const struct hx_check_rank *r = stage->of;
    return (struct hx_check_where){r->call, r->rank, (int)(stage - r->stages), instance->slice, instance->pc};
}

/* Write the report, and stop. hx_check_end_fault reports a rank's whole call: "call 0 (allreduce), rank 3, end: ...". */
void hx_check_fault(struct hx_check_run *run, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));
void hx_check_end_fault(struct hx_check_rank *r, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));
void hx_check_step_fault(struct hx_check_step *s, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));
#define HX_CHECK_PLACE_BYTES 320
/* "call 0 (allreduce), rank 3, stage 0 (ring), slice 1, step 7: send ..." */
const char *hx_check_place(const struct hx_check_run *run, struct hx_check_where where, char text[HX_CHECK_PLACE_BYTES]);
const char *hx_check_where_place(const struct hx_check_run *run, uint32_t where, char text[HX_CHECK_PLACE_BYTES]);

/* Do the instance's next step: 1 done, 0 it must wait. */
int hx_check_step_run(struct hx_check_stage *stage, struct hx_check_instance *instance);
/* SEND and RECV. */
void hx_check_transfer_run(struct hx_check_step *s);
int hx_check_join_run(struct hx_check_step *s);

/* The cells of the step's range in a space (of member, for SLOT); their number. */
int hx_check_operand(struct hx_check_step *s, enum hx_space space, uint32_t member, uint32_t row, uint32_t *cells);
/* The stage of a member whose slot, flag or memory (what) the step uses: it must be on this node. */
struct hx_check_stage *hx_check_near(struct hx_check_step *s, uint32_t member, const char *what);
int hx_check_fetched(struct hx_check_step *s, uint32_t *cells); /* likewise, of what a FETCH reads: a member's IN or OUT in this call */
int hx_check_elements(struct hx_check_step *s, uint32_t *elements); /* their places in the vector */
void hx_check_step_access(struct hx_check_step *s, uint32_t cell, int writes, const char *what);
/* It is readable and right. */
void hx_check_step_value(struct hx_check_step *s, uint32_t cell, size_t element, const char *what);

/* A pair whose block WORK holds, of a plan with pair counts: number *i, from 0 on. Returns its plan block, -1: no more. */
int64_t hx_check_work_pair(const struct hx_plan *plan, uint64_t *i);

/* check.c's halves: make the run's ranks, and look at what a call left behind. */
void hx_check_run_open(struct hx_check_run *run);
void hx_check_call_begin(struct hx_check_rank *r);
void hx_check_call_end(struct hx_check_rank *r);
