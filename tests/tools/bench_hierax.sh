#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# coll_bench over Hierax: every collective, type and operation compared with the reference, on one node and on several.
set -uo pipefail
bench=$top_builddir/tools/coll_bench
run=$top_builddir/tools/coll_run
[ -x "$run" ] || { echo "skipped: coll_run is not built"; exit 77; }

nodes=1
launch() {
    local n=$1
    shift
    if [ $nodes -gt 1 ]; then
        "$run" -n "$n" --nodes $((nodes < n ? nodes : n)) -- "$@"
    else
        "$run" -n "$n" -- "$@"
    fi
}
. "$top_srcdir/tests/tools/bench_cases.sh"

dtypes="int8 int16 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float64 complex64 complex128"
int_ops="prod min max band bor bxor land lor lxor"
float_ops="prod min max avg"
preload="env LD_PRELOAD=$tmp/broken.so"
broken_flags="-I$top_srcdir/runtime"
broken_c='#include <dlfcn.h>
#include <hierax.h>
hx_status_t hx_allreduce(const void *in, void *out, size_t n, hx_dtype_t t, hx_op_t op, hx_comm_t *c)
{
    hx_status_t (*real)(const void *, void *, size_t, hx_dtype_t, hx_op_t, hx_comm_t *);
    real = dlsym(RTLD_NEXT, "hx_allreduce");
    hx_status_t status = real(in, out, n, t, op, c);
    if (n > 1000)
        ((float *)out)[11] += 1;
    return status;
}'
run_cases
passes 2 allreduce reduce_scatter_block allgather --dtype byte --op bxor --max 4K --factor 16 # no sums of bytes
for nodes in 2 3; do
    for n in 2 3 5; do
        passes $n allreduce reduce_scatter_block allgather barrier --max 256K --factor 32
    done
done
[ $failures = 0 ]
