/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of what the benchmark, and the tools that share its options, can measure. Not the library's: coll_bench_mpi has none. */
#include "tools/common/bench.h"

const char *const bench_collective_names[] = {
#define HX_COLL(ID, name, gives, gets, traits) #name,
#define HX_COLL_WITH_COUNTS(ID, name, of) #name,
#include "runtime/base/coll.def"
    NULL};
const char *const bench_dtype_names[] = {
#define HX_DTYPE(ID, name, type, class, part, digits, mpi) #name,
#include "runtime/base/dtype.def"
    NULL};
const char *const bench_op_names[] = {
#define HX_OP(ID, name, classes, input, identity, fold, mpi) #name,
#include "runtime/base/dtype.def"
    NULL};
const char *const bench_loop_names[] = {"cold", "warm", "ahead", NULL};
