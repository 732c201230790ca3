/* SPDX-License-Identifier: BSD-3-Clause */
/* The neighbourhood collectives, and MPI_Alltoallw. A part of blocking.c, so in each of its forms. All neighbourhood collectives become
 * hx_neighbor_alltoallv of bytes. */
/* The places of MPI's blocks in a side, in bytes: counts[i] and displs[i], or all alike, `step` apart. */
struct places {
    const size_t *counts, *displs;
    size_t count, step;
};

static inline int begin_graph(struct call *call)
{
    int cause = HXMPI_CAUSE_OFF;

    call->of = hxmpi_comm_of(call->comm, FORM != HXMPI_STARTS);
    if (!call->of || !call->of->comm)
        return declined(call, call->of ? call->of->cause : HXMPI_CAUSE_OFF);
    call->graph = hxmpi_graph_of(call->comm, call->of, FORM != HXMPI_STARTS, &cause);
    return call->graph ? PREPARE(call) : declined(call, cause);
}

/* The counts, and then the displacements, of Hierax's blocks. */
static void places_list(const struct hxmpi_graph *graph, int side, struct places from, size_t *to)
{
    for (int i = 0; i < graph->n[side]; i++) {
        const int block = graph->places[side][i];
        to[i] = from.counts ? from.counts[block] : from.count;
        to[graph->n[side] + i] = from.counts ? from.displs[block] : (size_t)block * from.step;
    }
}

static void exchange(struct call *call, const struct hxmpi_data *data, struct places sent, struct places received GRAPH_PARAMETER)
{
    const struct hxmpi_graph *graph = call->graph;
    const size_t sources = (size_t)graph->n[0], destinations = (size_t)graph->n[1];
    size_t *lists = malloc((2 * (sources + destinations) + 1) * sizeof(*lists)), *in = lists + 2 * sources;

    if (!lists) {
        no_memory(call);
        return;
    }
    places_list(graph, 0, received, lists);
    places_list(graph, 1, sent, in);
    SERVED(call, data, HX(neighbor_alltoallv)(data->in.data, in, in + destinations, data->out.data, lists, lists + sources, HX_BYTE,
                                              GRAPH_COMM(call) GRAPH_REQUEST));
    free(lists);
}

/* Blocks of MPI_PROC_NULL have no elements, whatever the program says. */
static void nulls_empty(const struct hxmpi_graph *graph, int side, size_t *counts)
{
    for (int block = 0, i = 0; block < graph->blocks[side]; block++) {
        for (i = 0; i < graph->n[side] && graph->places[side][i] != block; i++)
            ;
        if (i == graph->n[side])
            counts[block] = 0;
    }
}

/* Open both sides and exchange. The data of a call without a block of MPI_PROC_NULL is written as a whole. */
#define ALONG(call, open_in, open_out, sent, received)                                                                               \
    do {                                                                                                                             \
        struct hxmpi_data data = {.counts = NULL};                                                                                   \
        if ((open_in) && (open_out))                                                                                                 \
            exchange(&(call), &data, sent, received GRAPH_LAST);                                                                     \
        else                                                                                                                         \
            no_memory(&(call));                                                                                                      \
        if (!(call).started)                                                                                                         \
            hxmpi_data_close(&data, (call).rc == MPI_SUCCESS);                                                                       \
    } while (0)
#define ALIKE(side, n) ((struct places){.count = (n) ? (side).bytes / (size_t)(n) : 0, .step = (n) ? (side).bytes / (size_t)(n) : 0})
#define TO_ALL(side) ((struct places){.count = (side).bytes})
#define LISTED(side) ((struct places){.counts = (side).counts, .displs = (side).displs})

static int stored(const struct hxmpi_graph *graph)
{
    return graph->n[0] < graph->blocks[0] ? HXMPI_LOAD | HXMPI_STORE : HXMPI_STORE;
}

/* As blocks_read, for a side of the graph. */
static int side_read(const struct hxmpi_graph *graph, int side, const count_t *counts, const displ_t *displs, size_t **read, MPI_Aint **places)
{
    if (!blocks_read(graph->blocks[side], counts, displs, read, places))
        return 0;
    nulls_empty(graph, side, *read);
    return 1;
}

int FUNCTION(Neighbor_allgather)(const void *sendbuf, count_t sendcount, MPI_Datatype sendtype, void *recvbuf, count_t recvcount,
                                 MPI_Datatype recvtype, MPI_Comm comm REQUEST(MPI_Request *request))
{
    struct call call = CALL(Neighbor_allgather);

    if (!begin_graph(&call) || ((data_wrong(sendcount, sendtype) || data_wrong(recvcount, recvtype)) && !declined(&call, HXMPI_CAUSE_ARGUMENT)))
        return PASS_ON(Neighbor_allgather, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    const int received = call.graph->blocks[0];
    ALONG(call, hxmpi_side_open(&data.in, sendbuf, (size_t)sendcount, sendtype, HXMPI_LOAD),
          hxmpi_side_open(&data.out, recvbuf, (size_t)received * (size_t)recvcount, recvtype, stored(call.graph)), TO_ALL(data.in),
          ALIKE(data.out, received));
    return call.rc;
}

int FUNCTION(Neighbor_alltoall)(const void *sendbuf, count_t sendcount, MPI_Datatype sendtype, void *recvbuf, count_t recvcount,
                                MPI_Datatype recvtype, MPI_Comm comm REQUEST(MPI_Request *request))
{
    struct call call = CALL(Neighbor_alltoall);

    if (!begin_graph(&call) || ((data_wrong(sendcount, sendtype) || data_wrong(recvcount, recvtype)) && !declined(&call, HXMPI_CAUSE_ARGUMENT)))
        return PASS_ON(Neighbor_alltoall, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    const int received = call.graph->blocks[0], sent = call.graph->blocks[1];
    ALONG(call, hxmpi_side_open(&data.in, sendbuf, (size_t)sent * (size_t)sendcount, sendtype, HXMPI_LOAD),
          hxmpi_side_open(&data.out, recvbuf, (size_t)received * (size_t)recvcount, recvtype, stored(call.graph)), ALIKE(data.in, sent),
          ALIKE(data.out, received));
    return call.rc;
}

int FUNCTION(Neighbor_allgatherv)(const void *sendbuf, count_t sendcount, MPI_Datatype sendtype, void *recvbuf, const count_t *recvcounts,
                                  const displ_t *displs, MPI_Datatype recvtype, MPI_Comm comm REQUEST(MPI_Request *request))
{
    struct call call = CALL(Neighbor_allgatherv);
    MPI_Aint *places = NULL;

    if (!begin_graph(&call) ||
        ((data_wrong(sendcount, sendtype) || data_wrong(0, recvtype) || counts_wrong(call.graph->blocks[0], recvcounts)) &&
         !declined(&call, HXMPI_CAUSE_ARGUMENT)))
        return PASS_ON(Neighbor_allgatherv, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm);
    ALONG(call, hxmpi_side_open(&data.in, sendbuf, (size_t)sendcount, sendtype, HXMPI_LOAD),
          side_read(call.graph, 0, recvcounts, displs, &data.counts, &places) &&
              hxmpi_side_open_blocks(&data.out, recvbuf, call.graph->blocks[0], data.counts, places, recvtype, HXMPI_STORE),
          TO_ALL(data.in), LISTED(data.out));
    return call.rc;
}

int FUNCTION(Neighbor_alltoallv)(const void *sendbuf, const count_t *sendcounts, const displ_t *sdispls, MPI_Datatype sendtype, void *recvbuf,
                                 const count_t *recvcounts, const displ_t *rdispls, MPI_Datatype recvtype,
                                 MPI_Comm comm REQUEST(MPI_Request *request))
{
    struct call call = CALL(Neighbor_alltoallv);
    MPI_Aint *places = NULL, *sent_at = NULL;

    if (!begin_graph(&call) || ((data_wrong(0, sendtype) || counts_wrong(call.graph->blocks[1], sendcounts) || data_wrong(0, recvtype) ||
                                 counts_wrong(call.graph->blocks[0], recvcounts)) &&
                                !declined(&call, HXMPI_CAUSE_ARGUMENT)))
        return PASS_ON(Neighbor_alltoallv, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm);
    ALONG(call,
          side_read(call.graph, 1, sendcounts, sdispls, &data.sent, &sent_at) &&
              hxmpi_side_open_blocks(&data.in, sendbuf, call.graph->blocks[1], data.sent, sent_at, sendtype, HXMPI_LOAD),
          side_read(call.graph, 0, recvcounts, rdispls, &data.counts, &places) &&
              hxmpi_side_open_blocks(&data.out, recvbuf, call.graph->blocks[0], data.counts, places, recvtype, HXMPI_STORE),
          LISTED(data.in), LISTED(data.out));
    return call.rc;
}

/* ---- a datatype for each block */

static int types_wrong(int n, const count_t *counts, const MPI_Datatype *types)
{
    for (int i = 0; i < n; i++)
        if (counts[i] && data_wrong(counts[i], types[i])) /* without elements some MPIs allow MPI_DATATYPE_NULL */
            return 1;
    return 0;
}

static int types_open(struct hxmpi_side *side, const void *buffer, int blocks, const count_t *counts, const displ_t *displs,
                      const MPI_Datatype *types, int flags, size_t **read)
{
    MPI_Aint *places = NULL;

    return blocks_read(blocks, counts, displs, read, &places) && hxmpi_side_open_types(side, buffer, blocks, *read, places, types, flags);
}

int FUNCTION(Alltoallw)(const void *sendbuf, const count_t *sendcounts, const displ_t *sdispls, const MPI_Datatype *sendtypes, void *recvbuf,
                        const count_t *recvcounts, const displ_t *rdispls, const MPI_Datatype *recvtypes,
                        MPI_Comm comm REQUEST(MPI_Request *request))
{
    struct call call = CALL(Alltoallw);
    const int in_place = sendbuf == MPI_IN_PLACE;

    if (!begin(&call) || (((!in_place && types_wrong(call.of->size, sendcounts, sendtypes)) || types_wrong(call.of->size, recvcounts, recvtypes)) &&
                          !declined(&call, HXMPI_CAUSE_ARGUMENT)))
        return PASS_ON(Alltoallw, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm);
    BETWEEN(call, in_place || types_open(&data.in, sendbuf, call.of->size, sendcounts, sdispls, sendtypes, HXMPI_LOAD, &data.sent),
            types_open(&data.out, recvbuf, call.of->size, recvcounts, rdispls, recvtypes, in_place ? HXMPI_LOAD | HXMPI_STORE : HXMPI_STORE,
                       &data.counts),
            HX(alltoallv)(data.in.data, data.in.counts, data.in.displs, data.out.data, data.out.counts, data.out.displs, HX_BYTE,
                          HX_COMM(&call) HX_REQUEST));
    return call.rc;
}

/* Its displacements are of MPI_Aint in both forms. */
static int edges_open(struct hxmpi_side *side, const void *buffer, const struct hxmpi_graph *graph, int of, const count_t *counts,
                      const MPI_Aint *displs, const MPI_Datatype *types, int flags, size_t **read)
{
    MPI_Aint *places = NULL;

    if (!side_read(graph, of, counts, NULL, read, &places))
        return 0;
    for (int i = 0; i < graph->blocks[of]; i++)
        places[i] = displs[i];
    return hxmpi_side_open_types(side, buffer, graph->blocks[of], *read, places, types, flags);
}

int FUNCTION(Neighbor_alltoallw)(const void *sendbuf, const count_t *sendcounts, const MPI_Aint *sdispls, const MPI_Datatype *sendtypes,
                                 void *recvbuf, const count_t *recvcounts, const MPI_Aint *rdispls, const MPI_Datatype *recvtypes,
                                 MPI_Comm comm REQUEST(MPI_Request *request))
{
    struct call call = CALL(Neighbor_alltoallw);

    if (!begin_graph(&call) || ((types_wrong(call.graph->blocks[1], sendcounts, sendtypes) || types_wrong(call.graph->blocks[0], recvcounts, recvtypes)) &&
                                !declined(&call, HXMPI_CAUSE_ARGUMENT)))
        return PASS_ON(Neighbor_alltoallw, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm);
    ALONG(call, edges_open(&data.in, sendbuf, call.graph, 1, sendcounts, sdispls, sendtypes, HXMPI_LOAD, &data.sent),
          edges_open(&data.out, recvbuf, call.graph, 0, recvcounts, rdispls, recvtypes, HXMPI_STORE, &data.counts), LISTED(data.in),
          LISTED(data.out));
    return call.rc;
}
