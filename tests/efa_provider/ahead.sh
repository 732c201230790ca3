#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The head of a long chain waits for nobody, and short slices wait for no credit: all of them are under way before the
# second member comes, and reach it in any order.
. "$(dirname "$0")/../system/common.sh"
unset "${!EFA_@}"
export EFA_SEED=${TEST_SEED:-1} EFA_WORST=all FI_PROVIDER_PATH=$top_builddir/tests/efa_provider/.libs HX_PROVIDER=efa HX_TIMEOUT=60
export HX_BCAST=chain

n=24 bytes=160000
explained=$("$top_builddir/tools/coll_plan" explain bcast --shape ${n}x1 --size $bytes 2>&1)
slices=$(echo "$explained" | sed -n 's/^slices: .*; \([0-9]*\) between nodes.*/\1/p')
[ "${slices:-0}" -gt 16 ] || fail "only ${slices:-no} slices: $explained"
timeout 100 "$run" -n $n --nodes $n -- "$here/actor" bcasts $bytes 20 >"$tmp/out" 2>"$tmp/err" ||
    fail "$n ranks: $(grep -v 'libfabric:\|efa provider:' "$tmp/err" | head -n 3)"

# nor does the root of many short ones: but it is never so far ahead that two of them have the same match ids
for form in "300" "600 wait"; do
    # shellcheck disable=SC2086
    EFA_WORST=reorder timeout 60 "$run" -n 2 --nodes 2 -- "$here/actor" bcasts 4 $form >"$tmp/out" 2>"$tmp/err" ||
        fail "$form short ones: $(grep -v 'libfabric:\|efa provider:' "$tmp/err" | head -n 3)"
done
finish
