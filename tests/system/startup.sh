#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Faults in hx_init. Rank 0, which serves the store, is killed at several moments: the others name it within seconds. The job is stopped for
# longer than HX_TIMEOUT and then continued: it starts.
. "$(dirname "$0")/common.sh"
port=$((26000 + $$ % 4000))
export HX_SECRET=s HX_SIZE=3 FI_LOG_LEVEL=none
refuse=()
if [ -z "${TEST_SANITIZER:-}" ] && ${CC:-cc} -shared -fPIC -D_GNU_SOURCE -o "$tmp/refuse.so" "$(dirname "$0")/refuse.c"; then
    refuse=("LD_PRELOAD=$tmp/refuse.so")
fi

# rank NAME PORT RANK SETTING...: in the background, as process $pid
rank() {
    env HX_ROOT=127.0.0.1:"$2" HX_RANK="$3" "${@:4}" "$here/actor" init >>"$tmp/$1.out" 2>>"$tmp/$1.err" &
    pid=$!
}

# await_line FILE PATTERN: wait at most 20 s until FILE has a line like PATTERN
await_line() {
    local i
    for ((i = 0; i < 1000; i++)); do
        ! grep -Eqi "$2" "$1" || return 0
        sleep 0.02
    done
    fail "no \"$2\" in $1"
}
listens() { await_line /proc/net/tcp ":$(printf %04x "$1") .* 0A "; }
talks() { await_line /proc/net/tcp ":$(printf %04x "$1") [0-9A-F:]* 01 .* 0 0 [0-9]* [^ ]* "; }

# All cases at once; each in a shell of its own, which says how long it took.
# killed NAME PORT SECONDS WANTED SETTING...: rank 0 is killed SECONDS after it listens; the others say WANTED within 12 s, or have begun
killed() {
    local name=$1 at=$2 first others=() start
    rank "$name" "$at" 0 "${@:5}"
    first=$pid
    listens "$at"
    for r in 1 2; do
        rank "$name" "$at" $r "${@:5}"
        others+=("$pid")
    done
    sleep "$3"
    kill -KILL "$first" 2>/dev/null # unless it has died
    start=$(now)
    wait "${others[@]}"
    [ $(($(now) - start)) -le 12000 ] || fail "$name: it took $(($(now) - start)) ms until the others ended"
    ! grep -q '^rank 0 status 0' "$tmp/$name.out" || return 0 # a busy machine: it was killed too late
    [ "$(cat "$tmp/$name.out" "$tmp/$name.err" | grep -Ec "^(rank -?[12] |actor: rank [12]: .*)status $4")" = 2 ] ||
        { fail "$name: not both others say \"$4\""; cat "$tmp/$name.out" "$tmp/$name.err" >&2; }
}

cases=()
begin() { ("$@"; exit $failures) & cases+=($!); }

first_fence() { # one of them is not there yet, and comes when rank 0 is gone
    local others=() start
    rank fence "$1" 0 HX_TIMEOUT=60
    listens "$1"
    local first=$pid
    rank fence "$1" 1 HX_TIMEOUT=60
    others+=("$pid")
    sleep 1
    kill -KILL "$first"
    start=$(now)
    wait "${others[0]}"
    [ $(($(now) - start)) -le 5000 ] || fail "at the first fence: it took $(($(now) - start)) ms until rank 1 ended"
    has "$tmp/fence.out" "rank -1 status 8: rank 0 has died" "at the first fence"
    rank late "$1" 2 HX_TIMEOUT=3 # it cannot know, but does not wait for longer than it may
    wait "$pid"
    [ $(($(now) - start)) -le 12000 ] || fail "too late: it took $(($(now) - start)) ms until rank 2 ended"
    has "$tmp/late.out" "status 5: no store answers at HX_ROOT=127.0.0.1:$1" "too late"
    has "$tmp/late.out" "Rank 0 (or the launcher) serves the store. It has not started, or it has ended" "too late"
}

host_dies() { # host_dies NAME PORT WHEN: who creates the node's segment, at that, or once one of the others has it
    local others=() dead
    for r in 0 1 2; do
        rank "$1" "$2" $r "${refuse[@]}" "$3=1" HX_TIMEOUT=60
        others+=("$pid")
    done
    wait "${others[@]}"
    dead=$(sed -n 's/^rank \([0-9]\) dies$/\1/p' "$tmp/$1.err")
    [ "$(grep -c "status 8: .*rank ${dead:-nobody} has died" "$tmp/$1.out")" = 2 ] ||
        { fail "the host of a node dies, $3: not both others name rank $dead"; cat "$tmp/$1.out" "$tmp/$1.err" >&2; }
}

leaves_early() { # rank 2 comes last of its node, learns that rank 0 has died, and leaves: all while rank 3 sleeps, which does not call it dead
    local settings=("${refuse[@]}" HX_SIZE=4 HX_NODES=2 HX_TIMEOUT=60) others=()
    rank early "$1" 0 "${settings[@]}" DIE=0
    rank early "$1" 1 "${settings[@]}"
    others+=("$pid")
    rank early "$1" 2 "${settings[@]}" PAUSE=1
    others+=("$pid")
    rank early "$1" 3 "${settings[@]}" NAPS=1
    others+=("$pid")
    wait "${others[@]}"
    [ "$(grep -c 'status 8: .*rank 0 has died' "$tmp/early.out")" = 3 ] ||
        { fail "a rank leaves start-up early: not all others name rank 0"; cat "$tmp/early.out" "$tmp/early.err" >&2; }
}

suspended() { # two wait for the third, and are stopped for longer than their limit
    local waiting=()
    for r in 0 1; do
        rank suspended "$1" $r HX_TIMEOUT=3
        waiting+=("$pid")
    done
    listens "$1"
    sleep 1
    kill -STOP "${waiting[@]}"
    sleep 5
    kill -CONT "${waiting[@]}"
    rank suspended "$1" 2 HX_TIMEOUT=3
    wait
    [ "$(grep -c 'status 0: started' "$tmp/suspended.out")" = 3 ] ||
        { fail "a job that was stopped in hx_init does not start"; cat "$tmp/suspended.out" "$tmp/suspended.err" >&2; }
}

launcher_suspended() { # as by Ctrl-Z
    local launcher
    "$run" -n 2 --timeout 3 -- sleep 2 2>"$tmp/launcher.err" &
    launcher=$!
    sleep 1
    kill -TSTP $launcher
    sleep 5
    kill -CONT $launcher
    wait $launcher || { fail "coll_run --timeout counts the time in which it was stopped"; cat "$tmp/launcher.err" >&2; }
}

begin first_fence $port
begin suspended $((port + 1))
begin launcher_suspended
if [ ${#refuse[@]} != 0 ]; then # who listens pauses then for a second: at the store, at the node's socket, at the network's
    begin killed unanswered $((port + 2)) 0.5 '8: rank 0 has died' "${refuse[@]}" PAUSE=1
    begin killed node $((port + 3)) 1.5 '8: .*rank 0 has died' "${refuse[@]}" PAUSE=1
    begin killed nodes $((port + 4)) 2.5 '8: .*rank 0 has died' "${refuse[@]}" PAUSE=1 HX_NODES=3
    begin host_dies host $((port + 6)) DIE_HOST
    begin host_dies shares $((port + 8)) DIE_SHARING
    begin leaves_early $((port + 7))
    begin killed reads $((port + 5)) 3 '8: .*rank 0 has died' "${refuse[@]}" DIE=0
fi
for case in "${cases[@]}"; do wait "$case" || failures=$((failures + 1)); done
finish
