# SPDX-License-Identifier: BSD-3-Clause
# Hosts and a Slurm cluster on one machine: needs root, so it is not part of make check but of tools/check.
lab_tests = tests/lab/lab_test.sh tests/lab/hosts_test.sh tests/lab/overlap_test.sh tests/lab/nics_test.sh \
    tests/lab/rails_test.sh tests/lab/addresses_test.sh tests/lab/rate_test.sh tests/lab/pipeline_test.sh \
    tests/lab/ring_order_test.sh tests/lab/reorder_test.sh tests/lab/slow_test.sh tests/lab/launchers_test.sh tests/lab/ssh_test.sh \
    tests/lab/pages_test.sh tests/lab/survivors_test.sh tests/lab/parted_test.sh tests/lab/churn_test.sh tests/lab/wire_test.sh
noinst_PROGRAMS += tests/lab/overlap tests/lab/sum tests/lab/wire_times
tests_lab_overlap_LDADD = libhierax.la
tests_lab_overlap_LDFLAGS = $(in_tree)
tests_lab_wire_times_LDADD = libhierax.la
tests_lab_wire_times_LDFLAGS = $(in_tree)
tests_lab_sum_SOURCES = tests/examples/sum.c
tests_lab_sum_LDADD = libhierax.la
tests_lab_sum_LDFLAGS = $(in_tree)

EXTRA_DIST += $(lab_tests) tests/lab/lab tests/lab/twice.sh tests/lab/cases.sh tests/lab/pmi1_hello.sh tests/lab/pmix_hello.c \
    tests/lab/mpi_hello.c tests/lab/start_time.sh tests/debian.sh tests/peers.sh tests/shrink_time.sh tests/shrink_time.c tests/arm.sh tools/setup tools/quickstart tools/check

check-lab: all tests/runtime/bootstrap/boot_ring
	@failed=0; for script in $(filter-out $(lab_left_out),$(lab_tests)); do \
	    $(AM_TESTS_ENVIRONMENT) $(srcdir)/tests/lab/twice.sh $(srcdir)/$$script || test $$? = 77 || failed=1; \
	done; exit $$failed
.PHONY: check-lab
