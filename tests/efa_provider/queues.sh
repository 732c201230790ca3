#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A device has 256 queue pairs, and each pins memory. With HX_ENDPOINTS=4 a node takes 4 of them at start, even if it has many ranks. Each other
# rank that needs an endpoint takes one more. If the device has none left, all ranks fail within seconds, and the error names the limit.
. "$(dirname "$0")/../system/common.sh"
unset "${!EFA_@}" "${!HX_@}"
export EFA_SEED=${TEST_SEED:-1} FI_PROVIDER_PATH=$top_builddir/tests/efa_provider/.libs HX_PROVIDER=efa HX_TIMEOUT=100 EFA_COUNT=$tmp/count
export HX_CONSTANTS=none

# job RANKS NODES WORDS...: run a program
job() {
    local ranks=$1 nodes=$2
    shift 2
    rm -f "$tmp/count"
    timeout 150 "$run" -n "$ranks" --nodes "$nodes" -- "$@" >"$tmp/out" 2>"$tmp/err"
}

# node_has RANKS NODE PAIRS BYTES REGISTERED: node 0 or 1 of 2 has PAIRS queue pairs of BYTES in all, and registers at most REGISTERED bytes
node_has() {
    local found
    found=$(awk -v first=$(($1 / 2 * $2)) -v n=$(($1 / 2)) '$2 >= first && $2 < first + n { count[$1]++; bytes[$1] += $3 }
        END { printf "%d %d %d", count["pair"], bytes["pair"], bytes["registered"] }' "$tmp/count")
    # shellcheck disable=SC2086
    set -- "$@" $found
    [ "$6 $7" = "$3 $4" ] || fail "$1 ranks, node $2: $6 queue pairs with $7 bytes, not $3 with $4"
    [ "$8" -gt 0 ] && [ "$8" -le "$5" ] || fail "$1 ranks, node $2: $8 bytes registered, not 1 to $5"
}

# A pair has 256 sends and 2048 receives of 8 KiB. Each rank with an endpoint registers 4.2 MB for bounce buffers.
pair=$(((256 + 2048) * 8192))
export HX_ENDPOINTS=4
for ranks in 96 192; do
    job "$ranks" 2 "$here/actor" starts ||
        fail "$ranks ranks: exit $?: $(tail -n 3 "$tmp/err")"
    for node in 0 1; do node_has "$ranks" $node 4 $((4 * pair)) $((4 * 4300000)); done
done

# The other ranks open endpoints when they need them: a node of 6 ranks begins with 1, and 4 lanes need 4. In an all-to-all all ranks need one.
export HX_ENDPOINTS=1
HX_LANES=4 job 12 2 "$top_builddir/tools/coll_bench" allreduce --check --max 8K --factor 32 --iterations 2 --repetitions 1 || fail "lanes: exit $?: $(tail -n 3 "$tmp/err")"
[ "$(grep -c '^pair' "$tmp/count")" -ge 8 ] || fail "lanes: $(grep -c '^pair' "$tmp/count") queue pairs"
for worst in none all; do
    EFA_WORST=$worst job 8 2 "$here/actor" alltoalls 100000 1 || fail "all-to-all, $worst: exit $?: $(grep -v 'efa provider:' "$tmp/err" | tail -n 3)"
done

# ends_with TEXT NAME: the job that began at $start has failed within 40 s, and its errors contain TEXT
ends_with() {
    [ $(($(now) - start)) -le 40000 ] || fail "$2: it took $(($(now) - start)) ms"
    has "$tmp/err" "$1" "$2"
}

# the device has no queue pair left: at start, and later
limit='Cannot allocate memory (a device has 256 queue pairs, and'
start=$(now)
! HX_ENDPOINTS=0 EFA_PAIRS=5 job 8 2 "$here/actor" alltoalls 1000 1 || fail "5 queue pairs at start: starts"
ends_with "$limit 4 ranks of this node have network endpoints: HX_ENDPOINTS" "5 queue pairs at start"
start=$(now)
! HX_ALLTOALL=mesh EFA_PAIRS=3 job 8 2 "$here/actor" alltoalls 1000 1 || fail "3 queue pairs: no failure"
ends_with "$limit" "3 queue pairs"

# one of several ranks cannot open its endpoint
start=$(now)
! HX_ALLTOALL=mesh job 8 2 bash -c '[ $HX_RANK != 6 ] || export EFA_REFUSES=domain; exec "$@"' - "$here/actor" alltoalls 1000 1 || fail "refused: no failure"
ends_with "fi_domain of libfabric provider efa on rdmap0s6-rdm: Permission denied" refused
finish
