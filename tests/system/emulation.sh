#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Ranks of different emulated nodes share no memory: other memfds, only the ranks of the own node in the segment, messages by network.
. "$(dirname "$0")/common.sh"

# emulate N NODES RANKS_PER_NODE...
emulate() {
    local n=$1 nodes=$2 count sizes
    shift 2
    count=$#
    sizes=$(printf '%s\n' "$@" | sort -n | tr '\n' ' ')
    timeout 30 "$run" -n "$n" --nodes "$nodes" -- "$here/actor" maps >"$tmp/out" 2>"$tmp/err" ||
        { fail "-n $n --nodes $nodes: exit $?"; cat "$tmp/err" >&2; return; }
    [ "$(grep -c ' memfd ' "$tmp/out")" = "$n" ] || fail "-n $n --nodes $nodes: not one segment mapped by each rank"
    # one inode per node, one node per inode
    [ "$(awk '/memfd/ { print $4, $6 }' "$tmp/out" | sort -u | wc -l)" = $count ] &&
        [ "$(awk '/memfd/ { print $6 }' "$tmp/out" | sort -u | wc -l)" = $count ] ||
        { fail "-n $n --nodes $nodes: ranks of different nodes map one segment"; grep memfd "$tmp/out" >&2; }
    [ "$(awk '/memfd/ { k[$6]++ } END { for (i in k) print k[i] }' "$tmp/out" | sort -n | tr '\n' ' ')" = "$sizes" ] ||
        { fail "-n $n --nodes $nodes: nodes are not of $sizes ranks"; cat "$tmp/out" >&2; }
    awk '/shares with/ { node[$4] += $(NF - 3) + $(NF - 1) } END { for (i in node) if (!node[i]) exit 1 }' "$tmp/out" ||
        { fail "-n $n --nodes $nodes: a node has sent and received nothing by network"; cat "$tmp/out" >&2; }
}

emulate 2 2 1 1
emulate 4 2 2 2
emulate 7 3 3 2 2
emulate 6 3,1,2 3 1 2
emulate 6 2x1,4 1 1 4
emulate 5 2,3:cyclic 2 3
timeout 30 "$run" -n 3 -- "$here/actor" maps >"$tmp/out" || fail "-n 3: exit $?"
[ "$(awk '/memfd/ { print $6 }' "$tmp/out" | sort -u | wc -l)" = 1 ] || fail "-n 3: one node, but not one segment"
grep -vq 'network 0 sent 0 received' <(grep shares "$tmp/out") && fail "-n 3: one node used the network"
finish
