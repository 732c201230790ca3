/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls whose blocks have one length: shapes, and a new result. */
#include "call.h"

#include <string.h>

enum { MOST_DIMENSIONS = 64 };

/* A new result: of the shape of x as it is, with a first dimension more, or with its first dimension divided. */
static int new_result(struct hxpy_call *call, int size)
{
    const struct hxpy_view *in = &call->in;
    Py_ssize_t shape[MOST_DIMENSIONS + 1];
    bool more = call->row->in == ONE && call->row->out == ALL, less = call->row->in == ALL && call->row->out == ONE;
    if (in->ndim >= MOST_DIMENSIONS) {
        hxpy_refuse("x has %d dimensions, %d at most", in->ndim, MOST_DIMENSIONS - 1);
        return -1;
    }
    if (!more && !less)
        return hxpy_new_out(call, in->ndim, in->shape);
    if (more && in->scalar) {
        hxpy_refuse("%s of a number: pass an array", call->row->name);
        return -1;
    }
    shape[0] = size;
    if (in->ndim)
        memcpy(shape + more, in->shape, sizeof shape[0] * (size_t)in->ndim);
    if (less)
        shape[0] /= size;
    return hxpy_new_out(call, in->ndim + more, shape);
}

static int divided(const struct hxpy_view *view, const char *name, int size)
{
    if (view->ndim && view->shape[0] % size == 0)
        return 0;
    PyObject *shape = hxpy_shape_text(view);
    if (shape)
        hxpy_refuse("the first dimension of %s (shape %s) is not a multiple of the number of ranks, %d", name,
                    PyUnicode_AsUTF8(shape), size);
    Py_XDECREF(shape);
    return -1;
}

int hxpy_regular(struct hxpy_call *call, hxpy_comm *comm, PyObject *const *given)
{
    const struct hxpy_row *row = call->row;
    size_t size = (size_t)comm->size;
    bool root = comm->rank == call->root, in_place;
    if (hxpy_get_in(call, given[HXPY_X], row->rooted != IN || root) ||
        hxpy_get_out(call, given[HXPY_OUT], row->rooted != OUT || root))
        return -1;
    in_place = call->send == HX_IN_PLACE;
    if (in_place && (!call->out.object || row->rooted == IN)) {
        hxpy_refuse(row->rooted == IN ? "x cannot be hierax.IN_PLACE: pass it as out on the root"
                                      : "x is hierax.IN_PLACE, so the input must be in out, and %s has no out here", row->name);
        return -1;
    }
    if (call->in.object && row->in == ALL && divided(&call->in, "x", comm->size))
        return -1;
    if (in_place) {
        int blocks = row->in == ALL || row->out == ALL;
        if (blocks && call->out.count % size)
            return divided(&call->out, "out", comm->size);
        call->count = blocks ? call->out.count / size : call->out.count;
        return 0;
    }
    if (call->in.object) {
        call->count = row->in == ALL ? call->in.count / size : call->in.count;
        bool wants_out = row->rooted != OUT || root;
        if (wants_out && !call->out.object && call->receive != HX_IN_PLACE && new_result(call, comm->size))
            return -1;
        size_t wanted = row->out == ALL ? call->count * size : call->count;
        if (call->out.object && call->out.count != wanted)
            return hxpy_wrong_count("out", &call->out, wanted,
                                    row->out == ALL && row->in == ONE ? "one x of each rank" : "as x has", &call->in);
    } else if (call->out.object) {
        call->count = call->out.count;
    } else {
        hxpy_refuse("%s: a rank other than the root must pass out, because it does not know the shape", row->name);
        return -1;
    }
    return hxpy_check_pair(call);
}

int hxpy_broadcast(struct hxpy_call *call, hxpy_comm *comm, PyObject *const *given)
{
    if (!given[HXPY_X] || given[HXPY_X] == hxpy_in_place) {
        PyErr_SetString(PyExc_TypeError, "bcast: x is missing");
        return -1;
    }
    if (hxpy_is_number(given[HXPY_X]) || hxpy_numpy_is_number(given[HXPY_X])) {
        hxpy_refuse("x is a number, which bcast cannot change: pass an array");
        return -1;
    }
    if (hxpy_view_get(&call->out, given[HXPY_X], "x", comm->rank != call->root))
        return -1;
    call->receive = call->out.data;
    call->count = call->out.count;
    return 0;
}
