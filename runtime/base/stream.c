/* SPDX-License-Identifier: BSD-3-Clause */
/* Copying around the caches, by the stores that every x86-64 processor has. */
#include "runtime/base/stream.h"
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>

#define LINE 64
#define LEAST_BYTES 1024 /* the fence at the end waits for the memory */

size_t hx_stream(void *dst, const void *src, size_t bytes)
{
    unsigned char *to = dst;
    const unsigned char *from = src;
    size_t head = -(uintptr_t)to % LINE, left = bytes - head;

    if (bytes < LEAST_BYTES) {
        memcpy(to, from, bytes);
        return 0;
    }
    memcpy(to, from, head);
    to += head, from += head;
    for (; left >= LINE; to += LINE, from += LINE, left -= LINE) { /* whole lines: parts of one would be read and merged */
        __m128i part[LINE / 16];
        for (int i = 0; i < LINE / 16; i++)
            part[i] = _mm_loadu_si128((const __m128i *)from + i);
        for (int i = 0; i < LINE / 16; i++)
            _mm_stream_si128((__m128i *)to + i, part[i]);
    }
    memcpy(to, from, left);
    _mm_sfence(); /* such stores are ordered by nothing else, not even by a release */
    return bytes;
}

#else

size_t hx_stream(void *dst, const void *src, size_t bytes)
{
    memcpy(dst, src, bytes);
    return 0;
}

#endif
