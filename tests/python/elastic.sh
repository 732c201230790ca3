#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# state_sync, agree, shrink and hierax.elastic. Ranks of the example die before and after the all-reduce of a step, on one node and on two;
# the others end with the weights of one process.
. "$(dirname "$0")/common.sh"

for nodes in 1 2,1; do
    ranks 3 $nodes state.py
    [ "$(grep -o "is well" "$tmp/out" | wc -l)" = 3 ] || fail "state.py on $nodes: $(tail -n 3 "$tmp/err")"
done

example=$top_srcdir/bindings/python/examples/elastic.py
port=$((20000 + $$ % 10000))

# lives NODES OPTION...: rank r gets the r-th option, a text of words; those without one live
lives() {
    local nodes=$1 rank=0 option
    shift
    while grep -qi ":$(printf %04x $port) " /proc/net/tcp /proc/net/tcp6; do port=$((port + 1)); done
    (
        for option in "$@"; do
            # shellcheck disable=SC2086
            HX_NODES=$nodes HX_ROOT=localhost:$port HX_RANK=$rank HX_SIZE=$# HX_SECRET=s HX_TIMEOUT=60 FI_LOG_LEVEL=none \
                timeout -s KILL 90 "$python" "$example" $option >"$tmp/out.$rank" 2>"$tmp/err.$rank" || echo "exit $?" >>"$tmp/out.$rank" &
            rank=$((rank + 1))
        done
        wait
    ) 2>/dev/null
    port=$((port + 1))
    rank=0
    local living=0
    for option in "$@"; do [ -n "$option" ] || living=$((living + 1)); done
    for option in "$@"; do
        [ -n "$option" ] && { grep -q "exit 137" "$tmp/out.$rank" || fail "nodes $nodes, $*: rank $rank did not die"; } ||
            { grep -q "of $living, $# at first: 40 steps" "$tmp/out.$rank" && ! grep -q exit "$tmp/out.$rank"; } ||
            { fail "nodes $nodes, $*: rank $rank: $(cat "$tmp/out.$rank")"; tail -n 5 "$tmp/err.$rank" >&2; }
        rank=$((rank + 1))
    done
}
lives 1 "" "--die 7" ""
lives 2 "" "--die 7 --late" "--die 20" ""
lives 2 "" "--die 0" "--die 39 --late"
finish
