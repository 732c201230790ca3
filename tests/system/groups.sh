#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Calls that are started in groups: see groups.c. TEST_SEED draws other calls.
. "$(dirname "$0")/common.sh"
seed=${TEST_SEED:-1}

# groups N NODES CASE [X=Y...]: a job of it ends well
groups() {
    local n=$1 nodes=$2 argument=$3
    shift 3
    # shellcheck disable=SC2086
    timeout 200 env "$@" "$run" -n "$n" --nodes "$nodes" -- "$here/groups" $argument >"$tmp/out" 2>"$tmp/err" ||
        { fail "groups -n $n --nodes $nodes $argument $*: exit $?"; tail -n 5 "$tmp/err" >&2; }
}

for bytes in 0 256 16K; do # no packing, many packs, few
    for nodes in 1 2 3,1; do
        groups 4 $nodes "drawn $seed" HX_GROUP_BYTES=$bytes
        seed=$((seed + 1))
    done
done
groups 1 1 "drawn $seed"
groups 3 1 "drawn $seed" HX_PROGRESS_THREAD=1
groups 4 2 "drawn $seed" HX_PROGRESS_THREAD=1
for nodes in 1 2; do
    groups 4 $nodes wrong
    groups 4 $nodes unlike
done

# messages WHAT [X=Y...]: between the nodes, of all ranks
messages() {
    local what=$1
    shift
    groups 4 2 "$what" HX_STATS=1 "$@"
    sed -n 's/.*net_messages_sent *\([0-9]*\) .*/\1/p' "$tmp/err" "$tmp/out" | head -n 1
}
group=$(messages hundred) single=$(messages hundred HX_GROUP_BYTES=0) none=$(messages none)
echo "messages: ${group:-0} of a group of 100 all-reduces, ${single:-0} of its calls one by one, ${none:-0} without them"
[ $((${group:-0} - ${none:-0})) -ge 1 ] && [ $((${group:-0} - ${none:-0})) -le 4 ] || fail "a group of 100 all-reduces takes ${group:-no} messages"
[ $((${single:-0} - ${none:-0})) -ge 100 ] || fail "calls that are not packed take only ${single:-0} messages"
finish
