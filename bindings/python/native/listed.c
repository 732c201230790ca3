/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls with a count for each rank. */
#include "call.h"

/* One side of a call with lists: the buffer must have the elements that the counts describe. */
static int listed_side(struct hxpy_view *view, const char *name, const size_t *counts, const size_t *displs, const char *list,
                       int size)
{
    size_t wanted;
    if (!hxpy_extent(counts, displs, size, &wanted)) {
        hxpy_refuse("the entries of %s add up to more than 2^64", list);
        return -1;
    }
    if (view->object && (displs ? view->count < wanted : view->count != wanted)) {
        char why[64];
        snprintf(why, sizeof why, "the sum of %s%s", list, displs ? " with displacements, at least" : "");
        return hxpy_wrong_count(name, view, wanted, why, NULL);
    }
    return 0;
}

static int new_listed(struct hxpy_call *call, const size_t *counts, size_t elements, int size, bool placed)
{
    Py_ssize_t length;
    if (placed) {
        hxpy_refuse("%s with displacements needs out", call->row->name);
        return -1;
    }
    if (counts && !hxpy_extent(counts, NULL, size, &elements))
        elements = SIZE_MAX;
    length = elements > PY_SSIZE_T_MAX ? PY_SSIZE_T_MAX : (Py_ssize_t)elements;
    return call->in.scalar ? (hxpy_refuse("x is a number: pass an array"), -1) : hxpy_new_out(call, 1, &length);
}

static int require(const struct hxpy_call *call, const size_t *list, const char *name)
{
    if (!list)
        PyErr_Format(PyExc_TypeError, "%s: %s is missing", call->row->name, name);
    return list ? 0 : -1;
}

/* Which list describes which buffer. NULL: the buffer is this rank's block. */
int hxpy_listed(struct hxpy_call *call, hxpy_comm *comm, PyObject *const *given)
{
    const struct hxpy_row *row = call->row;
    int size = comm->size;
    bool root = comm->rank == call->root, everywhere = call->row - hxpy_rows == HXPY_alltoallv;
    bool sends = row->rooted != IN || root, receives = row->rooted != OUT || root;
    bool in_listed = everywhere || row->rooted == IN || row - hxpy_rows == HXPY_reduce_scatter;
    bool out_listed = everywhere || !in_listed;
    if (hxpy_get_lists(call, size, given) || hxpy_get_in(call, given[HXPY_X], sends) ||
        hxpy_get_out(call, given[HXPY_OUT], receives))
        return -1;
    const size_t *in_counts = everywhere ? call->scounts : call->counts, *out_counts = everywhere ? call->rcounts : call->counts;
    const size_t *in_displs = everywhere ? call->sdispls : call->displs, *out_displs = everywhere ? call->rdispls : call->displs;
    bool in_place = call->send == HX_IN_PLACE;
    if (in_place && (!call->out.object || row->rooted == IN)) {
        hxpy_refuse("x is hierax.IN_PLACE, so the input must be in out, and %s has no out here", row->name);
        return -1;
    }
    if (in_listed && sends && !(in_place && everywhere) && require(call, in_counts, everywhere ? "scounts" : "counts"))
        return -1;
    if (out_listed && receives && require(call, out_counts, everywhere ? "rcounts" : "counts"))
        return -1;
    struct hxpy_view *whole = in_place ? &call->out : &call->in; /* the counts of the input describe it */
    if (in_listed && sends && !(in_place && everywhere) &&
        listed_side(whole, in_place ? "out" : "x", in_counts, in_displs, everywhere ? "scounts" : "counts", size))
        return -1;
    size_t own = call->counts ? call->counts[comm->rank] : 0; /* this rank's block, if all ranks know it */
    bool own_known = call->counts && (row->rooted == NO || root);
    if (receives && !call->out.object && call->receive != HX_IN_PLACE) {
        if (!call->in.object) {
            hxpy_refuse("%s: a rank other than the root must pass out, because it does not know its length", row->name);
            return -1;
        }
        if (new_listed(call, out_listed ? out_counts : NULL, own, size, out_listed && out_displs))
            return -1;
    }
    if (out_listed && receives && listed_side(&call->out, "out", out_counts, out_displs, everywhere ? "rcounts" : "counts", size))
        return -1;
    struct hxpy_view *block = in_listed ? &call->out : &call->in;
    if (!everywhere && !in_place && own_known && block->object && block->count != own)
        return hxpy_wrong_count(in_listed ? "out" : "x", block, own, "this rank's entry of counts", NULL);
    call->count = block->object && !everywhere ? block->count : own;
    if (everywhere) {
        hxpy_fill_displs(call, &call->sdispls, call->scounts, HXPY_SDISPLS, size);
        hxpy_fill_displs(call, &call->rdispls, call->rcounts, HXPY_RDISPLS, size);
    }
    return hxpy_check_pair(call);
}
