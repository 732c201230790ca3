# SPDX-License-Identifier: BSD-3-Clause
bin_PROGRAMS += tools/coll_trace
tools_coll_trace_SOURCES = tools/coll_trace.c tools/coll_trace.h tools/trace_merge.c tools/trace_summary.c \
    tools/options.c tools/options.h tools/whole_file.c tools/whole_file.h tools/json_file.c tools/json_file.h
tools_coll_trace_CFLAGS = $(AM_CFLAGS)
tools_coll_trace_LDADD = $(JSON_C_LIBS)

dist_tests_list += tests/tools/coll_trace.sh
EXTRA_DIST += tests/tools/trace_check.py
