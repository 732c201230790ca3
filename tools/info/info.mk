# SPDX-License-Identifier: BSD-3-Clause
bin_PROGRAMS += tools/coll_info
tools_coll_info_SOURCES = tools/info/coll_info.c tools/info/coll_info.h tools/info/info_options.c tools/info/info_algorithms.c tools/info/info_here.c \
    tools/info/info_print.c tools/info/info_table.c $(json_sources) \
    tools/info/doctor.c tools/info/doctor.h tools/info/doctor_busy.c tools/info/doctor_checks.c tools/info/doctor_env.c \
    tools/info/doctor_job.c tools/info/doctor_links.c tools/info/doctor_links.h tools/info/doctor_links_judge.c \
    tools/info/doctor_machine.c tools/info/doctor_network.c tools/info/doctor_share.c
tools_coll_info_CFLAGS = $(AM_CFLAGS)
tools_coll_info_LDADD = libhierax_internal.la $(JSON_C_LIBS)

dist_tests_list += tests/tools/coll_info.sh

check_programs_list += tests/tools/test_doctor_links
tests_tools_test_doctor_links_SOURCES = tests/tools/test_doctor_links.c tools/info/doctor_links_judge.c
tests_tools_test_doctor_links_CFLAGS = $(AM_CFLAGS)
noinst_PROGRAMS += tests/tools/plant
dist_tests_list += tests/tools/doctor.sh
