#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The nine lessons of bindings/python/examples/torch agree with one process and with the theory of their bytes: on 2 ranks, on 3
# ranks of two emulated nodes, and under torchrun. If a rank's part of each sum is lost, each lesson notices it.
. "$(dirname "$0")/common.sh"
lessons=$top_srcdir/bindings/python/examples/torch
names="ddp zero1 zero2 zero3 fsdp tensor_parallel moe diloco diloco_async"

# lesson N NODES STATUS SCRIPT [X=Y...]: under coll_run, with its output in $tmp/out
lesson() {
    local n=$1 nodes=$2 expected=$3 script=$4 status=0
    shift 4
    timeout --kill-after=5 900 env "$@" "$run" -n "$n" --nodes "$nodes" -- "$python" "$lessons/$script" --small \
        >"$tmp/out" 2>"$tmp/err" || status=$?
    [ $status = "$expected" ] && return
    fail "$script on $n ranks of $nodes nodes, $*: exit $status, expected $expected"
    tail -n 20 "$tmp/out" "$tmp/err" >&2
}

# each TEXT WHERE: each lesson has a line with the text
each() {
    local name
    for name in $names; do
        grep -q "^$name: .*$1" "$tmp/out" || { fail "$2: $name has no line with \"$1\":"; grep "^$name:" "$tmp/out" >&2; }
    done
}

lesson 2 1 0 nine.py
each 'One process has the same weights' '2 ranks'
for ratio in ddp:1.00 zero1:1.00 zero2:1.00 zero3:1.46 fsdp:1.46 diloco:0.33 diloco_async:0.33; do
    grep -q "^${ratio%:*}: each rank sends .*(${ratio#*:} x DDP's bytes)" "$tmp/out" ||
        fail "${ratio%:*} does not send ${ratio#*:} times DDP's bytes"
done
grep -q '^diloco_async: mean 0 travelled' "$tmp/out" || fail "diloco_async has no timeline"

lesson 2 1 1 nine.py LESSON_LOSE=1
each 'WRONG: differs from one process' 'a lost part of each sum'

lesson 3 2 0 nine.py
each 'One process has the same weights' '3 ranks on 2 nodes'

# two nodes of one rank: each byte that a lesson counts goes through the network, and Hierax counts it there
lesson 2 2 0 zero1.py HX_STATS=1
sent=$(sed -n 's/^hierax stats: all 2 ranks: net_bytes_sent  *\([0-9]*\) .*/\1/p' "$tmp/err")
[ "${sent:-0}" -ge 1639872 ] && [ "${sent:-0}" -le 1645000 ] ||
    fail "Hierax sent ${sent:-no} bytes between the nodes; 6 steps of 2 ranks are 12 x 136656"

lesson 2 1 0 ddp_speed.py
grep -qE '^ddp_speed: median time of a step: hierax [0-9.]+ ms, gloo [0-9.]+ ms, no communication [0-9.]+ ms; 6 steps of each' "$tmp/out" ||
    { fail "ddp_speed.py prints no times:"; cat "$tmp/out" >&2; }

under_torchrun 2 "$lessons/ddp.py" --small || { fail "ddp.py under torchrun: exit $?"; tail -n 20 "$tmp/out" >&2; }
grep -q '^ddp: .*One process has the same weights' "$tmp/out" || fail "ddp.py under torchrun says nothing"

! "$python" "$lessons/ddp.py" --backend gloo 2>"$tmp/err" || fail "a lesson without ranks: exit 0"
has "$tmp/err" 'start it with several ranks' "a lesson without ranks"
! HX_RANK=0 "$python" "$lessons/ddp.py" --steps 4 2>"$tmp/err" || fail "--steps 4: exit 0"
has "$tmp/err" '--steps 4: expected a multiple of 3' "--steps 4"
finish
