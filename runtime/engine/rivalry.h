/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plan and its rival, for calls of one kind: which of them the next call uses, and which is faster. Pure arithmetic, the same on all
 * ranks: it depends on the number of calls, and on times that all ranks have agreed on.
 *
 *   calls   64 | A A A A A A | B B B B B B | A A A A A A | 64 | B B B B B B | ...      A: the plan in use, B: the other
 *                   look              trial                    look on probation
 *
 * A look times six calls of the plan in use. If a trial is due, six calls of the other plan follow, and six of the plan in use again. If
 * the other plan was clearly faster than both, calls change over to it, on probation: the next look must find it faster than the plan that
 * calls have left, or they change back. So a plan that is fast in a trial only costs 70 slow calls. If the look confirms it, the plan left
 * is tried once more. So a machine that was slow for a moment decides nothing for long either.
 *
 * Looks come after 64 calls, 128, 256, and then every 512. If one finds that the plan in use is now clearly slower than the other one was,
 * a trial is due. Other trials become rare: each comes after twice as many calls as the one before, and after eight times as many if the
 * other plan was clearly slower or calls have changed back. If a plan has several rivals, such trials take them in turn, until one is in
 * use.
 *
 * The first call of each six does not count: it finds the caches as the other plan has left them. The median of the other five counts.
 */
#pragma once

#include <stdint.h>

#define HX_LOOK_CALLS 6
#define HX_TRIAL_CALLS (3 * HX_LOOK_CALLS) /* with the looks before and after */
#define HX_LOOK_FIRST 64                   /* calls before the first look */
#define HX_LOOK_RAREST 512                 /* and between two looks at most */
#define HX_TRIAL_RAREST 65536              /* calls between two trials at most */
#define HX_NS_NEVER UINT32_MAX             /* ns of a call whose plan must not be used: the kernel refuses its reads. Also: not known */

struct hx_rivalry {
    uint32_t until;              /* calls before the next look */
    uint32_t pause;              /* between two looks of a plan that stays in use */
    uint32_t due;                /* calls before the next trial; */
    uint32_t gap;                /* as many as there were before this one */
    int in_use;                  /* 1: the rival */
    uint32_t rival;              /* the number of the rival that is in use or tried: a plan may have several */
    int on_probation;            /* calls have changed over, and no look has confirmed this */
    int timed;                   /* calls of the look or trial under way */
    uint32_t warmed;             /* and calls by the other plan that were not timed */
    uint32_t other_ns;           /* of the plan not in use, when it was timed last */
    uint32_t ns[HX_TRIAL_CALLS]; /* that each call took on this rank */
};

/* AGREE: after the call, all ranks agree on the times and decide. */
enum hx_rivalry_now { HX_RIVALRY_PLAIN, HX_RIVALRY_TIMED, HX_RIVALRY_AGREE };

void hx_rivalry_begin(struct hx_rivalry *rivalry);
/* For the next call. *by_rival becomes 1 if it uses the rival. TIMED, AGREE: the caller must store its time in ns[timed - 1].
 * warm: so many calls of the plan and of its rival fill all the slots that each uses in turn. The other plan makes so many calls before it
 * is timed, to find its slots in the caches. */
enum hx_rivalry_now hx_rivalry_next(struct hx_rivalry *rivalry, const uint32_t warm[2], int *by_rival);
/* After AGREE: the first `timed` of ns have become the longest times of all ranks. Returns 1 if the next calls use the other plan. *used and
 * *other: ns of the plan that was in use so far, and of the other one. */
int hx_rivalry_decide(struct hx_rivalry *rivalry, uint32_t *used, uint32_t *other);
