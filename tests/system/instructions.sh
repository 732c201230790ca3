#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A small blocking call costs at most 400 instructions outside the wait function. Counted by callgrind on one of two
# ranks that all-reduce two floats; the difference of a longer and a shorter job leaves out what only the first call does.
. "$(dirname "$0")/common.sh"
limit=400
[ -z "${TEST_SANITIZER:-}" ] || skip "sanitizers add instructions"
command -v valgrind >/dev/null || skip "no valgrind"

# instructions RANK CALLS: all of that rank in hx_allreduce, but not in hx_wait_until within
instructions() {
    # shellcheck disable=SC2016
    timeout 60 "$run" -n 2 -- bash -c '
        [ "$HX_RANK" = "$1" ] || exec "$3" calls "$2"
        exec valgrind --tool=callgrind --callgrind-out-file="$4" --toggle-collect=hx_allreduce \
            --toggle-collect=hx_wait_until "$3" calls "$2"' - "$1" "$2" "$here/actor" "$tmp/calls" >"$tmp/log" 2>&1
    local status=$?
    [ $status = 0 ] || [ $status = 77 ] || cat "$tmp/log" >&2
    awk '/^totals:/ { print $2 }' "$tmp/calls"
    return $status
}

for rank in 0 1; do
    few=$(instructions $rank 100)
    [ $? != 77 ] || skip "not compiled with optimisation"
    many=$(instructions $rank 1100)
    each=$(((${many:-0} - ${few:-0}) / 1000))
    echo "rank $rank: $each instructions per call"
    # fewer than 50 would mean that nothing was counted
    [ $each -ge 50 ] && [ $each -le $limit ] || fail "rank $rank: $each instructions per call, not at most $limit"
done
finish
