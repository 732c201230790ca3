# SPDX-License-Identifier: BSD-3-Clause
hx_sources += runtime/ports/node.c runtime/ports/node.h runtime/ports/p2p_head.h runtime/ports/ports.h runtime/ports/transport.h
