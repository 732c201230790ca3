#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Hierax over several hosts that meet at a TCP store: even and uneven, in blocks and dealt out; a killed job leaves
# nothing behind.
# shellcheck source=cases.sh
. "$(dirname "$0")/cases.sh"
need tests/tools/coll_bench tests/runtime/bootstrap/boot_ring tests/system/actor
ring=$top_builddir/tests/runtime/bootstrap/boot_ring
bench=("$top_builddir/tests/tools/coll_bench" allreduce reduce_scatter_block allgather --check --max 64K --iterations 20
    --repetitions 3)

killed() { # kill -9 of one rank in the midst of a long run: the job fails, soon
    local job i victim='' status=0
    timeout -k 5 60 "$lab" coll_run 2 2 -- "${bench[0]}" allreduce --min 1M --max 1M --iterations 1000000 &
    job=$!
    for ((i = 0; i < 200 && ${#victim} == 0; i++)); do
        sleep 0.1
        victim=$("$lab" ps 2 | sed -n '/^[0-9]* [^ ]*coll_bench allreduce/{s/ .*//p;q}') # not a shell that is about to start it
    done
    sleep 2
    kill -KILL "$victim" || return 1
    wait $job || status=$?
    [ $status != 0 ] && [ $status != 124 ] # 137 or, where another rank saw it first, that rank's status
}

vanishes() { # host 3 can no longer be reached, in the midst of a long run: the others are told that its rank has died
    local job i out=$scratch/vanishes
    LAB_GRACE=30 timeout -k 5 90 "$lab" coll_run 3 1 -- "$top_builddir/tests/system/actor" loop >"$out" 2>&1 &
    job=$!
    for ((i = 0; i < 200 && $(grep -c pid "$out") < 3; i++)); do sleep 0.1; done
    "$lab" exec 3 -- ip link set eth0 down
    for ((i = 0; i < 300 && $(grep -c '^hierax\[[01]\].* rank 2 has died$' "$out") < 2; i++)); do sleep 0.1; done
    "$lab" exec 3 -- ip link set eth0 up
    wait $job
    cat "$out"
    [ "$(grep -c '^hierax\[[01]\].* rank 2 has died$' "$out")" = 2 ]
}

leftovers() { # processes, shared memory and files on hosts 1 and 2
    for host in 1 2; do
        "$lab" ps $host
        # shellcheck disable=SC2016
        "$lab" exec $host -- sh -c 'find /dev/shm "$TMPDIR" -mindepth 1'
    done
}

ring_dies() { # the store's clients learn of a dead rank at once, and which
    local status=0
    "$lab" coll_run 4 1 -- "$ring" --die 2 2>"$scratch/dies" || status=$?
    cat "$scratch/dies"
    [ $status != 0 ] && [ "$(grep -c 'rank 2 has died' "$scratch/dies")" = 3 ]
}

# doctor STATUS PATTERN: on three hosts of two ranks the doctor exits so and says this
doctor() {
    local status=0
    "$lab" coll_run 3 2 -- "${@:3}" "$top_builddir/tools/coll_info" --doctor >"$scratch/doctor" || status=$?
    cat "$scratch/doctor"
    [ $status = "$1" ] && grep -Eq -- "$2" "$scratch/doctor"
}

cut_off() { # hosts 2 and 3 do not reach each other
    local status=0
    "$lab" exec 2 -- ip route add blackhole 10.99.0.3/32 && "$lab" exec 3 -- ip route add blackhole 10.99.0.2/32 || return 1
    doctor 1 '^fail +firewall +no TCP connection to h[23] .*\(rank [24] on h[23]\)$' || status=1
    "$lab" exec 2 -- ip route del blackhole 10.99.0.3/32 && "$lab" exec 3 -- ip route del blackhole 10.99.0.2/32 && return $status
}

ahead() { # the clock of host 2 is, by 7 seconds
    printf '%s\n' '#include <sys/syscall.h>' '#include <time.h>' '#include <unistd.h>' 'int clock_gettime(clockid_t id, struct timespec *t)' \
        '{ long rc = syscall(SYS_clock_gettime, id, t); t->tv_sec += id == CLOCK_REALTIME ? 7 : 0; return (int)rc; }' |
        ${CC:-cc} -shared -fPIC -x c - -o "$scratch/ahead.so" || return 1
    # shellcheck disable=SC2016
    doctor 0 '^warn +time +the clock of h2 is [67][.][0-9]* s ahead' \
        bash -c '[ $(hostname) != h2 ] || export LD_PRELOAD=$0; exec "$@"' "$scratch/ahead.so"
}

check "lab up" "$lab" up 4
check "doctor: three hosts, nothing fails" doctor 0 '^ok +firewall +6 TCP connections between 3 hosts$'
check "doctor: a host's clock is ahead" ahead
check "doctor: two hosts are cut off" cut_off
check "bootstrap, 4 hosts of 2" "$lab" coll_run 4 2 -- "$ring" --expect 8
check "bootstrap, a rank dies" ring_dies
for job in "1 4" "2 1" "2 2" "4 2" "3 3,1,2"; do
    # shellcheck disable=SC2086
    check "coll_run: hosts and ranks on each: $job" "$lab" coll_run $job -- "${bench[@]}"
done
check "coll_run: cyclic 3 2" env LAB_MAP=cyclic "$lab" coll_run 3 2 -- "${bench[@]}"
check "kill -9 of one rank ends the job" killed
check "a host that vanishes is found" vanishes
prints "and nothing is left" "" leftovers
check "lab down" "$lab" down
finish
