# SPDX-License-Identifier: BSD-3-Clause
hx_sources += runtime/base/clock.c runtime/base/clock.h runtime/base/coll.c runtime/base/coll.def runtime/base/coll.h runtime/base/constant.def runtime/base/constants.c runtime/base/constants.h runtime/base/counter.def runtime/base/counters.h runtime/base/dtype.c runtime/base/dtype.def runtime/base/dtype.h \
    runtime/base/env.c runtime/base/env.def runtime/base/env.h runtime/base/env_value.c runtime/base/env_value.h \
    runtime/base/error.c runtime/base/error.h runtime/base/files.c runtime/base/files.h runtime/base/handle.c \
    runtime/base/handle.h runtime/base/keyvalue.c runtime/base/keyvalue.h runtime/base/log.c runtime/base/log.h \
    runtime/base/memcpy.c runtime/base/memcpy.h runtime/base/probe.h runtime/base/process.c runtime/base/process.h \
    runtime/base/reduce.c runtime/base/reduce.h runtime/base/reduce_table.h runtime/base/name_distance.h runtime/base/provider_name.h runtime/base/size.h runtime/base/sockets.c \
    runtime/base/sockets.h runtime/base/strangers.h runtime/base/stream.c runtime/base/stream.h runtime/base/streams.h \
    runtime/base/trace.c runtime/base/trace.h runtime/base/user_table.c runtime/base/user_table.h runtime/base/version.h \
    runtime/base/wire.c runtime/base/wire.h

# The kernels, each file for one instruction set, which it names itself (empty on other architectures). No contraction
# to fused multiply-add: every instruction set must give the same bits.
hx_kernel_libs += libhierax_kernels.la
noinst_LTLIBRARIES += libhierax_kernels.la
libhierax_kernels_la_SOURCES = runtime/base/reduce_kernels.h runtime/base/reduce_complex.h runtime/base/reduce_half.h \
    runtime/base/reduce_pairs.h runtime/base/target.h runtime/base/wire_kernels.h     runtime/base/reduce_baseline.c runtime/base/reduce_avx2.c runtime/base/reduce_avx512.c
libhierax_kernels_la_CFLAGS = $(AM_CFLAGS) -ffp-contract=off
