/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of bytes as text: with an optional K, M or G (powers of 1024). They are read and written without the C library's locale, which
 * belongs to the program. */
#pragma once

#include <inttypes.h>
#include <stdio.h>

#define HX_SIZE_BYTES 24

/* A whole number from the head of text; *end: what follows. 0, or -1: there is none. */
static inline int hx_integer_parse(const char *text, const char **end, int64_t *value)
{
    const int negative = *text == '-';
    int64_t sum = 0;

    text += negative;
    if (*text < '0' || *text > '9')
        return -1;
    for (; *text >= '0' && *text <= '9'; text++)
        if (__builtin_mul_overflow(sum, 10, &sum) || __builtin_add_overflow(sum, *text - '0', &sum))
            return -1;
    *value = negative ? -sum : sum;
    *end = text;
    return 0;
}

/* The same, with a suffix. */
static inline int hx_size_parse(const char *text, const char **end, int64_t *bytes)
{
    int shift = 0;

    if (hx_integer_parse(text, end, bytes) < 0)
        return -1;
    switch (**end) {
    case 'k':
    case 'K': shift = 10; break;
    case 'm':
    case 'M': shift = 20; break;
    case 'g':
    case 'G': shift = 30; break;
    }
    *end += shift > 0;
    return __builtin_mul_overflow(*bytes, INT64_C(1) << shift, bytes) ? -1 : 0;
}

static inline const char *hx_size_format(int64_t bytes, char text[HX_SIZE_BYTES])
{
    static const char suffixes[] = {'\0', 'K', 'M', 'G'};
    int idx = 0;

    while (idx < 3 && bytes != 0 && bytes % 1024 == 0) {
        bytes /= 1024;
        idx++;
    }
    snprintf(text, HX_SIZE_BYTES, "%" PRId64 "%c", bytes, suffixes[idx]);
    return text;
}
