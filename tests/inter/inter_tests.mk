# SPDX-License-Identifier: BSD-3-Clause
check_programs_list += tests/inter/test_negotiate tests/inter/test_endpoint tests/inter/test_forged
tests_inter_test_negotiate_SOURCES = tests/inter/test_negotiate.c
tests_inter_test_negotiate_LDADD = $(HX_TEST_LIBS)
tests_inter_test_endpoint_SOURCES = tests/inter/test_endpoint.c tests/inter/job.h
tests_inter_test_endpoint_LDADD = $(HX_TEST_LIBS)
tests_inter_test_forged_SOURCES = tests/inter/test_forged.c tests/inter/job.h
tests_inter_test_forged_LDADD = $(HX_TEST_LIBS)
noinst_PROGRAMS += tests/inter/bench_endpoint
tests_inter_bench_endpoint_SOURCES = tests/inter/bench_endpoint.c
tests_inter_bench_endpoint_LDADD = libhierax_internal.la
check_programs_list += tests/inter/test_rounds tests/inter/test_schedule tests/inter/test_seed
tests_inter_test_schedule_SOURCES = tests/inter/test_schedule.c
tests_inter_test_schedule_LDADD = $(HX_TEST_LIBS)
tests_inter_test_seed_SOURCES = tests/inter/test_seed.c tests/runtime/plans.h
tests_inter_test_seed_LDADD = $(HX_TEST_LIBS)
tests_inter_test_rounds_SOURCES = tests/inter/test_rounds.c tests/runtime/plans.h
tests_inter_test_rounds_LDADD = $(HX_TEST_LIBS)
