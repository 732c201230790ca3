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
EXTRA_DIST += tests/golden
