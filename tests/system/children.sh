#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A rank is killed and leaves a child behind. However and whenever the child was made, the ranks of other nodes see the death as soon as without
# a child, and the child holds none of the rank's connections. A rank that executes another program counts as dead, too.
. "$(dirname "$0")/common.sh"

port=$((20000 + $$ % 10000))
cases=()
slower=1
[ -z "${TEST_SANITIZER:-}" ] || slower=5

# job FILE N NODES ACTING [SETTING...]: begin it
job() {
    local r
    while grep -qi ":$(printf %04x $port) " /proc/net/tcp /proc/net/tcp6; do port=$((port + 1)); done
    for ((r = 0; r < $2; r++)); do
        # shellcheck disable=SC2086
        env "${@:5}" HX_NODES="$3" HX_ROOT=localhost:$port HX_RANK=$r HX_SIZE="$2" HX_SECRET=s HX_TIMEOUT=60 FI_LOG_LEVEL=none \
            timeout -s KILL 90 "$here/actor" $4 >>"$1" 2>>"$1.err" &
    done
    port=$((port + 1))
}

# vanishes N NODES CHILD WHEN [SETTING...]: begin a job of which the last rank is killed
vanishes() {
    job "$tmp/job.${#cases[@]}" "$1" "$2" "vanish $(($1 - 1)) $3 $4" "${@:5}"
    cases+=("$*")
}

# connections PID: inodes of its sockets over TCP
connections() {
    comm -12 <(readlink "/proc/$1/fd/"* 2>/dev/null | sed -n 's/^socket:\[\([0-9]*\)\]$/\1/p' | sort) \
        <(awk '{ print $10 }' "/proc/$1/net/tcp" "/proc/$1/net/tcp6" 2>/dev/null | sort)
}

# vanished FILE N NODES CHILD WHEN ...: how it has ended
vanished() {
    local out=$1 n=$2 what="vanishes ${*:2}" child ms
    child=$(sed -n 's/^child //p' "$out")
    if [ "$4" = become ]; then
        :
    elif kill -0 "$child" 2>/dev/null; then
        [ "$4" = clone ] || [ -z "$(connections "$child")" ] || fail "$what: the child holds connections $(connections "$child" | xargs)"
        kill -9 "$child"
    else
        fail "$what: the child has not outlived the rank"
    fi
    [ "$(grep -c "^rank [0-9]* status 8 .*rank $((n - 1)) has died" "$out")" = $((n - 1)) ] ||
        { fail "$what: not all others got HX_ERR_PEER_DEAD that names it"; cat "$out" "$out.err" >&2; }
    while read -r ms; do
        [ "$ms" -le $((4000 * slower)) ] || fail "$what: a rank got it only after $ms ms"
    done < <(sed -n 's/.* after \([0-9]*\) ms.*/\1/p' "$out")
}

vanishes 2 2 exec before
for child in fork spawn system; do
    vanishes 2 2 $child after
done
for child in fork exec spawn; do
    vanishes 2 2 $child late
done
vanishes 2 2 fork late "HX_PROVIDER=tcp;ofi_rxm"
vanishes 2 2 spawn late "HX_PROVIDER=tcp;ofi_rxm"
vanishes 4 2 fork late
vanishes 4 2 system late
vanishes 4 2 clone late # closes nothing: its node knows
vanishes 3 1 clone late
vanishes 4 2 become late
job "$tmp/lone" 4 2 lone # the only one who waits asks the other rank of that node
wait
for i in "${!cases[@]}"; do
    read -ra case <<<"${cases[i]}"
    vanished "$tmp/job.$i" "${case[@]}"
done
kill -9 "$(sed -n 's/^child //p' "$tmp/lone")" || fail "lone: the child has not outlived the rank"
grep -q '^rank 0 status 8 after [3-9]... ms: .*rank 1 has died' "$tmp/lone" || # the last of the job is the second of their communicator
    { fail "lone: the death is not told"; cat "$tmp/lone" "$tmp/lone.err" >&2; }
finish
