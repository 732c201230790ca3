#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hx_comm_reorder: rings may pass the nodes in another order afterwards. Sums stay right. If one rank cannot take part, all get the error.
. "$(dirname "$0")/common.sh"

# reorders N NODES [X=Y...]
reorders() {
    local n=$1 nodes=$2
    shift 2
    timeout 100 env HX_LOG=info "$@" "$run" -n "$n" --nodes "$nodes" -- "$here/reorder" >"$tmp/out" 2>"$tmp/err" ||
        fail "-n $n --nodes $nodes $*: $(grep -E 'reorder:|hierax' "$tmp/err" | head -3)"
}

reorders 5 5 HX_INTER_ALLREDUCE=ring
has "$tmp/err" "rings pass the nodes in the order" "five nodes"
reorders 5 2,1,1,1 HX_INTER_ALLREDUCE=ring HX_CHECK=1
reorders 4 2,2 # one ring only: nothing is measured
grep -q "rings pass the nodes" "$tmp/err" && fail "two nodes are measured"
finish
