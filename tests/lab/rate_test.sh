#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Four hosts of two ranks, each linked by 1 Gbit/s: large collectives come close to what the wire allows. The wire's rate
# is that of a plain TCP stream in the same lab; the bounds are coll_bench's (tools/common/bench_bound.c).
# shellcheck source=cases.sh
. "$(dirname "$0")/cases.sh"
need tests/tools/coll_bench
bench=$top_builddir/tests/tools/coll_bench
size=16M

stream() { # prints GB/s of payload
    local i
    "$lab" exec 1 -- iperf3 -s -1 -D
    for ((i = 0; i < 100; i++)); do
        "$lab" exec 1 -- ss -Hltn 'sport = 5201' | grep -q . && break
        sleep 0.1
    done
    "$lab" exec 2 -- iperf3 -c 10.99.0.1 -t 2 -f k |
        awk '/receiver/ {for (i = 2; i <= NF; i++) if ($i == "Kbits/sec") print $(i - 1) / 8e6}'
}

ticks() { # WHICH fields of /proc/stat's first line, added up: of 1/100 s
    awk -v fields="$1" 'NR == 1 {n = split(fields, f, ","); for (i = 1; i <= n; i++) sum += $f[i]; print sum}' /proc/stat
}

reaches() { # PERCENT COLLECTIVE: of the bound, in the best of sixteen launches: what runs beside the lab costs 2 to 4 %
    local try idle all best=0
    for ((try = 1; try <= 16; try++)); do
        idle=$(ticks 5) all=$(ticks 2,3,4,5,6,7,8)
        "$lab" coll_run 4 2 -- "$bench" "$2" --min $size --max $size --node-bandwidth "$gbps" --warmup 2 --repetitions 6 \
            --csv - >"$scratch/rate" || return 1
        idle=$((100 * ($(ticks 5) - idle) / ($(ticks 2,3,4,5,6,7,8) - all)))
        best=$(awk -F, 'NR == 1 {for (i = 1; i <= NF; i++) at[$i] = i}
                        END {print int($at["bound_percent"])}' "$scratch/rate")
        echo "$2: $best % of the bound, asked $1; cores idle $idle % of the time (launch $try)"
        [ "$best" -lt "$1" ] || return 0
    done
    return 1
}

check "lab up, 1 Gbit/s" "$lab" up 4 --rate 1000
gbps=$(stream)
check "a plain stream has a rate: ${gbps:-none} GB/s" test -n "$gbps"
for what in 92:allreduce 88:allgather 88:reduce_scatter_block 88:bcast 88:alltoall; do
    check "${what#*:} reaches ${what%:*} % of the wire" reaches "${what%:*}" "${what#*:}"
    tail -n 1 "$scratch/log"
done
check "lab down" "$lab" down
finish
