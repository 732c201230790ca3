#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A device that has little of something: receives, what it injects, memory that may be locked. Long messages both ways between all
# ranks still get through, since what waits for a peer leaves room for what the peer waits for.
. "$(dirname "$0")/../system/common.sh"
unset "${!EFA_@}"
export EFA_SEED=${TEST_SEED:-1} FI_PROVIDER_PATH=$top_builddir/tests/efa_provider/.libs HX_PROVIDER=efa HX_ALLTOALL=mesh HX_TIMEOUT=20

# through RANKS BYTES COMMUNICATORS X=Y...
through() {
    local ranks=$1 bytes=$2 communicators=$3
    shift 3
    timeout 60 env "$@" "$run" -n "$ranks" --nodes "$ranks" -- "$here/actor" alltoalls "$bytes" "$communicators" >"$tmp/out" 2>"$tmp/err" ||
        fail "$* $EFA_WORST, $ranks ranks, $bytes bytes for each, $communicators communicators: $(grep -v 'efa provider:' "$tmp/err" | head -n 3)"
}

export EFA_WORST=all
through 6 1000000 1 EFA_RECEIVES=16
through 6 1000000 1 EFA_RECEIVES=16 EFA_RDMA=1 HX_RDMA=1 # one more for each peer listens for invitations
through 2 300000 30 EFA_RECEIVES=24 # one for each peer listens for credits, not one for each communicator
export EFA_WORST=none
through 2 1000000 1 EFA_INJECT=0 # then credits are sent
through 2 300000 1 EFA_QUEUE=4096
through 2 300000 1 EFA_INJECT=4096 # what EFA takes
through 6 1000000 1 EFA_REGISTRATIONS=4
EFA_SENDS=16 EFA_WORST=all through 4 1000000 1 # two medium messages fill the device
through 6 3000000 1 EFA_MEMLOCK=4200 # 100 KiB beside what a rank starts with
told=$(grep -c "warn: efa registers no more bounce buffers .*ulimit -l" "$tmp/err")
[ "$told" -ge 1 ] && [ "$told" -le 6 ] || fail "EFA_MEMLOCK: told $told times"
finish
