#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# One rank goes astray while the others wait for it: it makes another kind of call, is outside Hierax, is stopped, or executes another program. The
# others learn which rank waits in which call, and where the missing rank is. If no rank can ever go on, they get HX_ERR_MISMATCH within seconds.
. "$(dirname "$0")/common.sh"

timeout_s=8
port=$((20000 + $$ % 10000))
cases=()

# begin N NODES HOW: such a job
begin() {
    local r
    cases+=("$*")
    while grep -qi ":$(printf %04x $port) " /proc/net/tcp /proc/net/tcp6; do port=$((port + 1)); done
    for ((r = 0; r < $1; r++)); do
        HX_NODES=$2 HX_ROOT=localhost:$port HX_RANK=$r HX_SIZE=$1 HX_SECRET=s HX_TIMEOUT=$timeout_s FI_LOG_LEVEL=none \
            timeout -s KILL 45 "$here/actor" astray "$3" >>"$tmp/$1.$2.$3" 2>>"$tmp/$1.$2.$3.err" &
    done
    port=$((port + 1))
}

# told N NODES HOW: what its ranks have said
told() {
    local n=$1 how=$3 out=$tmp/$1.$2.$3 last=$(($1 - 1)) status=7 least=0 most=$((timeout_s * 1000 + 6000)) where line ms
    local want=$n all=1 # so many ranks say something; so many others name the last one
    case $how in
    mixed | skips | root) status=10 most=6000 ;;
    execs) status=8 most=6000 want=$last ;;
    computes | unread | stops) want=$last least=$((timeout_s * 1000 - 500)) ;;
    tests) least=$((timeout_s * 1000 - 500)) ;;
    esac
    [ "$(grep -c "^rank [0-9]* status $status after" "$out")" = "$want" ] || { fail "$*: not all ranks get status $status"; return 1; }
    while read -r line; do
        ms=$(sed 's/.* after \([0-9]*\) ms.*/\1/' <<<"$line")
        [ "$ms" -ge $least ] && [ "$ms" -le $most ] || fail "$*: not after $least to $most ms: $line"
    done < <(grep ' after ' "$out")
    case $how in
    mixed | skips) where="wait for each other: .*rank $last is in \(allreduce of 1 int32, sum, a non-blocking call\|barrier\)" ;;
    root) where="bcast of 1 int32, root 1" ;;
    execs) where="rank $last has died" ;;
    computes) where="rank $last\( of the job, which\|\) \(has been outside Hierax for at least\|has not answered for\) [0-9]*[.][0-9] s" ;;
    unread) where="rank $last\( of the job, which\|\) has been outside Hierax for at least" ;;
    stops) where="rank $last\( of the job, which\|\) is in barrier, of another communicator, but has not run for [0-9.]* s: it is stopped" ;;
    tests) where="rank $last\( of the job, which\|\) is in allreduce of 1 int32, sum, a non-blocking call" ;;
    esac
    [ "$how" != skips ] || [ "$(grep -c "^rank [0-9]* then status 0" "$out")" = "$n" ] || fail "$*: a call of all fails, after those that were unlike"
    # between nodes, who does not wait for it itself may know only who does
    [ "$2" != 1 ] && [ "$how" != unread ] || all=$last
    [ "$(grep -v "^rank $last " "$out" | grep -c "$where")" -ge $all ] || { fail "$*: not so many say \"$where\": $all"; return 1; }
    [ $status != 7 ] || grep -q "warn: hx_allreduce, call [0-9]*, has waited for [0-9.]* s: .*$where" "$out.err" ||
        fail "$*: nobody has warned before the time was over"
}

for shape in "4 1" "4 2" "2 2"; do
    for how in mixed skips computes unread tests stops execs root; do
        [ "$shape:$how" != "2 2:root" ] || continue # both are root, and nobody waits
        [ "$how" != unread ] || [ "$shape" = "4 2" ] || continue # nobody else could wait for it
        [ "$shape:$how" != "2 2:stops" ] || continue # nobody is left who could tell
        # shellcheck disable=SC2086
        begin $shape $how
    done
done
for i in "${!cases[@]}"; do
    read -ra case <<<"${cases[i]}"
    case ${case[2]} in execs | computes | unread | stops) lines=$((case[0] - 1)) ;; skips) lines=$((2 * case[0])) ;; *) lines=${case[0]} ;; esac
    await_file "$tmp/${case[0]}.${case[1]}.${case[2]}" $lines
    told "${case[@]}" || { cat "$tmp/${case[0]}.${case[1]}.${case[2]}"; grep -v libfabric "$tmp/${case[0]}.${case[1]}.${case[2]}.err"; } >&2
done
for pid in $(jobs -p); do kill "$pid"; done # timeout ends its rank, one that is stopped too
wait
finish
