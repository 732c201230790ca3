#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Long user buffers freed, mapped again at the same address and sent again, with everything against it; and the same
# with a naive registration cache planted in the transport, and without FI_EFA_FORK_SAFE, which must be found out.
. "$(dirname "$0")/plant.sh"
export EFA_WORST=all EFA_SEED=${TEST_SEED:-1} HX_TIMEOUT=60
remap=$top_builddir/tests/efa_provider/remap
rounds=${TEST_ROUNDS:-1000}

for form in "2 $rounds" "3 $((rounds / 10))" "2 $rounds EFA_RDMA=1 HX_RDMA=1"; do
    # shellcheck disable=SC2086
    set -- $form
    n=$1 count=$2
    shift 2
    timeout 200 env "$@" "$run" -n "$n" --nodes "$n" -- "$remap" "$count" >"$tmp/out" 2>"$tmp/err" &&
        grep 'nothing stale' "$tmp/out" || fail "$form: $(tail -n 3 "$tmp/err")"
done
! grep -q "cannot be pinned here" "$tmp/err" || skip "$(grep -m1 "cannot be pinned here" "$tmp/err")"

# caught WHAT: the planted fault makes the rank send stale memory. A stale control message has a wrong proof: it is dropped, and the job waits
caught() {
    ! HX_TIMEOUT=3 timeout 100 "$run" -n 2 --nodes 2 -- "$tmp/planted" 20 >"$tmp/out" 2>"$tmp/err" || fail "$1 went unseen"
    grep -m1 "stale:\|${2:-stale:}" "$tmp/err" || fail "$1: $(tail -n 3 "$tmp/err")"
}

cat >"$tmp/naive" <<'END'
static void *naive(struct hx_net *net, const struct hx_net_op *op, size_t bytes, void **desc)
{
    static struct {
        void *base;
        size_t bytes;
        struct fid_mr *mr;
    } cache[1024];
    struct iovec piece;
    void *base = segments_pieces(op, op->posted_bytes, bytes, &piece, 1) ? piece.iov_base : NULL;
    int i = 0;

    if (base == NULL || bytes < 4096)
        return NULL;
    while (cache[i].base != NULL && (cache[i].base != base || cache[i].bytes != bytes))
        i++;
    if (cache[i].base == NULL && fi_mr_reg(net->rails[0].domain, base, bytes, FI_SEND, 0, 0, 0, &cache[i].mr, NULL) == 0) {
        cache[i].base = base; /* and what if it is unmapped? */
        cache[i].bytes = bytes;
    }
    *desc = fi_mr_desc(cache[i].mr);
    return base;
}
END
from='if ((rc = chunk_post_send(net, chunk, &pieces)) != 0) {'
to='void *desc = NULL, *user = naive(net, op, bytes, \&desc); rc = user ? fi_tsenddata(path->rail->ep, user, bytes, desc, '
to=$to'data_of(net, op, op->posted_bytes), path->addr, chunk->tag, \&chunk->context) : chunk_post_send(net, chunk, \&pieces); if (rc != 0) {'
change chunk_post.c '/^\/\* ---- making and posting/r '"$tmp/naive"'
s/'"$from/$to/" && grep -q '= naive(' "$tmp/chunk_post.c" && plant "$remap" "$tmp/chunk_post.c" 2>"$tmp/err" ||
    { fail "no cache planted: $(cat "$tmp/err")"; finish; }
caught "a naive registration cache"
change provider.c '/FI_EFA_FORK_SAFE/d' && plant "$remap" "$tmp/provider.c" 2>"$tmp/err" ||
    { fail "FI_EFA_FORK_SAFE is set elsewhere: $(cat "$tmp/err")"; finish; }
caught "memory shared with a child" HX_TIMEOUT
finish
