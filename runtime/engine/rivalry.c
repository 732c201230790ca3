/* SPDX-License-Identifier: BSD-3-Clause */
/* See rivalry.h. */
#include "runtime/engine/rivalry.h"

#define LATER 2      /* times as many calls before the next trial; */
#define MUCH_LATER 8 /* if the other plan was clearly slower, or calls have changed back */

void hx_rivalry_begin(struct hx_rivalry *rivalry)
{
    *rivalry = (struct hx_rivalry){.until = HX_LOOK_FIRST, .pause = HX_LOOK_FIRST, .due = HX_LOOK_FIRST, .gap = HX_LOOK_FIRST,
                                   .other_ns = HX_NS_NEVER};
}

enum hx_rivalry_now hx_rivalry_next(struct hx_rivalry *rivalry, const uint32_t warm[2], int *by_rival)
{
    *by_rival = rivalry->in_use;
    if (rivalry->until) {
        rivalry->until--;
        rivalry->due -= rivalry->due > 0;
        return HX_RIVALRY_PLAIN;
    }
    *by_rival ^= rivalry->timed / HX_LOOK_CALLS == 1;
    if (rivalry->timed == HX_LOOK_CALLS && rivalry->warmed < warm[*by_rival]) {
        rivalry->warmed++;
        return HX_RIVALRY_PLAIN;
    }
    rivalry->timed++;
    return rivalry->timed == HX_LOOK_CALLS || rivalry->timed == HX_TRIAL_CALLS ? HX_RIVALRY_AGREE : HX_RIVALRY_TIMED;
}

/* The median of all times but the first; never, if any of them is. */
static uint32_t median(const uint32_t ns[HX_LOOK_CALLS])
{
    uint32_t sorted[HX_LOOK_CALLS - 1];

    if (ns[0] == HX_NS_NEVER)
        return HX_NS_NEVER;
    for (int i = 0; i < HX_LOOK_CALLS - 1; i++) {
        int k = i;
        for (; k > 0 && sorted[k - 1] > ns[i + 1]; k--)
            sorted[k] = sorted[k - 1];
        sorted[k] = ns[i + 1];
    }
    return sorted[HX_LOOK_CALLS - 2] == HX_NS_NEVER ? HX_NS_NEVER : sorted[(HX_LOOK_CALLS - 1) / 2];
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static int is_clearly_less(uint32_t a, uint32_t b)
{
    return a < b - b / 8;
}

static void trial_put_off(struct hx_rivalry *rivalry, uint32_t times)
{
    rivalry->gap = smaller(rivalry->gap * times, HX_TRIAL_RAREST);
    rivalry->due = rivalry->gap;
}

/* The end of a look or trial: calls go on by the plan in use. */
static int stay(struct hx_rivalry *rivalry)
{
    rivalry->timed = 0;
    rivalry->warmed = 0;
    rivalry->pause = smaller(2 * rivalry->pause, HX_LOOK_RAREST);
    rivalry->until = rivalry->pause;
    return 0;
}

/* Calls go on by the other plan. The plan that was in use took used ns. */
static int change(struct hx_rivalry *rivalry, uint32_t used)
{
    stay(rivalry);
    rivalry->in_use ^= 1;
    rivalry->other_ns = used;
    return 1;
}

static int look_decide(struct hx_rivalry *rivalry, uint32_t used)
{
    const int on_probation = rivalry->on_probation;

    rivalry->on_probation = 0;
    if (on_probation && used >= rivalry->other_ns) {
        trial_put_off(rivalry, MUCH_LATER);
        return change(rivalry, used);
    }
    if (rivalry->due == 0 || is_clearly_less(rivalry->other_ns, used))
        return 0; /* the trial begins */
    return stay(rivalry);
}

static int trial_decide(struct hx_rivalry *rivalry, uint32_t before, uint32_t tried, uint32_t after)
{
    const uint32_t used = smaller(before, after);

    if (is_clearly_less(tried, used)) {
        change(rivalry, used);
        rivalry->on_probation = 1;
        rivalry->until = rivalry->due = HX_LOOK_FIRST;
        return 1;
    }
    rivalry->rival += !rivalry->in_use && rivalry->due == 0;
    trial_put_off(rivalry, is_clearly_less(used, tried) ? MUCH_LATER : LATER);
    rivalry->other_ns = tried;
    return stay(rivalry);
}

int hx_rivalry_decide(struct hx_rivalry *rivalry, uint32_t *used, uint32_t *other)
{
    const uint32_t *ns = rivalry->ns;

    *used = median(ns);
    *other = rivalry->other_ns;
    if (rivalry->timed == HX_LOOK_CALLS)
        return look_decide(rivalry, *used);
    *other = median(ns + HX_LOOK_CALLS);
    return trial_decide(rivalry, *used, *other, median(ns + 2 * HX_LOOK_CALLS));
}
