/* SPDX-License-Identifier: BSD-3-Clause */
/* A data-parallel training step: every rank has the whole model and other samples, and the gradients are averaged over
 * all ranks. A layer's gradients travel while those of the layer before it are computed. */
#include <hierax.h>
#include <stdio.h>
#include <stdlib.h>

enum { LAYERS = 4, WEIGHTS = 100000, STEPS = 3 };

static float weights[LAYERS][WEIGHTS], gradients[LAYERS][WEIGHTS];

static void must(hx_status_t status, const hx_comm_t *comm)
{
    if (status != HX_SUCCESS) {
        fprintf(stderr, "%s: %s\n", hx_strerror(status), hx_error_detail(comm));
        exit(1);
    }
}

/* Stands for the backward pass through one layer, on this rank's samples. */
static void layer_backward(int layer, int rank)
{
    for (int i = 0; i < WEIGHTS; i++)
        gradients[layer][i] = (float)(layer + i % 8 + 2 * rank);
}

int main(void)
{
    hx_comm_t *world;
    hx_request_t *requests[LAYERS];

    must(hx_init(&world), NULL);
    for (int step = 0; step < STEPS; step++) {
        for (int layer = LAYERS - 1; layer >= 0; layer--) {
            layer_backward(layer, hx_rank(world));
            must(hx_iallreduce(HX_IN_PLACE, gradients[layer], WEIGHTS, HX_FLOAT32, HX_AVG, world, &requests[layer]),
                 world);
        }
        for (int layer = LAYERS - 1; layer >= 0; layer--) {
            must(hx_wait(requests[layer]), world);
            for (int i = 0; i < WEIGHTS; i++)
                weights[layer][i] -= 0.5f * gradients[layer][i];
        }
    }

    /* The mean of 2 rank over all ranks is size - 1. */
    for (int layer = 0; layer < LAYERS; layer++)
        for (int i = 0; i < WEIGHTS; i++)
            if (weights[layer][i] != -0.5f * STEPS * (float)(layer + i % 8 + hx_size(world) - 1)) {
                fprintf(stderr, "rank %d: layer %d, weight %d is %g\n", hx_rank(world), layer, i, weights[layer][i]);
                return 1;
            }
    must(hx_barrier(world), world);
    if (hx_rank(world) == 0)
        printf("data parallel: %d steps of %d ranks, %d x %d weights: correct\n", STEPS, hx_size(world), LAYERS,
               WEIGHTS);
    must(hx_finalize(), NULL);
    return 0;
}
