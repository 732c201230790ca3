#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Rounds of drawn faults: kill, stop, exit, abort, two at once, in hx_init, hx_comm_split and hx_finalize, a wrong call, a child left behind.
# Checked: no success with wrong data, no wait beyond the limit, every dead rank named, no living rank called dead, no process left.
# usage: faults.sh [ROUNDS [FIRST_SEED]]: that many rounds, from that seed on. `faults SEED` plays one of them alone.
# Without arguments: each kind of fault once, and the rounds that have failed before.
. "$(dirname "$0")/common.sh"

kinds=24
failed_before=(9436) # a communicator fails at a rank that then calls hx_finalize: the others learn the failure, not only the end
seeds=("${failed_before[@]}" $(seq 0 $((kinds - 1))))
[ $# -eq 0 ] || seeds=($(seq "${2:-0}" $((${2:-0} + $1 - 1))))
[ "$(nproc)" -gt 8 ] && side=$(nproc) || side=8 # most of them wait

sockets() { grep -o '@hierax-.*' /proc/net/unix | sort -u; }
files() { find /dev/shm /tmp -maxdepth 1 -iname '*hierax*' 2>/dev/null | sort; }
files >"$tmp/files"
sockets >"$tmp/sockets"

play() { timeout -s KILL 150 "$here/faults" "$1" >"$tmp/$1" 2> >(grep -v '^libfabric' >"$tmp/$1.err") || echo "$1" >>"$tmp/failed"; }

: >"$tmp/failed"
for seed in "${seeds[@]}"; do
    play "$seed" &
    while [ "$(jobs -rp | wc -l)" -ge "$side" ]; do wait -n; done
done
wait
while read -r seed; do
    fail "seed $seed"
    cat "$tmp/$seed" >&2
    grep -v 'error: ' "$tmp/$seed.err" | head -n 40 >&2
done <"$tmp/failed"
cat "$tmp"/[0-9]* | grep '^ok' | sort -t' ' -k3n
for ((i = 0; i < 100; i++)); do # other jobs may be ending
    [ -n "$(comm -13 "$tmp/files" <(files))$(comm -13 "$tmp/sockets" <(sockets))" ] || break
    sleep 0.1
done
[ $i -lt 100 ] || fail "left: $(comm -13 "$tmp/files" <(files)) $(comm -13 "$tmp/sockets" <(sockets))"
finish
