#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A rank that gets no memory, whichever of its allocations is refused: it does not crash, and the others hear of it soon, whether it has
# started or not.
. "$(dirname "$0")/common.sh"
[ -z "${TEST_SANITIZER:-}" ] || skip "a sanitizer has an allocator of its own"
export HX_TIMEOUT=8 HX_LOG=error
for nodes in 1 2; do
    # on one node all of the start, and then some; on two some
    for ((nth = 0, refused = 1; refused && nth < 400; nth += nodes > 1 ? 9 : nth < 30 ? 1 : 7)); do
        start=$(now)
        timeout 30 "$run" -n 3 --nodes $nodes -- "$here/starved" 1 $nth >"$tmp/out" 2>"$tmp/err"
        status=$? took=$(($(now) - start))
        refused=$(grep -c '^refused$' "$tmp/err")
        [ $status -lt 124 ] || fail "allocation $nth, $nodes nodes: exit $status: $(tail -n 3 "$tmp/err")"
        [ $took -lt 5000 ] || fail "allocation $nth, $nodes nodes: the others wait $took ms: $(cat "$tmp/out"; grep -A1 refused "$tmp/err")"
        [ "$refused" != 0 ] || refused=
    done
    [ $nth -gt 100 ] || fail "only $nth allocations on $nodes nodes: are they seen?"
done
finish
