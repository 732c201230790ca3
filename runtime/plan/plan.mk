# SPDX-License-Identifier: BSD-3-Clause
hx_sources += runtime/plan/builder.c runtime/plan/check.c runtime/plan/check.h runtime/plan/check_memory.c \
    runtime/plan/check_memory.h runtime/plan/check_operand.c runtime/plan/check_run.h runtime/plan/check_setup.c \
    runtime/plan/check_step.c runtime/plan/check_transfer.c runtime/plan/print.c runtime/plan/print.h \
    runtime/plan/graph.c runtime/plan/graph.h \
    runtime/plan/items.h runtime/plan/lane.h runtime/plan/layout.c runtime/plan/layout.h runtime/plan/op.def runtime/plan/plan.c \
    runtime/plan/plan.h runtime/plan/spaces.c
