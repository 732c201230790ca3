# SPDX-License-Identifier: BSD-3-Clause
# Like coll_run, it takes only the store's server, not the library.
bin_PROGRAMS += tools/coll_store
tools_coll_store_SOURCES = tools/store/coll_store.c tools/common/options.c tools/common/options.h tools/common/screen.c \
    tools/common/screen.h tools/common/whole_file.c tools/common/whole_file.h runtime/base/clock.c runtime/base/keyvalue.c \
    runtime/bootstrap/lobby.c runtime/bootstrap/lobby.h runtime/bootstrap/store_keys.c runtime/bootstrap/store.c \
    runtime/bootstrap/store_requests.c runtime/bootstrap/store_wire.c
tools_coll_store_CFLAGS = $(AM_CFLAGS)
tools_coll_store_LDADD = $(SODIUM_LIBS)
