/* SPDX-License-Identifier: BSD-3-Clause */
/* The program's own bootstrap: an object with rank, size, put(key, value), fence() and get(key). */
#include "native.h"
#include "bootstrap.h"

#include <stdio.h>
#include <string.h>

static int finish(PyObject *answer)
{
    if (!answer)
        PyErr_WriteUnraisable(NULL);
    Py_XDECREF(answer);
    return answer ? 0 : -1;
}

static int put(void *ctx, const char *key, const char *value)
{
    PyGILState_STATE state = PyGILState_Ensure();
    int status = finish(PyObject_CallMethod(ctx, "put", "ss", key, value));
    PyGILState_Release(state);
    return status;
}

static int fence(void *ctx)
{
    PyGILState_STATE state = PyGILState_Ensure();
    int status = finish(PyObject_CallMethod(ctx, "fence", NULL));
    PyGILState_Release(state);
    return status;
}

static int get(void *ctx, const char *key, char *value, size_t capacity_bytes)
{
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *answer = PyObject_CallMethod(ctx, "get", "s", key);
    int status = -1;
    if (answer && answer != Py_None) {
        const char *text = PyBytes_Check(answer) ? PyBytes_AsString(answer) : PyUnicode_AsUTF8(answer);
        if (text && strlen(text) < capacity_bytes) {
            strcpy(value, text);
            status = 0;
        }
    }
    if (!answer || PyErr_Occurred())
        PyErr_WriteUnraisable(ctx);
    Py_XDECREF(answer);
    PyGILState_Release(state);
    return status;
}

int hxpy_bootstrap_get(PyObject *object, hx_bootstrap_t *bootstrap)
{
    PyObject *rank = PyObject_GetAttrString(object, "rank"), *size = rank ? PyObject_GetAttrString(object, "size") : NULL;
    *bootstrap = (hx_bootstrap_t){.put = put, .fence = fence, .get = get, .ctx = object};
    int status = -1;
    if (size && !hxpy_int(rank, "bootstrap.rank", &bootstrap->rank) && !hxpy_int(size, "bootstrap.size", &bootstrap->size))
        status = 0;
    Py_XDECREF(rank);
    Py_XDECREF(size);
    return status;
}
