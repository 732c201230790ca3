#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Check the models exhaustively: each protocol must hold, and must break without any one of its parts - otherwise the
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

# check MODEL NAME holds|breaks [-DVARIANT...]
check()
{
    model=$1 name=$2 verdict_wanted=$3
    shift 3
    # a copy, because pan leaves the trail of a failure beside its model, and sources may be read-only
    mkdir "$model.$name" && cd "$model.$name" && cp "$here/$model.pml" . || exit 1
    # the compiler would take longer with -O2 than each search takes with -O0; MEMLIM (MB) ends one that a change has made explode
    if ! { spin "$@" -a "$model.pml" && ${CC:-cc} -O0 -w -DSAFETY -DMEMLIM=1500 -o pan pan.c; } >build 2>&1; then
        echo "FAIL $model $name: the model does not build:"
        cat build
        failed=1
    else
        ./pan -m100000 -w22 >result 2>&1
        judge "$name" "$verdict_wanted"
    fi
    cd "$work" || exit 1
}

judge()
{
    states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' result)
    verdict=unclear
    if grep -q 'pan:1: invalid end state\|pan:1: assertion violated' result; then
        verdict=breaks
    elif grep -q 'errors: 0$' result && grep -q 'unreached in proctype rank' result &&
         ! grep -q 'not completed\|out of memory\|max search depth too small' result; then
        verdict=holds
        # a protocol whose parts are never reached would hold as well
        grep -A1 'unreached in proctype rank' result | grep -q '(0 of' || verdict=unreached
    fi
    case $verdict in
    "$2") echo "ok   $model $1: $verdict ($states states)" ;;
    *)    echo "FAIL $model $1: $verdict, expected: $2"
          cat result
          failed=1 ;;
    esac
}

check doorbell base holds
check doorbell no_producer_fence breaks -DNO_PRODUCER_FENCE
check doorbell no_sleeper_fence breaks -DNO_SLEEPER_FENCE
check doorbell no_second_look breaks -DNO_SECOND_LOOK
check doorbell late_doorbell breaks -DLATE_DOORBELL
check election base holds
check election no_fence breaks -DNO_FENCE
check election no_look breaks -DNO_LOOK
check election no_swap breaks -DNO_SWAP
check election no_compare breaks -DNO_COMPARE
check election late_stamp breaks -DLATE_STAMP
check agree base holds
# the list of parts is in the model's head
parts=$(sed -n 's/^ \*   \(NO_[A-Z_]*\)  .*/\1/p' "$here/agree.pml")
[ "$(echo "$parts" | wc -l)" = 11 ] || { echo "FAIL agree: 11 parts expected: $parts"; failed=1; }
for part in $parts; do
    check agree "$(echo "$part" | tr '[:upper:]' '[:lower:]')" breaks "-D$part"
done
# the network parts: 3:1 and 2:2
check agree parted_3_1 holds -DCUT=8 -DDEATHS=0
check agree parted_2_2 holds -DCUT=12 -DDEATHS=0
check agree parted_no_quorum breaks -DCUT=8 -DDEATHS=0 -DCUT_NO_QUORUM
check agree parted_no_tie breaks -DCUT=12 -DDEATHS=0 -DCUT_NO_TIE
exit $failed
