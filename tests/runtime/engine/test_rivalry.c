/* SPDX-License-Identifier: BSD-3-Clause */
/* HX_ADAPT on a simulated machine: when calls try the other plan, what is decided, how long a wrong decision lasts, and that ranks which see
 * the same times decide alike. */
#include "runtime/engine/rivalry.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const uint32_t warm[2] = {16, 0};

/* A program whose calls take what ns says, on one rank. */
struct program {
    struct hx_rivalry rivalry;
    uint32_t (*ns)(const struct program *program, int plan);
    uint32_t fixed[2];
    int calls, changes, trials;
    int in_use_for; /* calls since the last change */
    int tries;      /* this call is by the plan that is not in use */
    int by[2];      /* calls by each plan */
};

static uint32_t ns_fixed(const struct program *program, int plan)
{
    return program->fixed[plan];
}

static struct program program_of(uint32_t plan, uint32_t rival)
{
    struct program program = {.ns = ns_fixed, .fixed = {plan, rival}};

    hx_rivalry_begin(&program.rivalry);
    return program;
}

/* Run one call. Returns what it was for. */
static enum hx_rivalry_now call_run(struct program *program)
{
    struct hx_rivalry *r = &program->rivalry;
    uint32_t used, other;
    int plan;
    enum hx_rivalry_now now = hx_rivalry_next(r, warm, &plan);

    program->tries = plan != r->in_use;
    program->calls++;
    program->in_use_for++;
    program->by[plan]++;
    if (now == HX_RIVALRY_PLAIN)
        return now;
    r->ns[r->timed - 1] = program->ns(program, plan);
    if (now != HX_RIVALRY_AGREE)
        return now;
    program->trials += r->timed == HX_TRIAL_CALLS;
    if (hx_rivalry_decide(r, &used, &other)) {
        program->changes++;
        program->in_use_for = 0;
    }
    return now;
}

static void calls_run(struct program *program, int calls)
{
    while (calls-- > 0)
        call_run(program);
}

/* The order of the calls of a first trial. */
static void test_order_of_calls(void **state)
{
    struct program p = program_of(1000, 900);

    (void)state;
    for (int i = 0; i < HX_LOOK_FIRST; i++)
        assert_true(call_run(&p) == HX_RIVALRY_PLAIN && !p.tries);
    for (int part = 0; part < 3; part++) {
        for (uint32_t i = 0; part == 1 && i < warm[1]; i++)
            assert_true(call_run(&p) == HX_RIVALRY_PLAIN && p.tries);
        for (int i = 1; i <= HX_LOOK_CALLS; i++) {
            assert_int_equal(call_run(&p), i == HX_LOOK_CALLS && part != 1 ? HX_RIVALRY_AGREE : HX_RIVALRY_TIMED);
            assert_int_equal(p.tries, part == 1);
        }
    }
    assert_true(p.trials == 1 && p.changes == 0); /* not an eighth faster */
    assert_int_equal(call_run(&p), HX_RIVALRY_PLAIN);
}

/* A faster rival is in use soon, and for good. When its calls become slower, the other plan is in use soon. */
static void test_changes_over_and_back(void **state)
{
    struct program p = program_of(1000, 500);

    (void)state;
    calls_run(&p, HX_LOOK_FIRST + HX_TRIAL_CALLS);
    assert_true(p.changes == 1 && p.rivalry.in_use == 1);
    calls_run(&p, 100000);
    assert_true(p.changes == 1 && p.rivalry.in_use == 1 && p.trials <= 12);
    p.fixed[1] = 2000;
    calls_run(&p, HX_LOOK_RAREST + 16 + 2 * HX_TRIAL_CALLS);
    assert_true(p.changes == 2 && p.rivalry.in_use == 0);
}

static void test_trials_become_rare(void **state)
{
    struct program close = program_of(1000, 1000), bad = program_of(1000, 5000);

    (void)state;
    calls_run(&close, 1 << 20);
    calls_run(&bad, 1 << 20);
    assert_true(close.changes == 0 && bad.changes == 0);
    assert_true(close.trials > bad.trials && close.trials <= 11 + (1 << 20) / HX_TRIAL_RAREST && bad.trials <= 4 + (1 << 20) / HX_TRIAL_RAREST);
    assert_true(bad.trials > 10); /* and do not end */
}

/* Of three rivals the last is the fastest. */
static uint32_t ns_of_three(const struct program *program, int plan)
{
    return plan == 0 ? 1000 : program->rivalry.rival % 3 == 2 ? 600 : 950;
}

static void test_rivals_in_turn(void **state)
{
    struct program p = program_of(0, 0);

    (void)state;
    p.ns = ns_of_three;
    calls_run(&p, 1000);
    assert_true(p.changes == 1 && p.rivalry.in_use == 1 && p.rivalry.rival == 2);
    calls_run(&p, 100000);
    assert_true(p.changes == 1 && p.rivalry.in_use == 1 && p.rivalry.rival == 2);
}

/* The rival is fast in trials, and slow when it is in use. */
static uint32_t ns_deceives(const struct program *program, int plan)
{
    return plan == 0 ? 1000 : program->tries ? 500 : 2500;
}

static void test_wrong_change_is_short(void **state)
{
    struct program p = program_of(0, 0);
    int longest = 0;

    (void)state;
    p.ns = ns_deceives;
    for (int i = 0; i < 1 << 20; i++) {
        call_run(&p);
        if (p.rivalry.in_use == 1 && p.in_use_for > longest)
            longest = p.in_use_for;
    }
    assert_true(p.changes >= 4 && p.changes % 2 == 0);
    assert_true(longest < HX_LOOK_FIRST + HX_LOOK_CALLS);
    assert_true(p.by[1] < (1 << 20) / 500);
}

/* The machine is slow from call 60 to 90, for slots only: a first trial finds single copy faster. */
static uint32_t ns_burst(const struct program *program, int plan)
{
    return plan == 1 ? 2000 : program->calls > 60 && program->calls < 90 ? 9000 : 1000;
}

static void test_slow_moment_is_forgotten(void **state)
{
    struct program p = program_of(0, 0);

    (void)state;
    p.ns = ns_burst;
    calls_run(&p, HX_LOOK_FIRST + HX_TRIAL_CALLS);
    assert_true(p.changes == 1 && p.rivalry.in_use == 1);
    calls_run(&p, HX_LOOK_FIRST + HX_TRIAL_CALLS + 16);
    assert_true(p.changes == 2 && p.rivalry.in_use == 0);
    calls_run(&p, 100000);
    assert_int_equal(p.changes, 2);
}

/* A machine that becomes slower during a trial, calls that meet another process, and times that differ by little decide nothing. */
static void test_noise_decides_nothing(void **state)
{
    static const uint32_t trials[][HX_TRIAL_CALLS] = {
        {900, 900, 900, 900, 900, 900, 700, 700, 700, 700, 700, 700, 600, 600, 600, 600, 600, 600},
        {600, 600, 600, 600, 600, 600, 700, 700, 700, 700, 700, 700, 900, 900, 900, 900, 900, 900},
        {900, 9000, 900, 9000, 900, 900, 890, 890, 890, 890, 890, 890, 900, 9000, 900, 900, 9000, 900},
        {900, 900, 900, 900, 900, 900, 10, 10, 10, 800, 800, 800, 900, 900, 900, 900, 900, 900}, /* the first is left out */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(trials) / sizeof(trials[0]); i++) {
        struct hx_rivalry r;
        uint32_t used, other;
        hx_rivalry_begin(&r);
        r.timed = HX_TRIAL_CALLS;
        memcpy(r.ns, trials[i], sizeof(r.ns));
        assert_int_equal(hx_rivalry_decide(&r, &used, &other), 0);
    }
}

/* A plan whose reads were refused in any call of a trial is not used. If it is in use, it is left as soon as a look finds this. */
static void test_refused_reads(void **state)
{
    struct program p = program_of(1000, 500);

    (void)state;
    for (int k = 0; k < HX_LOOK_CALLS; k++) {
        struct hx_rivalry r;
        uint32_t used, other;
        hx_rivalry_begin(&r);
        r.timed = HX_TRIAL_CALLS;
        for (int i = 0; i < HX_TRIAL_CALLS; i++)
            r.ns[i] = i / HX_LOOK_CALLS == 1 ? 10 : 1000;
        r.ns[HX_LOOK_CALLS + k] = HX_NS_NEVER;
        assert_int_equal(hx_rivalry_decide(&r, &used, &other), 0);
    }
    calls_run(&p, 1000);
    assert_int_equal(p.rivalry.in_use, 1);
    p.fixed[1] = HX_NS_NEVER;
    calls_run(&p, HX_LOOK_RAREST + 16 + 2 * HX_TRIAL_CALLS);
    assert_int_equal(p.rivalry.in_use, 0);
    calls_run(&p, 100000);
    assert_int_equal(p.rivalry.in_use, 0);
    p = program_of(HX_NS_NEVER, HX_NS_NEVER);
    calls_run(&p, 10000);
    assert_int_equal(p.changes, 0);
}

/* Two ranks with times of their own use the same plan in every call, as long as they exchange the longest ones. */
static void test_ranks_agree(void **state)
{
    struct hx_rivalry ranks[2];
    int changes = 0;

    (void)state;
    srand(7);
    for (int i = 0; i < 2; i++)
        hx_rivalry_begin(&ranks[i]);
    for (int call = 0; call < 200000; call++) {
        enum hx_rivalry_now now[2];
        int rival[2], changed;
        uint32_t used, other;
        for (int i = 0; i < 2; i++) {
            now[i] = hx_rivalry_next(&ranks[i], warm, &rival[i]);
            if (now[i] != HX_RIVALRY_PLAIN)
                ranks[i].ns[ranks[i].timed - 1] = (uint32_t)rand() % 1000;
        }
        assert_int_equal(now[0], now[1]);
        assert_int_equal(rival[0], rival[1]);
        if (now[0] != HX_RIVALRY_AGREE)
            continue;
        for (int k = 0; k < ranks[0].timed; k++)
            ranks[0].ns[k] = ranks[1].ns[k] = ranks[0].ns[k] > ranks[1].ns[k] ? ranks[0].ns[k] : ranks[1].ns[k];
        changed = hx_rivalry_decide(&ranks[0], &used, &other);
        assert_int_equal(changed, hx_rivalry_decide(&ranks[1], &used, &other));
        changes += changed;
    }
    assert_true(changes > 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_of_calls), cmocka_unit_test(test_changes_over_and_back), cmocka_unit_test(test_trials_become_rare),
        cmocka_unit_test(test_rivals_in_turn), cmocka_unit_test(test_wrong_change_is_short), cmocka_unit_test(test_slow_moment_is_forgotten),
        cmocka_unit_test(test_noise_decides_nothing), cmocka_unit_test(test_refused_reads), cmocka_unit_test(test_ranks_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
