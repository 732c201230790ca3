#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Only jobs on several nodes load libfabric. Where it is missing, they say so; jobs on one node run. What a start leaves out.
. "$(dirname "$0")/common.sh"

# loads N NODES: how many ranks of the job load libfabric
loads() {
    rm -f "$tmp"/loaded.*
    timeout 60 "$run" -n "$1" --nodes "$2" -- env LD_DEBUG=files LD_DEBUG_OUTPUT="$tmp/loaded" "$here/actor" init >"$tmp/out" 2>"$tmp/err" ||
        { fail "-n $1 --nodes $2: exit $?"; cat "$tmp/err" >&2; }
    grep -l 'calling init: .*/libfabric\.so' "$tmp"/loaded.* | wc -l
}
[ "$(loads 3 1)" = 0 ] || fail "a job on one node loads libfabric"
[ "$(loads 2 2)" = 2 ] || fail "ranks on two nodes do not load libfabric"

# Calls of a start that are not needed, or were many for one: start_calls.c
if [ -z "${TEST_SANITIZER:-}" ] && ${CC:-cc} -shared -fPIC -D_GNU_SOURCE -o "$tmp/start_calls.so" "$(dirname "$0")/start_calls.c" -ldl; then
    timeout 60 "$run" -n 2 --nodes 2 -- env START_CALLS="$tmp/calls" LD_PRELOAD="$tmp/start_calls.so" "$here/actor" init >"$tmp/out" 2>"$tmp/err" ||
        { fail "start_calls: exit $?"; cat "$tmp/err" >&2; }
    [ "$(grep -c . "$tmp/calls")" = 2 ] || fail "2 ranks, not: $(cat "$tmp/calls")"
    [ "$(grep -c ' plugins 0$' "$tmp/calls")" = 2 ] || fail "hwloc loads plugins: $(cat "$tmp/calls")"
    [ "$(awk '$4 >= 64' "$tmp/calls")" = "" ] || fail "each number is looked at for a descriptor by itself: $(cat "$tmp/calls")"
    if ! ls /sys/class/infiniband/* >/dev/null 2>&1; then
        [ "$(grep -c '^kallsyms 0 ' "$tmp/calls")" = 2 ] || fail "without an RDMA device libfabric reads the kernel's symbols: $(cat "$tmp/calls")"
    fi
fi

if [ "$(id -u)" = 0 ] && unshare --mount true 2>/dev/null; then
    # shellcheck disable=SC2016
    missing='for file in $(ldconfig -p | sed -n "s/.* => \(.*libfabric\.so\.1\)$/\1/p"); do mount --bind /dev/null "$(readlink -f "$file")"; done; exec "$@"'
    timeout 60 unshare --mount bash -c "$missing" - "$run" -n 2 -- "$here/actor" init >"$tmp/out" 2>"$tmp/err" || { fail "one node: exit $?"; cat "$tmp/err" >&2; }
    ! grep -q libfabric "$tmp/err" || fail "one node: $(cat "$tmp/err")"
    timeout 60 unshare --mount bash -c "$missing" - "$run" -n 2 --nodes 2 -- "$here/actor" init >"$tmp/out" 2>"$tmp/err"
    [ "$(grep -c '^rank -1 status 6: .*cannot load libfabric, which messages between nodes need (Debian: apt-get install libfabric1): ' "$tmp/out")" = 2 ] || { fail "two nodes without libfabric"; cat "$tmp/out" >&2; }
fi
finish
