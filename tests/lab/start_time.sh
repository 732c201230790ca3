#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Compares how long a job takes to start over two hosts and to end after one all-reduce: Hierax by coll_run, this machine's Open MPI by mpirun
# and its MPICH by mpiexec.hydra, in turn. Each also starts `true`, which shows what its launcher takes. By hand: it measures.
# Usage: start_time.sh [RANKS_PER_HOST [ROUNDS]] (default: 32, 5)
# shellcheck source=cases.sh
. "$(dirname "$0")/cases.sh"
need tools/coll_run tests/lab/sum
ranks=${1:-32} rounds=${2:-5}
CASE_SECONDS=150
for mpi in openmpi mpich; do
    mpicc.$mpi -O2 -o "$scratch/hello.$mpi" "$here/mpi_hello.c" || { echo "start_time.sh: needs both MPIs (tools/setup tests)" >&2; exit 2; }
done

# start SIDE PROGRAM
start() {
    case $1 in
    hierax) "$lab" exec 1 -- "$top_builddir/tools/coll_run" --agent "$agent" --hosts h1,h2 -n $((2 * ranks)) -- "$2" ;;
    openmpi) "$lab" mpirun 2 "$ranks" --oversubscribe -- "$2" ;;
    mpich) "$lab" hydra 2 "$ranks" -- "$2" ;;
    esac
}

# took SIDE WHAT PROGRAM LINES: one run, which prints so many lines; its milliseconds go to a file
took() {
    local begin end
    begin=$(date +%s%N)
    timeout -k 5 "$CASE_SECONDS" bash -c "$(declare -f start); $(declare -p lab top_builddir agent ranks); start $1 $3" >"$scratch/out" 2>"$scratch/log"
    local status=$?
    end=$(date +%s%N)
    [ $status != 0 ] || [ "$(grep -c . "$scratch/out")" = "$4" ] || status=incomplete
    result $status "$1, $2: $(((end - begin) / 1000000)) ms" "$scratch/log"
    [ $status != 0 ] || echo $(((end - begin) / 1000000)) >>"$scratch/$1.$2"
}

check "lab up" "$lab" up 2
for ((round = 0; round < rounds; round++)); do
    for side in hierax openmpi mpich; do
        program=$scratch/hello.$side
        [ $side != hierax ] || program=$top_builddir/tests/lab/sum
        took $side true true 0
        took $side program "$program" $((2 * ranks))
    done
done
for side in hierax openmpi mpich; do
    for what in true program; do
        sort -n "$scratch/$side.$what" | awk -v what="$side, $what" '{ t[NR] = $1 }
            END { printf "%-20s median %5d ms, longest %5d ms of %d runs\n", what, t[int((NR + 1) / 2)], t[NR], NR }'
    done
done
check "lab down" "$lab" down
finish
