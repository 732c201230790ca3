# SPDX-License-Identifier: BSD-3-Clause
hx_sources += runtime/log.c runtime/log.h runtime/error.c runtime/error.h runtime/env.h runtime/env.def
EXTRA_DIST += runtime/version.map
