#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Callbacks and descriptors of requests, with the progress thread and without: see notify.c.
. "$(dirname "$0")/common.sh"

for thread in 0 1; do
    for nodes in 1 2; do
        passes notify 4 $nodes each HX_PROGRESS_THREAD=$thread
        passes notify 2 $nodes threads HX_PROGRESS_THREAD=$thread
        passes notify 2 $nodes refused HX_PROGRESS_THREAD=$thread
        passes notify 3 $nodes released HX_PROGRESS_THREAD=$thread
    done
done
for nodes in 1 2; do
    passes notify 4 $nodes alone HX_PROGRESS_THREAD=1
    passes notify 3 $nodes messages HX_PROGRESS_THREAD=1
    passes notify 3 $nodes messages NOTIFY_LOOKS=1
    passes notify 4 $nodes looks NOTIFY_LOOKS=1
    passes notify 3 $nodes looks HX_PROGRESS_THREAD=1
done

# fails CASE NODES TEXT X=Y...: rank 0's callback gets the failure that rank 1 causes, though nobody waits in Hierax
fails() {
    local case=$1 nodes=$2 text=$3
    shift 3
    timeout 100 env "$@" "$run" -n 2 --nodes "$nodes" --kill-after 60 -- "$here/notify" "$case" >"$tmp/out" 2>"$tmp/err"
    has "$tmp/out" "rank 0: $text" "$case on $nodes nodes"
}
for nodes in 1 2; do
    for what in '' _message; do
        for how in HX_PROGRESS_THREAD=1 NOTIFY_LOOKS=1; do
            fails dead$what $nodes HX_ERR_PEER_DEAD $how
            fails late$what $nodes HX_ERR_TIMEOUT $how HX_TIMEOUT=1
        done
    done
done
finish
