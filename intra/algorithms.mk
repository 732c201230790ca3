# SPDX-License-Identifier: BSD-3-Clause
hx_sources += intra/algorithms.c intra/algorithms.h intra/owners.h \
    intra/allreduce_nary.c intra/allreduce_nary_sliced.c intra/allreduce_last_arriver.c intra/reduce_scatter_nary.c intra/allgather_nary.c intra/bcast_nary.c \
    intra/reduce_nary.c intra/reduce_nary_sliced.c intra/barrier_nary.c intra/barrier_flag_tree.c \
    intra/domains.h intra/allreduce_levels.c intra/reduce_scatter_levels.c intra/allgather_levels.c \
    intra/lower.h intra/scan_nary.c intra/exscan_nary.c intra/prefix_apply.c \
    intra/alltoall_nary.c \
    intra/single_copy.h intra/allreduce_single_copy.c intra/reduce_scatter_single_copy.c intra/allgather_single_copy.c \
    intra/bcast_single_copy.c intra/reduce_single_copy.c intra/gather_single_copy.c intra/alltoall_single_copy.c
