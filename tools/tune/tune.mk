# SPDX-License-Identifier: BSD-3-Clause
bin_PROGRAMS += tools/coll_tune
tools_coll_tune_SOURCES = tools/tune/coll_tune.c tools/tune/coll_tune.h tools/tune/tune_options.c tools/tune/tune_points.c tools/tune/tune_files.c tools/tune/tune_measure.c \
    tools/tune/tune_survey.c tools/tune/tune_judge.c tools/tune/tune_confirm.c tools/tune/tune_model.c \
    tools/tune/tune_report.c tools/tune/tune_race.c tools/tune/tune_race.h tools/common/bench_backend_hierax.c
tools_coll_tune_CFLAGS = $(AM_CFLAGS)
tools_coll_tune_LDADD = tools/libbench.la libhierax_internal.la $(JSON_C_LIBS)

check_programs_list += tests/tools/test_tune_race
tests_tools_test_tune_race_SOURCES = tests/tools/test_tune_race.c tools/tune/tune_race.c
tests_tools_test_tune_race_CFLAGS = $(AM_CFLAGS)
dist_tests_list += tests/tools/coll_tune.sh
