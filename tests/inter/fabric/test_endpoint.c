/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The endpoint between real processes on one machine. Each case runs over native tcp, tcp;ofi_rxm and sockets: with
 * the caller's memory, with every buffer bounced through registered memory, as EFA demands, and with every message
 * written into the receiver's memory.
 */
#include "tests/inter/fabric/job.h"
#include "runtime/base/sockets.h"
#include <fcntl.h>
#include <sys/stat.h>

/* ---- cases: each is run by every rank */

static void case_lengths(struct world *w)
{
    size_t chunk = w->net->chunk_bytes, inject = w->net->inject_bytes;
    size_t lengths[] = {1,    8,         inject - 1, inject,    inject + 1, 8191,       8192,
                        8193, chunk - 1, chunk,      chunk + 1, 3 * chunk,  10 * MB + 5};

    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        size_t bytes = lengths[i];
        uint8_t *out = fill(bytes, i + (size_t)w->me), *in = calloc(1, bytes + 1);
        struct hx_segment to = {out, bytes}, from = {in, bytes};
        struct hx_net_op send, recv;

        in[bytes] = 0xee;
        post(w, &recv, HX_NET_RECV, !w->me, i, &from, 1);
        post(w, &send, HX_NET_SEND, !w->me, i, &to, 1);
        check(finish(w, &recv) == 1);
        check(finish(w, &send) == 1);
        check(holds(in, bytes, i + (size_t)!w->me) && in[bytes] == 0xee);
        free(out);
        free(in);
    }
}

/* Other segments on each side, some empty, cutting through chunks; both ends must still cut alike. */
static void case_segments(struct world *w)
{
    size_t chunk = w->net->chunk_bytes, bytes = 2 * chunk + 77777;
    uint8_t *out = fill(bytes, 3), *in = calloc(1, bytes);
    struct hx_segment to[] = {{out, 0}, {out, 13}, {out + 13, chunk}, {out, 0}, {out + 13 + chunk, bytes - chunk - 13}};
    struct hx_segment from[] = {{in, chunk - 5}, {in + chunk - 5, 10}, {in + chunk + 5, bytes - chunk - 5}, {in, 0}};
    struct hx_segment small_to[] = {{out, 3}, {out + 3, 4}}, small_from[] = {{in, 6}, {in + 6, 1}};
    struct hx_segment many[] = {{NULL, 1000}, {NULL, 2000}, {NULL, 3000}, {NULL, 4000}, {NULL, 5000}}; /* more than providers take */
    struct hx_net_counters c;
    struct hx_net_op op, small;

    if (w->me == 0) {
        check(finish(w, post(w, &op, HX_NET_SEND, 1, 5, to, 5)) == 1);
        check(finish(w, post(w, &small, HX_NET_SEND, 1, 6, small_to, 2)) == 1);
    } else {
        check(finish(w, post(w, &op, HX_NET_RECV, 0, 5, from, 4)) == 1);
        check(holds(in, bytes, 3));
        memset(in, 0, 7);
        check(finish(w, post(w, &small, HX_NET_RECV, 0, 6, small_from, 2)) == 1);
        check(holds(in, 7, 3));
    }
    ops->counters(w->net, &c);
    check((c.bounced_bytes > 0) == (w->net->pieces_most < 2 || w->net->direct != HX_DIRECT_ALWAYS));
    memset(in, 0, 15000);
    for (size_t i = 0, at = 0; i < 5; at += many[i++].bytes)
        many[i].base = (w->me == 0 ? out : in) + at;
    check(finish(w, post(w, &op, w->me == 0 ? HX_NET_SEND : HX_NET_RECV, !w->me, 7, many, 5)) == 1);
    check(holds(w->me == 0 ? out : in, 15000, 3));
    ops->counters(w->net, &c);
    check(c.bounced_bytes > 0);
}

static size_t mixed_bytes(const struct world *w, int i)
{
    static const size_t small[] = {1, 40, 128, 500, 4096, 8192, 9000, 65536};

    return i % 16 == 15 ? w->net->chunk_bytes * 2 + 3 : small[i % 8];
}

/* Receives are posted in the opposite order of the sends; sent both ways at once, far more chunks than an edge is
 * granted. */
static void exchange_many(struct world *w, int count, int reverse)
{
    struct hx_net_op *sends = calloc((size_t)count, sizeof(*sends)), *recvs = calloc((size_t)count, sizeof(*recvs));
    struct hx_segment *out = calloc((size_t)count, sizeof(*out)), *in = calloc((size_t)count, sizeof(*in));

    for (int i = 0; i < count; i++) {
        size_t bytes = mixed_bytes(w, i);
        out[i] = (struct hx_segment){fill(bytes, (uint64_t)(i + w->me)), bytes};
        in[i] = (struct hx_segment){calloc(1, bytes), bytes};
    }
    for (int i = 0; i < count; i++) {
        int k = reverse ? count - 1 - i : i;
        post(w, &sends[i], HX_NET_SEND, !w->me, (uint64_t)i, &out[i], 1);
        post(w, &recvs[k], HX_NET_RECV, !w->me, (uint64_t)k, &in[k], 1);
    }
    for (int i = 0; i < count; i++) {
        check(finish(w, &recvs[i]) == 1);
        check(finish(w, &sends[i]) == 1);
        check(holds(in[i].base, in[i].bytes, (uint64_t)(i + !w->me)));
        free(in[i].base);
        free(out[i].base);
    }
}

static void case_many(struct world *w)
{
    exchange_many(w, 400, 0);
}
static void case_reverse(struct world *w)
{
    exchange_many(w, 400, 1);
}

static void case_both_ways(struct world *w)
{
    size_t bytes = 40 * MB, chunks, paths;
    uint8_t *out = fill(bytes, (uint64_t)w->me), *in = calloc(1, bytes);
    struct hx_segment to = {out, bytes}, from = {in, bytes};
    struct hx_net_op send, recv;
    struct hx_net_counters c;

    post(w, &send, HX_NET_SEND, !w->me, 1, &to, 1); /* the send first: it must not depend on our own receive */
    for (int i = 0; i < 1000; i++)
        turn(w);
    post(w, &recv, HX_NET_RECV, !w->me, 1, &from, 1);
    check(finish(w, &send) == 1 && finish(w, &recv) == 1);
    check(holds(in, bytes, (uint64_t)!w->me));
    ops->counters(w->net, &c);
    check(c.messages_sent == 1 && c.messages_received == 1 && c.bytes_sent == bytes && c.bytes_received == bytes);
    chunks = (bytes + w->net->chunk_bytes - 1) / w->net->chunk_bytes;
    paths = (size_t)w->net->edges[!w->me]->npaths; /* as many chunks on each */
    check(c.chunks_sent == (chunks + paths - 1) / paths * paths);
    check(w->net->write_bytes > 0 ? c.chunks_written == c.chunks_sent : c.chunks_written == 0 && c.credits_sent > 0);
    if (w->net->register_local || w->net->direct == HX_DIRECT_NEVER)
        check(c.bounced_bytes > 0);
    else /* long messages are received in place, and sent from there if the kernel has room */
        check(c.bounced_bytes <= (w->net->direct == HX_DIRECT_ALWAYS ? 0 : bytes));
}

/* Long messages of memory that is the runtime's own are not copied, wherever in it they begin; of its blocks only those in use are
 * registered. Once it is removed, and mapped anew in the same place, they are. */
static void case_region(struct world *w)
{
    size_t bytes = 7 * MB, chunk = w->net->chunk_bytes, lengths[] = {8193, chunk + 1, 3 * MB + 7, 100000}, at = 0;
    uint8_t *memory[2];
    struct hx_net_counters c;

    for (int i = 0; i < 2; i++) {
        memory[i] = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ops->memory_add(w->net, memory[i], bytes, HX_MEMORY_WORK);
        ops->memory_add(w->net, memory[i], bytes, HX_MEMORY_WORK); /* no more than once */
        const uint8_t *last = memory[i] + bytes - 10;
        check((hx_region_find(w->net, w->net->rails, last, 10) != NULL) == w->net->register_local);
        check(!hx_region_find(w->net, w->net->rails, last, 11)); /* it does not end within */
    }
    for (int round = 0; round < 24; round++, at = (at + 1234567) % (bytes - 3 * MB - chunk)) {
        struct hx_segment to = {memory[0] + at, lengths[round % 4]};
        struct hx_segment from = {memory[1] + (bytes - to.bytes - at) % bytes, to.bytes};
        struct hx_net_op send, recv;

        if (round == 16)
            for (int i = 0; i < 2; i++) {
                ops->counters(w->net, &c);
                check(c.bounced_bytes == 0 || !w->net->register_local);
                ops->memory_remove(w->net, memory[i]);
                check(mmap(memory[i], bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == memory[i]);
            }
        for (size_t i = 0; i < to.bytes; i++)
            ((uint8_t *)to.base)[i] = (uint8_t)(i * 7 + (size_t)round + (size_t)w->me);
        post(w, &recv, HX_NET_RECV, !w->me, (uint64_t)round, &from, 1);
        post(w, &send, HX_NET_SEND, !w->me, (uint64_t)round, &to, 1);
        check(finish(w, &recv) == 1 && finish(w, &send) == 1);
        for (size_t i = 0; i < to.bytes; i++)
            check(((uint8_t *)from.base)[i] == (uint8_t)(i * 7 + (size_t)round + (size_t)!w->me));
    }
    ops->counters(w->net, &c);
    check((c.bounced_bytes > 0) == (w->net->register_local || w->net->direct != HX_DIRECT_ALWAYS));
}

/* The receiver waits for the last message before it posts the others; short ones and as many long chunks as are
 * granted. */
static void early(struct world *w, int count, size_t bytes)
{
    struct hx_net_op op[64];
    struct hx_segment part[64];

    for (int i = 0; i < count; i++)
        part[i] = (struct hx_segment){w->me == 0 ? fill(bytes, (uint64_t)i) : calloc(1, bytes), bytes};
    for (int i = 0; i < count; i++)
        if (w->me == 0)
            post(w, &op[i], HX_NET_SEND, 1, (uint64_t)i, &part[i], 1);
        else
            check(finish(w, post(w, &op[count - 1 - i], HX_NET_RECV, 0, (uint64_t)(count - 1 - i), &part[count - 1 - i],
                                 1)) == 1);
    for (int i = 0; i < count; i++)
        check(finish(w, &op[i]) == 1 && holds(part[i].base, bytes, (uint64_t)i));
}

static void case_early_short(struct world *w)
{
    early(w, 60, 64);
}
static void case_early_eager(struct world *w)
{
    early(w, 20, 5000);
}
static void case_early_large(struct world *w)
{
    early(w, HX_GRANT, 65536);
}

/* A flow of which nothing is received has sent all that is granted: another one's message comes through, though it was posted last. */
static void case_flows(struct world *w)
{
    enum { HELD = HX_GRANT * HX_RAILS_MAX + 8, BYTES = 65536 };
    static struct hx_net_op op[HELD + 1];
    struct hx_segment part[HELD + 1];

    for (int i = 0; i <= HELD; i++)
        part[i] = (struct hx_segment){w->me == 0 ? fill(BYTES, (uint64_t)i) : calloc(1, BYTES), BYTES};
    for (int i = 0; i <= HELD && w->me == 0; i++)
        post_in(w, &op[i], i == HELD, HX_NET_SEND, 1, (uint64_t)i, &part[i], 1);
    if (w->me == 1)
        check(finish(w, post_in(w, &op[HELD], 1, HX_NET_RECV, 0, HELD, &part[HELD], 1)) == 1);
    for (int i = 0; i < HELD && w->me == 1; i++)
        post_in(w, &op[i], 0, HX_NET_RECV, 0, (uint64_t)i, &part[i], 1);
    for (int i = 0; i <= HELD; i++)
        check(finish(w, &op[i]) == 1 && holds(part[i].base, BYTES, (uint64_t)i));
}

/* The receiver dawdles over thousands of short messages, so the connection fills up and drains again and again, at any
 * place within a message. First one way, then the other. */
static void case_slow_receiver(struct world *w)
{
    enum { COUNT = 6000 };
    static struct hx_net_op op[COUNT];
    static uint8_t buffers[COUNT][100];
    static struct hx_segment parts[COUNT];

    for (int sender = 0; sender < 2; sender++) {
        uint64_t match = (uint64_t)sender * COUNT;
        for (int i = 0; i < COUNT; i++) {
            parts[i] = (struct hx_segment){buffers[i], sizeof(buffers[i])};
            post(w, &op[i], w->me == sender ? HX_NET_SEND : HX_NET_RECV, !w->me, match + (uint64_t)i, &parts[i], 1);
        }
        if (w->me != sender)
            usleep(100000);
        for (int i = 0; i < COUNT; i++) {
            if (w->me != sender && i % 16 == 0)
                usleep(200);
            check(finish(w, &op[i]) == 1);
        }
        meet(w, &w->meet->arrived, 2 + sender);
    }
}

static void case_all_to_all(struct world *w)
{
    struct hx_net_op send[RANKS_MAX], recv[RANKS_MAX];
    struct hx_segment out[RANKS_MAX], in[RANKS_MAX];

    for (uint64_t round = 0; round < 30; round++) {
        for (int peer = 0; peer < w->n; peer++) {
            size_t to = 1 + 37 * round * round * (size_t)(1 + w->me + peer * 3),
                   from = 1 + 37 * round * round * (size_t)(1 + peer + w->me * 3);
            if (peer == w->me)
                continue;
            out[peer] = (struct hx_segment){fill(to, round + (uint64_t)(w->me * 4 + peer)), to};
            in[peer] = (struct hx_segment){calloc(1, from), from};
            post(w, &recv[peer], HX_NET_RECV, peer, round, &in[peer], 1);
            post(w, &send[peer], HX_NET_SEND, peer, round, &out[peer], 1);
        }
        for (int peer = 0; peer < w->n; peer++) {
            if (peer == w->me)
                continue;
            check(finish(w, &recv[peer]) == 1 && finish(w, &send[peer]) == 1);
            check(holds(in[peer].base, in[peer].bytes, round + (uint64_t)(peer * 4 + w->me)));
            free(in[peer].base);
            free(out[peer].base);
        }
    }
}

/* Does the conformance provider write rubbish into posted receives? */
static int is_poisoned(void)
{
    const char *worst = getenv("EFA_WORST");

    return worst && (strstr(worst, "all") || strstr(worst, "poison"));
}

/* A receive is cancelled; what comes later with its match id must not land in its memory, and others go on. */
static void case_cancel(struct world *w)
{
    static uint8_t buffer[3000], other[3000], taken_back[3000];
    static struct hx_segment part = {buffer, sizeof(buffer)};
    static struct hx_net_op late; /* under way at the end, if it is written: nobody invites to it any more */
    struct hx_segment rest = {other, sizeof(other)};
    struct hx_net_op op, next;

    if (w->me == 1) {
        memset(buffer, 0x77, sizeof(buffer));
        post(w, &op, HX_NET_RECV, 0, 1, &part, 1);
        for (int i = 0; i < 100 || (w->net->write_bytes > 0 && op.posted_bytes < sizeof(buffer)); i++)
            turn(w);
        take_back(w->net, &op);
        check(op.done < 0);
        memcpy(taken_back, buffer, sizeof(buffer));
        check(w->net->write_bytes == 0 || w->net->recvs_in_flight == 0); /* the peer may never write */
        meet(w, &w->meet->arrived, 2);
        check(finish(w, post(w, &next, HX_NET_RECV, 0, 2, &rest, 1)) == 1);
        check(holds(other, sizeof(other), 2));
        check(memcmp(taken_back, buffer, sizeof(buffer)) == 0);
        check(is_poisoned() || buffer[0] == 0x77);
        for (double limit = hx_now_s() + 5; w->net->recvs_in_flight > 0 && hx_now_s() < limit;)
            turn(w);
        check(w->net->recvs_in_flight == 0 && w->net->edges[0]->recvs_in_flight == 0); /* it counts no more */
    } else {
        uint8_t *second = fill(sizeof(other), 2);
        struct hx_segment to = {second, sizeof(other)};
        meet(w, &w->meet->arrived, 2);
        if (w->net->write_bytes > 0)
            check(finish(w, post(w, &late, HX_NET_SEND, 1, 1, &part, 1)) == 1); /* before the next, into a bounce buffer */
        check(finish(w, post(w, &next, HX_NET_SEND, 1, 2, &to, 1)) == 1);
    }
}

/* The same with memory of the program's that the peer has been invited to write to: the endpoint is closed before the caller has it
 * back. */
static void case_cancel_region(struct world *w)
{
    enum { BYTES = 65536 };
    static struct hx_net_op op, next;
    uint8_t *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct hx_segment part = {memory, BYTES};

    ops->memory_add(w->net, memory, BYTES, HX_MEMORY_PROGRAM);
    if (w->net->write_bytes == 0)
        return;
    memset(memory, w->me ? 0x77 : 0x11, BYTES);
    if (w->me == 1) {
        post(w, &op, HX_NET_RECV, 0, 1, &part, 1);
        while (op.posted_bytes < BYTES)
            turn(w);
        take_back(w->net, &op);
        check(op.done < 0 && ops->progress(w->net) < 0);
        check(strstr(ops->why(w->net), "rank 0 of the job can still write into a buffer") != NULL);
        check(post(w, &next, HX_NET_RECV, 0, 2, &part, 1)->done < 0 && strcmp(w->why, ops->why(w->net)) == 0);
    }
    meet(w, &w->meet->arrived, 2);
    if (w->me == 0) {
        post(w, &op, HX_NET_SEND, 1, 1, &part, 1);
        for (int i = 0; i < 1000; i++)
            turn(w);
    }
    meet(w, &w->meet->arrived, 3);
    for (size_t i = 0; i < BYTES; i++)
        check(memory[i] == (w->me ? 0x77 : 0x11));
    if (w->me == 0 && op.done == 0)
        take_back(w->net, &op);
}

/* A long send that nobody receives is cancelled: done at once or with the endpoint closed, but soon. From bounce buffers it is at once,
 * and others go on. */
static void case_cancel_send(struct world *w)
{
    size_t bytes = 30 * MB;
    uint8_t byte = (uint8_t)w->me;
    struct hx_segment part = {mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), bytes}, small = {&byte, 1};
    struct hx_net_op op, behind;

    if (w->me == 0) {
        double begin;
        post(w, &op, HX_NET_SEND, 1, 1, &part, 1);
        post(w, &behind, HX_NET_SEND, 1, 3, &part, 1);
        for (int i = 0; i < 1000; i++)
            turn(w);
        check(op.done == 0);
        begin = hx_now_s();
        take_back(w->net, &op);
        check(op.done < 0 && hx_now_s() - begin < 3);
        check(!w->net->broken && behind.done == 0);
        take_back(w->net, &behind);
        check(behind.done < 0 && !w->net->broken);
        munmap(part.base, bytes); /* what is still under way does not use it */
    }
    atomic_fetch_add(&w->meet->arrived, 1);
    while (atomic_load(&w->meet->arrived) < 4)
        usleep(1000);
    check(finish(w, post(w, &op, w->me == 0 ? HX_NET_SEND : HX_NET_RECV, !w->me, 2, &small, 1)) == 1 && byte == 0);
}

/* A long receive is taken back before its message comes, which nobody takes then: later ones do not lack the credits that it has cost. */
static void case_cancel_credits(struct world *w)
{
    size_t chunks = 12 * (size_t)w->net->edges[!w->me]->npaths; /* of the 16 of a grant: the next sends 4, which by themselves earn no credits */
    size_t bytes = chunks * w->net->chunk_bytes;
    static struct hx_segment part;
    static struct hx_net_op late, next;
    struct hx_segment to;

    part = (struct hx_segment){fill(bytes, 1), bytes};
    to = (struct hx_segment){w->me == 0 ? fill(2 * bytes, 2) : calloc(2, bytes), 2 * bytes};
    if (w->me == 1) {
        post(w, &late, HX_NET_RECV, 0, 1, &part, 1);
        check(late.total_bytes == chunks * late.chunk_bytes);
        take_back(w->net, &late);
        check(late.done < 0);
    }
    meet(w, &w->meet->arrived, 2);
    if (w->net->write_bytes > 0) /* who is not invited to does not write, and pays nothing */
        return;
    if (w->me == 0)
        post(w, &late, HX_NET_SEND, 1, 1, &part, 1);
    check(finish(w, post(w, &next, w->me == 0 ? HX_NET_SEND : HX_NET_RECV, !w->me, 2, &to, 1)) == 1);
    check(holds(to.base, to.bytes, 2));
}

/* A message that waits behind another one is taken back, and what is posted after it goes. */
static void case_cancel_last(struct world *w)
{
    size_t bytes = 40 * w->net->chunk_bytes * (size_t)w->net->edges[!w->me]->npaths;
    static struct hx_net_op first, taken, last;
    struct hx_segment part = {fill(bytes, 1), bytes};

    if (w->me == 0) {
        post(w, &first, HX_NET_SEND, 1, 1, &part, 1);
        post(w, &taken, HX_NET_SEND, 1, 2, &part, 1);
        for (int i = 0; i < 1000; i++)
            turn(w);
        check(first.posted_bytes <= (size_t)(HX_GRANT * w->net->edges[1]->npaths) * first.chunk_bytes); /* nobody has told of more */
        check(first.done == 0 && taken.posted_bytes == 0);
        take_back(w->net, &taken);
        check(taken.done < 0);
        post(w, &last, HX_NET_SEND, 1, 3, &part, 1);
    }
    meet(w, &w->meet->arrived, 2);
    if (w->me == 1) {
        memset(part.base, 0, bytes);
        post(w, &first, HX_NET_RECV, 0, 1, &part, 1);
        check(finish(w, &first) == 1 && holds(part.base, bytes, 1));
        memset(part.base, 0, bytes);
        post(w, &last, HX_NET_RECV, 0, 3, &part, 1);
    }
    check(finish(w, &first) == 1 && finish(w, &last) == 1 && holds(part.base, bytes, 1));
}

/* Credits come in any order: an older one takes nothing back. */
static void case_older_credit(struct world *w)
{
    size_t bytes = 40 * w->net->chunk_bytes * (size_t)w->net->edges[!w->me]->npaths;
    struct hx_segment part = {fill(bytes, 1), bytes};
    struct hx_edge *edge = w->net->edges[!w->me];
    struct hx_flow *flow;
    struct hx_net_op op;
    uint64_t acknowledged;

    check(finish(w, post(w, &op, w->me == 0 ? HX_NET_SEND : HX_NET_RECV, !w->me, 1, &part, 1)) == 1);
    if (w->net->write_bytes > 0) /* no credits are told */
        return;
    flow = hx_flow_of(edge, 0);
    acknowledged = flow->acknowledged;
    check(w->me == 1 || acknowledged >= HX_GRANT);
    meet(w, &w->meet->arrived, 2);
    if (w->me == 1) {
        flow->received -= 24 * (uint64_t)edge->npaths;
        while (hx_credit_send(w->net, edge, flow) != 0)
            turn(w);
    }
    meet(w, &w->meet->arrived, 3);
    for (int i = 0; i < 1000; i++)
        turn(w);
    check(flow->acknowledged >= acknowledged);
}

/* A short send that is under way is cancelled and its memory written to: what comes is what was sent. */
static void case_cancel_bounced(struct world *w)
{
    enum { BYTES = 5000 };
    uint8_t *buffer = fill(BYTES, 1);
    struct hx_segment part = {buffer, BYTES};
    struct hx_net_op op;

    if (w->net->write_bytes > 0)
        return;
    if (w->me == 0) {
        post(w, &op, HX_NET_SEND, 1, 1, &part, 1);
        while (op.posted_bytes < BYTES)
            turn(w);
        take_back(w->net, &op);
        check(op.done != 0);
        memset(buffer, 0, BYTES);
    } else {
        memset(buffer, 0, BYTES);
        check(finish(w, post(w, &op, HX_NET_RECV, 0, 1, &part, 1)) == 1 && holds(buffer, BYTES, 1));
    }
}

/* Slots of a call that has failed: what is sent from them goes on, but not once the memory is removed. */
static void case_cancel_slots(struct world *w)
{
    enum { BYTES = 65536 };
    uint8_t *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct hx_segment part = {memory, BYTES};
    struct hx_net_op op;

    if (!w->net->register_local || w->net->write_bytes > 0)
        return;
    if (w->me == 0) {
        ops->memory_add(w->net, memory, BYTES, HX_MEMORY_SLOTS);
        post(w, &op, HX_NET_SEND, 1, 1, &part, 1);
        while (op.posted_bytes < BYTES)
            turn(w);
        take_back(w->net, &op);
        check(op.done != 0 && !w->net->broken);
        ops->memory_remove(w->net, memory);
    }
    meet(w, &w->meet->arrived, 2);
}

/* Who writes finds out that the other expects another length; that one waits, until its receive is cancelled. */
static void case_mismatch_written(struct world *w)
{
    static const size_t lengths[][2] = {{40000, 8192}, {8192, 40000}, {4 * MB + 100000, 100000}, {100000, 4 * MB + 100000}};
    char sent[32];

    for (uint64_t i = 0; i < 4; i++) {
        size_t bytes = lengths[i][w->me];
        uint8_t *buffer = calloc(1, bytes);
        struct hx_segment part = {buffer, bytes};
        struct hx_net_op op;

        post(w, &op, w->me == 0 ? HX_NET_SEND : HX_NET_RECV, !w->me, i, &part, 1);
        if (w->me == 0) {
            snprintf(sent, sizeof(sent), "sends %zu bytes", bytes);
            check(finish(w, &op) == -HX_ERR_MISMATCH && strstr(hx_last_detail(), sent));
        }
        meet(w, &w->meet->arrived, 2 + (int)i);
        if (w->me == 1) {
            check(op.done == 0);
            take_back(w->net, &op);
            check(op.done < 0);
            for (size_t k = 0; k < bytes; k++)
                check(buffer[k] == 0);
        }
        free(buffer);
    }
}

/* Each length on either side of those at which messages are sent otherwise; each by several match ids, and so by every
 * path. */
static void case_mismatch(struct world *w)
{
    static const size_t lengths[][2] = {{4000, 6000}, {8000, 9000}, {8192, 40000}, {9000, 100000}};
    static uint8_t buffer[100000];
    char sent[16], expected[16];
    struct hx_net_op op;
    int cut;

    if (w->net->write_bytes > 0) {
        case_mismatch_written(w);
        return;
    }
    for (uint64_t i = 0; i < 32; i++) {
        struct hx_segment to = {buffer, lengths[i / 8][0]}, from = {buffer, lengths[i / 8][1]};
        if (w->me == 0) {
            check(finish(w, post(w, &op, HX_NET_SEND, 1, i, &to, 1)) == 1);
            continue;
        }
        memset(buffer, 0x77, sizeof(buffer));
        check(finish(w, post(w, &op, HX_NET_RECV, 0, i, &from, 1)) == -HX_ERR_MISMATCH);
        for (size_t k = to.bytes; k < sizeof(buffer) && !is_poisoned(); k++) /* no more is written than has come */
            check(buffer[k] == 0x77);
        snprintf(sent, sizeof(sent), " %zu ", to.bytes);
        snprintf(expected, sizeof(expected), " %zu ", from.bytes);
        check(strstr(hx_last_detail(), sent) != NULL && strstr(hx_last_detail(), "rank 0 of the job"));
        check(strcmp(w->why, hx_last_detail()) == 0);
        cut = from.bytes > w->net->chunk_bytes || (w->net->nrails > 1 && from.bytes >= w->net->edges[0]->stripe_bytes);
        check(cut || strstr(hx_last_detail(), expected)); /* else it tells of a chunk */
    }
}

/* A message that is longer than its receive ends that receive only: what is under way on the same connection arrives. */
static void case_too_long(struct world *w)
{
    enum { COUNT = 6, BYTES = 4 * MB };
    static const size_t lengths[COUNT][2] = {{264, 256}, {6000, 4000}, {9000, 8000}, {40000, 8192}, {40000, 9000}, {1, 1}};
    static uint8_t buffers[COUNT][40000];
    uint8_t *others = w->me == 0 ? fill(BYTES, 1) : calloc(1, BYTES);
    struct hx_segment other_part = {others, BYTES}, parts[COUNT];
    struct hx_net_op other, too_long[COUNT];

    if (w->net->write_bytes > 0) /* case_mismatch_written */
        return;
    post(w, &other, w->me == 0 ? HX_NET_SEND : HX_NET_RECV, !w->me, COUNT, &other_part, 1);
    for (uint64_t i = 0; i < COUNT; i++) {
        parts[i] = (struct hx_segment){buffers[i], lengths[i][w->me]};
        post(w, &too_long[i], w->me == 0 ? HX_NET_SEND : HX_NET_RECV, !w->me, i, &parts[i], 1);
    }
    for (uint64_t i = 0; i < COUNT; i++)
        check(finish(w, &too_long[i]) == (w->me == 0 || i == COUNT - 1 ? 1 : -HX_ERR_MISMATCH));
    check(finish(w, &other) == 1 && holds(others, BYTES, 1));
}

/* Rank 1 sleeps on the descriptor until a message comes after a third of a second; then many quick ones: no wake-up may
 * be lost. */
static void case_sleep(struct world *w)
{
    uint8_t byte = 0;
    struct hx_segment part = {&byte, 1};
    struct hx_net_op op;
    clock_t before;

    if (ops->wait_fd(w->net) < 0)
        _exit(0); /* some providers have none */
    meet(w, &w->meet->arrived, 2);
    meet(w, &w->meet->departed, w->departures = 1);
    for (uint64_t i = 0; i < 2000; i++) {
        if ((i & 1) == (uint64_t)w->me) {
            if (i == 2)
                usleep(333333);
            check(finish(w, post(w, &op, HX_NET_SEND, !w->me, i, &part, 1)) == 1);
            continue;
        }
        post(w, &op, HX_NET_RECV, !w->me, i, &part, 1);
        before = clock();
        while (op.done == 0) {
            if (ops->progress(w->net) == 0 && op.done == 0 && ops->arm(w->net) == 0) {
                struct pollfd fd = {.fd = ops->wait_fd(w->net), .events = POLLIN};
                check(poll(&fd, 1, 5000) == 1);
            }
        }
        check(i != 2 || clock() - before < CLOCKS_PER_SEC / 20);
        check(op.done == 1);
    }
}

static double question_at;

static void question_heard(void *arg, int peer, const struct hx_control_message *message)
{
    (void)arg;
    (void)peer;
    if (message->kind == HX_MESSAGE_ASKS)
        question_at = hx_now_s();
}

/* Rank 1 is late, sends something, and is late again: it is asked as soon as the first time. */
static void case_late_again(struct world *w)
{
    const struct hx_control_message question = {.kind = HX_MESSAGE_ASKS};
    uint8_t byte = 0;
    struct hx_segment part = {&byte, 1};
    struct hx_net_op op;
    double start = hx_now_s();

    ops->listen(w->net, question_heard, NULL);
    if (w->me == 0) {
        post(w, &op, HX_NET_RECV, 1, 1, &part, 1);
        for (double next = start; atomic_load(&w->meet->begun) == 0; turn(w))
            if (hx_now_s() >= next) {
                check(ops->ask(w->net, 1, &question) == 0);
                next += 0.1;
            }
        check(op.done == 1);
        return;
    }
    while (hx_now_s() < start + 4.5)
        turn(w);
    check(question_at > 0);
    check(finish(w, post(w, &op, HX_NET_SEND, 0, 1, &part, 1)) == 1);
    start = hx_now_s();
    while (question_at < start && hx_now_s() < start + 6)
        turn(w);
    check(question_at > start && question_at - start < 2.5);
    atomic_store(&w->meet->begun, 1);
}

static struct hx_control_message word = {.kind = HX_MESSAGE_DEAD};
static int words_heard;

static void word_heard(void *arg, int peer, const struct hx_control_message *message)
{
    struct world *w = arg;

    if (message->kind == HX_MESSAGE_ASKS) /* a message could not be sent at once */
        ops->tell(w->net, peer, &word);
    else
        words_heard++;
}

static int word_await(struct world *w)
{
    for (double limit = hx_now_s() + 10; words_heard == 0 && hx_now_s() < limit;)
        turn(w);
    return words_heard;
}

/* Rank 0 counts rank 1 as gone, as after a network cut that has healed. It drops what it has to tell. When rank 1 tells it something, it can
 * answer again. */
static void case_gone_asks(struct world *w)
{
    ops->listen(w->net, word_heard, w);
    if (w->me == 0) {
        hx_edge_mark_gone(w->net, w->net->edges[1]);
        ops->tell(w->net, 1, &word);
        for (double until = hx_now_s() + 0.3; hx_now_s() < until;)
            turn(w);
    }
    meet(w, &w->meet->begun, 1);
    if (w->me == 1) {
        check(words_heard == 0);
        ops->tell(w->net, 0, &word);
        check(word_await(w) == 1);
    } else {
        check(word_await(w) == 1);
        ops->tell(w->net, 1, &word);
        check(w->net->edges[1]->gone);
    }
    meet(w, &w->meet->begun, 2);
}

/* Rank 0 reports to rank 1 that it cannot reach rank 2, as if rank 0's own network were cut. Rank 1 reaches rank 2, and goes on. */
static void case_claim(struct world *w)
{
    const struct hx_control_message question = {.kind = HX_MESSAGE_ASKS};
    uint8_t byte = 7;
    struct hx_segment part = {&byte, 1};
    struct hx_net_op op;

    word = (struct hx_control_message){.kind = HX_MESSAGE_DEAD, .ndead = 1, .dead = {HX_UNREACHABLE(2)}};
    ops->listen(w->net, word_heard, w);
    if (w->me == 0)
        ops->tell(w->net, 1, &word);
    if (w->me == 1) {
        check(word_await(w) == 1);
        const double start = hx_now_s();
        for (double now = start; now < start + 2 || (w->net->edges[2]->doubted && now < start + 20); turn(w), now = hx_now_s())
            check(ops->ask(w->net, 2, &question) == 0);
        check(!w->net->edges[2]->doubted);
        check(finish(w, post(w, &op, HX_NET_SEND, 2, 1, &part, 1)) == 1);
    }
    if (w->me == 2)
        check(finish(w, post(w, &op, HX_NET_RECV, 1, 1, &part, 1)) == 1);
    meet(w, &w->meet->begun, 1);
}

static int is_connected(const void *ctx, int fd)
{
    struct sockaddr_storage local, peer;

    (void)ctx;
    return hx_socket_names(fd, &local, &peer) && peer.ss_family != AF_UNSPEC;
}

/* The connection breaks, and the peer lives: it is not called dead. */
static void case_connection_breaks(struct world *w)
{
    const size_t bytes = 16 * w->net->chunk_bytes;
    struct hx_segment part = {fill(bytes, 1), bytes}, one = {part.base, 1};
    struct hx_net_op op;

    check(finish(w, post(w, &op, w->me ? HX_NET_RECV : HX_NET_SEND, !w->me, 1, &one, 1)) == 1);
    if (w->me == 0) {
        post(w, &op, HX_NET_SEND, 1, 2, &part, 1);
        hx_files_visit(is_connected, NULL, hx_socket_reset);
        check(finish(w, &op) == -HX_ERR_TRANSPORT && strstr(w->why, "the peer lives"));
        atomic_store(&w->meet->begun, 1);
    }
    for (double limit = hx_now_s() + 20; atomic_load(&w->meet->begun) == 0 && hx_now_s() < limit;)
        usleep(1000);
    _exit(0);
}

/* The peer dies in the middle of a chunk: the sender learns it. (Between chunks nothing tells it: that is the
 * watchdog's work.) */
static void case_peer_dies(struct world *w)
{
    size_t bytes = 60 * MB;
    struct hx_segment part = {fill(bytes, 1), bytes};
    struct hx_net_op op;
    struct hx_net_counters c = {0};

    if (w->me == 1) {
        while (atomic_load(&w->meet->begun) == 0)
            turn(w);
        for (double end = hx_now_s() + 0.3; hx_now_s() < end;)
            turn(w);
        _exit(0);
    }
    post(w, &op, HX_NET_SEND, 1, 1, &part, 1);
    for (double limit = hx_now_s() + 2; c.chunks_sent == 0 && hx_now_s() < limit; ops->counters(w->net, &c))
        turn(w);
    atomic_store(&w->meet->begun, 1);
    check(finish(w, &op) == -HX_ERR_PEER_DEAD);
    check(strstr(hx_last_detail(), "rank 1") != NULL);
    _exit(0);
}

/* One of three dies before the long messages to it: they fail, and those between the others are not harmed by it. */
static void case_one_dies(struct world *w)
{
    enum { LOST = 12, KEPT = 8, ROUNDS = 40, BYTES = 64 << 10 };
    struct hx_segment to[KEPT], from[KEPT], lost = {fill(BYTES, 0), BYTES};
    struct hx_net_op sends[LOST], receives[KEPT];
    int peer = 1 - w->me;

    if (w->me == 2) {
        atomic_store(&w->meet->begun, 1);
        _exit(0);
    }
    while (atomic_load(&w->meet->begun) == 0)
        usleep(1000);
    usleep(100000);
    w->n = 2;
    for (int i = 0; i < LOST; i++)
        post(w, &sends[i], HX_NET_SEND, 2, (uint64_t)i, &lost, 1);
    for (int i = 0; i < LOST; i++)
        check(finish(w, &sends[i]) == -HX_ERR_PEER_DEAD);
    for (int i = 0; i < KEPT; i++)
        from[i] = (struct hx_segment){malloc(BYTES), BYTES};
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < KEPT; i++) {
            uint64_t match = (uint64_t)(round * KEPT + i);
            to[i] = (struct hx_segment){fill(BYTES, match + (uint64_t)w->me), BYTES};
            post(w, &receives[i], HX_NET_RECV, peer, match, &from[i], 1);
            post(w, &sends[i], HX_NET_SEND, peer, match, &to[i], 1);
        }
        for (int i = 0; i < KEPT; i++) {
            check(finish(w, &receives[i]) == 1 && finish(w, &sends[i]) == 1);
            check(holds(from[i].base, BYTES, (uint64_t)(round * KEPT + i + peer)));
            free(to[i].base);
        }
    }
}

static const char *providers[] = {"net", "tcp;ofi_rxm", "sockets"};
static size_t nproviders = 3;
static enum mode first_mode = PLAIN;

static void everywhere(int n, void (*body)(struct world *))
{
    for (size_t p = 0; p < nproviders; p++)
        for (enum mode mode = first_mode; mode < MODES; mode++) {
            static const char *const names[MODES] = {"", " with registered buffers", " with remote writes"};
            int failed = job_run(providers[p], mode, 0, n, body);
            if (failed != 0)
                fail_msg("%d of %d ranks failed over %s%s", failed, n, providers[p], names[mode]);
        }
}

#define EVERYWHERE(name, n)                                                                                            \
    static void test_##name(void **state)                                                                              \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        everywhere(n, case_##name);                                                                                    \
    }

EVERYWHERE(lengths, 2)
EVERYWHERE(segments, 2)
EVERYWHERE(many, 2)
EVERYWHERE(reverse, 2)
EVERYWHERE(both_ways, 2)
EVERYWHERE(early_short, 2)
EVERYWHERE(early_eager, 2)
EVERYWHERE(early_large, 2)
EVERYWHERE(flows, 2)
EVERYWHERE(slow_receiver, 2)
EVERYWHERE(all_to_all, 4)
EVERYWHERE(cancel, 2)
EVERYWHERE(cancel_region, 2)
EVERYWHERE(cancel_send, 2)
EVERYWHERE(cancel_credits, 2)
EVERYWHERE(cancel_last, 2)
EVERYWHERE(older_credit, 2)
EVERYWHERE(cancel_bounced, 2)
EVERYWHERE(cancel_slots, 2)
EVERYWHERE(mismatch, 2)
EVERYWHERE(too_long, 2)
EVERYWHERE(region, 2)
EVERYWHERE(sleep, 2)
EVERYWHERE(gone_asks, 2)

static void test_claim(void **state)
{
    (void)state;
    if (strcmp(providers[0], "net") != 0) /* others have no kernel that answers: there the claim is believed */
        skip();
    assert_int_equal(job_run(providers[0], first_mode, 0, 3, case_claim), 0);
}

static void test_late_again(void **state)
{
    (void)state;
    assert_int_equal(job_run(providers[0], first_mode, 0, 2, case_late_again), 0);
}

static void test_peer_dies(void **state)
{
    (void)state;
    if (getenv("EFA_WORST"))
        skip(); /* a send may complete before it has arrived */
    if (FI_VERSION_GE(fi_version(), FI_VERSION(1, 20)))
        skip(); /* tcp takes in what nobody has asked for yet */
    assert_int_equal(job_run(providers[0], 0, 64 * MB, 2, case_peer_dies), 0);
}

static void test_connection_breaks(void **state)
{
    (void)state;
    if (strcmp(providers[0], "net") != 0)
        skip(); /* tcp;ofi_rxm tells nothing of it */
    assert_int_equal(job_run(providers[0], 0, 0, 2, case_connection_breaks), 0);
}

static void test_one_dies(void **state)
{
    const char *worst = getenv("EFA_WORST");

    (void)state;
    if (strcmp(providers[0], "efa") != 0)
        skip(); /* over TCP inter/fabric/dead_peer.c finds out */
    setenv("EFA_WORST", worst ? "repeat,reorder" : "", 1); /* with others a send may complete, or not begin */
    int failed = job_run(providers[0], 0, 0, 3, case_one_dies);
    if (worst)
        setenv("EFA_WORST", worst, 1);
    assert_int_equal(failed, 0);
}

/* A child made by fork closes what its parent's network has open, and nothing else; one that executes a program would lose it. */
static void case_child(struct world *w)
{
    int device = open("/dev/full", O_RDONLY), other = open("/dev/zero", O_RDONLY), own = socket(AF_INET, SOCK_STREAM, 0), status, n = 0;
    struct sockaddr_storage local, peer;
    struct stat st;

    check(fstat(device, &st) == 0);
    hx_fabric_test.device = st.st_rdev;
    case_lengths(w);
    for (double end = hx_now_s() + 0.4; hx_now_s() < end; usleep(1000))
        ops->progress(w->net);
    for (int fd = 0; fd < 1000; fd++)
        if (fd != own && hx_socket_names(fd, &local, &peer)) {
            n++;
            check(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        }
    check(n >= 2); /* a listener, and a connection */
    if (fork() == 0) {
        ops->close_in_child(w->net);
        for (int fd = 0; fd < 1000; fd++)
            check(fd == own || !hx_socket_names(fd, &local, &peer));
        check(fcntl(device, F_GETFD) < 0 && fcntl(other, F_GETFD) >= 0 && fcntl(own, F_GETFD) >= 0);
        _exit(0);
    }
    check(wait(&status) > 0 && status == 0);
}

static void test_child(void **state)
{
    (void)state;
    if (strcmp(providers[0], "efa") == 0)
        skip(); /* the provider of the tests has neither */
    for (size_t i = 0; i < nproviders; i++)
        assert_int_equal(job_run(providers[i], 0, 0, 2, case_child), 0);
}

/* Chunks shorter than an eager message, and as long as they may be. */
static void test_chunk_setting(void **state)
{
    (void)state;
    if (getenv("EFA_WORST"))
        skip(); /* ten thousand chunks, each with a mishap */
    assert_int_equal(job_run(providers[0], 0, 1000, 2, case_lengths), 0);
    assert_int_equal(job_run(providers[0], 1, 100000, 2, case_segments), 0);
    assert_int_equal(job_run(providers[0], 0, 4 * MB, 2, case_lengths), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {

        cmocka_unit_test(test_lengths),     cmocka_unit_test(test_segments),    cmocka_unit_test(test_many),
        cmocka_unit_test(test_reverse),     cmocka_unit_test(test_both_ways),   cmocka_unit_test(test_early_short),
        cmocka_unit_test(test_early_eager), cmocka_unit_test(test_early_large), cmocka_unit_test(test_all_to_all),
        cmocka_unit_test(test_flows),
        cmocka_unit_test(test_slow_receiver),
        cmocka_unit_test(test_cancel),      cmocka_unit_test(test_cancel_region), cmocka_unit_test(test_cancel_send),
        cmocka_unit_test(test_cancel_credits), cmocka_unit_test(test_cancel_last), cmocka_unit_test(test_older_credit),
        cmocka_unit_test(test_cancel_bounced), cmocka_unit_test(test_cancel_slots), cmocka_unit_test(test_mismatch),
        cmocka_unit_test(test_too_long),
        cmocka_unit_test(test_region),     cmocka_unit_test(test_sleep),       cmocka_unit_test(test_gone_asks),
        cmocka_unit_test(test_claim),
        cmocka_unit_test(test_late_again), cmocka_unit_test(test_peer_dies),   cmocka_unit_test(test_one_dies),
        cmocka_unit_test(test_connection_breaks),
        cmocka_unit_test(test_chunk_setting), cmocka_unit_test(test_child),
    };

    const char *sanitizer = getenv("TEST_SANITIZER");

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    if (sanitizer && *sanitizer != '\0')
        nproviders = 1; /* nearly all that is ours is the same over each */
    if (getenv("TEST_PROVIDER")) { /* that one only, which bounces whatever is asked for */
        providers[0] = getenv("TEST_PROVIDER");
        nproviders = 1;
        first_mode = BOUNCED;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
