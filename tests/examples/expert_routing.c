/* SPDX-License-Identifier: BSD-3-Clause */
/* Expert routing (mixture of experts): one expert lives on each rank; a router sends every token to one of them, which
 * hands it back changed. Who gets how many tokens is known only after routing: first an all-to-all of counts, then one
 * of the tokens, with these counts, there and back. */
#include <hierax.h>
#include <stdio.h>
#include <stdlib.h>

enum { TOKENS = 5000, WIDTH = 16 }; /* tokens of each rank, elements of a token */

static void must(hx_status_t status, const hx_comm_t *comm)
{
    if (status != HX_SUCCESS) {
        fprintf(stderr, "%s: %s\n", hx_strerror(status), hx_error_detail(comm));
        exit(1);
    }
}

static void *zeros(size_t n, size_t bytes)
{
    void *memory = calloc(n, bytes);
    if (!memory)
        exit(1);
    return memory;
}

/* Stands for the router: uneven, as routers are. */
static int expert_of(int rank, int token, int size)
{
    return (token * token + rank) % (size + 1) % size;
}

static float element(int rank, int token, int i)
{
    return (float)(rank + token % 100 + i);
}

/* Where the run for or from each rank begins; returns the length of all. */
static size_t starts_fill(const size_t *counts, size_t *starts, int size)
{
    size_t all = 0;
    for (int r = 0; r < size; r++) {
        starts[r] = all;
        all += counts[r];
    }
    return all;
}

int main(void)
{
    hx_comm_t *world;

    must(hx_init(&world), NULL);
    int rank = hx_rank(world), size = hx_size(world);
    size_t *to = zeros((size_t)size, sizeof(*to)), *to_start = zeros((size_t)size, sizeof(*to_start));
    size_t *from = zeros((size_t)size, sizeof(*from)), *from_start = zeros((size_t)size, sizeof(*from_start));
    size_t *next = zeros((size_t)size, sizeof(*next));

    /* Route: count the elements for each expert, and sort the tokens by expert. */
    for (int t = 0; t < TOKENS; t++)
        to[expert_of(rank, t, size)] += WIDTH;
    starts_fill(to, to_start, size);
    starts_fill(to, next, size);
    float *tokens = zeros(TOKENS * WIDTH, sizeof(*tokens));
    for (int t = 0; t < TOKENS; t++)
        for (int i = 0; i < WIDTH; i++)
            tokens[next[expert_of(rank, t, size)]++] = element(rank, t, i);

    /* Dispatch: counts first, then tokens. */
    must(hx_alltoall(to, from, 1, HX_UINT64, world), world); /* a size_t each */
    size_t arriving = starts_fill(from, from_start, size);
    float *arrived = zeros(arriving + 1, sizeof(*arrived));
    must(hx_alltoallv(tokens, to, to_start, arrived, from, from_start, HX_FLOAT32, world), world);

    /* This rank's expert: multiply by its number. Then combine: the same counts, the other way. */
    for (size_t i = 0; i < arriving; i++)
        arrived[i] *= (float)(rank + 1);
    must(hx_alltoallv(arrived, from, from_start, tokens, to, to_start, HX_FLOAT32, world), world);

    starts_fill(to, next, size);
    for (int t = 0; t < TOKENS; t++) {
        int expert = expert_of(rank, t, size);
        for (int i = 0; i < WIDTH; i++)
            if (tokens[next[expert]++] != (float)(expert + 1) * element(rank, t, i)) {
                fprintf(stderr, "rank %d: token %d is not what expert %d makes of it\n", rank, t, expert);
                return 1;
            }
    }
    must(hx_barrier(world), world);
    if (rank == 0)
        printf("expert routing: %d tokens of each of %d ranks, %zu in all to rank 0: correct\n", TOKENS, size,
               arriving / WIDTH);
    must(hx_finalize(), NULL);
    free(to);
    free(to_start);
    free(from);
    free(from_start);
    free(next);
    free(tokens);
    free(arrived);
    return 0;
}
