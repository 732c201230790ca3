/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of bytes as text: 64K, 64KiB and "64 KiB" are 65536. They are read and written without the C library's locale, which belongs to
 * the program. */
#pragma once

#include <inttypes.h>
#include <stdio.h>

#define HX_SIZE_BYTES 25 /* 20 digits, a space, a unit, the end */

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

/* The same, with a unit: K, KiB or " KiB", and so M and G; or B. */
static inline int hx_size_parse(const char *text, const char **end, int64_t *bytes)
{
    const char *unit;
    int shift = 0;

    if (hx_integer_parse(text, end, bytes) < 0)
        return -1;
    unit = *end + (**end == ' ');
    switch (*unit) {
    case 'k':
    case 'K': shift = 10; break;
    case 'm':
    case 'M': shift = 20; break;
    case 'g':
    case 'G': shift = 30; break;
    case 'B': *end = unit + 1; return 0;
    }
    if (shift)
        *end = unit + (unit[1] == 'i' && unit[2] == 'B' ? 3 : 1);
    return __builtin_mul_overflow(*bytes, INT64_C(1) << shift, bytes) ? -1 : 0;
}

/* An exact number of the largest unit that divides bytes. */
static inline const char *hx_size_format(uint64_t bytes, char text[HX_SIZE_BYTES])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    int idx = 0;

    while (idx < 3 && bytes != 0 && bytes % 1024 == 0) {
        bytes /= 1024;
        idx++;
    }
    snprintf(text, HX_SIZE_BYTES, "%" PRIu64 " %s", bytes, units[idx]);
    return text;
}
