# SPDX-License-Identifier: BSD-3-Clause
hx_sources += runtime/check.c runtime/check.h runtime/check_run.h runtime/check_setup.c runtime/check_operand.c runtime/check_step.c \
    runtime/check_transfer.c runtime/check_traffic.c runtime/check_memory.c runtime/check_memory.h runtime/explain.c runtime/explain.h
