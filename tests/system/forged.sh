#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A process of another user sends forged messages and garbage to the ranks' ports. The job's results stay right, no rank is reported as dead or
# failed, and forged messages are counted.
. "$(dirname "$0")/common.sh"
export HX_ENDPOINTS=0 # the forger attacks the port of every rank

# attack NAME PROVIDER RANKS NODES [garbage]
attack() {
    local name=$1 provider=$2 n=$3 dir=$tmp/$1 pid code=0
    mkdir "$dir"
    HX_PROVIDER=$provider HX_STATS=1 HX_TIMEOUT=30 FI_LOG_LEVEL=none timeout 100 "$run" -n "$n" --nodes "$4" -- "$here/actor" until "$dir/end" \
        >"$dir/out" 2>"$dir/err" &
    local job=$!
    if await_file "$dir/out" "$n"; then
        while read -r pid; do
            FI_LOG_LEVEL=none timeout 60 "$here/forger" "$provider" "$pid" "$n" ${5+"$5"} >>"$dir/forger" 2>&1 || { fail "$name: the forger: $?"; cat "$dir/forger" >&2; }
        done < <(sed -n 's/^rank [0-9]* pid //p' "$dir/out")
    fi
    sleep 1 # what they have heard shows when they wait for a rank that is late
    echo >"$dir/end"
    wait "$job" || code=$?
    [ $code = 0 ] || fail "$name: the job ends with $code"
    [ "$(grep -c '^rank [0-9]* is well' "$dir/out")" = "$n" ] || fail "$name: not all ranks are well"
    if grep -qE 'has died|has failed|different calls: call' "$dir/err"; then fail "$name: something is reported"; fi
    if [ -z "${5:-}" ]; then
        [ "$(awk '/words have gone/ { n += $1 } END { print n + 0 }' "$dir/forger")" -ge $((8 * n)) ] || fail "$name: hardly a word has gone"
        [ "$(awk '/net_forged/ { for (i = 1; i < NF; i++) if ($i == "net_forged") n += $(i + 1) } END { print n + 0 }' "$dir/err")" -ge $((4 * n)) ] || fail "$name: hardly a word was counted"
        [ "$(grep -c 'without a valid proof' "$dir/err")" -le "$n" ] || fail "$name: told more than once by a rank"
    fi
    [ "$failures" = 0 ] || tail -n 20 "$dir/err" "$dir/forger" >&2
    return $((failures > 0))
}

attack net2 net 2 2 &
attack net4 net 4 2 &
attack rxm2 'tcp;ofi_rxm' 2 2 &
attack rxm4 'tcp;ofi_rxm' 4 2 &
attack garbage net 4 2 garbage &
for job in $(jobs -p); do
    wait "$job" || failures=$((failures + 1))
done
finish
