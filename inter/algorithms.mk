# SPDX-License-Identifier: BSD-3-Clause
hx_sources += inter/algorithms.c inter/algorithms.h inter/ring.h inter/mesh.h inter/halving.h inter/circulant.h \
    inter/allreduce_ring.c inter/allreduce_mesh.c inter/allreduce_mesh_single.c inter/allreduce_recursive_doubling.c \
    inter/allreduce_exclusive_dissemination.c inter/allreduce_rdh.c inter/allreduce_circulant.c inter/allreduce_tree.c \
    inter/reduce_scatter_ring.c inter/reduce_scatter_mesh.c inter/reduce_scatter_rdh.c \
    inter/reduce_scatter_circulant.c \
    inter/allgather_ring.c inter/allgather_mesh.c inter/allgather_rdh.c inter/allgather_circulant.c \
    inter/allgather_kbruck.c inter/circulant_schedule.h inter/bcast_circulant.c inter/reduce_circulant.c \
    inter/double_tree.h inter/bcast_double_tree.c inter/reduce_double_tree.c inter/allreduce_double_tree.c \
    inter/kangaring.h inter/allreduce_kangaring.c inter/reduce_scatter_kangaring.c inter/allgather_kangaring.c \
    inter/tree.h inter/bcast_flat.c inter/bcast_binomial.c inter/bcast_knomial.c inter/bcast_scatter_ring.c \
    inter/bcast_scatter_circulant.c inter/bcast_chain.c \
    inter/reduce_flat.c inter/reduce_binomial.c inter/reduce_knomial.c inter/reduce_scatter_gather.c inter/reduce_chain.c \
    inter/barrier_dissemination.c inter/barrier_mesh.c inter/barrier_tree.c inter/barrier_pairwise.c \
    inter/gather_flat.c inter/gather_binomial.c inter/scatter_flat.c inter/scatter_binomial.c \
    inter/prefix.h inter/scan_mesh.c inter/scan_recursive_doubling.c inter/scan_chain.c \
    inter/exscan_mesh.c inter/exscan_recursive_doubling.c inter/exscan_exclusive_dissemination.c inter/exscan_chain.c \
    inter/bruck.h inter/alltoall_mesh.c inter/alltoall_pairwise.c inter/alltoall_bruck.c
