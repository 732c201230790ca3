/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls whose blocks have one length: shapes, and a new result. */
#include "call.h"

#include <stdio.h>
#include <string.h>

enum { MOST_DIMENSIONS = 64 };

/* A new result: of the shape of x as it is, with a first dimension more, or with its first dimension divided. */
static int new_result(struct hxpy_call *call)
{
    const struct hxpy_view *in = &call->in;
    const int sent = call->sent.n, received = call->received.n;
    Py_ssize_t shape[MOST_DIMENSIONS + 1];
    bool more = call->row->in == ONE && call->row->out == ALL;
    if (in->ndim >= MOST_DIMENSIONS) {
        hxpy_refuse("x has %d dimensions, %d at most", in->ndim, MOST_DIMENSIONS - 1);
        return -1;
    }
    if (more && in->scalar) {
        hxpy_refuse("%s of a number: pass an array", call->row->name);
        return -1;
    }
    if (in->ndim)
        memcpy(shape + more, in->shape, sizeof shape[0] * (size_t)in->ndim);
    if (more)
        shape[0] = received;
    else if (call->row->in == ALL)
        shape[0] = (sent ? shape[0] / sent : 0) * (call->row->out == ALL ? received : 1);
    return hxpy_new_out(call, in->ndim + more, shape);
}

static int not_divided(const struct hxpy_call *call, const struct hxpy_view *view, const char *name, const struct hxpy_side *side)
{
    PyObject *shape = hxpy_shape_text(view);
    if (shape)
        hxpy_refuse("the first dimension of %s (shape %s) is not a multiple of the number of %ss, %d", name, PyUnicode_AsUTF8(shape),
                    hxpy_peer(call, side), side->n);
    Py_XDECREF(shape);
    return -1;
}

static bool divides(const struct hxpy_side *side, size_t length)
{
    return side->n ? length % (size_t)side->n == 0 : length == 0;
}

/* The elements of a block: x has them, or one for each peer. */
static int set_count(struct hxpy_call *call)
{
    const struct hxpy_side *sent = &call->sent, *received = &call->received;
    call->count = call->in.count;
    if (call->row->in != ALL)
        return 0;
    if (!call->in.ndim || !divides(sent, (size_t)call->in.shape[0]))
        return not_divided(call, &call->in, "x", sent);
    if (sent->n) {
        call->count /= (size_t)sent->n;
    } else if (received->n) { /* x has no block */
        if (!call->out.object) {
            hxpy_refuse("%s: a rank without destinations must pass out, because it does not know the length of a block", call->row->name);
            return -1;
        }
        if (!divides(received, call->out.count))
            return not_divided(call, &call->out, "out", received);
        call->count = call->out.count / (size_t)received->n;
    }
    return 0;
}

int hxpy_regular(struct hxpy_call *call, hxpy_comm *comm, PyObject *const *given)
{
    const struct hxpy_row *row = call->row;
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
    if (in_place) {
        size_t blocks = row->in == ALL || row->out == ALL ? (size_t)comm->size : 1;
        if (call->out.count % blocks)
            return not_divided(call, &call->out, "out", &call->received);
        call->count = call->out.count / blocks;
        return 0;
    }
    if (call->in.object) {
        bool wants_out = row->rooted != OUT || root;
        if (set_count(call) || (wants_out && !call->out.object && call->receive != HX_IN_PLACE && new_result(call)))
            return -1;
        size_t wanted = row->out == ALL ? call->count * (size_t)call->received.n : call->count;
        if (call->out.object && call->out.count != wanted) {
            char why[64] = "as x has";
            if (row->out == ALL && (row->in == ONE || row->peers == NEIGHBORS))
                snprintf(why, sizeof why, row->in == ONE ? "one x of each %s" : "a block of each %s, as long as those of x",
                         hxpy_peer(call, &call->received));
            return hxpy_wrong_count("out", &call->out, wanted, why, &call->in);
        }
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
