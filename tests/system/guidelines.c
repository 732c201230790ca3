/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Performance guidelines: a collective must not be slower than others that do its work, nor slower for less. Both sides are timed in turn,
 * A B B A, in batches that start together, in other buffers from round to round; what counts is the median, over rounds, of the ratio
 * of the slowest ranks' times.
 * usage: guidelines          one line each: "NUMBER RATIO TEXT"
 *        guidelines NUMBER... only these, in four times as many rounds
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/hierax.h"
#include "runtime/base/clock.h"
#include "tools/common/median.h"

enum op { NONE, ALLREDUCE, REDUCE_SCATTER, ALLGATHER, BCAST, REDUCE, GATHER, SCATTER, ALLTOALL, SCAN, BARRIER };

static const char *const names[] = {"", "all-reduce", "reduce-scatter", "all-gather", "broadcast", "reduce", "gather", "scatter",
                                    "all-to-all", "scan", "barrier"};

/* Of one vector of the same bytes on either side; `more`: the right side has twice as many. */
static const struct rule {
    enum op left, right[2];
    int more;
} rules[] = {
    {ALLREDUCE, {REDUCE, BCAST}, 0},
    {ALLREDUCE, {REDUCE_SCATTER, ALLGATHER}, 0},
    {ALLGATHER, {GATHER, BCAST}, 0},
    {ALLGATHER, {ALLTOALL, NONE}, 0},
    {BCAST, {SCATTER, ALLGATHER}, 0},
    {REDUCE, {ALLREDUCE, NONE}, 0},
    {REDUCE, {REDUCE_SCATTER, GATHER}, 0},
    {GATHER, {ALLGATHER, NONE}, 0},
    {SCATTER, {BCAST, NONE}, 0},
    {REDUCE_SCATTER, {ALLREDUCE, NONE}, 0},
    {REDUCE_SCATTER, {REDUCE, SCATTER}, 0},
    {BARRIER, {ALLREDUCE, NONE}, 0},
    {ALLREDUCE, {ALLREDUCE, NONE}, 1},
    {REDUCE_SCATTER, {REDUCE_SCATTER, NONE}, 1},
    {ALLGATHER, {ALLGATHER, NONE}, 1},
    {BCAST, {BCAST, NONE}, 1},
    {REDUCE, {REDUCE, NONE}, 1},
    {GATHER, {GATHER, NONE}, 1},
    {SCATTER, {SCATTER, NONE}, 1},
    {ALLTOALL, {ALLTOALL, NONE}, 1},
    {SCAN, {SCAN, NONE}, 1},
};
static const size_t sizes[] = {64, 4 << 10, 64 << 10, 512 << 10};

enum { RULES = sizeof(rules) / sizeof(*rules), SIZES = sizeof(sizes) / sizeof(*sizes), ROUNDS = 48, BUFFERS = 4, LARGEST = 1 << 20 };

#define BATCH_US 250.0

static hx_comm_t *comm;
static float *memory, *in, *out;
static int nranks, failed;

/* bytes: of the whole vector; an all-to-all sends so many from each rank. */
static void call(enum op op, size_t bytes)
{
    size_t n = bytes / sizeof(float), block = n / (size_t)nranks;
    hx_status_t status = HX_SUCCESS;

    switch (op) {
    case NONE: break;
    case ALLREDUCE: status = hx_allreduce(in, out, n, HX_FLOAT32, HX_SUM, comm); break;
    case REDUCE_SCATTER: status = hx_reduce_scatter_block(in, out, block, HX_FLOAT32, HX_SUM, comm); break;
    case ALLGATHER: status = hx_allgather(in, out, block, HX_FLOAT32, comm); break;
    case BCAST: status = hx_bcast(out, n, HX_FLOAT32, 0, comm); break;
    case REDUCE: status = hx_reduce(in, out, n, HX_FLOAT32, HX_SUM, 0, comm); break;
    case GATHER: status = hx_gather(in, out, block, HX_FLOAT32, 0, comm); break;
    case SCATTER: status = hx_scatter(in, out, block, HX_FLOAT32, 0, comm); break;
    case ALLTOALL: status = hx_alltoall(in, out, block, HX_FLOAT32, comm); break;
    case SCAN: status = hx_scan(in, out, n, HX_FLOAT32, HX_SUM, comm); break;
    case BARRIER: status = hx_barrier(comm); break;
    }
    failed |= status != HX_SUCCESS;
}

/* One side, so often; microseconds per time. */
static double batch(const struct rule *rule, int right, size_t bytes, int repeat)
{
    double begin;

    failed |= hx_barrier(comm) != HX_SUCCESS;
    begin = 1e6 * hx_now_s();
    for (int i = 0; i < repeat; i++) {
        call(right ? rule->right[0] : rule->left, right && rule->more ? 2 * bytes : bytes);
        if (right)
            call(rule->right[1], bytes);
    }
    return (1e6 * hx_now_s() - begin) / repeat;
}

static double slowest(double us)
{
    double most = us;

    failed |= hx_allreduce(&us, &most, 1, HX_FLOAT64, HX_MAX, comm) != HX_SUCCESS;
    return most;
}

static void buffers_use(int i)
{
    in = memory + (size_t)(i % BUFFERS) * LARGEST / sizeof(float);
    out = in + (size_t)BUFFERS * LARGEST / sizeof(float);
}

static void measure(int number, int rounds)
{
    const struct rule *rule = &rules[number / SIZES];
    size_t bytes = sizes[number % SIZES];
    double mine[2][ROUNDS] = {{0}}, all[2][ROUNDS], ratio[ROUNDS];
    double wanted;
    int repeat;

    /* equally often: each batch has a first and a last call, which overlap with no other */
    for (int right = 0; right < 2; right++)
        batch(rule, right, bytes, 3);
    wanted = 2 * BATCH_US / slowest(batch(rule, 0, bytes, 3) + batch(rule, 1, bytes, 3));
    repeat = wanted < 2 ? 2 : wanted > 200 ? 200 : (int)wanted;
    for (int i = 0; i < rounds; i++)
        for (int k = 0; k < 2; k++) {
            int right = k ^ (i & 1);
            buffers_use(i);
            mine[right][i] = batch(rule, right, bytes, repeat);
        }
    failed |= hx_allreduce(mine, all, 2 * (size_t)ROUNDS, HX_FLOAT64, HX_MAX, comm) != HX_SUCCESS;
    for (int i = 0; i < rounds; i++)
        ratio[i] = all[0][i] / all[1][i];
    if (hx_rank(comm) != 0 || failed)
        return;
    printf("%d %.2f %s <= %s%s%s%s of %zu bytes: %.3f us, %.3f us\n", number, median(ratio, rounds), names[rule->left], names[rule->right[0]],
           rule->right[1] ? " + " : "", names[rule->right[1]], rule->more ? " of twice as much," : ",", bytes, median(all[0], rounds),
           median(all[1], rounds));
}

int main(int argc, char **argv)
{
    if (hx_init(&comm) != HX_SUCCESS)
        return 1;
    nranks = hx_size(comm);
    memory = malloc(2 * BUFFERS * LARGEST);
    failed = !memory;
    if (memory)
        memset(memory, 0, 2 * BUFFERS * LARGEST);
    buffers_use(0);
    for (int i = 1; i < argc && !failed; i++)
        measure(atoi(argv[i]) % (RULES * SIZES), ROUNDS);
    for (int number = 0; argc == 1 && number < RULES * SIZES && !failed; number++)
        if (rules[number / SIZES].left != BARRIER || number % SIZES == 0)
            measure(number, ROUNDS / 4);
    free(memory);
    return hx_finalize() != HX_SUCCESS || failed;
}
