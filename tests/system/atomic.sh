#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# HX_ATOMIC: ranks are killed at moments that are drawn uniformly in collectives and their agreements. Each call succeeds on all survivors
# or fails on all, and then the input is unchanged, in place and out of place. In one node, flat and hierarchical between nodes.
# Usage: atomic.sh [SEEDS [FIRST [KIND]]]: about 24 kills for each seed. KIND: allreduce, all (default: both)
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/alone.sh"
export HX_TIMEOUT=60 HX_LOG=error
seeds=${1:-1}
first=${2:-1}
deaths=0 complete=0 undone=0

# undo N NODES SEED [allreduce]
undo() {
    alone_program=atomic_calls
    rm -f "$tmp/deaths"
    alone "$1" "$2" "$3" "$tmp/deaths" 2 "${@:4}"
    if grep "line [0-9]" "$tmp/err" || ! grep -q "is well" "$tmp/out" || [ ! -s "$tmp/deaths" ]; then
        fail "HX_ATOMIC, $1 ranks on $2 nodes, seed $3, ${4:-all collectives}"
        cut -c1-300 "$tmp/out" "$tmp/err" >&2
    else
        deaths=$((deaths + $(stat -c %s "$tmp/deaths") / 8))
        complete=$((complete + $(grep -c "it is complete" "$tmp/out")))
        undone=$((undone + $(grep -c "it is undone" "$tmp/out")))
    fi
}

# without deaths
for nodes in 1 2; do
    for thread in 0 1; do
        HX_PROGRESS_THREAD=$thread "$run" -n 4 --nodes $nodes --timeout 60 -- "$here/atomic_rules" >"$tmp/out" 2>"$tmp/err" ||
            { fail "rules, $nodes nodes, HX_PROGRESS_THREAD=$thread"; cut -c1-300 "$tmp/out" "$tmp/err" >&2; }
        has "$tmp/out" "all is well" "rules, $nodes nodes"
    done
done

for ((seed = first; seed < first + seeds; seed++)); do
    if [ "${3:-allreduce}" = allreduce ]; then
        undo 8 1 "$seed" allreduce
        undo 8 3,3,2 "$seed" allreduce
        HX_ALLREDUCE=ring undo 6 2 "$seed" allreduce
    fi
    if [ "${3:-all}" = all ]; then
        undo 7 1 "$seed"
        undo 7 3,2,2 "$seed"
    fi
done
echo "$deaths ranks were killed. Survivors found $complete times that the last call of a dead rank is complete, $undone times that it is undone"
finish
