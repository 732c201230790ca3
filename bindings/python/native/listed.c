/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls with a count for each peer. */
#include "call.h"

#include <stdio.h>

/* One side of a call with lists: the buffer must have the elements that the counts describe. */
static int listed_side(const struct hxpy_view *view, const char *name, const struct hxpy_side *side, const char *list)
{
    size_t wanted;
    if (!hxpy_extent(side, &wanted)) {
        hxpy_refuse("the entries of %s add up to more than 2^64", list);
        return -1;
    }
    if (view->object && (side->displs ? view->count < wanted : view->count != wanted)) {
        char why[64];
        snprintf(why, sizeof why, "the sum of %s%s", list, side->displs ? " with displacements, at least" : "");
        return hxpy_wrong_count(name, view, wanted, why, NULL);
    }
    return 0;
}

/* side: its counts give the length; NULL: it has so many elements. */
static int new_listed(struct hxpy_call *call, const struct hxpy_side *side, size_t elements)
{
    Py_ssize_t length;
    if (side && side->displs) {
        hxpy_refuse("%s with displacements needs out", call->row->name);
        return -1;
    }
    if (side && !hxpy_extent(side, &elements))
        elements = SIZE_MAX;
    length = elements > PY_SSIZE_T_MAX ? PY_SSIZE_T_MAX : (Py_ssize_t)elements;
    return call->in.scalar ? (hxpy_refuse("x is a number: pass an array"), -1) : hxpy_new_out(call, 1, &length);
}

static int require(const struct hxpy_call *call, const struct hxpy_side *side, const char *name)
{
    if (!side->counts)
        PyErr_Format(PyExc_TypeError, "%s: %s is missing", call->row->name, name);
    return side->counts ? 0 : -1;
}

/* Which list describes which buffer: a side that is not LISTED is one block. */
int hxpy_listed(struct hxpy_call *call, hxpy_comm *comm, PyObject *const *given)
{
    const struct hxpy_row *row = call->row;
    struct hxpy_side *sent = &call->sent, *received = &call->received;
    bool root = comm->rank == call->root, in_listed = row->in == LISTED, out_listed = row->out == LISTED, both = in_listed && out_listed;
    bool sends = row->rooted != IN || root, receives = row->rooted != OUT || root;
    const char *in_list = both ? "scounts" : "counts", *out_list = both ? "rcounts" : "counts";
    if (hxpy_get_lists(call, given) || hxpy_get_in(call, given[HXPY_X], sends) || hxpy_get_out(call, given[HXPY_OUT], receives))
        return -1;
    bool in_place = call->send == HX_IN_PLACE;
    if (in_place && (!call->out.object || row->rooted == IN)) {
        hxpy_refuse("x is hierax.IN_PLACE, so the input must be in out, and %s has no out here", row->name);
        return -1;
    }
    bool in_checked = in_listed && sends && !(in_place && both); /* in place, rcounts serve both sides */
    if ((in_checked && require(call, sent, in_list)) || (out_listed && receives && require(call, received, out_list)))
        return -1;
    if (in_checked && listed_side(in_place ? &call->out : &call->in, in_place ? "out" : "x", sent, in_list))
        return -1;
    const size_t *counts = in_listed ? sent->counts : received->counts;
    bool own_known = !both && row->peers == RANKS && counts && (row->rooted == NO || root);
    size_t own = own_known ? counts[comm->rank] : 0; /* this rank's block */
    if (receives && !call->out.object && call->receive != HX_IN_PLACE) {
        if (!call->in.object) {
            hxpy_refuse("%s: a rank other than the root must pass out, because it does not know its length", row->name);
            return -1;
        }
        if (new_listed(call, out_listed ? received : NULL, own))
            return -1;
    }
    if (out_listed && receives && listed_side(&call->out, "out", received, out_list))
        return -1;
    const struct hxpy_view *block = in_listed ? &call->out : &call->in;
    if (own_known && !in_place && block->object && block->count != own)
        return hxpy_wrong_count(in_listed ? "out" : "x", block, own, "this rank's entry of counts", NULL);
    call->count = block->object && !both ? block->count : own;
    if (both || row->peers == NEIGHBORS) {
        hxpy_fill_displs(sent);
        hxpy_fill_displs(received);
    }
    return hxpy_check_pair(call);
}
