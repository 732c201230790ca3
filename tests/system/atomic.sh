#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# HX_ATOMIC: ranks are killed at moments that are drawn uniformly in all-reduces and their agreements. Each call succeeds on all survivors
# or fails on all, and then the input is unchanged, in place and out of place. In one node, flat and hierarchical between nodes.
# Usage: atomic.sh [SEEDS [FIRST]]: about 16 kills for each seed
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/alone.sh"
export HX_TIMEOUT=60 HX_LOG=error HX_ATOMIC=1
alone_program=survivors
seeds=${1:-3}
first=${2:-1}
deaths=0

# undo N NODES SEED
undo() {
    rm -f "$tmp/deaths"
    alone "$1" "$2" "$3" "$tmp/deaths" 2 calls
    if grep "line [0-9]" "$tmp/err" || ! grep -q "is well" "$tmp/out" || [ ! -s "$tmp/deaths" ]; then
        fail "HX_ATOMIC, $1 ranks on $2 nodes, seed $3"
        cut -c1-300 "$tmp/out" "$tmp/err" >&2
    else
        deaths=$((deaths + $(stat -c %s "$tmp/deaths") / 8))
    fi
}

for ((seed = first; seed < first + seeds; seed++)); do
    undo 8 1 "$seed"
    undo 8 3,3,2 "$seed"
    HX_ALLREDUCE=ring undo 6 2 "$seed"
done
echo "$deaths ranks were killed"
finish
