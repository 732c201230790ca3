#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Addresses of interfaces: hosts find the network that they have in common, whatever other addresses they have.
# shellcheck source=cases.sh
. "$(dirname "$0")/cases.sh"
need tests/tools/coll_bench
bench=$top_builddir/tests/tools/coll_bench
export HX_LOG=warn

checked() { # RANKS [X=Y]: results are right
    local ranks=$1
    shift
    timeout -k 1 60 "$lab" coll_run 2 "$ranks" -- env HX_TIMEOUT=20 "$@" "$bench" allreduce alltoall --min 64 --max 64K --check --repetitions 3
}
refused() { # TEXT RANKS [X=Y]: at once, with that text
    local text=$1
    shift
    ! checked "$@" >"$scratch/said" 2>&1 && grep -F "$text" "$scratch/said" && ! grep HX_TIMEOUT "$scratch/said"
}
address() { "$lab" exec "$1" -- ip addr "${@:2}"; } # HOST add|del ADDRESS dev NIC

check "lab up" "$lab" up 2
check "h2 gets one more address, last" address 2 add 192.168.77.2/24 dev eth0
check "one more on one host: right" checked 2
check "HX_NIC by address of each host's network" checked 1 HX_NIC=10.99.0.0/24
check "HX_NIC: an address that is not there" refused "no usable interface has address 10.99.0.77" 1 HX_NIC=10.99.0.77
# The same, as its first one
first() {
    address 2 del 10.99.0.2/24 dev eth0 && address 2 add 10.99.0.2/24 dev eth0
}
check "h2's first address is the other" first
check "one more on one host, first: right" checked 2,1
check "h1 has others too" address 1 add 192.168.78.1/24 dev eth0
check "others on both hosts: right" checked 2
# Both hosts have the same address, as that of a container bridge
mirror() { # NIC...
    local host
    for host in 1 2; do
        "$lab" exec "$host" -- ip link add pair0 type veth peer name pair1 && "$lab" exec "$host" -- ip link set pair0 up &&
            "$lab" exec "$host" -- ip link set pair1 up && address "$host" add 172.30.0.1/24 dev pair0 || return 1
    done
}
check "both hosts have a pair of the same address" mirror
check "the same address on both: not used, right" checked 2
check "the same address on both, by HX_NIC: refused" refused "on different hosts that have the same address 172.30.0.1" 1 HX_NIC=pair0
# Only link-local IPv6 between the hosts; interfaces' numbers differ
link_local() {
    local host
    "$lab" exec 2 -- ip link add other0 type veth peer name other1 || return 1 # so that later interfaces have other numbers
    for host in 1 2; do
        "$lab" exec "$host" -- sh -c 'ip link del pair0; ip link add link eth0 name six type macvlan mode bridge && echo 0 >/proc/sys/net/ipv6/conf/six/disable_ipv6 && echo 0 >/proc/sys/net/ipv6/conf/six/accept_dad;
            ip link set six up && ip addr show dev six | grep "inet6 fe80"' || return 1
    done
}
check "IPv6 link-local on an interface of another number" link_local
check "IPv6 link-local only: right" checked 2 HX_NIC=six
check "lab down" "$lab" down
finish
