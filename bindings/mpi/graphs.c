/* SPDX-License-Identifier: BSD-3-Clause */
/* The graph of a communicator of MPI that has a topology: for the neighbourhood collectives. */
#include "graphs.h"
#include <stdlib.h>

enum { SOURCES, DESTINATIONS };

/* MPI's own order: of a grid, for each dimension the rank before and the rank after. If both are the same rank, in a periodic dimension of
 * one or two ranks, what goes to the rank after arrives as from the rank before. Hierax matches the first block with the first, so the
 * sources of a grid are given to it the other way round. */
static int grid_read(MPI_Comm comm, struct hxmpi_graph *graph, int n, int *ranks[2])
{
    for (int d = 0; d < n / 2; d++) {
        int before, after;
        if (PMPI_Cart_shift(comm, d, 1, &before, &after) != MPI_SUCCESS)
            return 0;
        const int both[2] = {before, after};
        for (int i = 0; i < 2; i++) {
            const int from = both[1 - i], to = both[i];
            if (from != MPI_PROC_NULL) {
                graph->places[SOURCES][graph->n[SOURCES]] = 2 * d + 1 - i;
                ranks[SOURCES][graph->n[SOURCES]++] = from;
            }
            if (to != MPI_PROC_NULL) {
                graph->places[DESTINATIONS][graph->n[DESTINATIONS]] = 2 * d + i;
                ranks[DESTINATIONS][graph->n[DESTINATIONS]++] = to;
            }
        }
    }
    return 1;
}

/* The lists of other topologies may name MPI_PROC_NULL too. */
static void nulls_leave(struct hxmpi_graph *graph, int side, const int *all, int *ranks)
{
    for (int i = 0; i < graph->blocks[side]; i++)
        if (all[i] != MPI_PROC_NULL) {
            graph->places[side][graph->n[side]] = i;
            ranks[graph->n[side]++] = all[i];
        }
}

static int lists_read(MPI_Comm comm, int topology, struct hxmpi_graph *graph, int *all[2])
{
    int rank;

    if (topology == MPI_DIST_GRAPH) {
        int *weights = malloc((size_t)(graph->blocks[0] + graph->blocks[1] + 1) * sizeof(*weights));
        const int good = weights && PMPI_Dist_graph_neighbors(comm, graph->blocks[SOURCES], all[SOURCES], weights, graph->blocks[DESTINATIONS],
                                                              all[DESTINATIONS], weights + graph->blocks[SOURCES]) == MPI_SUCCESS;
        free(weights);
        return good;
    }
    PMPI_Comm_rank(comm, &rank);
    return PMPI_Graph_neighbors(comm, rank, graph->blocks[0], all[0]) == MPI_SUCCESS &&
           PMPI_Graph_neighbors(comm, rank, graph->blocks[1], all[1]) == MPI_SUCCESS;
}

/* How many blocks this rank receives and sends. */
static int degrees_read(MPI_Comm comm, int topology, int blocks[2])
{
    int rank, dimensions, weighted;

    if (topology == MPI_CART && PMPI_Cartdim_get(comm, &dimensions) == MPI_SUCCESS) {
        blocks[0] = blocks[1] = 2 * dimensions;
        return 1;
    }
    if (topology == MPI_DIST_GRAPH)
        return PMPI_Dist_graph_neighbors_count(comm, &blocks[SOURCES], &blocks[DESTINATIONS], &weighted) == MPI_SUCCESS;
    PMPI_Comm_rank(comm, &rank);
    if (topology != MPI_GRAPH || PMPI_Graph_neighbors_count(comm, rank, &blocks[0]) != MPI_SUCCESS)
        return 0;
    blocks[1] = blocks[0];
    return 1;
}

void hxmpi_graph_free(struct hxmpi_graph *graph)
{
    if (!graph)
        return;
    if (graph->comm)
        hx_comm_free(graph->comm);
    free(graph->places[0]);
    free(graph);
}

struct hxmpi_graph *hxmpi_graph_read(MPI_Comm comm)
{
    struct hxmpi_graph *graph = calloc(1, sizeof(*graph));
    int topology = MPI_UNDEFINED, good, *all[2] = {NULL, NULL};

    if (!graph || PMPI_Topo_test(comm, &topology) != MPI_SUCCESS || !degrees_read(comm, topology, graph->blocks)) {
        free(graph);
        return NULL;
    }
    const size_t blocks = (size_t)graph->blocks[0] + (size_t)graph->blocks[1];
    graph->places[0] = malloc((3 * blocks + 1) * sizeof(int)); /* the places, the ranks, and all ranks with MPI_PROC_NULL */
    good = graph->places[0] != NULL;
    if (good) {
        graph->places[1] = graph->places[0] + graph->blocks[0];
        graph->ranks[0] = graph->places[0] + blocks;
        graph->ranks[1] = graph->ranks[0] + graph->blocks[0];
        all[0] = graph->ranks[0] + blocks;
        all[1] = all[0] + graph->blocks[0];
        if (topology == MPI_CART)
            good = grid_read(comm, graph, graph->blocks[0], graph->ranks);
        else if ((good = lists_read(comm, topology, graph, all)))
            for (int side = 0; side < 2; side++)
                nulls_leave(graph, side, all[side], graph->ranks[side]);
    }
    if (good)
        return graph;
    hxmpi_graph_free(graph);
    return NULL;
}
