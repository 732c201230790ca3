# SPDX-License-Identifier: BSD-3-Clause
hx_sources += runtime/reduce.h runtime/reduce_table.h runtime/reduce.c runtime/dtype.c

# The kernels, each file for one instruction set, which it names itself (empty on other architectures). No contraction
# to fused multiply-add: every instruction set must give the same bits.
hx_kernel_libs += libhierax_kernels.la
noinst_LTLIBRARIES += libhierax_kernels.la
libhierax_kernels_la_SOURCES = runtime/reduce_kernels.h runtime/reduce_half.h runtime/reduce_pairs.h runtime/reduce_baseline.c \
    runtime/reduce_avx2.c runtime/reduce_avx512.c
libhierax_kernels_la_CFLAGS = $(AM_CFLAGS) -ffp-contract=off

check_programs_list += tests/runtime/test_reduce
tests_runtime_test_reduce_SOURCES = tests/runtime/test_reduce.c
tests_runtime_test_reduce_LDADD = $(HX_TEST_LIBS) -lm

noinst_PROGRAMS += tests/runtime/bench_reduce
tests_runtime_bench_reduce_SOURCES = tests/runtime/bench_reduce.c
tests_runtime_bench_reduce_LDADD = libhierax_internal.la
