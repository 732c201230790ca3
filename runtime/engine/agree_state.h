/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of a member's agreements, and what is in each file. agree.h has the rules A1 to A6.
 *
 *   agree.c        the calls: an agreement begins, waits, asks members that are late, and ends
 *   agree_rules.c  one step of a member, by the rules. It knows nothing of messages
 *   agree_gone.c   which members are gone, over and here, and whether those that are here may agree
 *   agree_part.c   the parts of the members, and how they travel: in lines of the node's segment, and in messages between nodes
 */
#pragma once

#include "runtime/engine/engine.h"
#include <limits.h>

#define LEFT UINT64_MAX         /* the promise of a rank that has freed the communicator */
#define LEFT_UNKNOWN (LEFT - 1) /* the same, but it no longer knows its last decision there; or it is out: see struct hx_agree */
#define NO_RANK (-1)
/* Results of a step, besides these. 0: wait. 1: decided. Minus an hx_status_t: the network has failed. */
#define HELD_FOR_DEAD INT_MIN /* the others have decided without this rank */
#define MINORITY (INT_MIN + 1)

/* The state that a member has published, as this rank knows it. Each value is a place: the number of an agreement, and 1 + a rank. A place only
 * grows. */
struct part {
    uint64_t promise; /* which coordinator it follows */
    uint64_t state;   /* the proposal that it has accepted */
    uint64_t decided; /* its last decision: the agreement, and the rank of the proposal */
};

struct far_part { /* of a member on another node, by its messages */
    struct part part;
    uint64_t words[HX_AGREE_WORDS];
    uint32_t over;  /* how many members it knows to be over */
    uint32_t knows; /* the agreement of the last promise that this rank has sent to it */
};

struct hx_agree {
    uint32_t number;   /* of the last agreement begun, from 1 */
    enum hx_purpose purpose; /* of this rank's call */
    int is_open;       /* a thread waits in it */
    int is_hopeless;   /* the ranks that are left may not go on */
    int out;           /* HELD_FOR_DEAD or MINORITY: this rank takes part in no agreement any more, and has said so; else 0 */
    int coordinator;   /* those below are gone */
    int wanted;        /* the member whose accepted proposal has yet to arrive; NO_RANK: none */
    uint32_t needs_over; /* this coordinator waits until all members know that so many are over; 0: it does not */
    int decider;       /* a member that has decided, found by slow or in a message; NO_RANK: none */
    int asks_from;     /* the member to ask first when the wait is long again */
    int told;          /* the coordinator to which this rank has sent its part, with told_state */
    uint64_t told_state;
    unsigned told_deaths, near_deaths; /* deaths that this rank has sent to other nodes: of all members, and of members on this node */
    struct hx_process *process;
    struct hx_members *members;
    struct hx_agree_line *mine;
    struct far_part *parts; /* [size]; only those of members on other nodes are used */
    struct hx_wait_clock wait_clock;
    int result;
    /* the highest proposal of a lower rank that has arrived from other nodes */
    uint64_t arriving, arrived; /* its place; a bit for each of its messages */
    int is_here;                /* all of them have arrived */
    uint64_t value[HX_AGREE_WORDS];
    uint64_t *said;             /* [words] its members */
};

static inline uint64_t place_of(uint32_t number, int rank)
{
    return (uint64_t)number << 32 | (uint64_t)(rank + 1);
}

static inline uint32_t number_of(uint64_t place)
{
    return (uint32_t)(place >> 32);
}

static inline int rank_of(uint64_t place) /* or NO_RANK */
{
    return (int)(uint32_t)place - 1;
}

static inline size_t member_words(const struct hx_members *members)
{
    return ((size_t)members->size + 63) / 64;
}

/* The place of a member among those of this node, or -1. */
static inline int near_of(const struct hx_members *members, int rank)
{
    const struct hx_shape *shape = members->shape;

    return shape->node_of[rank] == shape->node_of[members->rank] ? shape->local_of[rank] : -1;
}

static inline int has_decided(struct part part, uint32_t number)
{
    return number_of(part.decided) >= number;
}

/* The rank whose proposal this is, in this agreement, or NO_RANK */
static inline int accepted_in(const struct hx_agree *a, struct part part)
{
    return number_of(part.state) == a->number ? rank_of(part.state) : NO_RANK;
}

/* ---- agree_part.c --------------------------------------------------------------------------------------------- */

/* The agreements of a communicator; NULL: there is no memory. */
struct hx_agree *hx_agree_of(struct hx_process *process, struct hx_members *members);
struct hx_agree_line *hx_agree_line_of(const struct hx_agree *a, int rank); /* NULL: it is on another node */
struct part hx_agree_part_of(const struct hx_agree *a, int rank);
struct part hx_agree_part_mine(const struct hx_agree *a);
/* Store a place in this rank's line, for its node. */
void hx_agree_publish(const struct hx_agree *a, _Atomic uint64_t *which, uint64_t place);
/* This rank's part. asks: the receiver answers with its own. */
struct hx_control_message hx_agree_message(const struct hx_members *members, int asks);
/* Tell the members on other nodes, with all deaths that this rank knows. */
void hx_agree_others_tell(const struct hx_agree *a);

/* ---- agree_gone.c --------------------------------------------------------------------------------------------- */

/* Is it certain that the member takes no further step? A member that has freed the communicator is over only if its last decision is known. */
int hx_agree_is_over(const struct hx_agree *a, int rank);
/* Has the member died, or left the communicator or the job? Or can this rank and that member not reach each other? */
int hx_agree_is_gone(const struct hx_agree *a, int rank);

struct census {
    int here; /* members that are not gone */
    uint32_t over;
};
struct census hx_agree_census(const struct hx_agree *a);
/* Does a member have yet to know that so many are over? Those of this node see what this one sees. */
int hx_agree_is_ignorant(const struct hx_agree *a, int rank, uint32_t over);
/* A6: may the members that are here agree? Returns 1, 0: it is not certain yet, or MINORITY. */
int hx_agree_quorum(struct hx_agree *a);

/* ---- agree_rules.c -------------------------------------------------------------------------------------------- */

/* Returns 0: wait, 1: decided, HELD_FOR_DEAD or MINORITY. */
int hx_agree_step(struct hx_agree *a);
/* Must this coordinator wait for that member? */
int hx_agree_is_awaited(const struct hx_agree *a, int rank);
