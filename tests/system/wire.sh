#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Sums in fewer bits between nodes: the same bits on all ranks, and within the error that coll_plan states for the plan, for all formats and
# adversarial inputs; what no format serves stays exact; ranks that differ are told.
#   wire.sh [ELEMENTS]    elements of one long sum of each format (default 1000003). 10^8 take 1 GB of memory and some minutes.
. "$(dirname "$0")/common.sh"
plan=$top_builddir/tools/coll_plan

# stated SHAPE [X=Y...]: how often a sum is encoded one after the other, as coll_plan counts it
stated() {
    local shape=$1 sets=() setting
    shift
    for setting in "$@"; do sets+=(--set "$setting"); done
    "$plan" explain allreduce --shape "$shape" 16M --model net_gb_s=0.125 --model stream_gb_s=0.125 --set HX_WIRE=int8 "${sets[@]}" |
        sed -n 's/.*encoded \([0-9]*\) times.*/\1/p'
}

# sums N NODES SHAPE ELEMENTS WANTED [X=Y...]: the plan encodes WANTED times, and results are within that error
sums() {
    local n=$1 nodes=$2 shape=$3 elements=$4 wanted=$5 codings
    shift 5
    codings=$(stated "$shape" "$@")
    [ "$codings" = "$wanted" ] || { fail "$shape $*: coll_plan states that $codings are encoded, not $wanted"; return; }
    timeout 200 env "$@" "$run" -n "$n" --nodes "$nodes" -- "$here/wire" "$elements" "$codings" >"$tmp/out" 2>"$tmp/err" ||
        { fail "-n $n --nodes $nodes $*: $(grep -E 'wire:|hierax' "$tmp/err" | head -3)"; }
}

sums 2 1,1 2x1 200003 2 HX_ALLREDUCE=mesh HX_REDUCE_SCATTER=mesh
sums 3 1,1,1 3x1 200003 3 HX_ALLREDUCE=ring HX_REDUCE_SCATTER=ring
sums 4 2,2 2,2 200003 2 HX_INTER_ALLREDUCE=mesh HX_INTER_REDUCE_SCATTER=mesh HX_LANES=2
sums 3 2,1 2,1 200003 2 HX_CHECK=1

# many elements: the largest errors, as parts of the bound
elements=${1:-1000003}
WIRE_TELL=1 HX_ALLREDUCE=mesh timeout $((100 + elements / 50000)) "$run" -n 2 --nodes 1,1 -- "$here/wire" "$elements" "$(stated 2x1 HX_ALLREDUCE=mesh)" large >"$tmp/out" 2>"$tmp/err" ||
    fail "$elements elements: $(grep -E 'wire:|hierax' "$tmp/err" | head -3)"
cat "$tmp/out"

# a bound that is too tight is found out
timeout 100 env HX_ALLREDUCE=ring "$run" -n 3 --nodes 1,1,1 -- "$here/wire" 200003 0 int8 >"$tmp/out" 2>"$tmp/err" && fail "int8 sums without an error"
has "$tmp/err" "may differ by" "a bound that is too tight"

timeout 100 "$run" -n 2 --nodes 1,1 -- "$here/wire" other >"$tmp/out" 2>"$tmp/err" || fail "ranks with different formats: $(cat "$tmp/err")"
timeout 100 "$run" -n 2 -- "$here/wire" refuse >"$tmp/out" 2>"$tmp/err" || fail "wrong formats: $(cat "$tmp/err")"
timeout 100 env HX_WIRE=fp7 "$run" -n 1 -- "$here/wire" refuse >"$tmp/out" 2>"$tmp/err" && fail "HX_WIRE=fp7 is taken"
has "$tmp/err" "off, bf16, fp16, fp8, int8" "HX_WIRE=fp7"

# calls that no format serves say so
timeout 100 env HX_WIRE=bf16 HX_EXPLAIN=1 "$run" -n 2 --nodes 1,1 -- "$top_builddir/tools/coll_bench" allreduce --dtype int32 --max 64K --min 64K --repetitions 1 \
    >"$tmp/out" 2>&1 || fail "coll_bench of int32: $(tail -n 3 "$tmp/out")"
has "$tmp/out" "exact between nodes: only float32 and float64 can travel in a wire format" "HX_EXPLAIN"
finish
