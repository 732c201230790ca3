/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pairs of a value and its index, for HX_MINLOC and HX_MAXLOC. A pair becomes a key whose order as a signed integer is
 * the order of the operation: by value, then by the lower index, a NaN before all numbers. So folding is taking the
 * least, or the greatest, key.
 *
 * Pairs of 8 bytes are keys of 64 bits, value above index, in vectors. Pairs of 16 bytes have 4 bytes of padding and are
 * folded one by one. Included by reduce_kernels.h.
 */
#pragma once

#include <stdint.h>
#include <string.h>

/* ---- 8 bytes: vectors of uint64_t; in memory the value is the low half */

#define PAIR_TURN(v) (((v) << 32) | ((v) >> 32))
#define PAIR_LESS(a, b) ((BITS(a))(a) < (BITS(b))(b))
#define PAIR_MIN_OF(a, b) SELECT(PAIR_LESS(a, b), a, b)
#define PAIR_MAX_OF(a, b) SELECT(PAIR_LESS(b, a), a, b)

/* The index, signed, in a key whose halves together compare as signed: ascending in the least key, descending in the
 * greatest. */
#define PAIR_UP 0x80000000u
#define PAIR_DOWN 0x7fffffffu

#define INT_PAIR_MIN_KEY(v) (PAIR_TURN(v) ^ PAIR_UP)
#define INT_PAIR_MAX_KEY(v) (PAIR_TURN(v) ^ PAIR_DOWN)
#define INT_PAIR_MIN_BACK(v) PAIR_TURN((v) ^ PAIR_UP)
#define INT_PAIR_MAX_BACK(v) PAIR_TURN((v) ^ PAIR_DOWN)

/* A float's bits compare as an integer once those of a negative one are turned around. */
#define PAIR_MAGNITUDE 0x7fffffff00000000u
#define PAIR_SIGN 0x8000000000000000u
#define PAIR_INFINITY 0x7f800000ffffffff
#define PAIR_SORTED(t) ((t) ^ ((__typeof__(t))((BITS(t))(t) < 0) & PAIR_MAGNITUDE))
#define PAIR_IS_NAN(t) ((BITS(t))((t) & PAIR_MAGNITUDE) > PAIR_INFINITY)
#define PAIR_PLUS_ZERO(t) ((t) & ~((__typeof__(t))(((t) & PAIR_MAGNITUDE) == 0) & PAIR_SIGN))
#define FLOAT_PAIR_KEY(v, nan, order)                                                           \
    __extension__({                                                                             \
        __typeof__(v) turned = PAIR_TURN(v), plus = PAIR_PLUS_ZERO(turned);                     \
        SELECT(PAIR_IS_NAN(turned), (turned & 0xffffffffu) | (nan), PAIR_SORTED(plus)) ^ (order); \
    })
#define FLOAT_PAIR_BACK(v, order)                                                               \
    __extension__({                                                                             \
        __typeof__(v) key = (v) ^ (order), turned = PAIR_SORTED(key);                           \
        turned = SELECT(PAIR_IS_NAN(turned), (turned & 0xffffffffu) | 0x7fc0000000000000u, turned); \
        PAIR_TURN(turned);                                                                      \
    })
#define FLOAT_PAIR_MIN_KEY(v) FLOAT_PAIR_KEY(v, PAIR_SIGN, PAIR_UP)
#define FLOAT_PAIR_MAX_KEY(v) FLOAT_PAIR_KEY(v, PAIR_MAGNITUDE, PAIR_DOWN)
#define FLOAT_PAIR_MIN_BACK(v) FLOAT_PAIR_BACK(v, PAIR_UP)
#define FLOAT_PAIR_MAX_BACK(v) FLOAT_PAIR_BACK(v, PAIR_DOWN)

/* ---- 16 bytes: the least key and index. For the greatest value the key is turned around: ~x falls as x grows. */

struct pair { /* in memory: the value, the index, padding */
    int64_t value;
    int32_t index, padding;
};

static inline int64_t double_sorted(int64_t bits)
{
    return bits ^ (bits < 0 ? INT64_MAX : 0);
}

static inline int64_t double_key(int64_t bits, int64_t turn)
{
    int64_t magnitude = bits & INT64_MAX;

    if (magnitude > 0x7ff0000000000000)
        return INT64_MIN;
    return (magnitude ? double_sorted(bits) : 0) ^ turn;
}

static inline int64_t double_back(int64_t key, int64_t turn)
{
    return key == INT64_MIN ? 0x7ff8000000000000 : double_sorted(key ^ turn);
}

static inline int64_t long_key(int64_t value, int64_t turn)
{
    return value ^ turn;
}

#define LONG_PAIR_KERNEL(name, key_of, value_of, turn)                                                                 \
    static void name(void *dst, const void *const *src, int nsrc, size_t count)                                        \
    {                                                                                                                  \
        for (size_t i = 0; i < count; i++) {                                                                           \
            struct pair pair;                                                                                          \
            memcpy(&pair, (const struct pair *)src[0] + i, sizeof(pair));                                              \
            int64_t key = key_of(pair.value, turn);                                                                    \
            int32_t index = pair.index;                                                                                \
            for (int k = 1; k < nsrc; k++) {                                                                           \
                memcpy(&pair, (const struct pair *)src[k] + i, sizeof(pair));                                          \
                int64_t other = key_of(pair.value, turn);                                                              \
                int better = (other < key) | ((other == key) & (pair.index < index));                                  \
                key = better ? other : key;                                                                            \
                index = better ? pair.index : index;                                                                   \
            }                                                                                                          \
            pair = (struct pair){value_of(key, turn), index, 0};                                                       \
            memcpy((struct pair *)dst + i, &pair, sizeof(pair));                                                       \
        }                                                                                                              \
    }
