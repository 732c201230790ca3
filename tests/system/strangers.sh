#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Processes that are not of the job connect to the store's port and to the node's socket, in crowds and all the time. The job starts, runs and
# ends as if they were not there. Only its ranks see its secret.
. "$(dirname "$0")/common.sh"
python3 -c '' 2>/dev/null || skip "no python3"
if [ -z "${STRANGERS_APART:-}" ]; then # they would call at the nodes' sockets of other jobs on this machine, too
    apart=(unshare --net)
    [ "$(id -u)" = 0 ] || apart=(unshare --user --map-root-user --net)
    "${apart[@]}" true 2>"$tmp/why" || skip "no network namespaces here: $(cat "$tmp/why")"
    rm -rf "$tmp"
    TMPDIR=${tmp%/*} STRANGERS_APART=$(id -u) exec "${apart[@]}" bash -c 'ip link set lo up && exec bash "$0"' "$0"
fi
strangers=$(cat "$(dirname "$0")/strangers.py") # for users who may not read it here, too
many=2000
[ "$(ulimit -Hn)" = unlimited ] || [ "$(ulimit -Hn)" -ge 3000 ] || many=$(($(ulimit -Hn) - 200))
port=$((23000 + $$ % 6000))
secret=$(head -c 24 /dev/urandom | base64)
ranks=() crowds=() doors=()

# crowd NAME COMMAND...: strangers, by COMMAND, until the script ends
crowd() {
    local name=$1 door
    shift
    mkfifo "$tmp/$name.door"
    "$@" <"$tmp/$name.door" >"$tmp/$name.crowd" 2>"$tmp/$name.fell" &
    crowds+=($!)
    exec {door}>"$tmp/$name.door"
    doors+=("$door")
}

# rank NAME PORT RANK SETTING...: one of three ranks, whose store rank 0 serves; it may open few files
rank() {
    (ulimit -n 256 && exec env HX_ROOT=127.0.0.1:"$2" HX_RANK="$3" HX_SIZE=3 HX_SECRET="$secret" HX_TIMEOUT=60 "${@:4}" \
        timeout -s KILL 80 "$here/actor" timed 2000) >>"$tmp/$1.out" 2>>"$tmp/$1.err" &
    ranks+=($!)
}

# went_well NAME START_MS END_MS: three ranks have started, computed and ended, each in time
went_well() {
    local line init ends
    [ "$(grep -c '^rank [0-9]* started' "$tmp/$1.out")" = 3 ] ||
        { fail "$1: not all ranks end well"; cat "$tmp/$1.out" "$tmp/$1.err" >&2; return; }
    while read -r line; do
        init=$(sed 's/.*started in \([0-9]*\) ms.*/\1/' <<<"$line") ends=$(sed 's/.*ended in \([0-9]*\) ms.*/\1/' <<<"$line")
        [ "$init" -le "$2" ] && [ "$ends" -le "$3" ] || fail "$1: $line (allowed: $2 and $3 ms)"
    done < <(grep '^rank [0-9]* started' "$tmp/$1.out")
}

# The store of rank 0, which is there first; the crowd comes before the others.
rank by_hand $port 0
for ((i = 0; i < 1000; i++)); do
    grep -qi ":$(printf %04x $port) .* 0A " /proc/net/tcp && break
    sleep 0.02
done
crowd by_hand python3 -c "$strangers" store $port "$many"
await_file "$tmp/by_hand.crowd" 1
rank by_hand $port 1
rank by_hand $port 2

# The launcher's store: no rank begins before the crowd is there.
# shellcheck disable=SC2016
timeout 80 "$run" -n 3 --env HX_TIMEOUT=60 -- bash -c 'echo "$HX_ROOT" >>"$1/root"; echo "$HX_SECRET" >>"$1/secret"
    until [ -e "$1/go" ]; do sleep 0.05; done; exec "$0" timed 2000' "$here/actor" "$tmp" >"$tmp/launched.out" 2>"$tmp/launched.err" &
ranks+=($!)
await_file "$tmp/root" 3
crowd launched python3 -c "$strangers" store "$(sed -n '1s/.*://p' "$tmp/root")" "$many"
await_file "$tmp/launched.crowd" 1
touch "$tmp/go"

# The node's socket, of this user's processes and of another's: its host listens and does nothing else for a second.
if [ -z "${TEST_SANITIZER:-}" ] && ${CC:-cc} -shared -fPIC -D_GNU_SOURCE -o "$tmp/refuse.so" "$(dirname "$0")/refuse.c"; then
    crowd node python3 -c "$strangers" node 300
    other=(setpriv --reuid=65534 --clear-groups /usr/bin/python3 -c)
    if [ "$STRANGERS_APART" = 0 ] && "${other[@]}" '' 2>/dev/null; then crowd others "${other[@]}" "$strangers" node 300; fi
    for r in 0 1 2; do
        rank node $((port + 1)) $r PAUSE=1 LD_PRELOAD="$tmp/refuse.so"
    done
fi
wait "${ranks[@]}"
went_well by_hand 15000 2500
went_well launched 15000 2500
if [ -e "$tmp/refuse.so" ]; then
    went_well node 15000 2500
    [ "$(grep -c 'hierax-' "$tmp/node.crowd")" -ge 1 ] || fail "no stranger has found the node's socket"
fi

# Without a secret ranks of other machines are refused at once, and told what to do; with one they are let in.
ring=$top_builddir/tests/runtime/bootstrap/boot_ring
unshare --net sleep 60 & # another machine
elsewhere=$!
for ((i = 0; i < 500; i++)); do [ "$(readlink /proc/$elsewhere/ns/net)" = "$(readlink /proc/self/ns/net)" ] || break; sleep 0.02; done
ip link add strangers0 type veth peer name strangers1 netns $elsewhere
ip address add 10.77.1.1/24 dev strangers0 && ip link set strangers0 up
nsenter --net=/proc/$elsewhere/ns/net sh -c 'ip address add 10.77.1.2/24 dev strangers1 && ip link set strangers1 up'
for given in '' "$secret"; do
    export HX_ROOT=10.77.1.1:$((++port + 1)) HX_SIZE=2 HX_TIMEOUT=10 HX_SECRET=$given
    HX_RANK=0 "$ring" >"$tmp/here" 2>&1 &
    here_pid=$!
    HX_RANK=1 nsenter --net=/proc/$elsewhere/ns/net "$ring" >"$tmp/there" 2>&1
    status=$?
    if [ -n "$given" ]; then
        wait $here_pid && [ $status = 0 ] || { fail "with a secret, over two machines: exit $status"; cat "$tmp/here" "$tmp/there" >&2; }
    else
        [ $status = 3 ] || fail "without a secret, from another machine: exit $status"
        has "$tmp/there" "set HX_SECRET to the same text for all ranks" "without a secret, from another machine"
        HX_RANK=1 "$ring" >"$tmp/there" 2>&1 || { fail "without a secret, on one machine"; cat "$tmp/there" >&2; }
        wait $here_pid || fail "without a secret, on one machine: rank 0"
        has "$tmp/here" "HX_SECRET is not set: any process of this machine can join the job" "without a secret"
    fi
done
unset HX_ROOT HX_SIZE HX_TIMEOUT HX_SECRET
kill $elsewhere

# A rank's environment, and what it starts, tell nothing of the secret.
for name in by_hand launched; do
    [ "$(grep -c '^rank [0-9]* hides' "$tmp/$name.out")" = 3 ] || { fail "$name: ranks show their secret"; cat "$tmp/$name.out" >&2; }
done
for door in "${doors[@]}"; do exec {door}>&-; done
wait "${crowds[@]}"
for name in by_hand launched node others; do
    [ ! -s "$tmp/$name.fell" ] || { fail "$name: strangers fell over"; cat "$tmp/$name.fell" >&2; }
done
finish
