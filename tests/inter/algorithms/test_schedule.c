/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The schedule of the circulant broadcast, by brute force: for every p up to a few hundred and several numbers of blocks
 * everybody gets every block once, nobody sends what it does not have, and what is sent is what is received.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "inter/algorithms/circulant_schedule.h"

#define MOST_P 300

/* What number r has received when a round begins; the root has all from the start. */
static uint64_t has[MOST_P];
static struct hx_circulant_schedule schedules[MOST_P];

/* Everybody's round i of a broadcast of m blocks. */
static void round_run(int p, int m, int i)
{
    uint64_t comes[MOST_P] = {0};

    for (int r = 0; r < p; r++) {
        int to = (r + hx_circulant_step(&schedules[r], m, i)) % p;
        int sent = hx_circulant_block(&schedules[r], schedules[r].sends, m, i);
        assert_int_equal(sent, hx_circulant_block(&schedules[to], schedules[to].receives, m, i));
        if (to == 0 || sent < 0)
            continue;
        if (!(has[r] >> sent & 1) || has[to] >> sent & 1)
            fail_msg("p %d, %d blocks, round %d: %d sends block %d to %d, who %s", p, m, i, r, sent, to,
                     has[to] >> sent & 1 ? "has it" : "gets what is not there");
        comes[to] |= UINT64_C(1) << sent;
    }
    for (int r = 0; r < p; r++)
        has[r] |= comes[r];
}

static void test_everybody_gets_every_block_once(void **state)
{
    (void)state;
    for (int p = 2; p <= MOST_P; p++) {
        int q = hx_tree_rounds(p, 2), all[] = {1, 2, 3, q, q + 1, hx_circulant_blocks(p), 63};
        for (int r = 0; r < p; r++)
            schedules[r] = hx_circulant_schedule_of(p, r);
        for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
            int m = all[k];
            for (int r = 0; r < p; r++)
                has[r] = r ? 0 : (UINT64_C(1) << m) - 1;
            for (int i = 0; i < m - 1 + q; i++)
                round_run(p, m, i);
            for (int r = 0; r < p; r++)
                assert_int_equal(has[r], (UINT64_C(1) << m) - 1);
        }
    }
}

/* What makes it go on phase by phase: a phase brings one block of each of q, the base block first; and nobody sends what came
 * later in its phase. For some large p. */
static void test_a_phase(void **state)
{
    static const int large[] = {1000, 1024, 1025, 4095, 9973, 65537};

    (void)state;
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++)
        for (int p = large[i], r = 1; r < p; r += 1 + p / 97) {
            struct hx_circulant_schedule s = hx_circulant_schedule_of(p, r);
            struct hx_circulant_search search = {0};
            int q = s.rounds, base;
            uint64_t seen = 0;
            hx_circulant_search_open(&search, p);
            base = hx_circulant_base(&search, r);
            for (int k = 0; k < q; k++) {
                int known = s.sends[k] == base - q || (r + s.skips[k]) % p == 0;
                assert_true(s.receives[k] == base || (s.receives[k] < 0 && s.receives[k] >= -q));
                seen |= UINT64_C(1) << (s.receives[k] + (s.receives[k] < 0 ? q : 0));
                for (int j = 0; j < k; j++)
                    known |= s.sends[k] == s.receives[j];
                assert_true(known);
            }
            assert_int_equal(seen, (UINT64_C(1) << q) - 1);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everybody_gets_every_block_once),
        cmocka_unit_test(test_a_phase),
    };

    return cmocka_run_group_tests_name("schedule", tests, NULL, NULL);
}
