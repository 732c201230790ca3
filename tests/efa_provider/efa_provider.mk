# SPDX-License-Identifier: BSD-3-Clause
# EFA at its worst, without EFA: a libfabric provider that tests load through FI_PROVIDER_PATH.
check_LTLIBRARIES = tests/efa_provider/libefa-fi.la
tests_efa_provider_libefa_fi_la_SOURCES = tests/efa_provider/efa.h tests/efa_provider/rules.def \
    tests/efa_provider/worst.def tests/efa_provider/worst.c tests/efa_provider/provider.c tests/efa_provider/nic.c tests/efa_provider/memory.c \
    tests/efa_provider/queue.c tests/efa_provider/contract.c \
    tests/efa_provider/endpoint.c tests/efa_provider/wire.c
tests_efa_provider_libefa_fi_la_LIBADD = $(LIBFABRIC_LIBS)
tests_efa_provider_libefa_fi_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere

check_programs_list += tests/efa_provider/test_contract
tests_efa_provider_test_contract_SOURCES = tests/efa_provider/test_contract.c tests/efa_provider/device.h
tests_efa_provider_test_contract_LDADD = $(LIBFABRIC_LIBS) $(CMOCKA_LIBS)
check_programs_list += tests/efa_provider/test_worst
tests_efa_provider_test_worst_SOURCES = tests/efa_provider/test_worst.c tests/efa_provider/device.h
tests_efa_provider_test_worst_LDADD = $(LIBFABRIC_LIBS) $(CMOCKA_LIBS)

check_programs_list += tests/efa_provider/test_queue tests/efa_provider/test_copies tests/efa_provider/test_window

noinst_PROGRAMS += tests/efa_provider/after_death
tests_efa_provider_after_death_LDADD = libhierax.la
tests_efa_provider_after_death_LDFLAGS = $(in_tree)

noinst_PROGRAMS += tests/efa_provider/remap

dist_tests_list += tests/efa_provider/endpoint.sh tests/efa_provider/mutants.sh tests/efa_provider/remap.sh \
    tests/efa_provider/differential.sh tests/efa_provider/errors.sh tests/efa_provider/ahead.sh tests/efa_provider/after_death.sh \
    tests/efa_provider/scarce.sh tests/efa_provider/refused.sh tests/efa_provider/queues.sh
EXTRA_DIST += tests/efa_provider/plant.sh
