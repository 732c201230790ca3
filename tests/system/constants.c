/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * constants names COLLECTIVE: the algorithms that fold all contributions at once, and between which measured constants may choose
 * constants fold COLLECTIVE:  in a job: a hash of the bits that all ranks get, of floats that round and of halves
 */
#include "hier/compose/algorithm_list.h"
#include "runtime/base/coll.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 3001 /* of a rank's block */

static void check(hx_status_t status)
{
    if (status != HX_SUCCESS) {
        fprintf(stderr, "constants: %s\n", hx_error_detail(NULL));
        exit(1);
    }
}

static enum hx_coll coll_of(const char *name)
{
    for (int c = 0; c < HX_COLL_COUNT; c++)
        if (!strcmp(hx_coll_name((enum hx_coll)c), name))
            return (enum hx_coll)c;
    fprintf(stderr, "constants: there is no collective %s\n", name);
    exit(1);
}

static void names_print(enum hx_coll coll)
{
    const struct hx_algorithm *a;

    for (int idx = 0; (a = hx_algorithm_next(coll, HX_SCOPE_INTRA, &idx));)
        if (a->needs & HX_FOLDS_AT_ONCE)
            printf("%s\n", a->name);
}

static uint64_t hash(uint64_t hash, const void *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ ((const unsigned char *)data)[i]) * 0x100000001b3u;
    return hash;
}

/* Values of very different sizes: sums in another order have other bits. */
static void fill(void *values, size_t count, hx_dtype_t dtype, int rank)
{
    uint32_t seed = 1 + (uint32_t)rank;

    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        if (dtype == HX_FLOAT32)
            ((float *)values)[i] = (float)(seed >> 8) / (float)(1u << (seed >> 4) % 16);
        else
            ((uint16_t *)values)[i] = (uint16_t)(0x3000 + (seed >> 12) % 0x1800); /* halves from 1/8 to 8 */
    }
}

static uint64_t fold(enum hx_coll coll, hx_dtype_t dtype, hx_comm_t *comm)
{
    const int p = hx_size(comm);
    const size_t count = (size_t)COUNT * (size_t)p, bytes = count * (dtype == HX_FLOAT32 ? 4 : 2);
    void *in = malloc(bytes), *out = calloc(1, bytes);
    uint64_t mine, *all = calloc((size_t)p, sizeof(*all));

    if (!in || !out || !all)
        exit(1);
    fill(in, count, dtype, hx_rank(comm));
    check(coll == HX_COLL_ALLREDUCE      ? hx_allreduce(in, out, count, dtype, HX_SUM, comm)
          : coll == HX_COLL_REDUCE       ? hx_reduce(in, out, count, dtype, HX_SUM, p - 1, comm)
                                         : hx_reduce_scatter_block(in, out, COUNT, dtype, HX_SUM, comm));
    mine = hash(0xcbf29ce484222325u, out, bytes);
    check(hx_allgather(&mine, all, 1, HX_UINT64, comm));
    mine = hash(0xcbf29ce484222325u, all, (size_t)p * sizeof(*all));
    free(in);
    free(out);
    free(all);
    return mine;
}

int main(int argc, char **argv)
{
    hx_comm_t *world;

    if (argc != 3)
        return 2;
    const enum hx_coll coll = coll_of(argv[2]);
    if (!strcmp(argv[1], "names")) {
        names_print(coll);
        return 0;
    }
    check(hx_init(&world));
    const uint64_t floats = fold(coll, HX_FLOAT32, world), halves = fold(coll, HX_FLOAT16, world);
    if (hx_rank(world) == 0)
        printf("%016llx %016llx\n", (unsigned long long)floats, (unsigned long long)halves);
    check(hx_finalize());
    return 0;
}
