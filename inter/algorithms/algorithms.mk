# SPDX-License-Identifier: BSD-3-Clause
# The algorithms. Each file ends with its row, or several: it is compiled, tested, listed and can be chosen at once. Of two that cost the
# same the first is chosen.
inter_algorithms = \
    inter/algorithms/allreduce_ring.c inter/algorithms/allreduce_mesh.c inter/algorithms/allreduce_kradix.c \
    inter/algorithms/allreduce_mesh_single.c inter/algorithms/allreduce_recursive_doubling.c inter/algorithms/allreduce_exclusive_dissemination.c \
    inter/algorithms/allreduce_rdh.c inter/algorithms/allreduce_circulant.c inter/algorithms/allreduce_tree.c \
    inter/algorithms/allreduce_double_tree.c inter/algorithms/allreduce_kangaring.c \
    inter/algorithms/reduce_scatter_ring.c inter/algorithms/reduce_scatter_mesh.c inter/algorithms/reduce_scatter_rdh.c \
    inter/algorithms/reduce_scatter_circulant.c inter/algorithms/reduce_scatter_kangaring.c \
    inter/algorithms/allgather_ring.c inter/algorithms/allgather_mesh.c inter/algorithms/allgather_rdh.c \
    inter/algorithms/allgather_circulant.c inter/algorithms/allgather_kbruck.c inter/algorithms/allgather_kangaring.c \
    inter/algorithms/bcast_flat.c inter/algorithms/bcast_binomial.c inter/algorithms/bcast_bine.c inter/algorithms/bcast_knomial.c \
    inter/algorithms/bcast_scatter_ring.c inter/algorithms/bcast_scatter_circulant.c inter/algorithms/bcast_chain.c \
    inter/algorithms/bcast_circulant.c inter/algorithms/bcast_double_tree.c \
    inter/algorithms/reduce_flat.c inter/algorithms/reduce_binomial.c inter/algorithms/reduce_bine.c inter/algorithms/reduce_knomial.c \
    inter/algorithms/reduce_rabenseifner.c inter/algorithms/reduce_chain.c inter/algorithms/reduce_circulant.c \
    inter/algorithms/reduce_double_tree.c \
    inter/algorithms/barrier_dissemination.c inter/algorithms/barrier_mesh.c inter/algorithms/barrier_tree.c \
    inter/algorithms/barrier_pairwise.c \
    inter/algorithms/gather_flat.c inter/algorithms/gather_binomial.c \
    inter/algorithms/scatter_flat.c inter/algorithms/scatter_binomial.c \
    inter/algorithms/scan_chain.c inter/algorithms/scan_mesh.c inter/algorithms/scan_recursive_doubling.c \
    inter/algorithms/exscan_chain.c inter/algorithms/exscan_mesh.c inter/algorithms/exscan_recursive_doubling.c \
    inter/algorithms/exscan_exclusive_dissemination.c \
    inter/algorithms/alltoall_mesh.c inter/algorithms/alltoall_pairwise.c inter/algorithms/alltoall_bruck.c
hx_sources += $(inter_algorithms) inter/algorithms/algorithms.h inter/algorithms/bine.h \
    inter/algorithms/circulant.h inter/algorithms/circulant_schedule.h inter/algorithms/double_tree.h \
    inter/algorithms/halving.h inter/algorithms/kangaring.h inter/algorithms/mesh.h inter/algorithms/prefix.h \
    inter/algorithms/ring.h inter/algorithms/tree.h
