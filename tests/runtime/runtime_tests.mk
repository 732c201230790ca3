# SPDX-License-Identifier: BSD-3-Clause
noinst_HEADERS += tests/runtime/engine/agree_world.h tests/runtime/plan/plans.h
check_programs_list += tests/runtime/base/test_constants tests/runtime/base/test_env tests/runtime/base/test_error tests/runtime/base/test_memcpy \
    tests/runtime/base/test_reduce \
    tests/runtime/base/test_stream tests/runtime/base/test_wire tests/runtime/engine/test_agree tests/runtime/engine/test_lost tests/runtime/engine/test_rivalry tests/runtime/engine/test_wait tests/runtime/plan/test_check tests/runtime/plan/test_check_match \
    tests/runtime/plan/test_print tests/runtime/start/test_directory
tests_runtime_engine_test_agree_SOURCES = tests/runtime/engine/test_agree.c tests/runtime/engine/agree_world.c
# steps come between two reads of a step
tests_runtime_engine_test_agree_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=hx_agree_part_of
noinst_PROGRAMS += tests/runtime/base/bench_reduce

# boot_ring alone is a job of one rank. The scripts start it by each launcher.
check_programs_list += tests/runtime/bootstrap/boot_ring tests/runtime/bootstrap/test_bootstrap
dist_tests_list += tests/runtime/bootstrap/launchers.sh tests/tools/coll_run.sh tests/tools/coll_store.sh
