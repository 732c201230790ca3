#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Communicators, calls that do not block, threads: drawn operations, compared with what is right.
# TEST_SEED draws others, TEST_OPERATIONS more.
. "$(dirname "$0")/common.sh"

operations=${TEST_OPERATIONS:-6000}
[ -z "${TEST_SANITIZER:-}" ] || operations=1500
! sanitizer thread || operations=500                            # it sees the threads of one process
seed=${TEST_SEED:-1}

# draw RANKS NODES OPERATIONS
draw() {
    timeout 280 "$run" -n "$1" --nodes "$2" -- "$here/comms" "$seed" "$3" >"$tmp/out" 2>"$tmp/err" &&
        grep -q "no difference" "$tmp/out" ||
        { fail "comms $seed $3, $1 ranks on $2 nodes: $(tail -n 3 "$tmp/err")"; return; }
    cat "$tmp/out"
    seed=$((seed + 1))
}
draw 1 1 $((operations / 10))
draw 4 1 "$operations"
draw 3 3 $((operations / 4))
draw 6 3,1,2 "$operations"
export HX_RING_ORDER=2,0,3,1 HX_INTER_ALLREDUCE=ring HX_INTER_ALLGATHER=ring # each communicator has what it has of these nodes
draw 7 2,1,3,1 $((operations / 4))
HX_NODE_GROUPS=3,1 draw 7 2,1,3,1 $((operations / 4)) # groups too
unset HX_RING_ORDER HX_INTER_ALLREDUCE HX_INTER_ALLGATHER
export HX_INTER_SCAN=exclusive_dissemination # on one node, or one rank a node, there is none
draw 4 2 $((operations / 20))
unset HX_INTER_SCAN
export HX_INTRA_ALLREDUCE=nary_levels HX_INTRA_REDUCE_SCATTER=nary_levels HX_INTRA_ALLGATHER=nary_levels
export HX_INTRA_BCAST=nary_levels HX_INTRA_REDUCE=nary_levels # communicators have what is left of these levels
draw 7 7/2/2 "$operations"
draw 8 5/2,3/2 $((operations / 4))
unset HX_INTRA_ALLREDUCE HX_INTRA_REDUCE_SCATTER HX_INTRA_ALLGATHER HX_INTRA_BCAST HX_INTRA_REDUCE
export HX_TURNS=4 # as ranks with a core each have them, and for short slots too
draw 4 1 $((operations / 2))
draw 6 3,1,2 $((operations / 2))
unset HX_TURNS
HX_CHECK=1 draw 6 3,1,2 $((operations / 20))
export HX_PROGRESS_THREAD=1
draw 3 1 $((operations / 10))
draw 6 3,1,2 $((operations / 10))
unset HX_PROGRESS_THREAD
for shape in "1 1" "3 1" "4 2"; do
    for thread in 0 1; do
        # shellcheck disable=SC2086
        set -- $shape
        HX_PROGRESS_THREAD=$thread timeout 120 "$run" -n "$1" --nodes "$2" -- "$here/threads" $((operations / 100)) >"$tmp/out" 2>"$tmp/err" &&
            grep "no difference" "$tmp/out" || fail "threads, $1 ranks on $2 nodes: $(tail -n 3 "$tmp/err")"
    done
done
timeout 60 "$run" -n 2 --nodes 2 -- "$here/threads" detail 2>"$tmp/err" || fail "threads detail: $(tail -n 3 "$tmp/err")"
for told in '' told; do
    HX_TIMEOUT=20 timeout 60 "$run" -n 2 -- "$here/threads" failed $told 2>"$tmp/err" || fail "threads failed $told: $(tail -n 3 "$tmp/err")"
done
timeout 60 "$run" -n 2 -- "$here/threads" freed 2>"$tmp/err" || fail "threads freed: $(tail -n 3 "$tmp/err")"
timeout 60 "$run" -n 2 -- "$here/threads" waitany 2>"$tmp/err" || fail "threads waitany: $(tail -n 3 "$tmp/err")"
# memory that is freed is gone at once; the message comes in chunks. The test reads a buffer while a message arrives: a race, as it has to be
sanitizer thread || MALLOC_MMAP_THRESHOLD_=65536 HX_SINGLE_COPY=0 timeout 60 "$run" -n 2 -- "$here/threads" beside 2>"$tmp/err" || fail "threads beside: $(tail -n 3 "$tmp/err")"
for nodes in 1 2; do
    timeout 60 "$run" -n 6 --nodes $nodes -- "$here/threads" signals 2>"$tmp/err" || fail "threads signals, $nodes nodes: $(tail -n 3 "$tmp/err")"
done
for trace in '' "$tmp/trace.%r"; do # one rank, without a launcher
    # the thread sanitizer sleeps a second before a process ends, unless this tells it not to
    TSAN_OPTIONS="${TSAN_OPTIONS:-} atexit_sleep_ms=0" HX_TRACE=$trace timeout 60 "$here/threads" aborts 2>"$tmp/err" || fail "threads aborts, HX_TRACE=$trace: $(tail -n 3 "$tmp/err")"
done
nodes_are() { # N NODES LINES: hx_comm_split_node
    timeout 60 "$run" -n "$1" --nodes "$2" -- "$here/actor" nodes >"$tmp/out" 2>"$tmp/err" || fail "nodes -n $1 --nodes $2: exit $?"
    diff <(sort "$tmp/out") - <<<"$3" || fail "hx_comm_split_node, $1 ranks on nodes $2"
}
nodes_are 1 1 'rank 0: 0 of 1 0 of 1'
nodes_are 3 1 'rank 0: 0 of 3 1 of 2
rank 1: 1 of 3 0 of 1
rank 2: 2 of 3 0 of 2'
HX_CHECK=1 nodes_are 6 3,1,2 'rank 0: 0 of 3 1 of 2
rank 1: 1 of 3 0 of 1
rank 2: 2 of 3 0 of 2
rank 3: 0 of 1 0 of 1
rank 4: 0 of 2 0 of 1
rank 5: 1 of 2 0 of 1'
wakes() { # [thread]: three times, if it seems late
    local try status
    for try in 1 2 3; do
        status=0
        timeout 60 "$run" -n 3 --nodes $nodes -- "$here/wakes" "$@" || status=$?
        [ $status = 2 ] || break
    done
    [ $status = 0 ] || fail "wakes $*, progress thread ${HX_PROGRESS_THREAD:-0}, nodes $nodes: exit $status"
}
for nodes in 1 2,1; do
    HX_PROGRESS_THREAD=1 wakes
    wakes thread
done
# any request moves the others
timeout 60 "$run" -n 2 --nodes 2 -- "$here/actor" idle_tests >"$tmp/out" 2>"$tmp/err" || { fail "idle_tests: exit $?"; cat "$tmp/err" >&2; }
has "$tmp/out" "rank 0 after 2 s: done" "a broadcast while another request is tested"
finish
