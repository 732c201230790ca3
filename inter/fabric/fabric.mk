# SPDX-License-Identifier: BSD-3-Clause
hx_sources += inter/fabric/address.c inter/fabric/bounce.c inter/fabric/cancel.c inter/fabric/chunk_post.c \
    inter/fabric/close.c inter/fabric/completion.c inter/fabric/completion_error.c inter/fabric/control_message.c \
    inter/fabric/credit.c inter/fabric/dead_peer.c inter/fabric/device_unused.c inter/fabric/endpoint.c inter/fabric/fabric.h \
    inter/fabric/kernel_symbols.c inter/fabric/library.c inter/fabric/library.h inter/fabric/meeting.c inter/fabric/message.c inter/fabric/negotiate.c inter/fabric/nic.c inter/fabric/objects.h inter/fabric/path.c \
    inter/fabric/proof.c inter/fabric/provider.c inter/fabric/provider.h inter/fabric/rail.c inter/fabric/region.c \
    inter/fabric/sockets.c inter/fabric/strangers.c inter/fabric/tcp_space.c inter/fabric/unexpected.c \
    inter/fabric/write.c
