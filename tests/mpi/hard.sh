#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# libhierax-mpi with threads, many communicators and wrong starts: sums are right, nothing hangs, and one line says what is wrong. See hard.c.
. "$(dirname "$0")/jobs.sh"

# off MPI N NODES TEXT [NAME=VALUE...]: one line has TEXT (none if TEXT is empty), nothing is served, the program runs
off() {
    local mpi=$1 n=$2 nodes=$3 text=$4 lines
    shift 4
    job "$mpi" "$n" "$nodes" HXMPI_STATS=1 "$@" -- "$here/hard-$mpi" sums || why "$mpi $*: exit $?"
    has "$tmp/out" "hard: sums: good" "$mpi $*"
    lines=$(grep -a '^hierax-mpi:' "$tmp/err" | grep -acv 'rank [0-9]*: [M0-9]')
    if [ -n "$text" ]; then
        [ "$lines" = 1 ] && grep -a '^hierax-mpi:' "$tmp/err" | grep -aqF -- "$text" || why "$mpi $*: not one line with \"$text\""
    else
        [ "$lines" = 0 ] || why "$mpi $*: a line"
    fi
    [ "$(grep -ac 'rank [01]: 0 of [1-9][0-9]* collective calls served' "$tmp/err")" = 2 ] || why "$mpi $*: calls are served"
}

# partial MPI RANK: only this rank lacks the library, as if it ran on another node. The job stops, and one line names the rank
partial() {
    # shellcheck disable=SC2016
    local start='[ "${PMIX_RANK:-$PMI_RANK}" = "$1" ] || export LD_PRELOAD="$2"; exec "$3" sums'
    job "$1" 3 1 LD_PRELOAD= HXMPI_TIMEOUT=2 -- bash -c "$start" start "$2" "$(library "$1")" "$here/hard-$1"
    local status=$?
    [ $status != 0 ] && [ $status -lt 124 ] || why "$1: rank $2 without the library: exit $status"
    [ "$(grep -a '^hierax-mpi:' "$tmp/err" | grep -ac "rank $2 has not answered in MPI_Init")" = 1 ] ||
        why "$1: rank $2 without the library: not one line about it"
}

printf '#include <stdio.h>\nint main(void) { puts("well"); return 0; }\n' >"$tmp/static.c"
"${CC:-cc}" -static -o "$tmp/static" "$tmp/static.c" 2>/dev/null || echo "no static C library: static programs are not tested"

for mpi in "${mpis[@]}"; do
    for rank in 0 2; do
        partial "$mpi" $rank
    done
    for name in threads comms dups types overlap fails; do
        job_seconds=300 part "$mpi" 2 1 $name
        [ $name != types ] || ! grep -aq 'datatype of a reduction' "$tmp/err" || why "$mpi: types: a vector without gaps is not served"
    done
    # how many blocks come from the pool: 9 of 12 are at least a page, one of them is too long, and one is never freed
    for shape in 1:1 2:1 3:1 3:2; do
        job "$mpi" "${shape%:*}" "${shape#*:}" HXMPI_STATS=1 HXMPI_ALLOC=4M -- "$here/hard-$mpi" memory || why "$mpi: memory, $shape: exit $?"
        has "$tmp/out" "hard: memory: good" "$mpi: memory, $shape"
        [ "${shape%:*}" = 1 ] || has "$tmp/err" "rank 0: MPI_Alloc_mem: 161 blocks from the pool, 81 from MPI" "$mpi: memory, $shape"
    done
    part "$mpi" 3 1 memory # without a pool
    ! grep -aq 'from the pool' "$tmp/err" || why "$mpi: a pool that nobody wants"
    # no_pool TEXT [NAME=VALUE...]: one line has TEXT, and Hierax runs without a pool
    no_pool() {
        job "$mpi" 2 1 HXMPI_STATS=1 "${@:2}" -- "$here/hard-$mpi" memory || why "$mpi $*: exit $?"
        [ "$(grep -aF 'hierax-mpi: HXMPI_ALLOC' "$tmp/err" | grep -acF -- "$1")" = 1 ] || why "$mpi $*: not one line with \"$1\""
        grep -aq 'rank 0: MPI_Allreduce .* served$' "$tmp/err" || why "$mpi $*: nothing is served"
    }
    no_pool 'HXMPI_ALLOC=much is wrong; choices: 0 (no pool), 1 (a pool of 1 GiB), or a size from 1M to 4096G' HXMPI_ALLOC=much
    no_pool 'HXMPI_ALLOC=4K is wrong' HXMPI_ALLOC=4K
    no_pool 'there is no pool, because a rank has no size for it' HXMPI_ALLOC=4M HARD_SPOIL=pool
    part "$mpi" 2 2 comms
    part "$mpi" 3 2 overlap
    off "$mpi" 2 1 "" HXMPI=off
    off "$mpi" 2 1 "HXMPI=of is unknown; choices: on off" HXMPI=of
    off "$mpi" 2 2 "Hierax cannot start, so MPI makes the collectives" HX_PROVIDER=none
    off "$mpi" 2 1 "rank 1 cannot start: HX_SPIN=many" HARD_SPOIL=1
    job "$mpi" 1 1 -- "$here/hard-$mpi" sums || why "$mpi: one rank: exit $?"
    [ "$(LD_PRELOAD=$(library "$mpi") "$here/hard-$mpi" never 2>&1)" = "hard: never: good" ] || fail "$mpi: a program that does not start MPI"
    [ "$(LD_PRELOAD=$(library "$mpi") /bin/echo well 2>&1)" = well ] || fail "$mpi: a program without MPI"
    off "$mpi" 2 1 "HXMPI_TIMEOUT=0 is wrong" HXMPI_TIMEOUT=0 HXMPI=off
    if [ -x "$tmp/static" ]; then
        [ "$(LD_PRELOAD=$(library "$mpi") "$tmp/static" 2>&1)" = well ] || fail "$mpi: a static program"
    fi
    job "$mpi" 2 1 -- "$here/overhead-$mpi" 20 200 || why "$mpi: overhead: exit $?"
    cat "$tmp/out"
done

# other OWN OTHER: a program of OWN with the library for OTHER stops, with one line
other() {
    ! job "$1" 2 1 "LD_PRELOAD=$(library "$2")" -- "$here/hard-$1" sums || why "$1 with the library for $2 runs"
    [ "$(grep -ac 'LD_PRELOAD names the library for .*, but the program runs on .*' "$tmp/err")" = 1 ] ||
        why "$1 with the library for $2: not one line about it"
}
if [ ${#mpis[@]} = 2 ]; then
    other openmpi mpich
    other mpich openmpi
fi
finish
