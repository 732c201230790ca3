#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The elastic lessons: three ranks start and a fourth process joins. Two of them die in the middle of their steps, and other processes take
# their places. All end with the same bits, and with a lower loss. elastic_ddp also has the weights of one process.
. "$(dirname "$0")/common.sh"

# lives SCRIPT NODES TEXT: the last text of each rank's line
lives() {
    local script=$1 nodes=$2 text=$3 rank status=0
    (
        cd "$top_srcdir/bindings/python/examples/torch" &&
            FI_LOG_LEVEL=none timeout -k 10 400 "$run" --elastic -n 3 --min 2 --max 4 --nodes "$nodes" -- "$python" "$script" --least 4 --die 7:1 13:0
    ) >"$tmp/out" 2>"$tmp/err" || status=$?
    [ $status = 0 ] || { fail "$script on $nodes nodes: exit $status"; tail -n 20 "$tmp/err" >&2; }
    [ "$(grep -c 'failed with status 137; another takes its place' "$tmp/err")" = 2 ] || fail "$script on $nodes nodes: not two deaths: $(cat "$tmp/err")"
    for rank in "0 of 4, started" "1 of 4, joined" "2 of 4, joined" "3 of 4, joined"; do
        grep -qE "^rank $rank: 20 steps by 4, 3, 4, 3, 4 ranks, .* on all ranks; $text" "$tmp/out" ||
            { fail "$script on $nodes nodes: no rank $rank:"; cat "$tmp/out" >&2; }
    done
}

lives elastic_ddp.py 1 "the weights differ from those of one process by [0-9]e-(0[5-9]|1)"
lives elastic_diloco.py 2 "of .* s it has waited"
finish
