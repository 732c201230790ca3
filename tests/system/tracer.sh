#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Which processes the ranks of a node allow to read their memory, which matters under Yama. They allow their nearest common ancestor, and so its
# descendants, but no others. Only if no common ancestor can be seen, they allow any process of the user. The test looks at the system call,
# because not every kernel has Yama.
. "$(dirname "$0")/common.sh"
[ -z "${TEST_SANITIZER:-}" ] || skip "a sanitizer wants to be loaded first"
${CC:-cc} -shared -fPIC -D_GNU_SOURCE -o "$tmp/refuse.so" "$(dirname "$0")/refuse.c" || { fail "refuse.c does not compile"; finish; }
export TRACER=1
port=$((21000 + $$ % 9000))

# lets WHAT RANK PID: the rank lets that process read, and in the end nobody
lets() {
    [ "$(grep "^rank $2 lets" "$tmp/$1" | tr '\n' ' ')" = "rank $2 lets $3 read rank $2 lets 0 read " ] ||
        { fail "$1: rank $2 does not let $3 read, and then nobody:"; cat "$tmp/$1" >&2; }
}

# the launcher, by whatever it starts the ranks
"$run" -n 3 -- bash -c 'LD_PRELOAD=$0 "$@"; exit $?' "$tmp/refuse.so" "$here/actor" init >/dev/null 2>"$tmp/launched" &
launcher=$!
wait $launcher || fail "launched: exit $?"
for r in 0 1 2; do lets launched $r $launcher; done

# by hand: rank 0 from one shell, 1 and 2 from another that it has started
export HX_ROOT=127.0.0.1:$port HX_SIZE=3 HX_SECRET=s HX_TIMEOUT=60
# shellcheck disable=SC2016
bash -c 'rank="env LD_PRELOAD=$0 HX_RANK"
    $rank=0 "$@" &
    bash -c "$rank=1 $* & $rank=2 $* & wait" &
    wait' "$tmp/refuse.so" "$here/actor" init >/dev/null 2>"$tmp/shells" &
shell=$!
wait $shell
for r in 0 1 2; do lets shells $r $shell; done

# a rank that has started the others
export HX_ROOT=127.0.0.1:$((port + 1)) HX_SIZE=2
# shellcheck disable=SC2016
bash -c 'LD_PRELOAD=$0 HX_RANK=1 "$@" & LD_PRELOAD=$0 HX_RANK=0 exec "$@"' "$tmp/refuse.so" "$here/actor" init >/dev/null 2>"$tmp/parent" &
parent=$!
wait $parent
for r in 0 1; do lets parent $r $parent; done

# one of them in a pid namespace of its own; without /proc
if unshare --pid --fork true 2>/dev/null; then
    for way in pids proc; do
        export HX_ROOT=127.0.0.1:$((++port + 1))
        space=(unshare --pid --fork --mount-proc --kill-child)
        [ $way = pids ] || space=(unshare --mount sh -c 'mount -t tmpfs none /proc && exec "$@"' sh)
        HX_RANK=0 LD_PRELOAD="$tmp/refuse.so" "$here/actor" init >/dev/null 2>>"$tmp/$way" &
        HX_RANK=1 "${space[@]}" env LD_PRELOAD="$tmp/refuse.so" "$here/actor" init >/dev/null 2>>"$tmp/$way" &
        wait
        lets $way 1 -1
        [ $way = proc ] || lets $way 0 -1
    done
fi
finish
