#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two hosts of one rank, linked by 1 Gbit/s: a 16 MiB all-reduce hides behind computation.
# shellcheck source=cases.sh
. "$(dirname "$0")/cases.sh"
need tests/lab/overlap
overlap=$top_builddir/tests/lab/overlap

told() { # WORD: the number after it in what overlap has said
    sed -n "s/.*$1 \\(-\\{0,1\\}[0-9]*\\).*/\\1/p" "$scratch/overlap"
}

# With the progress thread 72 to 99 %: two ranks compute on the machine's two cores, which also have to carry the network. A call takes the
# wire 134 ms; one that a wake-up passes by takes 100 ms more. The best of six counts: others may want the cores too.
hides() {
    local i
    for ((i = 0; i < 6; i++)); do
        HX_PROGRESS_THREAD=1 "$lab" coll_run 2 1 -- "$overlap" 16 >"$scratch/overlap" || return 1
        cat "$scratch/overlap"
        [ "$(told call)" -ge 200 ] || [ "$(told overlap)" -lt 75 ] || return 0
    done
    return 1
}

check "lab up, 1 Gbit/s" "$lab" up 2 --rate 1000
check "progress thread: most of the call is hidden" hides
check "without it: a test call every 100 us" "$lab" coll_run 2 1 -- "$overlap" 16 100
check "neither" "$lab" coll_run 2 1 -- "$overlap" 16
check "lab down" "$lab" down
finish
