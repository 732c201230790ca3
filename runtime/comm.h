/* SPDX-License-Identifier: BSD-3-Clause */
/* A communicator, and the tables of operations through which the runtime reaches segment, transport and planner. */
#ifndef HX_COMM_H
#define HX_COMM_H
#include "bootstrap.h"
#include "engine.h"
#include "error.h"
#include "node.h"
#include "topo/place.h"
#include "transport.h"
#include "wait.h"

/* What every rank must know alike to choose alike. Rank 0's values, sent to all at start. */
struct hx_job {
    uint64_t llc_bytes;    /* last-level cache of rank 0's node */
    double cpus_per_node;  /* usable cores of rank 0's node */
};

/* Sharing a segment with the ranks of this node. intra/join.c. */
struct hx_node_ops {
    /* Find the ranks with which this one can share memory, and share it. Makes one fence of bootstrap, whatever fails. NULL where this
     * rank shares nothing: then *failure tells why, and the ranks that share without it know too. */
    struct hx_node *(*join)(struct hx_boot *boot, const struct hx_env *env, const struct hx_job *job,
                            const unsigned char secret[HX_SECRET_BYTES], struct hx_failure *failure);
    void (*leave)(struct hx_node *node);
};
extern const struct hx_node_ops hx_node_segment;

/* Choosing a plan. hier/planner.c. */
struct hx_planner;
struct hx_choice {
    struct hx_plan *plan; /* the caller's reference */
    uint64_t fine_slices, coarse_slices;
    unsigned window_fine, window_coarse;
};
struct hx_planner_ops {
    hx_status_t (*open)(const struct hx_env *env, const struct hx_shape *shape, int rank, const struct hx_job *job,
                        const struct hx_net_profile *net, struct hx_planner **planner);
    hx_status_t (*choose)(struct hx_planner *planner, enum hx_coll coll, int root, uint64_t count, uint32_t elem_bytes,
                          struct hx_choice *choice);
    void (*close)(struct hx_planner *planner);
};
extern const struct hx_planner_ops hx_planner_hier;

/* The composition root, runtime/registry.c, binds these. */
struct hx_registry {
    const struct hx_node_ops *node;
    const struct hx_net_ops *net;
    const struct hx_planner_ops *planner;
};
extern const struct hx_registry hx_registry;

struct hx_comm {
    int rank, size;
    struct hx_shape *shape;
    struct hx_env *env;
    struct hx_job job;
    struct hx_node *node;
    struct hx_net *net; /* NULL on a single node */
    struct hx_waiter waiter;
    struct hx_engine engine;
    struct hx_planner *planner;
    struct hx_boot *boot;
    void *aside;        /* what an in-place reduce-scatter or all-gather keeps apart from the caller's one buffer */
    size_t aside_bytes;
    hx_status_t failed; /* the first error that leaves ranks out of step; every later call returns it */
    char detail[HX_DETAIL_BYTES];
};

/* A call has failed and ranks may be out of step now: every later call returns status, with the last detail. */
hx_status_t hx_comm_break(struct hx_comm *comm, hx_status_t status);

#endif
