/* SPDX-License-Identifier: BSD-3-Clause */
/* The non-blocking collectives, such as MPI_Iallreduce: the functions of blocking.c, with other names and a request. */
#define HXMPI_STARTED
#define STARTS_Barrier Ibarrier
#define STARTS_Bcast Ibcast
#define STARTS_Reduce Ireduce
#define STARTS_Allreduce Iallreduce
#define STARTS_Gather Igather
#define STARTS_Gatherv Igatherv
#define STARTS_Scatter Iscatter
#define STARTS_Scatterv Iscatterv
#define STARTS_Allgather Iallgather
#define STARTS_Allgatherv Iallgatherv
#define STARTS_Alltoall Ialltoall
#define STARTS_Alltoallv Ialltoallv
#define STARTS_Alltoallw Ialltoallw
#define STARTS_Neighbor_allgather Ineighbor_allgather
#define STARTS_Neighbor_allgatherv Ineighbor_allgatherv
#define STARTS_Neighbor_alltoall Ineighbor_alltoall
#define STARTS_Neighbor_alltoallv Ineighbor_alltoallv
#define STARTS_Neighbor_alltoallw Ineighbor_alltoallw
#define STARTS_Reduce_scatter_block Ireduce_scatter_block
#define STARTS_Reduce_scatter Ireduce_scatter
#define STARTS_Scan Iscan
#define STARTS_Exscan Iexscan
#include "blocking.c"
