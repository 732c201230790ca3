#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# In live jobs of four and five emulated nodes every algorithm sends the messages and bytes that its plan says.
set -u
cd "${top_builddir:-build}" || exit 1
failed=0
for n in 4 5; do
    for pair in ALLREDUCE:allreduce REDUCE_SCATTER:reduce_scatter_block ALLGATHER:allgather BCAST:bcast REDUCE:reduce BARRIER:barrier \
        GATHER:gather SCATTER:scatter SCAN:scan EXSCAN:exscan ALLTOALL:alltoall ALLTOALLV:alltoallv; do
        algorithms="ring mesh rdh circulant kangaring"
        [ "$pair" = ALLREDUCE:allreduce ] && algorithms="$algorithms mesh_single recursive_doubling double_tree"
        [ "$pair" = ALLGATHER:allgather ] && algorithms="$algorithms kbruck"
        [ "$pair" = BCAST:bcast ] && algorithms="flat binomial knomial scatter_ring scatter_circulant chain circulant double_tree"
        [ "$pair" = REDUCE:reduce ] && algorithms="flat binomial knomial scatter_gather chain circulant double_tree"
        [ "$pair" = BARRIER:barrier ] && algorithms="dissemination mesh tree pairwise"
        [ "$pair" = SCAN:scan ] && algorithms="mesh recursive_doubling chain"
        [ "$pair" = EXSCAN:exscan ] && algorithms="mesh recursive_doubling exclusive_dissemination chain"
        case $pair in GATHER:* | SCATTER:*) algorithms="flat binomial" ;; ALLTOALL:*) algorithms="mesh pairwise bruck kbruck" ;;
            ALLTOALLV:*) algorithms="mesh pairwise" ;; esac
        for algorithm in $algorithms; do
            timeout 60 tools/coll_run -n $n --nodes $n --env "HX_INTER_${pair%:*}=$algorithm" -- \
                tests/hier/live_counters "${pair#*:}" "$algorithm" || { echo "FAILED: $n nodes, ${pair#*:}, $algorithm"; failed=1; }
        done
    done
done
exit $failed
