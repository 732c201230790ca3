#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Ranks without network endpoints, when ranks with endpoints die, and when they leave themselves: see gates.c.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/alone.sh"
export HX_ENDPOINTS=1 HX_TIMEOUT=30 HX_SILENT=3 HX_LOG=error
alone_program=gates

# told TEXT CASE: a line of the ranks' output is TEXT, a regular expression
told() {
    grep -Eq "$1" "$tmp/out" || { fail "$2: no line \"$1\""; grep -hv ^libfabric: "$tmp/out" "$tmp/err" | cut -c1-300 >&2; }
}

alone 5 2,3 late
told '^rank 0 receives status 0 ' late
told '^rank 3 sends status 0 ' late

alone 5 2,3 silent
told '^rank 0 receives status 8 .*: rank 3 has died' silent
at=$(sed -n 's/^rank 0 .* at \([0-9]*\) ms.*/\1/p' "$tmp/out")
[ "${at:-0}" -ge 7000 ] && [ "$at" -le 16000 ] || fail "silent: rank 3 counts as dead at ${at:-?} ms"

alone 5 1,4 leaves
for r in 2 3 4; do told "^rank $r waits status 11 " leaves; done
for r in 0 1; do told "^rank $r agrees status 0 " leaves; done
told '^rank 0 receives status 8 .*: rank 2 has finished \(hx_finalize\)' leaves

HX_LOG=warn alone 5 2,3 computes
for r in 0 1 2 3 4; do told "^rank $r meets status 0 " computes; done
for pair in 1:0 3:2; do
    has "$tmp/err" "; rank ${pair%:*} is not connected, and the ranks of its node that have network endpoints (HX_ENDPOINTS) do not answer: ${pair#*:}" computes
done
finish
