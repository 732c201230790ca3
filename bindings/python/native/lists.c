/* SPDX-License-Identifier: BSD-3-Clause */
/* Integers, and lists of counts and displacements. None is cut to fewer bits. */
#include "call.h"

#include <stdio.h>
#include <string.h>

/* The value, for an error. Python refuses to write a number of thousands of digits. */
static const char *shortened(PyObject *object, char text[40])
{
    PyObject *whole = PyObject_Repr(object);
    const char *digits = whole ? PyUnicode_AsUTF8(whole) : NULL;
    PyErr_Clear();
    snprintf(text, 40, "%.30s%s", digits ? digits : "a number", digits && strlen(digits) > 30 ? "..." : "");
    Py_XDECREF(whole);
    return text;
}

int hxpy_int(PyObject *object, const char *name, int *value)
{
    int overflow;
    PyObject *index = PyNumber_Index(object);
    long number = index ? PyLong_AsLongAndOverflow(index, &overflow) : -1;
    Py_XDECREF(index);
    if (!index) {
        if (PyErr_ExceptionMatches(PyExc_TypeError))
            PyErr_Format(PyExc_TypeError, "%s is %s: expected an integer", name, Py_TYPE(object)->tp_name);
        return -1;
    }
    if (overflow || number > INT_MAX || number < INT_MIN) {
        char text[40];
        hxpy_refuse("%s = %s does not fit in 32 bits", name, shortened(object, text));
        return -1;
    }
    *value = (int)number;
    return 0;
}

int hxpy_seconds(PyObject *object, const char *name, double *value)
{
    *value = PyFloat_AsDouble(object);
    if (!PyErr_Occurred())
        return 0;
    if (PyErr_ExceptionMatches(PyExc_TypeError))
        PyErr_Format(PyExc_TypeError, "%s is %s: expected a number of seconds", name, Py_TYPE(object)->tp_name);
    return -1;
}

/* A tuple: the program cannot change it meanwhile. */
PyObject *hxpy_items(PyObject *object, const char *name, const char *what)
{
    PyObject *items = PySequence_Tuple(object);
    if (!items && PyErr_ExceptionMatches(PyExc_TypeError))
        PyErr_Format(PyExc_TypeError, "%s is %s: expected a list of %s", name, Py_TYPE(object)->tp_name, what);
    return items;
}

static void refuse_entry(const char *name, Py_ssize_t i, PyObject *given)
{
    char text[40];
    if (!PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_OverflowError) &&
        !PyErr_ExceptionMatches(PyExc_ValueError))
        return;
    PyErr_Clear();
    hxpy_refuse("%s[%zd] = %s: expected an integer from 0 to 2^64-1", name, i, shortened(given, text));
}

/* The items of a list that has one for each peer; what: "integers". */
PyObject *hxpy_peer_items(const struct hxpy_call *call, const struct hxpy_side *side, PyObject *object, const char *name, const char *what)
{
    PyObject *items = hxpy_items(object, name, what);
    if (items && PyTuple_GET_SIZE(items) != side->n) {
        hxpy_refuse("%s has %zd entries, but %s has %d %ss", name, PyTuple_GET_SIZE(items),
                    call->row->peers == RANKS ? "the communicator" : "this rank", side->n, hxpy_peer(call, side));
        Py_CLEAR(items);
    }
    return items;
}

static int get_list(const struct hxpy_call *call, const struct hxpy_side *side, PyObject *object, const char *name, size_t *list)
{
    PyObject *items = hxpy_peer_items(call, side, object, name, "integers");
    for (Py_ssize_t i = 0; items && i < side->n && !PyErr_Occurred(); i++) {
        PyObject *item = PyNumber_Index(PyTuple_GET_ITEM(items, i));
        list[i] = item ? PyLong_AsSize_t(item) : 0;
        Py_XDECREF(item);
        if (PyErr_Occurred())
            refuse_entry(name, i, PyTuple_GET_ITEM(items, i));
    }
    Py_XDECREF(items);
    return PyErr_Occurred() ? -1 : 0;
}

static const struct {
    enum hxpy_param param;
    const char *name;
    int side; /* NO: the one that the row calls LISTED */
    bool is_displs;
} lists[] = {
    {HXPY_COUNTS, "counts", NO, false}, {HXPY_DISPLS, "displs", NO, true},     {HXPY_SCOUNTS, "scounts", IN, false},
    {HXPY_SDISPLS, "sdispls", IN, true}, {HXPY_RCOUNTS, "rcounts", OUT, false}, {HXPY_RDISPLS, "rdispls", OUT, true},
};

/* The memory has the counts of what is sent, its displacements, and then those of what is received. */
int hxpy_get_lists(struct hxpy_call *call, PyObject *const *given)
{
    call->lists = PyMem_Calloc(2 * (size_t)(call->sent.n + call->received.n), sizeof *call->lists);
    if (!call->lists) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        bool sends = lists[i].side == NO ? call->row->in == LISTED : lists[i].side == IN;
        struct hxpy_side *side = sends ? &call->sent : &call->received;
        size_t *list = call->lists + (sends ? 0 : 2 * call->sent.n) + (lists[i].is_displs ? side->n : 0);
        if (!given[lists[i].param])
            continue;
        if (get_list(call, side, given[lists[i].param], lists[i].name, list))
            return -1;
        *(lists[i].is_displs ? &side->displs : &side->counts) = list;
    }
    return 0;
}

/* The elements of a buffer that the counts describe: up to the end of the last block. False if they exceed 2^64. */
bool hxpy_extent(const struct hxpy_side *side, size_t *total)
{
    size_t end;
    *total = 0;
    for (int i = 0; i < side->n; i++) {
        if (__builtin_add_overflow(side->displs ? side->displs[i] : *total, side->counts[i], &end))
            return false;
        if (!side->displs || (side->counts[i] && end > *total))
            *total = end;
    }
    return true;
}

/* One block after the other, if the program gives no displacements, and Hierax wants them. */
void hxpy_fill_displs(struct hxpy_side *side)
{
    if (side->displs || !side->counts)
        return;
    side->displs = side->counts + side->n;
    for (int i = 1; i < side->n; i++)
        side->displs[i] = side->displs[i - 1] + side->counts[i - 1];
}
