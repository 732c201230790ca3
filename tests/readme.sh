#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# README.md is true: its example is tests/examples/sum.c, which compiles and runs; its table of settings is generated.
#   tests/readme.sh          compare
#   tests/readme.sh update   write both into README.md
set -uo pipefail
readme=$top_srcdir/README.md
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failures=0
fail() { echo "FAIL: $*" >&2; failures=$((failures + 1)); }

# between NAME: the lines between that pair of markers
between() { sed -n "/^<!-- $1:begin -->\$/,/^<!-- $1:end -->\$/p" "$readme" | sed '1d;$d'; }

env -i "$top_builddir/tests/runtime/base/print_env" >"$tmp/env" || { echo "print_env failed"; exit 1; }
{ echo '```c'; tail -n +2 "$top_srcdir/tests/examples/sum.c"; echo '```'; } >"$tmp/example" # without its licence line
if [ "${1:-}" = update ]; then
    for part in env example; do
        sed -i -e "/^<!-- $part:begin -->\$/,/^<!-- $part:end -->\$/{//!d}" \
            -e "/^<!-- $part:begin -->\$/r $tmp/$part" "$readme"
    done
    exit
fi

between env >"$tmp/shown"
[ -s "$tmp/shown" ] || fail "README.md has no table of settings"
diff -u "$tmp/shown" "$tmp/env" >&2 || fail "the table of settings is not that of runtime/base/env.def: make readme-update"

between example | diff -u - "$tmp/example" >&2 || fail "the example is not tests/examples/sum.c: make readme-update"
lines=$(wc -l <"$tmp/example")
[ "$lines" -ge 12 ] && [ "$lines" -le 32 ] || fail "the example has $((lines - 2)) lines, not 10 to 30"
# shellcheck disable=SC2086
${CC:-cc} ${TEST_SANITIZER:-} -std=c11 -Wall -Wextra -Werror -I"$top_srcdir/runtime" -o "$tmp/sum" \
    "$top_srcdir/tests/examples/sum.c" \
    -L"$top_builddir/.libs" -Wl,-rpath,"$top_builddir/.libs" -lhierax || fail "the example does not compile"
for n in 1 2 4; do
    sum=$((n * (n + 1) / 2))
    for ((rank = 0; rank < n; rank++)); do
        echo "rank $rank of $n: $sum $((10 * sum))"
    done >"$tmp/expected"
    "$top_builddir/tools/coll_run" -n $n -- "$tmp/sum" >"$tmp/out" || fail "the example with $n ranks: exit $?"
    sort -V "$tmp/out" | diff - "$tmp/expected" >&2 || fail "the example with $n ranks prints something else"
done
[ $failures = 0 ]
