/* SPDX-License-Identifier: BSD-3-Clause */
/* Neighbourhood collectives: data moves only along the edges of the communicator's graph. All of them are one, the all-to-all with counts
 * of each edge. */
#include "runtime/api/call.h"
#include "runtime/api/lock.h"
#include "runtime/plan/graph.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the graph --------------------------------------------------------------------------------------------------- */

static hx_status_t list_check(const hx_comm_t *comm, const char *what, int n, const int *ranks)
{
    if (n < 0)
        return hx_fail(HX_ERR_ARG, "hx_comm_graph: n%s is %d; choose 0 or more", what, n);
    if (n > 0 && !ranks)
        return hx_fail(HX_ERR_ARG, "hx_comm_graph: %s is NULL and n%s is %d", what, what, n);
    for (int i = 0; i < n; i++)
        if (ranks[i] < 0 || ranks[i] >= comm->members.size)
            return hx_fail(HX_ERR_ARG, "hx_comm_graph: %s[%d] is %d; choose 0 to %d", what, i, ranks[i], comm->members.size - 1);
    return HX_SUCCESS;
}

/* Gather numbers of all ranks: counts[r] of rank r, or so many of each (counts NULL). */
static hx_status_t numbers_gather(hx_comm_t *comm, const int *mine, size_t count, const size_t *counts, int *all)
{
    struct hx_call call = {.name = "hx_comm_graph", .comm = comm, .in = mine, .out = all, .said_count = count,
                           .key = hx_call_key_for(HX_FOR_GRAPH, 0, hx_call_key_of(HX_COLL_ALLGATHER, HX_INT32, HX_SUM, 0, count))};

    if (counts)
        call.key.blocks = hx_blocks_of(counts, NULL, comm->members.size, &call.key.count);
    return hx_call_do(&call, HX_BLOCKING, NULL);
}

/* The lists of all ranks, one after the other; numbers: how many each has, at every second place. */
static hx_status_t lists_gather(hx_comm_t *comm, const int *mine, int n, const int *numbers, int *ns, size_t *counts, int **all)
{
    size_t total = 0;

    for (int r = 0; r < comm->members.size; r++) {
        ns[r] = numbers[2 * r];
        counts[r] = (size_t)ns[r];
        total += counts[r];
    }
    if (!(*all = malloc((total + 1) * sizeof(**all)))) /* the other ranks are in the all-gather, this one is not */
        return hx_comm_break(comm, hx_fail(HX_ERR_NOMEM, "hx_comm_graph: no memory for a graph of %zu edges", total));
    return numbers_gather(comm, mine, (size_t)n, counts, *all);
}

static hx_status_t graph_make(hx_comm_t *comm, int nsources, const int *sources, int ndestinations, const int *destinations)
{
    const size_t p = (size_t)comm->members.size;
    const int mine[] = {ndestinations, nsources};
    int *numbers = malloc(4 * p * sizeof(*numbers)), *ns = numbers + 2 * p, *lists[2] = {NULL, NULL};
    size_t *counts = malloc(p * sizeof(*counts));
    hx_status_t status = HX_SUCCESS;

    if (!numbers || !counts)
        status = hx_comm_break(comm, hx_fail(HX_ERR_NOMEM, "hx_comm_graph: no memory for the degrees of %zu ranks", p));
    else
        status = numbers_gather(comm, mine, 2, NULL, numbers);
    if (status == HX_SUCCESS)
        status = lists_gather(comm, destinations, ndestinations, numbers, ns, counts, &lists[0]);
    if (status == HX_SUCCESS)
        status = lists_gather(comm, sources, nsources, numbers + 1, ns + p, counts, &lists[1]);
    if (status == HX_SUCCESS) {
        status = hx_graph_new("hx_comm_graph", (int)p, ns, lists[0], ns + p, lists[1], &comm->members.graph);
        if (status == HX_ERR_NOMEM)
            hx_comm_break(comm, status); /* other ranks may have made it */
    }
    free(lists[0]);
    free(lists[1]);
    free(numbers);
    free(counts);
    return status;
}

hx_status_t hx_comm_graph(hx_comm_t *comm, int nsources, const int *sources, int ndestinations, const int *destinations, hx_comm_t **out)
{
    hx_comm_t *made = NULL;
    hx_status_t status;

    HX_ENTER();
    if ((status = hx_comm_create_check("hx_comm_graph", comm, out)) != HX_SUCCESS)
        return status;
    if ((status = list_check(comm, "sources", nsources, sources)) != HX_SUCCESS ||
        (status = list_check(comm, "destinations", ndestinations, destinations)) != HX_SUCCESS)
        return hx_comm_fail(comm, status);
    if ((status = hx_comm_create_all("hx_comm_graph", HX_FOR_GRAPH, comm, &made)) != HX_SUCCESS)
        return status;
    if ((status = graph_make(made, nsources, sources, ndestinations, destinations)) == HX_SUCCESS) {
        *out = made;
        return HX_SUCCESS;
    }
    if (made->members.failed)
        hx_recall(made->members.detail);
    hx_comm_fail(comm, status);
    hx_comm_hide(made);
    hx_comm_release(made);
    return status;
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* The arguments that the forms of a collective share. */
struct arguments {
    const char *name;
    const void *in;
    void *out;
    hx_dtype_t dtype;
    hx_comm_t *comm;
};

static hx_status_t refuse(const struct arguments *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
static hx_status_t refuse(const struct arguments *a, const char *format, ...)
{
    char text[160];
    va_list rest;

    va_start(rest, format);
    vsnprintf(text, sizeof(text), format, rest);
    va_end(rest);
    return hx_comm_fail(a->comm, hx_fail(HX_ERR_ARG, "%s: %s", a->name, text));
}

static hx_status_t check(const struct arguments *a, hx_request_t **request)
{
    hx_status_t status;

    if (request)
        *request = NULL;
    if ((status = hx_comm_check(a->comm, a->name)) != HX_SUCCESS || (status = hx_group_refuse(a->comm, a->name)) != HX_SUCCESS)
        return status;
    if (!a->comm->members.graph)
        return refuse(a, "the communicator has no graph; use one of hx_comm_graph");
    if (a->in == HX_IN_PLACE || a->out == HX_IN_PLACE)
        return refuse(a, "%s is HX_IN_PLACE, but must be memory", a->in == HX_IN_PLACE ? "in" : "out");
    return HX_SUCCESS;
}

static hx_status_t pairs_run(const struct arguments *a, struct hx_pair_counts pairs, enum hx_mode mode, hx_request_t **request)
{
    struct hx_call call = hx_call_of_pairs(a->name, a->comm, a->in, a->out, a->dtype, pairs);
    hx_status_t status;

    call.key.purpose = HX_FOR_NEIGHBORS;
    call.keeps_counts = 1;
    status = hx_call_do(&call, mode, request);
    return mode == HX_BLOCKING ? hx_call_counted(a->comm, status) : status;
}

static struct hx_pair_counts degrees(const struct arguments *a)
{
    const struct hx_graph *graph = a->comm->members.graph;
    const int rank = a->comm->members.rank;

    return (struct hx_pair_counts){.nsent = (int)(graph->start[rank + 1] - graph->start[rank]),
                                   .nreceived = (int)(graph->in_start[rank + 1] - graph->in_start[rank])};
}

static hx_status_t alltoallv(struct arguments a, const size_t *scounts, const size_t *sdispls, const size_t *rcounts, const size_t *rdispls,
                             enum hx_mode mode, hx_request_t **request)
{
    struct hx_pair_counts pairs;
    hx_status_t status;

    HX_ENTER();
    if ((status = check(&a, request)) != HX_SUCCESS)
        return status;
    pairs = degrees(&a);
    pairs.sent = scounts;
    pairs.sent_at = sdispls;
    pairs.received = rcounts;
    pairs.received_at = rdispls;
    return pairs_run(&a, pairs, mode, request);
}

/* The sides of a collective: one block or a block for each neighbour, of one length or listed. */
enum spread { FROM_ONE, FROM_ONE_TO_LISTED, FROM_BLOCKS };

/* The same count to all neighbours; and from them, unless counts and displs tell how much comes from each, and where it goes. */
static hx_status_t counts_run(struct arguments a, size_t count, enum spread spread, const size_t *counts, const size_t *displs, enum hx_mode mode,
                              hx_request_t **request)
{
    struct hx_pair_counts pairs;
    size_t *sent, *received, bytes;
    hx_status_t status;
    int n;

    HX_ENTER();
    if ((status = check(&a, request)) != HX_SUCCESS)
        return status;
    pairs = degrees(&a);
    n = pairs.nsent > pairs.nreceived ? pairs.nsent : pairs.nreceived;
    if (!a.in && count && pairs.nsent)
        return refuse(&a, "in is NULL and count is %zu", count);
    if (!a.out && count && pairs.nreceived && spread != FROM_ONE_TO_LISTED)
        return refuse(&a, "out is NULL and count is %zu", count);
    if (__builtin_mul_overflow(count, (size_t)n, &bytes))
        return refuse(&a, "count %zu for each of %d neighbors is more than an address space holds", count, n);
    if (!(sent = malloc((2 * (size_t)(pairs.nsent + pairs.nreceived) + 1) * sizeof(*sent))))
        return hx_comm_fail(a.comm, hx_fail(HX_ERR_NOMEM, "%s: no memory for the counts of %d neighbors", a.name, n));
    received = sent + 2 * (size_t)pairs.nsent;
    for (int i = 0; i < pairs.nsent; i++) {
        sent[i] = count;
        sent[pairs.nsent + i] = spread == FROM_BLOCKS ? (size_t)i * count : 0;
    }
    for (int i = 0; i < pairs.nreceived; i++) {
        received[i] = count;
        received[pairs.nreceived + i] = (size_t)i * count;
    }
    pairs.sent = sent;
    pairs.sent_at = sent + pairs.nsent;
    pairs.received = spread == FROM_ONE_TO_LISTED ? counts : received;
    pairs.received_at = spread == FROM_ONE_TO_LISTED ? displs : received + pairs.nreceived;
    status = pairs_run(&a, pairs, mode, request);
    free(sent);
    return status;
}

/* ---- public functions -------------------------------------------------------------------------------------------- */

#define ARGUMENTS (struct arguments){__func__, in, out, dtype, comm}

hx_status_t hx_neighbor_allgather(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm)
{
    return counts_run(ARGUMENTS, count, FROM_ONE, NULL, NULL, HX_BLOCKING, NULL);
}

hx_status_t hx_ineighbor_allgather(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm, hx_request_t **request)
{
    return counts_run(ARGUMENTS, count, FROM_ONE, NULL, NULL, HX_NONBLOCKING, request);
}

hx_status_t hx_neighbor_allgather_init(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm, hx_request_t **request)
{
    return counts_run(ARGUMENTS, count, FROM_ONE, NULL, NULL, HX_PERSISTENT, request);
}

hx_status_t hx_neighbor_alltoall(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm)
{
    return counts_run(ARGUMENTS, count, FROM_BLOCKS, NULL, NULL, HX_BLOCKING, NULL);
}

hx_status_t hx_ineighbor_alltoall(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm, hx_request_t **request)
{
    return counts_run(ARGUMENTS, count, FROM_BLOCKS, NULL, NULL, HX_NONBLOCKING, request);
}

hx_status_t hx_neighbor_alltoall_init(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm, hx_request_t **request)
{
    return counts_run(ARGUMENTS, count, FROM_BLOCKS, NULL, NULL, HX_PERSISTENT, request);
}

hx_status_t hx_neighbor_allgatherv(const void *in, size_t count, void *out, const size_t *counts, const size_t *displs, hx_dtype_t dtype,
                                   hx_comm_t *comm)
{
    return counts_run(ARGUMENTS, count, FROM_ONE_TO_LISTED, counts, displs, HX_BLOCKING, NULL);
}

hx_status_t hx_ineighbor_allgatherv(const void *in, size_t count, void *out, const size_t *counts, const size_t *displs, hx_dtype_t dtype,
                                    hx_comm_t *comm, hx_request_t **request)
{
    return counts_run(ARGUMENTS, count, FROM_ONE_TO_LISTED, counts, displs, HX_NONBLOCKING, request);
}

hx_status_t hx_neighbor_allgatherv_init(const void *in, size_t count, void *out, const size_t *counts, const size_t *displs, hx_dtype_t dtype,
                                        hx_comm_t *comm, hx_request_t **request)
{
    return counts_run(ARGUMENTS, count, FROM_ONE_TO_LISTED, counts, displs, HX_PERSISTENT, request);
}

hx_status_t hx_neighbor_alltoallv(const void *in, const size_t *scounts, const size_t *sdispls, void *out, const size_t *rcounts,
                                  const size_t *rdispls, hx_dtype_t dtype, hx_comm_t *comm)
{
    return alltoallv(ARGUMENTS, scounts, sdispls, rcounts, rdispls, HX_BLOCKING, NULL);
}

hx_status_t hx_ineighbor_alltoallv(const void *in, const size_t *scounts, const size_t *sdispls, void *out, const size_t *rcounts,
                                   const size_t *rdispls, hx_dtype_t dtype, hx_comm_t *comm, hx_request_t **request)
{
    return alltoallv(ARGUMENTS, scounts, sdispls, rcounts, rdispls, HX_NONBLOCKING, request);
}

hx_status_t hx_neighbor_alltoallv_init(const void *in, const size_t *scounts, const size_t *sdispls, void *out, const size_t *rcounts,
                                       const size_t *rdispls, hx_dtype_t dtype, hx_comm_t *comm, hx_request_t **request)
{
    return alltoallv(ARGUMENTS, scounts, sdispls, rcounts, rdispls, HX_PERSISTENT, request);
}
