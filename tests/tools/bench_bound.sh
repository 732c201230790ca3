#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# No call of coll_bench beats its bound. What both are measured by must not change in between: so no other test runs beside this one (Makefile.am);
# but the machine may be busy with other things, so one of three tries must show it.
. "$(dirname "$0")/../system/common.sh"
[ -z "${TEST_SANITIZER:-}" ] || skip "times mean nothing with sanitizers"
bench=$top_builddir/tests/tools/coll_bench

# bound ROWS CONDITION RANKS NODES OPTION...: that many rows, whose bounds are above 0, and below the medians; and the condition of awk holds in each
bound() {
    local rows=$1 condition=$2 n=$3 nodes=$4 try
    shift 4
    for try in 1 2 3; do
        "$run" -n "$n" --nodes "$nodes" -- "$bench" "$@" --max 256K --factor 32768 --csv "$tmp/c" --json "$tmp/j" >"$tmp/out" || fail "$n ranks on nodes of $nodes: exit $?"
        awk -F, -v rows="$rows" "NR > 1 && !(\$23 > 0 && \$23 <= \$20 && $condition) { bad = 1 } END { exit bad || NR != rows + 1 }" "$tmp/c" && return
    done
    fail "$n ranks on $nodes nodes: bounds above the medians, or not told"
    cat "$tmp/out" "$tmp/c" >&2
}

# between nodes by plain TCP
bound 6 '$31 > 0 && $32 > 0 && $33 > 0' 4 3,1 allreduce gather alltoall
grep -Eq '^# plain TCP between nodes: [0-9.]+ us, [0-9.]+ GB/s each way with all nodes at once, [0-9.]+ GB/s one way$' "$tmp/out" ||
    { fail "plain TCP is not told"; cat "$tmp/out" >&2; }
grep -Eq '"wire_gbps": *[0-9.]*[1-9]' "$tmp/j" || fail "plain TCP is not in the JSON"
# where ranks share cores; and where they do not: long vectors, since what a hop takes differs from one moment to the next
bound 4 1 12 1 allreduce bcast --repetitions 20
bound 4 1 2 1 allreduce bcast gather alltoall --min 256K
bound 4 '$25 != "dirty"' 2 1 allgather bcast scatter alltoall --min 256K --warm
finish
