#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A rank that waits 4 s for a late one uses less than 2 % of a core: within a node, and between nodes. On a busy machine a rank is charged
# for more than it does; so the best of three counts.
. "$(dirname "$0")/common.sh"
seconds=4
limit=0.02
[ -z "${TEST_SANITIZER:-}" ] || limit=0.10

# idle N NODES
idle() {
    local try
    for try in 1 2 3; do
        timeout 60 "$run" -n "$1" --nodes "$2" -- "$here/actor" late 1 $seconds >"$tmp/out" 2>"$tmp/err" ||
            { fail "-n $1 --nodes $2: exit $?"; cat "$tmp/err" >&2; return; }
        awk -v what="-n $1 --nodes $2" -v limit=$limit -v least=$seconds '
            $2 != 1 { share = $7 / $4; if (share > most) most = share; if ($4 < 0.9 * least) short = 1; n++ }
            END { printf "%s: %.2f %% of a core\n", what, 100 * most; exit !(n && !short && most < limit) }' "$tmp/out" && return
    done
    fail "-n $1 --nodes $2: waiting is not idle"
    cat "$tmp/out" >&2
}

idle 3 1
idle 2 2
idle 4 2
finish
