#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Compares the time from the death of a rank to the next all-reduce: Hierax and an Open MPI with ULFM (5.0 or later), in turn, on one machine.
# Usage: shrink_time.sh [RANKS [ROUNDS]] (default: 4, 10). mpicc and mpirun of that Open MPI must be the first in PATH.
set -uo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
build=$(readlink -m "${top_builddir:-$top/build}")
ranks=${1:-4} rounds=${2:-10}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 2
mpicc -O2 -DULFM "$top/tests/shrink_time.c" -o ulfm || { echo "shrink_time.sh: needs an MPI with ULFM (mpi-ext.h)" >&2; exit 2; }
cc -O2 -I"$top/runtime" "$top/tests/shrink_time.c" -o hierax -L"$build/.libs" -Wl,-rpath,"$build/.libs" -lhierax || exit 2

ranks_start() { # COMMAND...: coll_run would end the others
    local r port=$((20000 + RANDOM % 10000))
    for ((r = 0; r < ranks; r++)); do
        HX_ROOT=localhost:$port HX_RANK=$r HX_SIZE=$ranks HX_SECRET=s HX_TIMEOUT=30 "$@" &
    done
    wait
}

# side NAME COMMAND...: one run; the slowest rank's times go to NAME.us
side() {
    local name=$1
    shift
    rm -f died
    "$@" >out 2>err
    # shellcheck disable=SC2126
    if [ "$(grep -c ' us in shrink' out)" = $((ranks - 1)) ]; then
        sort -n out | tail -n 1 | awk '{ print $1, $5 }' >>"$name.us"
    else
        echo "$name: $(grep -c ' us in shrink' out) of $((ranks - 1)) ranks went on" >&2
        tail -n 3 err >&2
    fi
}

for ((round = 0; round < rounds; round++)); do
    side hierax ranks_start ./hierax died
    side ulfm timeout 60 mpirun --allow-run-as-root --oversubscribe --with-ft ulfm --mca mpi_yield_when_idle 1 -n "$ranks" ./ulfm died
done
for name in hierax ulfm; do
    for column in 1 2; do
        awk -v column=$column '{ print $column }' "$name.us" | sort -n |
            awk -v what="$([ $column = 1 ] && echo "death to all-reduce" || echo "of it in shrink")" -v name=$name '{ t[NR] = $1 }
                END { printf "%s: %s, slowest rank: median %.1f ms, longest %.1f ms of %d runs\n", name, what, t[int((NR + 1) / 2)] / 1e3, t[NR] / 1e3, NR }'
    done
done
