/* SPDX-License-Identifier: BSD-3-Clause */
/* A communicator as its engines see it: its ranks, and whether it has failed. */
#pragma once

#include "runtime/ports/ports.h"

/* The identity of a communicator. All members agree on it. Its contexts are number * HX_COMM_CONTEXTS and those that follow. */
struct hx_comm_id {
    uint32_t number;     /* less than HX_COMM_NUMBERS. No other open communicator of a member has it */
    uint32_t generation; /* greater than that of every earlier communicator of this number that a member was in */
    uint64_t first_call; /* calls are counted from here. Greater than all call numbers that members have used in these contexts, since flags
                          * are never reset */
};

struct hx_members {
    struct hx_comm_id id;
    int rank, size;
    int *ranks; /* [size] in the job */
    struct hx_shape *shape;
    int local_n, local_me;   /* ranks on this node; my place among them */
    int *local_ranks, *rows; /* [local_n] and their places in the segment */
    struct hx_planner *planner;
    struct hx_graph *graph;      /* of hx_comm_graph; NULL: it was made otherwise */
    struct hx_agree *agree;      /* its agreements; NULL until used: see agree.h */
    struct hx_engine *blocking;  /* that of blocking calls: its context tells failures */
    const double *timeout_s;     /* of its calls: that of HX_TIMEOUT, or the next one. 0: for ever */
    double own_timeout_s;        /* hx_comm_set_timeout */
    const char *timeout_by;      /* which of them, for messages */
    hx_status_t failed;          /* the first error that leaves ranks out of step; every later call returns it */
    char detail[HX_DETAIL_BYTES];
    char why[HX_DETAIL_BYTES];   /* why its calls fail, from when a thread finds it until they fail; "": they go on */
};

/* The context of engine `which` of these members; and the prefix of match ids and flows of messages in that context. The prefix has bits bits: the
 * context, and as much of the generation as fits. The generation matters because messages of a failed communicator may arrive when another
 * one already has its number. */
static inline int hx_members_context(const struct hx_members *members, int which)
{
    return (int)members->id.number * HX_COMM_CONTEXTS + which;
}
static inline uint64_t hx_members_prefix(const struct hx_members *members, int which, unsigned bits)
{
    uint64_t all = (uint64_t)members->id.generation << HX_CONTEXT_BITS | (uint64_t)hx_members_context(members, which);
    return bits < 64 ? all & ((UINT64_C(1) << bits) - 1) : all;
}
