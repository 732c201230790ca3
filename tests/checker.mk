# SPDX-License-Identifier: BSD-3-Clause
check_programs_list += tests/runtime/test_check
tests_runtime_test_check_SOURCES = tests/runtime/test_check.c tests/runtime/plans.h
tests_runtime_test_check_LDADD = $(HX_TEST_LIBS)
