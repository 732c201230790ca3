#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A small blocking call costs at most 420 instructions outside the wait function, run_wait, and 6 to go there once: all-reduce, and also what does only a part of its work.
# Counted by callgrind on one of two ranks, with two floats; the difference of a longer and a shorter job leaves out what only the first
# call does. A rank that finds the other not yet there goes to run_wait.
. "$(dirname "$0")/common.sh"
limit=426
[ -z "${TEST_SANITIZER:-}" ] || skip "sanitizers add instructions"
command -v valgrind >/dev/null || skip "no valgrind"

# instructions NAME RANK CALLS: all of that rank in hx_NAME, but not in run_wait within
instructions() {
    # shellcheck disable=SC2016
    timeout 60 "$run" -n 2 -- bash -c '
        [ "$HX_RANK" = "$2" ] || exec "$4" calls "$1" "$3"
        exec valgrind --tool=callgrind --callgrind-out-file="$5" --toggle-collect="hx_$1" \
            --toggle-collect=run_wait "$4" calls "$1" "$3"' - "$@" "$here/actor" "$tmp/calls" >"$tmp/log" 2>&1
    local status=$?
    [ $status = 0 ] || [ $status = 77 ] || cat "$tmp/log" >&2
    awk '/^totals:/ { print $2 }' "$tmp/calls"
    return $status
}

few() { # NAME RANK; the least of six, where a rank often has to sleep for the other
    local some many each least=
    for _ in 1 2 3 4 5 6; do
        some=$(instructions "$1" "$2" 100)
        [ $? != 77 ] || skip "not compiled with optimisation"
        many=$(instructions "$1" "$2" 1100)
        each=$(((${many:-0} - ${some:-0}) / 1000))
        # fewer than 50 would mean that nothing was counted
        [ $each -ge 50 ] || { fail "$1, rank $2: $each instructions per call were counted"; return; }
        [ -n "$least" ] && [ "$least" -le $each ] || least=$each
        [ "$least" -gt $limit ] || break
    done
    echo "$1, rank $2: $least instructions per call"
    [ "$least" -le $limit ] || fail "$1, rank $2: $least instructions per call, not at most $limit"
}

few allreduce 1
for name in allreduce reduce_scatter_block reduce scatter barrier; do
    few $name 0
done
finish
