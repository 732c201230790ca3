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

enum hx_rivalry_now hx_rivalry_next(struct hx_rivalry *rivalry, const uint32_t warm[2], int *rival)
{
    *rival = rivalry->in_use;
    if (rivalry->until) {
        rivalry->until--;
        return HX_RIVALRY_PLAIN;
    }
    *rival ^= rivalry->timed / FOUR == 1;
    if (rivalry->timed == FOUR && rivalry->warmed < warm[*rival]) {
        rivalry->warmed++;
        return HX_RIVALRY_PLAIN;
    }
    return ++rivalry->timed == HX_ROUND_CALLS ? HX_RIVALRY_LAST : HX_RIVALRY_TIMED;
}

/* The least of the last three of four times; never, if any of the four is. */
static uint32_t least(const uint32_t ns[FOUR])
{
    uint32_t least = ns[1];

    for (int i = 0; i < FOUR; i++)
        if (ns[i] == HX_ROUND_NEVER)
            return HX_ROUND_NEVER;
    for (int i = 2; i < FOUR; i++)
        least = ns[i] < least ? ns[i] : least;
    return least;
}

int hx_rivalry_decide(struct hx_rivalry *rivalry, uint32_t *used, uint32_t *other)
{
    const uint32_t before = least(rivalry->ns), after = least(rivalry->ns + 2 * FOUR);
    int faster, refused;

    *used = before < after ? before : after;
    *other = least(rivalry->ns + FOUR);
    refused = *other != HX_ROUND_NEVER && (before == HX_ROUND_NEVER || after == HX_ROUND_NEVER);
    faster = refused || *other < *used - *used / 8;
    rivalry->timed = 0;
    rivalry->warmed = 0;
    if (refused || (faster && rivalry->faster)) {
        rivalry->in_use ^= 1;
        rivalry->faster = 0;
        rivalry->until = rivalry->gap;
        return 1;
    }
    rivalry->faster = faster;
    if (!faster) {
        rivalry->gap *= *other > (uint64_t)*used + *used / 4 ? MUCH_LATER : LATER;
        rivalry->gap = rivalry->gap < HX_ROUND_RAREST ? rivalry->gap : HX_ROUND_RAREST;
    }
    rivalry->until = faster ? HX_ROUND_FIRST : rivalry->gap;
    return 0;
}
