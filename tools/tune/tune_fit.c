/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost model's parameters from measured times of plans. What counts is what is chosen: the sum that is made small
 * is how much slower the chosen plan was than the point's best, the choice spread over plans whose predictions are
 * almost equal; then, with little weight, how far predictions are off; with still less, how far a parameter is moved.
 * Each parameter in turn is tried larger and smaller.
 */
#include "tools/tune/tune_fit.h"
#include <math.h>

#define EQUAL 0.04     /* predictions this near (logarithm) share the choice */
#define OFF 0.02       /* weight of a squared logarithm of measured / predicted */
#define MOVED 0.002    /* weight of a squared logarithm of new / old */
#define FIRST_STEP 1.0 /* a logarithm */
#define LAST_STEP 0.02

static double point_loss(const struct hx_cost_params *params, const struct tune_observed *plans, int n)
{
    double best = INFINITY, least = INFINITY, total = 0, regret = 0, off = 0;

    for (int i = 0; i < n; i++) {
        best = fmin(best, plans[i].us);
        least = fmin(least, hx_cost_of(params, plans[i].shape, &plans[i].candidate, plans[i].bytes).total_us);
    }
    for (int i = 0; i < n; i++) {
        double us = hx_cost_of(params, plans[i].shape, &plans[i].candidate, plans[i].bytes).total_us;
        double share = exp(-log(us / least) / EQUAL), miss = log(plans[i].us / us);
        total += share;
        regret += share * log(plans[i].us / best);
        off += fmin(miss * miss, 1) * best / plans[i].us;
    }
    return regret / total + OFF * off / n;
}

static double loss(const struct hx_cost_params *params, const struct hx_cost_params *prior,
                   const struct tune_observed *plans, int n)
{
    struct hx_cost_params at = *params;
    double sum = 0;
    int points = 0;

    for (int i = 0, next; i < n; i = next, points++) {
        for (next = i; next < n && plans[next].point == plans[i].point; next++)
            ;
        at.oversubscription = plans[i].oversubscription;
        sum += point_loss(&at, plans + i, next - i);
    }
    sum /= points;
    for (int k = 0; k < HX_COST_PARAMETERS; k++) {
        double moved = log(*hx_cost_parameter((struct hx_cost_params *)params, k) /
                           *hx_cost_parameter((struct hx_cost_params *)prior, k));
        sum += MOVED * moved * moved;
    }
    return sum;
}

double tune_fit(struct hx_cost_params *params, const struct tune_observed *plans, int n, const int stays[2])
{
    const struct hx_cost_params prior = *params;
    double least = n ? loss(params, &prior, plans, n) : 0;

    for (double step = FIRST_STEP; n && step > LAST_STEP; step /= 2)
        for (int again = 1, sweeps = 0; again && sweeps < 8; sweeps++) {
            again = 0;
            for (int k = 0; k < 2 * HX_COST_PARAMETERS; k++) {
                struct hx_cost_params tried = *params;
                if (stays[hx_cost_parameters[k / 2].net])
                    continue;
                double *value = hx_cost_parameter(&tried, k / 2);
                *value = fmin(fmax(*value * exp(k % 2 ? step : -step), HX_COST_LEAST), HX_COST_MOST);
                double now = loss(&tried, &prior, plans, n);
                if (now < least) {
                    *params = tried;
                    least = now;
                    again = 1;
                }
            }
        }
    return least;
}
