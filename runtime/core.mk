# SPDX-License-Identifier: BSD-3-Clause
hx_sources += runtime/plan.c runtime/plan.h runtime/builder.c runtime/layout.c runtime/layout.h runtime/op.def
