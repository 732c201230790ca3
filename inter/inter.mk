# SPDX-License-Identifier: BSD-3-Clause
hx_sources += inter/fabric.h inter/endpoint.c inter/negotiate.c inter/nic.c inter/signals.c inter/address.c inter/message.c \
    inter/stripe.h inter/cancel.c inter/close.c inter/credit.c inter/write.c inter/early.c inter/word.c inter/late.c \
    inter/completion.c inter/bounce.c inter/region.c inter/room.c inter/sockets.c inter/strangers.c inter/proof.c

check_programs_list += tests/inter/test_negotiate tests/inter/test_endpoint tests/inter/test_forged
tests_inter_test_negotiate_SOURCES = tests/inter/test_negotiate.c
tests_inter_test_negotiate_LDADD = $(HX_TEST_LIBS)
tests_inter_test_endpoint_SOURCES = tests/inter/test_endpoint.c tests/inter/job.h
tests_inter_test_endpoint_LDADD = $(HX_TEST_LIBS)
tests_inter_test_forged_SOURCES = tests/inter/test_forged.c tests/inter/job.h
tests_inter_test_forged_LDADD = $(HX_TEST_LIBS)

noinst_PROGRAMS += tests/inter/bench_endpoint
tests_inter_bench_endpoint_SOURCES = tests/inter/bench_endpoint.c
tests_inter_bench_endpoint_LDADD = libhierax_internal.la
