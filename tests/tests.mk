# SPDX-License-Identifier: BSD-3-Clause
check_programs_list += tests/runtime/test_env tests/runtime/test_error tests/runtime/test_stream tests/runtime/test_wait tests/runtime/test_memcpy
tests_runtime_test_env_SOURCES = tests/runtime/test_env.c
tests_runtime_test_env_LDADD = $(HX_TEST_LIBS)
tests_runtime_test_error_SOURCES = tests/runtime/test_error.c
tests_runtime_test_error_LDADD = $(HX_TEST_LIBS)
tests_runtime_test_stream_SOURCES = tests/runtime/test_stream.c
tests_runtime_test_stream_LDADD = $(HX_TEST_LIBS)
tests_runtime_test_memcpy_SOURCES = tests/runtime/test_memcpy.c
tests_runtime_test_memcpy_LDADD = $(HX_TEST_LIBS)
tests_runtime_test_wait_SOURCES = tests/runtime/test_wait.c
tests_runtime_test_wait_LDADD = $(HX_TEST_LIBS)

dist_tests_list += tests/layering.sh tests/headers.sh tests/exports.sh
