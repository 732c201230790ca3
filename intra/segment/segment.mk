# SPDX-License-Identifier: BSD-3-Clause
hx_sources += intra/segment/acceptor.c intra/segment/host.c intra/segment/join.c intra/segment/segment.h intra/segment/socket.c
