/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of operations through which the runtime reaches segment, network and planner. */
#pragma once

#include "runtime/base/constants.h"
#include "runtime/base/counters.h"
#include "runtime/bootstrap/bootstrap.h"
#include "runtime/plan/plan.h"
#include "runtime/ports/node.h"
#include "runtime/ports/transport.h"

/* Values that must be the same on every rank, so that all choose alike: rank 0's, and the nodes' reports at start. */
struct hx_job {
    uint64_t llc_bytes;    /* last-level cache of rank 0's node */
    double cpus_per_node;  /* usable cores of rank 0's node */
    int single_copy;       /* FETCH works on all nodes */
    double ranks_per_cpu;  /* per usable core, on the most crowded node of the job; at most 1: none shares its core */
    int max_local;         /* ranks of the largest node of the job, on which sizes of slots depend; 0: as the shape has */
    int nranks;            /* of the job; 0: as the shape has */
    int map;               /* rank 0 logs where every rank runs */
    struct hx_constants constants; /* of rank 0's node */
    struct hx_net_profile net;     /* as measured at start; alpha_us 0: not measured */
};

/* Sharing a segment with the ranks of this node. intra/segment/join.c. */
struct hx_node_ops {
    /* Find the ranks with which this one can share memory, and share it. Makes one fence of bootstrap, whatever fails. has: called as soon as
     * this rank has the segment. NULL where this rank shares nothing: then *failure tells why, and the ranks that share without it know too. */
    struct hx_shared *(*join)(struct hx_boot *boot, const struct hx_env *env, const struct hx_job *job, int emulated,
                              const unsigned char secret[HX_SECRET_BYTES], void (*has)(struct hx_shared *), struct hx_failure *failure);
    void (*leave)(struct hx_shared *shared);
};
extern const struct hx_node_ops hx_node_segment;

/* Choosing a plan. hier/planner.c. */
struct hx_planner;
struct hx_choice {
    struct hx_plan *plan; /* the caller's reference */
    uint64_t fine_slices, coarse_slices;
    unsigned window_fine, window_coarse;
    size_t slot_bytes; /* live at once on the rank that has most */
    unsigned turns;    /* a power of two: calls of one parity go through so many parts of their bank; 0 as 1 */
    uint64_t limit;    /* as struct hx_sizes */
};
#define HX_SOURCE_BYTES 192
struct hx_predicted {
    double us; /* 0: the model does not know the plan */
    char node[HX_SOURCE_BYTES], network[HX_SOURCE_BYTES]; /* the sources of its parameters; "": the shape does not use them */
};
struct hx_planner_ops {
    hx_status_t (*open)(const struct hx_env *env, const struct hx_shape *shape, int rank, const struct hx_job *job,
                        const struct hx_net_profile *net, struct hx_planner **planner);
    hx_status_t (*choose)(struct hx_planner *planner, enum hx_coll coll, int root, struct hx_traits traits, uint64_t count,
                          uint32_t elem_bytes, struct hx_choice *choice);
    /* On one node: a rival of a plan that choose has returned for the same call, which may take less time and gives the same bits. They
     * have numbers from 0 on, the one with the least predicted time first, and after the last one comes the first again. If there is
     * none, rival->plan is NULL. The same on all ranks. */
    hx_status_t (*rival)(struct hx_planner *planner, const struct hx_plan *chosen, struct hx_traits traits, uint64_t count,
                         uint32_t elem_bytes, uint32_t number, struct hx_choice *rival);
    /* Predict the time of a call by a plan that choose has returned. Errors: HX_ERR_NOMEM. */
    hx_status_t (*predict)(struct hx_planner *planner, const struct hx_plan *plan, struct hx_traits traits, uint64_t count,
                           uint32_t elem_bytes, struct hx_predicted *predicted);
    /* An all-reduce by messages alone among n given ranks of the shape; this rank is number me. The caller owns a
     * reference. Errors: HX_ERR_NOMEM. */
    hx_status_t (*among)(const struct hx_shape *shape, int rank, const int *members, int n, int me, struct hx_plan **plan);
    /* The entries for this machine and provider (NULL: one node) of the tuning tables that HX_TABLE names, as bytes for tuning_use.
     * The caller frees them. Rank 0 alone reads. Errors: HX_ERR_ENV; the detail names the file and its fault. */
    hx_status_t (*tuning_read)(const struct hx_env *env, const char *provider, void **tuning, size_t *bytes);
    /* Use these from now on; they stay the caller's. */
    void (*tuning_use)(struct hx_planner *planner, const void *tuning, size_t bytes);
    /* quiet 1: HX_EXPLAIN leaves out what is planned from now on. */
    void (*quiet)(struct hx_planner *planner, int quiet);
    /* Add its counters. */
    void (*count)(const struct hx_planner *planner, struct hx_counters *counters);
    void (*close)(struct hx_planner *planner);
};
extern const struct hx_planner_ops hx_planner_hier;

/* The composition root, runtime/start/registry.c, binds these. */
struct hx_registry {
    const struct hx_node_ops *node;
    const struct hx_net_ops *net;
    const struct hx_planner_ops *planner;
};
extern const struct hx_registry hx_registry;
