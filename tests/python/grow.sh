#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hierax.join, Comm.grow, Comm.wait_size: processes wait in coll_store, ranks let them in, worlds are closed one by one or all together.
. "$(dirname "$0")/common.sh"
export HX_SECRET=grow HX_TIMEOUT=60 FI_LOG_LEVEL=none
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$tmp"' EXIT
"$top_builddir/tools/coll_store" --listen 127.0.0.1:0 train test >"$tmp/address" 2>"$tmp/store" &
store=$!
await_file "$tmp/address" 1
at=$(grep -o '127.0.0.1:[0-9]*' "$tmp/address" | head -n 1)
[ -n "$at" ] || fail "coll_store has no address: $(cat "$tmp/address" "$tmp/store")"

# grows NODES WHAT NEWCOMER N [X=Y]: a job and N newcomers end well
grows() {
    local nodes=$1 what=$2 newcomer=$3 n=$4 pids=() i
    for ((i = 0; i < n; i++)); do
        timeout 100 env "${@:5}" "$python" "$scripts/grow.py" "$newcomer" "$at/train" >"$tmp/new.$i" 2>&1 &
        pids+=($!)
    done
    HX_STORE=$at/train job 2 "$nodes" env "${@:5}" "$python" "$scripts/grow.py" "$what" ||
        { fail "$what on $nodes ${*:5}: exit $?"; tail -n 20 "$tmp/err" >&2; kill "${pids[@]}"; }
    for i in "${!pids[@]}"; do
        wait "${pids[i]}" || { fail "$what on $nodes ${*:5}: newcomer $i: exit $?"; tail -n 5 "$tmp/new.$i" >&2; }
    done
}

grows 1 members newcomer 3
grows 2 members newcomer 3 KEEP=1 HX_PROGRESS_THREAD=1
grows 1 rounds joins 1
grows 1 drops trains 1
grows 2 drops trains 1
HX_STORE=$at/test job 2 1 "$python" "$scripts/grow.py" none || { fail "none: exit $?"; tail -n 5 "$tmp/err" >&2; }
job 2 1 "$python" "$scripts/grow.py" no_store || { fail "no_store: exit $?"; tail -n 5 "$tmp/err" >&2; }
HX_STORE=127.0.0.1:1/train job 2 1 "$python" "$scripts/grow.py" away || { fail "away: exit $?"; tail -n 5 "$tmp/err" >&2; }
kill -STOP $store # it listens, and answers nothing
HX_STORE=$at/test job 2 1 "$python" "$scripts/grow.py" away || { fail "away, the store is stopped: exit $?"; tail -n 5 "$tmp/err" >&2; }
kill -CONT $store
# Ctrl-C ends a process that waits
got=0
timeout -s INT -k 40 3 "$python" -c 'import hierax, sys; hierax.join(sys.argv[1])' "$at/test" 2>"$tmp/err" || got=$?
[ $got = 124 ] || { fail "join and SIGINT: exit $got"; cat "$tmp/err" >&2; }
kill $store
finish
