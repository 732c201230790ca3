/* SPDX-License-Identifier: BSD-3-Clause */
/* Copying around the caches. */
#pragma once

#include <stddef.h>

/* Of the last-level cache, at most, for each processing unit that may be used: measured in a virtual machine, and more than nearly all processors have. */
#define HX_CACHE_PER_CORE_BYTES (24.0 * 1024 * 1024)

/* As memcpy, but what is written goes past the caches to memory, without being read into them first (non-temporal stores): for what
 * will have left the caches anyway before somebody reads it. In order before the stores that follow. Returns bytes; or 0 where it was
 * memcpy: without such stores, or for a few bytes. */
size_t hx_stream(void *dst, const void *src, size_t bytes);
