#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Performance guidelines on 1 x 2, 1 x 4 and 2 x 2 ranks: no collective takes more than 1.2 times as long as others that
# do its work, and 0.03 us longer: below that, calls differ by how their few instructions overlap with the wait for a
# cache line. What appears to is measured anew, in fresh jobs a while later, and must appear in every one of five: the
# machine may be busy with other things, and of like jobs some pass large vectors through the caches half as fast as
# others, whatever the algorithm. instructions.sh counts what small calls do themselves.
. "$(dirname "$0")/common.sh"
if [ -n "${TEST_SANITIZER:-}" ]; then
    skip "times mean nothing with sanitizers"
fi

# above FILE: the numbers of the guidelines that it says are violated
above() { awk '$2 > 1.2 && $(NF - 3) - $(NF - 1) > 0.03 {print $1}' "$1"; }

for shape in "2 1" "4 1" "4 2"; do
    read -r n nodes <<<"$shape"
    numbers=
    for launch in 1 2 3 4 5; do
        # shellcheck disable=SC2086
        timeout 60 "$run" -n "$n" --nodes "$nodes" -- "$here/guidelines" $numbers >"$tmp/out" 2>"$tmp/err" ||
            { fail "$n ranks on $nodes nodes: exit $?"; cat "$tmp/err" >&2; numbers=; break; }
        [ $launch != 1 ] || [ "$(wc -l <"$tmp/out")" -ge 80 ] || fail "$n ranks on $nodes nodes: only $(wc -l <"$tmp/out") guidelines"
        numbers=$(above "$tmp/out" | tr '\n' ' ')
        echo "$n ranks on $nodes nodes, launch $launch: $(echo "$numbers" | wc -w) above 1.2"
        awk '$2 > 1.05' "$tmp/out"
        [ -n "${numbers// /}" ] || break
        sleep $launch
    done
    for number in $numbers; do
        fail "$n ranks on $nodes nodes: $(grep "^$number " "$tmp/out")"
    done
done
finish
