/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rounds of drawn faults. A round is drawn from its seed alone: the job, what its ranks call, and what goes wrong.
 *
 *   faults_draw.c   draws a round
 *   faults_rank.c   is one rank of it; it writes what it gets into its record, in memory shared with the driver
 *   faults_judge.c  compares the records with what Hierax promises
 *   faults.c        the driver: starts the ranks, without a launcher that would end them; stops and continues them
 */
#pragma once

#include <hierax.h>
#include <stdatomic.h>
#include <sys/types.h>

enum { RANKS = 8, COMMS = 5, CREATIONS = COMMS - 1, STEPS = 20, VICTIMS = 2, EVENTS = 64, MOST_BYTES = 1 << 20 };

#define LIMIT_S 8.0   /* HX_TIMEOUT */
#define MARGIN_S 7.0  /* beyond it, on a machine that is busy with other tests */

enum where { NOWHERE, IN_INIT, IN_CREATION, IN_STEP, IN_FINALIZE };
enum how { NOTHING, KILLS, EXITS, ABORTS, STOPS_BRIEFLY, STOPS_LONG, STOPS_AND_DIES, CALLS_WRONG };
enum wrong { RIGHT, OTHER_COLLECTIVE, OTHER_COUNT, OTHER_ROOT, OTHER_OP, OTHER_TYPE, SKIPPED, MIXED, FREES };
enum child { NO_CHILD, FORKED, EXECUTED, SPAWNED };

struct kind {
    const char *name;
    enum where where;
    enum how how;
    enum wrong wrong;
    enum child child;
    int victims, is_root; /* is_root: 1: rank 0 is the victim; 0: if that matters for this fault, another rank is */
};
extern const struct kind kinds[];
extern const int kinds_count;

enum what { BARRIER, ALLREDUCE, REDUCE_SCATTER, ALLGATHER, BCAST, REDUCE, GATHER, SCATTER, SCAN, EXSCAN, ALLTOALL, WHATS };

struct group { /* ranks of the job */
    int n, ranks[RANKS];
};

struct comm { /* the communicators that one creation makes: by split, one for each color */
    int parent;          /* < 0: this is the world communicator */
    int color[RANKS];    /* of a rank of the job, < 0: none */
    int key[RANKS];
    struct group of[2];  /* of each color */
};

struct step {
    int comm;
    enum what what;
    size_t count;
    hx_dtype_t dtype;
    int op;        /* index into faults_op's */
    int root;      /* in the smallest of the comm's groups */
    int wait_at;   /* before this step; < 0: it blocks */
    int by_test;   /* waits by hx_test */
};

struct victim {
    int rank, step;
    unsigned delay_us;
    int when_child; /* 0: before hx_init, 1: after it, 2: at its step */
    double stop_s;
    int exits;      /* instead of being killed, where the kind says EXITS */
};

struct round {
    uint64_t seed;
    const struct kind *kind;
    int size, nodes_idx;
    const char *nodes, *setting; /* setting: one more, "" for none */
    struct comm comms[COMMS];
    struct step steps[STEPS];
    struct victim victims[VICTIMS];
    int nvictims;
    enum what wrong_what;
    int wrong_root;
};

#define FINAL STEPS      /* + comm: the last call on it */
#define INIT (-1)
#define FINALIZE (-2)

struct event { /* a call that has ended */
    int step, comm, status, is_wrong; /* is_wrong: HX_SUCCESS, but what it gives is not what the agreed call would have given */
    double from, to;
    char detail[1024];
};

struct record { /* of one rank; only this rank writes it, except what the driver writes */
    _Atomic int pid, child, nevents, done, released;
    _Atomic int doing; /* a step */
    _Atomic int created[COMMS]; /* 1: the rank has the communicator; 2: its creation failed */
    _Atomic int struck; /* 1: the rank's fault has happened */
    int ended_by_itself; /* the rank's wait status (-1 stands for 0) if no fault of the round has ended it; else 0 */
    double struck_at, died_at, stopped_s;
    double doing_since;
    struct event events[EVENTS];
};

struct round faults_draw(uint64_t seed, const char *kind);
void faults_tell(const struct round *round, char *text, size_t capacity);
/* The group of this rank of the job; NULL: none. */
const struct group *faults_group(const struct round *round, int comm, int rank);
int faults_place(const struct group *group, int rank);
const char *faults_what(enum what what);
hx_op_t faults_op(int op, hx_op_t own);
enum { OPS = 5, OWN_OP = 4 };
#define HX_NONE HX_OP_MAX

/* Does the fault of this round end its victims? */
int faults_is_deadly(const struct round *round);
void faults_play(const struct round *round, int rank, struct record *records) __attribute__((noreturn));
/* Print what is wrong; returns how many things are. */
int faults_judge(const struct round *round, const struct record *records);
