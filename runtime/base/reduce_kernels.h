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
#include "runtime/base/reduce_complex.h"
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

#define QUIET_NAN_BITS(v) __builtin_choose_expr(sizeof((v)[0]) == 4, 0x7fc00000, 0x7ff8000000000000)
#define QUIET_NAN(v) ((__typeof__(v))(((BITS(v))(v) & ~((v) != (v))) | (((v) != (v)) & QUIET_NAN_BITS(v))))

/* The smaller one. If both are equal or one is a NaN: the bits of both, or-ed. So -0 takes precedence over +0, and a NaN stays a
 * NaN. The maximum is the negated minimum of the negated elements, so there +0 takes precedence. */
#define FLOAT_MIN_OF(a, b) ((__typeof__(a))(((BITS(a))(a) & ~((a) > (b))) | ((BITS(a))(b) & ~((a) < (b)))))
#define NEGATE(v) (-(v))
#define NEGATE_NAN(v) QUIET_NAN(-(v))
#define DIVIDE(v) ((v) / (__typeof__((v)[0]))divisor)

/* 16-bit floats: in memory uint16_t, folded as float32. */
#define FLOAT16_WIDEN_NEGATE(v) (-FLOAT16_WIDEN(v))
#define FLOAT16_NARROW_NAN(v) FLOAT16_NARROW(QUIET_NAN(v))
#define FLOAT16_NARROW_NEGATE_NAN(v) FLOAT16_NARROW(NEGATE_NAN(v))
#define BFLOAT16_WIDEN_NEGATE(v) (-BFLOAT16_WIDEN(v))
#define BFLOAT16_NARROW_NAN(v) BFLOAT16_NARROW(QUIET_NAN(v))
#define BFLOAT16_NARROW_NEGATE_NAN(v) BFLOAT16_NARROW(NEGATE_NAN(v))
#define FLOAT16_WIDEN_DIVIDE(v) DIVIDE(FLOAT16_WIDEN(v))
#define BFLOAT16_WIDEN_DIVIDE(v) DIVIDE(BFLOAT16_WIDEN(v))

/* ---- pieces: memory to vector and back */

#define LOAD_WHOLE(raw, from) memcpy(&(raw), from, sizeof(raw))
#define STORE_WHOLE(to, raw) memcpy(to, &(raw), sizeof(raw))

/* The low part_t of a vector, the rest zero; through an integer register, not through the stack. */
#define LOAD_PART(raw, from)                                                          \
    do {                                                                              \
        typedef part_t parts_t __attribute__((vector_size(sizeof(raw))));             \
        part_t part;                                                                  \
        memcpy(&part, from, sizeof(part));                                            \
        raw = (__typeof__(raw))(parts_t){part};                                       \
    } while (0)
#define STORE_PART(to, raw)                                                           \
    do {                                                                              \
        typedef part_t parts_t __attribute__((vector_size(sizeof(raw))));             \
        part_t part = ((parts_t)(raw))[0];                                            \
        memcpy(to, &part, sizeof(part));                                              \
    } while (0)

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
 * type: an element; raw: its type in memory, of a complex one of a part; acc: the type it is folded in (equal but for 16-bit
 * floats). PRE: done to a source's element before it is folded; POST: to the accumulator before it is stored. */

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

/* The remaining bytes, less than a wide vector. */
#define FOLD_PART(part_type, PRE, OP, POST)                                                                   \
    if (sizeof(raw_one) <= sizeof(part_type) && sizeof(raw_small) > sizeof(part_type) && bytes & sizeof(part_type)) { \
        typedef part_type part_t;                                                                             \
        FOLD(acc_small, raw_small, LOAD_PART, STORE_PART, PRE, OP, POST);                                     \
        at += sizeof(part_type);                                                                              \
    }
#define FOLD_REST(PRE, OP, POST)                                                                              \
    for (; sizeof(raw_wide) > sizeof(raw_small) && bytes - at >= sizeof(raw_small); at += sizeof(raw_small))  \
        FOLD(acc_small, raw_small, LOAD_WHOLE, STORE_WHOLE, PRE, OP, POST);                                   \
    FOLD_PART(uint64_t, PRE, OP, POST)                                                                        \
    FOLD_PART(uint32_t, PRE, OP, POST)                                                                        \
    FOLD_PART(uint16_t, PRE, OP, POST)                                                                        \
    FOLD_PART(uint8_t, PRE, OP, POST)

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
#define KERNEL(of, op, type, raw, acc, PRE, OP, POST)                                                         \
    static NOINLINE void of##_##op##_rest(void *dst, const void *const *src, int nsrc, size_t bytes, size_t at) \
    {                                                                                                         \
        FOLD_TYPES(raw, acc);                                                                                 \
        FOLD_REST(PRE, OP, POST)                                                                              \
    }                                                                                                         \
    static NOINLINE void of##_##op##_wide(void *dst, const void *const *src, int nsrc, size_t bytes)          \
    {                                                                                                         \
        FOLD_TYPES(raw, acc);                                                                                 \
        size_t at = 0;                                                                                        \
        FOLD_WIDE(PRE, OP, POST);                                                                             \
        UPPER_UNUSED();                                                                                       \
        of##_##op##_rest(dst, src, nsrc, bytes, at);                                                          \
    }                                                                                                         \
    static void of##_##op(void *dst, const void *const *src, int nsrc, size_t count)                          \
    {                                                                                                         \
        FOLD_TYPES(raw, acc);                                                                                 \
        if (count * sizeof(type) < sizeof(raw_wide))                                                          \
            of##_##op##_rest(dst, src, nsrc, count * sizeof(type), 0);                                        \
        else                                                                                                  \
            of##_##op##_wide(dst, src, nsrc, count * sizeof(type));                                           \
    }

/* A fold of one source. */
#define SCALE(name, type, raw, acc, PRE, POST)                                  \
    static void name(void *dst, size_t count, int divisor)                      \
    {                                                                           \
        FOLD_TYPES(raw, acc);                                                   \
        const void *const src[1] = {dst};                                       \
        enum { nsrc = 1 };                                                      \
        size_t bytes = count * sizeof(type), at = 0;                            \
        FOLD_WIDE(PRE, ADD, POST);                                              \
        FOLD_REST(PRE, ADD, POST)                                               \
    }

/* ---- the folds of each class of datatypes. OWN: a kernel of one datatype; SHARED: of several; AVERAGED: with averages, too */

/* Unsigned, so that sums and products wrap; the sign matters to min and max only. */
#define UNSIGNED_FOLD(part, op, PRE, OP) SHARED(part, op, part, part, part, PRE, OP, AS_IS)
#define BITS_FOLDS(ID, name, type, part)     \
    UNSIGNED_FOLD(part, BAND, AS_IS, AND)    \
    UNSIGNED_FOLD(part, BOR, AS_IS, OR)      \
    UNSIGNED_FOLD(part, BXOR, AS_IS, XOR)
#define UNSIGNED_FOLDS(part)                 \
    UNSIGNED_FOLD(part, SUM, AS_IS, ADD)     \
    UNSIGNED_FOLD(part, PROD, AS_IS, MULTIPLY) \
    BITS_FOLDS(, , , part)                   \
    UNSIGNED_FOLD(part, LAND, TRUTH, AND)    \
    UNSIGNED_FOLD(part, LOR, TRUTH, OR)      \
    UNSIGNED_FOLD(part, LXOR, TRUTH, XOR)
#define INTEGER_FOLDS(ID, name, type, part)  \
    UNSIGNED_FOLDS(part)                     \
    OWN(name, MIN, type, type, type, AS_IS, INT_MIN_OF, AS_IS) \
    OWN(name, MAX, type, type, type, AS_IS, INT_MAX_OF, AS_IS)

#define HALF_FOLDS(ID, name, type, part)                                                      \
    OWN(name, SUM, type, part, float, ID##_WIDEN, ADD, ID##_NARROW_NAN)                       \
    OWN(name, PROD, type, part, float, ID##_WIDEN, MULTIPLY, ID##_NARROW_NAN)                 \
    OWN(name, MIN, type, part, float, ID##_WIDEN, FLOAT_MIN_OF, ID##_NARROW_NAN)              \
    OWN(name, MAX, type, part, float, ID##_WIDEN_NEGATE, FLOAT_MIN_OF, ID##_NARROW_NEGATE_NAN) \
    AVERAGED(ID, name, type, part, float, ID##_WIDEN_DIVIDE, ID##_NARROW_NAN)
#define REAL_FOLDS(ID, name, type, part)                             \
    OWN(name, SUM, type, part, part, AS_IS, ADD, QUIET_NAN)          \
    OWN(name, PROD, type, part, part, AS_IS, MULTIPLY, QUIET_NAN)    \
    OWN(name, MIN, type, part, part, AS_IS, FLOAT_MIN_OF, QUIET_NAN) \
    OWN(name, MAX, type, part, part, NEGATE, FLOAT_MIN_OF, NEGATE_NAN) \
    AVERAGED(ID, name, type, part, part, DIVIDE, QUIET_NAN)
#define COMPLEX_FOLDS(ID, name, type, part)                          \
    OWN(name, SUM, type, part, part, AS_IS, ADD, QUIET_NAN)          \
    OWN(name, PROD, type, part, part, AS_IS, ID##_MULTIPLY, QUIET_NAN) \
    AVERAGED(ID, name, type, part, part, DIVIDE, QUIET_NAN)
#define PAIR_FOLDS(ID, name, type, part) SHARED(name, MINLOC, ) SHARED(name, MAXLOC, )

/* ---- the kernels */

#define OWN KERNEL
#define SHARED(...)
#define AVERAGED(ID, name, ...) SCALE(name##_scale, __VA_ARGS__)
#define HX_DTYPE(ID, name, type, class, part, digits, mpi) class##_FOLDS(ID, name, type, part)
#include "runtime/base/dtype.def"
#undef SHARED
#define SHARED KERNEL
UNSIGNED_FOLDS(uint8_t)
UNSIGNED_FOLDS(uint16_t)
UNSIGNED_FOLDS(uint32_t)
UNSIGNED_FOLDS(uint64_t)
KERNEL(int32_index, MINLOC, uint64_t, uint64_t, uint64_t, INT_PAIR_MIN_KEY, PAIR_MIN_OF, INT_PAIR_MIN_BACK)
KERNEL(int32_index, MAXLOC, uint64_t, uint64_t, uint64_t, INT_PAIR_MAX_KEY, PAIR_MAX_OF, INT_PAIR_MAX_BACK)
KERNEL(float32_index, MINLOC, uint64_t, uint64_t, uint64_t, FLOAT_PAIR_MIN_KEY, PAIR_MIN_OF, FLOAT_PAIR_MIN_BACK)
KERNEL(float32_index, MAXLOC, uint64_t, uint64_t, uint64_t, FLOAT_PAIR_MAX_KEY, PAIR_MAX_OF, FLOAT_PAIR_MAX_BACK)
LONG_PAIR_KERNEL(int64_index_MINLOC, long_key, long_key, 0)
LONG_PAIR_KERNEL(int64_index_MAXLOC, long_key, long_key, -1)
LONG_PAIR_KERNEL(float64_index_MINLOC, double_key, double_back, 0)
LONG_PAIR_KERNEL(float64_index_MAXLOC, double_key, double_back, -1)

/* ---- wire formats */

#include "runtime/base/wire_kernels.h"

/* ---- the table; what is left out is not defined */

#define ENTRY(name, op, ...) [HX_##op] = name##_##op,
#undef OWN
#undef SHARED
#undef AVERAGED
#define OWN ENTRY
#define SHARED ENTRY
#define AVERAGED(ID, name, ...) [HX_AVG] = name##_SUM,

const struct hx_reduce_table KERNEL_TABLE = {
    .isa = KERNEL_ISA,
    .kernel = {
#define HX_DTYPE(ID, name, type, class, part, digits, mpi) [HX_##ID] = {class##_FOLDS(ID, name, type, part)},
#include "runtime/base/dtype.def"
    },
#undef OWN
#undef SHARED
#undef AVERAGED
#define OWN(...)
#define SHARED(...)
#define AVERAGED(ID, name, ...) [HX_##ID] = name##_scale,
    .scale = {
#define HX_DTYPE(ID, name, type, class, part, digits, mpi) class##_FOLDS(ID, name, type, part)
#include "runtime/base/dtype.def"
    },
#define WIRE_ENTRY(ID, name, ...) \
    [HX_WIRE_##ID] = {[HX_FLOAT32] = WIRE_WAY(name, float), [HX_FLOAT64] = WIRE_WAY(name, double)},
#define WIRE_WAY(name, type) wire_encode_##name##_##type
    .encode = {HX_WIRES(WIRE_ENTRY, WIRE_ENTRY)},
#undef WIRE_WAY
#define WIRE_WAY(name, type) wire_decode_##name##_##type
    .decode = {HX_WIRES(WIRE_ENTRY, WIRE_ENTRY)},
};
