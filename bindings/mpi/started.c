/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Non-blocking calls. Each has a generalized request of MPI, which MPI_Wait and MPI_Test understand.
 *
 *   MPI_Iallreduce    calls hx_iallreduce, with ended() as its callback
 *   hxmpi_drive       calls hx_progress, which calls ended(). Then finish() unpacks the data and completes MPI's request
 *   MPI_Wait          tests MPI's request and calls hxmpi_drive, in turn (waits.c)
 */
#include "started.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

_Atomic int hxmpi_outstanding;
int hxmpi_always;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct hxmpi_started *first, *last; /* calls that are not finished, in the order of their start */
static unsigned long numbers;
static int is_ending; /* MPI_Finalize has begun */
static _Atomic(struct hxmpi_started *) ended_ones; /* complete in Hierax; finish() has yet to run. A list by next_ended */

/* ---- datatypes and operations that the program has freed while calls may still use them */

struct freed {
    MPI_Datatype type; /* or MPI_DATATYPE_NULL */
    MPI_Op op;         /* or MPI_OP_NULL */
    unsigned long number; /* of the last call that may use it */
    struct freed *next;
};
static struct freed *freed_first;
static _Atomic int freed_count;

static void free_later(MPI_Datatype type, MPI_Op op)
{
    struct freed *freed = malloc(sizeof(*freed));

    if (!freed)
        return; /* MPI's object is never freed then */
    pthread_mutex_lock(&mutex);
    *freed = (struct freed){.type = type, .op = op, .number = numbers, .next = freed_first};
    freed_first = freed;
    freed_count++;
    pthread_mutex_unlock(&mutex);
}

unsigned long hxmpi_number_next(void)
{
    pthread_mutex_lock(&mutex);
    const unsigned long number = ++numbers;
    pthread_mutex_unlock(&mutex);
    return number;
}

void hxmpi_freed_look(void)
{
    struct freed **link = &freed_first, *freed, *due = NULL;
    unsigned long prepared;

    if (!freed_count)
        return;
    prepared = hxmpi_prepared_oldest();
    pthread_mutex_lock(&mutex);
    while ((freed = *link)) {
        if ((first && first->number <= freed->number) || (prepared && prepared <= freed->number)) {
            link = &freed->next;
            continue;
        }
        *link = freed->next;
        freed->next = due;
        due = freed;
        freed_count--;
    }
    pthread_mutex_unlock(&mutex);
    while ((freed = due)) {
        due = freed->next;
        if (freed->type != MPI_DATATYPE_NULL)
            PMPI_Type_free(&freed->type);
        if (freed->op != MPI_OP_NULL)
            PMPI_Op_free(&freed->op);
        free(freed);
    }
}

static int is_derived(MPI_Datatype type)
{
    int integers, addresses, types, combiner = MPI_COMBINER_NAMED;

    return type != MPI_DATATYPE_NULL && PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner) == MPI_SUCCESS &&
           combiner != MPI_COMBINER_NAMED;
}

int MPI_Type_free(MPI_Datatype *type)
{
    if ((!hxmpi_outstanding && !hxmpi_prepared) || !type || !is_derived(*type))
        return PMPI_Type_free(type);
    free_later(*type, MPI_OP_NULL);
    *type = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}

int MPI_Op_free(MPI_Op *op)
{
    if ((!hxmpi_outstanding && !hxmpi_prepared) || !op || *op == MPI_OP_NULL)
        return PMPI_Op_free(op);
    free_later(MPI_DATATYPE_NULL, *op);
    *op = MPI_OP_NULL;
    return MPI_SUCCESS;
}

/* ---- MPI's side of a request */

static int query(void *extra, MPI_Status *status)
{
    const struct hxmpi_started *started = extra;

    PMPI_Status_set_elements(status, MPI_BYTE, 0);
    PMPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = status->MPI_TAG = MPI_UNDEFINED;
    return started->rc;
}

static int release(void *extra)
{
    free(extra);
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
    (void)extra, (void)complete;
    return MPI_SUCCESS; /* a collective cannot be cancelled */
}

int hxmpi_started_open(struct call *call, const struct hxmpi_data *data)
{
    struct hxmpi_started *started = malloc(sizeof(*started));

    if (!started)
        return 0;
    *started = (struct hxmpi_started){.call = *call, .rc = MPI_SUCCESS};
    if (data)
        started->data = *data;
    if (PMPI_Grequest_start(query, release, cancel, started, &started->mpi) != MPI_SUCCESS) {
        free(started);
        return 0;
    }
    call->started = started;
    return 1;
}

void hxmpi_started_drop(struct hxmpi_started *started)
{
    MPI_Request mpi = started->mpi;

    PMPI_Grequest_complete(mpi);
    PMPI_Request_free(&mpi); /* this calls release() */
}

/* ---- from its start to its end */

/* Hierax calls this when the call has ended, in any thread. */
static void ended(hx_status_t status, void *ctx)
{
    struct hxmpi_started *started = ctx;

    (void)status; /* hx_wait returns it again */
    started->next_ended = atomic_load_explicit(&ended_ones, memory_order_relaxed);
    /* release pairs with the acquire in hxmpi_drive, which reads next_ended */
    while (!atomic_compare_exchange_weak_explicit(&ended_ones, &started->next_ended, started, memory_order_release, memory_order_relaxed))
        ;
}

void hxmpi_started_begin(struct hxmpi_started *started, hx_status_t status)
{
    hxmpi_comm_hold(started->call.of);
    pthread_mutex_lock(&mutex);
    started->number = ++numbers;
    started->next = NULL;
    started->before = last;
    *(last ? &last->next : &first) = started;
    last = started;
    pthread_mutex_unlock(&mutex);
    atomic_fetch_add_explicit(&hxmpi_outstanding, 1, memory_order_relaxed);
    started->has_ended = 0;
    if (status == HX_SUCCESS && hx_request_notify(started->request, ended, started) == HX_SUCCESS)
        return;
    started->status = status == HX_SUCCESS ? hx_wait(started->request) : status; /* there was no memory for a callback, or the start was refused */
    started->has_ended = 1;
    ended(started->status, started);
}

/* The communicator whose error handler is meant. */
static MPI_Comm handler_of(const struct call *call)
{
    return hxmpi_comm_is_freed(call->of) ? MPI_COMM_WORLD : call->comm;
}

static void unlist(struct hxmpi_started *started)
{
    pthread_mutex_lock(&mutex);
    *(started->before ? &started->before->next : &first) = started->next;
    *(started->next ? &started->next->before : &last) = started->before;
    pthread_mutex_unlock(&mutex);
    atomic_fetch_sub_explicit(&hxmpi_outstanding, 1, memory_order_relaxed);
    hxmpi_freed_look();
}

static void finish(struct hxmpi_started *started)
{
    const struct hxmpi_comm *of = started->call.of;
    const struct hxmpi_comm ran = {.comm = started->own ? started->own : of->comm, .rank = of->rank, .size = of->size};

    if (!started->has_ended)
        started->status = hx_wait(started->request); /* it is complete, but its callback may not have returned yet */
    if (started->own) {
        hxmpi_data_store(&started->data, started->status == HX_SUCCESS);
    } else {
        hxmpi_data_close(&started->data, started->status == HX_SUCCESS);
        if (started->call.fold)
            hxmpi_fold_release(started->call.fold);
    }
    if (!is_ending)
        started->rc = hxmpi_result(handler_of(&started->call), started->status, &ran);
    else if (started->status != HX_SUCCESS) /* no error handler any more: the program has not waited for the call */
        hxmpi_say("rank %d of %d: MPI_Finalize was called before a collective was complete, and it fails: %s: %s", of->rank, of->size,
                  hx_strerror(started->status), hx_error_detail(ran.comm));
    hxmpi_comm_release(of);
    unlist(started);
    if (started->own)
        hxmpi_prepared_complete(started);
    else
        PMPI_Grequest_complete(started->mpi); /* another thread may release it now */
}

void hxmpi_drive(void)
{
    struct hxmpi_started *started;

    hx_progress();
    if (!atomic_load_explicit(&ended_ones, memory_order_relaxed))
        return;
    started = atomic_exchange_explicit(&ended_ones, NULL, memory_order_acquire); /* pairs with the release in ended() */
    while (started) {
        struct hxmpi_started *next = started->next_ended;
        finish(started);
        started = next;
    }
}

/* ---- wrong programs */

int hxmpi_started_refuses(MPI_Request request, const char *function, int *rc)
{
    MPI_Comm comm = MPI_COMM_NULL;
    char text[MPI_MAX_ERROR_STRING];

    if (!atomic_load_explicit(&hxmpi_outstanding, memory_order_relaxed) || request == MPI_REQUEST_NULL)
        return 0;
    hxmpi_drive();
    pthread_mutex_lock(&mutex);
    for (const struct hxmpi_started *started = first; started && comm == MPI_COMM_NULL; started = started->next)
        if (started->mpi == request)
            comm = handler_of(&started->call);
    pthread_mutex_unlock(&mutex);
    if (comm == MPI_COMM_NULL)
        return 0;
    snprintf(text, sizeof(text), "Hierax: %s: the collective of this request is not complete; complete it first, for example by MPI_Wait", function);
    *rc = hxmpi_error(comm, text);
    return 1;
}

/* Make progress until no call is outstanding, for some seconds at most. */
static void drive_for(double seconds)
{
    enum { STEP_NS = 50000 };

    for (double left = seconds; hxmpi_outstanding && left > 0; left -= STEP_NS * 1e-9) {
        hxmpi_drive();
        hxmpi_progress(NULL);
        nanosleep(&(struct timespec){.tv_nsec = STEP_NS}, NULL);
    }
}

void hxmpi_started_end(void)
{
    enum { PATIENCE_S = 2 }; /* other ranks may have yet to take part. Then the calls fail */

    is_ending = 1;
    drive_for(PATIENCE_S);
    for (const struct hxmpi_started *started = first; started; started = started->next)
        hx_comm_revoke(started->own ? started->own : started->call.of->comm);
    drive_for(PATIENCE_S);
}
