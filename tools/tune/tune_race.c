/* SPDX-License-Identifier: BSD-3-Clause */
/* The race: see tune_race.h. */
#include "tools/tune/tune_race.h"
#include "tools/common/median.h"
#include <math.h>

#define HOPELESS 1.5     /* times as slow, after HOPELESS_ROUNDS */
#define HOPELESS_ROUNDS 4

/* The race itself, or its confirmation. */
struct heat {
    const struct tune_race *race;
    double target;          /* the logarithm of a ratio below which it is a gain */
    int before;             /* as the race's; of a confirmation -1 */
    int n, ways[TUNE_WAYS]; /* still there; the first is the default */
    int nrounds, rounds[TUNE_WAYS]; /* all; that each way took part in */
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

/* Logarithms of the ratio of one way to another, round by round, as long as it was there; to -1: of its ns. */
static struct tune_interval ratio(const struct heat *h, int way, int to)
{
    double logs[TUNE_ROUNDS];

    for (int i = 0; i < h->rounds[way]; i++)
        logs[i] = h->log_ns[way][i] - (to < 0 ? 0 : h->log_ns[to][i]);
    return tune_interval_of(logs, h->rounds[way]);
}

/* How a way has fared. */
static struct tune_lap lap_of(const struct heat *h, int way)
{
    const struct tune_interval t = ratio(h, way, 0);

    return (struct tune_lap){h->rounds[way], exp(ratio(h, way, -1).median), {exp(t.low), exp(t.median), exp(t.high)}};
}

/* Every other round runs backward, so that a drift with time favours no way. */
static enum tune_outcome run_round(struct heat *h, double *used)
{
    double ns[TUNE_WAYS];
    int order[TUNE_WAYS];

    for (int i = 0; i < h->n; i++)
        order[i] = h->ways[h->nrounds & 1 ? h->n - 1 - i : i];
    enum tune_outcome outcome = h->race->round(h->race->ctx, order, h->n, ns, used);
    if (outcome != TUNE_MEASURED)
        return outcome;
    for (int i = 0; i < h->n; i++) {
        h->log_ns[order[i]][h->nrounds] = log(fmax(ns[order[i]], 0.1));
        h->rounds[order[i]] = h->nrounds + 1;
    }
    h->nrounds++;
    return TUNE_MEASURED;
}

/* The fastest way so far, but for the default; 0 if the default is alone. */
static int leader_of(const struct heat *h)
{
    double best = INFINITY;
    int leader = 0;

    for (int i = 1; i < h->n; i++) {
        double median = ratio(h, h->ways[i], 0).median;
        leader = median < best ? h->ways[i] : leader;
        best = fmin(best, median);
    }
    return leader;
}

/* Nothing is left to find out about way: it cannot win, or not against the leader. The winner of the size before wins also by being as
 * good as the leader within the margin, so it stays longer. */
static int is_out(const struct heat *h, int way, int leader)
{
    const struct tune_interval t = ratio(h, way, 0);

    if (t.low > h->target || (h->nrounds >= HOPELESS_ROUNDS && t.median > log(HOPELESS)))
        return 1;
    return way != leader && ratio(h, leader, 0).high < h->target &&
           ratio(h, way, leader).low > (way == h->before ? log1p(TUNE_MARGIN) : 0);
}

/* Drop who is out; returns whether the race is decided. */
static int sift(struct heat *h)
{
    int leader = leader_of(h), left = 1, open = 0;

    for (int i = 1; i < h->n; i++)
        if (!is_out(h, h->ways[i], leader))
            h->ways[left++] = h->ways[i];
    h->n = left;
    if (left == 1)
        return h->nrounds >= TUNE_LEAST_ROUNDS;
    leader = leader_of(h);
    for (int i = 1; i < left; i++) /* the others are the leader's equals, or worse */
        open |= h->ways[i] != leader && !(ratio(h, leader, h->ways[i]).high < log1p(TUNE_MARGIN));
    return !open && ratio(h, leader, 0).high < h->target;
}

/* Rounds until the race is decided, or its share of the time is used. */
static enum tune_outcome run(struct heat *h, int least_rounds, double until)
{
    double used = 0;
    int decided = 0;

    while (!decided && (used < until || h->nrounds < least_rounds) && h->nrounds < TUNE_ROUNDS) {
        enum tune_outcome outcome = run_round(h, &used);
        if (outcome == TUNE_STOPPED || outcome == TUNE_FAILED)
            return outcome;
        decided = outcome == TUNE_MEASURED && h->nrounds % 2 == 0 && sift(h);
    }
    return TUNE_MEASURED;
}

static int is_faster(const struct heat *h, int way)
{
    return h->nrounds >= TUNE_LEAST_ROUNDS && ratio(h, way, 0).high < h->target;
}

static void won(struct tune_race *race, const struct heat *h, int way)
{
    race->winner = way;
    race->gain = lap_of(h, way).ratio;
    race->default_ns = lap_of(h, 0).ns;
    race->winner_ns = race->default_ns * race->gain.median;
}

/* Is the winner of the size before still in the race, faster than the default, and as good as this winner? */
static int keeps(const struct tune_race *race, const struct heat *h)
{
    int there = 0;

    for (int i = 1; i < h->n; i++)
        there |= h->ways[i] == h->before;
    return there && race->winner && h->before != race->winner && is_faster(h, h->before) &&
           ratio(h, h->before, race->winner).median <= log1p(TUNE_MARGIN);
}

enum tune_outcome tune_race_run(struct tune_race *race)
{
    struct heat all = {.race = race, .target = -log1p(race->least_gain), .before = race->before, .n = race->nways},
                pair = {.race = race, .target = all.target, .before = -1, .n = 2};
    enum tune_outcome outcome;

    for (int i = 0; i < race->nways; i++)
        all.ways[i] = i;
    outcome = run(&all, race->least_rounds, race->until);
    won(race, &all, 0);
    for (int i = 0; i < race->nways; i++)
        race->laps[i] = lap_of(&all, i);
    const int leader = pair.ways[1] = leader_of(&all);
    race->open = leader && all.nrounds < TUNE_ROUNDS && ratio(&all, leader, 0).median < all.target && !is_faster(&all, leader);
    if (outcome == TUNE_MEASURED && leader && race->end > race->until && is_faster(&all, leader)) {
        outcome = race->exchange(race->ctx, 0, leader) ? TUNE_FAILED : run(&pair, 0, race->end);
        if (outcome == TUNE_MEASURED && is_faster(&pair, leader))
            won(race, &pair, leader);
        race->open = pair.nrounds < TUNE_LEAST_ROUNDS;
    }
    if (outcome == TUNE_MEASURED && keeps(race, &all))
        won(race, &all, race->before);
    race->open &= !race->winner;
    return outcome;
}
