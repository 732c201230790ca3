/* SPDX-License-Identifier: BSD-3-Clause */
/* From the arguments of a method to those of Hierax: shapes, types, counts, and a new result if the program gives none. */
#include "native.h"

#include <string.h>

enum { NONE, ONE, ALL, LISTED };
enum { NO, IN, OUT, BOTH };

#define PARAMS(...) {__VA_ARGS__}
const struct hxpy_row hxpy_rows[HXPY_COLLECTIVES] = {
#define ROW(name, in, out, rooted, params, ...) {#name, in, out, rooted, PARAMS params},
#include "collectives.def"
#undef ROW
};

#define UNWRAP(...) __VA_ARGS__
hx_status_t hxpy_issue(const struct hxpy_call *c, hx_comm_t *comm, enum hxpy_mode mode, hx_request_t **request)
{
    enum hxpy_collective which = (enum hxpy_collective)(c->row - hxpy_rows);
    if (mode == HXPY_NOW) {
        switch (which) {
#define ROW(name, in, out, rooted, params, args, ...) case HXPY_##name: return hx_##name(UNWRAP args);
#include "collectives.def"
#undef ROW
        default: return HX_ERR_INTERNAL;
        }
    }
    switch (which) {
#define ROW(name, in, out, rooted, params, args, ...) \
    case HXPY_##name: \
        return mode == HXPY_START ? hx_i##name(UNWRAP args, request) : hx_##name##_init(UNWRAP args, request);
#include "collectives.def"
#undef ROW
    default: return HX_ERR_INTERNAL;
    }
}

/* ---- numbers and lists of numbers */

int hxpy_int(PyObject *object, const char *name, int *value)
{
    int overflow;
    PyObject *index = PyNumber_Index(object);
    long number = index ? PyLong_AsLongAndOverflow(index, &overflow) : -1;
    Py_XDECREF(index);
    if (!index) {
        PyErr_Format(PyExc_TypeError, "%s is %s: expected an integer", name, Py_TYPE(object)->tp_name);
        return -1;
    }
    if (overflow || number > INT_MAX || number < INT_MIN) {
        PyErr_Clear();
        PyObject *text = PyObject_Str(object);
        hxpy_refuse("%s = %s does not fit in 32 bits", name, text ? PyUnicode_AsUTF8(text) : "?");
        Py_XDECREF(text);
        return -1;
    }
    *value = (int)number;
    return 0;
}

static int get_list(PyObject *object, const char *name, int size, size_t *list)
{
    PyObject *items = PySequence_Fast(object, "counts and displacements are lists of integers");
    if (!items)
        return -1;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(items);
    if (n != size)
        hxpy_refuse("%s has %zd entries, but the communicator has %d ranks", name, n, size);
    for (Py_ssize_t i = 0; n == size && i < n; i++) {
        PyObject *item = PyNumber_Index(PySequence_Fast_GET_ITEM(items, i));
        list[i] = item ? PyLong_AsSize_t(item) : 0;
        Py_XDECREF(item);
        if (PyErr_Occurred()) {
            PyErr_Clear();
            hxpy_refuse("%s[%zd] is not an integer from 0 to 2^64-1", name, i);
            break;
        }
    }
    Py_DECREF(items);
    return PyErr_Occurred() ? -1 : 0;
}

static const struct {
    enum hxpy_param param;
    const char *name;
    size_t at;
} lists[] = {
    {HXPY_COUNTS, "counts", offsetof(struct hxpy_call, counts)}, {HXPY_DISPLS, "displs", offsetof(struct hxpy_call, displs)},
    {HXPY_SCOUNTS, "scounts", offsetof(struct hxpy_call, scounts)}, {HXPY_SDISPLS, "sdispls", offsetof(struct hxpy_call, sdispls)},
    {HXPY_RCOUNTS, "rcounts", offsetof(struct hxpy_call, rcounts)}, {HXPY_RDISPLS, "rdispls", offsetof(struct hxpy_call, rdispls)},
};

static int get_lists(struct hxpy_call *call, int size, PyObject *const *given)
{
    call->lists = PyMem_Calloc(sizeof lists / sizeof lists[0], sizeof(size_t) * (size_t)size);
    if (!call->lists) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        size_t **place = (size_t **)((char *)call + lists[i].at);
        PyObject *object = given[lists[i].param];
        *place = object ? call->lists + (size_t)(lists[i].param - HXPY_COUNTS) * (size_t)size : NULL;
        if (*place && get_list(object, lists[i].name, size, *place))
            return -1;
    }
    return 0;
}

/* The elements of a buffer that the counts describe: up to the end of the last block. False if they exceed 2^64. */
static bool extent(const size_t *counts, const size_t *displs, int size, size_t *total)
{
    size_t end;
    *total = 0;
    for (int i = 0; i < size; i++) {
        if (__builtin_add_overflow(displs ? displs[i] : *total, counts[i], &end))
            return false;
        if (!displs || (counts[i] && end > *total))
            *total = end;
    }
    return true;
}

/* hx_alltoallv wants both displacements: one block after the other, if the program gives none. */
static void fill_displs(struct hxpy_call *call, size_t **displs, const size_t *counts, enum hxpy_param param, int size)
{
    if (*displs || !counts)
        return;
    *displs = call->lists + (size_t)(param - HXPY_COUNTS) * (size_t)size;
    for (int i = 1; i < size; i++)
        (*displs)[i] = (*displs)[i - 1] + counts[i - 1];
}

/* ---- types and operations */

static int set_op(struct hxpy_call *call, PyObject *object, int dtype)
{
    hxpy_op *op = (hxpy_op *)object;
    if (object && !PyObject_TypeCheck(object, &hxpy_op_type)) {
        PyErr_Format(PyExc_TypeError, "op is %s: expected hierax.SUM or another operation, or hierax.Op(function)",
                     Py_TYPE(object)->tp_name);
        return -1;
    }
    call->op = op ? op->op : HX_SUM;
    if (op && op->function) {
        call->used_op = Py_NewRef(object);
    }
    if (dtype == HXPY_BOOL) { /* a sum of truth values is "or", a product "and", as in numpy */
        if (call->op == HX_AVG) {
            hxpy_refuse("AVG of bool has no meaning: convert to a floating-point type");
            return -1;
        }
        call->op = call->op == HX_SUM ? HX_LOR : call->op == HX_PROD ? HX_LAND : call->op;
    }
    if (dtype == HXPY_OTHER) {
        hxpy_refuse("elements of this type can be moved, but not combined: other byte order, packed pair, or no number");
        return -1;
    }
    return 0;
}

static bool combines(const struct hxpy_row *row)
{
    for (int i = 0; row->params[i] >= 0; i++)
        if (row->params[i] == HXPY_OP)
            return true;
    return false;
}

static int set_type(struct hxpy_call *call, PyObject *op, const struct hxpy_view *view, int size)
{
    int dtype = view->dtype;
    if (combines(call->row)) {
        if (set_op(call, op, dtype))
            return -1;
        call->dtype = dtype == HXPY_BOOL ? HX_UINT8 : (hx_dtype_t)dtype;
        return 0;
    }
    call->dtype = dtype >= HXPY_BOOL ? HX_BYTE : (hx_dtype_t)dtype;
    if (dtype != HXPY_OTHER)
        return 0;
    size_t *const counts[] = {call->counts, call->displs, call->scounts, call->sdispls, call->rcounts, call->rdispls};
    if (__builtin_mul_overflow(call->count, view->item_bytes, &call->count))
        goto too_long;
    for (size_t i = 0; call->lists && i < sizeof counts / sizeof counts[0]; i++)
        for (int r = 0; counts[i] && r < size; r++)
            if (__builtin_mul_overflow(counts[i][r], view->item_bytes, &counts[i][r]))
                goto too_long;
    return 0;
too_long:
    hxpy_refuse("the call has more than 2^64 bytes");
    return -1;
}

/* ---- buffers */

static int wrong_count(const char *name, const struct hxpy_view *view, size_t wanted, const char *why,
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

static int check_pair(const struct hxpy_call *call)
{
    const struct hxpy_view *in = &call->in, *out = &call->out;
    if (!in->object || !out->object)
        return 0;
    if (in->dtype != out->dtype || in->item_bytes != out->item_bytes) {
        hxpy_refuse("out has elements of %s (%zu bytes), but x of %s (%zu bytes)", hxpy_dtype_name(out->dtype), out->item_bytes,
                    hxpy_dtype_name(in->dtype), in->item_bytes);
        return -1;
    }
    const char *a = in->data, *b = out->data;
    size_t a_bytes = in->count * in->item_bytes, b_bytes = out->count * out->item_bytes;
    bool same = a == b && in->count == out->count && combines(call->row);
    if (a_bytes && b_bytes && a < b + b_bytes && b < a + a_bytes && !same) {
        hxpy_refuse("x and out overlap in memory: pass hierax.IN_PLACE as x if the input is in out");
        return -1;
    }
    return 0;
}

static int get_in(struct hxpy_call *call, PyObject *x, bool needed)
{
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

static int get_out(struct hxpy_call *call, PyObject *out, bool needed)
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

static int new_out(struct hxpy_call *call, int ndim, const Py_ssize_t *shape)
{
    if (hxpy_view_new(&call->out, &call->in, ndim, shape))
        return -1;
    if (call->row - hxpy_rows == HXPY_exscan)
        memset(call->out.data, 0, call->out.count * call->out.item_bytes);
    call->receive = call->out.data;
    return 0;
}

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
        return new_out(call, in->ndim, in->shape);
    if (more && in->scalar) {
        hxpy_refuse("%s of a number: pass an array", call->row->name);
        return -1;
    }
    shape[0] = size;
    if (in->ndim)
        memcpy(shape + more, in->shape, sizeof shape[0] * (size_t)in->ndim);
    if (less)
        shape[0] /= size;
    return new_out(call, in->ndim + more, shape);
}

static int divided(const struct hxpy_view *view, const char *name, int size)
{
    if (view->ndim && view->shape[0] % size == 0)
        return 0;
    if (view->ndim && view->count % (size_t)size == 0 && view->ndim == 1)
        return 0;
    PyObject *shape = hxpy_shape_text(view);
    if (shape)
        hxpy_refuse("the first dimension of %s (shape %s) is not a multiple of the number of ranks, %d", name,
                    PyUnicode_AsUTF8(shape), size);
    Py_XDECREF(shape);
    return -1;
}

static int regular(struct hxpy_call *call, hxpy_comm *comm, PyObject *const *given)
{
    const struct hxpy_row *row = call->row;
    size_t size = (size_t)comm->size;
    bool root = comm->rank == call->root, in_place;
    if (get_in(call, given[HXPY_X], row->rooted != IN || root) || get_out(call, given[HXPY_OUT], row->rooted != OUT || root))
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
            return wrong_count("out", &call->out, wanted, row->out == ALL && row->in == ONE ? "one x of each rank" : "as x has",
                               &call->in);
    } else if (call->out.object) {
        call->count = call->out.count;
    } else {
        hxpy_refuse("%s: a rank other than the root must pass out, because it does not know the shape", row->name);
        return -1;
    }
    return check_pair(call);
}

static int broadcast(struct hxpy_call *call, hxpy_comm *comm, PyObject *const *given)
{
    if (!given[HXPY_X] || given[HXPY_X] == hxpy_in_place) {
        PyErr_SetString(PyExc_TypeError, "bcast: x is missing");
        return -1;
    }
    if (hxpy_view_get(&call->out, given[HXPY_X], "x", comm->rank != call->root))
        return -1;
    if (call->out.scalar) {
        hxpy_refuse("x is a number, which bcast cannot change: pass an array");
        return -1;
    }
    call->receive = call->out.data;
    call->count = call->out.count;
    return 0;
}

/* One side of a call with lists: the buffer must have the elements that the counts describe. */
static int listed_side(struct hxpy_view *view, const char *name, const size_t *counts, const size_t *displs, const char *list,
                       int size)
{
    size_t wanted;
    if (!extent(counts, displs, size, &wanted)) {
        hxpy_refuse("the entries of %s add up to more than 2^64", list);
        return -1;
    }
    if (view->object && (displs ? view->count < wanted : view->count != wanted)) {
        char why[64];
        snprintf(why, sizeof why, "the sum of %s%s", list, displs ? " with displacements, at least" : "");
        return wrong_count(name, view, wanted, why, NULL);
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
    if (counts && !extent(counts, NULL, size, &elements))
        elements = SIZE_MAX;
    length = elements > PY_SSIZE_T_MAX ? PY_SSIZE_T_MAX : (Py_ssize_t)elements;
    return call->in.scalar ? (hxpy_refuse("x is a number: pass an array"), -1) : new_out(call, 1, &length);
}

static int require(const struct hxpy_call *call, const size_t *list, const char *name)
{
    if (!list)
        PyErr_Format(PyExc_TypeError, "%s: %s is missing", call->row->name, name);
    return list ? 0 : -1;
}

/* Which list describes which buffer. NULL: the buffer is this rank's block. */
static int with_lists(struct hxpy_call *call, hxpy_comm *comm, PyObject *const *given)
{
    const struct hxpy_row *row = call->row;
    int size = comm->size;
    bool root = comm->rank == call->root, everywhere = call->row - hxpy_rows == HXPY_alltoallv;
    bool sends = row->rooted != IN || root, receives = row->rooted != OUT || root;
    bool in_listed = everywhere || row->rooted == IN || row - hxpy_rows == HXPY_reduce_scatter;
    bool out_listed = everywhere || !in_listed;
    if (get_lists(call, size, given) || get_in(call, given[HXPY_X], sends) || get_out(call, given[HXPY_OUT], receives))
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
    struct hxpy_view *whole = in_place ? &call->out : &call->in; /* what the counts of the input describe */
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
        return wrong_count(in_listed ? "out" : "x", block, own, "this rank's entry of counts", NULL);
    call->count = block->object && !everywhere ? block->count : own;
    if (everywhere) {
        fill_displs(call, &call->sdispls, call->scounts, HXPY_SDISPLS, size);
        fill_displs(call, &call->rdispls, call->rcounts, HXPY_RDISPLS, size);
    }
    return check_pair(call);
}

int hxpy_call_prepare(struct hxpy_call *call, hxpy_comm *comm, PyObject *const *given)
{
    call->in.object = call->out.object = call->used_op = NULL;
    call->in.buffer = call->out.buffer = NULL;
    call->in.capsule = call->out.capsule = NULL;
    call->send = NULL;
    call->receive = NULL;
    call->lists = NULL;
    call->counts = call->displs = NULL;
    call->count = 0;
    call->root = 0;
    if (given[HXPY_ROOT] && hxpy_int(given[HXPY_ROOT], "root", &call->root))
        return -1;
    if (call->root < 0 || call->root >= comm->size) {
        hxpy_refuse("root %d is out of range: this communicator has ranks 0 to %d", call->root, comm->size - 1);
        return -1;
    }
    int status;
    if (call->row->in == NONE)
        return 0;
    if (call->row->rooted == BOTH)
        status = broadcast(call, comm, given);
    else if (call->row->in == LISTED)
        status = with_lists(call, comm, given);
    else
        status = regular(call, comm, given);
    if (!status)
        status = set_type(call, given[HXPY_OP], call->in.object ? &call->in : &call->out, comm->size);
    if (status)
        hxpy_call_drop(call);
    return status;
}

void hxpy_call_drop(struct hxpy_call *call)
{
    hxpy_view_drop(&call->in);
    hxpy_view_drop(&call->out);
    PyMem_Free(call->lists);
    call->lists = NULL;
    Py_CLEAR(call->used_op);
}

PyObject *hxpy_call_result(struct hxpy_call *call)
{
    if (!call->out.object)
        Py_RETURN_NONE;
    return call->out.scalar ? hxpy_scalar_value(&call->out) : Py_NewRef(call->out.object);
}
