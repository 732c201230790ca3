#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What users get wrong: each case ends at once with the right status and a message that names the value and the choices.
. "$(dirname "$0")/common.sh"

# refused STATUS N NODES TEXT [inside] [X=Y...]: hx_init gives STATUS on every rank, or coll_run ends the job after somebody got it; TEXT is told
refused() {
    local status=$1 n=$2 nodes=$3 text=$4 options=() inside=() code=0
    shift 4
    [ "$1" != inside ] || { shift; inside=(env "$@"); set -- -u HX_NODES; } # past coll_run's own check
    [ "$nodes" = 1 ] || options=(--nodes "$nodes")
    timeout 20 env "$@" "$run" -n "$n" "${options[@]}" -- "${inside[@]}" "$here/actor" init >"$tmp/out" 2>"$tmp/err" || code=$?
    [ $code != 124 ] || fail "$*: hung"
    grep -q "^rank [-0-9]* status $status:" "$tmp/out" ||
        { fail "$*: nobody got status $status"; cat "$tmp/out" "$tmp/err" >&2; }
    ! grep -q "status 0" "$tmp/out" || fail "$*: a rank has started"
    has "$tmp/out" "$text" "$*"
}

# rank 0 comes late, and serves the store: the others wait for it
(HX_ROOT=127.0.0.1:$((20000 + $$ % 10000)) HX_SIZE=2 HX_SECRET=s && export HX_ROOT HX_SIZE HX_SECRET
    HX_RANK=1 timeout 40 "$here/actor" init &
    sleep 12
    HX_RANK=0 timeout 20 "$here/actor" init
    wait) >"$tmp/late" 2>&1 &
late=$!

# settings
refused 3 2 1 'HX_ALLREDUCE=fastest: not an algorithm for allreduce in this job; choose one of' HX_ALLREDUCE=fastest
has "$tmp/out" nary_sliced HX_ALLREDUCE
refused 3 4 2 'HX_INTER_ALLREDUCE=nary: not an algorithm' HX_INTER_ALLREDUCE=nary
has "$tmp/out" recursive_doubling HX_INTER_ALLREDUCE
refused 3 2 1 'HX_INTRA_ALLGATHER=tree' HX_INTRA_ALLGATHER=tree
refused 3 4 2 'to force a plan of stages, set HX_ALLREDUCE=hier, then HX_INTRA_' 'HX_ALLREDUCE=hier(nary,mesh,nary) x2'
refused 3 4 2 'name only the algorithm, as in flat(ring)' 'HX_ALLREDUCE=flat(ring) x2'
refused 3 4 2 'HX_ALLREDUCE=flat(): not an algorithm' 'HX_ALLREDUCE=flat()'
refused 3 4 2 'HX_ALLREDUCE=msh: not an algorithm' HX_ALLREDUCE=ring:1M-,msh:-64K
for sizes in 1M 64K-4K 64K-64K - 1X- -1M- 4K-8K-9K -99999999999999999G; do
    refused 3 2 1 "HX_ALLREDUCE=ring,mesh:$sizes: bad sizes in \"mesh:$sizes\"; expected NAME or NAME:FROM-TO" "HX_ALLREDUCE=ring,mesh:$sizes"
done
refused 3 2 1 '"ring:64000-" and "mesh:-64001" are for the same sizes' HX_INTRA_ALLREDUCE=ring:64000-,mesh:-64001
refused 3 2 1 '"binomial" and "flat" are for the same sizes' HX_BCAST=binomial,flat
refused 3 3 1 'HX_NODES=4: the job has only 3 ranks' inside HX_NODES=4
refused 3 3 1 'HX_NODES=2,2: these nodes have 4 ranks in all, but the job has 3; choose sizes whose sum is 3' inside HX_NODES=2,2
refused 3 3 1 'HX_NODES=1,1: these nodes have 2 ranks in all, but the job has 3' inside HX_NODES=1,1
for nodes in -1 1,,2 1,2, 3,0 3,-1 three 1.5 0,3 1:2; do
    refused 3 3 1 "HX_NODES=$nodes: shape \"$nodes\": expected a number of nodes (2), ranks per node (4,4,3 or" \
        inside "HX_NODES=$nodes"
done
refused 3 2 1 HX_SLICE HX_SLICE=12parsecs
refused 3 2 1 'HX_SLICE=3: expected bytes: 0, or 512 B to 1 GiB' HX_SLICE=3
refused 3 2 1 HX_TIMEOUT HX_TIMEOUT=soon
for units in x 1,,2 3-2 all; do
    refused 3 2 1 "HX_PROGRESS_CORE=$units: expected processing units (7 or 6,7 or 12-15), or none" "HX_PROGRESS_CORE=$units"
done
refused 3 2 1 "HX_PROGRESS_CORE=0-99999: processing unit" HX_PROGRESS_CORE=0-99999 HX_PROGRESS_THREAD=1
refused 3 2 1 'HX_LOG' HX_LOG=loud
has "$tmp/out" debug HX_LOG
refused 3 2 1 HX_LANES HX_LANES=100000
refused 3 2 1 HX_CHECK HX_CHECK=perhaps

# one_rank STATUS TEXT X=Y...: without a launcher
one_rank() {
    local status=$1 text=$2 code=0
    shift 2
    timeout 20 env "$@" "$here/actor" init >"$tmp/out" 2>"$tmp/err" || code=$?
    [ $code = 0 ] || fail "$*: exit $code"
    grep -q "^rank -1 status $status:" "$tmp/out" || { fail "$*: not status $status"; cat "$tmp/out" "$tmp/err" >&2; }
    has "$tmp/out" "$text" "$*"
}

# launchers
one_rank 3 HX_BOOTSTRAP HX_BOOTSTRAP=carrier-pigeon
has "$tmp/out" pmix HX_BOOTSTRAP
one_rank 3 HX_RANK HX_ROOT=127.0.0.1:1
one_rank 3 HX_SIZE HX_ROOT=127.0.0.1:1 HX_RANK=0
one_rank 3 'HX_RANK' HX_ROOT=127.0.0.1:1 HX_RANK=5 HX_SIZE=2
one_rank 3 PMI_ PMI_FD=77
one_rank '[57]' 127.0.0.1:1 HX_ROOT=127.0.0.1:1 HX_RANK=1 HX_SIZE=2 HX_TIMEOUT=1 HX_SECRET=00
one_rank 3 HX_ROOT HX_ROOT=nowhere HX_RANK=0 HX_SIZE=2 HX_SECRET=00

# the limit of open files: the soft one is raised, the hard one is told
for limit in Sn n; do
    timeout 60 "$run" -n 48 -- bash -c "ulimit -$limit 60 && exec $here/actor init" >"$tmp/out.$limit" 2>&1
done
[ "$(grep -c 'status 0' "$tmp/out.Sn")" = 48 ] || { fail "48 ranks that may open 60 files, and more if they want, do not start"; cat "$tmp/out.Sn" >&2; }
has "$tmp/out.n" 'open files, but this process may open only 60 (ulimit -n)' "a hard limit of 60 files"

# a store that accepts and then says nothing
python3 - "$tmp/port" <<'PYTHON' &
import socket, sys, time
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(5)
open(sys.argv[1], "w").write("%d\n" % s.getsockname()[1])
time.sleep(30)
PYTHON
silent=$!
if await_file "$tmp/port" 1; then
    one_rank '[57]' "127.0.0.1:$(cat "$tmp/port")" HX_ROOT="127.0.0.1:$(cat "$tmp/port")" HX_RANK=0 HX_SIZE=2 HX_TIMEOUT=1 HX_SECRET=00
fi
kill $silent

# a rank that never comes, and one that thinks the job larger
timeout 20 "$run" -n 2 --env HX_TIMEOUT=1 -- bash -c '[ "$HX_RANK" = 0 ] || exec sleep 4; exec "$0" init' "$here/actor" \
    >"$tmp/out" 2>"$tmp/err"
[ $? != 124 ] || fail "a rank that never comes: hung"
grep -Eq 'status [57]:.*' "$tmp/out" || { fail "a rank that never comes: no error"; cat "$tmp/out" "$tmp/err" >&2; }
grep -Eq '1 of (the )?2|rank 1|only 1' "$tmp/out" "$tmp/err" ||
    { fail "a rank that never comes: no message counts or names it"; cat "$tmp/out" "$tmp/err" >&2; }
timeout 20 "$run" -n 2 --env HX_TIMEOUT=10 -- bash -c '[ "$HX_RANK" = 0 ] || export HX_SIZE=3; exec "$0" init' "$here/actor" \
    >"$tmp/out" 2>"$tmp/err"
[ $? != 124 ] || fail "rank counts differ: hung"
grep -q 'status 5:' "$tmp/out" || { fail "rank counts differ: nobody got status 5"; cat "$tmp/out" "$tmp/err" >&2; }
cat "$tmp/out" "$tmp/err" >"$tmp/all"
grep -q 3 <(grep -o 'status 5:.*' "$tmp/all") || { fail "rank counts differ: the wrong count is not told"; cat "$tmp/all" >&2; }

# providers
refused 6 2 2 'warp' HX_PROVIDER=warp
grep -Eq 'net|tcp' "$tmp/out" || { fail "HX_PROVIDER: no choices"; cat "$tmp/out" >&2; }
refused 6 2 1 'HX_PROVIDER=warp: libfabric has no usable provider of this name; choose one of: ' HX_PROVIDER=warp
refused 6 2 1 'HX_NIC=nosuch: there is no usable interface nosuch; libfabric has: ' HX_NIC=nosuch
timeout 20 "$run" -n 2 --env HX_PROVIDER=sockets --env HX_NIC=lo -- "$here/actor" init >"$tmp/out" 2>&1
[ "$(grep -c ' status 0: started' "$tmp/out")" = 2 ] || { fail "one node, HX_PROVIDER=sockets HX_NIC=lo:"; cat "$tmp/out" >&2; }

# orders of nodes
for order in 0,2,1 0,1,2,2 0,1,2,4 nearest; do
    refused 3 4 4 "HX_RING_ORDER=$order: " HX_RING_ORDER=$order
    has "$tmp/out" 'rank, auto, or' "$order"
done

# groups of nodes
refused 3 4 4 'HX_NODE_GROUPS=2,1: these groups have 3 nodes in all, but the job has 4; choose sizes whose sum is 4' HX_NODE_GROUPS=2,1
for groups in 0 2, 2,0,2 rack 2/2; do
    refused 3 4 4 "HX_NODE_GROUPS=$groups: choose a number of nodes per group" HX_NODE_GROUPS=$groups
done

# limits of a node: few descriptors at a time for who may not pass more on; a short queue of connections
if [ "$(id -u)" = 0 ] && [ -z "${TEST_SANITIZER:-}" ]; then
    (ulimit -n 128 && timeout 60 setpriv --bounding-set=-sys_resource,-sys_admin "$run" -n 24 -- "$here/actor" init) >"$tmp/out" 2>&1
    [ "$(grep -c 'status 0' "$tmp/out")" = 24 ] || { fail "24 ranks that may open 128 files do not start"; cat "$tmp/out" >&2; }
    echo 8 | unshare -n sh -c 'ip link set lo up; cat >/proc/sys/net/core/somaxconn; exec "$@"' - \
        timeout 20 "$run" -n 12 -- "$here/actor" init >"$tmp/out" 2>&1
    [ "$(grep -c 'status 0' "$tmp/out")" = 12 ] || { fail "12 ranks with a queue of 8 connections do not start"; cat "$tmp/out" >&2; }
fi

# memory that is refused; ranks that find the store before rank 0 has begun to serve it
if [ -z "${TEST_SANITIZER:-}" ] && ${CC:-cc} -shared -fPIC -D_GNU_SOURCE -o "$tmp/refuse.so" "$(dirname "$0")/refuse.c"; then
    for number in 1 38; do # EPERM, ENOSYS
        refused 4 3 1 'memfd_create' REFUSE=$number LD_PRELOAD="$tmp/refuse.so"
    done
    export HX_ROOT=localhost:$((30000 + $$ % 2000)) HX_SIZE=2 HX_SECRET=s
    HX_RANK=1 timeout 20 "$here/actor" init >"$tmp/out" 2>&1 &
    HX_RANK=0 PAUSE=1 LD_PRELOAD="$tmp/refuse.so" timeout 20 "$here/actor" init >"$tmp/err" 2>&1
    wait $!
    unset HX_ROOT HX_SIZE HX_SECRET
    cat "$tmp/err" >>"$tmp/out"
    [ "$(grep -c 'status 0' "$tmp/out")" = 2 ] || { fail "rank 0 is slow to serve: not both start"; cat "$tmp/out" >&2; }
fi

# arguments
for options in "-n 1" "-n 2" "-n 4 --nodes 2"; do
    # shellcheck disable=SC2086
    timeout 20 "$run" $options -- "$here/badcalls" >"$tmp/out" 2>"$tmp/err" || { fail "badcalls $options: exit $?"; cat "$tmp/err" >&2; }
done

for options in "-n 1" "-n 3" "-n 4 --nodes 2"; do
    # shellcheck disable=SC2086
    timeout 20 "$run" $options --env HX_CHECK=1 -- "$here/badcalls" overlaps >"$tmp/out" 2>"$tmp/err" ||
        { fail "badcalls overlaps $options: exit $?"; cat "$tmp/err" >&2; }
done

# calls that differ between ranks
for options in "-n 3" "-n 4 --nodes 3"; do
    # shellcheck disable=SC2086
    timeout 20 "$run" $options --env HX_CHECK=1 -- "$here/actor" differ >"$tmp/out" 2>"$tmp/err" || { fail "differ $options: exit $?"; cat "$tmp/err" >&2; }
done

# without HX_CHECK: all ranks know by their next calls
shapes=("-n 3" "-n 5 --nodes 2")
[ -n "${TEST_SANITIZER:-}" ] || shapes+=("-n 2" "-n 5" "-n 2 --nodes 2" "-n 3 --nodes 3")
for options in "${shapes[@]}"; do
    pids=()
    [[ $options = *nodes* ]] && stay=2 || stay=0.5
    for case in 0 1 2 3 4 5 6 9 10; do
        [[ $options:$case =~ ^-n\ 2.*:3$ ]] && continue # both are roots, and wait for nobody
        # shellcheck disable=SC2086
        timeout 60 "$run" $options -- "$here/actor" unlike $case $stay >"$tmp/unlike.$case" 2>&1 &
        pids[case]=$!
    done
    for case in "${!pids[@]}"; do
        wait ${pids[case]} || { fail "unlike $case, $options: exit $?"; cat "$tmp/unlike.$case" >&2; }
    done
done
timeout 20 "$run" -n 2 -- "$here/actor" unlike 1 >"$tmp/out" 2>"$tmp/err"
has "$tmp/err" 'hx_allreduce: ranks make different calls: call 1 of rank 0 is allreduce of 8 int32, sum; of rank 1, allreduce of 8 int32, max' 'unlike'

wait $late
[ "$(grep -c 'status 0' "$tmp/late")" = 2 ] || { fail "rank 0 comes 12 s late: not all start"; cat "$tmp/late" >&2; }
has "$tmp/late" 'waiting for rank 0, which serves the store at HX_ROOT=127.0.0.1:' 'rank 0 comes late'
finish
