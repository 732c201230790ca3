# SPDX-License-Identifier: BSD-3-Clause
hx_sources += runtime/bootstrap.c runtime/bootstrap_channel.c runtime/bootstrap_channel.h runtime/bootstrap.h runtime/bootstrap_kind.h runtime/bootstrap_pmi1.c \
    runtime/bootstrap_pmix.c runtime/bootstrap_serve.c runtime/bootstrap_serve.h runtime/bootstrap_single.c \
    runtime/bootstrap_store.c runtime/bootstrap_store.h runtime/bootstrap_store_wire.c runtime/bootstrap_store_wire.h \
    runtime/bootstrap_tcp.c runtime/bootstrap_user.c runtime/process.c runtime/process.h runtime/sockets.c runtime/sockets.h runtime/keyvalue.c runtime/keyvalue.h

# boot_ring alone is a job of one rank; the scripts start it by each launcher.
check_programs_list += tests/runtime/boot_ring tests/runtime/test_bootstrap
tests_runtime_boot_ring_SOURCES = tests/runtime/boot_ring.c
tests_runtime_boot_ring_LDADD = $(HX_TEST_LIBS)
tests_runtime_test_bootstrap_SOURCES = tests/runtime/test_bootstrap.c
tests_runtime_test_bootstrap_LDADD = $(HX_TEST_LIBS)
dist_tests_list += tests/runtime/bootstrap_launchers.sh tests/runtime/coll_run.sh
