#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Hierax over several hosts that meet at a TCP store: even and uneven, in blocks and dealt out; a killed job leaves
# nothing behind.
# shellcheck source=cases.sh
. "$(dirname "$0")/cases.sh"
need tools/coll_bench tests/runtime/boot_ring
ring=$top_builddir/tests/runtime/boot_ring
bench=("$top_builddir/tools/coll_bench" allreduce reduce_scatter_block allgather --check --max 64K --iterations 20
    --repetitions 3)

killed() { # kill -9 of one rank in the midst of a long run: the job fails, soon
    local job i victim='' status=0
    timeout -k 5 60 "$lab" coll_run 2 2 -- "${bench[0]}" allreduce --min 1M --max 1M --iterations 1000000 &
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

ring_dies() { # the store's clients learn of a dead rank at once, and which
    local status=0
    "$lab" coll_run 4 1 -- "$ring" --die 2 2>"$scratch/dies" || status=$?
    cat "$scratch/dies"
    [ $status != 0 ] && [ "$(grep -c 'rank 2 has died' "$scratch/dies")" = 3 ]
}

check "lab up" "$lab" up 4
check "bootstrap, 4 hosts of 2" "$lab" coll_run 4 2 -- "$ring" --expect 8
check "bootstrap, a rank dies" ring_dies
for job in "1 4" "2 1" "2 2" "4 2" "3 3,1,2"; do
    # shellcheck disable=SC2086
    check "coll_run: hosts and ranks on each: $job" "$lab" coll_run $job -- "${bench[@]}"
done
check "coll_run: cyclic 3 2" env LAB_MAP=cyclic "$lab" coll_run 3 2 -- "${bench[@]}"
check "kill -9 of one rank ends the job" killed
prints "and nothing is left" "" leftovers
check "lab down" "$lab" down
finish
