#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# state_sync, agree, shrink and hierax.elastic. Ranks of the example die before and after the all-reduce of a step, on one node and on two;
# others take their places. All that live end with the weights that one process computes from the log of memberships.
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
            { grep -q "of $living, started: 40 steps by [0-9, ]* ranks" "$tmp/out.$rank" && ! grep -q exit "$tmp/out.$rank"; } ||
            { fail "nodes $nodes, $*: rank $rank: $(cat "$tmp/out.$rank")"; tail -n 5 "$tmp/err.$rank" >&2; }
        rank=$((rank + 1))
    done
}
lives 1 "" "--die 7" ""
lives 2 "" "--die 7 --late" "--die 20" ""
lives 2 "" "--die 0" "--die 39 --late"

# The source of a sync dies in the middle. At least one of the moments is one.
kept=0
for seconds in 0.02 0.04 0.06 0.08 0.12; do
    for rank in 0 1 2; do
        HX_ROOT=localhost:$port HX_RANK=$rank HX_SIZE=3 HX_SECRET=s HX_TIMEOUT=60 timeout -s KILL 90 "$python" "$scripts/torn.py" $seconds \
            >"$tmp/out.$rank" 2>"$tmp/err.$rank" &
    done 2>/dev/null
    wait 2>/dev/null
    port=$((port + 1))
    for rank in 1 2; do
        grep -qE "kept|came" "$tmp/out.$rank" || { fail "torn.py $seconds: rank $rank"; tail -n 5 "$tmp/err.$rank" >&2; }
        kept=$((kept + $(grep -c kept "$tmp/out.$rank")))
    done
done
[ $kept -gt 0 ] || fail "torn.py: no rank died in the middle of a sync"

# replaces NODES RANKS OPTION...: a rank of three dies. The process in its place and a fourth one join. RANKS: a pattern, of the log of memberships
replaces() {
    local nodes=$1 ranks=$2 options=()
    shift 2
    [ "$nodes" = 1 ] || options=(--nodes "$nodes")
    FI_LOG_LEVEL=none timeout -k 10 100 "$run" --elastic -n 3 --min 2 --max 4 "${options[@]}" -- "$python" "$example" --least 4 "$@" \
        >"$tmp/out" 2>"$tmp/err" || { fail "--elastic, nodes $nodes, $*: exit $?"; tail -n 20 "$tmp/err" >&2; }
    has "$tmp/err" "failed with status 137; another takes its place" "--elastic, nodes $nodes, $*"
    for rank in "0 of 4, started" "1 of 4, started" "2 of 4, joined" "3 of 4, joined"; do
        grep -qE "rank $rank: 40 steps by $ranks ranks" "$tmp/out" || { fail "--elastic, nodes $nodes, $*: no rank $rank:"; cat "$tmp/out" >&2; }
    done
}
replaces 1 "4, 3, 4" --die 7 --rank 1
replaces 2 "4, 3, 4" --die 7 --late --rank 0
replaces 2,1 "4(, 3, 4)?" --die 9 --late --rank 2 # the others are in Comm.grow then, or repeat the step
finish
