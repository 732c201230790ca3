#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Messages between two ranks: all pairs, sizes beside each limit, tags out of order, many that no rank expects, persistent ones, threads,
# mismatches, deaths and time-outs, on one node, on several, and over the provider that behaves like EFA.
. "$(dirname "$0")/common.sh"
export HX_TIMEOUT=60

# run_mode MODE RANKS NODES
run_mode() {
    timeout 120 "$run" -n "$2" --nodes "$3" -- "$here/messages" "$1" >"$tmp/out" 2>"$tmp/err" ||
        fail "$1, $2 ranks on $3 nodes: exit $?: $(grep 'line\|WARNING\|ERROR' "$tmp/err" | head -n 3)"
}
for mode in pairs tags persistent mismatch threads; do
    run_mode $mode 3 1
    run_mode $mode 4 2,1,1
done
run_mode pairs 1 1
run_mode tags 3 1,2
run_mode ahead 3 1
run_mode ahead 3 2,1
run_mode stream 4 1
run_mode stream 2 2
HX_SPIN=0 run_mode stream 2 1 # each wait sleeps
run_mode leaves 2 1
run_mode leaves 2 2
HX_PROGRESS_THREAD=1 run_mode persistent 3 1,2
HX_TIMEOUT=2 run_mode patience 3 1
HX_TIMEOUT=2 run_mode patience 3 1,2
HX_SINGLE_COPY=0 run_mode pairs 2 1
for nodes in 1 2; do # hx_comm_free while a thread is in hx_recv
    for try in 1 2 3 4; do
        status=0
        timeout 60 "$run" -n 2 --nodes $nodes -- "$here/messages" freed 2>"$tmp/err" || status=$?
        [ $status = 3 ] || break # a thread was late
    done
    [ $status = 0 ] || fail "freed, $nodes nodes: exit $status: $(tail -n 3 "$tmp/err")"
done

. "$(dirname "$0")/alone.sh"

# The name of a dead rank, and which message waits for it
for nodes in 1 3; do
    alone 3 $nodes death
    has "$tmp/err" "hx_recv of 8 bytes from rank 2, tag 7: rank 2 has died" "death, $nodes nodes"
    has "$tmp/err" "to rank 2, tag 8: rank 2 has died" "death, $nodes nodes"
done
for nodes in 1 3; do
    alone 3 $nodes probes death
    has "$tmp/err" "hx_recv of 4 bytes from rank 2, tag 2: rank 2 has died" "probes death, $nodes nodes"
    has "$tmp/err" "hx_iprobe from rank 2, tag 2: rank 2 has died" "probes death, $nodes nodes"
    HX_TIMEOUT=40 alone 3 $nodes probes finish
    for call in "hx_recv of 4 bytes" hx_iprobe; do # of the two, one may see the failure of the other one
        grep -q ": $call from rank 2, tag 2: .*rank 2 has finished (hx_finalize)" "$tmp/err" ||
            fail "probes finish, $nodes nodes: $(grep "^rank" "$tmp/err")"
    done
done
# Two that send to each other: the text names both
for nodes in 1 2; do
    HX_TIMEOUT=3 alone 2 $nodes crossed
    grep -q "rank 0: hx_send of 2097152 bytes to rank 1, tag 10: waited 3 s (HX_TIMEOUT); rank 1 is in hx_send to rank 0, tag 11" \
        "$tmp/out" ||
        grep -q "rank 1: hx_send of 2097152 bytes to rank 0, tag 11: waited 3 s (HX_TIMEOUT); rank 0 is in hx_send to rank 1, tag 10" \
            "$tmp/out" ||
        fail "crossed, $nodes nodes: $(cat "$tmp/out")"
done

if [ -e "$top_builddir/tests/efa_provider/.libs/libefa-fi.so" ] && [ -z "${TEST_SANITIZER:-}" ]; then
    export FI_PROVIDER_PATH=$top_builddir/tests/efa_provider/.libs HX_PROVIDER=efa EFA_WORST=all EFA_SEED=${TEST_SEED:-7} EFA_NICS=2
    run_mode pairs 3 1,2
    run_mode tags 4 2,1,1
    EFA_RDMA=1 run_mode pairs 2 2
fi
finish
