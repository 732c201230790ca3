/* SPDX-License-Identifier: BSD-3-Clause */
/* The graph of a communicator of MPI. MPI numbers the blocks of a neighbourhood collective, and some may be of MPI_PROC_NULL. */
#ifndef HXMPI_GRAPHS_H
#define HXMPI_GRAPHS_H

#include "hxmpi.h"

struct hxmpi_graph {
    hx_comm_t *comm;          /* with this graph; NULL: not made yet, or it could not be made */
    int blocks[2];            /* of MPI: received, sent */
    int n[2], *ranks[2];      /* sources, destinations, as Hierax has them */
    int *places[2];           /* the number of each one's block */
};

/* Read the graph of comm from MPI. NULL: it has no topology, or there is no memory. */
struct hxmpi_graph *hxmpi_graph_read(MPI_Comm comm);
void hxmpi_graph_free(struct hxmpi_graph *graph);

/* comms.c. The graph of a communicator that Hierax serves, with its communicator. blocks: the call may wait for the other ranks, so the first
 * such call makes the communicator. NULL: MPI makes the call; *cause tells why. The same on all ranks. */
const struct hxmpi_graph *hxmpi_graph_of(MPI_Comm comm, const struct hxmpi_comm *of, int blocks, int *cause);

#endif
