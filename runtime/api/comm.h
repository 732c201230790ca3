/* SPDX-License-Identifier: BSD-3-Clause */
/* A communicator, and what all of a process share. */
#pragma once

#include "runtime/engine/engine.h"
#include "runtime/base/error.h"
#include "runtime/ports/ports.h"
#include "runtime/bootstrap/bootstrap.h"
#include "topo/place.h"
#include "topo/ring_order.h"
#include "runtime/engine/wait.h"

struct hx_coll_stats {
    uint64_t calls, started; /* that blocked; that did not, each start of a persistent one counted */
    /* of the vectors: see hx_planner_vector_bytes; a rank with counts of its own, of its own */
    uint64_t bytes;
    uint64_t ns, longest_ns; /* in calls that blocked */
};

struct hx_stats { /* see stats_count.c */
    struct hx_coll_stats colls[HX_COLL_COUNT]; /* with HX_STATS */
    struct hx_counters counters;               /* a world's: those of communicators that have gone */
};

struct hx_notice { /* a callback of hx_request_notify */
    hx_notify_fn_t *fn;
    void *ctx;
    hx_status_t status;
    hx_request_t *request; /* NULL: it has been released */
    struct hx_notice *next;
};

struct hx_notices { /* see notice.c */
    struct hx_notice *first, *last; /* due: their calls have ended */
    struct hx_notice *running;      /* its callback runs, in the thread teller; NULL: none runs */
    pthread_t teller;
};

/* The program's choices for a communicator. Communicators that are made from it inherit them: choices.c. */
struct hx_choices {
    int atomic;       /* hx_comm_set_atomic */
    int wire;         /* hx_comm_set_wire: 1 + index in hx_wires; 0: off */
    double timeout_s; /* hx_comm_set_timeout; HX_TIMEOUT_OF_JOB: HX_TIMEOUT */
};
#define HX_TIMEOUT_OF_JOB (-1.0)

/* One opening of Hierax: ranks that have met, and what their communicators share in this process. hx_init opens the first world;
 * hx_comm_grow and hx_join open further ones, while older ones still stand. */
struct hx_world {
    struct hx_process process;
    struct hx_world *older; /* open too, and opened before; NULL: none */
    uint64_t generation;    /* 0: of hx_init; else one more than those from which it has grown */
    struct hx_boot *boot;     /* NULL: the ranks need it no more */
    hx_status_t (*finalize)(struct hx_world *world); /* end this world; the caller does not hold the lock */
    int went_on; /* the program has gone on without ranks that died: hx_comm_shrink */
    int held_streams; /* see streams.h */
    int emulated_node; /* see struct hx_opening */
    struct hx_choices choices; /* of the communicator from which it has grown, else of the settings */
    double timeout;    /* HX_TIMEOUT, while a limit for the start is in its place */
    unsigned char net_key[HX_KEY_BYTES];
    uint32_t deaths_seen;     /* directory.c: with so many deaths its node does not lack endpoints, or this rank has become a substitute */
    uint64_t lack_since;      /* directory.c: ns: since when this rank has seen that its node lacks endpoints; 0: it does not */
    int gates_left;           /* directory.c: a substitute has yet to connect to the gates below this rank of the job */
    struct hx_comm *groups;   /* all ranks, in the contexts in which groups are created; NULL until used */
    struct hx_comm *comms;    /* all that exist, the world communicator first */
    struct hx_past *past;     /* communicators that had failed when they were freed, [HX_PAST], a ring: see failed.h; NULL until used */
    uint64_t npast;           /* how many were entered so far */
    void *open;               /* the communicators that the program may use: a tree (tsearch) by address */
    struct hx_comm_numbers *numbers; /* see number.h */
    void *tuning;             /* for the planners; NULL: none */
    size_t tuning_bytes;
    struct hx_link *links;    /* [nodes][nodes] of rank 0, if it has had them measured; NULL */
    struct hx_trace *trace;   /* HX_TRACE; NULL: none */
    pthread_t progress_thread; /* HX_PROGRESS_THREAD */
    pthread_cond_t work;       /* a call is under way, or the thread is to end */
    int has_thread, ends;
    struct hx_notices notices;
    struct hx_stats stats;
};

/* That of a process. */
static inline struct hx_world *hx_world_of(const struct hx_process *process)
{
    return (struct hx_world *)(uintptr_t)((const char *)process - offsetof(struct hx_world, process));
}

extern struct hx_world *hx_world; /* the newest one; NULL: Hierax is not started */
extern struct hx_inside hx_inside; /* see lock.h */
extern const struct hx_owner hx_world_owner;

/* Is there a callback to call, and no thread that does so? Then a wait ends for it. */
static inline int hx_notices_wait(const struct hx_world *world)
{
    return world->notices.first && !world->notices.running;
}

const char *hx_world_ended(void);     /* "Hierax ...": why there is no world any more; else NULL */
/* hx_world is written only by these. */
void hx_world_end(struct hx_world *world, const char *why); /* it cannot be used from now on; why: for calls made when it was the last one */
int hx_world_is_parents(void);       /* in a child made by fork: only its parent can use Hierax */
void hx_world_begin(struct hx_world *world); /* it can be used now */
void hx_world_forget(const char *why); /* in a child made by fork: there is no world any more; NULL: there was none */
/* Held while hx_world is written. hx_abort may run while another thread is in hx_init or hx_finalize; it takes this lock and keeps it. */
extern pthread_mutex_t hx_world_change;

#define HX_CONCURRENT 3 /* contexts for the non-blocking calls of a communicator; those beyond wait for their turn */
_Static_assert(HX_COMM_CONTEXTS == 1 + HX_CONCURRENT, "one for blocking calls");

struct hx_undo { /* the input of a call in place: see undo.c */
    void *memory;
    size_t room; /* bytes */
    int is_kept;
};

struct hx_commits { /* calls that have not committed, in the order in which they were made: see commit.c */
    struct hx_request *first, *last;
    int over; /* all members know that the communicator has failed */
};

struct hx_comm {
    struct hx_members members; /* first: see hx_comm_of */
    struct hx_world *world;
    struct hx_comm *next, **link; /* in world->comms: the next one, and the pointer that points here */
    struct hx_engine engine;                  /* of blocking calls */
    struct hx_engine *others[HX_CONCURRENT];  /* of non-blocking calls, in turn; NULL until used */
    int freed;          /* the program has freed it: it is released with its last request */
    uint64_t started;   /* non-blocking calls */
    int requests;       /* not freed yet */
    uint32_t revocations_seen; /* see hx_failure_revoked */
    int messages;       /* threads in hx_send and hx_recv */
    int meetings;       /* threads in hx_comm_agree, hx_comm_shrink, hx_comm_grow and hx_comm_wait_size */
    struct hx_recording *group; /* calls are recorded in it: see group.c; NULL: none */
    uint64_t completed; /* blocking calls of the program that have succeeded: see hx_comm_agree */
    struct hx_choices choices; /* hx_comm_choose sets the next two from them, also wire and the time-out of members */
    int atomic;         /* calls are atomic; never in a communicator of one rank */
    int detours;        /* atomic is set, or a group is open: no call takes the short way */
    struct hx_undo undo; /* of calls that block; empty while one of them has it */
    struct hx_commits commits;
    HX_CALL_MANNER; /* shared_alloc: hx_alloc was called for it, and its ranks can read each other's memory: the same on all */
    void *inplace_copy;        /* the copy of an in-place call: see enum hx_inplace_copy */
    size_t inplace_copy_bytes;
    struct hx_short_blocks {   /* short_blocks.c: of gatherv, and of scatterv */
        int calls;             /* so many from now on send blocks */
        size_t bytes;          /* of this length */
    } short_blocks[2];
};

/* That of an engine. */
static inline struct hx_comm *hx_comm_of(const struct hx_engine *engine)
{
    return (struct hx_comm *)(void *)engine->members;
}

/* The counters of this process, now. */
void hx_counters_read(const struct hx_world *world, struct hx_counters *counters);
/* Add comm's counters to those of the world, before comm is released. */
void hx_counters_keep(struct hx_comm *comm);

/* The profile of rank 0's network, which all ranks use. If the job has one node, the provider is NULL. */
void hx_world_profile(const struct hx_world *world, struct hx_net_profile *out);

/* The choices that the settings of the job make. */
struct hx_choices hx_choices_of_job(const struct hx_env *env);
/* Set all choices of comm, for its later calls. */
void hx_comm_choose(struct hx_comm *comm, struct hx_choices choices);
/* Give made all choices of the communicator from which it is made. */
void hx_comm_inherit(struct hx_comm *made, const struct hx_comm *parent);
/* Make a communicator of n ranks of the job, in this order. id: as all members have agreed. */
hx_status_t hx_comm_make(struct hx_world *world, const int *ranks, int n, const struct hx_comm_id *id, struct hx_comm **comm);
/* comm_create.c. The checks that all have in common which create a communicator; *out becomes NULL. */
hx_status_t hx_comm_create_check(const char *name, struct hx_comm *comm, hx_comm_t **out);
/* Create one of all ranks of the parent, in their order. Collective. */
hx_status_t hx_comm_create_all(const char *name, enum hx_purpose purpose, hx_comm_t *parent, hx_comm_t **out);
/* Release everything of comm. No call may be under way. */
void hx_comm_release(struct hx_comm *comm);
/* Release comm if the program has freed it and no request is left. */
void hx_comm_let_go(struct hx_comm *comm);
/* Plan the next calls again. No call is under way, and none is made ready. */
void hx_comm_forget_bound(struct hx_comm *comm);
/* The same with a new planner: the shape has another ring order. Errors: those of the planner. */
hx_status_t hx_comm_replan(struct hx_comm *comm);
/* show: the program may use comm; returns 0 if there is no memory. hide: it may no longer; hide may be called more than once. */
int hx_comm_show(struct hx_comm *comm);
void hx_comm_hide(const struct hx_comm *comm);
int hx_comm_is_open(const struct hx_comm *comm);
/* Is it open, for the public function of this name? Else HX_ERR_ARG or HX_ERR_STATE. */
/* HX_ERR_STATE if a thread is in a call of members that meet, which hx_comm_free and hx_finalize would leave without a communicator. */
hx_status_t hx_meetings_refuse(struct hx_comm *comm, const char *name);
hx_status_t hx_comm_check_open(const struct hx_comm *comm, const char *name);
/* May the public function of this name use it? Else HX_ERR_ARG, HX_ERR_STATE, or what it has failed with. */
hx_status_t hx_comm_check(struct hx_comm *comm, const char *name);

/* Let comm tell this thread's last detail. Returns status. */
hx_status_t hx_comm_fail(struct hx_comm *comm, hx_status_t status);

/* A call has failed and ranks may be out of step now: every later call returns status, with the last detail. */
hx_status_t hx_comm_break(struct hx_comm *comm, hx_status_t status);
