#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Five hosts, two of which send each other ten times slower: HX_RING_ORDER=auto finds a ring without that link, as fast as the best
# of all twelve orders, each forced in turn.
# shellcheck source=cases.sh
. "$(dirname "$0")/cases.sh"
need tests/tools/coll_bench
orders=$(for a in 1 2 3 4; do for b in 1 2 3 4; do for c in 1 2 3 4; do for d in 1 2 3 4; do
    [ $a -lt $d ] && [ "$(printf '%s\n' $a $b $c $d | sort -u | wc -l)" = 4 ] && echo "0,$a,$b,$c,$d"; done; done; done; done)
fast=200 slow=20 bytes=1M

allreduce() { # ORDER REPETITIONS: prints the median in microseconds
    HX_RING_ORDER=$1 HX_INTER_ALLREDUCE=ring HX_LOG=info "$lab" coll_run 5 1 -- "$top_builddir/tests/tools/coll_bench" allreduce --min $bytes \
        --max $bytes --warmup 1 --repetitions "$2" --csv - 2>"$scratch/bench.err" |
        awk -F, 'NR == 1 {for (i = 1; i <= NF; i++) at[$i] = i} END {print int($at["median_us"])}'
}

passes_slow() { # ORDER: from host 2 to 3, nodes 1 and 2
    [[ ,$1,0, =~ ,1,2,|,2,1, ]]
}

all_orders() {
    local order us
    for order in $orders; do
        us=$(allreduce "$order" "$(passes_slow "$order" && echo 1 || echo 5)")
        [ "${us:-0}" -gt 0 ] || return 1
        echo "$us $order" | tee -a "$scratch/orders"
    done
    [ "$(wc -l <"$scratch/orders")" = 12 ]
}

slow_is_slow() { # else the test says nothing: the worst order takes more than four times as long as the best
    sort -n "$scratch/orders" | awk 'NR == 1 {best = $1} END {print best, $1; exit $1 < 4 * best}'
}

# Against the best order, which runs right before. The best of six: the machine does other things too, also while links are measured.
auto() {
    local best us order i
    for ((i = 0; i < 6; i++)); do
        best=$(allreduce "$(sort -n "$scratch/orders" | head -n 1 | cut -d' ' -f2)" 7)
        us=$(allreduce auto 7)
        order=$(sed -n 's/.*rings pass the nodes in the order \([0-9,]*\),.*/\1/p' "$scratch/bench.err")
        grep "rings pass" "$scratch/bench.err"
        echo "auto: $order, $us us; best of all orders: $best us"
        [ -n "$order" ] || return 1
        passes_slow "$order" || [ $((100 * us)) -gt $((105 * best)) ] || return 0
    done
    return 1
}

check "lab up, $fast Mbit/s" "$lab" up 5 --rate $fast
check "hosts 2 and 3 at $slow Mbit/s" "$lab" slow 2 3 $slow
CASE_SECONDS=120 check "all-reduce by rings in all 12 orders" all_orders
sort -n "$scratch/orders"
check "the slow link shows" slow_is_slow
check "HX_RING_ORDER=auto is within 5 % of the best order" auto
tail -n 1 "$scratch/log"
check "lab down" "$lab" down

# Five rounds of one and a half second each, and nobody waits longer than for one.
measured_slowly() {
    local start=$SECONDS
    HX_TIMEOUT=5 HX_RING_ORDER=auto HX_LOG=info "$lab" coll_run 5 2 -- "$top_builddir/tests/tools/coll_bench" barrier --warmup 1 --repetitions 3 \
        2>"$scratch/bench.err" || { cat "$scratch/bench.err"; return 1; }
    grep "rings pass the nodes in the order" "$scratch/bench.err" && [ $((SECONDS - start)) -gt 5 ]
}
limit() {
    local host
    for host in 1 2 3 4 5; do # the lab's own limit lets some hundreds of KB pass at once
        "$lab" exec $host -- tc qdisc change dev eth0 root tbf rate 1mbit burst 16kb latency 2s || return 1
    done
}
check "lab up" "$lab" up 5 --rate 100
check "1 Mbit/s" limit
check "HX_TIMEOUT bounds each round of measuring, not all together" measured_slowly
check "lab down" "$lab" down
finish
