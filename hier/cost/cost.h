/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost model: Hockney per level (a message costs alpha + bytes / B), a CPU cost per further message, memory traffic inside the
 * node. When ranks outnumber cores: a context switch per hand-over, and between nodes the work of all ranks on the cores that there are, if
 * that takes longer. Cores that copy messages between nodes (TCP) do not add up meanwhile. If devices copy them (EFA), sums cost no
 * time of their own. If nodes are in groups (HX_NODE_GROUPS), a round takes at least the time of the bytes that leave or enter a group, over
 * its uplink. Every rank computes the same numbers from the job's facts.
 */
#pragma once

#include "hier/compose/compose.h"
#include "runtime/base/constants.h"
#include "runtime/ports/transport.h"
#include <stddef.h>

#define HX_UPLINK_TAPER 4 /* until it is known */

struct hx_uplinks;

struct hx_cost_params {
    double net_alpha_us, net_gb_s;    /* one hop between nodes, one node's link */
    double stream_gb_s;               /* the part of it that one rank can drive */
    double core_gb_s;                 /* a core's own sends and receives, as in a kernel's TCP; devices need no core */
    int copies;                       /* cores do so: they cannot add up meanwhile */
    double uplink_taper;              /* the links of a group's nodes together, in multiples of its uplink */
    double message_us;                /* CPU time of a further message in the same round */
    double intra_alpha_us;            /* a flag handed to another core */
    double intra_gb_s, reduce_gb_s;   /* one rank copying; reading n sources and writing one */
    double fetch_us, fetch_gb_s;      /* single copy: a system call; what it reads */
    double switch_us;                 /* a context switch */
    double far_gb_s;                  /* levels inside a node: what the ranks of a domain together read of other domains' memory */
    double oversubscription;          /* ranks per core, at least 1 */
    double core_cache_bytes;          /* a core's part of the last-level cache; 0: slots that outgrow its own cause no fetch */
    double own_gb_s;                  /* one rank copying within its own memory; 0: the node's constants are not measured */
    int shared_alloc;                 /* fetched data stands in memory of hx_alloc: copied without a system call */
    double least_message;             /* bytes: see hx_cost_cut, hx_cost_slices */
    struct hx_uplinks *uplinks;       /* messages counted so far; NULL: all nodes are in one group */
};

struct hx_cost {
    double intra_us, inter_us, total_us;
    double rounds;       /* messages one after the other between nodes */
    double net_bytes;    /* sent by the busiest node */
    double uplink_bytes; /* that leave or enter the busiest group of nodes, whichever is more */
};

#define HX_COARSE_SLICES_MAX 64 /* of a vector between nodes */
#define HX_COARSE_WINDOW 3     /* of them under way at once */

#define HX_AHEAD_SLICE_BYTES 65536.0
#define HX_AHEAD_SLICE_MIN_BYTES 16384.0
/* Bytes of a slice of such a vector where, on one node, a rank begins or ends alone with it while the others wait: a quarter, but none so
 * short that hand-overs show, which may be context switches. */
static inline double hx_cost_ahead_slice(const struct hx_cost_params *params, double bytes)
{
    double least = params->oversubscription > 1 ? HX_AHEAD_SLICE_BYTES : HX_AHEAD_SLICE_MIN_BYTES, slice = bytes / 4;

    slice = slice < least ? least : slice < HX_AHEAD_SLICE_BYTES ? slice : HX_AHEAD_SLICE_BYTES;
    return bytes < slice ? bytes : slice;
}

#define HX_COST_PARAMETERS 13
#define HX_COST_LEAST 1e-6 /* beyond these no machine has a parameter, and within no formula overflows */
#define HX_COST_MOST 1e6
struct hx_cost_parameter {
    const char *name;
    size_t offset; /* of a double in struct hx_cost_params */
    int net;       /* of the network, 0: of the node */
    int optional;  /* 1: a table may lack it, because its runs did not measure it */
    const char *about;
};
/* Those of the network first; the last has no name. */
extern const struct hx_cost_parameter hx_cost_parameters[HX_COST_PARAMETERS + 1];
double *hx_cost_parameter(struct hx_cost_params *params, int k);

/* Set least_message from what the network is taken for: the CPU's part in such a message is 1/16 of that of its bytes. Not from
 * fitted values: messages are cut as the provider wants them. */
#define HX_MESSAGE_PARTS 16
void hx_cost_cut(struct hx_cost_params *params);

/* Slices into which so many bytes, which an algorithm would send as one message between so many members, are cut at most: into messages
 * of least_message. In a chain or tree, where the last member waits for rounds - 1 slices to pass, as many as make that and the CPU's part in
 * all messages least, if these are more. */
double hx_cost_slices(const struct hx_cost_params *params, const struct hx_algorithm *algorithm, int members, double bytes);

/* Bytes that pass along one lane of a node, for `bytes` of the collective's vector; without lanes, a rank's own. */
double hx_cost_lane_bytes(const struct hx_shape *shape, enum hx_coll coll, int lanes, double bytes);

void hx_cost_defaults(struct hx_cost_params *params, double ranks_per_cpu);

/* constants.c: replace parameters of the node, or of the network, by the constants that are known. */
void hx_cost_constants(struct hx_cost_params *params, const struct hx_constants *constants);
void hx_cost_net(struct hx_cost_params *params, const struct hx_net_profile *net);

/* Predicted time of a candidate for `bytes` of the collective's vector (all-gather, reduce-scatter: of all blocks together). */
struct hx_cost hx_cost_of(const struct hx_cost_params *params, const struct hx_shape *shape, const struct hx_candidate *candidate,
                          double bytes);

/* A hand-over inside a node: who goes on awaits the flags of so many others, each in a line of its own. */
double hx_cost_hand_over(const struct hx_cost_params *params, double others);

/* levels.c, over n members of a node. far: the time in which a domain's ranks read other domains' memory for an algorithm.
 * levels: the stages of an algorithm by levels, each with a hand-over. */
double hx_cost_far_us(const struct hx_cost_params *params, const struct hx_shape *shape, const struct hx_algorithm *algorithm, int n,
                      double bytes);
double hx_cost_levels_us(const struct hx_cost_params *params, const struct hx_shape *shape, enum hx_coll coll, int n, int owners, double bytes);

/* The counts of p members in an algorithm that sends messages, all numbers filled in. Returns -1 for another algorithm. */
int hx_cost_counts(const struct hx_algorithm *algorithm, int p, struct hx_counts *counts);

/* uplinks.c: the messages of an algorithm between nodes, counted from its plans, each algorithm once. NULL: no memory. */
struct hx_uplinks *hx_uplinks_new(void);
void hx_uplinks_free(struct hx_uplinks *uplinks);
/* Has memory been missing? Then costs do not hold. */
int hx_uplinks_lack_memory(const struct hx_uplinks *uplinks);

struct hx_uplink { /* in vectors: multiples of what the algorithm works on */
    int nrounds;
    double *member; /* [nrounds] the busiest member sends or receives, whichever is more */
    double *group;  /* [nrounds] leave or enter a group, whichever is more, for each of its nodes; of the group with the most */
    double members; /* of all rounds together */
    double most;    /* of all rounds together leave or enter a group; of the group with the most */
};

/* Those of a candidate. If it is pipelined, all rounds are as one, because they run at the same time. If it sends more than HX_UPLINK_MESSAGES
 * it is not built: its counts then stand for it, as if members had partners anywhere, or the next one. NULL: all nodes are in one group. */
#define HX_UPLINK_MESSAGES (1 << 18)
const struct hx_uplink *hx_uplinks_of(const struct hx_cost_params *params, const struct hx_shape *shape, const struct hx_candidate *candidate);

/* How much longer its rounds take because of the uplinks, if the links of the nodes take wire_ns in all, and an uplink vector_ns for a vector of
 * each node. */
double hx_uplink_ns(const struct hx_uplink *uplink, double wire_ns, double vector_ns);
