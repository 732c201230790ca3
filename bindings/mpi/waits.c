/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI's calls that wait. If Hierax may have work, each becomes its non-blocking form and a loop, which polls MPI and Hierax in turn.
 * If not, the call goes straight to MPI. waits_during.c has the calls that lack such a form.
 */
#include "hxmpi.h"
#include <sched.h>

#define PATIENT_ROUNDS 200 /* polls before this rank yields its core after each */

static void lull(unsigned round)
{
    if (round > PATIENT_ROUNDS)
        sched_yield();
}

/* Return what `test` returns when it sets `done`, or fails. */
#define LOOP(test, done)                                                                                                             \
    for (unsigned round = 0;; round++) {                                                                                             \
        hxmpi_drive();                                                                                                               \
        const int rc = (test);                                                                                                       \
        if (rc != MPI_SUCCESS || (done))                                                                                             \
            return rc;                                                                                                               \
        lull(round);                                                                                                                 \
    }

static int await(MPI_Request *request, MPI_Status *status)
{
    int flag = 0;

    LOOP(PMPI_Test(request, &flag, status), flag)
}

/* rc: what the non-blocking form has returned. */
static int await_started(int rc, MPI_Request *request, MPI_Status *status)
{
    return rc == MPI_SUCCESS ? await(request, status) : rc;
}

/* ---- requests */

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    return hxmpi_must_drive() ? await(request, status) : PMPI_Wait(request, status);
}

/* This waits for one request after the other. MPI_Testall would test all of them each time. In MPICH 4.0.2 it also fails if one of them is a
 * persistent collective that is not complete. */
int MPI_Waitall(int n, MPI_Request requests[], MPI_Status *statuses)
{
    const int wants_statuses = statuses != MPI_STATUSES_IGNORE;
    int failed = 0;

    if (!hxmpi_must_drive() || n <= 0)
        return PMPI_Waitall(n, requests, statuses);
    for (int i = 0; i < n; i++) {
        const int rc = await(&requests[i], wants_statuses ? &statuses[i] : MPI_STATUS_IGNORE);
        failed |= rc != MPI_SUCCESS;
        if (wants_statuses)
            statuses[i].MPI_ERROR = rc;
    }
    return failed ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
}

int MPI_Waitany(int n, MPI_Request requests[], int *index, MPI_Status *status)
{
    int flag = 0;

    if (!hxmpi_must_drive())
        return PMPI_Waitany(n, requests, index, status);
    LOOP(PMPI_Testany(n, requests, index, &flag, status), flag)
}

int MPI_Waitsome(int n, MPI_Request requests[], int *count, int indices[], MPI_Status *statuses)
{
    if (!hxmpi_must_drive())
        return PMPI_Waitsome(n, requests, count, indices, statuses);
    *count = 0;
    LOOP(PMPI_Testsome(n, requests, count, indices, statuses), *count != 0) /* or MPI_UNDEFINED */
}

/* ---- calls that test */

/* A name of its own in C: versions of mpi.h declare some of these with const requests, and some without. */
#define LOOK(name, parameters, arguments)                                                                                            \
    __attribute__((visibility("default"))) int look_##name parameters __asm__("MPI_" #name);                                         \
    int look_##name parameters                                                                                                       \
    {                                                                                                                                \
        if (hxmpi_must_drive())                                                                                                      \
            hxmpi_drive();                                                                                                           \
        return PMPI_##name arguments;                                                                                                \
    }

LOOK(Test, (MPI_Request *request, int *flag, MPI_Status *status), (request, flag, status))
LOOK(Testall, (int n, MPI_Request requests[], int *flag, MPI_Status *statuses), (n, requests, flag, statuses))
LOOK(Testany, (int n, MPI_Request requests[], int *index, int *flag, MPI_Status *status), (n, requests, index, flag, status))
LOOK(Testsome, (int n, MPI_Request requests[], int *count, int indices[], MPI_Status *statuses), (n, requests, count, indices, statuses))
LOOK(Request_get_status, (MPI_Request request, int *flag, MPI_Status *status), (request, flag, status))
LOOK(Iprobe, (int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status), (source, tag, comm, flag, status))
LOOK(Improbe, (int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status),
     (source, tag, comm, flag, message, status))
LOOK(Win_test, (MPI_Win win, int *flag), (win, flag))
LOOK(Win_sync, (MPI_Win win), (win)) /* of a loop that waits for another rank in shared memory */
#if HXMPI_HAS_SESSIONS
LOOK(Parrived, (MPI_Request request, int partition, int *flag), (request, partition, flag))
#endif
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
LOOK(Request_get_status_all, (int n, MPI_Request requests[], int *flag, MPI_Status *statuses), (n, requests, flag, statuses))
LOOK(Request_get_status_any, (int n, MPI_Request requests[], int *index, int *flag, MPI_Status *status),
     (n, requests, index, flag, status))
LOOK(Request_get_status_some, (int n, MPI_Request requests[], int *count, int indices[], MPI_Status *statuses),
     (n, requests, count, indices, statuses))
#endif

/* ---- messages */

int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    int flag = 0;

    if (!hxmpi_must_drive())
        return PMPI_Probe(source, tag, comm, status);
    LOOP(PMPI_Iprobe(source, tag, comm, &flag, status), flag)
}

int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    int flag = 0;

    if (!hxmpi_must_drive())
        return PMPI_Mprobe(source, tag, comm, message, status);
    LOOP(PMPI_Improbe(source, tag, comm, &flag, message, status), flag)
}

int MPI_Win_wait(MPI_Win win)
{
    int flag = 0;

    if (!hxmpi_must_drive())
        return PMPI_Win_wait(win);
    LOOP(PMPI_Win_test(win, &flag), flag)
}

#define SEND(name, starts, count_t)                                                                                                  \
    int MPI_##name(const void *buffer, count_t count, MPI_Datatype type, int to, int tag, MPI_Comm comm)                             \
    {                                                                                                                                \
        MPI_Request request;                                                                                                         \
        if (!hxmpi_must_drive())                                                                                                     \
            return PMPI_##name(buffer, count, type, to, tag, comm);                                                                  \
        return await_started(PMPI_##starts(buffer, count, type, to, tag, comm, &request), &request, MPI_STATUS_IGNORE);              \
    }
#define RECV(name, starts, count_t)                                                                                                  \
    int MPI_##name(void *buffer, count_t count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status)             \
    {                                                                                                                                \
        MPI_Request request;                                                                                                         \
        if (!hxmpi_must_drive())                                                                                                     \
            return PMPI_##name(buffer, count, type, from, tag, comm, status);                                                        \
        return await_started(PMPI_##starts(buffer, count, type, from, tag, comm, &request), &request, status);                       \
    }
#define MRECV(name, starts, count_t)                                                                                                 \
    int MPI_##name(void *buffer, count_t count, MPI_Datatype type, MPI_Message *message, MPI_Status *status)                         \
    {                                                                                                                                \
        MPI_Request request;                                                                                                         \
        if (!hxmpi_must_drive())                                                                                                     \
            return PMPI_##name(buffer, count, type, message, status);                                                                \
        return await_started(PMPI_##starts(buffer, count, type, message, &request), &request, status);                               \
    }
#define SENDRECV(name, sends, receives, count_t)                                                                                     \
    int MPI_##name(const void *sendbuf, count_t sendcount, MPI_Datatype sendtype, int to, int sendtag, void *recvbuf,                \
                   count_t recvcount, MPI_Datatype recvtype, int from, int recvtag, MPI_Comm comm, MPI_Status *status)               \
    {                                                                                                                                \
        MPI_Request request, sent;                                                                                                   \
        int rc, rc_sent;                                                                                                             \
        if (!hxmpi_must_drive())                                                                                                     \
            return PMPI_##name(sendbuf, sendcount, sendtype, to, sendtag, recvbuf, recvcount, recvtype, from, recvtag, comm, status); \
        if ((rc = PMPI_##receives(recvbuf, recvcount, recvtype, from, recvtag, comm, &request)) != MPI_SUCCESS)                      \
            return rc;                                                                                                               \
        if ((rc = PMPI_##sends(sendbuf, sendcount, sendtype, to, sendtag, comm, &sent)) != MPI_SUCCESS) {                            \
            PMPI_Cancel(&request);                                                                                                   \
            PMPI_Request_free(&request);                                                                                             \
            return rc;                                                                                                               \
        }                                                                                                                            \
        rc_sent = await(&sent, MPI_STATUS_IGNORE);                                                                                   \
        rc = await(&request, status);                                                                                                \
        return rc != MPI_SUCCESS ? rc : rc_sent;                                                                                     \
    }

SEND(Send, Isend, int)
SEND(Ssend, Issend, int)
SEND(Rsend, Irsend, int)
RECV(Recv, Irecv, int)
MRECV(Mrecv, Imrecv, int)
SENDRECV(Sendrecv, Isend, Irecv, int)
#if MPI_VERSION >= 4
SEND(Send_c, Isend_c, MPI_Count)
SEND(Ssend_c, Issend_c, MPI_Count)
SEND(Rsend_c, Irsend_c, MPI_Count)
RECV(Recv_c, Irecv_c, MPI_Count)
MRECV(Mrecv_c, Imrecv_c, MPI_Count)
SENDRECV(Sendrecv_c, Isend_c, Irecv_c, MPI_Count)
#endif
