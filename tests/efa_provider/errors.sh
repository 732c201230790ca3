#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The device ends a send with an error: the call fails soon, and says what the device's code means.
. "$(dirname "$0")/../system/common.sh"
unset "${!EFA_@}"
export EFA_SEED=${TEST_SEED:-1} FI_PROVIDER_PATH=$top_builddir/tests/efa_provider/.libs HX_PROVIDER=efa HX_LOG=error HX_TIMEOUT=30

# told CODE STATUS TEXT: rank 1 of three has it happen to it
told() {
    # shellcheck disable=SC2016
    ERROR=$1 timeout 20 "$run" -n 3 --nodes 3 -- \
        sh -c '[ "$HX_RANK" != 1 ] || export EFA_ERROR=$ERROR; exec "$0" outlives 1' "$here/actor" >"$tmp/out" 2>"$tmp/err"
    [ $? = 1 ] || fail "$1 $EFA_WORST: no failure within 20 s"
    has "$tmp/out" "rank 1 status $2 at " "$1 $EFA_WORST"
    has "$tmp/err" "$3" "$1 $EFA_WORST"
}
status() { sed -n "s/^ *HX_ERR_$1 = \([0-9]*\).*/\1/p" "$top_srcdir/runtime/hierax.h"; }
gone="Bad queue pair (QP) number (QP does not exist or is in error state)"
unready="Destination resource not ready (no work queue entries posted on receive queue)"
dead=$(status PEER_DEAD) transport=$(status TRANSPORT)

for EFA_WORST in none all; do
    export EFA_WORST
    told 9@300 "$dead" "provider code 9, $gone (the peer's process has gone)"
    told 13@300 "$dead" "provider code 13, Unresponsive remote (was previously responsive) (the peer is silent or unreachable"
    told 10@300 "$transport" "provider code 10, $unready (the receiver was not ready for too long)"
done
export EFA_WORST=none
told 15@300 "$dead" "provider code 15, Unreachable remote - never received a response (the peer is silent or unreachable"
told 4124@300 "$dead" "provider code 4124, Unresponsive receiver (connection previously established) (the peer is silent or unreachable"
told 4126@300 "$dead" "provider code 4126, Unresponsive receiver (reachable by EFA device but handshake failed) (the peer is silent or unreachable"
told 8@300 "$dead" "provider code 8, Connection was reset by remote peer (the peer's process has gone)"
told 4112@300 "$transport" "provider code 4112, Failure to post internal receive buffers (locked memory is exhausted: see ulimit -l)"
told 4127@300 "$transport" "provider code 4127, Operation aborted because the peer closed its memory registration or endpoint mid-transfer (the peer has cancelled it)"
# ranks that never reach each other: the error names possible reasons, and reports nobody as dead
for code in 13 15 4124 4126; do
    EFA_ERROR=$code@1 timeout 20 "$run" -n 2 --nodes 2 -- "$here/actor" outlives 1 >"$tmp/out" 2>"$tmp/err"
    has "$tmp/out" "rank 1 status $transport at " "$code@1"
    has "$tmp/err" "(the peer is silent or unreachable: does its security group admit all traffic" "$code@1"
    ! grep -q " status $dead at" "$tmp/out" || { fail "$code@1: somebody has died:"; cat "$tmp/out" >&2; }
done
EFA_PEERS=0 timeout 20 "$run" -n 2 --nodes 2 -- "$here/actor" init >"$tmp/out" 2>"$tmp/err"
has "$tmp/out" "refuses the address of rank 1 of the job: Invalid argument (is the rank in another subnet or availability zone?)" EFA_PEERS
EFA_HANDLES=0 timeout 20 "$run" -n 2 --nodes 2 -- "$here/actor" init >"$tmp/out" 2>"$tmp/err"
has "$tmp/out" "refuses the address of rank 1 of the job: Cannot allocate memory (the device has no more address handles" EFA_HANDLES
told queue@300 "$transport" "efa endpoint of rank 1 of the job on rdmap0s6-rdm failed"
# the event queue tells of a peer that has gone: that is no fault of the endpoint's
EFA_ERROR=queue13@20 HX_LOG=warn timeout 30 "$run" -n 3 --nodes 3 -- "$here/comms" 1 4000 >"$tmp/out" 2>"$tmp/err" ||
    fail "a peer's end in the event queue: exit $?: $(head -n 3 "$tmp/err")"
has "$tmp/err" "(provider code 13) (the peer is silent or unreachable" "event queue"
# of remote writes, and of the invitations to them
export EFA_RDMA=1 HX_RDMA=1
for at in 300 301 302 303; do
    told 9@$at "$dead" "provider code 9, $gone (the peer's process has gone)"
    told 10@$at "$transport" "provider code 10, $unready (the receiver was not ready for too long)"
    # the peer lives, and may still write into this rank's memory
    told 14@$at "$transport" "provider code 14, No valid address handle at remote side (required for RDMA operations) (the peer's device does not know"
done
# of invitations that are injected
export EFA_INJECT=4096
for at in 300 301 302 303; do
    told 9@$at "$dead" "provider code 9, $gone (the peer's process has gone)"
    told 10@$at "$transport" "provider code 10, $unready (the receiver was not ready for too long)"
    told 13@$at "$dead" "provider code 13, Unresponsive remote (was previously responsive) (the peer is silent or unreachable"
done
unset EFA_INJECT
unset EFA_RDMA HX_RDMA

# one send fails, to a peer that lives and receives nothing any more, and its sender does no more than stay: the peer learns it soon
for at in 300 301; do # a long message and a short one
    # shellcheck disable=SC2016
    AT=$at timeout 40 "$run" -n 2 --nodes 2 -- \
        sh -c '[ "$HX_RANK" != 1 ] || export EFA_ERROR=once12@$AT; exec "$0" outlives 0' "$here/actor" >"$tmp/out" 2>"$tmp/err"
    has "$tmp/out" "rank 1 status $transport at " "once12@$at"
    has "$tmp/out" "rank 0 status $dead at " "once12@$at"
    apart=$(sed -n 's/^rank \([01]\) .* at \([0-9]*\) ms.*/\1 \2/p' "$tmp/out" | sort | awk '{ t = $2 - t } END { print -t }')
    [ "${apart:-9999}" -lt 8000 ] || fail "once12@$at: rank 0 learns it after $apart ms"
done

# a peer that lives could not be reached for a while, and a short message to it is lost, which was told to have been sent
# shellcheck disable=SC2016
timeout 40 "$run" -n 2 --nodes 2 -- \
    sh -c '[ "$HX_RANK" != 1 ] || export EFA_ERROR=once13@300; exec "$0" outlives 0' "$here/actor" >"$tmp/out" 2>"$tmp/err"
has "$tmp/out" "rank 1 status $transport at " "once13@300"
has "$tmp/out" "rank 0 status $dead at " "once13@300"

# a peer that lives takes nothing of what is under way to it: the end does not wait for it
EFA_WORST=linger HX_LOG=warn HX_TIMEOUT=5 timeout 40 "$run" -n 2 --nodes 2 -- "$here/actor" gives_up >"$tmp/out" 2>"$tmp/err"
ended=$(sed -n "s/^rank 0 status $(status TIMEOUT), finalized after \([0-9]*\) ms/\1/p" "$tmp/out")
[ "${ended:-99999}" -lt 10000 ] || fail "an end with messages under way took ${ended:-?} ms: $(grep -v 'libfabric:' "$tmp/err" | head -n 3)"
has "$tmp/err" "does not close, because a peer does not receive" linger

# who gives a call up has sends under way to those who are late: they end by themselves, and other communicators go on
HX_TIMEOUT=2 timeout 20 "$run" -n 2 --nodes 2 -- "$here/actor" apart 3 >"$tmp/out" 2>"$tmp/err" ||
    fail "a call that is given up: exit $?: $(grep -v 'efa provider:' "$tmp/err" | head -n 3)"

# fork support is left out where the user wants huge pages: libfabric ends a program that asks for both
for huge in FI_EFA_USE_HUGE_PAGE RDMAV_HUGEPAGES_SAFE; do
    timeout 20 env $huge=1 "$run" -n 2 --nodes 2 -- "$here/actor" init >"$tmp/out" 2>"$tmp/err" || fail "$huge: $(tail -n 3 "$tmp/err")"
done

# too little locked memory ends the start
! EFA_MEMLOCK=64 timeout 20 "$run" -n 2 --nodes 2 -- bash -c 'ulimit -l 64; exec "$0" loop' "$here/actor" >"$tmp/out" 2>"$tmp/err" ||
    fail "memlock: started"
has "$tmp/err" "locked memory is limited to 64 KiB: set ulimit -l unlimited" memlock
finish
