/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bodies of all reduction kernels. Included once per instruction set by reduce_baseline.c, reduce_avx2.c and
 * reduce_avx512.c, which define WIDE (bytes of a vector), KERNEL_ISA (the name) and KERNEL_TABLE (the one symbol that
 * leaves the object).
 *
 * One pass: for each piece the accumulator stays in registers while the sources are folded in, left to right, and is
 * stored once. Pieces are four wide vectors, one wide, one small (16 bytes), then 8, 4, 2 and 1 bytes in the low part
 * of a small vector: so one expression per operation serves every width, and tiny counts need no set-up. A piece is
 * stored only after all its sources were read, so dst may be one of them.
 *
 * Same bits on every instruction set: element-wise operations only, compiled with -ffp-contract=off, and a NaN result
 * is always the positive quiet NaN without payload, because which operand's payload survives is up to the CPU and the
 * compiler.
 */
#include "runtime/base/reduce_half.h"
#include "runtime/base/reduce_pairs.h"
#include "runtime/base/reduce_table.h"
#include <string.h>
#ifdef __FAST_MATH__
#error "reductions promise the same bits everywhere: do not compile with -ffast-math"
#endif

/* ---- operations, on vectors of any width; their arguments are variables */

#define BITS(v) __typeof__((v) == (v)) /* the signed integer vector of the same shape */

#define AS_IS(v) (v)
#define TRUTH(v) ((__typeof__(v))((v) != 0) & 1)
#define ADD(a, b) ((a) + (b))
#define MULTIPLY(a, b) ((a) * (b))
#define AND(a, b) ((a) & (b))
#define OR(a, b) ((a) | (b))
#define XOR(a, b) ((a) ^ (b))
#define SELECT(mask, a, b) (((a) & (__typeof__(a))(mask)) | ((b) & ~(__typeof__(a))(mask)))
#define INT_MIN_OF(a, b) SELECT((a) < (b), a, b)
#define INT_MAX_OF(a, b) SELECT((a) > (b), a, b)

#define NAN32(v) QUIET_NAN(v, 0x7fc00000)
#define NAN64(v) QUIET_NAN(v, 0x7ff8000000000000)
#define QUIET_NAN(v, quiet_nan) ((__typeof__(v))(((BITS(v))(v) & ~((v) != (v))) | (((v) != (v)) & (quiet_nan))))

/* The smaller one; of equal ones, and if there is a NaN, the bits of both or-ed: -0 wins over +0, and a NaN stays a
 * NaN. The maximum is the negated minimum of the negated elements, so there +0 wins. */
#define FLOAT_MIN_OF(a, b) ((__typeof__(a))(((BITS(a))(a) & ~((a) > (b))) | ((BITS(a))(b) & ~((a) < (b)))))
#define NEGATE(v) (-(v))
#define NEGATE_NAN32(v) NAN32(-(v))
#define NEGATE_NAN64(v) NAN64(-(v))

/* (ar br - ai bi, ar bi + ai br) on interleaved pairs: the plain formula. */
#define COMPLEX_MULTIPLY(a, b, lanes, sign_bit)                                                         \
    (__builtin_shuffle(a, (lanes) & ~1) * (b) +                                                         \
     (__typeof__(a))((BITS(a))(__builtin_shuffle(a, (lanes) | 1) * __builtin_shuffle(b, (lanes) ^ 1)) ^ \
                     ((((lanes) & 1) - 1) & (sign_bit))))
#define COMPLEX64_MULTIPLY(a, b) COMPLEX_MULTIPLY(a, b, LANES(a, lanes32_wide, lanes32_small), INT32_MIN)
#define COMPLEX128_MULTIPLY(a, b) COMPLEX_MULTIPLY(a, b, LANES(a, lanes64_wide, lanes64_small), INT64_MIN)
#define LANES(v, wide, small) __builtin_choose_expr(sizeof(v) == 16, small, wide)
static const int32_t lanes32_small __attribute__((vector_size(16))) = {0, 1, 2, 3};
static const int64_t lanes64_small __attribute__((vector_size(16))) = {0, 1};
#if WIDE == 64
static const int32_t lanes32_wide __attribute__((vector_size(64))) = {0, 1, 2,  3,  4,  5,  6,  7,
                                                                      8, 9, 10, 11, 12, 13, 14, 15};
static const int64_t lanes64_wide __attribute__((vector_size(64))) = {0, 1, 2, 3, 4, 5, 6, 7};
#elif WIDE == 32
static const int32_t lanes32_wide __attribute__((vector_size(32))) = {0, 1, 2, 3, 4, 5, 6, 7};
static const int64_t lanes64_wide __attribute__((vector_size(32))) = {0, 1, 2, 3};
#else
#define lanes32_wide lanes32_small
#define lanes64_wide lanes64_small
#endif

/* 16-bit floats: in memory uint16_t, folded as float32. */
#define FLOAT16_WIDEN_NEGATE(v) (-FLOAT16_WIDEN(v))
#define FLOAT16_NARROW_NAN(v) FLOAT16_NARROW(NAN32(v))
#define FLOAT16_NARROW_NEGATE_NAN(v) FLOAT16_NARROW(NEGATE_NAN32(v))
#define BFLOAT16_WIDEN_NEGATE(v) (-BFLOAT16_WIDEN(v))
#define BFLOAT16_NARROW_NAN(v) BFLOAT16_NARROW(NAN32(v))
#define BFLOAT16_NARROW_NEGATE_NAN(v) BFLOAT16_NARROW(NEGATE_NAN32(v))
#define DIVIDE32(v) ((v) / (float)divisor)
#define DIVIDE64(v) ((v) / (double)divisor)
#define FLOAT16_WIDEN_DIVIDE(v) DIVIDE32(FLOAT16_WIDEN(v))
#define BFLOAT16_WIDEN_DIVIDE(v) DIVIDE32(BFLOAT16_WIDEN(v))

/* ---- pieces: memory to vector and back */

#define LOAD_WHOLE(raw, from) memcpy(&(raw), from, sizeof(raw))
#define STORE_WHOLE(to, raw) memcpy(to, &(raw), sizeof(raw))

/* LOAD_8 and so on: the low bytes of a vector, the rest zero; through an integer register, not through the stack. */
#define LOAD_PART(part_type, raw, from)                                               \
    do {                                                                              \
        typedef part_type parts_t __attribute__((vector_size(sizeof(raw))));          \
        part_type part;                                                               \
        memcpy(&part, from, sizeof(part));                                            \
        raw = (__typeof__(raw))(parts_t){part};                                       \
    } while (0)
#define STORE_PART(part_type, to, raw)                                                \
    do {                                                                              \
        typedef part_type parts_t __attribute__((vector_size(sizeof(raw))));          \
        part_type part = ((parts_t)(raw))[0];                                         \
        memcpy(to, &part, sizeof(part));                                              \
    } while (0)
#define LOAD_8(raw, from) LOAD_PART(uint64_t, raw, from)
#define LOAD_4(raw, from) LOAD_PART(uint32_t, raw, from)
#define LOAD_2(raw, from) LOAD_PART(uint16_t, raw, from)
#define LOAD_1(raw, from) LOAD_PART(uint8_t, raw, from)
#define STORE_8(to, raw) STORE_PART(uint64_t, to, raw)
#define STORE_4(to, raw) STORE_PART(uint32_t, to, raw)
#define STORE_2(to, raw) STORE_PART(uint16_t, to, raw)
#define STORE_1(to, raw) STORE_PART(uint8_t, to, raw)

/* ---- folding one piece at byte offset `at` */

#define FOLD(acc_t, raw_t, LOAD, STORE, PRE, OP, POST)          \
    do {                                                        \
        raw_t raw;                                              \
        LOAD(raw, (const char *)src[0] + at);                   \
        acc_t acc = PRE(raw);                                   \
        for (int k = 1; k < nsrc; k++) {                        \
            LOAD(raw, (const char *)src[k] + at);               \
            acc_t term = PRE(raw);                              \
            acc = OP(acc, term);                                \
        }                                                       \
        raw = POST(acc);                                        \
        STORE((char *)dst + at, raw);                           \
    } while (0)

/* The same for four vectors side by side, so that their operations overlap. */
#define LOAD_FOUR(from)                                         \
    LOAD_WHOLE(raw0, (from) + at);                              \
    LOAD_WHOLE(raw1, (from) + at + sizeof(raw0));               \
    LOAD_WHOLE(raw2, (from) + at + 2 * sizeof(raw0));           \
    LOAD_WHOLE(raw3, (from) + at + 3 * sizeof(raw0))
#define FOLD_FOUR(acc_t, raw_t, PRE, OP, POST)               \
    do {                                                        \
        raw_t raw0, raw1, raw2, raw3;                           \
        LOAD_FOUR((const char *)src[0]);                        \
        acc_t acc0 = PRE(raw0), acc1 = PRE(raw1), acc2 = PRE(raw2), acc3 = PRE(raw3);         \
        for (int k = 1; k < nsrc; k++) {                        \
            LOAD_FOUR((const char *)src[k]);                    \
            acc_t term0 = PRE(raw0), term1 = PRE(raw1), term2 = PRE(raw2), term3 = PRE(raw3); \
            acc0 = OP(acc0, term0);                             \
            acc1 = OP(acc1, term1);                             \
            acc2 = OP(acc2, term2);                             \
            acc3 = OP(acc3, term3);                             \
        }                                                       \
        raw0 = POST(acc0);                                      \
        raw1 = POST(acc1);                                      \
        raw2 = POST(acc2);                                      \
        raw3 = POST(acc3);                                      \
        STORE_WHOLE((char *)dst + at, raw0);                    \
        STORE_WHOLE((char *)dst + at + sizeof(raw0), raw1);     \
        STORE_WHOLE((char *)dst + at + 2 * sizeof(raw0), raw2); \
        STORE_WHOLE((char *)dst + at + 3 * sizeof(raw0), raw3); \
    } while (0)

/* ---- whole kernels
 * raw: the type in memory; acc: the type it is folded in (equal but for 16-bit floats); element_bytes: two raws for a
 * complex type. PRE: done to a source's element before it is folded; POST: to the accumulator before it is stored. */

#define FOLD_TYPES(raw, acc)                                                                            \
    typedef acc acc_wide __attribute__((vector_size(WIDE), unused));                                    \
    typedef acc acc_small __attribute__((vector_size(16), unused));                                     \
    typedef raw raw_one __attribute__((unused));                                                        \
    typedef raw raw_wide __attribute__((vector_size(WIDE / sizeof(acc) * sizeof(raw)), unused));        \
    typedef raw raw_small __attribute__((vector_size(16 / sizeof(acc) * sizeof(raw)), unused))

#define FOLD_WIDE(PRE, OP, POST)                                                \
    for (; bytes - at >= 4 * sizeof(raw_wide); at += 4 * sizeof(raw_wide))      \
        FOLD_FOUR(acc_wide, raw_wide, PRE, OP, POST);                           \
    for (; bytes - at >= sizeof(raw_wide); at += sizeof(raw_wide))              \
        FOLD(acc_wide, raw_wide, LOAD_WHOLE, STORE_WHOLE, PRE, OP, POST)

/* What is left, less than a wide vector. */
#define FOLD_REST(PRE, OP, POST)                                                                              \
    for (; sizeof(raw_wide) > sizeof(raw_small) && bytes - at >= sizeof(raw_small); at += sizeof(raw_small))  \
        FOLD(acc_small, raw_small, LOAD_WHOLE, STORE_WHOLE, PRE, OP, POST);                                   \
    if (sizeof(raw_small) > 8 && bytes & 8) {                                                                 \
        FOLD(acc_small, raw_small, LOAD_8, STORE_8, PRE, OP, POST);                                           \
        at += 8;                                                                                              \
    }                                                                                                         \
    if (sizeof(raw_one) <= 4 && bytes & 4) {                                                                  \
        FOLD(acc_small, raw_small, LOAD_4, STORE_4, PRE, OP, POST);                                           \
        at += 4;                                                                                              \
    }                                                                                                         \
    if (sizeof(raw_one) <= 2 && bytes & 2) {                                                                  \
        FOLD(acc_small, raw_small, LOAD_2, STORE_2, PRE, OP, POST);                                           \
        at += 2;                                                                                              \
    }                                                                                                         \
    if (sizeof(raw_one) <= 1 && bytes & 1)                                                                    \
        FOLD(acc_small, raw_small, LOAD_1, STORE_1, PRE, OP, POST)

#define NOINLINE __attribute__((noinline))

/* Upper halves of registers left in use make every change between processes save them, and a caller's SSE code wait
 * for them. Compilers do not see to it before they jump to a function of the same file. (The upper 16 registers, which the pairs' kernels of
 * AVX-512 use, are only saved.) */
#if WIDE > 16
#define UPPER_UNUSED() _mm256_zeroupper()
#else
#define UPPER_UNUSED() ((void)0)
#endif

/* Apart, so that a few elements do not pay for the registers that the wide loops need. */
#define KERNEL(name, raw, acc, element_bytes, PRE, OP, POST)                                                  \
    static NOINLINE void name##_rest(void *dst, const void *const *src, int nsrc, size_t bytes, size_t at)    \
    {                                                                                                         \
        FOLD_TYPES(raw, acc);                                                                                 \
        FOLD_REST(PRE, OP, POST);                                                                             \
    }                                                                                                         \
    static NOINLINE void name##_wide(void *dst, const void *const *src, int nsrc, size_t bytes)               \
    {                                                                                                         \
        FOLD_TYPES(raw, acc);                                                                                 \
        size_t at = 0;                                                                                        \
        FOLD_WIDE(PRE, OP, POST);                                                                             \
        UPPER_UNUSED();                                                                                       \
        name##_rest(dst, src, nsrc, bytes, at);                                                               \
    }                                                                                                         \
    static void name(void *dst, const void *const *src, int nsrc, size_t count)                               \
    {                                                                                                         \
        FOLD_TYPES(raw, acc);                                                                                 \
        if (count * (element_bytes) < sizeof(raw_wide))                                                       \
            name##_rest(dst, src, nsrc, count * (element_bytes), 0);                                          \
        else                                                                                                  \
            name##_wide(dst, src, nsrc, count * (element_bytes));                                             \
    }

/* A fold of one source. */
#define SCALE(name, raw, acc, element_bytes, PRE, POST)                         \
    static void name(void *dst, size_t count, int divisor)                      \
    {                                                                           \
        FOLD_TYPES(raw, acc);                                                   \
        const void *const src[1] = {dst};                                       \
        enum { nsrc = 1 };                                                      \
        size_t bytes = count * (element_bytes), at = 0;                         \
        FOLD_WIDE(PRE, ADD, POST);                                              \
        FOLD_REST(PRE, ADD, POST);                                              \
    }

/* Integers: unsigned, so that sums and products wrap; the sign matters to min and max only. */
KERNEL(int8_sum, uint8_t, uint8_t, 1, AS_IS, ADD, AS_IS)
KERNEL(int16_sum, uint16_t, uint16_t, 2, AS_IS, ADD, AS_IS)
KERNEL(int32_sum, uint32_t, uint32_t, 4, AS_IS, ADD, AS_IS)
KERNEL(int64_sum, uint64_t, uint64_t, 8, AS_IS, ADD, AS_IS)
KERNEL(int8_prod, uint8_t, uint8_t, 1, AS_IS, MULTIPLY, AS_IS)
KERNEL(int16_prod, uint16_t, uint16_t, 2, AS_IS, MULTIPLY, AS_IS)
KERNEL(int32_prod, uint32_t, uint32_t, 4, AS_IS, MULTIPLY, AS_IS)
KERNEL(int64_prod, uint64_t, uint64_t, 8, AS_IS, MULTIPLY, AS_IS)
KERNEL(int8_band, uint8_t, uint8_t, 1, AS_IS, AND, AS_IS)
KERNEL(int16_band, uint16_t, uint16_t, 2, AS_IS, AND, AS_IS)
KERNEL(int32_band, uint32_t, uint32_t, 4, AS_IS, AND, AS_IS)
KERNEL(int64_band, uint64_t, uint64_t, 8, AS_IS, AND, AS_IS)
KERNEL(int8_bor, uint8_t, uint8_t, 1, AS_IS, OR, AS_IS)
KERNEL(int16_bor, uint16_t, uint16_t, 2, AS_IS, OR, AS_IS)
KERNEL(int32_bor, uint32_t, uint32_t, 4, AS_IS, OR, AS_IS)
KERNEL(int64_bor, uint64_t, uint64_t, 8, AS_IS, OR, AS_IS)
KERNEL(int8_bxor, uint8_t, uint8_t, 1, AS_IS, XOR, AS_IS)
KERNEL(int16_bxor, uint16_t, uint16_t, 2, AS_IS, XOR, AS_IS)
KERNEL(int32_bxor, uint32_t, uint32_t, 4, AS_IS, XOR, AS_IS)
KERNEL(int64_bxor, uint64_t, uint64_t, 8, AS_IS, XOR, AS_IS)
KERNEL(int8_land, uint8_t, uint8_t, 1, TRUTH, AND, AS_IS)
KERNEL(int16_land, uint16_t, uint16_t, 2, TRUTH, AND, AS_IS)
KERNEL(int32_land, uint32_t, uint32_t, 4, TRUTH, AND, AS_IS)
KERNEL(int64_land, uint64_t, uint64_t, 8, TRUTH, AND, AS_IS)
KERNEL(int8_lor, uint8_t, uint8_t, 1, TRUTH, OR, AS_IS)
KERNEL(int16_lor, uint16_t, uint16_t, 2, TRUTH, OR, AS_IS)
KERNEL(int32_lor, uint32_t, uint32_t, 4, TRUTH, OR, AS_IS)
KERNEL(int64_lor, uint64_t, uint64_t, 8, TRUTH, OR, AS_IS)
KERNEL(int8_lxor, uint8_t, uint8_t, 1, TRUTH, XOR, AS_IS)
KERNEL(int16_lxor, uint16_t, uint16_t, 2, TRUTH, XOR, AS_IS)
KERNEL(int32_lxor, uint32_t, uint32_t, 4, TRUTH, XOR, AS_IS)
KERNEL(int64_lxor, uint64_t, uint64_t, 8, TRUTH, XOR, AS_IS)
KERNEL(sint8_min, int8_t, int8_t, 1, AS_IS, INT_MIN_OF, AS_IS)
KERNEL(sint16_min, int16_t, int16_t, 2, AS_IS, INT_MIN_OF, AS_IS)
KERNEL(sint32_min, int32_t, int32_t, 4, AS_IS, INT_MIN_OF, AS_IS)
KERNEL(sint64_min, int64_t, int64_t, 8, AS_IS, INT_MIN_OF, AS_IS)
KERNEL(uint8_min, uint8_t, uint8_t, 1, AS_IS, INT_MIN_OF, AS_IS)
KERNEL(uint16_min, uint16_t, uint16_t, 2, AS_IS, INT_MIN_OF, AS_IS)
KERNEL(uint32_min, uint32_t, uint32_t, 4, AS_IS, INT_MIN_OF, AS_IS)
KERNEL(uint64_min, uint64_t, uint64_t, 8, AS_IS, INT_MIN_OF, AS_IS)
KERNEL(sint8_max, int8_t, int8_t, 1, AS_IS, INT_MAX_OF, AS_IS)
KERNEL(sint16_max, int16_t, int16_t, 2, AS_IS, INT_MAX_OF, AS_IS)
KERNEL(sint32_max, int32_t, int32_t, 4, AS_IS, INT_MAX_OF, AS_IS)
KERNEL(sint64_max, int64_t, int64_t, 8, AS_IS, INT_MAX_OF, AS_IS)
KERNEL(uint8_max, uint8_t, uint8_t, 1, AS_IS, INT_MAX_OF, AS_IS)
KERNEL(uint16_max, uint16_t, uint16_t, 2, AS_IS, INT_MAX_OF, AS_IS)
KERNEL(uint32_max, uint32_t, uint32_t, 4, AS_IS, INT_MAX_OF, AS_IS)
KERNEL(uint64_max, uint64_t, uint64_t, 8, AS_IS, INT_MAX_OF, AS_IS)

/* Floating point. */
KERNEL(float32_sum, float, float, 4, AS_IS, ADD, NAN32)
KERNEL(float32_prod, float, float, 4, AS_IS, MULTIPLY, NAN32)
KERNEL(float32_min, float, float, 4, AS_IS, FLOAT_MIN_OF, NAN32)
KERNEL(float32_max, float, float, 4, NEGATE, FLOAT_MIN_OF, NEGATE_NAN32)
SCALE(float32_scale, float, float, 4, DIVIDE32, NAN32)
KERNEL(float64_sum, double, double, 8, AS_IS, ADD, NAN64)
KERNEL(float64_prod, double, double, 8, AS_IS, MULTIPLY, NAN64)
KERNEL(float64_min, double, double, 8, AS_IS, FLOAT_MIN_OF, NAN64)
KERNEL(float64_max, double, double, 8, NEGATE, FLOAT_MIN_OF, NEGATE_NAN64)
SCALE(float64_scale, double, double, 8, DIVIDE64, NAN64)
KERNEL(float16_sum, uint16_t, float, 2, FLOAT16_WIDEN, ADD, FLOAT16_NARROW_NAN)
KERNEL(float16_prod, uint16_t, float, 2, FLOAT16_WIDEN, MULTIPLY, FLOAT16_NARROW_NAN)
KERNEL(float16_min, uint16_t, float, 2, FLOAT16_WIDEN, FLOAT_MIN_OF, FLOAT16_NARROW_NAN)
KERNEL(float16_max, uint16_t, float, 2, FLOAT16_WIDEN_NEGATE, FLOAT_MIN_OF, FLOAT16_NARROW_NEGATE_NAN)
SCALE(float16_scale, uint16_t, float, 2, FLOAT16_WIDEN_DIVIDE, FLOAT16_NARROW_NAN)
KERNEL(bfloat16_sum, uint16_t, float, 2, BFLOAT16_WIDEN, ADD, BFLOAT16_NARROW_NAN)
KERNEL(bfloat16_prod, uint16_t, float, 2, BFLOAT16_WIDEN, MULTIPLY, BFLOAT16_NARROW_NAN)
KERNEL(bfloat16_min, uint16_t, float, 2, BFLOAT16_WIDEN, FLOAT_MIN_OF, BFLOAT16_NARROW_NAN)
KERNEL(bfloat16_max, uint16_t, float, 2, BFLOAT16_WIDEN_NEGATE, FLOAT_MIN_OF, BFLOAT16_NARROW_NEGATE_NAN)
SCALE(bfloat16_scale, uint16_t, float, 2, BFLOAT16_WIDEN_DIVIDE, BFLOAT16_NARROW_NAN)
KERNEL(complex64_sum, float, float, 8, AS_IS, ADD, NAN32)
KERNEL(complex64_prod, float, float, 8, AS_IS, COMPLEX64_MULTIPLY, NAN32)
SCALE(complex64_scale, float, float, 8, DIVIDE32, NAN32)
KERNEL(complex128_sum, double, double, 16, AS_IS, ADD, NAN64)
KERNEL(complex128_prod, double, double, 16, AS_IS, COMPLEX128_MULTIPLY, NAN64)
SCALE(complex128_scale, double, double, 16, DIVIDE64, NAN64)

/* Pairs of a value and its index. */
KERNEL(int32_index_minloc, uint64_t, uint64_t, 8, INT_PAIR_MIN_KEY, PAIR_MIN_OF, INT_PAIR_MIN_BACK)
KERNEL(int32_index_maxloc, uint64_t, uint64_t, 8, INT_PAIR_MAX_KEY, PAIR_MAX_OF, INT_PAIR_MAX_BACK)
KERNEL(float32_index_minloc, uint64_t, uint64_t, 8, FLOAT_PAIR_MIN_KEY, PAIR_MIN_OF, FLOAT_PAIR_MIN_BACK)
KERNEL(float32_index_maxloc, uint64_t, uint64_t, 8, FLOAT_PAIR_MAX_KEY, PAIR_MAX_OF, FLOAT_PAIR_MAX_BACK)
LONG_PAIR_KERNEL(int64_index_minloc, long_key, long_key, 0)
LONG_PAIR_KERNEL(int64_index_maxloc, long_key, long_key, -1)
LONG_PAIR_KERNEL(float64_index_minloc, double_key, double_back, 0)
LONG_PAIR_KERNEL(float64_index_maxloc, double_key, double_back, -1)

/* ---- the table; what is left out is not defined */

const struct hx_reduce_table KERNEL_TABLE = {
    .isa = KERNEL_ISA,
    .kernel = {
        [HX_INT8] = {[HX_SUM] = int8_sum, [HX_PROD] = int8_prod, [HX_MIN] = sint8_min, [HX_MAX] = sint8_max,
            [HX_BAND] = int8_band, [HX_BOR] = int8_bor, [HX_BXOR] = int8_bxor,
            [HX_LAND] = int8_land, [HX_LOR] = int8_lor, [HX_LXOR] = int8_lxor},
        [HX_INT16] = {[HX_SUM] = int16_sum, [HX_PROD] = int16_prod, [HX_MIN] = sint16_min, [HX_MAX] = sint16_max,
            [HX_BAND] = int16_band, [HX_BOR] = int16_bor, [HX_BXOR] = int16_bxor,
            [HX_LAND] = int16_land, [HX_LOR] = int16_lor, [HX_LXOR] = int16_lxor},
        [HX_INT32] = {[HX_SUM] = int32_sum, [HX_PROD] = int32_prod, [HX_MIN] = sint32_min, [HX_MAX] = sint32_max,
            [HX_BAND] = int32_band, [HX_BOR] = int32_bor, [HX_BXOR] = int32_bxor,
            [HX_LAND] = int32_land, [HX_LOR] = int32_lor, [HX_LXOR] = int32_lxor},
        [HX_INT64] = {[HX_SUM] = int64_sum, [HX_PROD] = int64_prod, [HX_MIN] = sint64_min, [HX_MAX] = sint64_max,
            [HX_BAND] = int64_band, [HX_BOR] = int64_bor, [HX_BXOR] = int64_bxor,
            [HX_LAND] = int64_land, [HX_LOR] = int64_lor, [HX_LXOR] = int64_lxor},
        [HX_UINT8] = {[HX_SUM] = int8_sum, [HX_PROD] = int8_prod, [HX_MIN] = uint8_min, [HX_MAX] = uint8_max,
            [HX_BAND] = int8_band, [HX_BOR] = int8_bor, [HX_BXOR] = int8_bxor,
            [HX_LAND] = int8_land, [HX_LOR] = int8_lor, [HX_LXOR] = int8_lxor},
        [HX_UINT16] = {[HX_SUM] = int16_sum, [HX_PROD] = int16_prod, [HX_MIN] = uint16_min, [HX_MAX] = uint16_max,
            [HX_BAND] = int16_band, [HX_BOR] = int16_bor, [HX_BXOR] = int16_bxor,
            [HX_LAND] = int16_land, [HX_LOR] = int16_lor, [HX_LXOR] = int16_lxor},
        [HX_UINT32] = {[HX_SUM] = int32_sum, [HX_PROD] = int32_prod, [HX_MIN] = uint32_min, [HX_MAX] = uint32_max,
            [HX_BAND] = int32_band, [HX_BOR] = int32_bor, [HX_BXOR] = int32_bxor,
            [HX_LAND] = int32_land, [HX_LOR] = int32_lor, [HX_LXOR] = int32_lxor},
        [HX_UINT64] = {[HX_SUM] = int64_sum, [HX_PROD] = int64_prod, [HX_MIN] = uint64_min, [HX_MAX] = uint64_max,
            [HX_BAND] = int64_band, [HX_BOR] = int64_bor, [HX_BXOR] = int64_bxor,
            [HX_LAND] = int64_land, [HX_LOR] = int64_lor, [HX_LXOR] = int64_lxor},
        [HX_FLOAT16] = {[HX_SUM] = float16_sum, [HX_PROD] = float16_prod, [HX_MIN] = float16_min,
            [HX_MAX] = float16_max, [HX_AVG] = float16_sum},
        [HX_BFLOAT16] = {[HX_SUM] = bfloat16_sum, [HX_PROD] = bfloat16_prod, [HX_MIN] = bfloat16_min,
            [HX_MAX] = bfloat16_max, [HX_AVG] = bfloat16_sum},
        [HX_FLOAT32] = {[HX_SUM] = float32_sum, [HX_PROD] = float32_prod, [HX_MIN] = float32_min,
            [HX_MAX] = float32_max, [HX_AVG] = float32_sum},
        [HX_FLOAT64] = {[HX_SUM] = float64_sum, [HX_PROD] = float64_prod, [HX_MIN] = float64_min,
            [HX_MAX] = float64_max, [HX_AVG] = float64_sum},
        [HX_COMPLEX64] = {[HX_SUM] = complex64_sum, [HX_PROD] = complex64_prod, [HX_AVG] = complex64_sum},
        [HX_COMPLEX128] = {[HX_SUM] = complex128_sum, [HX_PROD] = complex128_prod, [HX_AVG] = complex128_sum},
        [HX_BYTE] = {[HX_BAND] = int8_band, [HX_BOR] = int8_bor, [HX_BXOR] = int8_bxor},
        [HX_FLOAT32_INDEX] = {[HX_MINLOC] = float32_index_minloc, [HX_MAXLOC] = float32_index_maxloc},
        [HX_FLOAT64_INDEX] = {[HX_MINLOC] = float64_index_minloc, [HX_MAXLOC] = float64_index_maxloc},
        [HX_INT32_INDEX] = {[HX_MINLOC] = int32_index_minloc, [HX_MAXLOC] = int32_index_maxloc},
        [HX_INT64_INDEX] = {[HX_MINLOC] = int64_index_minloc, [HX_MAXLOC] = int64_index_maxloc},
    },
    .scale = {
        [HX_FLOAT16] = float16_scale,
        [HX_BFLOAT16] = bfloat16_scale,
        [HX_FLOAT32] = float32_scale,
        [HX_FLOAT64] = float64_scale,
        [HX_COMPLEX64] = complex64_scale,
        [HX_COMPLEX128] = complex128_scale,
    },
};
