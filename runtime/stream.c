/* SPDX-License-Identifier: BSD-3-Clause */
#include "stream.h"
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>

#define LINE 64
#define LEAST_BYTES 1024 /* the fence at the end waits for the memory */

void hx_stream(void *dst, const void *src, size_t bytes)
{
    unsigned char *to = dst;
    const unsigned char *from = src;
    size_t head = -(uintptr_t)to % LINE;

    if (bytes < LEAST_BYTES) {
        memcpy(to, from, bytes);
        return;
    }
    memcpy(to, from, head);
    to += head, from += head, bytes -= head;
    for (; bytes >= LINE; to += LINE, from += LINE, bytes -= LINE) { /* whole lines: parts of one would be read and merged */
        __m128i part[LINE / 16];
        for (int i = 0; i < LINE / 16; i++)
            part[i] = _mm_loadu_si128((const __m128i *)from + i);
        for (int i = 0; i < LINE / 16; i++)
            _mm_stream_si128((__m128i *)to + i, part[i]);
    }
    memcpy(to, from, bytes);
    _mm_sfence(); /* such stores are ordered by nothing else, not even by a release */
}

#else

void hx_stream(void *dst, const void *src, size_t bytes)
{
    memcpy(dst, src, bytes);
}

#endif
