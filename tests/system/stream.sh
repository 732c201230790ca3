#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Long results are written around the caches: HX_STREAM says from when on, and by default buffers that fill them do. Results are right,
# and exactly those bytes go that way that nobody reads again in the call.
. "$(dirname "$0")/common.sh"
bench=$top_builddir/tests/tools/coll_bench
[ "$(uname -m)" = x86_64 ] || skip "stores around the caches are made on x86-64 only"

# job NAME=VALUE... -- COMMAND...: it succeeds, and tells its counters
job() {
    local settings=()
    while [ "$1" != -- ]; do settings+=("$1"); shift; done
    shift
    env HX_STATS=1 "${settings[@]}" timeout 100 "$run" "$@" >"$tmp/out" 2>"$tmp/err" || {
        fail "${settings[*]} $*: status $?"; cat "$tmp/out" "$tmp/err" >&2; }
}

told() { # WORD NUMBER: the first number after WORD, or that of COLLECTIVE's bytes
    sed -n "s/^hierax stats: all [0-9]* ranks: $1  *$2/\\1/p" "$tmp/err" | grep . || echo 0
}
streamed() { told streamed_bytes '\([0-9]*\) .*'; }
bytes() { told "$1" '[0-9]* *[0-9]* *\([0-9]*\) .*'; }

once="--min 300K --max 300K --iterations 2 --repetitions 2"
# shellcheck disable=SC2086
for collective in allgather alltoall; do # coll_bench itself gathers a few KiB, too
    job HX_STREAM=4K -- -n 3 -- "$bench" $collective --check $once
    all=$(bytes $collective)
    [ "$(streamed)" -gt $((all * 99 / 100)) ] && [ "$(streamed)" -le "$all" ] || fail "$collective: $(streamed) of $all bytes"
done
# shellcheck disable=SC2086
for plan in HX_ALLREDUCE=nary_sliced HX_BCAST=nary; do # a rank's own third, the root's own buffer
    collective=$(sed 's/HX_\(.*\)=.*/\1/; s/.*/\L&/' <<<$plan)
    job HX_STREAM=4K $plan -- -n 3 -- "$bench" $collective --check $once
    all=$(bytes $collective)
    [ $((all * 3 / 5)) -lt "$(streamed)" ] && [ "$(streamed)" -le $((all * 2 / 3)) ] || fail "$collective: $(streamed) of $all bytes"
done
# what is in the cache, or is read again: in place, and results aside from the caller's buffer
# shellcheck disable=SC2086
for collective in allreduce reduce_scatter_block; do
    job HX_STREAM=16K HX_LANES=1 -- -n 4 --nodes 2 -- "$bench" $collective --in-place --check $once
    [ "$(bytes $collective)" -gt 100000 ] && [ "$(streamed)" = 0 ] || fail "$(streamed) bytes of $collective in place"
done
# shellcheck disable=SC2086
job -- -n 3 -- "$bench" allgather --check $once
[ "$(streamed)" = 0 ] || fail "$(streamed) bytes of short results"
# two results and two inputs of half the size fill the caches
caches=$("$top_builddir/tools/coll_info" --json | python3 -c 'import json, sys
machine = json.load(sys.stdin)["machine"]
print(min(machine["last_level_cache_bytes"], int(24 * 2**20 * machine["cpus_usable"])))')
if [ "$caches" = 0 ] || [ "$caches" -gt $((512 << 20)) ]; then
    echo "left out: the default, as the caches are of $caches bytes"
else
    for size in $((caches / 4)) $((caches / 3 + 8)); do
        job -- -n 2 -- "$bench" allgather --check --min $size --max $size --iterations 1 --repetitions 1 --warmup 1
        streams=$((size > caches / 3))
        [ $(($(streamed) >= 2 * size)) = $streams ] || fail "$(streamed) bytes of two results of $size, where caches hold $caches"
    done
fi

# As if other ranks were always far: what they read in slots and rings is written around the caches too.
far() { told far_bytes '\([0-9]*\) .*'; }
# shellcheck disable=SC2086
for plan in HX_BCAST=nary HX_BCAST=chain; do # whose chunks go through rings, to two ranks
    job HX_FAR_NS=0 $plan -- -n 3 -- "$bench" bcast --check $once
    all=$(bytes bcast) # of three ranks
    [ "$(far)" -ge $((all / 3)) ] && [ "$(far)" -le "$all" ] || fail "$plan, far: $(far) of $all bytes"
    job HX_FAR_NS=1000 $plan -- -n 3 -- "$bench" bcast --check $once
    [ "$(far)" = 0 ] || fail "$plan, never far: $(far) bytes"
done
job -- -n 2 -- "$bench" bcast allreduce --check --min 300K --max 300K # as measured here, whatever that is
for mode in 0 1; do
    timeout 100 "$run" -n 6 --nodes 3,1,2 --env HX_FAR_NS=$mode -- "$here/comms" "${TEST_SEED:-7}" 400 >"$tmp/out" 2>"$tmp/err" ||
        { fail "far from $mode ns on: status $?"; cat "$tmp/err" >&2; }
done

# all collectives, in place, on several nodes, by single copy and from mapped memory, in drawn order
for options in "" --in-place --alloc; do
    # shellcheck disable=SC2086
    job HX_STREAM=2K -- -n 6 --nodes 3,1,2 -- "$bench" allreduce reduce_scatter_block allgather bcast reduce gather scatter alltoall alltoallv scan \
        --check --min 1 --max 1M --factor 33 --iterations 2 --repetitions 2 $options
    [ "$(streamed)" -gt 100000 ] || fail "$options: $(streamed) bytes"
done
if "$run" -n 2 --env HX_INTRA_BCAST=single_copy -- "$bench" bcast --max 8 >"$tmp/out" 2>&1; then
    # shellcheck disable=SC2086
    for collective in allgather bcast; do
        job HX_STREAM=4K HX_INTRA_${collective^^}=single_copy -- -n 3 -- "$bench" $collective --alloc --check $once
        all=$(bytes $collective)
        [ "$(told shared_alloc_bytes '\([0-9]*\) .*')" -gt $((all / 2)) ] && [ "$(streamed)" -gt $((all * 3 / 5)) ] ||
            fail "$collective from mapped memory: $(streamed) of $all bytes"
    done
fi
for mode in counts short; do # empty blocks and no buffers, too
    timeout 100 "$run" -n 3 --env HX_STREAM=1 -- "$here/collectives" $mode >"$tmp/out" 2>&1 || { fail "$mode: status $?"; cat "$tmp/out"; }
done
seed=${TEST_SEED:-$RANDOM}
job HX_STREAM=1 -- -n 6 --nodes 3,1,2 -- "$here/comms" "$seed" 400
[ "$(streamed)" -gt 1000 ] || fail "seed $seed: $(streamed) bytes"

HX_STREAM=-1 timeout 10 "$run" -n 2 -- "$bench" allreduce --max 8 >"$tmp/out" 2>"$tmp/err" && fail "HX_STREAM=-1: status 0"
has "$tmp/err" 'HX_STREAM' 'a bad length'
finish
