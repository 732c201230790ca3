/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plan and its rival, for calls of one kind: which of them the next call uses, and which is faster. Pure arithmetic, the same on all
 * ranks: it depends on the number of calls, and on times that all ranks have agreed on.
 *
 *   calls   64 | A A A A B B B B A A A A | 64 or 128 | A A A A B B B B A A A A | ...      A: the plan in use, B: the other
 *
 * The first call of each four is left out: it finds the caches as the other plan has left them. The fastest one of the other three counts,
 * since a call can only be delayed. B must be faster than both fours of A, so a machine that becomes slower or faster meanwhile decides
 * nothing. And it must be so in two rounds, one soon after the other. If B is not faster, the next round is later, and if it is clearly
 * slower, much later.
 */
#pragma once

#include <stdint.h>

#define HX_ROUND_CALLS 12
#define HX_ROUND_FIRST 64      /* calls before the first round */
#define HX_ROUND_RAREST 65536  /* and between later ones at most */
#define HX_ROUND_NEVER UINT32_MAX /* ns of a call whose plan must not be used: the kernel refuses its reads */

struct hx_rivalry {
    uint32_t until;       /* calls before the next round */
    uint32_t gap;         /* as many as there were before this round */
    int in_use;           /* 1: the rival */
    int faster;           /* the last round has found the other plan faster */
    int timed;            /* calls of the round under way */
    uint32_t warmed;      /* and calls by the other plan that were not timed */
    uint32_t ns[HX_ROUND_CALLS]; /* that each took on this rank */
};

enum hx_rivalry_now { HX_RIVALRY_PLAIN, HX_RIVALRY_TIMED, HX_RIVALRY_LAST };

void hx_rivalry_begin(struct hx_rivalry *rivalry);
/* For the next call, warm: so many calls of the plan and of its rival fill all the slots that they use in turn. Before the other plan is
 * timed, it makes so many calls, to find its slots in the caches. *rival is 1 if it uses the rival. TIMED, LAST: the caller must store its time in ns[timed - 1], and LAST
 * ends a round. */
enum hx_rivalry_now hx_rivalry_next(struct hx_rivalry *rivalry, const uint32_t warm[2], int *rival);
/* The end of a round: ns has become the longest time of all ranks. Returns 1 if the next calls use the other plan. *used and *other: ns of
 * the plan that was in use so far, and of the other one. */
int hx_rivalry_decide(struct hx_rivalry *rivalry, uint32_t *used, uint32_t *other);
