#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Hierax over several hosts that meet at a TCP store: even and uneven, in blocks and dealt out; a killed job leaves
# nothing behind.
# shellcheck source=cases.sh
. "$(dirname "$0")/cases.sh"
need coll_bench
collectives="allreduce reduce_scatter_block allgather"
# shellcheck disable=SC2206
bench=("$(program coll_bench)" $collectives --check --max 64K --iterations 20)

killed() { # kill -9 of one rank in the midst of a long run: the job fails, soon
    local job i victim='' status=0
    timeout -k 5 60 "$lab" coll_run 2 2 -- "$(program coll_bench)" allreduce --min 1M --max 1M --iterations 1000000 &
    job=$!
    for ((i = 0; i < 100 && ${#victim} == 0; i++)); do
        sleep 0.1
        victim=$("$lab" ps 2 | sed -n '/coll_bench/{s/ .*//p;q}')
    done
    sleep 2
    kill -KILL "$victim" || return 1
    wait $job || status=$?
    [ $status != 0 ] && [ $status != 124 ] # 137 or, where another rank saw it first, that rank's status
}

leftovers() { # processes, shared memory and files on hosts 1 and 2
    for host in 1 2; do
        "$lab" ps $host
        # shellcheck disable=SC2016
        "$lab" exec $host -- sh -c 'find /dev/shm "$TMPDIR" -mindepth 1'
    done
}

check "lab up" "$lab" up 4
for job in "1 4" "2 1" "2 2" "4 2" "3 3,1,2"; do
    # shellcheck disable=SC2086
    check "coll_run: hosts and ranks on each: $job" "$lab" coll_run $job -- "${bench[@]}"
done
check "coll_run: cyclic 3 2" env LAB_MAP=cyclic "$lab" coll_run 3 2 -- "${bench[@]}"
check "kill -9 of one rank ends the job" killed
prints "and nothing is left" "" leftovers
check "lab down" "$lab" down
finish
