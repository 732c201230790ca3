#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Jobs of 1,000 to 100,000 ranks, of which one is there (scale.c): what a rank has allocated and fetched keeps to its limits, and README
# states it.
. "$(dirname "$0")/common.sh"
[ -z "${TEST_SANITIZER:-}" ] || skip "a sanitizer's heap is not the program's"
readme=$(dirname "$0")/../../tools/man/hierax-launch.7.md

# ranks, MB of a rank, MB of a node's table, MB fetched by a leader, s of start-up, KB of the largest plan
for ranks in 1000 10000 100000; do
    timeout 120 "$here/scale" $ranks >"$tmp/start" 2>"$tmp/err" || fail "$ranks ranks: $(tail -n 3 "$tmp/err")"
    timeout 60 "$here/scale" $ranks plans >"$tmp/plans" 2>"$tmp/err" || fail "plans of $ranks ranks: $(tail -n 3 "$tmp/err")"
    plan=$(awk '$3 != "none:" && $4 > most {most = $4} END {print most / 1e3}' "$tmp/plans")
    awk -v plan="$plan" '{print $1, $2 / 1e6, $3 / 1e6, $7 / 1e6, $8 / 1e6, plan}' "$tmp/start" >>"$tmp/rows"
    # three fences, one value a node, and no more than linear in the ranks
    awk -v p=$ranks '$2 > 2e6 + 800 * p || $3 > 7e6 + 300 * p || $4 != 3 || $5 > 5 || $7 > 1e4 + 250 * p || $8 > 5e6 + 100 * p {
        print "beyond the limits: " $0; exit 1}' "$tmp/start" || fail "$(cat "$tmp/start")"
    # lists of blocks, 12 bytes each; all to all also steps for everybody; and few steps but these
    awk -v p=$ranks '$3 == "none:" {if ($1 != "alltoallv" || p <= 46340) exit 1; next}
        {many = $1 == "alltoallv" ? p : p / 96} $4 > 65536 + ($1 == "alltoallv" ? 128 : 16) * p || $3 > 500 + 4 * many {exit 1}' "$tmp/plans" ||
        fail "plans of $ranks ranks: $(cat "$tmp/plans")"
done
cat "$tmp/rows"

# What one more peer costs, from the two largest: hierax-launch(7)'s formula.
awk '{p[NR] = $1; mb[NR] = $2} END {printf "bytes per peer %.0f\n", (mb[NR] - mb[NR - 1]) * 1e6 / (p[NR] - p[NR - 1])}' "$tmp/rows"

# hierax-launch(7)'s rows: sizes within a quarter, which is what providers differ by; times within ten times, at least a second
sed -n '/scale:begin/,/scale:end/{s/,//g; s/|/ /g; /^ *[0-9]/p}' "$readme" >"$tmp/stated"
[ "$(wc -l <"$tmp/stated")" = 3 ] || fail "hierax-launch(7) has not three rows of scale"
paste -d' ' "$tmp/rows" "$tmp/stated" | awk '{
    for (i = 1; i <= 6; i++) {
        got = $i; said = $(i + 6)
        if (i == 5 ? got > 1 && got > 10 * said : got > 1.25 * said + 0.005 || got < said / 1.25 - 0.005) {
            print "column " i ": hierax-launch(7) says " said ", but it is " got; bad = 1
        }
    }
} END {exit bad}' >"$tmp/out" || fail "hierax-launch(7): $(cat "$tmp/out")"
finish
