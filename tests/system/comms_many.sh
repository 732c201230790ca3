#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Communicators that come and go. Each rank frees them by itself, in an order of its own, with calls under way. Thousands exist at once, more over
# time, and thousands fail. Also: what a request costs when there are many requests.
. "$(dirname "$0")/common.sh"

alive=4096 growth=20000 failing=2000
[ -z "${TEST_SANITIZER:-}" ] || { alive=300 growth=0 failing=200; } # a sanitizer keeps what is freed

# many RANKS NODES MODE...
many() {
    HX_TIMEOUT=60 timeout 250 "$run" -n "$1" --nodes "$2" -- "$here/comms_many" "${@:3}" >"$tmp/out" 2>"$tmp/err" ||
        { fail "${*:3}, $1 ranks on $2 nodes: exit $?: $(tail -n 3 "$tmp/err")"; return; }
    cat "$tmp/out"
}

[ -n "${TEST_SANITIZER:-}" ] || many 2 1 requests
for shape in "4 1" "4 2" "6 3,1,2"; do
    # shellcheck disable=SC2086
    set -- $shape
    many "$1" "$2" orders 20
    many "$1" "$2" ahead 5
    many "$1" "$2" left
done
HX_PROGRESS_THREAD=1 many 4 2 orders 20
for nodes in 1 2; do
    many 4 $nodes alive $alive
    many 4 $nodes broken $failing
    many 4 $nodes failures 10
    many 2 $nodes crossed
done
many 2 1 failures $failing
many 3 3 freed
if [ $growth != 0 ]; then
    many 3 1 growth $growth
    many 3 2 growth $((growth / 10))
    many 2 1 limit
fi
finish
