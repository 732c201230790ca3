/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copying into memory that other ranks of the node will read.
 *
 * Ranks that share a last-level cache hand a line over in it. Between ranks that do not, each line makes two journeys from cache to cache, the
 * first to be written, where the reader had it, the second to be read. Stores around the caches (stream.h) make one: to memory. Two cores of an
 * AMD EPYC (Zen 4) that its virtual machine puts near each other or far apart: there a broadcast of 1 MiB takes about 40 us by the first way
 * where they are near and 220 to 350 where they are far, 65 by the second in both cases. So each rank measures now and then for how long a line
 * of another's is under way: about 20 ns and 120 there. Only on AMD's processors: others were not at hand.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct hx_engine;

#define HX_SHARE_LEAST 4096 /* bytes; for fewer, waiting for the memory would take longer than the copy */

/* As memcpy, of at least HX_SHARE_LEAST bytes into this rank's part of the shared segment, on behalf of the engine's call under way. */
void hx_share(struct hx_engine *engine, void *dst, const void *src, size_t bytes);
