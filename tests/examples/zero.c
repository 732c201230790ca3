/* SPDX-License-Identifier: BSD-3-Clause */
/* A ZeRO training step: as data-parallel, but each rank keeps the optimizer's state of its share of the weights only.
 * The gradients are averaged where their weights are updated (reduce-scatter); then everybody gets all weights
 * (all-gather). Weights come in buckets: one is updated while others travel. */
#include <hierax.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUCKETS = 4, SHARE = 20000, STEPS = 3 }; /* SHARE: weights of a bucket that one rank updates */

static void must(hx_status_t status, const hx_comm_t *comm)
{
    if (status != HX_SUCCESS) {
        fprintf(stderr, "%s: %s\n", hx_strerror(status), hx_error_detail(comm));
        exit(1);
    }
}

static void *zeros(size_t n)
{
    void *memory = calloc(n, sizeof(float));
    if (!memory)
        exit(1);
    return memory;
}

int main(void)
{
    hx_comm_t *world;
    float *weights[BUCKETS], *gradients[BUCKETS], *momentum[BUCKETS], *mean[BUCKETS];
    hx_request_t *requests[BUCKETS];

    must(hx_init(&world), NULL);
    int rank = hx_rank(world), size = hx_size(world), all = size * SHARE;
    for (int b = 0; b < BUCKETS; b++) {
        weights[b] = zeros((size_t)all);
        gradients[b] = zeros((size_t)all);
        momentum[b] = zeros(SHARE); /* the saving: 1/size of the state */
        mean[b] = zeros(SHARE);
    }

    for (int step = 0; step < STEPS; step++) {
        for (int b = BUCKETS - 1; b >= 0; b--) { /* the backward pass, on this rank's samples */
            for (int i = 0; i < all; i++)
                gradients[b][i] = (float)(b + i % 8 + 2 * rank);
            must(hx_ireduce_scatter_block(gradients[b], mean[b], SHARE, HX_FLOAT32, HX_AVG, world, &requests[b]),
                 world);
        }
        for (int b = BUCKETS - 1; b >= 0; b--) { /* update this rank's share, and hand it to all */
            float *mine = weights[b] + rank * SHARE;
            must(hx_wait(requests[b]), world);
            for (int i = 0; i < SHARE; i++) {
                momentum[b][i] = 0.5f * momentum[b][i] + mean[b][i];
                mine[i] -= momentum[b][i];
            }
            must(hx_iallgather(HX_IN_PLACE, weights[b], SHARE, HX_FLOAT32, world, &requests[b]), world);
        }
        must(hx_waitall(BUCKETS, requests), world);
    }

    /* The mean of 2 rank is size - 1; three steps with this momentum move a weight by 1 + 1.5 + 1.75 gradients. */
    for (int b = 0; b < BUCKETS; b++)
        for (int i = 0; i < all; i++)
            if (weights[b][i] != -4.25f * (float)(b + i % 8 + size - 1)) {
                fprintf(stderr, "rank %d: bucket %d, weight %d is %g\n", rank, b, i, weights[b][i]);
                return 1;
            }
    must(hx_barrier(world), world);
    if (rank == 0)
        printf("ZeRO: %d steps of %d ranks, %d x %d weights: correct\n", STEPS, size, BUCKETS, all);
    must(hx_finalize(), NULL);
    for (int b = 0; b < BUCKETS; b++) {
        free(weights[b]);
        free(gradients[b]);
        free(momentum[b]);
        free(mean[b]);
    }
    return 0;
}
