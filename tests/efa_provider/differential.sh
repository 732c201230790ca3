#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Drawn operations, compared with what is right, between nodes: over the conformance provider with every misbehaviour
# on, then over this machine's own providers. Here a short form; the long one has
# TEST_SEEDS=20 TEST_OPERATIONS=5000 and takes some 10 minutes.
. "$(dirname "$0")/../system/common.sh"
unset "${!EFA_@}"
export FI_PROVIDER_PATH=$top_builddir/tests/efa_provider/.libs HX_LOG=error HX_TIMEOUT=60
seeds=${TEST_SEEDS:-2} operations=${TEST_OPERATIONS:-300}
[ -z "${TEST_SANITIZER:-}" ] || { seeds=1; operations=200; }

# draw RANKS NODES SEED [X=Y...]: with other chunks for other seeds, so that messages have one, some, or many
draw() {
    local ranks=$1 nodes=$2 seed=$3 chunk
    shift 3
    chunk=$(((seed % 3) * 1900))
    timeout 280 env "$@" HX_CHUNK=$chunk EFA_SEED="$seed" "$run" -n "$ranks" --nodes "$nodes" -- \
        "$here/comms" "$seed" "$operations" >"$tmp/out" 2>"$tmp/err" && grep -q "no difference" "$tmp/out" ||
        { fail "seed $seed, $ranks ranks on nodes $nodes, $*: $(grep -v EFA_WORST "$tmp/err" | tail -n 3)"; return; }
    echo "$(cat "$tmp/out") on nodes $nodes: $* HX_CHUNK=$chunk"
}

for ((seed = 1; seed <= seeds; seed++)); do
    for shape in "2 2" "4 2" "6 3,1,2"; do
        # shellcheck disable=SC2086
        draw $shape $seed HX_PROVIDER=efa EFA_WORST=all
        # by remote writes: all messages, or the longer ones
        # shellcheck disable=SC2086
        draw $shape $seed HX_PROVIDER=efa EFA_WORST=all EFA_RDMA=1 HX_RDMA=$((seed % 2 ? 1 : 20000))
    done
done
# several devices per node, shared out among its ranks or striped over: 1 rank takes up to 4, 3 ranks 1, 1 and 2 of 4
for nics in 2 4; do
    draw 2 2 $((10 + nics)) HX_PROVIDER=efa EFA_WORST=all EFA_NICS=$nics
    draw 6 3,1,2 $((11 + nics)) HX_PROVIDER=efa EFA_WORST=all EFA_NICS=$nics
    draw 2 2 $((10 + nics)) HX_PROVIDER=efa EFA_WORST=all EFA_NICS=$nics EFA_RDMA=1 HX_RDMA=1
done
# devices of two kinds: rank 0's alone has remote writes
one=(sh -c '[ "$HX_RANK" != 0 ] || export EFA_RDMA=1; exec "$@"' sh)
HX_PROVIDER=efa EFA_WORST=all EFA_SEED=1 HX_RDMA=1 timeout 280 "$run" -n 3 --nodes 3 -- "${one[@]}" "$here/comms" 1 "$operations" \
    >"$tmp/out" 2>"$tmp/err" && grep -q "no difference" "$tmp/out" || fail "devices of two kinds: $(tail -n 3 "$tmp/err")"
for provider in net 'tcp;ofi_rxm' sockets efa; do
    draw 2 2 "$seed" HX_PROVIDER="$provider"
    draw 6 3,1,2 $((seed + 1)) HX_PROVIDER="$provider"
done
# and every collective, operation and count that tests/system/collectives knows
for mode in short ahead; do
    HX_PROVIDER=efa EFA_WORST=all EFA_SEED=1 timeout 280 "$run" -n 6 --nodes 3,1,2 -- "$here/collectives" $mode \
        >"$tmp/out" 2>"$tmp/err" ||
        fail "collectives $mode: $(tail -n 3 "$tmp/err")"
done
# ranks that wait for each other by means of their own, with the last call's messages still to go
if [ -z "${TEST_SANITIZER:-}" ]; then
    HX_PROVIDER=efa timeout 60 "$run" -n 8 --nodes 4 -- "$top_builddir/tests/tools/coll_bench" alltoall --min 256K --max 256K --repetitions 100 \
        >"$tmp/out" 2>"$tmp/err" || fail "coll_bench alltoall: exit $?: $(tail -n 3 "$tmp/err")"
fi
finish
