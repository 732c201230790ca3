/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of churn.c, and how a step changes it. One process can compute the same from the log of memberships. */
#pragma once

#include <stdint.h>

enum { CHURN_RANKS = 8, CHURN_CHANGES = 8192, CHURN_PARTS = 5 };

/* What a member contributes, what all contribute, and the weights: the same shape. */
struct churn_vectors {
    uint64_t one[2], some[700], many[20000];
    double exact[5000];   /* sums of integers, without rounding */
    float inexact[3000];  /* rounded */
};

struct churn_change { /* from this step on these took part */
    uint64_t step;
    int32_t n, ids[CHURN_RANKS];
    int32_t unused;
};

struct churn_state {
    uint64_t steps; /* made so far */
    struct churn_vectors weights;
    uint64_t changes;
    struct churn_change log[CHURN_CHANGES];
};

/* The contribution of a member to the next step: a function of its identity, the step and the weights. */
void churn_contribute(const struct churn_state *state, int id, struct churn_vectors *out);
/* The sums of all members, as one process computes them. */
void churn_sum(const struct churn_state *state, const int32_t *ids, int n, struct churn_vectors *sums);
/* Are these the sums? Those with rounding nearly so. */
int churn_is_near(const struct churn_vectors *a, const struct churn_vectors *b);
/* The members have made a step. Returns 0 if the log is full. */
int churn_step(struct churn_state *state, const struct churn_vectors *sums, const int32_t *ids, int n);
uint64_t churn_hash(const struct churn_state *state);
/* From the log of a state, compute that state. Returns 1 if it is the same. */
int churn_replay(const struct churn_state *state);
