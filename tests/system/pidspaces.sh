#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Ranks of one node in pid namespaces of their own, as in one container for each rank, with and without /proc: the death of one rank, of
# the node's first one, and of two at once is seen by all others.
. "$(dirname "$0")/common.sh"

unshare --pid --fork true 2>"$tmp/why" || skip "no pid namespaces here: $(cat "$tmp/why")"
port=$((20000 + $$ % 10000))
cases=()
slower=1
[ -z "${TEST_SANITIZER:-}" ] || slower=5

# dies N RANKS PROC: RANKS (a list with commas) are killed while the others wait for them. PROC: proc, each has a /proc of its own; none
dies() {
    local n=$1 out=$tmp/dies.${#cases[@]} r
    local -a space=(unshare --pid --fork --mount-proc --kill-child)
    [ "$3" = proc ] || space=(unshare --pid --fork --mount --kill-child sh -c 'mount -t tmpfs none /proc && exec "$@"' sh)
    cases+=("$*")
    while grep -qi ":$(printf %04x $port) " /proc/net/tcp /proc/net/tcp6; do port=$((port + 1)); done
    for ((r = 0; r < n; r++)); do
        HX_ROOT=localhost:$port HX_RANK=$r HX_SIZE="$n" HX_SECRET=s HX_TIMEOUT=60 timeout -s KILL 90 "${space[@]}" \
            "$here/actor" vanish "$2" >>"$out" 2>>"$out.err" &
    done
    port=$((port + 1))
}

# died FILE N RANKS PROC: how it has ended
died() {
    local out=$1 n=$2 dead what="$2 ranks, $3 killed, $4" left ms
    dead=$(tr , '|' <<<"$3")
    left=$((n - $(tr , '\n' <<<"$3" | wc -l)))
    [ "$(grep -cE "^rank [0-9]+ status 8 after .*rank ($dead) has died" "$out")" = $left ] ||
        { fail "$what: not all others got HX_ERR_PEER_DEAD that names it"; cat "$out" "$out.err" >&2; }
    while read -r ms; do
        [ "$ms" -le $((2000 * slower)) ] || fail "$what: a rank got it only after $ms ms"
    done < <(sed -n 's/.* after \([0-9]*\) ms.*/\1/p' "$out")
}

for proc in proc none; do
    dies 4 2 $proc
    dies 3 0 $proc
    dies 4 0,1 $proc
done
wait
for i in "${!cases[@]}"; do
    read -ra case <<<"${cases[i]}"
    died "$tmp/dies.$i" "${case[@]}"
done
finish
