/* SPDX-License-Identifier: BSD-3-Clause */
/* See churn_state.h. */
#include "tests/system/churn_state.h"
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 31) * UINT64_C(0x7fb5d329728ea185);
    return (x ^ x >> 27) * UINT64_C(0x81dadef4bc2dd44d);
}

static void words_contribute(const uint64_t *weights, size_t n, uint64_t key, uint64_t *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = mixed(key + i) ^ weights[i];
}

void churn_contribute(const struct churn_state *state, int id, struct churn_vectors *out)
{
    const struct churn_vectors *w = &state->weights;
    const uint64_t key = mixed((uint64_t)id << 32 ^ state->steps) + 1;

    words_contribute(w->one, LENGTH(w->one), key, out->one);
    words_contribute(w->some, LENGTH(w->some), key + 1000, out->some);
    words_contribute(w->many, LENGTH(w->many), key + 2000, out->many);
    for (size_t i = 0; i < LENGTH(w->exact); i++)
        out->exact[i] = (double)((key + i) % 1000);
    for (size_t i = 0; i < LENGTH(w->inexact); i++)
        out->inexact[i] = 1.0f / (float)(1 + (key + i) % 97);
}

static void words_add(uint64_t *to, const uint64_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] += from[i];
}

void churn_sum(const struct churn_state *state, const int32_t *ids, int n, struct churn_vectors *sums)
{
    static struct churn_vectors one;

    memset(sums, 0, sizeof(*sums));
    for (int k = 0; k < n; k++) {
        churn_contribute(state, ids[k], &one);
        words_add(sums->one, one.one, LENGTH(one.one));
        words_add(sums->some, one.some, LENGTH(one.some));
        words_add(sums->many, one.many, LENGTH(one.many));
        for (size_t i = 0; i < LENGTH(one.exact); i++)
            sums->exact[i] += one.exact[i];
        for (size_t i = 0; i < LENGTH(one.inexact); i++)
            sums->inexact[i] += one.inexact[i];
    }
}

int churn_is_near(const struct churn_vectors *a, const struct churn_vectors *b)
{
    if (memcmp(a, b, offsetof(struct churn_vectors, inexact)) != 0)
        return 0;
    for (size_t i = 0; i < LENGTH(a->inexact); i++)
        if (!(fabsf(a->inexact[i] - b->inexact[i]) <= 1e-4f * (1 + fabsf(a->inexact[i]))))
            return 0;
    return 1;
}

static void words_step(uint64_t *weights, const uint64_t *sums, size_t n)
{
    for (size_t i = 0; i < n; i++)
        weights[i] = weights[i] * 3 + sums[i];
}

int churn_step(struct churn_state *state, const struct churn_vectors *sums, const int32_t *ids, int n)
{
    struct churn_vectors *w = &state->weights;
    struct churn_change change = {.step = state->steps, .n = n}, *last = state->changes ? &state->log[state->changes - 1] : NULL;

    memcpy(change.ids, ids, (size_t)n * sizeof(*ids));
    if (!last || last->n != n || memcmp(last->ids, change.ids, sizeof(change.ids)) != 0) {
        if (state->changes == CHURN_CHANGES)
            return 0;
        state->log[state->changes++] = change;
    }
    words_step(w->one, sums->one, LENGTH(w->one));
    words_step(w->some, sums->some, LENGTH(w->some));
    words_step(w->many, sums->many, LENGTH(w->many));
    for (size_t i = 0; i < LENGTH(w->exact); i++)
        w->exact[i] = 0.5 * w->exact[i] + sums->exact[i];
    for (size_t i = 0; i < LENGTH(w->inexact); i++)
        w->inexact[i] = 0.9f * w->inexact[i] + 0.1f * sums->inexact[i] / (float)n;
    state->steps++;
    return 1;
}

uint64_t churn_hash(const struct churn_state *state)
{
    const size_t n = (offsetof(struct churn_state, log) + state->changes * sizeof(state->log[0])) / sizeof(uint64_t);
    uint64_t hash = n, word;

    for (size_t i = 0; i < n; i++) {
        memcpy(&word, (const char *)state + i * sizeof(word), sizeof(word));
        hash = mixed(hash + word) + i;
    }
    return hash;
}

static int vectors_replayed(const struct churn_state *state, const struct churn_state *alone)
{
    if (churn_is_near(&alone->weights, &state->weights))
        return 1;
    fprintf(stderr, "after %llu steps the weights differ from those that one process computes from the log\n", (unsigned long long)state->steps);
    return 0;
}

int churn_replay(const struct churn_state *state)
{
    struct churn_state *alone = calloc(1, sizeof(*alone));
    static struct churn_vectors sums;
    int same = alone != NULL && state->changes <= CHURN_CHANGES;

    for (uint64_t i = 0; same && i < state->changes; i++) {
        const struct churn_change *change = &state->log[i];
        const uint64_t until = i + 1 < state->changes ? state->log[i + 1].step : state->steps;
        same = change->step == alone->steps && until > change->step && change->n >= 1 && change->n <= CHURN_RANKS;
        if (!same)
            fprintf(stderr, "entry %llu of the log is not valid\n", (unsigned long long)i);
        while (same && alone->steps < until) {
            churn_sum(alone, change->ids, change->n, &sums);
            same = churn_step(alone, &sums, change->ids, change->n);
        }
    }
    same = same && vectors_replayed(state, alone);
    free(alone);
    return same;
}
