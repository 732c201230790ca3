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
 *
 * A payload of a few lines comes after its flag: two journeys, one after the other. There are two ways to
 * shorten the second, which tests/system/handoff compares with others. A rank that waits for the flag fetches
 * up to HX_TOUCH_LINES lines of the payload each time that it looks: an exchange of 64 to 192 bytes between two
 * cores takes 0.6 to 0.8 of the time. If it fetched more lines, it would take too many away from the writer.
 * Instead the writer moves them to the cache that the cores share, if its processor can (cldemote): 256 and 512
 * bytes take 0.85 of the time. From 1 KiB on the writer loses as much as the reader gains.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct hx_engine;

#define HX_LINE 64
#define HX_TOUCH_LINES 3
#define HX_SHARE_LEAST 65 /* bytes */

/* Can this processor move a line to the shared cache? */
int hx_can_demote(void);

/* Does this rank write around the caches if a line of another rank is under way for so long? It does so on AMD's processors only. */
int hx_share_is_far(double line_ns, int64_t far_ns);

/* As memcpy, of at least HX_SHARE_LEAST bytes into this rank's part of the shared segment, on behalf of the engine's call under way. */
void hx_share(struct hx_engine *engine, void *dst, const void *src, size_t bytes);
