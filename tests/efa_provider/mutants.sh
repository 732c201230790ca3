#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Is the provider's rigour worth something? Faults are planted in the transport, one at a time; the drawn operations of
# tests/system/comms must fail over the provider with each of them, and pass without.
. "$(dirname "$0")/plant.sh"
export EFA_WORST=all EFA_SEED=11 HX_TIMEOUT=2 HX_CHUNK=1000

draw() { timeout 30 "$run" -n 3 --nodes 3 -- "$tmp/planted" 1 300 >"$tmp/out" 2>"$tmp/err"; }

# caught WHAT FILE SED MESSAGE: the fault ends the job, and with this message
caught() {
    change "$2" "$3" || { fail "$1: nothing in $2 to be changed"; return; }
    plant "$here/comms" "$tmp/$2" 2>"$tmp/err" || { fail "$1: does not build: $(cat "$tmp/err")"; return; }
    ! draw || { fail "$1: went unseen"; return; }
    grep -qE "$4" "$tmp/err" || { fail "$1: failed, but without \"$4\":"; tail -n 5 "$tmp/err" >&2; return; }
    echo "$1: $(grep -E -m1 "$4" "$tmp/err")"
}

# what ranks tell that have taken one message for another
mixed='element|expects|Truncation|differ|HX_ERR_TIMEOUT' # differ: the contents, or the calls

plant "$here/comms" "$top_srcdir/inter/fabric/message.c" && HX_TIMEOUT=20 draw || { fail "no fault: $(tail -n 3 "$tmp/err")"; finish; }

caught "no pending queue" message.c '/^void hx_message_post/,/^}/s/queue_push(queue, op);/;/' 'HX_ERR_TIMEOUT'
caught "no second try after EAGAIN" completion.c 's/hx_edges_retry(net);/;/' 'HX_ERR_TIMEOUT'
caught "second try before the queue is read" chunk_post.c '/hx_path_refuse(path, /d' 'efa contract: again'
caught "no descriptor when sending" chunk_post.c \
    '/fi_tsend/s/hx_descriptor(chunk->registration)/NULL/' 'efa contract: descriptor'
caught "no sequence number in the tag" chunk_post.c \
    's/op->match << HX_CHUNK_BITS | .*;/op->match << HX_CHUNK_BITS;/' "$mixed"
caught "buffer overwritten while it is sent" chunk_post.c \
    's/hx_path_posted(path, bytes, chunk);/& __builtin_memset(pieces.at[0].iov_base, 0, bytes);/' 'element|differ'
EFA_NICS=2 caught "ends that take turns of their own" message.c \
    's/hx_chunk_path(edge, op, op->posted_bytes)/\&edge->paths[(net->rank + op->posted_bytes \/ op->chunk_bytes) % edge->npaths]/' 'HX_ERR_TIMEOUT'
EFA_WORST=reorder caught "receives from anybody" chunk_post.c '/fi_trecv(/s/message.addr/FI_ADDR_UNSPEC/' "$mixed"
caught "no limit of sends" chunk_post.c 's/path->rail->sends_in_flight >= net->send_limit/0/' 'efa contract: credits'
caught "injects of any length" endpoint.c \
    's/smaller(net->info->tx_attr->inject_size, HX_INJECT_LIMIT)/HX_INJECT_LIMIT/' 'efa contract: inject'
HX_RDMA=0 caught "completion queue too short" rail.c 's/net->send_limit + HX_RECV_LIMIT/8/' 'efa contract: overrun'
caught "memory registered for sends only" bounce.c 's/FI_SEND | FI_RECV/FI_SEND/' 'efa contract: access'
caught "registrations closed before the endpoint" close.c \
    's/^        hx_net_drain(net);/&\n    hx_bounce_close(net);/' 'efa contract: in_use'
# by remote writes
export EFA_RDMA=1 HX_RDMA=1
caught "an invitation that is forgotten" write.c 's/invite_keep(net, edge, &left);/;/' 'HX_ERR_TIMEOUT'
caught "an invitation for another chunk" write.c 's/\.chunk = (uint32_t)[^,]*,/.chunk = 0,/' "$mixed"
caught "a message that ends with its first write" completion.c 's/chunk->left > 1/0/' "nobody was invited|without a valid proof|$mixed"
caught "an invitation followed at its first chunk only" write.c 's/invite->chunks > 0;/invite->chunks-- > 0;/' "$mixed"
caught "no second try" write.c 's/hx_edge_activate(net, edge);/;/' 'HX_ERR_TIMEOUT'
caught "another request's number" write.c 's/hx_number_encrypt(net, chunk->number)/hx_number_encrypt(net, chunk->number + 1)/' "nobody was invited|$mixed"
caught "another message's invitation" write.c '/while (op && op->match/,/next;/d' "$mixed"
HX_RDMA=500 caught "buffer overwritten while it is written" write.c \
    '/^static int chunk_write/,/^}/s/hx_path_posted(path, bytes, chunk);/& __builtin_memset(pieces.at[0].iov_base, 0, bytes);/' 'element|differ'
caught "no descriptor when writing" write.c '/fi_writedata/s/hx_descriptor(chunk->registration)/NULL/' 'efa contract: descriptor'
caught "memory not open to writes" bounce.c 's/FI_WRITE | FI_REMOTE_WRITE/FI_WRITE/' 'efa contract: remote'
caught "no limit of writes" write.c 's/path->rail->sends_in_flight >= net->send_limit/0/' 'efa contract: credits'
finish
