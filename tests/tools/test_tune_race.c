/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_tune's race on invented noise: who is faster is found, who is not never wins, drift favours nobody. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tune/tune_race.h"

#define SEEDS 200

struct course {
    double ns[TUNE_WAYS]; /* in truth */
    double place[TUNE_WAYS]; /* so much faster where the way runs; 0: not at all */
    double noise;         /* width of a measurement's */
    double least_gain;    /* asked; 0.03 is the tool's */
    double drift;         /* each measurement takes so much longer than the one before */
    int rounds_in_time;   /* 0: plenty */
    int spoil, stop_at, fail_at; /* a spoiled round is ten times as slow for way 0; 0: never */
    uint64_t seed;
    int rounds;
    double slow;
};

static double chance(struct course *c)
{
    c->seed ^= c->seed << 13;
    c->seed ^= c->seed >> 7;
    c->seed ^= c->seed << 17;
    return (double)(c->seed >> 11) / 9007199254740992.0;
}

/* A tenth of the measurements is hit by something else. */
static double disturbed(struct course *c, double ns)
{
    double factor = 1 + c->noise * (chance(c) + chance(c) - 1);
    return ns * factor * (chance(c) < 0.1 ? 1 + 3 * chance(c) : 1);
}

static enum tune_outcome lap(void *ctx, const int *order, int n, double ns[TUNE_WAYS], double *used)
{
    struct course *c = ctx;

    c->rounds++;
    *used = c->rounds_in_time ? (double)c->rounds / c->rounds_in_time : c->rounds / 1e3;
    if (c->rounds == c->stop_at)
        return TUNE_STOPPED;
    if (c->rounds == c->fail_at)
        return TUNE_FAILED;
    for (int i = 0; i < n; i++, c->slow *= 1 + c->drift)
        ns[order[i]] = disturbed(c, c->ns[order[i]] * (1 - c->place[order[i]])) * c->slow;
    if (c->spoil && c->rounds % c->spoil == 0) {
        ns[0] *= 10;
        return TUNE_SPOILED;
    }
    return TUNE_MEASURED;
}

static int exchange(void *ctx, int a, int b)
{
    struct course *c = ctx;
    double place = c->place[a];

    c->place[a] = c->place[b];
    c->place[b] = place;
    return 0;
}

static struct tune_race run(struct course *c, int nways, int before, uint64_t seed)
{
    struct tune_race race = {.round = lap, .exchange = exchange, .ctx = c, .nways = nways, .before = before, .least_gain = c->least_gain, .until = 0.7, .end = 1};

    c->seed = seed * 0x9e3779b97f4a7c15u + 1;
    c->rounds = 0;
    c->slow = 1;
    for (int i = 0; i < 20; i++)
        chance(c);
    assert_int_equal(tune_race_run(&race), TUNE_MEASURED);
    assert_true(race.winner >= 0 && race.winner < nways);
    return race;
}

/* How often way wins. */
static int wins(struct course *c, int nways, int before, int way)
{
    int n = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        n += run(c, nways, before, seed).winner == way;
    return n;
}

static void test_interval(void **state)
{
    double values[] = {9, 1, 8, 2, 7, 3, 6, 4, 5};
    (void)state;

    struct tune_interval t = tune_interval_of(values, 5); /* 9 1 8 2 7 */
    assert_true(isinf(t.low) && isinf(t.high) && t.median == 7);
    t = tune_interval_of((double[]){6, 5, 4, 3, 2, 1}, 6); /* 2/64 outside of lowest and highest */
    assert_true(t.low == 1 && t.high == 6 && t.median == 3.5);
    t = tune_interval_of(values, 9); /* 20/512 outside of the second ones */
    assert_true(t.low == 2 && t.high == 8 && t.median == 5);
}

static void test_equals_change_nothing(void **state)
{
    struct course c = {.least_gain = 0.03, .ns = {100, 100, 100, 100, 100, 100, 100, 100}, .noise = 0.1};
    (void)state;

    assert_true(wins(&c, 8, -1, 0) >= SEEDS - 2);
    c.noise = 0.5;
    assert_true(wins(&c, 8, -1, 0) >= SEEDS - 2);
    for (int w = 1; w < 8; w++)
        c.ns[w] = 98; /* within the margin */
    c.noise = 0.1;
    assert_true(wins(&c, 8, -1, 0) >= SEEDS - 10);
}

static void test_faster_is_found(void **state)
{
    struct course c = {.least_gain = 0.03, .ns = {100, 130, 103, 90, 200, 100, 99, 102}, .noise = 0.1};
    (void)state;

    assert_true(wins(&c, 8, -1, 3) >= SEEDS * 95 / 100);
    struct tune_race race = run(&c, 8, -1, 1);
    assert_true(race.winner == 3 && fabs(race.winner_ns / race.default_ns - 0.9) < 0.03);
    c.noise = 0.2;
    assert_true(wins(&c, 8, -1, 3) >= SEEDS / 2);
    c.noise = 0.4; /* too much to tell: then the default stays */
    for (int w = 1; w < 8; w++)
        assert_true(w == 3 || wins(&c, 8, -1, w) <= 2);
}

/* What gains less than asked never wins, what gains more does. */
static void test_least_gain(void **state)
{
    struct course c = {.least_gain = 0.15, .ns = {100, 90, 92}, .noise = 0.1};
    (void)state;

    assert_true(wins(&c, 3, -1, 0) >= SEEDS - 2);
    assert_true(wins(&c, 3, 1, 0) >= SEEDS - 2); /* nor by having won before */
    c.ns[1] = 80;
    assert_true(wins(&c, 3, -1, 1) >= SEEDS * 95 / 100);
    c.ns[2] = 79;
    assert_true(wins(&c, 3, 1, 1) >= SEEDS * 6 / 10); /* as good as the winner: kept */
    c.least_gain = 0.3;
    assert_true(wins(&c, 3, -1, 0) >= SEEDS - 2);
}

static void test_drift_favours_nobody(void **state)
{
    struct course c = {.least_gain = 0.03, .ns = {100, 100, 100, 100, 100, 100, 100, 100}, .noise = 0.02, .drift = 0.01};
    (void)state;

    assert_int_equal(wins(&c, 8, -1, 0), SEEDS);
    assert_true(wins(&c, 2, -1, 0) == SEEDS);
    c.drift = -0.01;
    assert_int_equal(wins(&c, 8, -1, 0), SEEDS);
}

static void test_hysteresis(void **state)
{
    struct course c = {.least_gain = 0.03, .ns = {100, 99, 100, 88}, .noise = 0.05};
    (void)state;

    assert_true(wins(&c, 3, 1, 1) <= SEEDS / 20);       /* as good as the default is not enough */
    assert_true(wins(&c, 4, 1, 3) >= SEEDS * 95 / 100); /* another is faster */
    c.ns[1] = 89;
    assert_true(wins(&c, 4, 1, 1) >= SEEDS * 6 / 10); /* but not by much */
    assert_true(wins(&c, 4, -1, 1) <= SEEDS * 4 / 10);
    c.ns[1] = 105;
    assert_true(wins(&c, 3, 1, 1) == 0); /* never what is slower than the default */
}

static void test_time_is_short(void **state)
{
    struct course c = {.least_gain = 0.03, .ns = {100, 50}, .noise = 0.05, .rounds_in_time = 5};
    (void)state;

    assert_int_equal(wins(&c, 2, -1, 0), SEEDS);
    assert_int_equal(c.rounds, 4);
    assert_true(run(&c, 2, -1, 1).open);
    c.rounds_in_time = 10; /* for the race, but not for the confirmation */
    assert_true(run(&c, 2, -1, 1).open);
    c.rounds_in_time = 40;
    assert_int_equal(wins(&c, 2, -1, 1), SEEDS);
    assert_true(c.rounds <= 20);
    assert_false(run(&c, 2, -1, 1).open);
    assert_int_equal(run(&c, 1, -1, 1).winner, 0); /* nothing to choose from */
    assert_true(c.rounds >= 6 && c.rounds <= 10);
    c.ns[1] = 100;
    c.rounds_in_time = 5;
    assert_false(run(&c, 2, -1, 1).open); /* nor does it seem to be faster */
}

static void test_hopeless_is_dropped(void **state)
{
    struct course c = {.least_gain = 0.03, .ns = {100, 400, 400, 400}, .noise = 0.05};
    (void)state;

    struct tune_race race = run(&c, 4, -1, 3);
    assert_true(race.winner == 0 && fabs(race.default_ns - 100) < 5);
    assert_true(c.rounds <= 10);
}

/* Of equals one lies better in memory, or the default lies worse; of others the faster wins all the same, from any place. */
static void test_places_change_nothing(void **state)
{
    struct course c = {.least_gain = 0.03, .ns = {100, 100, 100, 100}, .noise = 0.05};
    int won = 0;
    (void)state;

    for (int way = 0; way < 4; way++) {
        memset(c.place, 0, sizeof(c.place));
        c.place[way] = way ? 0.1 : -0.1;
        double place[TUNE_WAYS];
        memcpy(place, c.place, sizeof(place));
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            memcpy(c.place, place, sizeof(place));
            won += run(&c, 4, -1, seed).winner != 0;
        }
    }
    assert_true(won <= 4);
    c.ns[2] = 80;
    memset(c.place, 0, sizeof(c.place));
    c.place[0] = 0.1;
    assert_true(wins(&c, 4, -1, 2) >= SEEDS * 95 / 100);
}

static void test_spoiled_stopped_failed(void **state)
{
    struct course c = {.least_gain = 0.03, .ns = {100, 100, 100}, .noise = 0.05, .spoil = 3};
    struct tune_race race = {.round = lap, .exchange = exchange, .ctx = &c, .nways = 2, .before = -1, .least_gain = 0.03, .until = 0.7, .end = 1};
    (void)state;

    assert_int_equal(wins(&c, 3, -1, 0), SEEDS); /* a spoiled round is forgotten */
    c.stop_at = 1;
    c.rounds = 0;
    assert_int_equal(tune_race_run(&race), TUNE_STOPPED);
    c.stop_at = 0;
    c.fail_at = 3;
    c.rounds = 0;
    assert_int_equal(tune_race_run(&race), TUNE_FAILED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interval),         cmocka_unit_test(test_equals_change_nothing),
        cmocka_unit_test(test_places_change_nothing),
        cmocka_unit_test(test_faster_is_found),  cmocka_unit_test(test_drift_favours_nobody),
        cmocka_unit_test(test_least_gain),       cmocka_unit_test(test_hysteresis),       cmocka_unit_test(test_time_is_short),
        cmocka_unit_test(test_hopeless_is_dropped), cmocka_unit_test(test_spoiled_stopped_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
