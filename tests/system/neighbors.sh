#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Neighbourhood collectives on drawn graphs, and on a torus of one rank by all; all-to-alls with datatypes. TEST_SEED draws other graphs.
. "$(dirname "$0")/common.sh"

seed=${TEST_SEED:-1}
# neighbors RANKS NODES GRAPHS
neighbors() {
    timeout 280 "$run" -n "$1" --nodes "$2" -- "$here/neighbors" "$seed" "$3" torus >"$tmp/out" 2>"$tmp/err" &&
        grep -q "no difference" "$tmp/out" ||
        { fail "neighbors $seed $3, $1 ranks on $2 nodes: $(tail -n 3 "$tmp/err")"; return; }
    seed=$((seed + 1))
}
neighbors 1 1 3
neighbors 2 1 10
neighbors 5 1 10
neighbors 3 3 6
neighbors 6 3,1,2 10
neighbors 7 2,5 6
export HX_CHECK=1 # the checker proves each plan first
neighbors 6 3,1,2 3
neighbors 4 1 2
unset HX_CHECK
export HX_ATOMIC=1
neighbors 4 2 2
finish
