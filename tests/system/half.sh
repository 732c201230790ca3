#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Sums of 16-bit floats are right to one rounding inside a node, else to as many as coll_plan states for that plan.
. "$(dirname "$0")/common.sh"
plan=$top_builddir/tools/coll_plan
count=20000

# bound RANKS NODES WANTED [X=Y...]: WANTED roundings ("" whatever coll_plan states)
bound() {
    local n=$1 nodes=$2 wanted=$3 shape sets=() setting stated chosen did
    shift 3
    case $n:$nodes in *:1) shape=$n ;; 4:2) shape=2,2 ;; 5:2) shape=3,2 ;; 8:4) shape=4x2 ;; *) shape=${nodes}x1 ;; esac
    for setting in "$@"; do sets+=(--set "$setting"); done
    "$plan" explain allreduce --shape $shape --size $((2 * count)) --dtype float16 "${sets[@]}" >"$tmp/plan" 2>&1
    stated=$(awk '/^roundings: at most/ { print $4 + 0 }' "$tmp/plan")
    chosen=$(sed -n 's/^chosen: //p' "$tmp/plan")
    [ -n "$stated" ] && [ "${wanted:-$stated}" = "$stated" ] || { fail "$n:$nodes $*: $stated roundings are stated, not $wanted"; return; }
    did=$(timeout 60 env "$@" "$run" -n "$n" --nodes "$nodes" -- "$here/half" bound "$stated" $count 2>"$tmp/err") ||
        { fail "$n:$nodes $*, $chosen: $(grep half: "$tmp/err" | head -2)"; return; }
    [ "$did" = "$chosen" ] || fail "$n:$nodes $*: coll_plan explains $chosen, the job does $did"
}

for n in 2 3 5; do
    bound $n 1 1 HX_ALLREDUCE=nary
    bound $n 1 1 HX_ALLREDUCE=nary_sliced
done
for algorithm in mesh_single mesh recursive_doubling ring circulant rdh tree; do
    bound 4 1 "" HX_ALLREDUCE=$algorithm
    bound 5 2 "" HX_INTER_ALLREDUCE=$algorithm HX_LANES=2
    bound 8 4 "" HX_INTER_ALLREDUCE=$algorithm HX_LANES=1
done
bound 4 1 1 HX_ALLREDUCE=mesh # the owner of a block adds up all
bound 4 1 3 HX_ALLREDUCE=ring
bound 4 1 2 HX_ALLREDUCE=recursive_doubling
bound 4 2 2 HX_INTER_ALLREDUCE=mesh HX_LANES=1

# a bound that is too tight is found out
timeout 60 env HX_ALLREDUCE=ring "$run" -n 4 -- "$here/half" bound 1 $count >"$tmp/out" 2>&1 && fail "a ring of 4 rounds but once"
finish
