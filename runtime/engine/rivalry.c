/* SPDX-License-Identifier: BSD-3-Clause */
/* See rivalry.h. */
#include "runtime/engine/rivalry.h"

#define FOUR (HX_ROUND_CALLS / 3)
#define LATER 2      /* times as many calls before the next round; */
#define MUCH_LATER 8 /* if B is clearly slower */

void hx_rivalry_begin(struct hx_rivalry *rivalry)
{
    *rivalry = (struct hx_rivalry){.until = HX_ROUND_FIRST, .gap = HX_ROUND_FIRST};
}

enum hx_rivalry_now hx_rivalry_next(struct hx_rivalry *rivalry, int *rival)
{
    *rival = rivalry->in_use;
    if (rivalry->until) {
        rivalry->until--;
        return HX_RIVALRY_PLAIN;
    }
    *rival ^= rivalry->timed / FOUR == 1;
    return ++rivalry->timed == HX_ROUND_CALLS ? HX_RIVALRY_LAST : HX_RIVALRY_TIMED;
}

/* The middle one of the last three of four times; never, if any of the four is. */
static uint32_t middle(const uint32_t ns[FOUR])
{
    const uint32_t a = ns[1], b = ns[2], c = ns[3];
    const uint32_t low = a < b ? a : b, high = a < b ? b : a;

    for (int i = 0; i < FOUR; i++)
        if (ns[i] == HX_ROUND_NEVER)
            return HX_ROUND_NEVER;
    return c < low ? low : c > high ? high : c;
}

int hx_rivalry_decide(struct hx_rivalry *rivalry, uint32_t *used, uint32_t *other)
{
    const uint32_t before = middle(rivalry->ns), after = middle(rivalry->ns + 2 * FOUR);
    int changes, slower;

    *used = before < after ? before : after;
    *other = middle(rivalry->ns + FOUR);
    changes = *other < *used - *used / 8;
    slower = *other > (uint64_t)*used + *used / 4;
    rivalry->gap *= slower ? MUCH_LATER : LATER;
    if (rivalry->gap > HX_ROUND_RAREST)
        rivalry->gap = HX_ROUND_RAREST;
    rivalry->until = rivalry->gap;
    rivalry->timed = 0;
    rivalry->in_use ^= changes;
    return changes;
}
