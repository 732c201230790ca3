/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copying between buffers and shared memory.
 *
 * The C library copies a few KiB and more by "rep movsb" where the processor says that it does that well. AMD's say so from Zen 3 on. But
 * where the destination begins less than 32 bytes after the source, but for whole pages, they copy 3 GB/s that way instead of 50: so from
 * every slot, which begins with a cache line, to the large blocks of malloc, which begin 16 bytes after a page. The GNU C library
 * goes around it since 2.40 (its bug 30994); many systems have an older one. Elsewhere it is the best way to read what another core has
 * written: vectors take up to 1.4 times as long.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#define HX_MEMCPY_PAGE 4096
#define HX_MEMCPY_NEAR 32
#define HX_MEMCPY_LEAST 2112 /* bytes: from here on the C library takes "rep movsb", where short ones are said to be fast too */

/* As memcpy, for buffers that stand so, and at least HX_MEMCPY_LEAST bytes. */
void hx_memcpy_near(void *dst, const void *src, size_t bytes);

/* Does hx_memcpy_near use its own vector copy on this processor? Else it calls the C library. */
int hx_memcpy_goes_around(void);

/* As memcpy. */
static inline void hx_memcpy(void *dst, const void *src, size_t bytes)
{
    if (bytes >= HX_MEMCPY_LEAST && ((uintptr_t)dst - (uintptr_t)src - 1) % HX_MEMCPY_PAGE < HX_MEMCPY_NEAR - 1)
        hx_memcpy_near(dst, src, bytes);
    else
        memcpy(dst, src, bytes);
}
