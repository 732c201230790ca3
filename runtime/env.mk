# SPDX-License-Identifier: BSD-3-Clause
hx_sources += runtime/log.c runtime/log.h runtime/error.c runtime/error.h runtime/env.c runtime/env.h runtime/env.def \
    runtime/env_value.c runtime/env_value.h
EXTRA_DIST += runtime/version.map
