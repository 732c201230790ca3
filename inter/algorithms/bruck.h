/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The digits of Bruck's all-to-all: a block that has to go i members on goes there in one hop for each digit of i that
 * is not 0, lowest first. Shared by the algorithm and the cost model.
 */
#ifndef HX_INTER_ALGORITHMS_BRUCK_H
#define HX_INTER_ALGORITHMS_BRUCK_H
#include <stdint.h>

#define HX_KBRUCK_RADIX 4

/* Digits of i that are not 0. */
static inline int hx_bruck_hops(int i, int radix)
{
    int hops = 0;
    for (; i > 0; i /= radix)
        hops += i % radix != 0;
    return hops;
}

/* What p members make of it: rounds, messages that each sends, and blocks in these. */
static inline void hx_bruck_count(int p, int radix, int *rounds, int *messages, long *blocks)
{
    *rounds = *messages = 0;
    *blocks = 0;
    for (int64_t weight = 1; weight < p; weight *= radix, ++*rounds)
        for (int64_t digit = 1; digit < radix && digit * weight < p; digit++)
            ++*messages;
    for (int i = 1; i < p; i++)
        *blocks += hx_bruck_hops(i, radix);
}

#endif
