#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A communicator that is made from another one inherits its choices, also on newcomers of a world that grows. See inherited.c. The settings of
# the job are the opposite of the choices.
. "$(dirname "$0")/common.sh"
store=$top_builddir/tools/coll_store
export HX_SECRET=inherited HX_TIMEOUT=60 FI_LOG_LEVEL=none HX_INTER_ALLREDUCE=mesh HX_LANES=2
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$tmp"' EXIT
"$store" --listen "127.0.0.1:$((20000 + $$ % 10000))" train >"$tmp/address" 2>"$tmp/store" &
await_file "$tmp/address" 1
on=(HX_ATOMIC=0 HX_WIRE=off)
off=(HX_ATOMIC=1 HX_WIRE=int8)

# grows FROM TO NODES VALUE [X=Y...]: by one newcomer
grows() {
    local newcomer options=()
    [ "$3" = 1 ] || options=(--nodes "$3")
    export HX_STORE
    HX_STORE=$(sed -n 's|.*\(127.0.0.1:[0-9]*\).*|\1|p' "$tmp/address" | head -1)/train
    timeout 100 env HX_NODES="${3/#1/}" "$here/inherited" "$4" join >"$tmp/out.new" 2>"$tmp/err.new" &
    newcomer=$!
    timeout 100 env "${@:5}" "$run" -n "$1" "${options[@]}" -- "$here/inherited" "$4" "$2" >"$tmp/out" 2>"$tmp/err" ||
        { fail "$1 to $2 ranks, $3 nodes, $4: exit $?"; grep inherited: "$tmp/err" >&2; }
    wait $newcomer || { fail "the newcomer of $1 to $2 ranks, $3 nodes, $4: exit $?"; grep inherited: "$tmp/err.new" >&2; }
}

passes inherited 4 2 on "${on[@]}"
passes inherited 4 2 off "${off[@]}"
grows 2 3 2 on "${on[@]}"
grows 2 3 2 off "${off[@]}"
grows 1 2 1 on "${on[@]}"
finish
