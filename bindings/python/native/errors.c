/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors of Hierax as exceptions of hierax._errors. */
#include "native.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static PyObject *make_error; /* hierax._errors.make(status, name, detail) */

int hxpy_errors_init(void)
{
    PyObject *module = PyImport_ImportModule("hierax._errors");
    if (!module)
        return -1;
    make_error = PyObject_GetAttrString(module, "make");
    Py_DECREF(module);
    return make_error ? 0 : -1;
}

PyObject *hxpy_raise(hx_status_t status, const char *detail)
{
    PyObject *text = PyUnicode_DecodeUTF8(detail, (Py_ssize_t)strlen(detail), "replace"); /* it may be cut in a character */
    PyObject *error = text ? PyObject_CallFunction(make_error, "isO", (int)status, hx_strerror(status), text) : NULL;
    Py_XDECREF(text);
    if (error) {
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
        Py_DECREF(error);
    }
    return NULL;
}

static PyObject *refuse(hx_status_t status, const char *format, va_list values)
{
    char text[512];
    vsnprintf(text, sizeof text, format, values);
    return hxpy_raise(status, text);
}

PyObject *hxpy_refuse(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    refuse(HX_ERR_ARG, format, values);
    va_end(values);
    return NULL;
}

PyObject *hxpy_state_error(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    refuse(HX_ERR_STATE, format, values);
    va_end(values);
    return NULL;
}

/* HX_ERR_STATE may be about the process, and the communicator then has the text of an earlier error or none. */
void hxpy_keep_detail(char text[512], hx_status_t status, const hx_comm_t *comm)
{
    snprintf(text, 512, "%s", hx_error_detail(status == HX_ERR_STATE ? NULL : comm));
}

int hxpy_end(hxpy_comm *comm, PyThreadState *state, hx_status_t status)
{
    char detail[512];
    if (status != HX_SUCCESS)
        hxpy_keep_detail(detail, status, comm->handle);
    hxpy_leave(comm->world, state);
    comm->users--;
    if (status == HX_SUCCESS)
        return 0;
    hxpy_raise(status, detail);
    return -1;
}

int hxpy_running(void)
{
    if (hxpy.forked)
        hxpy_state_error("this process is a child made by fork of a rank, and must not use Hierax");
    else if (hxpy.busy)
        hxpy_state_error("another thread is in hierax.init, hierax.join or hierax.finalize");
    else if (!hxpy.worlds)
        hxpy_state_error("Hierax does not run: call hierax.init() first");
    else
        return 0;
    return -1;
}
