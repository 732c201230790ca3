/* SPDX-License-Identifier: BSD-3-Clause */
/* The race: see tune_race.h. */
#include "tools/tune/tune_race.h"
#include "tools/common/median.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HOPELESS 1.5     /* times as slow, after HOPELESS_ROUNDS */
#define HOPELESS_ROUNDS 4

struct laps {
    int n; /* rounds */
    int rounds[TUNE_WAYS]; /* that each way took part in */
    double log_ns[TUNE_WAYS][TUNE_ROUNDS];
};

/* The interval from the j-th lowest to the j-th highest value misses the median with probability 2 P(at most j - 1 heads of n). */
struct tune_interval tune_interval_of(double *values, int n)
{
    struct tune_interval t = {-INFINITY, 0, INFINITY};
    double term = pow(0.5, n), tail = 0;
    int j = 0;

    ascending_sort(values, (size_t)n);
    for (; j < n / 2 && 2 * (tail + term) <= 0.05; j++) {
        tail += term;
        term *= (double)(n - j) / (j + 1);
    }
    if (n > 0)
        t.median = (values[(n - 1) / 2] + values[n / 2]) / 2;
    if (j > 0) {
        t.low = values[j - 1];
        t.high = values[n - j];
    }
    return t;
}

/* Logarithms of the ratio of one way to another, round by round, as long as it was there. */
static struct tune_interval ratio(const struct laps *laps, int way, int to)
{
    double logs[TUNE_ROUNDS];

    for (int i = 0; i < laps->rounds[way]; i++)
        logs[i] = laps->log_ns[way][i] - laps->log_ns[to][i];
    return tune_interval_of(logs, laps->rounds[way]);
}

static double median_ns(const struct laps *laps, int way)
{
    double logs[TUNE_ROUNDS];

    memcpy(logs, laps->log_ns[way], sizeof(logs));
    return exp(tune_interval_of(logs, laps->rounds[way]).median);
}

/* Of the ratio itself. */
static struct tune_interval ratio_plain(const struct laps *laps, int way)
{
    struct tune_interval t = ratio(laps, way, 0);

    return (struct tune_interval){exp(t.low), exp(t.median), exp(t.high)};
}

/* Every other round backward, so that what drifts with time favours nobody. */
static enum tune_outcome run_round(const struct tune_race *race, struct laps *laps, const int *ways, int n, int backward, double *used)
{
    double ns[TUNE_WAYS];
    int order[TUNE_WAYS];

    for (int i = 0; i < n; i++)
        order[i] = ways[backward ? n - 1 - i : i];
    enum tune_outcome outcome = race->round(race->ctx, order, n, ns, used);
    if (outcome != TUNE_MEASURED)
        return outcome;
    for (int i = 0; i < n; i++) {
        laps->log_ns[ways[i]][laps->n] = log(ns[ways[i]] > 0.1 ? ns[ways[i]] : 0.1);
        laps->rounds[ways[i]] = laps->n + 1;
    }
    laps->n++;
    return TUNE_MEASURED;
}

/* Who is fastest so far, but for the default; 0 when it is alone. */
static int leader_of(const struct laps *laps, const int *ways, int n)
{
    double best = INFINITY;
    int leader = 0;

    for (int i = 1; i < n; i++) {
        double median = ratio(laps, ways[i], 0).median;
        if (median < best) {
            best = median;
            leader = ways[i];
        }
    }
    return leader;
}

/* Below it a ratio is a gain. */
static double target(const struct tune_race *race)
{
    return -log1p(race->least_gain);
}

/* Nothing is left to find out about way: it cannot win, or not against the leader. The winner of the size before wins also by being as
 * good as the leader within the margin, so it stays longer. */
static int is_out(const struct tune_race *race, const struct laps *laps, int way, int leader)
{
    struct tune_interval t = ratio(laps, way, 0);

    if (t.low > target(race) || (laps->n >= HOPELESS_ROUNDS && t.median > log(HOPELESS)))
        return 1;
    return way != leader && ratio(laps, leader, 0).high < target(race) &&
           ratio(laps, way, leader).low > (way == race->before ? log1p(TUNE_MARGIN) : 0);
}

/* Drop who is out; returns whether the race is decided. */
static int sift(const struct tune_race *race, const struct laps *laps, int *ways, int *n)
{
    int leader = leader_of(laps, ways, *n), left = 1, open = 0;

    for (int i = 1; i < *n; i++)
        if (!is_out(race, laps, ways[i], leader))
            ways[left++] = ways[i];
    *n = left;
    if (left == 1)
        return laps->n >= TUNE_LEAST_ROUNDS;
    leader = leader_of(laps, ways, left);
    for (int i = 1; i < left; i++) /* the others are the leader's equals, or worse */
        open |= ways[i] != leader && !(ratio(laps, leader, ways[i]).high < log1p(TUNE_MARGIN));
    return !open && ratio(laps, leader, 0).high < target(race);
}

/* Rounds until the race is decided, or its share of the time is used. */
static enum tune_outcome run(const struct tune_race *race, struct laps *laps, int *ways, int *n, int least_rounds, double until)
{
    enum tune_outcome outcome = TUNE_MEASURED;
    double used = 0;
    int decided = 0;

    while (outcome == TUNE_MEASURED && !decided && (used < until || laps->n < least_rounds) && laps->n < TUNE_ROUNDS) {
        outcome = run_round(race, laps, ways, *n, laps->n & 1, &used);
        if (outcome == TUNE_MEASURED && laps->n % 2 == 0)
            decided = sift(race, laps, ways, n);
        else if (outcome == TUNE_SPOILED)
            outcome = TUNE_MEASURED;
    }
    return outcome;
}

static int is_faster(const struct tune_race *race, const struct laps *laps, int way)
{
    return laps->n >= TUNE_LEAST_ROUNDS && ratio(laps, way, 0).high < target(race);
}

static void won(struct tune_race *race, const struct laps *laps, int way)
{
    race->winner = way;
    race->default_ns = median_ns(laps, 0);
    race->winner_ns = race->default_ns * exp(ratio(laps, way, 0).median);
    race->gain = ratio_plain(laps, way);
}

/* Is the winner of the size before still in the race, faster than the default, and as good as this winner? */
static int keeps(const struct tune_race *race, const struct laps *laps, const int *ways, int n)
{
    int before = race->before, there = 0;

    for (int i = 1; i < n; i++)
        there |= ways[i] == before;
    return there && race->winner && before != race->winner && is_faster(race, laps, before) &&
           ratio(laps, before, race->winner).median <= log1p(TUNE_MARGIN);
}

enum tune_outcome tune_race_run(struct tune_race *race)
{
    struct laps laps = {0}, fresh = {0};
    int ways[TUNE_WAYS], pair[2] = {0}, n = race->nways, npair = 2;
    enum tune_outcome outcome;

    for (int i = 0; i < n; i++)
        ways[i] = i;
    race->winner = 0;
    race->default_ns = race->winner_ns = 0;
    outcome = run(race, &laps, ways, &n, race->least_rounds, race->until);
    won(race, &laps, 0);
    for (int i = 0; i < race->nways; i++)
        race->laps[i] = (struct tune_lap){laps.rounds[i], median_ns(&laps, i), ratio_plain(&laps, i)};
    int leader = leader_of(&laps, ways, n);
    race->open = leader && laps.n < TUNE_ROUNDS && ratio(&laps, leader, 0).median < target(race) && !is_faster(race, &laps, leader);
    if (outcome == TUNE_MEASURED && leader && race->end > race->until && is_faster(race, &laps, leader)) {
        struct tune_race alone = *race;
        alone.before = -1;
        pair[1] = leader;
        outcome = race->exchange(race->ctx, 0, leader) ? TUNE_FAILED : run(&alone, &fresh, pair, &npair, 0, race->end);
        if (outcome == TUNE_MEASURED && is_faster(race, &fresh, leader))
            won(race, &fresh, leader);
        race->open = fresh.n < TUNE_LEAST_ROUNDS;
    }
    if (outcome == TUNE_MEASURED && keeps(race, &laps, ways, n))
        won(race, &laps, race->before);
    race->open &= !race->winner;
    return outcome;
}
