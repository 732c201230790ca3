# SPDX-License-Identifier: BSD-3-Clause
bin_PROGRAMS += tools/coll_info
tools_coll_info_SOURCES = tools/coll_info.c tools/coll_info.h tools/info_options.c tools/info_algorithms.c tools/info_here.c \
    tools/info_print.c tools/options.c tools/options.h
tools_coll_info_CFLAGS = $(AM_CFLAGS)
tools_coll_info_LDADD = libhierax_internal.la $(JSON_C_LIBS)

dist_tests_list += tests/tools/coll_info.sh
