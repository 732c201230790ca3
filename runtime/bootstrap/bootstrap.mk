# SPDX-License-Identifier: BSD-3-Clause
hx_sources += runtime/bootstrap/bootstrap.c runtime/bootstrap/bootstrap.h runtime/bootstrap/callbacks.c \
    runtime/bootstrap/launcher.h runtime/bootstrap/pmi1.c runtime/bootstrap/pmix.c runtime/bootstrap/root.c \
    runtime/bootstrap/root.h runtime/bootstrap/single.c runtime/bootstrap/store.c runtime/bootstrap/store.h \
    runtime/bootstrap/lobby_client.c runtime/bootstrap/lobby_client.h runtime/bootstrap/lobby.h \
    runtime/bootstrap/store_client.c runtime/bootstrap/store_client.h runtime/bootstrap/store_keys.c runtime/bootstrap/store_keys.h \
    runtime/bootstrap/store_requests.c runtime/bootstrap/store_server.h runtime/bootstrap/store_thread.c \
    runtime/bootstrap/store_wire.c
