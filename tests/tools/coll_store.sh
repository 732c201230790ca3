#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# coll_store: bad arguments, its address, its list, signals, and processes that do not speak its protocol. tests/system/grow.sh has its use.
set -u
: "${top_builddir:?run me by make check}"
store=$top_builddir/tools/coll_store
work=$(mktemp -d) || exit 1
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT
unset "${!HX_@}" COLUMNS
failed=0

fail() { echo "FAILED: $*"; failed=1; }

# refuses STATUS TEXT ARGUMENT...
refuses() {
    timeout 20 "$store" "${@:3}" >"$work/out" 2>&1
    local got=$?
    [ $got = "$1" ] || fail "coll_store ${*:3}: status $got, not $1"
    grep -qF -- "$2" "$work/out" || fail "coll_store ${*:3}: no \"$2\" in: $(cat "$work/out")"
}

# start ARGUMENT...: until it has printed its address. files: how many it may open
start() {
    : >"$work/address"
    (ulimit -n "${files:-$(ulimit -n)}" && exec "$store" "$@") >"$work/address" 2>"$work/err" &
    pid=$!
    for ((i = 0; i < 1000; i++)); do
        [ -s "$work/address" ] && break
        sleep 0.02
    done
    at=$(cat "$work/address")
}

refuses 2 "a name is missing"
refuses 2 'name "a/b" is not valid' a/b
refuses 2 'name "" is not valid' ""
refuses 2 'name "train" is given twice' train train
refuses 2 'unknown option "lisen" (did you mean listen?)' --lisen :1 train
refuses 1 '--listen 7000: expected HOST:PORT' --listen 7000 train
refuses 1 '--listen :70000: expected HOST:PORT' --listen :70000 train
refuses 1 'cannot be resolved' --listen no.such.host.invalid:7000 train
refuses 1 'cannot listen at 192.0.2.1:7000' --listen 192.0.2.1:7000 train

start train test
[[ $at =~ ^127\.0\.0\.1:[0-9]+$ ]] || fail "the address is \"$at\""
grep -q 'HX_SECRET is not set' "$work/err" || fail "no warning without a secret"
refuses 1 "cannot listen at $at: Address already in use" --listen "$at" train
kill -USR1 $pid
for ((i = 0; i < 500; i++)); do
    grep -q '^test: generation 0, 0 members, 0 waiting$' "$work/err" && break
    sleep 0.02
done
grep -q '^train: generation 0, 0 members, 0 waiting$' "$work/err" || fail "no list: $(cat "$work/err")"
# strangers: garbage, a frame that is too long, and silence; then it still serves
for bytes in 'GET / HTTP/1.0\r\n\r\n' 'HX\0\2\0\0\0\1\0\0\0\0\377\377\377\377\377\377\377\377'; do
    (exec 3<>"/dev/tcp/${at%:*}/${at#*:}" && printf "$bytes" >&3 && timeout 10 cat <&3 >/dev/null) || fail "it keeps a connection with garbage"
done
exec 4<>"/dev/tcp/${at%:*}/${at#*:}"
kill -0 $pid || fail "strangers end it"
kill -USR1 $pid
kill -TERM $pid
wait $pid || fail "SIGTERM: status $?"
exec 4>&-
start --listen "$at" train # at once, at the same address
[ -s "$work/address" ] || fail "it cannot start again at its address: $(cat "$work/err")"
kill -INT $pid
wait $pid || fail "SIGINT: status $?"

# no descriptor is free: it says so once, and goes on when one is. The limit of 24 is the hard one, which it cannot raise.
files=24
start train
files=
for ((i = 0; i < 30; i++)); do
    "$top_builddir/tests/system/grown" join "$at/train" >>"$work/joins" 2>&1 & # timeout, killed as it starts, would leave it behind
    joins[i]=$!
done
for ((i = 0; i < 500; i++)); do
    grep -q 'cannot accept another one now: Too many open files; raise the limit' "$work/err" && break
    sleep 0.02
done
[ "$(grep -c 'cannot accept another one now' "$work/err")" = 1 ] || fail "it is full, and says: $(cat "$work/err")"
kill "${joins[@]}"
wait "${joins[@]}" 2>/dev/null
HX_LOG=info timeout 60 "$top_builddir/tests/system/grown" join "$at/train" >"$work/waits" 2>&1 &
for ((i = 0; i < 500; i++)); do
    kill -USR1 $pid
    sleep 0.02
    tail -n 2 "$work/err" | grep -q '^train: generation 0, 0 members, 1 waiting' && break
done
tail -n 2 "$work/err" | grep -q '^train: generation 0, 0 members, 1 waiting' || fail "it takes no process after it was full: $(tail -n 3 "$work/err")"
grep -q "this process waits in the store at $at until the ranks of train admit it" "$work/waits" || fail "hx_join says only: $(cat "$work/waits")"
kill %% $pid
wait $pid

export HX_SECRET=secret-of-a-test
start --listen :0 train
! grep -qa secret-of-a-test /proc/$pid/environ || fail "its environment shows the secret"
[[ $at =~ ^\[::\]:[0-9]+$|^0\.0\.0\.0:[0-9]+$ ]] || fail "the address is \"$at\""
kill $pid
wait $pid
exit $failed
