/* SPDX-License-Identifier: BSD-3-Clause */
/* Start-up: from a launcher's environment to a connected world communicator, and back. */
#pragma once

#include "runtime/api/comm.h"

/* How a world is opened. */
struct hx_opening {
    const hx_config_t *config; /* hx_init's, or NULL */
    struct hx_boot *boot;      /* how its ranks meet, and then the world's; NULL: find the launcher */
    const struct hx_comm *from; /* the communicator that grows: the world gets its settings and choices; NULL: the settings come from the
                                 * environment, the choices from rank 0 */
    uint64_t generation;       /* 0: of hx_init */
    int node;                  /* with HX_NODES and generation > 0: which emulated node this rank is on */
    double seconds;            /* rank 0: until hx_world_started, waits end after this time instead of HX_TIMEOUT; 0: HX_TIMEOUT */
    int culprit;               /* afterwards: the rank that could not start, -1: not known */
};

/* Up to the world communicator. */
hx_status_t hx_world_open(struct hx_opening *how, struct hx_world **world);
/* Its start is over: from now on waits end after HX_TIMEOUT, and the world communicator has its choices. */
void hx_world_started(struct hx_world *world);
/* Also share what all ranks need, and let the program use it: *out, the world communicator. init.c. */
hx_status_t hx_world_begin_open(struct hx_opening *how, hx_comm_t **out);
/* Rank 0 reads HX_TABLE, and all ranks use it. Collective; the world communicator is ready for calls. */
hx_status_t hx_tuning_share(struct hx_world *world);
/* Unless HX_CONSTANTS is set, two ranks measure the network, and all ranks use what rank 0 has found. Collective, as before. Errors:
 * HX_ERR_NOMEM, and those of the calls that measure. net_measure.c. */
hx_status_t hx_net_constants_share(struct hx_world *world);
/* The job's nodes are in groups as HX_NODE_GROUPS says. Collective, as before. Errors: HX_ERR_ENV, HX_ERR_NOMEM. */
hx_status_t hx_node_groups_share(struct hx_world *world);
/* Let rings pass the nodes as HX_RING_ORDER says: read, or measured by the nodes' leaders. Collective, as before.
 * Errors: HX_ERR_ENV, HX_ERR_NOMEM, and those of the calls that measure. */
hx_status_t hx_ring_order_share(struct hx_world *world);
void hx_world_close(struct hx_world *world, int orderly);
struct hx_net_seat hx_world_seat(const struct hx_world *world); /* once the ranks of the node have met */

struct hx_node_facts { /* the first part of the value that a node's leader puts at fence 3 */
    int32_t ranks;         /* 0: a failure follows instead */
    int32_t single_copy;   /* they can read each other's memory */
    int32_t milli_per_cpu; /* ranks per 1000 usable cores */
};

struct hx_rank_head { /* then of each of its ranks; its address follows. At the end of rank 0's value: struct hx_constants */
    int32_t rank, address_bytes;
    int16_t place[HX_SHAPE_LEVELS], unused;
};

/* Likewise: ranks that share this machine's cores, per usable core. */
double hx_world_ranks_per_cpu(const struct hx_world *world, const struct hx_place *place);

/* constants_find.c: the first rank of rank 0's node leaves the constants of that node in job.constants; the second helps to measure them. All
 * ranks of all nodes may call it. Afterwards fence 3 hands them out. fit: this rank can start so far. */
void hx_constants_settle(struct hx_world *world, const struct hx_place *place, int fit);

/* exchange.c: fence 3. Leaves in *failure what any rank has failed in; an error of the fence itself is returned. */
hx_status_t hx_world_exchange(struct hx_world *world, const struct hx_place *place, struct hx_failure *failure);

/* directory.c: does this rank of a node of n ranks open its network endpoints at start? */
int hx_opens_at_start(const struct hx_env *env, int local, int n);
struct hx_net_directory hx_directory_of(struct hx_world *world);
void hx_directory_leave(struct hx_world *world); /* at the end: if this rank has no endpoint yet, other ranks learn that it never will */

/* job_facts.c: rank 0 puts the job's facts and settings before the first fence; after it every rank gets them. seconds: as in struct hx_opening.
 * choices: of rank 0's world communicator.
 * Errors: HX_ERR_NOMEM, HX_ERR_ENV, and those of the bootstrap; HX_ERR_BOOTSTRAP where rank 0 runs another version. */
hx_status_t hx_job_put(struct hx_boot *boot, const struct hx_env *env, const struct hx_place *place, double seconds,
                       const struct hx_choices *choices);
hx_status_t hx_job_get(struct hx_boot *boot, struct hx_env *env, struct hx_job *job,
                       unsigned char secret[HX_SECRET_BYTES], double *seconds, struct hx_choices *choices);

/* HX_PROGRESS_THREAD: a thread that makes progress on non-blocking calls while no other thread is inside Hierax. */
void hx_progress_thread_start(struct hx_world *world);
void hx_progress_thread_end(struct hx_world *world);
/* progress_thread.c: is HX_PROGRESS_CORE what this process may use? Else HX_ERR_ENV. */
hx_status_t hx_progress_core_check(const struct hx_env *env, const struct hx_topo *topo);

/* stats_report.c, HX_STATS: before the last barrier; all ranks make it. Rank 0 tells the sums; with 2 every rank its own as well. */
void hx_stats_tell(struct hx_world *world, int failed);

/* trace_job.c: make ready what HX_TRACE asks for, before the ranks have met: world->trace. Errors: HX_ERR_ENV where the file cannot be
 * written, HX_ERR_NOMEM. */
hx_status_t hx_trace_prepare(struct hx_world *world);
/* Align the clocks and begin to record; collective. Does nothing without HX_TRACE. */
hx_status_t hx_trace_begin(struct hx_world *world);
/* Record no more; when all ranks come here in order, align the clocks again. Then write the file. */
void hx_trace_end(struct hx_world *world, int orderly);
void hx_trace_release(struct hx_world *world);

/* All ranks fail for the same reason, and hold their errors (error.h). Rank 0 reports it. The others give rank 0 a moment before they
 * return, because launchers end a job when one of its ranks ends. */
void hx_alike_tell(const struct hx_world *world);
