# SPDX-License-Identifier: BSD-3-Clause
# The launcher takes only the store's server, not the library: nothing to load, and no libfabric in its process.
bin_PROGRAMS += tools/coll_run
tools_coll_run_SOURCES = tools/run/coll_run.c tools/run/coll_run.h tools/run/coll_run_bind.c tools/run/coll_run_job.c tools/run/coll_run_elastic.c tools/run/coll_run_elastic.h runtime/bootstrap/lobby.c \
    tools/run/coll_run_ranks.c tools/run/coll_run_hosts.c tools/run/coll_run_hosts.h tools/run/coll_run_hosts_agent.c tools/run/coll_run_hosts_list.c tools/run/coll_run_keeper.c tools/run/coll_run_frames.c tools/run/coll_run_reach.c \
    tools/run/coll_run_output.c tools/run/coll_run_guard.c tools/common/options.c tools/common/options.h tools/common/screen.c tools/common/screen.h tools/common/whole_file.c tools/common/whole_file.h \
    runtime/base/clock.c runtime/bootstrap/store_keys.c runtime/bootstrap/store.c runtime/bootstrap/store_requests.c runtime/bootstrap/store_wire.c runtime/base/keyvalue.c topo/shape.c topo/levels.c
tools_coll_run_CFLAGS = $(AM_CFLAGS)
tools_coll_run_LDADD = $(SODIUM_LIBS)
