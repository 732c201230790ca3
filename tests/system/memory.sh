#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Memory of a rank beyond its buffers, 8 ranks on 2 emulated nodes: below 16 MB of Pss with the default provider.
. "$(dirname "$0")/common.sh"
[ -z "${TEST_SANITIZER:-}" ] || skip "a sanitizer's own memory would be counted"
[ -r /proc/self/smaps_rollup ] || skip "/proc/self/smaps_rollup cannot be read"

# measure [X=Y]: $kib, or nothing
measure() {
    timeout 60 env "$@" "$run" -n 8 --nodes 2 --env HX_LOG=info -- "$here/actor" memory >"$tmp/out" 2>"$tmp/err" ||
        { kib=; tail -n 3 "$tmp/err" >&2; return 1; }
    kib=$(awk '/^pss/ { print $2 }' "$tmp/out")
    echo "${*:-default provider}: $kib KiB of Pss per rank beyond its buffers"
}

measure || fail "-n 8 --nodes 2: exit $?"
[ -n "$kib" ] && [ "$kib" -lt 16000 ] || fail "$kib KiB of Pss, expected less than 16000"
grep -Eq 'info: shared segment of [0-9]+ ranks: [0-9.]+ MiB' "$tmp/err" || fail "the segment's size is not in the log at info level"
measure HX_PROVIDER='tcp;ofi_rxm' || echo "tcp;ofi_rxm: not measured"
finish
