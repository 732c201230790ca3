/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls with an array for each peer, of any type. Hierax takes one buffer for each side, and displacements in bytes: the buffer
 * begins at the array with the lowest address, and the others have their distance from it.
 */
#include "call.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int get_memory(struct hxpy_call *call)
{
    const size_t n = (size_t)(call->sent.n + call->received.n);
    call->lists = PyMem_Calloc(3 * n, sizeof *call->lists); /* of each side: counts, displacements, types */
    call->arrays = PyMem_Calloc(n, sizeof *call->arrays);
    if (!call->lists || !call->arrays) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

/* None is an array of no elements. */
static int get_side(struct hxpy_call *call, struct hxpy_side *side, PyObject *object, const char *name)
{
    const bool receives = side == &call->received;
    struct hxpy_view *views = call->arrays + (receives ? call->sent.n : 0);
    PyObject *items = hxpy_peer_items(call, side, object, name, "arrays");
    side->counts = call->lists + (receives ? 3 * call->sent.n : 0);
    side->displs = side->counts + side->n;
    side->types = (hx_dtype_t *)(side->displs + side->n);
    for (int i = 0; items && i < side->n; i++) {
        PyObject *item = PyTuple_GET_ITEM(items, i);
        char text[32];
        snprintf(text, sizeof text, "%s[%d]", name, i);
        if (item == Py_None) {
            side->types[i] = HX_BYTE;
        } else if (hxpy_view_get(&views[i], item, text, receives)) {
            Py_CLEAR(items);
        } else {
            side->types[i] = hxpy_moved_as(&views[i]);
            side->counts[i] = views[i].count * (views[i].dtype == HXPY_OTHER ? views[i].item_bytes : 1);
        }
    }
    Py_XDECREF(items);
    return items ? 0 : -1;
}

/* The lowest address of the side, and the distance of each array from it. */
static void *place_side(struct hxpy_side *side, const struct hxpy_view *views)
{
    char *lowest = NULL;
    for (int i = 0; i < side->n; i++)
        if (views[i].count && (!lowest || (char *)views[i].data < lowest))
            lowest = views[i].data;
    for (int i = 0; i < side->n; i++)
        side->displs[i] = views[i].count ? (size_t)((char *)views[i].data - lowest) : 0;
    return lowest;
}

struct range { /* of an array in memory */
    uintptr_t begin, end;
    int i;
    bool received;
};

static int by_begin(const void *a, const void *b)
{
    const struct range *x = a, *y = b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* No array that is received may overlap with another array. */
static int check_apart(const struct hxpy_call *call)
{
    const int n = call->sent.n + call->received.n;
    const struct range *last[2] = {NULL, NULL}; /* of those sent, of those received: the one that ends last */
    struct range *ranges = PyMem_Calloc((size_t)n, sizeof *ranges);
    if (!ranges) {
        PyErr_NoMemory();
        return -1;
    }
    int used = 0, status = 0;
    for (int i = 0; i < n; i++) {
        const struct hxpy_view *view = &call->arrays[i];
        bool received = i >= call->sent.n;
        if (view->count && view->item_bytes)
            ranges[used++] = (struct range){(uintptr_t)view->data, (uintptr_t)view->data + view->count * view->item_bytes,
                                            received ? i - call->sent.n : i, received};
    }
    qsort(ranges, (size_t)used, sizeof *ranges, by_begin);
    for (int i = 0; i < used && !status; i++) {
        const struct range *range = &ranges[i];
        for (int side = range->received ? 0 : 1; side < 2 && !status; side++)
            if (last[side] && last[side]->end > range->begin) {
                hxpy_refuse("%s[%d] and %s[%d] overlap in memory%s", side ? "out" : "x", last[side]->i, range->received ? "out" : "x", range->i,
                            side && range->received ? "" : ": pass hierax.IN_PLACE as x if the input is in out");
                status = -1;
            }
        if (!last[range->received] || last[range->received]->end < range->end)
            last[range->received] = range;
    }
    PyMem_Free(ranges);
    return status;
}

int hxpy_arrays(struct hxpy_call *call, PyObject *const *given)
{
    const bool in_place = given[HXPY_X] == hxpy_in_place;
    if (!given[HXPY_X] || !given[HXPY_OUT]) {
        PyErr_Format(PyExc_TypeError, "%s: %s is missing", call->row->name, given[HXPY_X] ? "out" : "x");
        return -1;
    }
    if (given[HXPY_OUT] == hxpy_in_place) {
        hxpy_refuse("out cannot be hierax.IN_PLACE: pass it as x, and the arrays as out");
        return -1;
    }
    if (get_memory(call) || (!in_place && get_side(call, &call->sent, given[HXPY_X], "x")) ||
        get_side(call, &call->received, given[HXPY_OUT], "out") || check_apart(call))
        return -1;
    call->send = in_place ? HX_IN_PLACE : place_side(&call->sent, call->arrays);
    call->receive = place_side(&call->received, call->arrays + call->sent.n);
    call->out.object = Py_NewRef(given[HXPY_OUT]); /* the result */
    return 0;
}

void hxpy_arrays_drop(struct hxpy_call *call)
{
    for (int i = 0; call->arrays && i < call->sent.n + call->received.n; i++)
        hxpy_view_drop(&call->arrays[i]);
    PyMem_Free(call->arrays);
    call->arrays = NULL;
}
