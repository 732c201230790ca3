/* SPDX-License-Identifier: BSD-3-Clause */
/* Copying around the caches. */
#ifndef HX_STREAM_H
#define HX_STREAM_H
#include <stddef.h>

/* As memcpy, but what is written goes past the caches to memory, without being read into them first (non-temporal stores): for what
 * will have left the caches anyway before somebody reads it. In order before the stores that follow. Where the compiler has no such
 * stores, and for a few bytes, it is memcpy. */
void hx_stream(void *dst, const void *src, size_t bytes);

#endif
