#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A rank that waits 4 s for a late one uses less than 2 % of a core: within a node, and between nodes.
. "$(dirname "$0")/common.sh"
seconds=4
limit=0.02
[ -z "${TEST_SANITIZER:-}" ] || limit=0.10

# idle N NODES [PROVIDER]
idle() {
    local options=()
    [ "$2" = 1 ] || options=(--nodes "$2")
    [ -z "${3:-}" ] || options+=(--env "HX_PROVIDER=$3")
    timeout 30 "$run" -n "$1" "${options[@]}" -- "$here/actor" late 1 $seconds >"$tmp/out" 2>"$tmp/err" ||
        { fail "-n $1 --nodes $2: exit $?"; cat "$tmp/err" >&2; return; }
    awk -v what="-n $1 --nodes $2 ${3:-}" -v limit=$limit -v least=$seconds '
        $2 != 1 { share = $7 / $4; if (share > most) most = share; if ($4 < 0.9 * least) short = 1; n++ }
        END { printf "%s: %.2f %% of a core\n", what, 100 * most; exit !(n && !short && most < limit) }' "$tmp/out" ||
        { fail "-n $1 --nodes $2 ${3:-}: waiting is not idle"; cat "$tmp/out" >&2; }
}

idle 3 1
idle 2 2
idle 4 2
finish
