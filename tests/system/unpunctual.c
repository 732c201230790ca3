/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All-reduces of long vectors to which ranks come late, each by another time: unpunctual BYTES CALLS. Slices that run side by side are then at
 * different rounds between different ranks.
 */
#include <hierax.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LATEST_US 8000

int main(int argc, char **argv)
{
    hx_comm_t *world;
    size_t n = argc > 2 ? (size_t)atol(argv[1]) / sizeof(int) : 1;
    int *in = calloc(n, sizeof(*in)), *out = calloc(n, sizeof(*out)), calls = argc > 2 ? atoi(argv[2]) : 1;

    if (!in || !out || hx_init(&world) != HX_SUCCESS) {
        fprintf(stderr, "%s\n", hx_error_detail(NULL));
        return 1;
    }
    int rank = hx_rank(world), size = hx_size(world);
    srand((unsigned)rank + 1);
    for (int c = 0; c < calls; c++) {
        for (size_t i = 0; i < n; i++)
            in[i] = rank + (int)i + c;
        if (rand() % 2)
            usleep((useconds_t)(rand() % LATEST_US));
        hx_status_t status = hx_allreduce(in, out, n, HX_INT32, HX_SUM, world);
        if (status != HX_SUCCESS) {
            fprintf(stderr, "rank %d, call %d: %s: %s\n", rank, c, hx_strerror(status), hx_error_detail(world));
            return 1;
        }
        for (size_t i = 0; i < n; i++)
            if (out[i] != size * (size - 1) / 2 + size * ((int)i + c)) {
                fprintf(stderr, "rank %d, call %d, element %zu: %d\n", rank, c, i, out[i]);
                return 1;
            }
    }
    free(in);
    free(out);
    return hx_finalize() == HX_SUCCESS ? 0 : 1;
}
