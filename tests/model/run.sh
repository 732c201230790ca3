#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Check doorbell.pml exhaustively: the protocol must hold, and must break without any one of its parts - otherwise the
# model proves nothing. One line each. Exit 0: as it should be; 1: not; 77: spin is not installed.
set -u

here=$(cd "$(dirname "$0")" && pwd)
if ! command -v spin >/dev/null 2>&1; then
    echo "SKIP: spin is not installed (Debian package: spin)"
    exit 77
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cd "$work" || exit 1
failed=0

# check NAME holds|breaks [-DVARIANT]
check()
{
    # a copy, because pan leaves the trail of a failure beside its model, and sources may be read-only
    mkdir "$1" && cd "$1" && cp "$here/doorbell.pml" . || exit 1
    # -O2 and the largest depth keep each search at seconds; MEMLIM (MB) ends one that a change has made explode
    if ! { spin ${3+"$3"} -a doorbell.pml && ${CC:-cc} -O2 -w -DSAFETY -DMEMLIM=1500 -o pan pan.c; } >build 2>&1; then
        echo "FAIL $1: the model does not build:"
        cat build
        failed=1
    else
        ./pan -m100000 -w22 >result 2>&1
        judge "$1" "$2"
    fi
    cd "$work" || exit 1
}

judge()
{
    states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' result)
    verdict=unclear
    if grep -q 'pan:1: invalid end state' result; then
        verdict=breaks
    elif grep -q 'errors: 0$' result && grep -q 'unreached in proctype rank' result &&
         ! grep -q 'not completed\|out of memory\|max search depth too small' result; then
        verdict=holds
        # a protocol whose parts are never reached would hold as well
        grep -A1 'unreached in proctype rank' result | grep -q '(0 of' || verdict=unreached
    fi
    case $verdict in
    "$2") echo "ok   $1: $verdict ($states states)" ;;
    *)    echo "FAIL $1: $verdict, expected: $2"
          cat result
          failed=1 ;;
    esac
}

check base holds
check no_producer_fence breaks -DNO_PRODUCER_FENCE
check no_sleeper_fence breaks -DNO_SLEEPER_FENCE
check no_second_look breaks -DNO_SECOND_LOOK
check late_doorbell breaks -DLATE_DOORBELL
exit $failed
