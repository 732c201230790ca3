#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# coll_info --doctor before a job, and coll_trace summary of its traces, name what makes it slow: a slow host, a slow way, a slow link,
# a busy core. Only the traces name a late rank.
# shellcheck source=cases.sh
. "$(dirname "$0")/cases.sh"
need tests/tools/coll_bench tests/system/traced
info=$top_builddir/tools/coll_info
trace=$top_builddir/tools/coll_trace

# Computes on core 1 for half of the time. With real-time priority, so that it does so whatever else the machine does.
start_rival() {
    chrt -r 1 taskset -c 1 python3 -c '
import time
def compute(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass
compute(6)
while True:
    compute(0.01)
    time.sleep(0.01)' </dev/null >/dev/null 2>&1 &
    rival=$!
}

doctor() { # HOSTS [RANKS of each]
    "$lab" coll_run "$1" "${2:-1}" -- "$info" --doctor
}

# says REGEX command...: one line of the output begins with warn or fail, and it matches; REGEX "": there is none
says() {
    "${@:2}" >"$scratch/said" || { cat "$scratch/said"; return 1; }
    grep -E '^(warn|fail|ok +links)' "$scratch/said"
    if [ -n "$1" ]; then
        [ "$(grep -cE '^(warn|fail)' "$scratch/said")" = 1 ] && grep -Eq "^(warn|fail) +$1" "$scratch/said"
    else
        ! grep -Eq '^(warn|fail)' "$scratch/said"
    fi
}

# why REGEX HOSTS program...: the summary of the job's traces has a line that matches
why() {
    local regex=$1 hosts=$2
    shift 2
    HX_TRACE=$scratch/trace "$lab" coll_run "$hosts" 1 -- "$@" >/dev/null || return 1
    "$trace" summary "$scratch"/trace.* >"$scratch/summary" || return 1
    rm -f "$scratch"/trace.*
    sed -n '/^why ranks waited/,/^ *rank  /p' "$scratch/summary"
    grep -Eq "$regex" "$scratch/summary"
}

# Of a machine that hwloc invents, core 1 and eth0 are on NUMA node 1. The kernel puts all memory on node 0.
objects=0
{
    echo '<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE topology SYSTEM "hwloc2.dtd"><topology version="2.0">'
    object() { # TYPE INDEX UNITS NODES REST
        echo "<object type=\"$1\" os_index=\"$2\" cpuset=\"$3\" complete_cpuset=\"$3\" nodeset=\"$4\" complete_nodeset=\"$4\"" \
            "gp_index=\"$((++objects))\" $5"
    }
    object Machine 0 0x3 0x3 'allowed_cpuset="0x3" allowed_nodeset="0x3">'
    for node in 0 1; do
        object Package $node 0x$((node + 1)) 0x$((node + 1)) '>'
        object NUMANode $node 0x$((node + 1)) 0x$((node + 1)) 'local_memory="1073741824"/>'
        object Core $node 0x$((node + 1)) 0x$((node + 1)) '>'
        object PU $node 0x$((node + 1)) 0x$((node + 1)) '/></object>'
        [ $node = 0 ] || echo '<object type="Bridge" gp_index="98" bridge_type="0-1" depth="0" bridge_pci="0000:[04-04]">' \
            '<object type="PCIDev" gp_index="99" pci_busid="0000:04:00.0" pci_type="0200 [1d0f:ec20] [0000:0000] 00" pci_link_speed="0.0">' \
            '<object type="OSDev" gp_index="100" name="eth0" osdev_type="2"/></object></object>'
        echo '</object>'
    done
    echo '</object></topology>'
} >"$scratch/machine.xml"

numa() { # h1 and h3 have core 0, h2 and h4 core 1
    HWLOC_XMLFILE=$scratch/machine.xml doctor 4 >"$scratch/said" || return 1
    grep -A2 ' numa ' "$scratch/said"
    grep -Eq 'numa +interface eth0 on NUMA node 1, core on NUMA node 0: .* 1 processing units, .* 1 ranks \(ranks 0,2 on h1,h3\)' "$scratch/said" &&
        grep -Eq 'numa +memory on NUMA node 0, core on NUMA node 1 \(ranks 1,3 on h2,h4\)' "$scratch/said"
}

cat >"$scratch/preferred" <<'END'
#!/bin/sh
# A rank that has its core for itself, but for a rival with real-time priority: the kernel weighs sessions, and processes in them.
[ ! -w /proc/self/autogroup ] || echo -20 >/proc/self/autogroup
exec nice -n -20 "$@"
END
chmod +x "$scratch/preferred"

tries() { # N command...: what else runs on the machine may hide it
    local i
    for ((i = 0; i < $1; i++)); do
        "${@:2}" && return 0
    done
    return 1
}

bench=("$top_builddir/tests/tools/coll_bench" alltoall --min 256K --max 256K --warmup 1 --repetitions 3)
rate='(1[5-9]|2[0-9])(\.[0-9]+)? Mbit/s' median='[0-9.]+ [MG]bit/s \(factor [0-9]+\)'

check "lab up, 1 Gbit/s" "$lab" up 4 --rate 1000
check "the doctor finds nothing" says "" doctor 4
[ "$(nproc)" = 1 ] || check "the doctor names far memory and a far interface" numa
crowd=$(($(nproc) + 1))
check "the doctor says once that ranks outnumber cores" \
    says "cores +$crowd ranks on $(nproc) usable cores: .*\(ranks 0-$((4 * crowd - 1)) on h1,h2,h3,h4\)" doctor 4 $crowd
"$lab" slow 3 20
check "the doctor names a slow host" \
    says "links +slow host h3: $rate to and from 3 of 3 measured hosts; the median host has $median.* eth0 " doctor 4
check "the traces name it" tries 3 why "all links of node 2 are slow \(between nodes\)" 4 "${bench[@]}"
check "its rate of receiving as before" "$lab" exec 0 -- tc qdisc replace dev h3 root tbf rate 1000mbit burst 256kb latency 50ms
check "the doctor names the slow way" says "links +slow host h3: $rate only to 3 of 3 measured hosts" doctor 4
check "its rate of sending as before" "$lab" exec 3 -- tc qdisc replace dev eth0 root tbf rate 1000mbit burst 256kb latency 50ms
"$lab" slow 2 3 20 2>/dev/null
check "the doctor names a slow link" \
    says "links +slow link from h2 to h3: $rate, and $rate back; the median host has $median .*on h2,h3" doctor 4
check "the traces name a late rank" \
    why 'rank 3 \(node 3\) came late: [2-9][0-9.]+ ms after the other ranks' 4 "$top_builddir/tests/system/traced" 10 late 3
check "lab down" "$lab" down

if [ "$(nproc)" -gt 1 ]; then # of two ranks each has a core
    start_rival
    trap 'kill $rival 2>/dev/null; "$lab" down; rm -rf "$scratch"' EXIT
    check "lab up" "$lab" up 2
    sleep 5
    check "the doctor names a busy core" tries 3 \
        says "busy core +core 1 is busy: process $rival \(python3\) takes [0-9]+ %, and the rank gets [0-9]+ %.*\(rank 1 on h2\)" doctor 2
    check "the traces name it" tries 3 \
        why 'rank 1 \(node 1\) waited for its core [0-9]+ % of the time' 2 setsid -w "$scratch/preferred" "${bench[@]/%3/200}"
    kill $rival
    check "lab down" "$lab" down
fi
finish
