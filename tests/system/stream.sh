#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Long results are written around the caches: HX_STREAM says from when on, and by default buffers that fill them do. Results are right,
# and exactly those bytes go that way that nobody reads again in the call.
. "$(dirname "$0")/common.sh"
bench=$top_builddir/tools/coll_bench

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
bytes() { told "$1" '.*without blocking, *\([0-9]*\) bytes.*'; }

once="--min 300K --max 300K --iterations 2 --repetitions 2"
# shellcheck disable=SC2086
for collective in allgather alltoall; do # coll_bench itself gathers a few bytes, too
    job HX_STREAM=$([ $collective = allgather ] && echo 1 || echo 4K) -- -n 3 -- "$bench" $collective --check $once
    [ "$(streamed)" = "$(bytes $collective)" ] || fail "$collective: $(streamed) of $(bytes $collective) bytes"
done
# shellcheck disable=SC2086
for plan in HX_ALLREDUCE=nary_sliced HX_BCAST=nary; do # a rank's own third, the root's own buffer
    collective=$(sed 's/HX_\(.*\)=.*/\1/; s/.*/\L&/' <<<$plan)
    job HX_STREAM=4K $plan -- -n 3 -- "$bench" $collective --check $once
    all=$(bytes $collective)
    [ $((all * 3 / 5)) -lt "$(streamed)" ] && [ "$(streamed)" -le $((all * 2 / 3)) ] || fail "$collective: $(streamed) of $all bytes"
done
# shellcheck disable=SC2086
job HX_STREAM=4K -- -n 3 -- "$bench" allreduce --in-place --check $once
[ "$(streamed)" = 0 ] || fail "$(streamed) bytes of an all-reduce in place, which were in the cache"
# shellcheck disable=SC2086
job -- -n 3 -- "$bench" allgather --check $once
[ "$(streamed)" = 0 ] || fail "$(streamed) bytes of short results"
job -- -n 2 -- "$bench" allgather --check --min 128M --max 128M --iterations 1 --repetitions 1 --warmup 1
[ "$(streamed)" -ge $((4 * 128 << 20)) ] || fail "$(streamed) bytes of two results of 128 MiB, twice"

# all collectives, in place, on several nodes, by single copy and from mapped memory, in drawn order
for options in "" --in-place --alloc; do
    # shellcheck disable=SC2086
    job HX_STREAM=2K -- -n 6 --nodes 3,1,2 -- "$bench" allreduce reduce_scatter_block allgather bcast reduce gather scatter alltoall alltoallv scan \
        --check --min 1 --max 1M --factor 33 --iterations 2 --repetitions 2 $options
    [ "$(streamed)" -gt 100000 ] || fail "$options: $(streamed) bytes"
done
job HX_STREAM=1 HX_INTRA_ALLGATHER=single_copy -- -n 3 -- "$bench" allgather --alloc --check --max 1M --factor 33
[ "$(streamed)" -gt 100000 ] || fail "from mapped memory: $(streamed) bytes"
seed=${TEST_SEED:-$RANDOM}
job HX_STREAM=1 -- -n 6 --nodes 3,1,2 -- "$here/comms" "$seed" 400
[ "$(streamed)" -gt 1000 ] || fail "seed $seed: $(streamed) bytes"

HX_STREAM=-1 timeout 10 "$run" -n 2 -- "$bench" allreduce --max 8 >"$tmp/out" 2>"$tmp/err" && fail "HX_STREAM=-1: status 0"
has "$tmp/err" 'HX_STREAM' 'a bad length'
finish
