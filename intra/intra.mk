# SPDX-License-Identifier: BSD-3-Clause
hx_sources += intra/join.c intra/porter.h intra/porter.c intra/socket.h intra/socket.c intra/gather_nary.c intra/scatter_nary.c
