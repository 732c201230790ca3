# SPDX-License-Identifier: BSD-3-Clause
bin_PROGRAMS += tools/coll_plan
tools_coll_plan_SOURCES = tools/coll_plan.c tools/coll_plan.h tools/plan_options.c tools/plan_help.c tools/plan_explain.c tools/plan_cost.c \
    tools/plan_cost.h tools/plan_json.c tools/plan_rounds.c tools/plan_rounds.h tools/plan_draw.c \
    tools/plan_compare.c tools/plan_verify.c \
    tools/options.c tools/options.h tools/whole_file.c tools/whole_file.h tools/svg_plot.c tools/svg_plot.h
tools_coll_plan_CFLAGS = $(AM_CFLAGS)
tools_coll_plan_LDADD = libhierax_internal.la $(JSON_C_LIBS) -lm

dist_tests_list += tests/tools/coll_plan.sh tests/tools/plan_cost.sh tests/tools/plan_draw.sh tests/tools/plan_time.sh
EXTRA_DIST += tests/tools/says.sh
