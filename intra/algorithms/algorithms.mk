# SPDX-License-Identifier: BSD-3-Clause
# The algorithms. Each file ends with its row, or several: it is compiled, tested, listed and can be chosen at once. Of two that cost the
# same the first is chosen.
intra_algorithms = \
    intra/algorithms/allreduce_nary.c intra/algorithms/allreduce_nary_sliced.c intra/algorithms/allreduce_last_arriver.c \
    intra/algorithms/allreduce_levels.c intra/algorithms/allreduce_single_copy.c intra/algorithms/allreduce_single_copy_nary.c \
    intra/algorithms/reduce_scatter_nary.c intra/algorithms/reduce_scatter_levels.c intra/algorithms/reduce_scatter_single_copy.c \
    intra/algorithms/allgather_nary.c intra/algorithms/allgather_levels.c intra/algorithms/allgather_single_copy.c \
    intra/algorithms/bcast_nary.c intra/algorithms/bcast_single_copy.c \
    intra/algorithms/reduce_nary.c intra/algorithms/reduce_nary_sliced.c \
    intra/algorithms/reduce_single_copy.c intra/algorithms/reduce_single_copy_nary.c \
    intra/algorithms/barrier_nary.c intra/algorithms/barrier_flag_tree.c \
    intra/algorithms/gather_nary.c intra/algorithms/gather_single_copy.c \
    intra/algorithms/scatter_nary.c intra/algorithms/scatter_single_copy.c \
    intra/algorithms/scan_nary.c \
    intra/algorithms/exscan_nary.c \
    intra/algorithms/alltoall_nary.c intra/algorithms/alltoall_single_copy.c
hx_sources += $(intra_algorithms) intra/algorithms/algorithms.h intra/algorithms/domains.h \
    intra/algorithms/owners.h intra/algorithms/prefix_apply.c intra/algorithms/scan_slots.h \
    intra/algorithms/single_copy.h
