/* SPDX-License-Identifier: BSD-3-Clause */
/* A communicator, and what all of a process share. */
#ifndef HX_API_COMM_H
#define HX_API_COMM_H
#include "runtime/bootstrap/bootstrap.h"
#include "runtime/engine/engine.h"
#include "runtime/base/error.h"
#include "runtime/ports/ports.h"
#include "runtime/bootstrap/secret.h"
#include "runtime/api/stats.h"
#include "topo/place.h"
#include "topo/ring_order.h"
#include "runtime/engine/wait.h"

/* The identity of a communicator. All members agree on it. Its contexts are number * HX_COMM_CONTEXTS and those that follow. */
struct hx_comm_id {
    uint32_t number;     /* less than HX_COMM_NUMBERS. No other open communicator of a member has it */
    uint32_t generation; /* greater than that of every earlier communicator of this number that a member was in */
    uint64_t first_call; /* calls are counted from here. Greater than all call numbers that members have used in these contexts, since flags
                          * are never reset */
};

#define HX_OPEN_BUCKETS 1024

/* What all communicators of this process have in common. */
struct hx_world {
    int rank, size; /* in the job */
    struct hx_env *env;
    struct hx_job job;
    struct hx_boot *boot;
    int held_streams; /* see streams.h */
    struct hx_shared *shared;
    struct hx_net *net; /* NULL on a single node */
    unsigned char net_key[HX_KEY_BYTES];
    struct hx_waiter waiter;
    struct hx_engine *active; /* engines with non-blocking calls under way */
    uint64_t moves;           /* steps of non-blocking calls, to tell whether any has moved */
    struct hx_comm *groups;   /* all ranks, in the contexts in which groups are created; NULL until used */
    struct hx_comm *comms;    /* all that exist, the world communicator first */
    struct hx_whereabouts *whereabouts; /* of other ranks: see whereabouts.h; NULL until used */
    struct hx_past *past;     /* communicators that had failed when they were freed, [HX_PAST], a ring: see runtime/engine/failure.h; NULL until used */
    uint64_t npast;           /* how many were entered so far */
    struct hx_comm *open[HX_OPEN_BUCKETS]; /* the communicators that the program may use: a hash table by address */
    struct hx_comm_numbers *numbers; /* see number.h */
    void *tuning;             /* for the planners; NULL: none */
    size_t tuning_bytes;
    struct hx_link *links;    /* [nodes][nodes] of rank 0, if it has had them measured; NULL */
    struct hx_trace *trace;   /* HX_TRACE; NULL: none */
    pthread_t progress_thread; /* HX_PROGRESS_THREAD */
    pthread_cond_t work;       /* active is no longer NULL, or the thread is to end */
    int has_thread, ends;
    int threads;               /* of this process: one of the program, the others of Hierax; 0: the program had more at the start, or not
                                * known */
    struct hx_stats stats;
    struct hx_distance distance; /* from the other ranks of the node */
    struct hx_shared_alloc *shared_allocs; /* of hx_alloc; see runtime/engine/shared_alloc.h */
    struct hx_peer_map **peer_maps; /* [ranks of the node] theirs that are mapped here; NULL until used */
    uint64_t shared_allocs_made;
};

extern struct hx_world *hx_world; /* NULL: Hierax is not started */

#define HX_CONCURRENT 3 /* contexts for the non-blocking calls of a communicator; those beyond wait for their turn */
_Static_assert(HX_COMM_CONTEXTS == 1 + HX_CONCURRENT, "one for blocking calls");

struct hx_comm {
    struct hx_world *world;
    struct hx_comm *next, **link; /* in world->comms: the next one, and the pointer that points here */
    struct hx_comm *below;        /* the next one in its bucket of world->open */
    int rank, size;
    int *ranks; /* [size] in the job */
    struct hx_shape *shape;
    int local_n, local_me;   /* ranks on this node; my place among them */
    int *local_ranks, *rows; /* [local_n] and their places in the segment */
    struct hx_planner *planner;
    struct hx_engine engine;                  /* of blocking calls */
    struct hx_engine *others[HX_CONCURRENT];  /* of non-blocking calls, in turn; NULL until used */
    struct hx_comm_id id;
    int freed;          /* the program has freed it: it is released with its last request */
    uint64_t started;   /* non-blocking calls */
    int requests;       /* not freed yet */
    int shared_alloc;        /* hx_alloc was called for it, and its ranks can read each other's memory: the same on all */
    void *inplace_copy;        /* what an in-place reduce-scatter or all-gather keeps apart from the caller's one buffer */
    size_t inplace_copy_bytes;
    hx_status_t failed; /* the first error that leaves ranks out of step; every later call returns it */
    char detail[HX_DETAIL_BYTES];
    char why[HX_DETAIL_BYTES]; /* what its calls fail of, from when any thread finds it to when they do; "": they go on */
};

/* What the network is taken for, as rank 0 has it; of one node a provider NULL. */
void hx_world_profile(const struct hx_world *world, struct hx_net_profile *out);

/* Make a communicator of n ranks of the job, in this order. id: as all members have agreed. */
hx_status_t hx_comm_make(struct hx_world *world, const int *ranks, int n, const struct hx_comm_id *id, struct hx_comm **comm);
/* Release everything of comm. No call may be under way. */
void hx_comm_release(struct hx_comm *comm);
/* Release comm if the program has freed it and no request is left. */
void hx_comm_let_go(struct hx_comm *comm);
/* Plan the next calls anew. No call is under way, and none is made ready. */
void hx_comm_forget_bound(struct hx_comm *comm);
/* The same with a new planner: the shape has another ring order. Errors: those of the planner. */
hx_status_t hx_comm_replan(struct hx_comm *comm);
int hx_comm_is_open(const struct hx_comm *comm);
/* May the public function of this name use it? Else HX_ERR_ARG, HX_ERR_STATE, or what it has failed with. */
hx_status_t hx_comm_check(const struct hx_comm *comm, const char *name);

/* The context of engine `which` of comm; and the prefix of match ids and flows of messages in that context. The prefix has bits bits: the
 * context, and as much of the generation as fits. The generation matters because messages of a failed communicator may arrive when another
 * one already has its number. */
static inline int hx_comm_context(const struct hx_comm *comm, int which)
{
    return (int)comm->id.number * HX_COMM_CONTEXTS + which;
}
static inline uint64_t hx_comm_prefix(const struct hx_comm *comm, int which, unsigned bits)
{
    uint64_t all = (uint64_t)comm->id.generation << HX_CONTEXT_BITS | (uint64_t)hx_comm_context(comm, which);
    return bits < 64 ? all & ((UINT64_C(1) << bits) - 1) : all;
}

/* Let comm tell this thread's last detail. Returns status. */
hx_status_t hx_comm_fail(struct hx_comm *comm, hx_status_t status);

/* A call has failed and ranks may be out of step now: every later call returns status, with the last detail. */
hx_status_t hx_comm_break(struct hx_comm *comm, hx_status_t status);

#endif
