#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Ranks are killed at random moments: in calls, in hx_comm_agree, in hx_comm_shrink; also rank 0, two at once, all of a node. The others go on with
# right numbers. Prints how long they take from a death to the next complete all-reduce.
# Usage: survivors.sh [SEEDS [FIRST]]
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/alone.sh"
export HX_TIMEOUT=30 HX_LOG=error
alone_program=survivors
seeds=${1:-2}
first=${2:-1}

# survive N NODES SEED
survive() {
    local n=$1 nodes=$2 seed=$3
    rm -f "$tmp/deaths"
    alone "$n" "$nodes" "$seed" "$tmp/deaths" 2
    if grep "line [0-9]" "$tmp/err" || ! grep -q "is well" "$tmp/out" || [ ! -s "$tmp/deaths" ]; then
        fail "survivors, $n ranks on $nodes nodes, seed $seed"
        cut -c1-300 "$tmp/out" "$tmp/err" >&2
    fi
    grep "^round" "$tmp/out" | sed "s/^/seed $seed, $n ranks on $nodes nodes, /" | awk '$(NF-1) > 3000000'
    grep "^round" "$tmp/out" >>"$tmp/rounds.$nodes"
}

for ((seed = first; seed < first + seeds; seed++)); do
    for shape in 8:1 5:1 6:2 8:3,3,2; do
        survive "${shape%:*}" "${shape#*:}" "$seed"
    done
done
for nodes in 1 2 3,3,2; do
    sed -n 's/.* \([0-9]*\) us$/\1/p' "$tmp/rounds.$nodes" | sort -n | awk -v nodes="$nodes" '{ t[NR] = $1 }
        END { printf "%s nodes, %d rounds: from death to the next all-reduce median %.0f ms, longest %.0f ms\n", nodes, NR,
              t[int((NR + 1) / 2)] / 1e3, t[NR] / 1e3 }'
done
finish
