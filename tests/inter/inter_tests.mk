# SPDX-License-Identifier: BSD-3-Clause
noinst_HEADERS += tests/inter/fabric/job.h
check_programs_list += tests/inter/algorithms/test_rounds tests/inter/algorithms/test_schedule tests/inter/algorithms/test_seed \
    tests/inter/fabric/test_endpoint tests/inter/fabric/test_forged tests/inter/fabric/test_meeting tests/inter/fabric/test_negotiate
noinst_PROGRAMS += tests/inter/fabric/bench_endpoint
