# SPDX-License-Identifier: BSD-3-Clause
bin_PROGRAMS += tools/coll_trace
tools_coll_trace_SOURCES = tools/trace/coll_trace.c tools/trace/coll_trace.h tools/trace/trace_merge.c tools/trace/trace_summary.c \
    $(json_sources)
tools_coll_trace_CFLAGS = $(AM_CFLAGS)
tools_coll_trace_LDADD = $(JSON_C_LIBS)

dist_tests_list += tests/tools/coll_trace.sh
EXTRA_DIST += tests/tools/trace_check.py
