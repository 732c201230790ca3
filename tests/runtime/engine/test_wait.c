/* SPDX-License-Identifier: BSD-3-Clause */
/* How a rank waits that has a mate: who has one, and when looking ends and the core is given away. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "runtime/engine/wait.h"
#include "runtime/base/clock.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mates_share_a_processing_unit),
        cmocka_unit_test(the_mate_decides),
        cmocka_unit_test(what_moves_is_awaited_awake),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
