#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Ranks that make different calls, over every algorithm and composition: none succeeds with data that are not those of its own call, and
# nothing hangs. TEST_SEED draws others, TEST_TRIALS more for each shape; TEST_TRIALS=all runs the whole matrix (plans x differences x
# sizes), which takes hours.
. "$(dirname "$0")/common.sh"

program=$here/unlike
seed=${TEST_SEED:-1}
most=240 # trials in a job: the communicators that have failed are never used again
shapes=("8 8/2/2 -" "4 1 -" "4 2 writes" "6 3,1,2 efa") # writes: efa, whose devices write into each other's memory

# job RANKS NODES PROVIDER NAME ARGUMENT...: in the background, with its files
job() {
    local n=$1 nodes=$2 provider=$3 name=$4
    shift 4
    if [ "$provider" != - ]; then
        local -x HX_PROVIDER=efa FI_PROVIDER_PATH=$top_builddir/tests/efa_provider/.libs EFA_WORST=reorder EFA_SEED=$seed
    fi
    if [ "$provider" = writes ]; then
        local -x EFA_RDMA=1 HX_RDMA=1
    fi
    {
        timeout 300 "$run" -n "$n" --nodes "$nodes" -- "$program" "$@" >"$tmp/out.$name" 2>"$tmp/err.$name"
        echo $? >"$tmp/code.$name"
    } &
    names+=("$name")
}
names=()

# judge: all of these jobs have ended as they should
judge() {
    local name
    wait
    for name in "${names[@]}"; do
        [ "$(cat "$tmp/code.$name")" = 0 ] && continue
        fail "$name: exit $(cat "$tmp/code.$name")"
        { grep '^unlike:' "$tmp/err.$name" || tail -n 5 "$tmp/err.$name"; } | head -n 8 >&2
    done
    names=()
}

# trials RANKS NODES PROVIDER FROM TO [all]
trials() {
    job "$1" "$2" "$3" "trials.$1.${2//\//_}.$4" "$seed" "$4" "$5" ${6+"$6"}
}

if [ "${TEST_TRIALS:-}" = all ]; then
    for shape in "${shapes[@]}"; do
        read -r n nodes provider <<<"$shape"
        total=$("$run" -n "$n" --nodes "$nodes" -- "$program" list)
        for ((from = 0; from < total; from += 2 * most)); do
            for ((part = from; part < from + 2 * most && part < total; part += most)); do
                trials "$n" "$nodes" "$provider" $part $((part + most < total ? part + most : total)) all
            done
            judge
        done
        grep -h '^trials' "$tmp/out.trials.$n.${nodes//\//_}".*
    done
else
    # the first trials of a shape show each of its algorithms; there are fewer than 100 on one node, and 70 on several
    extra=${TEST_TRIALS:-0}
    trials 8 8/2/2 - 0 $((45 + extra))
    trials 8 8/2/2 - $((45 + extra)) $((90 + 2 * extra))
    trials 4 1 - 100 $((130 + extra))
    trials 4 2 writes 0 $((75 + extra))
    trials 6 3,1,2 efa 100 $((140 + extra))
fi
for nodes in 1 3,1,2; do
    job 6 $nodes - "groups.$nodes" groups
    job 6 $nodes - "finalize.$nodes" finalize
done
job 2 2 - stale.2 stale
job 4 1 - late late
job 2 2 efa stale.efa stale
judge
grep -h '^trials' "$tmp"/out.*

# it has seen what it is for: most of the trials end with ranks that tell what differs
for out in "$tmp"/out.trials.*; do
    [ "$(sed -n 's/.*HX_ERR_MISMATCH \([0-9]*\),.*/\1/p' "$out")" -gt 20 ] || fail "$out: hardly any difference is told: $(tail -n 1 "$out")"
done

# every registered algorithm has run; single copy only where the kernel lets ranks read each other
"$top_builddir/tools/coll_info" --algorithms | awk '/^  / && $2 != "algorithm" { print $1, $2, ($4 ~ /single/ || $5 ~ /^copy/) }' >"$tmp/registered"
[ "$(wc -l <"$tmp/registered")" -gt 50 ] || fail "coll_info lists $(wc -l <"$tmp/registered") algorithms"
while read -r coll name single; do
    grep -qx "covered $coll $name" "$tmp"/out.* && continue
    [ "$single" = 1 ] && ! grep -q '^covered [a-z_]* single_copy' "$tmp"/out.* && continue
    fail "no trial has run $coll $name"
done <"$tmp/registered"
finish
