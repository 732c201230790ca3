/* SPDX-License-Identifier: BSD-3-Clause */
/* Traffic to check plans with: every pair of ranks another length, every third none; blocks stand apart, in OUT in the
 * opposite order. */
#include "runtime/plan/check.h"
#include <stdlib.h>

static size_t length(uint64_t count, int from, int to)
{
    return (from + 2 * to) % 3 == 0 && from != to ? 0 : (size_t)((uint64_t)(5 * from + 3 * to) % (count + 1));
}

/* One side of a rank: to or from whom, in what order. */
static void side_fill(size_t *lengths, size_t *at, int n, int rank, int sends, uint64_t count)
{
    size_t end = 0;

    for (int i = 0; i < n; i++) {
        int other = sends ? i : n - 1 - i;
        lengths[other] = sends ? length(count, rank, other) : length(count, other, rank);
        at[other] = end + (size_t)(other % 2);
        end = at[other] + lengths[other];
    }
}

struct hx_pair_counts *hx_check_pair_counts_new(int n, uint64_t count)
{
    size_t p = (size_t)n, entries = 4 * p * p;
    struct hx_pair_counts *pair_counts = malloc(p * sizeof(*pair_counts) + entries * sizeof(size_t));
    size_t *next = (size_t *)(void *)(pair_counts + p);

    for (int rank = 0; pair_counts && rank < n; rank++, next += 4 * p) {
        side_fill(next, next + p, n, rank, 1, count);
        side_fill(next + 2 * p, next + 3 * p, n, rank, 0, count);
        pair_counts[rank] = (struct hx_pair_counts){next, next + p, next + 2 * p, next + 3 * p};
    }
    return pair_counts;
}

void hx_check_pair_counts_free(struct hx_pair_counts *pair_counts)
{
    free(pair_counts);
}
