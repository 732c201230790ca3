#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# HX_ATOMIC: ranks are killed at moments that are drawn uniformly in collectives and their agreements. Each call succeeds on all survivors
# or fails on all, and then the input is unchanged, in place and out of place. In one node, flat and hierarchical between nodes.
# Usage: atomic.sh [--kills N] [--first SEED] [allreduce|all]. Runs one seed after the other until N ranks have been killed (default: one seed,
# which kills about 24). allreduce: only jobs of all-reduce. all: only jobs of all collectives. Default: both.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/alone.sh"
export HX_TIMEOUT=60 HX_LOG=error
kills=1 first=1 kind=both
deaths=0 complete=0 undone=0

usage() { echo "atomic.sh: $1; usage: atomic.sh [--kills N] [--first SEED] [allreduce|all]" >&2; exit 2; }

while [ $# -gt 0 ]; do
    case $1 in
    --kills | --first)
        [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || usage "$1 is \"${2:-}\": expected a number from 1"
        [ "$1" = --kills ] && kills=$2 || first=$2
        shift 2
        ;;
    allreduce | all)
        kind=$1
        shift
        ;;
    *) usage "unknown argument \"$1\"" ;;
    esac
done

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

# a failure ends the test: jobs that kill nobody would never reach the number
for ((seed = first; deaths < kills && failures == 0; seed++)); do
    if [ $kind != all ]; then
        undo 8 1 "$seed" allreduce
        undo 8 3,3,2 "$seed" allreduce
        HX_ALLREDUCE=ring undo 6 2 "$seed" allreduce
    fi
    if [ $kind != allreduce ]; then
        undo 7 1 "$seed"
        undo 7 3,2,2 "$seed"
    fi
done
echo "$deaths ranks were killed, by seeds $first to $((seed - 1)). Survivors found $complete times that the last call of a dead rank is" \
    "complete, $undone times that it is undone"
finish
