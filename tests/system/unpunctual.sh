#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Slices between nodes, each of more chunks than a sender has credit for, do not hold each other up: when they shared credits, ranks that came
# late left ranks waiting for each other until the time-out, in about every tenth such call.
. "$(dirname "$0")/common.sh"
export HX_TIMEOUT=20 HX_SLICE=2M HX_CHUNK=4K
for algorithm in rdh circulant kangaring; do
    HX_ALLREDUCE=$algorithm timeout 100 "$run" -n 4 --nodes 4 -- "$here/unpunctual" 8388608 20 >"$tmp/out" 2>&1 ||
        fail "$algorithm: exit $?: $(tail -n 5 "$tmp/out")"
done
# nodes of unlike sizes: one rank carries several lanes
HX_LANES=2 HX_INTER_ALLREDUCE=rdh timeout 100 "$run" -n 7 --nodes 2,2,2,1 -- "$here/unpunctual" 8388608 10 >"$tmp/out" 2>&1 ||
    fail "two lanes: exit $?: $(tail -n 5 "$tmp/out")"
# Ranks that open endpoints late send their addresses to ranks that do not know them, and that have many messages under way meanwhile.
for _ in 1 2 3 4; do
    HX_ENDPOINTS=1 HX_LANES=2 HX_INTER_ALLREDUCE=rdh timeout 100 "$run" -n 7 --nodes 2,2,2,1 -- "$here/unpunctual" 8388608 2 >"$tmp/out" 2>&1 ||
        fail "late endpoints: exit $?: $(tail -n 5 "$tmp/out")"
done
finish
