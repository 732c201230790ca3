#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# By hand: a rank is killed at a drawn moment of hx_init, on one node and on two emulated nodes. Within seconds every other rank has the world,
# or one error that names the dead rank. If the rank dies before it has connected to the store, the others wait for it until HX_TIMEOUT.
# No file is left.
# Usage: start_dies.sh [ROUNDS [FIRST]]
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/alone.sh" # for its port
rounds=${1:-8}
first=${2:-1}
export HX_SECRET=s HX_SIZE=4 HX_TIMEOUT=10 HX_LOG=error FI_LOG_LEVEL=none
limit=15000 # ms
longest=0 failed=0 begun=0 unknown=0
span=100 # ms that the last start took: a kill is drawn from this time
declare -A texts

left() { find /dev/shm /tmp -maxdepth 1 -iname '*hierax*' 2>/dev/null | sort; }
left >"$tmp/before"

# judge ROUND NODES VICTIM: what the others say
judge() {
    local r text
    for r in 0 1 2 3; do
        [ "$r" != "$3" ] || continue
        text=$(grep -a "status" "$tmp/$r")
        case $text in
        *"status 0"*) begun=$((begun + 1)) ;;
        *"status 8"*"rank $3 "*)
            failed=$((failed + 1))
            texts[$(sed "s/.*status/status/; s/rank [0-9]/rank R/; s/[0-9]\{2,\}/N/g" <<<"$text")]=1
            ;;
        *"status 7"*"for rank $3 "*"3 ever connected"* | "rank -1 status 5: no store answers"*) unknown=$((unknown + 1)) ;;
        *) fail "round $1, $2 nodes: rank $3 was killed, rank $r says: ${text:-nothing}" ;;
        esac
    done
}

RANDOM=$first
for ((i = first; i < first + rounds; i++)); do
    nodes=$((1 + i % 2)) victim=$((RANDOM % 4))
    while grep -qi ":$(printf %04x $port) " /proc/net/tcp /proc/net/tcp6; do port=$((port + 1)); done
    start=$(now)
    for r in 0 1 2 3; do
        HX_NODES=$nodes HX_RANK=$r HX_ROOT=127.0.0.1:$port "$here/actor" init >"$tmp/$r" 2>/dev/null &
        pids[r]=$!
    done
    delay=$((RANDOM % span))
    sleep "$((delay / 1000)).$(printf %03d $((delay % 1000)))"
    kill -KILL "${pids[victim]}" 2>/dev/null
    killed_at=$(now)
    wait "${pids[@]}" 2>/dev/null
    took=$(($(now) - killed_at))
    [ $took -le $limit ] || fail "round $i, $nodes nodes: the others needed $took ms after the death of rank $victim"
    [ $took -le $longest ] || longest=$took
    grep -q "status 8" "$tmp"/[0-3] || span=$(($(now) - start + 1))
    judge $i $nodes $victim
    port=$((port + 1))
done
comm -13 "$tmp/before" <(left) >"$tmp/left"
[ ! -s "$tmp/left" ] || fail "left: $(cat "$tmp/left")"
[ $failed -gt 0 ] || fail "no rank was killed in hx_init"
echo "$rounds starts: $failed ranks got an error, $unknown waited for a rank that had not connected, $begun had begun; the last one ended $longest ms after the kill"
printf '    %s\n' "${!texts[@]}"
finish
