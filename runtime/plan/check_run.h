/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A run of the checker: every rank's way through every call. Threads of the clocks are one per rank (its calls) and
 * one per rank, stage and place in the window: the engine promises no more order than that. Private to check*.c.
 */
#pragma once

#include "runtime/plan/check_memory.h"

struct hx_check_instance { /* one slice of one stage */
    int active;
    uint64_t slice;
    uint32_t pc;
    uint32_t *transfers; /* of each handle; 0: not started, HX_CHECK_NONE: of no bytes */
    uint32_t *ordinals;  /* [2 n] of the next message: sent to, received from each member */
};

struct hx_check_stage { /* one stage of one rank in one call */
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
    const struct hx_plan *plan;
    struct hx_plan whole;
    struct hx_sizes sizes;
    struct hx_pair_counts pair_counts, numbered; /* of sizes; the same, but numbers elements instead of placing them */
    struct hx_check_stage *stages;
    struct hx_check_memory user[2], work; /* IN and OUT, or both in user[0] */
    struct hx_check_memory counts, heard; /* COUNTS and HEARD, of a plan that learns how long blocks are */
    int learns, has_learnt;
    size_t in_base, out_base;             /* where they stand in their memory */
    uint32_t entered;                     /* clock of the rank's own thread, 0: not yet */
    struct hx_check_snapshot *entry, *end;
};

struct hx_check_run {
    struct hx_check_store store;
    const struct hx_shape *shape;
    const struct hx_check_call *calls;
    int ncalls;
    struct hx_check_rank **ranks;       /* [ncalls] -> [nranks] */
    struct hx_check_memory (*slots)[2]; /* [nranks], by call mod 2 */
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
    int faulty;
};

#define HX_CHECK_BUCKETS 65536u

struct hx_check_step { /* the step being run */
    struct hx_check_run *run;
    int call, rank, stage_idx;
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

/* Write the report, once. */
void hx_check_fault(struct hx_check_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "call 0 (allreduce), rank 3, stage 0 (ring), slice 1, step 7: send ..." */
void hx_check_place(const struct hx_check_run *run, const struct hx_check_where *where, char *text, size_t capacity);
void hx_check_step_fault(struct hx_check_step *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Do the instance's next step: 1 done, 0 it must wait (or a fault was found). */
int hx_check_step_run(struct hx_check_run *run, int call, int rank, int stage, struct hx_check_instance *instance);
/* COPY, FETCH and REDUCE; SEND and RECV. */
void hx_check_data_run(struct hx_check_step *s);
void hx_check_transfer_run(struct hx_check_step *s);
int hx_check_join_run(struct hx_check_step *s);

/* The cells of the step's range in a space (of member, for SLOT); their number, or -1 after a fault. */
int hx_check_operand(struct hx_check_step *s, enum hx_space space, int member, uint32_t row, uint32_t *cells);
int hx_check_fetched(struct hx_check_step *s, uint32_t *cells); /* likewise, of what a FETCH reads: a member's IN or OUT in this call */
int hx_check_elements(struct hx_check_step *s, uint32_t *elements); /* their places in the vector */
int hx_check_step_access(struct hx_check_step *s, uint32_t cell, int writes, const char *what); /* -1: fault */
/* readable and right, else -1 */
int hx_check_step_value(struct hx_check_step *s, uint32_t cell, uint32_t element, const char *what);

/* check.c's halves: make the run's ranks, and look at what a call left behind. */
hx_status_t hx_check_run_open(struct hx_check_run *run, const struct hx_shape *shape, const struct hx_check_call *calls,
                              int ncalls);
void hx_check_call_begin(struct hx_check_run *run, int call, int rank);
void hx_check_call_end(struct hx_check_run *run, int call, int rank);
