/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages without a valid proof. Rank 1 plays the stranger now and then: it has the address of a rank, but other keys. Messages that it
 * sends as a stranger are counted by rank 0 and have no other effect. Messages that it sends with the job's keys are received.
 */
#include "tests/inter/fabric/job.h"

static void keys_change(struct world *w, int stranger)
{
    unsigned char other[HX_NET_KEY_BYTES] = "somebody else's";

    hx_proofs_open(w->net, stranger ? other : job_key);
}

static uint64_t forged(const struct world *w)
{
    struct hx_net_counters c;

    ops->counters(w->net, &c);
    return c.forged;
}

/* Make progress until so many messages were dropped. */
static void await_forged(struct world *w, uint64_t n)
{
    double limit = hx_now_s() + 20;

    while (forged(w) < n && hx_now_s() < limit)
        turn(w);
    check(forged(w) == n);
}

/* Say it, now. */
static void word_say(struct world *w, int peer, const struct hx_control_message *message)
{
    double limit = hx_now_s() + 20;

    while (hx_control_message_ask(w->net, w->net->edges[peer], message) < 0 && hx_now_s() < limit)
        turn(w);
    while (w->net->edges[peer]->control_messages > 0 && hx_now_s() < limit)
        turn(w);
    check(w->net->edges[peer]->control_messages == 0);
}

static int heard;
static struct hx_control_message last_heard;

static void hear(void *arg, int peer, const struct hx_control_message *message)
{
    (void)arg;
    heard += peer == 1;
    last_heard = *message;
}

/* Words of a stranger are dropped: no rank is reported as dead. */
static void case_words(struct world *w)
{
    struct hx_control_message message = {.kind = HX_MESSAGE_DEAD, .ndead = 1, .dead = {1}};

    ops->listen(w->net, hear, NULL);
    if (w->me == 1) {
        keys_change(w, 1);
        word_say(w, 0, &message);
        meet(w, &w->meet->arrived, 2);
        keys_change(w, 0);
        message.kind = HX_MESSAGE_FAILED;
        message.ndead = 0;
        word_say(w, 0, &message);
        meet(w, &w->meet->arrived, 3);
        return;
    }
    await_forged(w, 1);
    check(heard == 0 && !w->net->edges[1]->gone);
    meet(w, &w->meet->arrived, 2);
    for (double limit = hx_now_s() + 20; heard == 0 && hx_now_s() < limit;)
        turn(w);
    check(heard == 1 && last_heard.kind == HX_MESSAGE_FAILED && forged(w) == 1);
    meet(w, &w->meet->arrived, 3);
}

/* A word that was accepted is not accepted again when somebody repeats it. Late words are accepted, except very late ones. */
static void case_repeated(struct world *w)
{
    static const struct {
        uint64_t number;
        int is_new;
    } said[] = {{1, 1}, {1, 0}, {101, 1}, {51, 1}, {3, 0}};
    const struct hx_control_message message = {.kind = HX_MESSAGE_FAILED};
    int expected = 0;

    ops->listen(w->net, hear, NULL);
    for (int i = 0; i < 5; i++) {
        expected += said[i].is_new;
        if (w->me == 1) {
            w->net->edges[0]->control_sent[HX_CONTROL_MESSAGE] = said[i].number - 1;
            word_say(w, 0, &message);
        } else {
            for (double limit = hx_now_s() + 20; heard + (int)forged(w) < i + 1 && hx_now_s() < limit;)
                turn(w);
            check(heard == expected && forged(w) == (uint64_t)(i + 1 - expected));
        }
        meet(w, &w->meet->arrived, 2 + i);
    }
}

/* Forged short messages, before and after their receive is posted; some longer and one shorter than expected. The genuine message
 * overwrites the forged data, and messages behind a forged one are not lost. (Without a sink the provider tells nothing but that a message
 * was longer, so there none is.) */
static void case_data(struct world *w)
{
    static const size_t lengths[] = {8, 5000, 8192, 8, 4000, 40, 3000, 8}, faked[] = {8, 5000, 8192, 3, 4000, 5000, 8192, 100};
    int is_late[] = {0, 0, 1, 0, 1, 0, 1, 1};

    if (w->net->write_bytes > 0) /* what is written is invited */
        return;
    for (uint64_t i = 0; i < 8; i++) {
        const size_t fake = faked[i] > lengths[i] && !hx_sink_is_needed(w->net) ? lengths[i] : faked[i];
        uint8_t *lie = fill(fake, 77), *truth = fill(lengths[i], i), *in = calloc(1, lengths[i]), next = (uint8_t)i;
        struct hx_segment lies = {lie, fake}, truths = {truth, lengths[i]}, to = {in, lengths[i]}, follows = {&next, 1};
        struct hx_net_op op, other;

        if (w->me == 1) {
            if (is_late[i])
                meet(w, &w->meet->arrived, 3 * (int)i + 2);
            keys_change(w, 1);
            check(finish(w, post(w, &op, HX_NET_SEND, 0, i, &lies, 1)) == 1);
            if (!is_late[i])
                meet(w, &w->meet->arrived, 3 * (int)i + 2);
            keys_change(w, 0);
            check(finish(w, post(w, &other, HX_NET_SEND, 0, 100 + i, &follows, 1)) == 1);
            meet(w, &w->meet->arrived, 3 * (int)i + 3);
            check(finish(w, post(w, &other, HX_NET_SEND, 0, i, &truths, 1)) == 1);
        } else {
            if (!is_late[i])
                meet(w, &w->meet->arrived, 3 * (int)i + 2);
            post(w, &op, HX_NET_RECV, 1, i, &to, 1);
            if (is_late[i])
                meet(w, &w->meet->arrived, 3 * (int)i + 2);
            await_forged(w, i + 1);
            check(op.done == 0 && op.doubt != 0 && op.doubt_chunk == 0);
            meet(w, &w->meet->arrived, 3 * (int)i + 3);
            check(finish(w, &op) == 1 && holds(in, lengths[i], i) && forged(w) == i + 1);
            next = 255;
            check(finish(w, post(w, &other, HX_NET_RECV, 1, 100 + i, &follows, 1)) == 1 && next == i);
        }
        meet(w, &w->meet->arrived, 3 * (int)i + 4);
        free(lie);
        free(truth);
        free(in);
    }
}

/* Forged messages and the genuine one arrive before the receive, in any order: the genuine one is found. Messages of a communicator that
 * nobody has received are dropped with the communicator, and their memory is released. */
static void case_early(struct world *w)
{
    static const size_t lengths[] = {8, 5000, 8192, 5000};
    enum { KINDS = sizeof(lengths) / sizeof(lengths[0]), UNWANTED = 100 };
    static struct hx_net_op op[3][KINDS], unwanted, last;
    uint8_t byte = 1;
    struct hx_segment end = {&byte, 1}, parts[2][KINDS];

    if (w->net->write_bytes > 0)
        return;
    for (uint64_t i = 0; i < KINDS; i++) {
        parts[0][i] = (struct hx_segment){w->me == 1 ? fill(lengths[i], i) : calloc(1, lengths[i]), lengths[i]};
        parts[1][i] = (struct hx_segment){fill(lengths[i], 77), lengths[i]};
    }
    check(finish(w, post(w, &last, w->me ? HX_NET_SEND : HX_NET_RECV, !w->me, UNWANTED + 2, &end, 1)) == 1); /* there is a connection */
    if (w->me == 1) {
        for (uint64_t i = 0; i < KINDS; i++)
            for (uint64_t k = 0; k < 3; k++) {
                keys_change(w, k != i % 3);
                post(w, &op[k][i], HX_NET_SEND, 0, i, &parts[k != i % 3][i], 1);
                for (double limit = hx_now_s() + 20; op[k][i].posted_bytes < lengths[i] && hx_now_s() < limit;) /* it may be refused for now */
                    turn(w);
                check(op[k][i].posted_bytes == lengths[i]);
            }
        keys_change(w, 0);
        post(w, &unwanted, HX_NET_SEND, 0, UNWANTED, &parts[0][1], 1);
        check(finish(w, post(w, &last, HX_NET_SEND, 0, UNWANTED + 1, &end, 1)) == 1);
    } else {
        check(finish(w, post(w, &last, HX_NET_RECV, 1, UNWANTED + 1, &end, 1)) == 1);
        for (uint64_t i = 0; i < KINDS; i++)
            check(finish(w, post(w, &op[0][i], HX_NET_RECV, 1, i, &parts[0][i], 1)) == 1 && holds(parts[0][i].base, lengths[i], i));
        ops->forget(w->net, 1, 0, 0, 0, UNWANTED + 1);
        check(w->net->edges[1]->unexpected_bytes == 0 && !w->net->edges[1]->unexpected);
    }
    meet(w, &w->meet->arrived, 2);
}

/* The proof of a dropped message tells of which call it was. The receive can be cancelled. */
static void case_doubt(struct world *w)
{
    static uint8_t byte[8];
    struct hx_segment part = {byte, 8};
    struct hx_net_op op = {.direction = w->me ? HX_NET_SEND : HX_NET_RECV, .peer = !w->me, .match = 5, .segments = &part, .nsegments = 1,
                           .signature = w->me ? 1234 : 4321};

    if (w->net->write_bytes > 0)
        return;
    ops->post(w->net, &op);
    if (w->me == 1) {
        check(finish(w, &op) == 1);
    } else {
        await_forged(w, 1);
        check(op.doubt == ops->proof(w->net, 1, 0, 5, 0, 1234) && op.doubt != ops->proof(w->net, 0, 1, 5, 0, 1234));
        take_back(w->net, &op);
        check(op.done < 0 && !w->net->broken);
    }
    meet(w, &w->meet->arrived, 2);
}

/* A stranger's credits let nothing through; genuine ones let the message go on. */
static void case_credits(struct world *w)
{
    size_t bytes = 64 * w->net->chunk_bytes;
    uint8_t *buffer = w->me ? calloc(1, bytes) : fill(bytes, 9);
    struct hx_segment part = {buffer, bytes};
    struct hx_net_op op;
    double limit = hx_now_s() + 20;

    if (w->net->write_bytes > 0)
        return;
    if (w->me == 0) {
        post(w, &op, HX_NET_SEND, 1, 1, &part, 1);
        while (!w->net->edges[1]->credits.posted)
            turn(w);
        meet(w, &w->meet->arrived, 2);
        await_forged(w, 1);
        check(hx_flow_of(w->net->edges[1], 0)->acknowledged == 0);
        meet(w, &w->meet->arrived, 3);
        check(finish(w, &op) == 1 && forged(w) == 1);
    } else {
        struct hx_edge *edge = w->net->edges[0];
        struct hx_flow *flow = hx_flow_of(edge, 0);
        meet(w, &w->meet->arrived, 2);
        keys_change(w, 1);
        flow->received = 1000;
        while (hx_credit_send(w->net, edge, flow) != 0 && hx_now_s() < limit)
            turn(w);
        flow->received = flow->reported = 0;
        meet(w, &w->meet->arrived, 3);
        keys_change(w, 0);
        check(finish(w, post(w, &op, HX_NET_RECV, 0, 1, &part, 1)) == 1 && holds(buffer, bytes, 9));
    }
    meet(w, &w->meet->arrived, 4);
}

/* A stranger's invitations cause no writes, and a write without an invitation is not taken for a message. */
static void case_invitations(struct world *w)
{
    enum { BYTES = 60000 };
    uint8_t *buffer = w->me ? calloc(1, BYTES) : fill(BYTES, 3);
    struct hx_segment part = {buffer, BYTES};
    struct hx_net_op op;

    if (w->net->write_bytes == 0)
        return;
    if (w->me == 0) {
        post(w, &op, HX_NET_SEND, 1, 1, &part, 1);
        await_forged(w, 1);
        check(op.done == 0 && op.posted_bytes == 0);
    } else {
        keys_change(w, 1);
        post(w, &op, HX_NET_RECV, 0, 1, &part, 1);
    }
    meet(w, &w->meet->arrived, 2);
    check(op.done == 0 && (w->me == 0 || buffer[0] == 0));
    for (uint32_t i = 0; i < 1000; i++) {
        uint32_t number = i * 2654435761u;
        check(hx_number_decrypt(w->net, hx_number_encrypt(w->net, number)) == number && hx_number_encrypt(w->net, i) != i);
    }
    _exit(0); /* it is never written */
}

/* What a communicator that has failed was invited to and never sent is forgotten with it: the same match id is of another call later. */
static void case_forgotten(struct world *w)
{
    enum { BYTES = 5000 };
    uint8_t *buffer = w->me ? calloc(1, BYTES) : fill(BYTES, 3);
    struct hx_segment part = {buffer, BYTES};
    struct hx_net_op op = {.direction = w->me ? HX_NET_RECV : HX_NET_SEND, .peer = !w->me, .match = 1, .segments = &part, .nsegments = 1}, first = op;
    double limit = hx_now_s() + 20;

    if (w->net->write_bytes == 0)
        return;
    first.signature = 1111;
    op.signature = 2222;
    if (w->me == 1) {
        ops->post(w->net, &first);
        for (int i = 0; i < 100 || first.posted_bytes < BYTES; i++)
            turn(w);
        take_back(w->net, &first);
        check(first.done < 0 && !w->net->broken);
    } else {
        struct hx_net_op other = first; /* without a message to write nobody listens to invitations */
        other.match = 2;
        ops->post(w->net, &other);
        while (!w->net->edges[1]->invites && hx_now_s() < limit)
            turn(w);
        take_back(w->net, &other);
        check(w->net->edges[1]->invites != NULL);
        ops->forget(w->net, 1, 0, 0, 1, 1);
    }
    meet(w, &w->meet->arrived, 2);
    ops->post(w->net, &op);
    check(finish(w, &op) == 1 && (w->me == 0 || holds(buffer, BYTES, 3)));
    meet(w, &w->meet->arrived, 3);
}

static const char *providers[] = {"net", "tcp;ofi_rxm"};
static size_t nproviders = 2;
static enum mode first_mode = PLAIN;

static void everywhere(void (*body)(struct world *))
{
    for (size_t p = 0; p < nproviders; p++)
        for (enum mode mode = first_mode; mode < MODES; mode++)
            assert_int_equal(job_run(providers[p], mode, 0, 2, body), 0);
}

#define EVERYWHERE(name)                                                                                               \
    static void test_##name(void **state)                                                                              \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        everywhere(case_##name);                                                                                       \
    }

EVERYWHERE(words)
EVERYWHERE(repeated)
EVERYWHERE(data)
EVERYWHERE(early)
EVERYWHERE(doubt)
EVERYWHERE(credits)
EVERYWHERE(invitations)
EVERYWHERE(forgotten)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words), cmocka_unit_test(test_repeated), cmocka_unit_test(test_data),
        cmocka_unit_test(test_early), cmocka_unit_test(test_doubt),    cmocka_unit_test(test_credits),
        cmocka_unit_test(test_invitations), cmocka_unit_test(test_forgotten),
    };

    if (getenv("TEST_PROVIDER")) {
        providers[0] = getenv("TEST_PROVIDER");
        nproviders = 1;
        first_mode = BOUNCED;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
