#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs of each MPI, with libhierax-mpi: its collectives give what MPI's own give, and it serves them. See alike.c.
. "$(dirname "$0")/../system/common.sh"
here=$top_builddir/tests/mpi
rounds=${TEST_ROUNDS:-4}
seed=${TEST_SEED:-$RANDOM}

# job MPI N NODES [NAME=VALUE...] -- COMMAND...: with the library preloaded
job() {
    local mpi=$1 n=$2 variables=("LD_PRELOAD=$top_builddir/.libs/libhierax-$1.so" "HX_NODES=$3") options=() variable
    shift 3
    while [ "$1" != -- ]; do
        variables+=("$1")
        shift
    done
    shift
    if [ "$mpi" = openmpi ]; then
        for variable in "${variables[@]}"; do options+=(-x "$variable"); done
        OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 120 mpirun.openmpi --oversubscribe -n "$n" "${options[@]}" "$@"
    else
        for variable in "${variables[@]}"; do options+=(-env "${variable%%=*}" "${variable#*=}"); done
        timeout 120 mpiexec.hydra -n "$n" "${options[@]}" "$@"
    fi >"$tmp/out" 2>"$tmp/err"
}

# alike MPI N NODES
alike() {
    job "$@" HXMPI=on HXMPI_STATS=1 -- "$here/alike-$1" "$rounds" "$seed" || { fail "$*: exit $?, seed $seed"; head -n 20 "$tmp/err" >&2; }
    has "$tmp/out" "seed $seed: 0 failures" "$*"
    [ "$(grep -c 'rank 0: MPI_[A-Z].* served$' "$tmp/err")" = 16 ] || { fail "$*: not all 16 collectives are served"; cat "$tmp/err" >&2; }
    ! grep -q 'does not run\|could not make' "$tmp/err" || { fail "$*: calls went to MPI"; cat "$tmp/err" >&2; }
}

# off MPI: nothing is served, the program runs
off() {
    job "$1" 2 1 HXMPI=off HXMPI_STATS=1 -- "$here/alike-$1" 1 "$seed" || fail "HXMPI=off: exit $?"
    grep -q 'rank 0: 0 of .* collective calls served' "$tmp/err" || fail "HXMPI=off: calls are served"
    job "$1" 2 1 HXMPI=of -- "$here/alike-$1" 1 "$seed" || fail "HXMPI=of: exit $?"
    [ "$(grep -c 'HXMPI=of is unknown; choices: on off' "$tmp/err")" = 1 ] || fail "HXMPI=of: not one line about it"
    job "$1" 2 2 HX_PROVIDER=none HXMPI=on HXMPI_STATS=1 -- "$here/alike-$1" 1 "$seed" || fail "no provider: exit $?"
    has "$tmp/err" 'Hierax cannot start, so MPI makes the collectives' "no provider"
    grep -q 'rank 0: 0 of .* collective calls served' "$tmp/err" || fail "no provider: calls are served"
}

some=
for mpi in openmpi mpich; do
    [ -x "$here/alike-$mpi" ] || continue
    some=yes
    alike $mpi 2 1
    alike $mpi 2 2
    [ $mpi = mpich ] || alike $mpi 5 2 # ranks of MPICH do not yield: with more ranks than cores each call of MPI takes milliseconds
    off $mpi
done
[ -n "$some" ] || { echo "no MPI here: ./configure says why" && exit 77; }
# A program without MPI is none of its business.
for library in "$top_builddir"/.libs/libhierax-{openmpi,mpich}.so; do
    [ ! -e "$library" ] || [ "$(LD_PRELOAD=$library /bin/echo well 2>&1)" = well ] || fail "$library harms a program without MPI"
done
finish
