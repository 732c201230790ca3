#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A rank calls hx_finalize while others wait for it in another call. They soon get an error that names it and says that it has finished, whether it
# is still in hx_finalize or has left. It is not reported as dead, not even when its process ends.
. "$(dirname "$0")/common.sh"

cases=()
slower=1
[ -z "${TEST_SANITIZER:-}" ] || slower=5

# finishes N NODES RANK LATE MS: the others must know within MS milliseconds
finishes() {
    local out=$tmp/out.${#cases[@]} options=()
    cases+=("$*")
    [ "$2" = 1 ] || options=(--nodes "$2")
    HX_TIMEOUT=$(($4 ? 3 : 30)) timeout 60 "$run" -n "$1" "${options[@]}" -- "$here/actor" finishes "$3" "$4" >"$out" 2>"$out.err" &
}

# finished FILE N NODES RANK LATE MS: how it has ended
finished() {
    local out=$1 n=$2 what="finishes ${*:2}" ms
    [ "$(grep -c "^rank [0-9]* status 8 .*rank $4 has finished (hx_finalize)" "$out")" = $((n - 1)) ] ||
        { fail "$what: not all others are told"; cat "$out" "$out.err" >&2; }
    ! grep -q died "$out" "$out.err" || { fail "$what: a death is told"; cat "$out" "$out.err" >&2; }
    [ "$(grep -c '^rank [0-9]* finalize status' "$out")" = "$n" ] || { fail "$what: hx_finalize did not return everywhere"; cat "$out" >&2; }
    [ "$5" != 0 ] || [ "$(grep -c '^rank [0-9]* finalize status 0' "$out")" = "$n" ] ||
        { fail "$what: hx_finalize fails, though all have called it"; cat "$out" >&2; }
    while read -r ms; do
        [ "$ms" -le $(($6 * slower)) ] || fail "$what: a rank knew it only after $ms ms"
    done < <(sed -n 's/.* after \([0-9]*\) ms.*/\1/p' "$out")
}

for r in 0 3; do
    finishes 4 1 $r 0 1500
    finishes 4 2 $r 0 4000 # on the other node who waits for it asks, after a second
done
finishes 4 1 2 4 1500
finishes 4 2 2 4 2900
finishes 2 2 1 0 4000
wait
for i in "${!cases[@]}"; do
    read -ra case <<<"${cases[i]}"
    finished "$tmp/out.$i" "${case[@]}"
done
finish
