#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two hosts of one rank, linked by 1 Gbit/s: a 16 MiB all-reduce hides behind computation.
# shellcheck source=cases.sh
. "$(dirname "$0")/cases.sh"
need tests/lab/overlap
overlap=$top_builddir/tests/lab/overlap

hides() { # with the progress thread: 76 to 88 % where two ranks compute on two cores, that also carry the network; without it 5 %
    local i
    for ((i = 0; i < 3; i++)); do
        HX_PROGRESS_THREAD=1 "$lab" coll_run 2 1 -- "$overlap" 16 >"$scratch/overlap" || return 1
        cat "$scratch/overlap"
        [ "$(sed -n 's/.*overlap \(-\{0,1\}[0-9]*\) %.*/\1/p' "$scratch/overlap")" -lt 70 ] || return 0
    done
    return 1
}

check "lab up, 1 Gbit/s" "$lab" up 2 --rate 1000
check "progress thread: most of the call is hidden" hides
check "without it: a test call every 100 us" "$lab" coll_run 2 1 -- "$overlap" 16 100
check "neither" "$lab" coll_run 2 1 -- "$overlap" 16
check "lab down" "$lab" down
finish
