#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two hosts between which each TCP connection is limited, as over a long way: HX_RAILS uses several connections. Results, errors, and
# networks that are only routed are as with one.
#
#      h1  ===== 8 connections of 20 Mbit/s each =====  h2
#
# The kernel paces each socket (SO_MAX_PACING_RATE): that needs no queue of tc, which a kernel may lack.
# shellcheck source=cases.sh
. "$(dirname "$0")/cases.sh"
need tests/tools/coll_bench tools/coll_info
bench=$top_builddir/tests/tools/coll_bench
export HX_LOG=warn

limit() { # makes the library that limits each socket of a program
    printf '%s\n' '#include <sys/socket.h>' '#include <sys/syscall.h>' '#include <unistd.h>' 'int socket(int domain, int type, int protocol)' \
        '{ unsigned rate = 20000000 / 8; int fd = syscall(SYS_socket, domain, type, protocol);' \
        'setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof(rate)); return fd; }' |
        ${CC:-cc} -shared -fPIC -x c - -o "$scratch/limit.so"
}

median() { # RAILS: of an 8 MiB all-reduce, in microseconds
    "$lab" coll_run 2 1 -- env LD_PRELOAD="$scratch/limit.so" HX_RAILS="$1" HX_NIC=eth0 "$bench" allreduce --min 8M --max 8M --warmup 0 --repetitions 1 |
        awk '$1 == "allreduce" { print int($6) }'
}

# One connection takes 3.4 s, which is long beside what other load on the machine adds. The best of six.
faster() {
    local i one eight
    one=$(median 1) || return 1
    [ "$one" -gt 3000000 ] || { echo "one connection takes $one us: it is not limited"; return 1; }
    for ((i = 0; i < 6; i++)); do
        eight=$(median 8) || return 1
        echo "$one us over one connection, $eight over 8: $((100 * one / eight)) %"
        [ "$one" -lt $((6 * eight)) ] || return 0
    done
    return 1
}

checked() { # RANKS [X=Y]: results are right
    local ranks=$1
    shift
    "$lab" coll_run 2 "$ranks" -- env "$@" HX_TIMEOUT=20 "$bench" allreduce alltoall bcast --min 64 --max 1M --factor 8 --check --repetitions 3
}

says() { # TEXT option...: coll_info does, with 8 rails
    "$lab" exec 1 -- env HX_RAILS=8 HX_NIC=eth0 "$top_builddir/tools/coll_info" "${@:2}" | tee "$scratch/info" | grep -F "$1" || {
        cat "$scratch/info"
        return 1
    }
}

# SIGNAL TEXT: to the rank of host 2 while it transfers; rank 0 then fails with this text, which names rank 1
signalled() {
    local i job victim
    LAB_GRACE=20 "$lab" coll_run 2 1 -- env HX_RAILS=4 HX_NIC=eth0 HX_TIMEOUT=3 "$bench" allreduce --min 4M --max 4M --repetitions 1000000 \
        >"$scratch/job" 2>&1 &
    job=$!
    for ((i = 0; i < 300; i++)); do
        victim=$("$lab" ps 2 | awk '/coll_bench/ && !/ env / && !/bash/ { print $1; exit }')
        [ -z "$victim" ] || [ "$("$lab" exec 2 -- ss -Htn state established | wc -l)" -lt 5 ] || break # the store's, and 4
        sleep 0.1
    done
    sleep 0.5
    kill "-$1" "$victim"
    for ((i = 0; i < 150; i++)); do
        ! grep -E "$2" "$scratch/job" || break
        sleep 0.1
    done
    kill -KILL "$victim" 2>/dev/null
    wait $job
    cat "$scratch/job"
    grep -Eq "$2" "$scratch/job"
}

# The second host moves to networks of its own, with a way from eth0 to eth0 and from eth1 to eth1.
part() {
    local i
    for i in 0 1; do
        "$lab" exec 2 -- ip addr flush dev eth$i && "$lab" exec 2 -- ip addr add 10.98.$i.2/24 dev eth$i &&
            "$lab" exec 2 -- ip route add 10.99.$i.0/24 dev eth$i && "$lab" exec 1 -- ip route add 10.98.$i.0/24 dev eth$i || return 1
    done
}

connections() { # N command...: host 2 has at least so many established connections to other hosts while the command runs
    local i seen most=0
    "${@:2}" &
    for ((i = 0; i < 200; i++)); do
        seen=$("$lab" exec 2 -- ss -Htn state established | wc -l)
        most=$((seen > most ? seen : most))
        [ "$most" -lt "$1" ] || break
    done
    echo "$most connections, asked $1"
    wait $! && [ "$most" -ge "$1" ]
}

check "each connection has a limit" limit
check "lab up, 2 interfaces" "$lab" up 2 --nics 2
check "8 connections: 6 times as fast as one" faster
tail -n 1 "$scratch/log"
check "2 x 2, 8 connections: right" checked 2 HX_RAILS=8
check "3 and 1, two interfaces, 3 connections on each: right" checked 3,1 HX_RAILS=3 HX_NIC=eth0,eth1
check "coll_info names it" says "with 8 connections to each peer"
check "the doctor names it" says "on eth0, 8 connections to each peer" --doctor
check "a rank dies: named" signalled KILL "rank 1 .*(died|dead|ended)"
check "a rank stops: a time-out names it" signalled STOP "HX_TIMEOUT.*rank 1|rank 1.*HX_TIMEOUT"
check "networks that are routed, each to its like" part
check "no network in common: right, over 4 connections" connections 5 checked 1 HX_RAILS=4 HX_NIC=eth1
check "lab down" "$lab" down
finish
