/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Persistent collectives, such as MPI_Allreduce_init. MPI's request is a persistent receive of this rank from itself:
 *
 *   MPI_Allreduce_init   hx_allreduce_init, and MPI_Recv_init of 0 bytes
 *   MPI_Start            hx_start, and MPI_Start of the receive
 *   hxmpi_drive          the call has ended: MPI_Send of 0 bytes completes the receive (started.c)
 *
 * Ranks may start the persistent collectives of a communicator in any order. So each of them has its own communicator of Hierax.
 */
#include "started.h"
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

enum { TAGS = 32768, WORD = 64 }; /* MPI guarantees so many tags. Hierax has fewer communicators */

_Atomic int hxmpi_prepared;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct hxmpi_started *newest; /* list by older */
static MPI_Comm self = MPI_COMM_NULL;
static uint64_t tags[TAGS / WORD]; /* bits: which are in use */

/* -1: all are in use. */
static int tag_take(void)
{
    for (int i = 0; i < TAGS / WORD; i++)
        if (~tags[i]) {
            const int bit = __builtin_ctzll(~tags[i]);
            tags[i] |= UINT64_C(1) << bit;
            return i * WORD + bit;
        }
    return -1;
}

static void tag_give(int tag)
{
    tags[tag / WORD] &= ~(UINT64_C(1) << tag % WORD);
}

/* Make MPI's request, with a tag of its own. Returns 0 if MPI cannot make it. */
static int receive_make(struct hxmpi_started *started)
{
    int good;

    pthread_mutex_lock(&mutex);
    if (self == MPI_COMM_NULL && PMPI_Comm_dup(MPI_COMM_SELF, &self) != MPI_SUCCESS)
        self = MPI_COMM_NULL;
    started->tag = self == MPI_COMM_NULL ? -1 : tag_take();
    good = started->tag >= 0 && PMPI_Recv_init(NULL, 0, MPI_BYTE, 0, started->tag, self, &started->mpi) == MPI_SUCCESS;
    if (started->tag >= 0 && !good)
        tag_give(started->tag);
    pthread_mutex_unlock(&mutex);
    return good;
}

/* Release the request that receive_make has made. */
static int receive_drop(struct hxmpi_started *started)
{
    const int rc = PMPI_Request_free(&started->mpi);

    pthread_mutex_lock(&mutex);
    tag_give(started->tag);
    pthread_mutex_unlock(&mutex);
    return rc;
}

int hxmpi_prepared_open(struct call *call)
{
    struct hxmpi_started *started = calloc(1, sizeof(*started));
    const int ready = started && receive_make(started);
    hx_comm_t *own = hxmpi_comm_copy(call->comm, call->of, call->graph, ready);
    if (own) {
        started->own = own;
        call->started = started;
        return 1;
    }
    if (ready)
        receive_drop(started);
    free(started);
    return 0;
}

void hxmpi_prepared_drop(struct call *call)
{
    struct hxmpi_started *started = call->started;

    if (!started)
        return;
    receive_drop(started);
    hx_comm_free(started->own);
    free(started);
    call->started = NULL;
}

void hxmpi_prepared_keep(struct call *call, const struct hxmpi_data *data)
{
    struct hxmpi_started *started = call->started;

    started->call = *call;
    if (data)
        started->data = *data;
    hxmpi_comm_hold(call->of);
    started->made = hxmpi_number_next();
    pthread_mutex_lock(&mutex);
    started->older = newest;
    newest = started;
    pthread_mutex_unlock(&mutex);
    atomic_fetch_add_explicit(&hxmpi_prepared, 1, memory_order_relaxed);
}

unsigned long hxmpi_prepared_oldest(void)
{
    unsigned long oldest = 0;

    pthread_mutex_lock(&mutex);
    for (const struct hxmpi_started *started = newest; started; started = started->older)
        oldest = started->made; /* the list begins with the newest */
    pthread_mutex_unlock(&mutex);
    return oldest;
}

void hxmpi_prepared_complete(const struct hxmpi_started *started)
{
    PMPI_Send(NULL, 0, MPI_BYTE, 0, started->tag, self); /* the receive is there: it does not wait */
}

/* The entry of this request, or NULL. */
static struct hxmpi_started *find(MPI_Request request, int removes)
{
    struct hxmpi_started **link = &newest, *found;

    if (!atomic_load_explicit(&hxmpi_prepared, memory_order_relaxed) || request == MPI_REQUEST_NULL)
        return NULL;
    pthread_mutex_lock(&mutex);
    while (*link && (*link)->mpi != request)
        link = &(*link)->older;
    found = *link;
    if (found && removes)
        *link = found->older;
    pthread_mutex_unlock(&mutex);
    return found;
}

/* Release an entry that is in no list any more. Returns what MPI says about its request. */
static int discard(struct hxmpi_started *started)
{
    const int rc = receive_drop(started);

    hx_request_free(started->request);
    hx_comm_free(started->own);
    hxmpi_data_close(&started->data, 0);
    if (started->call.fold)
        hxmpi_fold_release(started->call.fold);
    hxmpi_comm_release(started->call.of);
    free(started);
    atomic_fetch_sub_explicit(&hxmpi_prepared, 1, memory_order_relaxed);
    hxmpi_freed_look();
    return rc;
}

void hxmpi_prepared_end(void)
{
    while (newest) {
        struct hxmpi_started *started = newest;
        newest = started->older;
        discard(started);
    }
}

int MPI_Start(MPI_Request *request)
{
    struct hxmpi_started *started = request ? find(*request, 0) : NULL;
    const int rc = PMPI_Start(request);

    if (!started || rc != MPI_SUCCESS)
        return rc;
    hxmpi_side_load(&started->data.in);
    hxmpi_side_load(&started->data.out);
    hxmpi_started_begin(started, hx_start(started->request));
    return MPI_SUCCESS;
}

int MPI_Startall(int n, MPI_Request requests[])
{
    int rc = MPI_SUCCESS;

    if (!atomic_load_explicit(&hxmpi_prepared, memory_order_relaxed))
        return PMPI_Startall(n, requests);
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++)
        rc = MPI_Start(&requests[i]);
    return rc;
}

/* MPI allows neither of these for a collective that has started. */

int MPI_Request_free(MPI_Request *request)
{
    struct hxmpi_started *started;
    int rc = MPI_SUCCESS;

    if (request && hxmpi_started_refuses(*request, "MPI_Request_free", &rc))
        return rc;
    started = request ? find(*request, 1) : NULL;
    if (!started)
        return PMPI_Request_free(request);
    *request = MPI_REQUEST_NULL;
    return discard(started);
}

int MPI_Cancel(MPI_Request *request)
{
    int rc = MPI_SUCCESS;

    if (request && hxmpi_started_refuses(*request, "MPI_Cancel", &rc))
        return rc;
    return PMPI_Cancel(request);
}
