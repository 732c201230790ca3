/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The product of complex numbers, for vectors of WIDE and of 16 bytes, in interleaved pairs: (ar br - ai bi, ar bi + ai br),
 * the plain formula. Part of reduce_kernels.h.
 */
#pragma once

#include <stdint.h>

#define LANES_2(of) 0 of, 1 of
#define LANES_4(of) LANES_2(of), 2 of, 3 of
#define LANES_8(of) LANES_4(of), 4 of, 5 of, 6 of, 7 of
#define LANES_16(of) LANES_8(of), 8 of, 9 of, 10 of, 11 of, 12 of, 13 of, 14 of, 15 of

#if defined(__clang__)
#define SHUFFLE(v, lanes_t, ...) __builtin_shufflevector(v, v, __VA_ARGS__)
#else /* GCC before version 12 has only this */
#define SHUFFLE(v, lanes_t, ...) __builtin_shuffle(v, (lanes_t){__VA_ARGS__})
#endif

#define COMPLEX_MULTIPLY(name, part, bits, bytes, LANES, sign_bit)                                \
    typedef part name##_t __attribute__((vector_size(bytes)));                                    \
    typedef bits name##_lanes __attribute__((vector_size(bytes)));                                \
    static inline name##_t name(name##_t a, name##_t b)                                           \
    {                                                                                             \
        name##_t straight = SHUFFLE(a, name##_lanes, LANES(& ~1)) * b;                            \
        name##_t crossed = SHUFFLE(a, name##_lanes, LANES(| 1)) * SHUFFLE(b, name##_lanes, LANES(^ 1)); \
        name##_lanes negate = {LANES(& 1 ? 0 : sign_bit)};                                        \
        return straight + (name##_t)((name##_lanes)crossed ^ negate);                             \
    }
COMPLEX_MULTIPLY(complex64_small, float, int32_t, 16, LANES_4, INT32_MIN)
COMPLEX_MULTIPLY(complex128_small, double, int64_t, 16, LANES_2, INT64_MIN)
#if WIDE == 64
COMPLEX_MULTIPLY(complex64_wide, float, int32_t, 64, LANES_16, INT32_MIN)
COMPLEX_MULTIPLY(complex128_wide, double, int64_t, 64, LANES_8, INT64_MIN)
#elif WIDE == 32
COMPLEX_MULTIPLY(complex64_wide, float, int32_t, 32, LANES_8, INT32_MIN)
COMPLEX_MULTIPLY(complex128_wide, double, int64_t, 32, LANES_4, INT64_MIN)
#else
#define complex64_wide complex64_small
#define complex128_wide complex128_small
#endif

#define COMPLEX64_MULTIPLY(a, b) __builtin_choose_expr(sizeof(a) == 16, complex64_small, complex64_wide)(a, b)
#define COMPLEX128_MULTIPLY(a, b) __builtin_choose_expr(sizeof(a) == 16, complex128_small, complex128_wide)(a, b)
