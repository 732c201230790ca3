#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Ranks started with different settings, memory limits or visible topology: all choose the plans that rank 0 chooses, and results are
# right; or a rank fails by name.
. "$(dirname "$0")/common.sh"

# agree N NODES SCRIPT: SCRIPT, run by sh before each rank's program, makes this rank differ ($HX_RANK tells which it is)
agree() {
    local n=$1 nodes=$2 script=$3 options=()
    [ "$nodes" = 1 ] || options=(--nodes "$nodes")
    # shellcheck disable=SC2016
    timeout 30 "$run" -n "$n" "${options[@]}" -- bash -c "$script"$'\n''exec "$0" choices' "$here/actor" >"$tmp/out" 2>"$tmp/err" ||
        { fail "$script: exit $?"; tail -n 5 "$tmp/err" >&2; return; }
    for ((r = 0; r < n; r++)); do
        grep "^$r " "$tmp/out" | cut -d' ' -f2- >"$tmp/choices.$r"
        cmp -s "$tmp/choices.0" "$tmp/choices.$r" ||
            { fail "$script: rank $r chooses otherwise"; diff "$tmp/choices.0" "$tmp/choices.$r" | head -n 6 >&2; }
    done
    [ -s "$tmp/choices.0" ] || fail "$script: rank 0 chose nothing"
}

other='[ $HX_RANK != 1 ] ||'
for shape in "3 1" "4 2"; do
    # JOB settings: rank 0's hold for all, whoever has them
    agree $shape "$other export HX_ALLREDUCE=ring HX_INTRA_ALLREDUCE=mesh HX_INTER_ALLREDUCE=rdh HX_LANES=2 HX_SLICE=8K HX_CHUNK=4K HX_TIMEOUT=9"
    agree $shape '[ $HX_RANK != 0 ] || export HX_INTRA_ALLREDUCE=ring HX_LANES=2 HX_SLICE=8K HX_CHUNK=4K HX_TIMEOUT=9'
    [ "$(grep -c 'timeout 9$' "$tmp/choices.1")" -gt 0 ] || fail "rank 0's HX_TIMEOUT does not hold for rank 1"
    agree $shape "$other export HX_CHECK=1"
    # LOCAL settings
    agree $shape "$other export HX_SPIN=0 HX_LOG=debug HX_EXPLAIN=1"
    agree $shape '[ $HX_RANK != 0 ] || export HX_SPIN=100000'
    # another view of the machine
    agree $shape "$other export HWLOC_SYNTHETIC='pack:2 l3:4 core:8 pu:2'"
    agree $shape "[ \$HX_RANK != 0 ] || export HWLOC_SYNTHETIC='pack:1 l3:1(size=100000000) core:3 pu:1'"
    agree $shape "$other exec taskset -c 0 \"\$0\" choices"
    agree $shape '[ $HX_RANK != 0 ] || exec taskset -c 0 "$0" choices'
    # less memory, but enough; sanitizers reserve terabytes of address space
    [ -n "${TEST_SANITIZER:-}" ] || agree $shape "$other ulimit -v 1500000"
done

# refused SCRIPT TEXT: some rank cannot start or go on: the job ends, and the message says why
refused() {
    local code=0
    # shellcheck disable=SC2016
    timeout 30 env HX_TIMEOUT=3 "$run" -n 3 -- bash -c "$1"$'\n''exec "$0" choices' "$here/actor" >"$tmp/out" 2>"$tmp/err" || code=$?
    [ $code != 0 ] && [ $code != 124 ] || fail "$1: exit $code"
    has "$tmp/err" "$2" "$1"
}
refused "$other export HX_SLICE=much" 'HX_SLICE is "much"'
refused "$other export HX_SIZE=7" 7
if [ -z "${TEST_SANITIZER:-}" ]; then
    refused "$other ulimit -v 24000" "cannot map the shared segment"
fi
finish
