# SPDX-License-Identifier: BSD-3-Clause
bin_PROGRAMS += tools/coll_info
tools_coll_info_SOURCES = tools/coll_info.c tools/coll_info.h tools/info_options.c tools/info_algorithms.c tools/info_here.c \
    tools/info_print.c tools/info_table.c tools/options.c tools/options.h \
    tools/doctor.c tools/doctor.h tools/doctor_env.c tools/doctor_hosts.c tools/doctor_job.c tools/doctor_machine.c \
    tools/doctor_memory.c tools/doctor_network.c tools/doctor_report.c tools/doctor_share.c
tools_coll_info_CFLAGS = $(AM_CFLAGS)
tools_coll_info_LDADD = libhierax_internal.la $(JSON_C_LIBS)

dist_tests_list += tests/tools/coll_info.sh

noinst_PROGRAMS += tests/tools/plant
tests_tools_plant_SOURCES = tests/tools/plant.c
dist_tests_list += tests/tools/doctor.sh
