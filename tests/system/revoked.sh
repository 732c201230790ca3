#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hx_comm_revoke ends the calls of all ranks, however they wait, on one node and on several, also after a death.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/alone.sh"
export HX_TIMEOUT=60

for nodes in 1 2 2,1,1; do
    timeout 100 "$run" -n 4 --nodes $nodes -- "$here/messages" revoke >"$tmp/out" 2>"$tmp/err" ||
        fail "revoke on $nodes nodes: exit $?: $(grep line "$tmp/err" | head -n 3)"
    alone 4 $nodes revoke_dead
    grep "line [0-9]" "$tmp/err" && fail "revoke_dead on $nodes nodes"
    [ "$(grep -c "^rank [0-9] saw it" "$tmp/out")" = 3 ] || fail "revoke_dead on $nodes nodes: $(tail -n 3 "$tmp/err")"
done
finish
