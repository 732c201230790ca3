#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Memory of hx_alloc: the others of the node read it without system calls, a device that wants memory registered sends from it and
# receives into it without a copy, and nothing is left of what is given back.
. "$(dirname "$0")/common.sh"
: "${top_srcdir:?run me by make check}"
bench=$top_builddir/tests/tools/coll_bench windows=$here/windows
collectives="allreduce reduce_scatter_block allgather bcast reduce gather alltoall"

counter() { # NAME: its value in what the job has told; 0 where it tells others only
    grep -q '^hierax stats: all [0-9]* ranks: plans_built ' "$tmp/err" && grep -q "HX_COUNTER($1," "$top_srcdir/runtime/base/counter.def" ||
        { echo "counter-$1-is-missing"; return; }
    sed -n "s/^hierax stats: all [0-9]* ranks: $1  *\\([0-9]*\\) .*/\\1/p" "$tmp/err" | grep . || echo 0
}

# job NAME=VALUE... -- COMMAND...: it succeeds, and tells its counters
job() {
    local settings=()
    while [ "$1" != -- ]; do settings+=("$1"); shift; done
    shift
    env HX_STATS=1 HX_CHECK=1 "${settings[@]}" timeout 100 "$run" "$@" >"$tmp/out" 2>"$tmp/err" || {
        fail "${settings[*]} $*: status $?"; cat "$tmp/out" "$tmp/err" >&2; }
}

# shellcheck disable=SC2086
for shape in "3" "5 --nodes 3,2"; do
    job -- -n $shape -- "$bench" $collectives --alloc --check --min 1 --max 3M --factor 31 --iterations 2 --repetitions 2
    [ "$(counter fetches)" = 0 ] || fail "$shape: $(counter fetches) system calls read it"
    [ "$(counter shared_alloc_bytes)" -gt 1000000 ] || fail "$shape: $(counter shared_alloc_bytes) bytes were read"
done
job HX_SINGLE_COPY=0 -- -n 3 -- "$bench" allreduce --alloc --check --max 1M --factor 64 --iterations 2 --repetitions 2
[ "$(counter shared_alloc_bytes)" = 0 ] || fail "HX_SINGLE_COPY=0: $(counter shared_alloc_bytes) bytes were read"

# with EFA's demands: of long messages nothing is copied, but where one has several pieces (gather, scatter on lanes); nor where the
# device writes them, as it then does
for collective in $collectives scatter; do
    for form in "2 --nodes 2" "4 --nodes 2" "4 --nodes 2 HX_RDMA=16K EFA_RDMA=1"; do
        rdma=${form#*s 2} shape=${form% HX*}
        # shellcheck disable=SC2086
        job FI_PROVIDER_PATH="$top_builddir/tests/efa_provider/.libs" HX_PROVIDER=efa $rdma -- -n $shape -- "$windows" move "$collective"
        sent=$(counter net_bytes_sent) bounced=$(counter net_bounced_bytes) written=$(counter net_chunks_written)
        if [ -n "$rdma" ]; then [ "$written" -gt 20 ]; else [ "$written" = 0 ]; fi || fail "$collective, $form: $written chunks were written"
        case $collective in gather | scatter) [ "$shape" = "2 --nodes 2" ] || continue ;; esac
        [ "$sent" -gt 10000000 ] && [ "$bounced" -lt 10000 ] || fail "$collective, $form: of $sent bytes sent $bounced were copied"
    done
done

job -- -n 3 -- "$windows" cycle 200
[ "$(counter shared_alloc_bytes)" -gt 100000000 ] || [ "$(counter fetches)" -gt 200 ] || fail "cycle: $(counter shared_alloc_bytes) bytes were read"
# and a new window where one was is registered anew
job FI_PROVIDER_PATH="$top_builddir/tests/efa_provider/.libs" HX_PROVIDER=efa -- -n 2 --nodes 2 -- "$windows" cycle 60
job -- -n 4 -- "$windows" made
job -- -n 4 --nodes 2 -- "$windows" made
job -- -n 3 -- "$windows" lack 1
job -- -n 4 --nodes 2 -- "$windows" lack 3
job -- -n 2 -- "$windows" wrong
finish
