/* SPDX-License-Identifier: BSD-3-Clause */
/* One call of a collective; and, if it is non-blocking or persistent, what lives longer than the function. */
#ifndef HXMPI_STARTED_H
#define HXMPI_STARTED_H

#include "hxmpi.h"
#include "side.h"

struct call {
    int what; /* hxmpi_count */
    MPI_Comm comm;
    const struct hxmpi_comm *of;
    unsigned long since;     /* hxmpi_stats_clock */
    const struct hxmpi_graph *graph; /* of a neighbourhood collective, or NULL */
    struct hxmpi_fold *fold; /* of a reduction, or NULL */
    int rc;                  /* if it was served */
    struct hxmpi_started *started; /* of a non-blocking or persistent call; or NULL */
};

/* A non-blocking or persistent call. A non-blocking one is the extra state of MPI's generalized request. */
struct hxmpi_started {
    struct call call;
    struct hxmpi_data data;
    hx_request_t *request;
    hx_status_t status;
    MPI_Request mpi;
    int rc; /* for MPI_Wait */
    unsigned long number;
    struct hxmpi_started *next, *before; /* in the list of calls that are not finished */
    struct hxmpi_started *next_ended;
    int has_ended; /* with status; hx_wait has been called */
    /* a persistent collective */
    hx_comm_t *own; /* its own communicator; NULL: the call is not persistent */
    int tag;
    unsigned long made; /* its number */
    struct hxmpi_started *older;
};

/* Make call->started, with MPI's request and the data of the call (NULL: none). Returns 0 without memory. */
int hxmpi_started_open(struct call *call, const struct hxmpi_data *data);
/* Hierax has refused the call: release it. Its data is still the caller's. */
void hxmpi_started_drop(struct hxmpi_started *started);
/* Hierax has begun the call; or it has refused, with this status, to start a persistent one. The data is no longer the caller's. */
void hxmpi_started_begin(struct hxmpi_started *started, hx_status_t status);
/* Is this the request of a collective that is not complete? Then 1, and an error for this function of MPI: the error handler runs. */
int hxmpi_started_refuses(MPI_Request request, const char *function, int *rc);
/* Free what the program has freed and no call uses any more. */
void hxmpi_freed_look(void);
/* Numbers order the calls and the objects that the program frees. */
unsigned long hxmpi_number_next(void);

/* ---- prepared.c: persistent collectives */

extern _Atomic int hxmpi_prepared; /* how many there are */
/* Collective. Make call->started. Returns 0 if one of the ranks cannot. */
int hxmpi_prepared_open(struct call *call);
void hxmpi_prepared_drop(struct call *call); /* nothing if call->started is NULL */
void hxmpi_prepared_keep(struct call *call, const struct hxmpi_data *data);
void hxmpi_prepared_complete(const struct hxmpi_started *started); /* MPI's request */
unsigned long hxmpi_prepared_oldest(void); /* its number; 0: there is none */

#endif
