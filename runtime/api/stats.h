/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What was done: counters of a process, and with HX_STATS also the calls of each collective.
 *
 * Counters stand where things happen that are slow anyway. Calls are counted with HX_STATS alone: no plan is then found
 * on the short way (hx_bind keeps the first place of each set empty), so that every call goes the long one, past
 * hx_stats_call.
 */
#pragma once

#include "runtime/base/counters.h"
#include "runtime/plan/plan.h"

struct hx_world;

struct hx_coll_stats {
    uint64_t calls, started; /* that blocked; that did not, each start of a persistent one counted */
    /* of the vectors: see hx_planner_vector_bytes; a rank with counts of its own, of its own */
    uint64_t bytes;
    uint64_t ns, longest_ns; /* in calls that blocked */
};

struct hx_stats {
    struct hx_coll_stats colls[HX_COLL_COUNT]; /* with HX_STATS */
    struct hx_counters counters;               /* a world's: those of communicators that have gone */
};

/* Of this process, now. */
void hx_counters_read(const struct hx_world *world, struct hx_counters *counters);
/* What a communicator that goes had counted stays counted. */
struct hx_comm;
void hx_counters_keep(struct hx_comm *comm);

struct hx_call;
void hx_stats_call(const struct hx_call *call, uint64_t start_ns); /* a blocking call that has begun then */
void hx_stats_start(const struct hx_call *call);                   /* one that does not block */
