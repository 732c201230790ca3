/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connecting after start-up, and faulty messages about addresses. Every rank opens its endpoint at start and connects to no other. A directory in
 * shared memory has the addresses that the case has entered.
 */
#include "tests/inter/fabric/job.h"

static struct {
    int known[RANKS_MAX]; /* is the address of this rank in the directory of this process? */
    int gate;             /* the gate of all nodes; -1: none */
    int wants, refusals, entries[RANKS_MAX];
} book;

static const void *find(void *arg, int rank, size_t *bytes, const char **why)
{
    (void)arg;
    (void)why;
    *bytes = meeting->bytes[rank];
    return book.known[rank] ? meeting->blob[rank] : NULL;
}

static void enter(void *arg, int rank, const void *address, size_t bytes)
{
    (void)arg;
    book.entries[rank]++;
    book.known[rank] |= bytes == meeting->bytes[rank] && memcmp(address, meeting->blob[rank], bytes) == 0;
}

static void refuse(void *arg, int rank, hx_status_t status, const char *why)
{
    (void)arg;
    (void)rank;
    (void)status;
    (void)why;
    book.refusals++;
}

static int gate(void *arg, int peer, unsigned turn)
{
    (void)arg;
    (void)peer;
    (void)turn;
    return book.gate;
}

static void want(void *arg, int rank, int by)
{
    (void)arg;
    (void)rank;
    (void)by;
    book.wants++;
}

static int wanted(void *arg)
{
    (void)arg;
    return -1;
}

static void directory_use(struct world *w, int known_gate)
{
    const struct hx_net_directory directory = {.find = find, .enter = enter, .refuse = refuse, .gate = gate, .want = want, .wanted = wanted};

    book.known[w->me] = book.known[0] = 1;
    book.gate = known_gate;
    if (known_gate >= 0)
        book.known[known_gate] = 1;
    check(ops->look_up(w->net, &directory) == HX_SUCCESS);
}

static void await(struct world *w, const int *count, int n)
{
    for (double limit = hx_now_s() + 20; *count < n && hx_now_s() < limit;)
        turn(w);
    check(*count == n);
}

/* While four questions to a gate are in flight, this rank sends it no more, however long it asks. */
static void case_silent_gate(struct world *w)
{
    uint8_t byte = 1;
    const struct hx_segment part = {&byte, 1};
    const double limit = hx_now_s() + 20;
    struct hx_net_op op;
    struct hx_edge *gate_edge;
    uint64_t sent;

    directory_use(w, 1);
    if (w->me == 0) {
        post(w, &op, HX_NET_SEND, 2, 1, &part, 1);
        while ((!w->net->edges[1] || w->net->edges[1]->control_messages > 0) && hx_now_s() < limit)
            turn(w);
        check((gate_edge = w->net->edges[1]));
        gate_edge->control_messages = 4;
        sent = gate_edge->control_sent[HX_CONTROL_MESSAGE];
        for (double until = hx_now_s() + 0.7; hx_now_s() < until;)
            turn(w);
        check(op.done == 0 && gate_edge->control_sent[HX_CONTROL_MESSAGE] == sent);
        gate_edge->control_messages = 0;
        while (gate_edge->control_sent[HX_CONTROL_MESSAGE] == sent && hx_now_s() < limit)
            turn(w);
        check(gate_edge->control_sent[HX_CONTROL_MESSAGE] > sent);
        take_back(w->net, &op);
    } else if (w->me == 1) {
        while (book.wants < 2 && hx_now_s() < limit)
            turn(w);
        check(book.wants >= 2);
    }
    meet(w, &w->meet->arrived, 2);
}

/* Send it. number: of the control message; 0: the next. */
static void word_say(struct world *w, struct hx_edge *edge, uint64_t number, const struct hx_control_message *message)
{
    uint64_t *sent = &edge->control_sent[HX_CONTROL_MESSAGE];
    double limit = hx_now_s() + 20;
    int rc;

    do {
        const uint64_t before = *sent;
        *sent = number ? number - 1 : before;
        rc = hx_control_message_ask(w->net, edge, message);
        *sent = *sent < before ? before : *sent; /* for what this rank answers */
        if (rc < 0)
            turn(w);
    } while (rc < 0 && hx_now_s() < limit);
    while (edge->control_messages > 0 && hx_now_s() < limit)
        turn(w);
    check(edge->control_messages == 0);
}

static struct hx_control_message address_of(int rank, int wants)
{
    struct hx_control_message message = {.kind = HX_MESSAGE_ADDRESS, .rank = rank, .context = wants, .address.length = meeting->bytes[rank]};

    memcpy(message.address.bytes, meeting->blob[rank], meeting->bytes[rank]);
    return message;
}

/* Rank 1 knows rank 0 before rank 0 knows rank 1. */
static struct hx_edge *edge_of_rank0(struct world *w)
{
    struct hx_edge *edge;

    check(hx_edge_make(w->net, 0, meeting->blob[0], meeting->bytes[0], &edge) == HX_SUCCESS);
    return w->net->edges[0] = edge;
}

static void await_forged(struct world *w, uint64_t n)
{
    for (double limit = hx_now_s() + 20; w->net->count.forged < n && hx_now_s() < limit;)
        turn(w);
    check(w->net->count.forged == n);
}

/* An address that somebody repeats is dropped, also the first one, by which the two ranks were connected. */
static void case_repeated(struct world *w)
{
    struct hx_control_message message = address_of(1, 2);

    directory_use(w, -1);
    if (w->me == 1) {
        struct hx_edge *edge = edge_of_rank0(w);
        for (uint64_t i = 0; i < 4; i++) {
            word_say(w, edge, 1 + i / 2 * 40, &message);
            meet(w, &w->meet->arrived, 2 + (int)i);
        }
        return;
    }
    for (int i = 0; i < 4; i++) {
        if (w->me == 2) {
            meet(w, &w->meet->arrived, 2 + i);
            continue;
        }
        await(w, &book.wants, 1 + i / 2);
        await_forged(w, (uint64_t)(i + 1) / 2);
        meet(w, &w->meet->arrived, 2 + i);
    }
}

/* A faulty member sends a status that does not exist, a text without an end, or the address of the receiver. All are ignored. */
static void case_faulty(struct world *w)
{
    static const int32_t wrong[] = {-HX_ERR_PEER_DEAD, 9999, INT32_MIN};
    struct hx_control_message message = address_of(1, 2), bad = {.kind = HX_MESSAGE_ADDRESS, .rank = 2, .context = -1, .address = {2, "x"}};
    struct hx_control_message own = address_of(0, -1);

    directory_use(w, -1);
    if (w->me == 1) {
        struct hx_edge *edge = edge_of_rank0(w);
        word_say(w, edge, 0, &message);
        for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
            bad.status = wrong[i];
            word_say(w, edge, 0, &bad);
        }
        bad.status = HX_ERR_PEER_DEAD;
        bad.address.bytes[1] = 'y';
        word_say(w, edge, 0, &bad);
        word_say(w, edge, 0, &own);
        word_say(w, edge, 0, &message);
    } else if (w->me == 0) {
        await(w, &book.wants, 2);
        check(book.refusals == 0 && book.entries[0] == 0 && book.entries[1] > 0 && w->net->count.forged == 0);
    }
    meet(w, &w->meet->arrived, 2);
}

/* After the endpoint has broken, nothing waits for a meeting. */
static void case_broken(struct world *w)
{
    const struct hx_control_message message = {.kind = HX_MESSAGE_FAILED};
    uint8_t byte = 1;
    const struct hx_segment part = {&byte, 1};
    const int peer = w->me == 2 ? 1 : 2;
    struct hx_net_op op;

    directory_use(w, -1);
    post(w, &op, HX_NET_SEND, peer, 1, &part, 1);
    ops->tell(w->net, peer, &message);
    check(op.done == 0 && hx_meetings_have_news(w->net));
    hx_fail(HX_ERR_TRANSPORT, "the test breaks it");
    hx_net_break(w->net, HX_ERR_TRANSPORT);
    check(op.done == -(int)HX_ERR_TRANSPORT && !hx_meetings_have_news(w->net));
    ops->tell(w->net, peer, &message);
    check(!hx_meetings_have_news(w->net) && ops->deliver(w->net, peer, &message) == -1 && !ops->ask(w->net, peer, &message));
    op.done = 0;
    hx_meeting_post(w->net, &op);
    check(op.done == -(int)HX_ERR_TRANSPORT);
    ops->close(w->net, 1);
    _exit(0);
}

#define OVER_TCP(name, ranks)                                                                                          \
    static void test_##name(void **state)                                                                              \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        assert_int_equal(job_run("net", PLAIN, 0, ranks, case_##name), 0);                                             \
        assert_int_equal(job_run("tcp;ofi_rxm", PLAIN, 0, ranks, case_##name), 0);                                     \
    }

OVER_TCP(silent_gate, 3)
OVER_TCP(repeated, 3)
OVER_TCP(faulty, 3)
OVER_TCP(broken, 3)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_silent_gate),
        cmocka_unit_test(test_repeated),
        cmocka_unit_test(test_faulty),
        cmocka_unit_test(test_broken),
    };

    connects = 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
