/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdlib.h>

static inline int ascending_compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static inline void ascending_sort(double *values, size_t n)
{
    qsort(values, n, sizeof(*values), ascending_compare);
}

/* Sorts the values. For an even number of values: the mean of the middle two; for none: 0. */
static inline double median(double *values, size_t n)
{
    ascending_sort(values, n);
    return n == 0 ? 0 : (values[(n - 1) / 2] + values[n / 2]) / 2;
}
