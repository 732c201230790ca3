#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Descriptors: no file or socket gets the number of a standard stream that is closed, in ranks, in coll_run and in the tools; and how many
# descriptors ranks and coll_run need is what hierax-launch(7) says.
. "$(dirname "$0")/common.sh"
unset FI_LOG_LEVEL # libfabric's own words are not looked for here
for fd in /proc/$$/fd/*; do # what make has left open would count
    [ "${fd##*/}" -lt 3 ] || [ "${fd##*/}" = 255 ] || eval "exec ${fd##*/}>&-"
done

# closed NAME STREAMS CLOSED ARGUMENT...: ranks with these streams closed print and reduce; CLOSED: the bits of these after hx_finalize
closed() {
    local name=$1 streams=$2 bits=$3 rank
    shift 3
    mkdir "$tmp/$name"
    timeout -k 1 60 "$run" -n 2 "$@" -- bash -c "exec $streams; exec \"\$@\"" bash "$here/actor" prints "$tmp/$name" >"$tmp/$name.out" 2>&1 </dev/null ||
        fail "$name: status $?: $(cat "$tmp/$name.out")"
    for rank in 0 1; do
        grep -q "closed $bits\$" "$tmp/$name/$rank" || fail "$name, rank $rank: after hx_finalize other streams are closed than before: $(cat "$tmp/$name/$rank")"
        ! grep -E 'socket|anon_inode|memfd|/proc' "$tmp/$name/$rank" || fail "$name, rank $rank: a standard stream is Hierax's"
    done
    [ "$(tr -d '\0' <"$tmp/$name.out" | grep -vcE '^rank [01] prints( an error)?$')" = 0 ] || fail "$name: garbage in what is printed: $(cat "$tmp/$name.out")"
}
number=0
for streams in '<&-:1' '>&-:2' '2>&-:4' '<&- >&-:3' '<&- 2>&-:5' '>&- 2>&-:6' '<&- >&- 2>&-:7'; do
    number=$((number + 1))
    (closed "one$number" "${streams%:*}" "${streams#*:}"; exit $failures) & jobs+=($!)
    (closed "two$number" "${streams%:*}" "${streams#*:}" --nodes 2; exit $failures) & jobs+=($!)
    if [ $((number % 2)) = 0 ]; then
        for job in "${jobs[@]}"; do wait "$job" || failures=$((failures + 1)); done
        jobs=()
    fi
done
for job in "${jobs[@]}"; do wait "$job" || failures=$((failures + 1)); done

# coll_run itself: its ranks get no socket of it, and the job is right
mkdir "$tmp/launcher"
timeout -k 1 60 "$run" -n 2 "$here/actor" prints "$tmp/launcher" <&- >&- 2>&- || fail "coll_run without standard streams: status $?"
! grep -E 'socket|anon_inode|memfd|pipe' "$tmp"/launcher/[01] || fail "coll_run without standard streams: a rank has a socket instead of one"

# tools with nowhere to print say so
for tool in "coll_run --help" "coll_info --algorithms" "coll_plan explain allreduce --shape 4" "coll_bench barrier --repetitions 3" "coll_report --help" \
    "coll_trace --help" "coll_tune --help"; do
    # shellcheck disable=SC2086
    ! timeout 60 "$top_builddir"/tools/$tool >&- 2>"$tmp/err" <&- || fail "$tool >&-: no error"
    has "$tmp/err" "standard output: Bad file descriptor" "$tool >&-"
done

# ---- how many: as hierax-launch(7) says
readme=$top_srcdir/tools/man/hierax-launch.7.md

# uses RANKS [NODES]: the largest number of descriptors of a rank, of which the tested program has 3
uses() {
    rm -rf "$tmp/uses" && mkdir "$tmp/uses"
    timeout -k 1 60 "$run" -n "$1" ${2:+--nodes "$2"} "$here/actor" prints "$tmp/uses" >/dev/null 2>&1 </dev/null || fail "$1 ranks on ${2:-1} nodes: status $?"
    cat "$tmp"/uses/* | sort -n | awk 'END { print $1 }'
}
# most LIMIT RANKS [NODES]
most() {
    local limit=$1 used
    shift
    used=$(uses "$@")
    echo "$* (ranks, nodes): $used descriptors of a rank, $limit allowed"
    [ "$used" -le "$limit" ] || fail "$1 ranks on ${2:-1} nodes: a rank has $used descriptors, more than the $limit that hierax-launch(7) states"
}
grep -q '7 + N descriptors' "$readme" && grep -q '20 + N + P descriptors' "$readme" && grep -q '8 + R descriptors' "$readme" ||
    fail "hierax-launch(7) does not state the numbers of descriptors that this test asserts"
most $((7 + 4)) 4
most $((7 + 16)) 16
most $((20 + 2 + 2)) 4 2

# coll_run and ranks within a low limit, each by its number; below it: what is needed and what there is
(ulimit -n $((3 + 8 + 16)) && "$run" -n 16 true) || fail "coll_run -n 16 does not start with $((3 + 8 + 16)) descriptors"
for job in "64 4" "64 16" "64 4 --nodes 2"; do
    read -r limit arguments <<<"$job"
    # shellcheck disable=SC2086
    (ulimit -n "$limit" && timeout -k 1 60 "$run" -n $arguments "$here/actor" init) >"$tmp/out" 2>&1
    [ "$(grep -c 'status 0' "$tmp/out")" = "${arguments%% *}" ] || fail "ulimit -n $limit, -n $arguments: $(cat "$tmp/out")"
done
(ulimit -n $((3 + 8 + 15)) && "$run" -n 16 true) 2>"$tmp/err" && fail "coll_run -n 16 starts with too few descriptors"
has "$tmp/err" "coll_run: -n 16 needs $((3 + 8 + 16)) open files, but the hard limit is $((3 + 8 + 15)) (ulimit -Hn)" "too few"
[ "$(ulimit -Sn 40; "$run" -n 40 sh -c 'ulimit -Sn' | sort -u)" = 40 ] || fail "the soft limit of ranks is changed"
for limit in 12 18 24; do
    timeout -k 1 60 "$run" -n 4 --nodes 2 --env HX_TIMEOUT=20 --env HX_ENDPOINTS=0 -- bash -c "ulimit -n $limit; exec $here/actor init" >"$tmp/out" 2>&1
    ! grep 'status 0' "$tmp/out" || fail "2 x 2 ranks start with $limit descriptors each"
    grep -q 'open files' "$tmp/out" || fail "2 x 2 ranks with $limit descriptors each: no word of open files: $(cat "$tmp/out")"
done
finish
