# SPDX-License-Identifier: BSD-3-Clause
noinst_PROGRAMS += tests/hier/live_counters
tests_hier_live_counters_SOURCES = tests/hier/live_counters.c
tests_hier_live_counters_LDADD = libhierax_internal.la

dist_tests_list += tests/hier/live_counters.sh
