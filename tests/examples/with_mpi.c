/* SPDX-License-Identifier: BSD-3-Clause */
/* Hierax in an MPI program, under any launcher of MPI: it starts over MPI, and both are used from then on. */
#include <hierax.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What ranks have put, as "key\0value\0" one after the other: this rank's since the last fence, and all ranks' before. */
struct store {
    char *mine, *all;
    int mine_bytes, all_bytes;
};

static int put(void *ctx, const char *key, const char *value)
{
    struct store *s = ctx;
    int key_bytes = (int)strlen(key) + 1, value_bytes = (int)strlen(value) + 1;

    s->mine = realloc(s->mine, (size_t)(s->mine_bytes + key_bytes + value_bytes));
    memcpy(s->mine + s->mine_bytes, key, (size_t)key_bytes);
    memcpy(s->mine + s->mine_bytes + key_bytes, value, (size_t)value_bytes);
    s->mine_bytes += key_bytes + value_bytes;
    return 0;
}

static int fence(void *ctx)
{
    struct store *s = ctx;
    int size, *bytes, *displs, total;

    MPI_Comm_size(MPI_COMM_WORLD, &size);
    bytes = malloc(2 * (size_t)size * sizeof(int));
    displs = bytes + size;
    MPI_Allgather(&s->mine_bytes, 1, MPI_INT, bytes, 1, MPI_INT, MPI_COMM_WORLD);
    total = s->all_bytes;
    for (int r = 0; r < size; r++) {
        displs[r] = total;
        total += bytes[r];
    }
    s->all = realloc(s->all, (size_t)total + 1);
    MPI_Allgatherv(s->mine, s->mine_bytes, MPI_CHAR, s->all, bytes, displs, MPI_CHAR, MPI_COMM_WORLD);
    s->all_bytes = total;
    s->mine_bytes = 0;
    free(bytes);
    return 0;
}

static int get(void *ctx, const char *key, char *value, size_t capacity)
{
    const struct store *s = ctx;

    for (const char *at = s->all, *found; at < s->all + s->all_bytes; at = found + strlen(found) + 1) {
        found = at + strlen(at) + 1;
        if (!strcmp(at, key) && strlen(found) < capacity) {
            strcpy(value, found);
            return 0;
        }
    }
    return -1; /* nobody has put it */
}

int main(int argc, char **argv)
{
    struct store store = {0};
    hx_bootstrap_t bootstrap = {.put = put, .fence = fence, .get = get, .ctx = &store};
    hx_config_t config = {.bootstrap = &bootstrap};
    hx_comm_t *world;
    float in[1000], ours[1000], theirs[1000];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &bootstrap.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &bootstrap.size);
    if (hx_init_with(&config, &world) != HX_SUCCESS) {
        fprintf(stderr, "%s\n", hx_error_detail(NULL));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    free(store.mine);
    free(store.all);

    for (int i = 0; i < 1000; i++)
        in[i] = (float)(i * (bootstrap.rank + 1));
    MPI_Allreduce(in, theirs, 1000, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    if (hx_allreduce(in, ours, 1000, HX_FLOAT32, HX_SUM, world) != HX_SUCCESS) {
        fprintf(stderr, "%s\n", hx_error_detail(world));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    int wrong = memcmp(ours, theirs, sizeof(ours)) != 0;
    printf("with_mpi: rank %d of %d ranks, a sum of 1000 elements: %s\n", hx_rank(world), hx_size(world), wrong ? "WRONG" : "correct");

    int failed = hx_finalize() != HX_SUCCESS;
    MPI_Finalize();
    return wrong || failed;
}
