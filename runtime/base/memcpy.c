/* SPDX-License-Identifier: BSD-3-Clause */
/* Copying by vectors where the C library may do much worse: see memcpy.h. */
#include "runtime/base/memcpy.h"
#if defined(__x86_64__)
#include <immintrin.h>
#include <stdatomic.h>

#define VECTOR ((size_t)sizeof(__m256i))
#define PART (4 * VECTOR)
#define MOST_BYTES ((size_t)1 << 20) /* the C library takes vectors for what does not fit the second-level cache */

/* Begins with one vector and ends with a part of four, wherever these lie; in between whole vectors of the destination. */
__attribute__((target("avx2"))) static void vectors_copy(void *dst, const void *src, size_t bytes)
{
    const unsigned char *from = src, *tail = from + bytes - PART;
    unsigned char *to = dst, *last = to + bytes - PART;
    size_t head = VECTOR - (uintptr_t)to % VECTOR;

    _mm256_storeu_si256((__m256i *)to, _mm256_loadu_si256((const __m256i *)from));
    for (to += head, from += head; to < last; to += PART, from += PART) {
        __m256i part[4];
        for (int i = 0; i < 4; i++)
            part[i] = _mm256_loadu_si256((const __m256i *)from + i);
        for (int i = 0; i < 4; i++)
            _mm256_store_si256((__m256i *)to + i, part[i]);
    }
    for (int i = 0; i < 4; i++)
        _mm256_storeu_si256((__m256i *)last + i, _mm256_loadu_si256((const __m256i *)tail + i));
}

enum { UNKNOWN, THE_LIBRARYS, OURS };

static int how_to_copy(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_is("amd") && __builtin_cpu_supports("avx2") ? OURS : THE_LIBRARYS;
}

int hx_memcpy_goes_around(void)
{
    static _Atomic int how; /* relaxed is enough: every thread would find the same */
    int known = atomic_load_explicit(&how, memory_order_relaxed);

    if (known == UNKNOWN)
        atomic_store_explicit(&how, known = how_to_copy(), memory_order_relaxed);
    return known == OURS;
}

void hx_memcpy_near(void *dst, const void *src, size_t bytes)
{
    if (bytes < MOST_BYTES && hx_memcpy_goes_around())
        vectors_copy(dst, src, bytes);
    else
        memcpy(dst, src, bytes);
}

#else

int hx_memcpy_goes_around(void)
{
    return 0;
}

void hx_memcpy_near(void *dst, const void *src, size_t bytes)
{
    memcpy(dst, src, bytes);
}

#endif
