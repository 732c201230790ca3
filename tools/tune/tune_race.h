/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A race between ways to do the same, on a machine that is never quiet. Way 0 is the default and stays unless another is shown to be
 * faster: what is compared is the ratio of two ways in the same round, its median over the rounds, and the interval around it that
 * order statistics give (~95 %). Nothing here measures: a function does, round by round, so the rules can be tried on invented noise.
 *
 *   race      rounds in ABBA order; a way that cannot win any more is dropped
 *   confirm   the way that looks fastest may look so by chance: it must win again, alone against the default, in fresh rounds
 *             and in other places, so that it does not win by where its memory lies
 *   keep      the way that won at the size before stays, if it is faster than the default and as good as the fastest, within 3 %
 */
#pragma once

#define TUNE_WAYS 8
#define TUNE_ROUNDS 60   /* at most, of the race and of the confirmation */
#define TUNE_MARGIN 0.03 /* differences below are noise */
#define TUNE_LEAST_ROUNDS 6 /* that give an interval */

struct tune_interval {
    double low, median, high;
};

/* How a way fared: until it was dropped, or all the race. */
struct tune_lap {
    int rounds;
    double ns;                 /* median */
    struct tune_interval ratio; /* to way 0 in the same rounds; of the default 1; of few rounds anything */
};

enum tune_outcome { TUNE_MEASURED, TUNE_SPOILED, TUNE_STOPPED, TUNE_FAILED };

/* Measure these ways, in this order: ns[way] of each. *used: share of the time used so far. SPOILED: the round does not count.
 * The same on all ranks. */
typedef enum tune_outcome tune_round_fn(void *ctx, const int *order, int n, double ns[TUNE_WAYS], double *used);

/* From here on each of two ways runs where the other did. 0, or -1: it failed. */
typedef int tune_exchange_fn(void *ctx, int a, int b);

struct tune_race {
    tune_round_fn *round;
    tune_exchange_fn *exchange; /* before the confirmation */
    void *ctx;
    int nways;
    int before;    /* the way that won at the size before, or -1 */
    double least_gain; /* a way must be faster than the default by more than this part: 0.03 */
    int least_rounds;  /* of the race, however long they take; not of the confirmation */
    double until, end; /* shares of the time: when they are used the race ends, and the confirmation; end 0: there is none */
    /* the result: */
    int winner;
    int open; /* the default stays, though another seemed to be faster by the least gain: time was too short to show it */
    double default_ns, winner_ns; /* the median; and that times the median ratio */
    struct tune_interval gain;    /* of the ratio of the winner to the default, where it was measured last */
    struct tune_lap laps[TUNE_WAYS];
};

/* MEASURED: the race is complete; or STOPPED, FAILED. The winner is 0 if time was too short to show another. */
enum tune_outcome tune_race_run(struct tune_race *race);

/* Sorts the n values. Below 6 values the interval is everything. */
struct tune_interval tune_interval_of(double *values, int n);
