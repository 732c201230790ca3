#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# coll_run --elastic: another process takes the place of a rank that dies, the job goes on and ends well. See grown.c.
. "$(dirname "$0")/common.sh"
export HX_TIMEOUT=60 FI_LOG_LEVEL=none

# elastic STATUS OPTION...: ends with STATUS
elastic() {
    local status=$1 got=0
    shift
    timeout 100 "$run" --elastic "$@" >"$tmp/out" 2>"$tmp/err" || got=$?
    [ $got = "$status" ] || { fail "coll_run --elastic $*: status $got, not $status"; tail -n 5 "$tmp/out" "$tmp/err" >&2; }
}

for nodes in 1 2; do
    elastic 0 -n 3 --min 2 --nodes $nodes -- "$here/grown" elastic 50
    [ "$(grep -c '^from the start: 50 steps, 3 ranks$' "$tmp/out")" = 2 ] || { fail "$nodes nodes:"; cat "$tmp/out" "$tmp/err" >&2; }
    grep -q '^joined: 50 steps, 3 ranks$' "$tmp/out" || { fail "$nodes nodes: no process has joined:"; cat "$tmp/out" "$tmp/err" >&2; }
    has "$tmp/err" "another takes its place" "$nodes nodes"
done
elastic 0 -n 3 --prefix -- "$here/grown" elastic 30
grep -q '^\[1\] joined: 30 steps, 3 ranks$' "$tmp/out" || { fail "--prefix:"; cat "$tmp/out" "$tmp/err" >&2; }
# more processes than ranks at the start: those that no rank admits are ended with the job
elastic 0 -n 2 --max 3 -- bash -c 'if [ -n "$HX_RANK" ]; then sleep 1; else exec '"$here/grown join"'; fi'
# too few are left
elastic 137 -n 3 --min 3 -- "$here/grown" elastic 50
elastic 7 -n 2 --restarts 0 --min 1 -- bash -c 'exit 7'
has "$tmp/err" "--restarts allows no other" "restarts"
# no rank is left that could admit the processes in their place
elastic 3 -n 2 --min 1 -- bash -c '[ -n "$HX_RANK" ] || exec sleep 90; exit 3'
has "$tmp/err" "0 ranks are left, fewer than --min 1" "only processes that have not joined"
elastic 2 -n 2 --min 3 -- true
has "$tmp/err" "--min 3, -n 2, --max 2: expected ascending numbers" "min"
timeout 60 "$run" -n 2 --min 2 -- true 2>"$tmp/err" && fail "--min without --elastic"
has "$tmp/err" "--min needs --elastic" "min alone"
finish
