#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# kill -9 of one rank, of all ranks, of coll_run, in the middle of all-reduces: nothing is left, and coll_run names rank and signal.
. "$(dirname "$0")/common.sh"

# Jobs of others may be starting or ending on this machine: what they have is gone soon, and what was there before does not count.
files() { find /dev/shm /tmp -maxdepth 1 -iname '*hierax*' 2>/dev/null | sort; }
traces() { comm -13 "$tmp/before" <(files); }
sockets() { grep -o '@hierax-.*' /proc/net/unix; }
files >"$tmp/before"

# start N NODES: a job under way; its launcher is $launcher, its ranks are $pids
start() {
    local options=()
    [ "$2" = 1 ] || options=(--nodes "$2")
    rm -f "$tmp/out" # the job's shell may be slow to empty it
    "$run" -n "$1" "${options[@]}" -- "$here/actor" loop >"$tmp/out" 2>"$tmp/err" &
    launcher=$!
    await_file "$tmp/out" "$1"
    mapfile -t pids < <(sort -k2n "$tmp/out" | sed 's/.*pid //')
}

# gone WHAT: launcher and ranks have ended, no socket of Hierax and no file is left. Leaves the launcher's exit status in $status.
gone() {
    local pid i
    ended $launcher 10 || { fail "$1: coll_run still runs after 10 s"; kill -9 $launcher; }
    wait $launcher
    status=$?
    for pid in "${pids[@]}"; do
        ended "$pid" 5 || { fail "$1: rank with pid $pid still runs"; kill -9 "$pid"; }
    done
    for ((i = 0; i < 400; i++)); do
        [ -n "$(traces)" ] || sockets >/dev/null || return 0
        sleep 0.05
    done
    fail "$1: left $(traces) $(sockets)"
}

for shape in 3:1 4:2; do
    n=${shape%:*} nodes=${shape#*:}
    for ((r = 0; r < n; r++)); do
        start "$n" "$nodes"
        kill -9 "${pids[r]}"
        gone "-n $n --nodes $nodes, rank $r killed"
        [ $status = 137 ] || fail "-n $n --nodes $nodes, rank $r killed: coll_run's exit status is $status, expected 137"
        has "$tmp/err" "rank $r (pid ${pids[r]}) was killed by signal 9 (Killed)" "rank $r killed"
    done
    start "$n" "$nodes"
    kill -9 "${pids[@]}"
    gone "-n $n --nodes $nodes, all ranks killed"
    has "$tmp/err" "was killed by signal 9 (Killed)" "all ranks killed"
    start "$n" "$nodes"
    kill -9 $launcher
    gone "-n $n --nodes $nodes, coll_run killed" 2>"$tmp/gone"
    grep -v Killed "$tmp/gone" >&2
done
finish
