/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A shape: which rank lives on which node. This is all that plans know of the machine.
 *
 *   ranks 0 1 2 3 4 5   nodes 3,1,2 in block placement:   node 0: 0 1 2   node 1: 3   node 2: 4 5
 *                                  cyclic placement:      node 0: 0 3 5   node 1: 1   node 2: 2 4
 *
 * A node may have any number of ranks, in any order. Nodes are numbered by their lowest rank; the local rank is the position among
 * the node's ranks in rank order. Pure data: nothing here reads the hardware.
 *
 * Nodes may have levels (sockets, NUMA nodes, last-level caches). Each level divides the ranks of a node into domains, within the
 * domains of the level around it. A level is dropped if it equals the level around it, or if no node has several domains, one with
 * several ranks.
 *
 *   one node, 8/2/2:   level 0:  0 1 2 3 | 4 5 6 7      level 1:  0 1 | 2 3 | 4 5 | 6 7
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HX_SHAPE_LEVELS 3

struct hx_shape {
    int nranks, nnodes;
    int max_local;   /* ranks on the fullest node */
    int min_local;   /* ranks on the emptiest node */
    int in_order;    /* every node holds a run of ranks */
    int *node_of;    /* [nranks] node of rank */
    int *local_of;   /* [nranks] local rank of rank */
    int *node_start; /* [nnodes + 1] first index into members of each node */
    int *members;    /* [nranks] ranks, node by node, in rank order within a node */
    int *ring;       /* [nnodes] nodes in the order in which rings pass them; NULL: by number */
    int ngroups;     /* of nodes, with an uplink each, as racks; numbered as in the job, so a communicator may have none of some */
    int *group_of;   /* [nnodes] group of node; NULL: all nodes are in one */
    int nlevels;     /* inside the nodes */
    int most_domains[HX_SHAPE_LEVELS]; /* most domains of a node, at each level */
    int *domain_of;  /* [nlevels][nranks] domain of rank at each level, outermost first, by lowest rank; NULL: no levels */
    uint64_t hash;   /* equal for equal shapes */
};

#define HX_TOPO_ERROR_BYTES 256

/* From the node id of each rank (any ids). NULL: no memory, or nranks < 1. */
struct hx_shape *hx_shape_from_nodes(const int *node_id, int nranks);

/* From text: "4,4,3" (ranks per node), "33x1" (33 nodes of 1), "4x96,2x95". "2x96/2" divides each node into two domains,
 * "2x96/2/12" each of these into twelve, in rank order and as evenly as possible. Optional suffix: ":block" (default) or ":cyclic"
 * placement. NULL with a message in error that names the text and what is expected. */
struct hx_shape *hx_shape_parse(const char *text, char error[HX_TOPO_ERROR_BYTES]);

/* The shape that HX_NODES describes for nranks ranks. text is a number of nodes, which get the ranks in order and as evenly as
 * possible, or a text as above. NULL with a message in error, which does not repeat the text. */
struct hx_shape *hx_shape_emulate(const char *text, int nranks, char error[HX_TOPO_ERROR_BYTES]);

/* The shortest text that hx_shape_parse reads as the same node sizes ("3,1,2", "4x96"), without levels. Returns as snprintf. */
int hx_shape_format(const struct hx_shape *shape, char *text, size_t capacity_bytes);

/* Covers node_of, and nlevels levels of domains. */
uint64_t hx_shape_hash(const struct hx_shape *shape, const int *domain_of);

/* Set the levels. Rank r is in the domains ids[r * depth] (outermost level) to ids[r * depth + depth - 1]; any ids, depth at most
 * HX_SHAPE_LEVELS. A negative id: the rank spans several domains, so that level does not divide its node. -1: no memory. */
int hx_shape_set_levels(struct hx_shape *shape, const int *ids, int depth);

/* Does each domain hold consecutive ranks of its node, at every level? */
int hx_shape_levels_in_order(const struct hx_shape *shape);

static inline int hx_shape_domain(const struct hx_shape *s, int level, int rank)
{
    return s->domain_of[(size_t)level * (size_t)s->nranks + (size_t)rank];
}

/* Rings pass the nodes in this order from now on; it holds each node once. -1: no memory. */
int hx_shape_set_ring(struct hx_shape *shape, const int *order);

/* The nodes are in these groups from now on: numbers from 0. -1: no memory. */
int hx_shape_set_groups(struct hx_shape *shape, const int *group_of);

/* Take the ring order and the groups of whole, if it has them: ranks[i] of whole is rank i of shape. -1: no memory. */
int hx_shape_inherit(struct hx_shape *shape, const struct hx_shape *whole, const int *ranks);

void hx_shape_free(struct hx_shape *shape);

/* Does every node hold consecutive ranks, so that members are the ranks in order? */
static inline int hx_shape_is_in_order(const struct hx_shape *shape)
{
    return shape->in_order;
}

static inline int hx_shape_node_size(const struct hx_shape *s, int node)
{
    return s->node_start[node + 1] - s->node_start[node];
}

static inline int hx_shape_member(const struct hx_shape *s, int node, int local)
{
    return s->members[s->node_start[node] + local];
}

/* The node that rings pass as number i. */
static inline int hx_shape_ring_node(const struct hx_shape *s, int i)
{
    return s->ring ? s->ring[i] : i;
}
