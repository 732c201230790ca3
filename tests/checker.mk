# SPDX-License-Identifier: BSD-3-Clause
check_programs_list += tests/runtime/test_check tests/runtime/test_check_match tests/runtime/test_explain tests/inter/test_rounds
tests_runtime_test_check_SOURCES = tests/runtime/test_check.c tests/runtime/plans.h
tests_runtime_test_check_LDADD = $(HX_TEST_LIBS)
tests_runtime_test_check_match_SOURCES = tests/runtime/test_check_match.c tests/runtime/plans.h
tests_runtime_test_check_match_LDADD = $(HX_TEST_LIBS)
tests_runtime_test_explain_SOURCES = tests/runtime/test_explain.c tests/runtime/plans.h
tests_runtime_test_explain_LDADD = $(HX_TEST_LIBS)
check_programs_list += tests/inter/test_schedule
tests_inter_test_schedule_SOURCES = tests/inter/test_schedule.c
tests_inter_test_schedule_LDADD = $(HX_TEST_LIBS)
check_programs_list += tests/inter/test_seed
tests_inter_test_seed_SOURCES = tests/inter/test_seed.c tests/runtime/plans.h
tests_inter_test_seed_LDADD = $(HX_TEST_LIBS)
tests_inter_test_rounds_SOURCES = tests/inter/test_rounds.c tests/runtime/plans.h
tests_inter_test_rounds_LDADD = $(HX_TEST_LIBS)
EXTRA_DIST += \
    tests/golden/alltoallv_mesh.txt tests/golden/alltoallv_pairwise.txt \
    tests/golden/alltoall_bruck.txt \
    tests/golden/alltoall_kbruck.txt \
    tests/golden/alltoall_mesh.txt \
    tests/golden/alltoall_nary.txt \
    tests/golden/alltoall_pairwise.txt \
    tests/golden/allgather_circulant.txt \
    tests/golden/allgather_kangaring.txt tests/golden/allgather_kbruck.txt \
    tests/golden/allreduce_kangaring.txt tests/golden/allreduce_last_arriver.txt \
    tests/golden/allreduce_double_tree.txt tests/golden/allreduce_exclusive_dissemination.txt \
    tests/golden/bcast_double_tree.txt tests/golden/bcast_circulant.txt tests/golden/reduce_circulant.txt \
    tests/golden/reduce_double_tree.txt \
    tests/golden/reduce_scatter_block_kangaring.txt \
    tests/golden/allgather_mesh.txt \
    tests/golden/allgather_nary.txt \
    tests/golden/allgather_rdh.txt \
    tests/golden/allgather_ring.txt \
    tests/golden/allreduce_circulant.txt \
    tests/golden/allreduce_mesh.txt \
    tests/golden/allreduce_mesh_single.txt \
    tests/golden/allreduce_nary.txt \
    tests/golden/allreduce_nary_sliced.txt \
    tests/golden/allreduce_rdh.txt \
    tests/golden/allreduce_recursive_doubling.txt \
    tests/golden/allreduce_ring.txt \
    tests/golden/allreduce_tree.txt \
    tests/golden/barrier_dissemination.txt \
    tests/golden/barrier_flag_tree.txt \
    tests/golden/barrier_mesh.txt \
    tests/golden/barrier_nary.txt \
    tests/golden/barrier_pairwise.txt \
    tests/golden/barrier_tree.txt \
    tests/golden/bcast_binomial.txt \
    tests/golden/bcast_chain.txt \
    tests/golden/bcast_flat.txt \
    tests/golden/bcast_knomial.txt \
    tests/golden/bcast_nary.txt \
    tests/golden/bcast_scatter_circulant.txt \
    tests/golden/bcast_scatter_ring.txt \
    tests/golden/gather_binomial.txt \
    tests/golden/gather_flat.txt \
    tests/golden/gather_nary.txt \
    tests/golden/scatter_binomial.txt \
    tests/golden/scatter_flat.txt \
    tests/golden/scatter_nary.txt \
    tests/golden/scan_mesh.txt \
    tests/golden/scan_recursive_doubling.txt \
    tests/golden/scan_chain.txt \
    tests/golden/scan_nary.txt \
    tests/golden/exscan_mesh.txt \
    tests/golden/exscan_recursive_doubling.txt \
    tests/golden/exscan_exclusive_dissemination.txt \
    tests/golden/exscan_chain.txt \
    tests/golden/exscan_nary.txt \
    tests/golden/reduce_binomial.txt \
    tests/golden/reduce_chain.txt \
    tests/golden/reduce_flat.txt \
    tests/golden/reduce_knomial.txt \
    tests/golden/reduce_nary.txt \
    tests/golden/reduce_nary_sliced.txt \
    tests/golden/reduce_scatter_gather.txt \
    tests/golden/reduce_scatter_block_circulant.txt \
    tests/golden/reduce_scatter_block_mesh.txt \
    tests/golden/reduce_scatter_block_nary.txt \
    tests/golden/reduce_scatter_block_rdh.txt \
    tests/golden/reduce_scatter_block_ring.txt
