#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hx_state_sync: outliers, newcomers, ties, refusals, bits and deaths, on one node and on several, and over the provider that behaves like EFA.
# The library's own counters say that a rank receives no more than the entries that differ.
. "$(dirname "$0")/common.sh"
export HX_TIMEOUT=60

run_mode() { # MODE NODES [X=Y...]
    local mode=$1 nodes=$2
    shift 2
    timeout 120 env "$@" "$run" -n 4 --nodes "$nodes" -- "$here/state" "$mode" "$nodes" >"$tmp/out" 2>"$tmp/err" ||
        fail "$mode on $nodes nodes, $*: exit $?: $(grep 'line\|WARNING\|ERROR' "$tmp/err" | head -n 3)"
}
for nodes in 1 2; do
    for mode in outliers newcomers ties refusals bits; do
        run_mode $mode $nodes
    done
done
run_mode outliers 1 HX_STATE_THREADS=3 # the hash does not depend on the threads
run_mode outliers 2 HX_CHECK=1 HX_PROGRESS_THREAD=1
run_mode newcomers 1 HX_SINGLE_COPY=0

counter() { # RANK NAME: its value, or 0
    local value
    value=$(sed -n "s/^hierax stats: rank $1: $2  *\\([0-9]*\\) .*/\\1/p" "$tmp/err")
    echo "${value:-0}"
}
for nodes in 1 2; do # 64 MiB, of which 1 MiB differs
    run_mode traffic $nodes HX_STATS=2
    bytes=$(counter 3 p2p_received_bytes)
    [ "$bytes" = 1048576 ] || fail "traffic, $nodes nodes: rank 3 has received $bytes bytes of messages, not 1 MiB"
    for counted in ring_bytes net_bytes_received fetched_bytes; do
        bytes=$(counter 3 $counted)
        [ "$bytes" -le $((1153433)) ] || fail "traffic, $nodes nodes: $bytes bytes of $counted, more than 1.1 MiB"
    done
    for rank in 0 1 2; do
        [ "$(counter $rank p2p_received_bytes)" = 0 ] || fail "traffic, $nodes nodes: rank $rank has received messages"
    done
done

for nodes in 1 2; do # without coll_run, which would end the others
    port=$((20000 + $$ % 10000))
    while grep -qi ":$(printf %04x $port) " /proc/net/tcp /proc/net/tcp6; do port=$((port + 1)); done
    pids=
    for rank in 0 1 2 3; do
        HX_NODES=$nodes HX_ROOT=localhost:$port HX_RANK=$rank HX_SIZE=4 HX_SECRET=s FI_LOG_LEVEL=none timeout -s KILL 90 \
            "$here/state" death $nodes 2>>"$tmp/err" & pids="$pids $!"
    done
    rank=0
    for pid in $pids; do
        status=0
        wait "$pid" 2>/dev/null || status=$?
        [ $status = $((rank == 1 ? 137 : 0)) ] || fail "death, $nodes nodes: rank $rank: exit $status: $(grep line "$tmp/err" | head -n 3)"
        rank=$((rank + 1))
    done
done

if [ -e "$top_builddir/tests/efa_provider/.libs/libefa-fi.so" ] && [ -z "${TEST_SANITIZER:-}" ]; then
    export FI_PROVIDER_PATH=$top_builddir/tests/efa_provider/.libs HX_PROVIDER=efa EFA_WORST=all EFA_SEED=${TEST_SEED:-7} EFA_NICS=2
    run_mode outliers 2
    run_mode bits 2
fi
finish
