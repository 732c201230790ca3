#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Single copy: a live job reads what the plan says, and nothing between nodes; where the kernel refuses, or HX_SINGLE_COPY=0, all works
# without, and who asks for it by name is told.
. "$(dirname "$0")/common.sh"
bench=$top_builddir/tests/tools/coll_bench plan=$top_builddir/tools/coll_plan plant=$top_builddir/tests/tools/plant
single=HX_INTRA_ALLREDUCE=single_copy

"$run" -n 2 --env HX_INTRA_BCAST=single_copy -- "$bench" bcast --max 8 >"$tmp/out" 2>"$tmp/err" || {
    has "$tmp/err" "ranks cannot read each other's memory" 'the first job'
    [ $failures -gt 0 ] || skip "process_vm_readv is refused here"
}

counter() { # NAME: its value in what the job has told
    sed -n "s/^hierax stats: all [0-9]* ranks: $1  *\\([0-9]*\\) .*/\\1/p" "$tmp/err"
}

for plan_of in allreduce reduce_scatter_block allgather bcast reduce gather scatter alltoall allreduce:_nary reduce:_nary; do
    collective=${plan_of%:*} algorithm=single_copy
    [ "$collective" = $plan_of ] || algorithm+=${plan_of#*:}
    setting=HX_INTRA_$(tr a-z A-Z <<<"${collective%_block}")=$algorithm
    env "$setting" HX_STATS=1 HX_CHECK=1 timeout 60 "$run" -n 3 -- "$bench" "$collective" --check --min 1 --max 3M --factor 31 --iterations 2 \
        --repetitions 2 >"$tmp/out" 2>"$tmp/err" || { fail "$plan_of: status $?"; cat "$tmp/out" "$tmp/err" >&2; }
    has "$tmp/out" "flat($algorithm)" "$plan_of"
    [ "$(counter fetched_bytes)" -gt 1000000 ] || fail "$plan_of: $(counter fetched_bytes) bytes were read"
done

# the plan's bytes, and those of a live job: calls of 100 float32 on each of three ranks
"$plan" explain allreduce --shape 3 --set $single 400 --all-ranks --json >"$tmp/plan" || fail "explain: status $?"
planned=$(python3 -c 'import json, sys
print(sum(p["counts"]["fetched_bytes"] for p in json.load(open(sys.argv[1]))["plans"]))' "$tmp/plan")
env $single HX_STATS=1 timeout 60 "$run" -n 3 -- "$here/counted" 2>"$tmp/err" || fail "counted: status $?"
bytes=$(sed -n 's/.*all 3 ranks: allreduce  *[0-9]*  *[0-9]*  *\([0-9]*\) .*/\1/p' "$tmp/err")
[ "$(counter fetched_bytes)" = $((planned * bytes / 1200)) ] ||
    fail "a call reads $planned bytes by its plan, $((bytes / 1200)) calls have read $(counter fetched_bytes)"
"$plan" explain allreduce --shape 2,1 --set $single --set HX_ALLREDUCE=hier 400 --all-ranks --json >"$tmp/plan" || fail "explain: status $?"
planned=$(python3 -c 'import json, sys
print(sum(p["counts"]["fetched_bytes"] for p in json.load(open(sys.argv[1]))["plans"]))' "$tmp/plan")
env $single HX_ALLREDUCE=hier HX_STATS=1 timeout 60 "$run" -n 3 --nodes 2 -- "$here/counted" 2>"$tmp/err" || fail "two nodes: status $?"
bytes=$(sed -n 's/.*all 3 ranks: allreduce  *[0-9]*  *[0-9]*  *\([0-9]*\) .*/\1/p' "$tmp/err")
[ "$(counter fetched_bytes)" = $((planned * bytes / 1200)) ] ||
    fail "two nodes: a call reads $planned bytes by its plan, $((bytes / 1200)) calls have read $(counter fetched_bytes)"

# a root that gives up, and writes its buffer before the others have read it
for mode in given_up 'given_up wait'; do
    # shellcheck disable=SC2086
    HX_TIMEOUT=1 HX_INTRA_BCAST=single_copy timeout 60 "$run" -n 3 -- "$here/actor" $mode >"$tmp/out" 2>"$tmp/err" || fail "$mode: status $?"
    has "$tmp/out" 'rank 0 status 7' "the root, $mode"
    for rank in 1 2; do
        grep -q "^rank $rank status 7,.*rank 0 has failed in this communicator: .*waited 1 s" "$tmp/out" || fail "rank $rank, $mode: $(cat "$tmp/out")"
    done
done

# where it is refused, or not wanted
if ! sanitizer thread; then # whose runtime needs more than the filter lets through
    timeout 60 "$plant" refuse=process_vm_readv "$run" -n 3 --env HX_LOG=info -- "$bench" allreduce --check --max 1M --factor 64 --iterations 2 \
        >"$tmp/out" 2>"$tmp/err" || { fail "refused: status $?"; cat "$tmp/err" >&2; }
    has "$tmp/err" 'no single copy: cannot read the memory of rank' 'refused'
    env $single timeout 60 "$plant" refuse=process_vm_readv "$run" -n 3 -- "$bench" allreduce --max 8 >"$tmp/out" 2>"$tmp/err" &&
        fail "refused, and wanted by name: status 0"
    has "$tmp/err" "HX_INTRA_ALLREDUCE=single_copy: on some node, ranks cannot read each other's memory" 'refused, and wanted by name'
fi
HX_SINGLE_COPY=0 HX_INTRA_BCAST=single_copy timeout 60 "$run" -n 2 -- "$bench" bcast --max 8 >"$tmp/out" 2>"$tmp/err" &&
    fail "HX_SINGLE_COPY=0, and wanted by name: status 0"
has "$tmp/err" "HX_INTRA_BCAST=single_copy: on some node, ranks cannot read each other's memory" 'HX_SINGLE_COPY=0'
finish
