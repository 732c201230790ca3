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

PyObject *hxpy_integers(PyObject *object, const char *name)
{
    PyObject *items = PySequence_Fast(object, "");
    if (!items && PyErr_ExceptionMatches(PyExc_TypeError))
        PyErr_Format(PyExc_TypeError, "%s is %s: expected a list of integers", name, Py_TYPE(object)->tp_name);
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

static int get_list(PyObject *object, const char *name, int size, size_t *list)
{
    PyObject *items = hxpy_integers(object, name);
    if (!items)
        return -1;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(items);
    if (n != size)
        hxpy_refuse("%s has %zd entries, but the communicator has %d ranks", name, n, size);
    for (Py_ssize_t i = 0; n == size && i < n; i++) {
        PyObject *given = Py_NewRef(PySequence_Fast_GET_ITEM(items, i)), *item = PyNumber_Index(given);
        list[i] = item ? PyLong_AsSize_t(item) : 0;
        Py_XDECREF(item);
        if (PyErr_Occurred())
            refuse_entry(name, i, given);
        Py_DECREF(given);
        if (PyErr_Occurred())
            break;
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

int hxpy_get_lists(struct hxpy_call *call, int size, PyObject *const *given)
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
bool hxpy_extent(const size_t *counts, const size_t *displs, int size, size_t *total)
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
void hxpy_fill_displs(struct hxpy_call *call, size_t **displs, const size_t *counts, enum hxpy_param param, int size)
{
    if (*displs || !counts)
        return;
    *displs = call->lists + (size_t)(param - HXPY_COUNTS) * (size_t)size;
    for (int i = 1; i < size; i++)
        (*displs)[i] = (*displs)[i - 1] + counts[i - 1];
}
