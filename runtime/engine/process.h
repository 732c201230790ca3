/* SPDX-License-Identifier: BSD-3-Clause */
/* This process as the engine sees it: what the engines of all communicators have in common, and what they ask of their owner. */
#pragma once

#include "runtime/base/env.h"
#include "runtime/engine/wait.h"
#include "runtime/ports/ports.h"

struct hx_engine;
struct hx_p2p;
struct hx_process;
struct hx_run;

/* Functions of the public calls that the engine uses. */
struct hx_owner {
    /* Let all non-blocking calls of this process move that can, also those of its other worlds. */
    void (*pump)(struct hx_process *process);
    /* The run and its communicator have failed. Calls hx_run_cancel once others can read why. */
    void (*broken)(struct hx_run *run);
    /* Tell peer, a rank of the job on another node and of the engine's communicator, who has died and why that communicator has failed. */
    void (*tell)(const struct hx_engine *engine, int peer);
    /* Has this process freed the communicator with this number and generation? */
    int (*has_freed)(const struct hx_process *process, uint32_t number, uint32_t generation);
};

/* The time from the other ranks' caches, as a process has measured it: see shm_write.h. */
struct hx_distance {
    size_t shared_bytes; /* since it has measured last, */
    unsigned measured;   /* the how many-th time, */
    uint64_t *seen;      /* [ranks of the node] what it has read of each then; NULL until used */
    double ns;           /* for which time lines are under way, of all ranks by turns; 0: never measured */
    uint64_t far_bytes;  /* written around the caches for that reason */
};

struct hx_process {
    int rank, size; /* in the job */
    const struct hx_owner *owner;
    struct hx_env *env;
    struct hx_job job;
    struct hx_shared *shared;
    struct hx_net *net; /* NULL on a single node */
    struct hx_waiter waiter;
    struct hx_engine *active; /* engines with non-blocking calls under way */
    struct hx_trace *trace;   /* HX_TRACE: the record of this world; NULL: none */
    uint64_t moves;           /* steps of non-blocking calls, to tell whether any has moved */
    int has_others;           /* this process has other open worlds: pump makes progress on their calls too */
    int demotes;              /* it moves what it writes for other ranks to the cache that they share: see shm_write.h */
    int threads;              /* one of the program, the others of Hierax; 0: the program had more at the start, or not known */
    struct hx_whereabouts *whereabouts;     /* of other ranks: see whereabouts.h; NULL until used */
    struct hx_distance distance;            /* from the other ranks of the node */
    struct hx_shared_alloc *shared_allocs;  /* see shared_alloc.h */
    struct hx_peer_map **peer_maps;         /* [ranks of the node] allocations of other ranks, mapped here; NULL until used */
    uint64_t shared_allocs_made;
    struct hx_p2p *p2p;                     /* messages between two ranks: see p2p.h; NULL until used */
};

static inline struct hx_process *hx_process_of(const struct hx_waiter *waiter)
{
    return (struct hx_process *)(uintptr_t)((const char *)waiter - offsetof(struct hx_process, waiter));
}
