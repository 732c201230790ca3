# SPDX-License-Identifier: BSD-3-Clause
check_programs_list += tests/hier/test_compose tests/hier/test_cost tests/hier/test_slots tests/hier/test_table tests/hier/test_ring
tests_hier_test_compose_SOURCES = tests/hier/test_compose.c
tests_hier_test_compose_LDADD = $(HX_TEST_LIBS)
tests_hier_test_cost_SOURCES = tests/hier/test_cost.c
tests_hier_test_cost_LDADD = $(HX_TEST_LIBS) -lm

tests_hier_test_table_SOURCES = tests/hier/test_table.c
tests_hier_test_table_LDADD = $(HX_TEST_LIBS)

# Any bytes as a table: what the fuzzer has found.
check_programs_list += tests/hier/test_table_corpus
tests_hier_test_table_corpus_SOURCES = tests/hier/test_table_corpus.c tests/hier/fuzz_table.c tests/hier/fuzz_table.h
tests_hier_test_table_corpus_LDADD = libhierax_internal.la
EXTRA_DIST += tests/hier/fuzz_table.sh tests/hier/table.dict tests/hier/table_corpus

tests_hier_test_ring_SOURCES = tests/hier/test_ring.c
tests_hier_test_ring_LDADD = $(HX_TEST_LIBS)

tests_hier_test_slots_SOURCES = tests/hier/test_slots.c
tests_hier_test_slots_LDADD = $(HX_TEST_LIBS)

noinst_PROGRAMS += tests/hier/live_counters
tests_hier_live_counters_SOURCES = tests/hier/live_counters.c
tests_hier_live_counters_LDADD = libhierax_internal.la

dist_tests_list += tests/hier/live_counters.sh

noinst_PROGRAMS += tests/hier/site_job
tests_hier_site_job_SOURCES = tests/hier/site_job.c
tests_hier_site_job_LDADD = libhierax_internal.la
dist_tests_list += tests/hier/site_table.sh
