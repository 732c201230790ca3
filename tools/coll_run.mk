# SPDX-License-Identifier: BSD-3-Clause
# The launcher takes only the store's server, not the library: nothing to load, and no libfabric in its process.
bin_PROGRAMS += tools/coll_run
tools_coll_run_SOURCES = tools/coll_run.c tools/coll_run.h tools/coll_run_bind.c tools/coll_run_job.c \
    tools/coll_run_output.c tools/coll_run_guard.c tools/options.c tools/options.h tools/whole_file.c tools/whole_file.h \
    runtime/clock.c runtime/bootstrap_channel.c runtime/bootstrap_store.c runtime/bootstrap_store_wire.c runtime/keyvalue.c topo/shape.c topo/levels.c
tools_coll_run_CFLAGS = $(AM_CFLAGS)
tools_coll_run_LDADD = $(SODIUM_LIBS)
