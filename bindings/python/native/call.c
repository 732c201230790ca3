/* SPDX-License-Identifier: BSD-3-Clause */
/* From the arguments of a method to those of Hierax: buffers and what must be equal. */
#include "call.h"

#include <string.h>

int hxpy_wrong_count(const char *name, const struct hxpy_view *view, size_t wanted, const char *why,
                       const struct hxpy_view *other)
{
    PyObject *shape = hxpy_shape_text(view), *theirs = other && other->object ? hxpy_shape_text(other) : NULL;
    if (shape && theirs)
        hxpy_refuse("%s has %zu elements (shape %s), expected %zu: %s (shape %s)", name, view->count, PyUnicode_AsUTF8(shape),
                    wanted, why, PyUnicode_AsUTF8(theirs));
    else if (shape)
        hxpy_refuse("%s has %zu elements (shape %s), expected %zu: %s", name, view->count, PyUnicode_AsUTF8(shape), wanted, why);
    Py_XDECREF(shape);
    Py_XDECREF(theirs);
    return -1;
}

int hxpy_check_pair(const struct hxpy_call *call)
{
    const struct hxpy_view *in = &call->in, *out = &call->out;
    if (!in->object || !out->object)
        return 0;
    if (in->dtype != out->dtype || in->item_bytes != out->item_bytes ||
        (in->dtype == HXPY_OTHER && !hxpy_numpy_same_type(in, out))) {
        PyObject *theirs = hxpy_type_text(out), *ours = theirs ? hxpy_type_text(in) : NULL;
        if (ours)
            hxpy_refuse("out has elements of %s (%zu bytes), but x of %s (%zu bytes)", PyUnicode_AsUTF8(theirs), out->item_bytes,
                        PyUnicode_AsUTF8(ours), in->item_bytes);
        Py_XDECREF(theirs);
        Py_XDECREF(ours);
        return -1;
    }
    const char *a = in->data, *b = out->data;
    size_t a_bytes = in->count * in->item_bytes, b_bytes = out->count * out->item_bytes;
    bool same = a == b && in->count == out->count && hxpy_combines(call->row);
    if (a_bytes && b_bytes && a < b + b_bytes && b < a + a_bytes && !same) {
        hxpy_refuse("x and out overlap in memory: pass hierax.IN_PLACE as x if the input is in out");
        return -1;
    }
    return 0;
}

int hxpy_get_in(struct hxpy_call *call, PyObject *x, bool needed)
{
    if (x == hxpy_in_place && call->row->peers == NEIGHBORS) {
        hxpy_refuse("%s: x cannot be hierax.IN_PLACE: pass an array", call->row->name);
        return -1;
    }
    if (x == hxpy_in_place) {
        call->send = HX_IN_PLACE;
        return 0;
    }
    if (!needed)
        return 0;
    if (!x) {
        PyErr_Format(PyExc_TypeError, "%s: x is missing", call->row->name);
        return -1;
    }
    if (hxpy_view_get(&call->in, x, "x", false))
        return -1;
    call->send = call->in.data;
    return 0;
}

int hxpy_get_out(struct hxpy_call *call, PyObject *out, bool needed)
{
    if (!needed || !out || out == Py_None)
        return 0;
    if (out == hxpy_in_place) {
        if (call->row->rooted != IN) {
            hxpy_refuse("out cannot be hierax.IN_PLACE: pass it as x, and the buffer as out");
            return -1;
        }
        call->receive = HX_IN_PLACE;
        return 0;
    }
    if (hxpy_view_get(&call->out, out, "out", true))
        return -1;
    call->receive = call->out.data;
    return 0;
}

int hxpy_new_out(struct hxpy_call *call, int ndim, const Py_ssize_t *shape)
{
    if (hxpy_view_new(&call->out, &call->in, ndim, shape))
        return -1;
    if (call->row - hxpy_rows == HXPY_exscan)
        memset(call->out.data, 0, call->out.count * call->out.item_bytes);
    call->receive = call->out.data;
    return 0;
}

static int count_peers(struct hxpy_call *call, const hxpy_comm *comm)
{
    const bool ranks = call->row->peers == RANKS;
    if (!ranks && !comm->sources) {
        hxpy_refuse("%s: this communicator has no graph: use one of Comm.graph()", call->row->name);
        return -1;
    }
    call->sent = (struct hxpy_side){.n = ranks ? comm->size : (int)PyTuple_GET_SIZE(comm->destinations)};
    call->received = (struct hxpy_side){.n = ranks ? comm->size : (int)PyTuple_GET_SIZE(comm->sources)};
    return 0;
}

int hxpy_call_prepare(struct hxpy_call *call, hxpy_comm *comm, PyObject *const *given)
{
    call->in.object = call->out.object = call->used_op = NULL;
    call->in.buffer = call->out.buffer = NULL;
    call->in.capsule = call->out.capsule = NULL;
    call->in.scalar = call->out.scalar = call->in.unwrap = call->out.unwrap = false;
    call->send = NULL;
    call->receive = NULL;
    call->lists = NULL;
    call->arrays = NULL;
    call->count = 0;
    call->root = call->tag = 0;
    if (given[HXPY_ROOT] && hxpy_int(given[HXPY_ROOT], "root", &call->root))
        return -1;
    if (call->root < 0 || call->root >= comm->size) {
        hxpy_refuse("root %d is out of range: this communicator has ranks 0 to %d", call->root, comm->size - 1);
        return -1;
    }
    int status;
    if (call->row->in == NONE)
        return 0;
    if (count_peers(call, comm))
        return -1;
    if (call->row->in == MESSAGE)
        status = hxpy_message(call, comm, given);
    else if (call->row->rooted == BOTH)
        status = hxpy_broadcast(call, comm, given);
    else if (call->row->in == LISTED || call->row->out == LISTED)
        status = hxpy_listed(call, comm, given);
    else if (call->row->in == ARRAYS)
        status = hxpy_arrays(call, given);
    else
        status = hxpy_regular(call, comm, given);
    if (!status && call->row->in != ARRAYS)
        status = hxpy_set_type(call, given[HXPY_OP], call->in.object ? &call->in : &call->out);
    if (status)
        hxpy_call_drop(call);
    return status;
}

void hxpy_call_drop(struct hxpy_call *call)
{
    hxpy_view_drop(&call->in);
    hxpy_view_drop(&call->out);
    hxpy_arrays_drop(call);
    PyMem_Free(call->lists);
    call->lists = NULL;
    Py_CLEAR(call->used_op);
}
