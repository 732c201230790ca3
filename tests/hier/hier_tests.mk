# SPDX-License-Identifier: BSD-3-Clause
check_programs_list += tests/hier/test_rival tests/hier/test_slots tests/hier/compose/test_compose tests/hier/compose/test_neighbors tests/hier/compose/test_ring tests/hier/cost/test_cost tests/hier/cost/test_uplinks \
    tests/hier/table/test_table
noinst_PROGRAMS += tests/hier/live_counters tests/hier/table/site_job
tests_hier_live_counters_SOURCES = tests/hier/live_counters.c tools/common/bench_backend_hierax.c tools/common/names.c
tests_hier_live_counters_CFLAGS = $(AM_CFLAGS)
dist_tests_list += tests/hier/live_counters.sh tests/hier/table/site_table.sh

# Any bytes as a table: what the fuzzer has found.
check_programs_list += tests/hier/table/test_table_corpus
tests_hier_table_test_table_corpus_SOURCES = tests/hier/table/test_table_corpus.c tests/hier/table/fuzz_table.c tests/hier/table/fuzz_table.h
EXTRA_DIST += tests/hier/table/fuzz_table.sh tests/hier/table/table.dict tests/hier/table/table_corpus
