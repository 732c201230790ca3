/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job of a few ranks in one process, for tests of agreements (runtime/engine/agree.h). The test places the ranks on nodes. Ranks of a node
 * share their lines. Messages between nodes wait in a pool until the world delivers them, in any order. A seed decides all that happens, so
 * each run can be repeated.
 *
 * A rank takes a step (hx_agree_advance), or looks for deaths (hx_agree_slow). If the test has planned its death, it dies at the start of a step
 * or when it sends a message. Then any of its messages under way may be lost. At these points, and when a rank reads a part of another rank,
 * other ranks may take whole steps.
 *
 * After its agreement, a rank stays in Hierax and answers messages, or it is outside Hierax.
 */
#pragma once

#include "runtime/engine/agree.h"
#include <setjmp.h>

enum { WORLD_MOST = 20, WORLD_AGREEMENTS = 3 };

enum world_life { LIFE_BUSY /* not in the agreement yet */, LIFE_WAITS, LIFE_SERVES, LIFE_OUTSIDE, LIFE_DEAD };

struct world_node { /* what its ranks share */
    struct hx_node_header header;
    struct hx_job_entry table[WORLD_MOST];
    struct hx_doorbell doorbells[WORLD_MOST];
    unsigned char agreements[WORLD_MOST][512];
    int n, ranks[WORLD_MOST];
};

struct hx_net {
    struct world *world;
    int rank;
};

struct world_result { /* of an agreement */
    int is_known;
    uint64_t words[HX_AGREE_WORDS], has; /* has: a bit for each member */
};

struct world_rank {
    struct hx_process process;
    struct hx_shared shared;
    struct hx_members members;
    struct hx_engine engine;
    struct hx_net net;
    int node, rows[WORLD_MOST];
    enum world_life life;
    int dies_in;             /* messages until it dies; 0: it does not */
    int runs;                /* it is inside a step */
    jmp_buf ends;            /* that step */
    int ended;               /* agreements */
    hx_status_t status;      /* of the last one */
    struct world_result results[WORLD_AGREEMENTS];
    int asked[WORLD_MOST];   /* questions from it to each rank, about agreements */
};

struct world_message {
    int from, to;
    struct hx_control_message message;
};

struct world {
    int size, nnodes;
    uint64_t seed;
    unsigned cut;            /* a bit for each node beyond the cut of the network; 0: there is none */
    int is_cut;              /* the cut holds now: no message crosses it */
    int agreements;          /* one after the other */
    int nests, depth;        /* nests: other ranks take steps inside a step */
    struct world_result results[WORLD_AGREEMENTS]; /* of each agreement; used without a cut */
    int deaths_are_late;     /* messages about deaths do not arrive yet */
    int comes_in;            /* reads of the part of a rank until comes is called, inside a step; 0: never */
    void (*comes)(struct world *w);
    struct hx_env env;
    struct hx_shape shape;
    int node_of[WORLD_MOST], local_of[WORLD_MOST], all[WORLD_MOST];
    double timeout_s;
    struct world_node *nodes;
    struct world_rank ranks[WORLD_MOST];
    struct world_message *messages;
    int nmessages, capacity;
};

/* nodes: the node of each rank. */
struct world *world_new(int size, const int *nodes, uint64_t seed);
void world_free(struct world *w);
/* Draw a number from 0 to n - 1. */
int world_random(struct world *w, int n);

int world_is_dead(const struct world *w, int rank);
int world_is_across(const struct world *w, int from, int to); /* on the other side of the cut */

/* Must its next agreement begin? */
int world_begins(const struct world *w, int rank);
void world_begin(struct world *w, int rank);
void world_step(struct world *w, int rank);
void world_slow(struct world *w, int rank);
void world_kill(struct world *w, int rank);
/* The node finds that this rank is gone. */
void world_find(struct world *w, int node, int rank);
/* Deliver message i of the pool. It stays there if the receiver is not in Hierax. Returns whether it was taken from the pool. */
int world_deliver(struct world *w, int i);
/* Deliver all messages that can be delivered, also the messages that these cause. */
void world_deliver_all(struct world *w);
/* Drop the messages between these ranks. */
void world_drop(struct world *w, int from, int to);
