#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Where the progress thread runs: as HX_PROGRESS_CORE says, as the log says, and as the kernel says.
. "$(dirname "$0")/common.sh"
export HX_PROGRESS_THREAD=1 HX_LOG=info
# One unit of each core that this script may use.
mapfile -t units < <(taskset -cp $$ | sed 's/.*: //; s/,/\n/g' | while IFS=- read -r first last; do seq "$first" "${last:-$first}"; done |
    while read -r cpu; do echo "$cpu $(cat /sys/devices/system/cpu/cpu"$cpu"/topology/{physical_package_id,core_id} 2>/dev/null | xargs)"; done |
    sort -u -k 2 | sort -n | cut -d' ' -f1)
all=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
a=${units[0]} b=${units[1]:-}

# places EXPECTED TEXT command...: of two ranks on one node, "UNITS UNITS" where the kernel lets their threads run; "differ": each one unit,
# of its own. TEXT is in the log.
places() {
    local expected=$1 text=$2 job status i rank places=()
    shift 2
    rm -f "$tmp/out" # the job's shell may be slow to empty it
    "$@" -- "$here/actor" loop >"$tmp/out" 2>"$tmp/err" &
    job=$!
    await_file "$tmp/out" 2
    while read -r _ rank _ pid; do
        for status in /proc/"$pid"/task/*/status; do
            grep -q '^Name:.hierax-progress$' "$status" && places[rank]=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "$status")
        done
    done <"$tmp/out"
    kill $job
    wait $job
    echo "$*: ${places[*]}"
    has "$tmp/err" "$text" "$*"
    if [ "$expected" = differ ]; then
        for i in 0 1; do
            [[ ${places[i]:-none} =~ ^[0-9]+$ ]] || fail "$*: rank $i's thread is not pinned to one unit but to ${places[i]:-none}"
            has "$tmp/err" "hierax[$i] info: progress thread: pinned to processing unit ${places[i]:-none}" "$*"
        done
        [ "${places[0]:-}" != "${places[1]:-}" ] || fail "$*: both on unit ${places[0]:-none}"
    elif [ "${places[*]}" != "$expected" ]; then
        fail "$*: the threads may run on ${places[*]}, not $expected"
    fi
}

places "$a $a" "progress thread: not pinned: this process has one core" taskset -c "$a" "$run" -n 2
if [ -n "$b" ]; then
    places differ "progress thread: pinned" taskset -c "$a,$b" "$run" -n 2 --bind none
    places "$b $a" "progress thread: pinned to processing unit $b" env "HX_PROGRESS_CORE=$b,$a" taskset -c "$a,$b" "$run" -n 2 --bind core
    places "$b $b" "progress thread: pinned to processing unit $b" env "HX_PROGRESS_CORE=$b" "$run" -n 2 --bind none
    places "$all $all" "progress thread: not pinned: HX_PROGRESS_CORE=none" env HX_PROGRESS_CORE=none "$run" -n 2 --bind none
elif [ $failures = 0 ]; then
    skip "only one core"
fi
finish
