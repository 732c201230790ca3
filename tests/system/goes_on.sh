#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A call fails on one communicator while messages of all lengths are under way, and its buffers are unmapped at once. No rank gets wrong numbers,
# no rank is reported as dead, and all other communicators go on. Over TCP, with send buffers as small as those of a new connection.
. "$(dirname "$0")/common.sh"

# goes_on PROVIDER N NODES HOW: in the background; checked by gone_on
goes_on() {
    local out="$tmp/$1.$3.$4" in_network=()
    if [ "$1" = net ]; then
        in_network=("${apart[@]}" sh -c 'ip link set lo up mtu 1500; cd /proc/sys/net/ipv4; echo 4096 16384 131072 | tee tcp_wmem >tcp_rmem
            cd "$OLDPWD"; exec "$@"' -)
    fi
    (
        HX_PROVIDER=$1 HX_TIMEOUT=60 HX_LOG=error FI_PROVIDER_PATH=$top_builddir/tests/efa_provider/.libs \
            timeout 100 "${in_network[@]}" "$run" -n "$2" --nodes "$3" -- "$here/actor" goes_on "$out.failed" "$4" 8388608 8 8192 65536 >"$out" 2>&1
        echo "exit $?" >>"$out"
    ) &
}

gone_on() {
    local out n=$1
    for out in "$tmp"/*; do
        [[ $out == *.failed ]] && continue
        [ "$(grep -c '^rank [0-9]* goes on$' "$out")" = "$n" ] && grep -q '^exit 0$' "$out" && grep -q '^rank 0 8388608 bytes status [1-9]' "$out" &&
            ! grep -Eq 'died|endpoint' "$out" || { fail "${out#"$tmp"/}:"; cut -c1-300 "$out" >&2; }
        if [[ $out == *.unlike ]]; then
            [ "$(grep -c '^rank [0-9]* [0-9]* bytes status [1-9]' "$out")" = $((4 * n)) ] || { fail "${out#"$tmp"/}: a call succeeded:"; cat "$out" >&2; }
        fi
    done
    rm -f "$tmp"/*
}

apart=(unshare -n)
[ "$(id -u)" = 0 ] || apart=(unshare -rn)
"${apart[@]}" true 2>/dev/null || skip "no network of its own (${apart[*]})"
for shape in 2:2 4:2 6:3,1,2; do
    for how in tests begins blocks waits unlike; do
        goes_on net "${shape%:*}" "${shape#*:}" $how
    done
    wait
    gone_on "${shape%:*}"
done
for how in tests begins unlike; do
    goes_on 'tcp;ofi_rxm' 6 3,1,2 $how
    goes_on efa 6 3,1,2 $how
done
wait
gone_on 6
finish
