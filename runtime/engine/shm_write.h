/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copying into memory that other ranks of the node will read.
 *
 * Ranks that share a last-level cache hand a line over in it. Between ranks that do not, each line makes two journeys from cache to
 * cache. The writer first fetches it from the reader's cache, and then the reader fetches it back. Stores around the caches
 * (stream.h) make one journey: to memory. Take two cores of an AMD EPYC (Zen 4) that its virtual machine puts near each other or
 * far apart. There a broadcast of 1 MiB by the first way takes about 40 us if they are near and 220 to 350 us if they are far; by
 * the second way it takes 65 us in both cases. So each rank measures from time to time how long a line of another rank is under
 * way: about 20 ns and 120 ns there. Only AMD's processors are measured: others have not been tested.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct hx_engine;

#define HX_SHARE_LEAST 4096 /* bytes; for fewer, waiting for the memory would take longer than the copy */

/* As memcpy, of at least HX_SHARE_LEAST bytes into this rank's part of the shared segment, on behalf of the engine's call under way. */
void hx_share(struct hx_engine *engine, void *dst, const void *src, size_t bytes);
