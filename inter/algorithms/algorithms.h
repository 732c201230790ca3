/* SPDX-License-Identifier: BSD-3-Clause */
/* The algorithms that use transfers only. They were made for the network, and run inside a node over its rings as
 * well. */
#ifndef HX_INTER_ALGORITHMS_ALGORITHMS_H
#define HX_INTER_ALGORITHMS_ALGORITHMS_H
#include "runtime/plan/plan.h"

extern const struct hx_algorithm hx_inter_algorithms[]; /* ends with a NULL name */

void hx_allreduce_ring(struct hx_builder *b);
void hx_allreduce_mesh(struct hx_builder *b);
void hx_allreduce_mesh_single(struct hx_builder *b);
void hx_allreduce_recursive_doubling(struct hx_builder *b);
void hx_allreduce_exclusive_dissemination(struct hx_builder *b);
void hx_allreduce_rdh(struct hx_builder *b);
void hx_allreduce_circulant(struct hx_builder *b);
void hx_allreduce_tree(struct hx_builder *b);
void hx_allreduce_double_tree(struct hx_builder *b);
void hx_allreduce_kangaring(struct hx_builder *b);

void hx_reduce_scatter_ring(struct hx_builder *b);
void hx_reduce_scatter_mesh(struct hx_builder *b);
void hx_reduce_scatter_rdh(struct hx_builder *b);
void hx_reduce_scatter_circulant(struct hx_builder *b);
void hx_reduce_scatter_kangaring(struct hx_builder *b);

void hx_allgather_ring(struct hx_builder *b);
void hx_allgather_mesh(struct hx_builder *b);
void hx_allgather_rdh(struct hx_builder *b);
void hx_allgather_circulant(struct hx_builder *b);
void hx_allgather_kbruck(struct hx_builder *b);
void hx_allgather_kangaring(struct hx_builder *b);

void hx_bcast_flat(struct hx_builder *b);
void hx_bcast_binomial(struct hx_builder *b);
void hx_bcast_knomial(struct hx_builder *b);
void hx_bcast_scatter_ring(struct hx_builder *b);
void hx_bcast_scatter_circulant(struct hx_builder *b);
void hx_bcast_chain(struct hx_builder *b);
void hx_bcast_circulant(struct hx_builder *b);
void hx_bcast_double_tree(struct hx_builder *b);

void hx_gather_flat(struct hx_builder *b);
void hx_gather_binomial(struct hx_builder *b);
void hx_scatter_flat(struct hx_builder *b);
void hx_scatter_binomial(struct hx_builder *b);

void hx_alltoall_mesh(struct hx_builder *b);
void hx_alltoall_pairwise(struct hx_builder *b);
void hx_alltoall_bruck(struct hx_builder *b);
void hx_alltoall_kbruck(struct hx_builder *b);

void hx_barrier_dissemination(struct hx_builder *b);
void hx_barrier_mesh(struct hx_builder *b);
void hx_barrier_tree(struct hx_builder *b);
void hx_barrier_pairwise(struct hx_builder *b);

void hx_scan_mesh(struct hx_builder *b);
void hx_scan_recursive_doubling(struct hx_builder *b);
void hx_scan_chain(struct hx_builder *b);
void hx_exscan_mesh(struct hx_builder *b);
void hx_exscan_recursive_doubling(struct hx_builder *b);
void hx_exscan_exclusive_dissemination(struct hx_builder *b);
void hx_exscan_chain(struct hx_builder *b);

void hx_reduce_flat(struct hx_builder *b);
void hx_reduce_binomial(struct hx_builder *b);
void hx_reduce_knomial(struct hx_builder *b);
void hx_reduce_scatter_gather(struct hx_builder *b);
void hx_reduce_chain(struct hx_builder *b);
void hx_reduce_circulant(struct hx_builder *b);
void hx_reduce_double_tree(struct hx_builder *b);

#endif
