#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# How much work it is to plan the first call of its kind, nothing cached. The limits are 900,000 instructions for small shapes, and 20 million for
# 1,024 nodes of 96 ranks. An all-to-all with counts has a message for each rank: on 482 nodes of 96 ranks, the largest shape that it is planned
# for, the limit is 45 million. callgrind counts the instructions, so that it does not matter how busy the machine is.
. "$(dirname "$0")/../system/common.sh"
plan=$top_builddir/tools/coll_plan
[ -z "${TEST_SANITIZER:-}" ] || skip "sanitizers add instructions"
command -v valgrind >/dev/null || skip "no valgrind"
"$run" -n 1 -- "$here/actor" calls barrier 1
[ $? != 77 ] || skip "not compiled with optimisation"

within() { # LIMIT COLLECTIVE SHAPE...: plans it on each shape, for 8 B and 1 MiB; fails if a plan takes more than LIMIT instructions
    local limit=$1 collective=$2 shapes=() shape most counted
    shift 2
    for shape; do shapes+=(--shape "$shape"); done
    rm -f "$tmp"/calls*
    # a file for each time that it plans
    valgrind --tool=callgrind --callgrind-out-file="$tmp/calls" --toggle-collect=hx_planner_choose --dump-after=hx_planner_choose \
        "$plan" cost "$collective" --json --time "${shapes[@]}" 8 1M >"$tmp/log" 2>&1 || { fail "coll_plan cost $collective $*"; cat "$tmp/log"; return; }
    read -r most counted < <(awk '/^totals:/ && $2 { n++; if ($2 > most) most = $2 } END { print most + 0, n + 0 }' "$tmp"/calls.*)
    echo "$collective: $most instructions at most"
    [ "$counted" -ge $((2 * $#)) ] && [ "$most" -gt 10000 ] || fail "$collective: $counted plans were counted, of at most $most instructions"
    [ "$most" -le "$limit" ] || fail "$collective on $*: a plan takes $most instructions, not at most $limit"
}

collectives=$("$plan" --help | sed -n '/^Collectives:/,/^$/p' | sed 's/Collectives://')
[ -n "$collectives" ] || fail "coll_plan --help lists no collectives"
for collective in $collectives; do
    within 900000 "$collective" 2 8 2x1 2x2 8x2 32x1 3,1,2 4x96
    if [ "$collective" = alltoallv ]; then
        within 45000000 "$collective" 482x96
    else
        within 20000000 "$collective" 1024x96
    fi
done
finish
