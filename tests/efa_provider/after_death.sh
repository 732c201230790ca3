#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A rank dies, and a device tells so: those that have nothing to do with it go on, with all that they had.
. "$(dirname "$0")/../system/common.sh"
unset "${!EFA_@}"
export EFA_SEED=${TEST_SEED:-1} EFA_WORST=none FI_PROVIDER_PATH=$top_builddir/tests/efa_provider/.libs HX_LOG=error HX_TIMEOUT=12
death=$top_builddir/tests/efa_provider/after_death
dead=$(sed -n 's/^ *HX_ERR_PEER_DEAD = \([0-9]*\).*/\1/p' "$top_srcdir/runtime/hierax.h")

# after NODES SETTINGS MODE TEXT...: each text is a line of what the ranks say
after() {
    local nodes=$1 settings=$2 mode=$3 ranks text
    shift 3
    ranks=$(($(tr ',' '+' <<<"$nodes")))
    # shellcheck disable=SC2086
    timeout 40 env $settings "$run" -n $ranks --nodes "$nodes" -- "$death" $mode >"$tmp/out" 2>"$tmp/err"
    for text; do
        grep -qxE "$text" "$tmp/out" || fail "$nodes $settings, $mode: no \"$text\" but: $(cat "$tmp/out" "$tmp/err")"
    done
}

efa="HX_PROVIDER=efa"
after 2,1,1 "$efa EFA_RDMA=1" written "rank 0 dead $dead" "rank [12] others 0" "rank 0 living 0" "rank 2 living 0"
[ "$(grep -c 'others 0' "$tmp/out")" = 2 ] || fail "ranks that did not use the endpoint of one which waits for the dead: $(cat "$tmp/out" "$tmp/err")"
# Rank 3 cannot be reached, but may come back and write: then rank 0 closes its endpoint, and what it had to do with others has failed, but
# these have not died. Which of its messages are those to rank 3, the number tells, about.
transport=$(sed -n 's/^ *HX_ERR_TRANSPORT = \([0-9]*\).*/\1/p' "$top_srcdir/runtime/hierax.h")
for ((nth = 69; nth <= 90; nth++)); do
    # shellcheck disable=SC2016
    NTH=$nth timeout 40 env $efa EFA_RDMA=1 "$run" -n 4 --nodes 2,1,1 -- \
        sh -c '[ "$HX_RANK" != 0 ] || export EFA_ERROR=once13@$NTH; exec "$0" written' "$death" >"$tmp/out" 2>"$tmp/err"
    grep -qx "rank 0 living $transport" "$tmp/out" && break
done
[ "$(grep -cxE "rank 0 dead $dead|rank 0 living $transport|rank [12] others 0" "$tmp/out")" = 4 ] ||
    fail "an endpoint that closes since a peer may write: $(cat "$tmp/out" "$tmp/err")"
after 1,1,1 "$efa EFA_RDMA=1 EFA_MEMLOCK=4200" left "rank 0 dead $dead" "rank [01] living 0"
for settings in "$efa" HX_PROVIDER=tcp; do
    after 1,1 "$settings" "seldom 1200" "rank 0 after [1-9] s $dead"
done
finish
