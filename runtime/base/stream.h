/* SPDX-License-Identifier: BSD-3-Clause */
/* Copying around the caches. */
#pragma once

#include <stddef.h>

/* The largest share of the last-level cache for each usable processing unit, measured in a virtual machine. Nearly all processors
 * have less. */
#define HX_CACHE_PER_CORE_BYTES (24.0 * 1024 * 1024)

/* As memcpy, but by non-temporal stores: they bypass the caches and do not read the destination into them first. For data that
 * leaves the caches anyway before a rank reads it. The stores are ordered before those that follow. Returns bytes, or 0 if memcpy
 * did the copy: for a few bytes, or on a processor without such stores. */
size_t hx_stream(void *dst, const void *src, size_t bytes);
