# SPDX-License-Identifier: BSD-3-Clause
hx_sources += inter/fabric/address.c inter/fabric/bounce.c inter/fabric/cancel.c inter/fabric/close.c \
    inter/fabric/completion.c inter/fabric/control_message.c inter/fabric/credit.c inter/fabric/endpoint.c \
    inter/fabric/fabric.h inter/fabric/liveness.c inter/fabric/message.c inter/fabric/negotiate.c inter/fabric/nic.c \
    inter/fabric/proof.c inter/fabric/region.c inter/fabric/room.c inter/fabric/signals.c inter/fabric/sockets.c \
    inter/fabric/strangers.c inter/fabric/stripe.h inter/fabric/unexpected.c inter/fabric/write.c
