/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of what the benchmark, and the tools that share its options, can measure. Not the library's: coll_bench_mpi has none. */
#include "tools/common/bench.h"

const char *const bench_collective_names[] = {
#define HX_COLL(ID, name, gives, gets, traits) #name,
#define HX_COLL_WITH_COUNTS(ID, name, of) #name,
#include "runtime/base/coll.def"
    NULL};
const char *const bench_dtype_names[] = {"int8",          "int16",         "int32",       "int64",       "uint8",
                                         "uint16",        "uint32",        "uint64",      "float16",     "bfloat16",
                                         "float32",       "float64",       "complex64",   "complex128",  "byte",
                                         "float32_index", "float64_index", "int32_index", "int64_index", NULL};
const char *const bench_op_names[] = {"sum",  "prod", "min",  "max",  "avg", "band", "bor",
                                      "bxor", "land", "lor", "lxor", "minloc", "maxloc", NULL};
