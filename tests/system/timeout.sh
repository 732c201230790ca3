#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A rank that never calls: all others get HX_ERR_TIMEOUT in time, told which call it is and who is missing; the communicator stays
# failed, and hx_finalize returns. The time is not prolonged by what else moves.
. "$(dirname "$0")/common.sh"

# absent N NODES RANK [LATE]
absent() {
    local n=$1 nodes=$2 missing=$3 options=() what line ms
    [ "$nodes" = 1 ] || options=(--nodes "$nodes")
    what="-n $n --nodes $nodes without rank $missing"
    : >"$tmp/out"
    HX_TIMEOUT=3 "$run" -n "$n" "${options[@]}" --timeout 30 -- "$here/actor" absent "$missing" ${4:+"$4"} >>"$tmp/out" 2>"$tmp/err" &
    await_file "$tmp/out" $((3 * (n - 1))) # who ended before the others would spoil what they see
    kill $!
    wait $!
    [ "$(grep -c '^rank [0-9]* status 7 ' "$tmp/out")" = $((n - 1)) ] ||
        { fail "$what: not all others got HX_ERR_TIMEOUT"; cat "$tmp/out" "$tmp/err" >&2; }
    while read -r line; do
        ms=$(sed 's/.* after \([0-9]*\) ms.*/\1/' <<<"$line")
        [ "$ms" -ge 2900 ] && [ "$ms" -le 9000 ] || fail "$what: $line"
        grep -q 'allreduce, call 2, .*waited 3 s (HX_TIMEOUT)' <<<"$line" || fail "$what: no operation and call in: $line"
    done < <(grep 'status 7 after' "$tmp/out" | grep -v then)
    [ "$(grep -c '^rank [0-9]* then status 7 after [0-9]\{1,3\} ms' "$tmp/out")" = $((n - 1)) ] ||
        { fail "$what: a later call on the failed communicator did not fail at once"; cat "$tmp/out" >&2; }
    while read -r line; do
        ms=$(sed 's/.* after \([0-9]*\) ms.*/\1/' <<<"$line")
        [ "$ms" -le 6000 ] || fail "$what: $line"
    done < <(grep finalize "$tmp/out")
    [ "$(grep -c 'finalize status' "$tmp/out")" = $((n - 1)) ] || fail "$what: hx_finalize did not return everywhere"
}

# names RANK...: these ranks' messages name rank $missing
names() {
    local r
    for r; do
        grep "^rank $r status" "$tmp/out" | grep -Eq "(have not arrived|another node): ([0-9]+, )*$missing(,|;|$)" ||
            { fail "rank $r does not name rank $missing:"; grep "^rank $r status" "$tmp/out" >&2; }
    done
}

missing=1
absent 2 1 1
names 0
missing=2
absent 4 1 2
names 0 1 3
missing=1
absent 2 2 1
names 0
missing=3
absent 4 2 3
names 2
grep -Eq "another node: .*[23]|rank [23] has failed in" <(grep '^rank [01] ' "$tmp/out") ||
    { fail "nobody on the other node names a rank of the node that is late"; cat "$tmp/out" >&2; }
absent 4 2 3 2 # who is told that the others' time has run out before its own has
grep -q '^rank 2 status.*call 2: ranks of this node that have not arrived: 3; rank 3 .*; rank [01] has failed in this communicator: ' "$tmp/out" ||
    { fail "rank 2 does not name who is missing here and whose time ran out"; cat "$tmp/out" >&2; }

# overdue NODES HOW [SETTING]: 1 s, though calls of another communicator move for 2.5 s
overdue() {
    HX_TIMEOUT=1 "$run" -n 2 --nodes "$1" --timeout 30 ${3:+--env "$3"} -- "$here/actor" overdue "$2" >"$tmp/overdue.$1.$2.${3:-}" 2>&1 &
}

on_time() {
    local file ms
    for file in "$tmp"/overdue.*; do
        ms=$(sed -n 's/^status 7 after \([0-9]*\) ms: .*waited 1 s (HX_TIMEOUT).*/\1/p' "$file")
        [[ $ms -ge 900 && $ms -le 2200 ]] || { fail "${file##*/}: no time-out after 1 s"; cat "$file" >&2; }
    done
}

for how in blocks waits tests; do
    overdue 1 $how
    overdue 2 $how
done
overdue 1 waits HX_SPIN=1000000000
HX_TIMEOUT=1 "$run" -n 4 --timeout 30 -- "$here/actor" part >"$tmp/part" 2>&1 &
HX_TIMEOUT=1 HX_BCAST=flat HX_SLICE=1G "$run" -n 2 --nodes 2 --timeout 30 -- "$here/actor" slow >"$tmp/slow" 2>&1 &
wait
on_time
[[ $(grep -c '^part status 7$' "$tmp/part") = 1 && $(grep -c '^finalize status 0$' "$tmp/part") = 4 ]] ||
    { fail "hx_finalize after a failure that not all ranks know of"; cat "$tmp/part" >&2; }

[ "$(grep -c '^rank [01]: 1, late$' "$tmp/slow")" = 2 ] || { fail "a message that takes 2 s, and moves"; cat "$tmp/slow" >&2; }

# a group that cannot be created
for nodes in 1 2 4; do
    HX_TIMEOUT=2 timeout 30 "$run" -n 4 --nodes $nodes -- "$here/actor" groups >"$tmp/out" 2>"$tmp/err" ||
        { fail "groups on $nodes nodes: status $?"; cat "$tmp/err" >&2; }
    has "$tmp/out" 'status 7: hx_comm_group: waited 2 s (HX_TIMEOUT) for rank 1 of the job' "groups on $nodes nodes"
    has "$tmp/out" 'status 2: hx_comm_group: an earlier group with rank 1 of the job could not be created' "groups on $nodes nodes"
done
finish
