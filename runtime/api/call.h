/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls as the public functions make them, and requests: calls that do not block, or that are made again and again.
 *
 * A communicator's non-blocking calls take its other engines in turn, in the order in which they are started, which is
 * the same on all ranks; each engine runs its calls one after the other. They move when any function of Hierax is
 * called.
 */
#pragma once

#include "runtime/api/comm.h"
#include "runtime/engine/p2p.h"

/* The fault in a call's arguments. hx_call_check reports it. */
enum hx_call_fault {
    HX_FAULT_NONE,
    HX_FAULT_COUNTS_NULL,
    HX_FAULT_COUNT,    /* said_count is not this rank's entry of counts */
    HX_FAULT_IN_NULL,  /* and this rank gives something, if the count is not 0 */
    HX_FAULT_OUT_NULL, /* and it gets something, if the count is not 0 */
    HX_FAULT_IN_PLACE  /* HX_IN_PLACE where it must not be, if the count is not 0 */
};

/* One call of one rank. */
struct hx_call {
    const char *name; /* of the public function */
    struct hx_comm *comm;
    struct hx_call_key key;
    const void *in;        /* as the engine gets them, but where inplace_copy says otherwise */
    void *out;
    enum hx_call_fault fault;
    size_t said_count; /* this rank's own, where the call names it beside those of all ranks */
    /* In place, a reduce-scatter's result and the arriving blocks of an all-gather or all-to-all would lie over input
     * that later slices still read. So the smaller side is copied; of an all-to-all with counts only the blocks, for what lies between
     * them is not ours. (An all-reduce needs no copy: the checker proves its plans with one buffer.) */
    enum hx_inplace_copy { HX_INPLACE_COPY_NOTHING, HX_INPLACE_COPY_IN, HX_INPLACE_COPY_BLOCKS, HX_INPLACE_COPY_OUT } inplace_copy;
    size_t inplace_copy_bytes;
    void *inplace_copy_at; /* IN: copied from here before; OUT: copied to here afterwards; NULL: the copy is discarded */
    struct hx_pair_counts pair_counts; /* the caller's arrays, of a collective that has it */
    int keeps_counts;    /* they last no longer than the public function: a request has a copy of its own, */
    size_t *kept_counts; /* here; else NULL */
    void *memory; /* of inplace_copy_bytes: for the copy */
    int root_knows; /* ranks know only their own said_count, the root all: root_counts.c */
    const size_t *root_counts, *root_displs; /* NULL elsewhere */
    size_t *counts; /* [size] as the sending side says; NULL: the call has no counts */
    int counted;    /* counts are complete */
    const struct hx_p2p_call *message; /* a message between two ranks (message.c), whose parts set by the caller these are; NULL: a collective */
    void *scrap;    /* receives the data if this rank expects other lengths; NULL: the lengths match */
};

enum hx_commit { HX_COMMIT_NONE, HX_COMMIT_RUNS, HX_COMMIT_RAN, HX_COMMIT_OPEN }; /* commit.c */

enum hx_request_state { HX_REQUEST_INACTIVE, HX_REQUEST_ACTIVE, HX_REQUEST_DONE, HX_REQUEST_RELEASED };

struct hx_request {
    struct hx_call call;
    int persistent;
    enum hx_request_state state;
    int held; /* functions that wait for it or test it now: it is not released until they return */
    hx_status_t status; /* once done */
    uint64_t since;     /* HX_TRACE: when it was started */
    struct hx_notice *notice; /* until its callback has returned, or NULL. As long as that the request is active */
    struct hx_request *group; /* it is a part of this one, and only Hierax knows it; or NULL */
    struct hx_pack *pack;     /* its calls, if it is such a part */
    int parts;                /* of a group: under way */
    struct hx_request *ended; /* of a group that commits: its parts that have ended, a list by next */
    int fd;             /* eventfd: readable when it is done; -1: none */
    struct hx_engine *engine; /* on which it was started last; good while it is active */
    struct hx_request *next;  /* of its engine, in order */
    struct hx_p2p_call *message; /* NULL: the call is a collective */
    int blocks;                  /* it stands for a call that blocks (atomic.c) */
    int is_mark;                 /* it stands for no call: all before it have committed when its turn comes */
    enum hx_commit commit;
    struct hx_request *next_commit;
    struct hx_undo undo;
};

/* How a public function is meant. */
enum hx_mode { HX_BLOCKING, HX_NONBLOCKING, HX_PERSISTENT };

/* Check the call, then run it, start it, or keep it. request: for all but HX_BLOCKING. */
hx_status_t hx_call_do(struct hx_call *call, enum hx_mode mode, hx_request_t **request);
/* The same, for a thread that comes from outside. */
hx_status_t hx_call_make(struct hx_call *call, enum hx_mode mode, hx_request_t **request);

/* A blocking call of the program has ended so. */
static inline hx_status_t hx_call_counted(struct hx_comm *comm, hx_status_t status)
{
    if (status == HX_SUCCESS)
        comm->completed++;
    return status;
}

/* atomic.c. A call that is right, with HX_ATOMIC: run it by this function. */
hx_status_t hx_call_atomic(struct hx_call *call, hx_status_t (*run)(struct hx_call *call));
/* undo.c. Keep what the call may overwrite of its input, and bring it back. Errors, after hx_fail: HX_ERR_NOMEM. */
hx_status_t hx_undo_keep(struct hx_undo *undo, const struct hx_call *call);
void hx_undo_restore(const struct hx_undo *undo, const struct hx_call *call);

/* A call that is a part of the public function of this name. */
static inline hx_status_t hx_call_inner(const char *name, struct hx_comm *comm, struct hx_call_key key, const void *in, void *out)
{
    return hx_call_do(&(struct hx_call){.name = name, .comm = comm, .key = key, .in = in, .out = out}, HX_BLOCKING, NULL);
}

/* The kind of a call that is made now. */
static inline struct hx_call_key hx_call_key_on(const struct hx_comm *comm, struct hx_call_key key)
{
    key.manner = comm->manner;
    return key;
}

/* The plan of a call that hx_call_check would find nothing wrong with: the like of it has been bound. Else NULL. Always inline, because each
 * small call would otherwise copy its key. */
__attribute__((always_inline)) static inline struct hx_bound *hx_call_known(struct hx_comm *comm, struct hx_call_key key)
{
    if (!hx_world || !comm || comm->members.failed || comm->engine.running != HX_IDLE || comm->world->notices.running || comm->detours)
        return NULL;
    return hx_bound_find(&comm->engine, hx_call_key_on(comm, key));
}

/* Is a barrier due before such a call, which does not await all? The same on all ranks. */
static inline int hx_call_is_ahead(const struct hx_engine *engine, const struct hx_call_key *key)
{
    return !hx_call_key_awaits_all(key) && engine->process->net && engine->ahead >= HX_CALLS_AHEAD;
}

/* Return when no blocking call of another thread is under way: then this thread's is the next one. Errors: the
 * communicator has failed. */
hx_status_t hx_engine_await(struct hx_engine *engine);
void hx_engine_leave(struct hx_engine *engine); /* before it is freed: until no other thread is in hx_engine_await any more */

/* Make progress on calls, also on those of other worlds. Returns a positive number if the network had events, a negative one if it has failed. */
int hx_progress_all(struct hx_process *process);
/* The progress thread has looked, with so many events of the network; and, from time to time: have calls failed, or lasted too long?
 * Those with a callback or descriptor: no thread may be waiting for them. */
void hx_requests_look(const struct hx_process *process, int events);
void hx_requests_check(const struct hx_process *process);
/* Make progress on all non-blocking calls of this process, its other worlds included. */
void hx_requests_progress(struct hx_process *process);

/* HX_SUCCESS, or the error in the call's arguments. The communicator keeps the detail. */
hx_status_t hx_call_check(const struct hx_call *call);
/* Of a communicator that can be used: are the pair counts of a call that has them right? Looked at in each call: its like may have
 * been bound, with other arrays. */
hx_status_t hx_call_check_pair_counts(const struct hx_call *call);
/* pair_counts.c. A call of the public function of this name. It is not checked yet. */
struct hx_call hx_call_of_pairs(const char *name, hx_comm_t *comm, const void *in, void *out, hx_dtype_t dtype, struct hx_pair_counts pairs);
/* Are there n > 0 counts, all of them 0? Then the buffer may be NULL. */
int hx_counts_are_0(const size_t *counts, int n);
/* Copy the caller's arrays to kept_counts. Errors: HX_ERR_NOMEM. */
hx_status_t hx_pair_counts_keep(struct hx_call *call);
/* Data goes along the edges of this graph. NULL: no graph. */
static inline const struct hx_graph *hx_call_graph(const struct hx_call *call)
{
    return call->key.purpose == HX_FOR_NEIGHBORS ? call->comm->members.graph : NULL;
}
/* Check the arguments other than the buffers: root, and that the bytes fit an address space. Element type and operation are already
 * checked. */
hx_status_t hx_call_check_kind(const struct hx_call *call);

/* HX_CHECK: in and out of a call that is right otherwise do not overlap. */
hx_status_t hx_call_check_overlap(const struct hx_call *call);

/* Likewise of a call whose counts only the root knows. */
hx_status_t hx_root_counts_check(const struct hx_call *call);
hx_status_t hx_root_counts_open(struct hx_call *call);
void hx_root_counts_close(struct hx_call *call);
/* The call that sends the counts to all, unless there is only one rank; then, once: make it the call proper. */
struct hx_call hx_root_counts_call(const struct hx_call *call);
hx_status_t hx_root_counts_apply(struct hx_call *call);
/* At its end: had this rank expected other lengths? */
hx_status_t hx_root_counts_compare(const struct hx_call *call);
/* If this rank receives: the first rank whose count differs from what this rank expects. Else -1. */
int hx_root_counts_differing(const struct hx_call *call);
/* Does this call send blocks of one length, instead of asking for counts? */
int hx_short_blocks_fit(const struct hx_call *call);
/* The blocking call that does. */
hx_status_t hx_short_blocks_run(struct hx_call *call);
/* After a call that has exchanged counts: do the next ones need that? The same on all ranks. */
void hx_short_blocks_expect(const struct hx_call *call);
/* Run a blocking call that is right, now that the engine is free. */
hx_status_t hx_call_run(struct hx_call *call);
/* The elements that this rank says the call is about, for the trace. */
uint64_t hx_call_amount(const struct hx_call *call);
/* The only rank's result is its input; in place nothing is copied. */
hx_status_t hx_call_alone(struct hx_call *call);
/* The in-place copy: before the call, and afterwards. */
void *hx_inplace_copy_new(size_t bytes); /* aligned as any element may want it; NULL: no memory */
hx_status_t hx_inplace_copy_reserve(struct hx_call *call); /* that of the communicator's blocking calls */
void hx_inplace_copy_begin(const struct hx_call *call, const void **in, void **out);
void hx_inplace_copy_end(const struct hx_call *call);
/* HX_INPLACE_COPY_BLOCKS: they stand behind so many bytes with their displacements, which thus live as long as they do. */
static inline size_t hx_inplace_copy_head_bytes(int ranks)
{
    return ((size_t)ranks * sizeof(size_t) + 63) & ~(size_t)63; /* aligned as the memory */
}
/* The pair counts of a call that has them, when hx_inplace_copy_begin has been called. */
struct hx_pair_counts hx_call_pair_counts(const struct hx_call *call);

/* The part of a call that an engine runs next. */
struct hx_prepared {
    struct hx_bound *bound;
    const void *in;
    void *out;
};
/* Prepare the next part of a call that is right: a barrier or the counts, when they are due, and then itself. engine->part tells which.
 * next->bound: as hx_call_known has found it, else NULL. */
hx_status_t hx_call_prepare(struct hx_engine *engine, const struct hx_call *call, struct hx_prepared *next);
/* The part has run: was it the last one? Then *status is what the call has ended with. */
int hx_call_has_ended(const struct hx_engine *engine, struct hx_call *call, hx_status_t *status);

/* The engine of comm's next non-blocking call. NULL after hx_fail: no memory for it. */
struct hx_engine *hx_engine_next(struct hx_comm *comm);

/* Let go of a handle of user_table.h where a call of engine ends. If the handle has been freed meanwhile, the plan serves no new call. */
void hx_user_leave(struct hx_engine *engine, unsigned handle);

/* For the public function of this name: HX_ERR_ARG, HX_ERR_STATE or HX_SUCCESS. */
hx_status_t hx_request_check(hx_request_t *request, const char *name);
hx_status_t hx_request_start(hx_request_t *request);
/* request_memory.c. The contents of a new request are undefined. NULL: no memory. */
hx_request_t *hx_request_alloc(void);
void hx_request_retire(hx_request_t *request);
/* HX_ERR_STATE if the request has been released. The request may be any that Hierax has returned. */
hx_status_t hx_request_released(const hx_request_t *request, const char *name);
hx_status_t hx_request_wait(hx_request_t *request);
void hx_request_release(hx_request_t *request);
hx_status_t hx_request_new(const struct hx_call *call, int persistent, hx_request_t **request);
/* The communicator has failed: all that it has started ends with its error. */
void hx_requests_fail(struct hx_comm *comm);
/* The engine is about to go. */
void hx_requests_forget(struct hx_engine *engine);
/* Requests of comm that are under way. */
int hx_requests_active(const struct hx_comm *comm);

/* notice.c. Call the callbacks that are due, unless a thread does so already. Takes the lock if the process has several threads. */
void hx_notices_tell(struct hx_world *world);
/* The call of this request has ended. */
void hx_notice_due(hx_request_t *request, hx_status_t status);
/* Is this thread in the request's own callback? */
int hx_notice_is_told(const hx_request_t *request);
/* In the request's own callback the request is done. */
void hx_notice_settle(hx_request_t *request);
/* The request is about to be released. */
void hx_notice_detach(hx_request_t *request);
/* HX_ERR_STATE in a callback: the function of this name would block. Else HX_SUCCESS. */
hx_status_t hx_notice_refuse(const char *name);
/* Its descriptor, if it has one: the request is done, started, about to be released. */
void hx_request_done(hx_request_t *request);
void hx_request_fd_clear(const hx_request_t *request);
void hx_request_fd_close(const hx_request_t *request);
/* request_queue.c. The run of the request has ended. engine: where it has run. */
void hx_request_end(struct hx_request *request, const struct hx_engine *engine, hx_status_t status);
/* The request has ended, with this status: its callback is due, or it is done. */
void hx_request_settle(struct hx_request *request, hx_status_t status);

/* message.c. Start the message of a request, which is active already. */
void hx_message_start(struct hx_request *request);
/* Start n messages and wait until all have ended. Returns the first error. An error ends the others too, if the communicator fails. */
hx_status_t hx_messages_run(struct hx_comm *comm, struct hx_p2p_call *calls, int n);
/* A message has waited long: does it end with an error? (the function slow of struct hx_wait) */
void hx_message_stall(struct hx_p2p_call *message);
/* A message that was looked for has not arrived: will it never? Then the communicator fails. Set by the caller: what hx_p2p_start needs of a
 * receive, and peer. */
hx_status_t hx_message_probe(struct hx_p2p_call *probe);
/* It has waited longer than HX_TIMEOUT: its communicator fails. */
void hx_message_late(struct hx_p2p_call *message);
/* Make progress on messages of comm. If the network has failed, comm fails. */
void hx_messages_progress(struct hx_comm *comm);
/* Messages of comm that have not ended. */
int hx_messages_active(const struct hx_comm *comm);

/* Is there something for a progress thread to do? */
static inline int hx_calls_are_active(const struct hx_process *process)
{
    return process->active || (process->p2p && process->p2p->all);
}

/* Check an element type alone. Errors: HX_ERR_ARG. */
hx_status_t hx_dtype_check(const char *name, hx_dtype_t dtype);

/* group.c. Record a call that is right. */
hx_status_t hx_group_record(const struct hx_call *call, enum hx_mode mode);
/* HX_ERR_STATE: the function of this name cannot be called while a group is open. Else HX_SUCCESS. */
hx_status_t hx_group_refuse(struct hx_comm *comm, const char *name);
/* Forget what is recorded, and the group. */
void hx_group_drop(struct hx_comm *comm);
/* The part of a group has ended: release it, or keep it until the group commits. */
void hx_group_part_end(hx_request_t *part, hx_status_t status);
/* The group has committed (HX_SUCCESS) or is undone. */
void hx_group_settle(hx_request_t *group, hx_status_t status);
struct hx_engine *hx_group_engine(const hx_request_t *group);

/* blocks.c. The blocks of these arrays, for a call's key; *count: the longest block. */
struct hx_blocks hx_blocks_of(const size_t *counts, const size_t *displs, int n, uint64_t *count);
/* Blocks of all ranks neither overlap (apart) nor reach beyond what an address space holds; else the detail tells which does.
 * prefix: of the names of counts and displs, which have n entries. */
hx_status_t hx_blocks_check(const struct hx_call *call, const char *prefix, int n, const size_t *counts, const size_t *displs, int apart);

/* trace_write.c, HX_TRACE. A non-blocking call has ended. engine: where it has run. */
void hx_trace_background(const struct hx_request *request, const struct hx_engine *engine, hx_status_t status);
/* Write all there is, what is under way included. Warns where that fails. Nothing if the world is not recorded. */
void hx_trace_write(const struct hx_world *world);

/* stats_count.c, HX_STATS. A blocking call that has begun then; one that does not block. */
void hx_stats_call(const struct hx_call *call, uint64_t start_ns);
void hx_stats_start(const struct hx_call *call);
