#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The benchmark itself, over an MPI that is known to work: what it checks, refuses and writes.
set -uo pipefail
bench=$top_builddir/tools/coll_bench_mpi
mpirun=$(command -v mpirun.openmpi) || { echo "skipped: no mpirun.openmpi"; exit 77; }
[ -x "$bench" ] || { echo "skipped: coll_bench_mpi is not built (configure found no mpicc)"; exit 77; }

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
launch() {
    local n=$1
    shift
    "$mpirun" --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 --mca pml ob1 --mca btl self,vader \
        --mca orte_execute_quiet 1 --mca odls_base_sigkill_timeout 0 -n "$n" "$@"
}
. "$top_srcdir/tests/tools/bench_cases.sh"

dtypes="int8 int16 int64 uint8 uint16 uint32 uint64 float64 complex64 complex128"
int_ops="prod min max band bor bxor land lor lxor"
float_ops="prod min max"
preload="env LD_PRELOAD=$tmp/broken.so"
broken_flags=$(mpicc.openmpi --showme:compile 2>/dev/null)
broken_c='#include <mpi.h>
int MPI_Allreduce(const void *in, void *out, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c)
{
    BREAK(PMPI_Allreduce(in, out, n, t, op, c));
}'
run_cases
refuses 'does not define --op=sum for --dtype=bfloat16' allreduce --dtype bfloat16
launch 2 "$bench" allreduce --max 8 --json "$tmp/j" --csv "$tmp/c" >"$tmp/out" || fail "exit $?"
! grep -Eq 'rounds|sent|plan|unknown' "$tmp/out" "$tmp/c" "$tmp/j" || fail "columns that nobody can fill"
[ $failures = 0 ]
