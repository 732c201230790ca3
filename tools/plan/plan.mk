# SPDX-License-Identifier: BSD-3-Clause
bin_PROGRAMS += tools/coll_plan
tools_coll_plan_SOURCES = tools/plan/coll_plan.c tools/plan/coll_plan.h tools/plan/plan_options.c tools/common/names.c tools/plan/plan_help.c tools/plan/plan_explain.c tools/plan/plan_cost.c \
    tools/plan/plan_json.c tools/plan/plan_rounds.c tools/plan/plan_rounds.h tools/plan/plan_draw.c \
    tools/plan/plan_compare.c tools/plan/plan_verify.c tools/plan/plan_steps.c \
    $(report_sources)
tools_coll_plan_CFLAGS = $(AM_CFLAGS)
tools_coll_plan_LDADD = libhierax_internal.la $(JSON_C_LIBS) -lm

dist_tests_list += tests/tools/coll_plan.sh tests/tools/plan_cost.sh tests/tools/plan_draw.sh tests/tools/plan_job.sh tests/tools/plan_work.sh
EXTRA_DIST += tests/tools/says.sh
