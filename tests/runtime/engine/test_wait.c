/* SPDX-License-Identifier: BSD-3-Clause */
/* How a rank waits that has a mate: who has one, and when looking ends and the core is given away. And a wait during which the rank's network
 * endpoint opens. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "runtime/engine/wait.h"
#include "runtime/base/clock.h"
#include <sys/eventfd.h>
#include <unistd.h>

enum { MOST = 4 };

static struct hx_doorbell doorbells[MOST];

static void start(struct hx_waiter *w, struct hx_shared *shared, int n, int me, const int *cpus, double ranks_per_cpu, int looks)
{
    *shared = (struct hx_shared){.n = n, .me = me, .doorbells = doorbells};
    for (int i = 0; i < n; i++)
        doorbells[i].cpu = cpus[i];
    hx_waiter_init(w, shared, ranks_per_cpu, looks);
}

static void mates_share_a_processing_unit(void **state)
{
    static const struct {
        int n, cpus[MOST], mates[MOST];
    } cases[] = {
        {1, {3}, {-1}},
        {2, {0, 1}, {-1, -1}},
        {2, {5, 5}, {1, 0}},
        {4, {0, 1, 0, 1}, {2, 3, 0, 1}},
        {3, {0, 1, 0}, {2, -1, 0}},
        {4, {0, 1, 0, 0}, {-1, -1, -1, -1}},  /* three */
        {4, {0, 1, 0, -1}, {-1, -1, -1, -1}}, /* the last may run anywhere */
        {2, {-1, -1}, {-1, -1}},
    };
    struct hx_shared shared;
    struct hx_waiter w;

    (void)state;
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        for (int me = 0; me < cases[k].n; me++) {
            start(&w, &shared, cases[k].n, me, cases[k].cpus, 2, -1);
            assert_int_equal(shared.mate, cases[k].mates[me]);
            start(&w, &shared, cases[k].n, me, cases[k].cpus, 4, -1); /* a quota leaves less of the units */
            assert_int_equal(shared.mate, -1);
            start(&w, &shared, cases[k].n, me, cases[k].cpus, 2, 7); /* HX_SPIN decides */
            assert_int_equal(shared.mate, -1);
        }
    }
}

struct looking {
    struct hx_waiter *w;
    enum hx_awaited awaited;
    uint64_t looks, yields, before[3]; /* looks before the first yield and the next */
};

static int look(void *ctx)
{
    struct looking *l = ctx;

    l->w->awaited = l->awaited;
    if (l->w->yields > l->yields)
        l->before[l->yields++] = l->looks;
    l->looks++;
    return l->yields == 3 || l->w->sleeps;
}

/* Looks until a yield, and from it to the next: of a rank whose mate should run; whose mate waits too; that knows nothing. */
static void the_mate_decides(void **state)
{
    static const int cpus[] = {0, 0};
    static const struct {
        enum hx_awaited awaited;
        uint64_t first[2], next[2]; /* at least, at most */
    } cases[] = {
        {HX_AWAITED_MATE, {1, 1}, {1, 1}},
        {HX_AWAITED_ELSEWHERE, {50, 1000}, {50, 1000}},
        {HX_AWAITED_ANY, {2, 49}, {1, 1}},
    };
    struct hx_shared shared;
    struct hx_waiter w;

    (void)state;
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        struct hx_wait_clock wait_clock = {0};
        struct looking l;
        do { /* it sleeps if the machine has taken the core away for so long */
            l = (struct looking){.w = &w, .awaited = cases[k].awaited};
            start(&w, &shared, 2, 0, cpus, 2, -1);
            assert_int_equal(hx_wait_until(&w, &(struct hx_wait){.look = look, .ctx = &l, .wait_clock = &wait_clock}), HX_SUCCESS);
        } while (w.sleeps);
        assert_in_range(l.before[0], cases[k].first[0], cases[k].first[1]);
        assert_in_range(l.before[1] - l.before[0], cases[k].next[0], cases[k].next[1]);
    }
}

struct moving {
    struct hx_waiter *w;
    uint64_t start, yields;
};

static int look_moves(void *ctx)
{
    struct moving *m = ctx;

    hx_notify(m->w);
    return m->w->yields - m->yields >= 1500 || m->w->sleeps;
}

/* A rank does not sleep while things move. Time in which others have the core proves nothing. */
static void what_moves_is_awaited_awake(void **state)
{
    static const int cpus[] = {0, 1};
    struct hx_wait_clock wait_clock = {0};
    struct hx_shared shared;
    struct hx_waiter w;

    (void)state;
    start(&w, &shared, 2, 0, cpus, 1000, -1);
    for (int tries = 0; tries < 10; tries++) {
        struct moving m = {.w = &w, .start = hx_now_ns(), .yields = w.yields};
        w.sleeps = 0;
        assert_int_equal(hx_wait_until(&w, &(struct hx_wait){.look = look_moves, .ctx = &m, .wait_clock = &wait_clock}), HX_SUCCESS);
        assert_true(!w.sleeps || hx_now_ns() - m.start > 19000000);
    }
}

struct opening {
    struct hx_waiter *w;
    int fd;             /* of the endpoint; -1: it has none */
    int looks, arms;
    uint64_t sleeps_before; /* it was polled */
};

static int fd_of(struct hx_net *net)
{
    return ((struct opening *)net)->fd;
}

static int arm(struct hx_net *net)
{
    struct opening *o = (struct opening *)net;

    if (o->arms++ == 0)
        o->sleeps_before = o->w->sleeps;
    return 0;
}

enum { STEPS = 20 };

/* The first look opens the endpoint. */
static int look_opens(void *ctx)
{
    struct opening *o = ctx;

    if (o->looks++ == 0)
        o->w->net = (struct hx_net *)o;
    return o->fd >= 0 ? o->arms > 0 : o->w->sleeps >= STEPS;
}

/* What arrives at an endpoint that has opened during a wait ends that wait at once: the rank polls its descriptor, or sleeps in short steps. */
static void an_endpoint_opens(void **state)
{
    static const struct hx_net_ops net_ops = {.wait_fd = fd_of, .arm = arm};
    static const int cpus[] = {0, 1};
    int wake_fds[] = {eventfd(0, EFD_NONBLOCK), -1};
    const int ready = eventfd(1, EFD_NONBLOCK);

    (void)state;
    assert_true(wake_fds[0] >= 0 && ready >= 0);
    for (int has_fd = 0; has_fd < 2; has_fd++) {
        const uint64_t begun = hx_now_ns();
        struct hx_wait_clock wait_clock = {0};
        struct hx_shared shared;
        struct hx_waiter w;
        struct opening o = {.w = &w, .fd = has_fd ? ready : -1};
        start(&w, &shared, 2, 0, cpus, 1, -1);
        shared.wake_fds = wake_fds;
        w.net_ops = &net_ops;
        assert_int_equal(hx_sleep_until(&w, &(struct hx_wait){.look = look_opens, .ctx = &o, .wait_clock = &wait_clock}), HX_SUCCESS);
        assert_int_equal(o.sleeps_before, 0);
        assert_in_range(hx_now_ns() - begun, 0, STEPS * UINT64_C(50000000)); /* a sleep that nothing ends takes twice as long */
    }
    close(wake_fds[0]);
    close(ready);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mates_share_a_processing_unit),
        cmocka_unit_test(the_mate_decides),
        cmocka_unit_test(what_moves_is_awaited_awake),
        cmocka_unit_test(an_endpoint_opens),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
