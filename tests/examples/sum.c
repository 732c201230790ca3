/* SPDX-License-Identifier: BSD-3-Clause */
#include <hierax.h>
#include <stdio.h>

/* Adds up the ranks' numbers: every rank gives (rank+1, 10*(rank+1)). */
int main(void)
{
    hx_comm_t *world;
    if (hx_init(&world) != HX_SUCCESS) {
        fprintf(stderr, "%s\n", hx_error_detail(NULL));
        return 1;
    }
    float mine = (float)(hx_rank(world) + 1);
    float in[2] = {mine, 10 * mine}, sum[2];

    hx_status_t status = hx_allreduce(in, sum, 2, HX_FLOAT32, HX_SUM, world);
    if (status != HX_SUCCESS) {
        fprintf(stderr, "%s: %s\n", hx_strerror(status), hx_error_detail(world));
        return 1;
    }
    printf("rank %d of %d: %g %g\n", hx_rank(world), hx_size(world), sum[0], sum[1]);
    return hx_finalize() == HX_SUCCESS ? 0 : 1;
}
