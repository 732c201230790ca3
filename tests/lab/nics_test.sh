#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two hosts with two interfaces of 500 Mbit/s each: long messages take both, without a setting, and nothing depends on
# a way between the two networks or on both hosts having both.
# shellcheck source=cases.sh
. "$(dirname "$0")/cases.sh"
need tests/tools/coll_bench tools/coll_info
bench=$top_builddir/tests/tools/coll_bench
export HX_LOG=warn

median() { # RANKS [X=Y]: of a 16 MiB all-reduce, in microseconds
    local ranks=$1
    shift
    "$lab" coll_run 2 "$ranks" -- env "$@" "$bench" allreduce --min 16M --max 16M --repetitions 3 |
        awk '$1 == "allreduce" { print int($6) }'
}

# The wire takes 134 ms over both, 268 over one; the best of six, since other load on the machine takes time from either.
faster() { # RANKS
    local i two one
    for ((i = 0; i < 6; i++)); do
        two=$(median "$1") && one=$(median "$1" HX_NIC=eth0) || return 1
        echo "$two us over two interfaces, $one over one: $((100 * one / two)) %"
        [ $((10 * one)) -lt $((18 * two)) ] || return 0
    done
    return 1
}

# Who sends by the one interface with the other's address would not be heard.
strict() {
    local host nic
    for host in 1 2; do
        for nic in all eth0 eth1; do
            "$lab" exec $host -- sh -c "echo 1 >/proc/sys/net/ipv4/conf/$nic/rp_filter" || return 1
        done
    done
}

checked() { # RANKS [X=Y]: results are right
    local ranks=$1
    shift
    "$lab" coll_run 2 "$ranks" -- env "$@" HX_TIMEOUT=20 "$bench" allreduce alltoall bcast --min 64 --max 1M --check \
        --repetitions 3
}

used() { # HOST "INTERFACE...": by a single rank there
    [ "$("$lab" exec "$1" -- env "$top_builddir/tools/coll_info" |
        awk '/^  interfaces/ { here = 1 } /^$/ { here = 0 } here && / yes/ { print $1 }' | xargs)" = "$2" ]
}

link() { "$lab" exec "$1" -- ip link set "$2" "$3"; }

refused() { # says a rank whose interface is down
    ! "$lab" coll_run 2 1 -- env HX_NIC=eth1 "$bench" barrier 2>"$scratch/said" &&
        grep "HX_NIC=eth1: the link of eth1 is down" "$scratch/said"
}

check "lab up, 2 interfaces of 500 Mbit/s" "$lab" up 2 --rate 500 --nics 2
check "one rank uses both" used 1 "eth0 eth1"
check "2 x 1: 1.8 times as fast" faster 1
check "2 x 2: 1.8 times as fast" faster 2
check "rp_filter strict" strict
check "2 x 2: right" checked 2
check "3 and 1, the other interface first: right" checked 3,1 HX_NIC=eth1,eth0
check "a link goes down" link 2 eth1 down
check "it is not used" used 2 eth0
check "3 and 1, one interface in common: right" checked 3,1
check "forced all the same: refused, and named" refused

# The second host moves to networks of its own, with a way from eth0 to eth0 and from eth1 to eth1.
part() {
    local i
    link 2 eth1 up || return 1
    for i in 0 1; do
        "$lab" exec 2 -- ip addr flush dev eth$i && "$lab" exec 2 -- ip addr add 10.98.$i.2/24 dev eth$i &&
            "$lab" exec 2 -- ip route add 10.99.$i.0/24 dev eth$i && "$lab" exec 1 -- ip route add 10.98.$i.0/24 dev eth$i || return 1
    done
}
check "networks that are routed, each to its like" part
check "2 x 2: no network in common: right" checked 2
check "lab down" "$lab" down
finish
