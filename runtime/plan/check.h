/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The checker: one function over the plans of all ranks. It runs the calls on symbolic memory, where each element
 * knows whose contributions it holds, and keeps vector clocks, so that one run finds every pair of accesses that some
 * other run could reorder: what synchronises here (match ids, flags) does not depend on timing. But for elections, whose
 * members come last in turn: there is a run for each.
 *
 * It finds: transfers without partner, with two, or of other length; deadlock; two unordered accesses, one of them a write;
 * elements lost, doubled, or in the wrong place; memory that is read before it is written, or that is not there; results that are
 * not equal bit by bit on all ranks; a barrier that a rank leaves too early. DESIGN section 3.
 */
#pragma once

#include "runtime/plan/layout.h"

struct hx_check_call {
    struct hx_plan *const *plans; /* one per rank of the shape */
    struct hx_sizes sizes;        /* elem_bytes is 1 */
    const struct hx_pair_counts *pair_counts; /* of each rank: sizes then has none; NULL: none */
    int window_fine, window_coarse;
    int turns;      /* its bank of slots has so many parts, used in turn, and it raises the flags of 2 turns calls before; 0 as 1 */
    int in_place;   /* IN and OUT are one memory, as HX_IN_PLACE makes them, and as they always are of a broadcast */
    int rank_order; /* demand that contributions are folded in rank order */
    int exact;      /* the operation is: results folded in other orders are equal */
    int barrier;    /* demand that no rank ends before all have entered, whatever the data */
    int *roundings; /* NULL, or where to raise a number to how many reduce steps, one after the other, made any result */
    int *codings;   /* likewise, how often any result was encoded in a wire format */
};

#define HX_CHECK_TURNS_MAX 8 /* parts of a bank */

/* Run the calls one after the other on every rank. HX_SUCCESS; HX_ERR_INTERNAL: report names call, rank, stage,
 * slice, step and the fault; HX_ERR_NOMEM. Nothing is logged. */
hx_status_t hx_check(const struct hx_shape *shape, const struct hx_check_call *calls, int ncalls, char *report,
                     size_t capacity);

/* Traffic of n ranks, or along the edges of a graph that is not NULL, for calls of these sizes, some of it nothing, apart in IN and OUT; and
 * all that it needs. NULL: no memory. */
struct hx_pair_counts *hx_check_pair_counts_new(int n, const struct hx_graph *graph, uint64_t count);
void hx_check_pair_counts_free(struct hx_pair_counts *pair_counts);

/* Small sizes that reach every path: slices one more than fit the window, pieces of 1 or 2 elements, or (sparse) of
 * 1 or none. With pair counts, all of it short, or (sparse) all long. */
void hx_check_sizes(struct hx_plan *const *plans, int nplans, int window_fine, int window_coarse, int sparse,
                    struct hx_sizes *sizes);
