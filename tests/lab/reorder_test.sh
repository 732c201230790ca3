#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Five hosts. In the middle of a job the link between two neighbours of the ring becomes ten times slower. hx_comm_reorder finds a ring without it.
# shellcheck source=cases.sh
. "$(dirname "$0")/cases.sh"
need tests/system/reorder

becomes_slow() {
    HX_INTER_ALLREDUCE=ring HX_LOG=info "$lab" coll_run 5 1 -- "$top_builddir/tests/system/reorder" "$scratch/slow" >"$scratch/times" 2>"$scratch/err" &
    local job=$! tries
    for ((tries = 0; tries < 300; tries++)); do
        grep -q before "$scratch/err" && break
        sleep 0.1
    done
    "$lab" slow 2 3 20 && : >"$scratch/slow" && wait $job
    local status=$?
    grep "rings pass" "$scratch/err"
    cat "$scratch/times"
    return $status
}

goes_around() { # the slow link shows, and the new order is at least three times as fast
    read -r before slow after <"$scratch/times"
    echo "before $before us, slow $slow us, reordered $after us"
    [ "$slow" -gt $((3 * before)) ] && [ "$slow" -gt $((3 * after)) ]
}

check "lab up" "$lab" up 5 --rate 200
check "a job whose link becomes slow" becomes_slow
tail -n 2 "$scratch/log"
check "rings go around the slow link" goes_around
tail -n 1 "$scratch/log"
check "lab down" "$lab" down
finish
