# SPDX-License-Identifier: BSD-3-Clause
hx_sources += intra/segment/join.c intra/segment/porter.c intra/segment/porter.h intra/segment/socket.c \
    intra/segment/socket.h
