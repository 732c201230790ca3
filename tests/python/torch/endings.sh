#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Ranks of hierax.torch end before the others: killed, or by an exception. torchrun starts all again after a worker was killed, or the others start again by themselves.
. "$(dirname "$0")/common.sh"

# survivors N WHERE: as many ranks have seen the right exception
survivors() {
    local seen
    seen=$(cat "$tmp"/survivor.* 2>/dev/null | grep -c '^ok')
    [ "$seen" = "$1" ] || { fail "$2: $seen of $1 survivors name the rank within 5 s:"; cat "$tmp"/survivor.* "$tmp/out" >&2; }
    rm -f "$tmp"/survivor.*
}

for nodes in 0 2; do
    export HX_NODES=$nodes
    rm -f "$tmp/checkpoint"
    under_torchrun 3 --max-restarts=1 --monitor-interval=1 "$scripts/elastic.py" "$tmp" ||
        { fail "elastic.py, HX_NODES=$nodes: exit $?"; grep -v '^W' "$tmp/out" | head -n 60 >&2; }
    survivors 2 "a worker was killed, HX_NODES=$nodes"
    [ "$(grep -o 'has ended its training, attempt 1' "$tmp/out" | wc -l)" = 3 ] ||
        fail "HX_NODES=$nodes: training did not end: $(cat "$tmp/out")"
done
for nodes in 0 2; do
    HX_NODES=$nodes under_torchrun 3 --monitor-interval=1 "$scripts/aborts.py" "$tmp" && fail "aborts.py: a rank was killed, but the job ended well"
    survivors 2 "the groups were aborted, HX_NODES=$nodes"
    rm -f "$tmp/second"
done
export HX_NODES=0
under_torchrun 3 --monitor-interval=1 "$scripts/raises.py" "$tmp" && fail "raises.py: a rank has raised, but the job ended well"
has "$tmp/out" "the program's own" "raises.py"
survivors 2 "a rank has raised"
finish
