/* SPDX-License-Identifier: BSD-3-Clause */
/* Rounds of HX_ADAPT: when calls try the other plan, what is decided, and that ranks which see the same times decide alike. */
#include "runtime/engine/rivalry.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Run calls until a round has ended, each of which takes ns[plan]. Returns the calls before the round; *changed as decided. */
static unsigned round_run(struct hx_rivalry *r, const uint32_t ns[2], int *changed)
{
    static const int other[HX_ROUND_CALLS] = {0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0};
    static const uint32_t warm[2] = {16, 0};
    uint32_t used, tried;
    unsigned before = 0, warmed = 0;
    int rival, k = 0, in_use = r->in_use;

    for (enum hx_rivalry_now now;;) {
        now = hx_rivalry_next(r, warm, &rival);
        if (now == HX_RIVALRY_PLAIN) {
            assert_true(k == 0 || k == 4);
            assert_int_equal(rival, in_use ^ (k == 4));
            before += k == 0;
            warmed += k == 4;
            continue;
        }
        assert_int_equal(r->timed, k + 1);
        assert_int_equal(rival, in_use ^ other[k]);
        r->ns[k++] = ns[rival];
        assert_int_equal(now == HX_RIVALRY_LAST, k == HX_ROUND_CALLS);
        if (now == HX_RIVALRY_LAST)
            break;
    }
    assert_int_equal(warmed, warm[!in_use]);
    *changed = hx_rivalry_decide(r, &used, &tried);
    assert_int_equal(used, ns[in_use]);
    assert_int_equal(tried, ns[!in_use]);
    assert_int_equal(r->in_use, in_use ^ *changed);
    return before;
}

static void test_changes_over_and_back(void **state)
{
    struct hx_rivalry r;
    int changed;

    (void)state;
    hx_rivalry_begin(&r);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(round_run(&r, (const uint32_t[]){1000, 500}, &changed), HX_ROUND_FIRST);
        assert_true(changed == i && r.in_use == i);
    }
    assert_int_equal(round_run(&r, (const uint32_t[]){560, 500}, &changed), HX_ROUND_FIRST);
    assert_true(!changed && r.in_use == 1);
    assert_int_equal(round_run(&r, (const uint32_t[]){300, 500}, &changed), 2 * HX_ROUND_FIRST);
    assert_false(changed);
    assert_int_equal(round_run(&r, (const uint32_t[]){500, 500}, &changed), HX_ROUND_FIRST); /* not twice in a row */
    assert_false(changed);
    assert_int_equal(round_run(&r, (const uint32_t[]){300, 500}, &changed), 4 * HX_ROUND_FIRST);
    assert_int_equal(round_run(&r, (const uint32_t[]){300, 500}, &changed), HX_ROUND_FIRST);
    assert_true(changed && r.in_use == 0);
}

static void test_rounds_become_rare(void **state)
{
    const uint32_t close[2] = {1000, 1000}, bad[2] = {1000, 5000};
    struct hx_rivalry r;
    unsigned gap = HX_ROUND_FIRST;
    int changed;

    (void)state;
    hx_rivalry_begin(&r);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(round_run(&r, close, &changed), gap);
        assert_false(changed);
        gap = 2 * gap < HX_ROUND_RAREST ? 2 * gap : HX_ROUND_RAREST;
    }
    hx_rivalry_begin(&r);
    round_run(&r, bad, &changed);
    assert_int_equal(round_run(&r, bad, &changed), 8 * HX_ROUND_FIRST);
}

/* A machine that becomes slower during a round, a call that meets another process, and times that differ by little decide nothing. */
static void test_noise_decides_nothing(void **state)
{
    static const uint32_t rounds[][HX_ROUND_CALLS] = {
        {900, 900, 900, 900, 700, 700, 700, 700, 600, 600, 600, 600},    /* faster and faster */
        {600, 600, 600, 600, 700, 700, 700, 700, 900, 900, 900, 900},
        {900, 900, 9000, 9000, 900, 9000, 9000, 900, 900, 900, 900, 900}, /* calls that meet another process */
        {900, 900, 900, 900, 10, 800, 800, 800, 900, 900, 900, 900},     /* an eighth at most, and the first is left out */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rounds) / sizeof(rounds[0]); i++) {
        struct hx_rivalry r;
        uint32_t used, other;
        hx_rivalry_begin(&r);
        for (int again = 0; again < 3; again++) {
            memcpy(r.ns, rounds[i], sizeof(r.ns));
            assert_int_equal(hx_rivalry_decide(&r, &used, &other), 0);
        }
    }
}

/* A plan whose reads were refused in any of its calls is not used, and if it was, is left at once. */
static void test_refused_reads(void **state)
{
    (void)state;
    for (int k = 0; k < HX_ROUND_CALLS; k++) {
        struct hx_rivalry r;
        uint32_t used, other;
        hx_rivalry_begin(&r);
        for (int i = 0; i < HX_ROUND_CALLS; i++)
            r.ns[i] = i / 4 == 1 ? 10 : 1000;
        r.faster = k / 4 == 1;
        r.ns[k] = HX_ROUND_NEVER;
        assert_int_equal(hx_rivalry_decide(&r, &used, &other), k / 4 != 1);
        hx_rivalry_begin(&r);
        for (int i = 0; i < HX_ROUND_CALLS; i++) /* slower, but it works */
            r.ns[i] = i / 4 == 1 ? 1000 : HX_ROUND_NEVER;
        assert_int_equal(hx_rivalry_decide(&r, &used, &other), 1);
    }
}

/* Two ranks with times of their own use the same plan in every call, as long as they exchange the longest ones. */
static void test_ranks_agree(void **state)
{
    struct hx_rivalry ranks[2];

    (void)state;
    srand(7);
    for (int i = 0; i < 2; i++)
        hx_rivalry_begin(&ranks[i]);
    for (int call = 0; call < 200000; call++) {
        enum hx_rivalry_now now[2];
        int rival[2];
        uint32_t used, other;
        for (int i = 0; i < 2; i++) {
            now[i] = hx_rivalry_next(&ranks[i], (const uint32_t[]){16, 0}, &rival[i]);
            if (now[i] != HX_RIVALRY_PLAIN)
                ranks[i].ns[ranks[i].timed - 1] = (uint32_t)rand() % 1000;
        }
        assert_int_equal(now[0], now[1]);
        assert_int_equal(rival[0], rival[1]);
        if (now[0] != HX_RIVALRY_LAST)
            continue;
        for (int k = 0; k < HX_ROUND_CALLS; k++)
            ranks[0].ns[k] = ranks[1].ns[k] = ranks[0].ns[k] > ranks[1].ns[k] ? ranks[0].ns[k] : ranks[1].ns[k];
        assert_int_equal(hx_rivalry_decide(&ranks[0], &used, &other), hx_rivalry_decide(&ranks[1], &used, &other));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes_over_and_back), cmocka_unit_test(test_rounds_become_rare), cmocka_unit_test(test_noise_decides_nothing),
        cmocka_unit_test(test_refused_reads), cmocka_unit_test(test_ranks_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
