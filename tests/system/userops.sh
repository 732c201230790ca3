#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Operations and datatypes of the program's own, on many shapes, in every algorithm that can serve; and what is told where it cannot.
. "$(dirname "$0")/common.sh"

large=1048576
[ -z "${TEST_SANITIZER:-}" ] || large=5000
for shape in 1:1 3:1 4:2 5:2 3:3; do
    passes userops "${shape%:*}" "${shape#*:}" $large
done
passes userops 6 2 5000 HX_CHECK=1 HX_LANES=2 HX_SLICE=4K HX_CHUNK=4K
for algorithm in mesh mesh_single recursive_doubling tree; do
    passes userops 4 1 5000 HX_ALLREDUCE=$algorithm HX_CHECK=1
    passes userops 5 2 16 HX_INTER_ALLREDUCE=$algorithm HX_CHECK=1
done
passes userops 5 5 5000 HX_REDUCE=binomial HX_CHECK=1
passes userops 5 2 5000 HX_INTER_REDUCE=binomial HX_CHECK=1
for algorithm in nary nary_sliced; do
    passes userops 3 1 5000 HX_ALLREDUCE=$algorithm HX_REDUCE=$algorithm HX_CHECK=1
done

# what needs a commutative operation is set aside for others, counted and told
passes userops 4 2 16 HX_INTER_ALLREDUCE=ring HX_INTER_REDUCE=knomial HX_EXPLAIN=1
grep -q "allreduce of .* [KM]*i*B: hier(nary,ring" "$tmp/err" || fail "a commutative operation is not as the settings have it"
grep -A4 "allreduce of .* [KM]*i*B: hier(.* ordered" "$tmp/err" | grep -q "the settings do not apply.* (fallback [1-9]" ||
    fail "the settings that were set aside are not told: $(grep -A1 "allreduce of .* ordered" "$tmp/err" | head -2)"
grep -A4 "allreduce of .* [KM]*i*B: flat(.* ordered" "$tmp/err" |
    grep -q "flat, because the operation is not commutative.* (fallback [1-9]\|the settings do not apply.* (fallback" ||
    fail "interleaved ranks are not told"
finish
