# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# For the scripts of this folder: jobs of MPI programs with libhierax-mpi preloaded.
. "$(dirname "$0")/../system/common.sh"
here=$top_builddir/tests/mpi
unset "${!HXMPI@}"
mpis=()
for mpi in openmpi mpich; do
    [ ! -e "$top_builddir/mpi/libhierax-$mpi.so" ] || mpis+=("$mpi")
done
[ ${#mpis[@]} != 0 ] || skip "no libhierax-mpi was built: ./configure says why"

# library MPI: to preload
library() { echo "$top_builddir/mpi/libhierax-$1.so"; }

# job MPI N NODES [NAME=VALUE...] -- COMMAND...: with the library preloaded, or with what LD_PRELOAD=... names. job_seconds: at most
job() {
    local mpi=$1 n=$2 variables=("LD_PRELOAD=$(library "$1")") options=() variable
    [ "$3" = 1 ] || variables+=("HX_NODES=$3")
    shift 3
    while [ "$1" != -- ]; do
        variables+=("$1")
        shift
    done
    shift
    [ "$mpi" = mpich ] || options=(--oversubscribe)
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout -k 5 "${job_seconds:-120}" "$(launcher "$mpi")" "${options[@]}" -n "$n" \
        env "${variables[@]}" "$@" </dev/null >"$tmp/out" 2>"$tmp/err"
}

launcher() { if [ "$1" = openmpi ]; then echo mpirun.openmpi; else echo mpiexec.hydra; fi; }

# why TEXT: the job has failed
why() { fail "$1"; head -n 20 "$tmp/out" "$tmp/err" >&2; }

# part MPI N NODES PART [PROGRAM]: the part of PROGRAM (default: hard) is right, and Hierax has served it
part() {
    job "$1" "$2" "$3" HXMPI_STATS=1 -- "$here/${5:-hard}-$1" "$4" || why "$*: exit $?"
    has "$tmp/out" "${5:-hard}: $4: good" "$*"
    grep -aq 'rank 0: MPI_[A-Z].* served$' "$tmp/err" || why "$*: nothing is served"
    ! grep -aq 'does not run\|could not make' "$tmp/err" || why "$*: calls went to MPI"
}
