/* SPDX-License-Identifier: BSD-3-Clause */
/* The methods of Comm for collectives, of collectives.def: arguments, and the call without the interpreter's lock. */
#include "native.h"

#include <stdio.h>
#include <string.h>

static const char *const texts[HXPY_PARAMS] = {"x", "op", "root", "out", "dest", "source", "tag", "counts", "displs",
                                               "scounts", "sdispls", "rcounts", "rdispls"};
static PyObject *names[HXPY_PARAMS]; /* interned */

int hxpy_comm_methods_init(void)
{
    for (int i = 0; i < HXPY_PARAMS; i++)
        if (!names[i] && !(names[i] = PyUnicode_InternFromString(texts[i])))
            return -1;
    return 0;
}

static int place_of(const struct hxpy_row *row, PyObject *keyword)
{
    for (int i = 0; row->params[i] >= 0; i++)
        if (keyword == names[(int)row->params[i]])
            return row->params[i];
    for (int i = 0; row->params[i] >= 0; i++)
        if (PyUnicode_Compare(keyword, names[(int)row->params[i]]) == 0)
            return row->params[i];
    char allowed[128] = "";
    for (int i = 0; row->params[i] >= 0; i++)
        snprintf(allowed + strlen(allowed), sizeof allowed - strlen(allowed), "%s%s", i ? ", " : "", texts[(int)row->params[i]]);
    PyErr_Format(PyExc_TypeError, "%s() has no argument '%U': expected %s", row->name, keyword, *allowed ? allowed : "none");
    return -1;
}

static int arguments(const struct hxpy_row *row, PyObject *const *args, Py_ssize_t n, PyObject *keywords, PyObject **given)
{
    Py_ssize_t most = 0, named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
    while (row->params[most] >= 0)
        most++;
    if (n > most) {
        PyErr_Format(PyExc_TypeError, "%s() takes at most %zd arguments, but %zd were given", row->name, most, n);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        given[(int)row->params[i]] = args[i];
    for (Py_ssize_t i = 0; i < named; i++) {
        int place = place_of(row, PyTuple_GET_ITEM(keywords, i));
        if (place < 0)
            return -1;
        if (given[place]) {
            PyErr_Format(PyExc_TypeError, "%s() got '%U' twice", row->name, names[place]);
            return -1;
        }
        given[place] = args[n + i];
    }
    for (int i = 0; i < HXPY_PARAMS; i++)
        if (given[i] == Py_None && i != HXPY_X)
            given[i] = NULL;
    if (given[HXPY_X] == Py_None && row->rooted == 1)
        given[HXPY_X] = NULL;
    return 0;
}

static PyObject *run(hxpy_comm *comm, struct hxpy_call *call)
{
    PyObject *result = NULL;
    PyThreadState *state = hxpy_begin(comm);
    if (!hxpy_end(comm, state, hxpy_issue(call, comm->handle, HXPY_NOW, NULL)))
        result = hxpy_view_value(&call->out);
    hxpy_call_drop(call);
    return result;
}

/* While a group is open, Hierax records the call, and writes its result at the end of the group. */
static PyObject *record(hxpy_comm *comm, struct hxpy_call *call)
{
    struct hxpy_kept *place = NULL;
    if (hxpy_view_is_number(&call->in) || hxpy_view_is_number(&call->out))
        hxpy_refuse("x is a number, whose result is not known before the end of the group: pass an array");
    else
        place = hxpy_group_place();
    if (!place) {
        hxpy_call_drop(call);
        return NULL;
    }
    PyObject *group = Py_NewRef(comm->group), *result = NULL; /* another thread may end it meanwhile */
    PyThreadState *state = hxpy_begin(comm);
    if (!hxpy_end(comm, state, hxpy_issue(call, comm->handle, HXPY_NOW, NULL))) {
        result = hxpy_group_keep(group, place, call);
    } else {
        PyMem_Free(place);
        hxpy_call_drop(call);
    }
    Py_DECREF(group);
    return result;
}

static PyObject *invoke(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords, const struct hxpy_row *row,
                        enum hxpy_mode mode)
{
    PyObject *given[HXPY_PARAMS] = {0};
    struct hxpy_call call;
    hxpy_comm *comm = (hxpy_comm *)self;
    if (hxpy_comm_check(comm) || arguments(row, args, n, keywords, given))
        return NULL;
    call.row = row;
    if (hxpy_call_prepare(&call, comm, given))
        return NULL;
    if (mode != HXPY_NOW)
        return hxpy_request_new(comm, &call, mode);
    return __builtin_expect(comm->group != NULL, 0) ? record(comm, &call) : run(comm, &call);
}

#define ROW(name, ...) \
    static PyObject *name##_now(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords) \
    { \
        return invoke(self, args, n, keywords, &hxpy_rows[HXPY_##name], HXPY_NOW); \
    } \
    static PyObject *name##_start(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords) \
    { \
        return invoke(self, args, n, keywords, &hxpy_rows[HXPY_##name], HXPY_START); \
    } \
    static PyObject *name##_prepare(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords) \
    { \
        return invoke(self, args, n, keywords, &hxpy_rows[HXPY_##name], HXPY_PREPARE); \
    }
#include "collectives.def"
#undef ROW

static PyMethodDef methods[] = {
#define ROW(name, in, out, rooted, peers, params, args, signature, doc) \
    {#name, WITH_KEYWORDS(name##_now), METH_FASTCALL | METH_KEYWORDS, #name signature "\n\n" doc}, \
    {"i" #name, WITH_KEYWORDS(name##_start), METH_FASTCALL | METH_KEYWORDS, \
     "i" #name signature "\n\nStart " #name " and return a Request.\n\n" doc}, \
    {#name "_init", WITH_KEYWORDS(name##_prepare), METH_FASTCALL | METH_KEYWORDS, \
     #name "_init" signature "\n\nPrepare " #name " and return a Request, which start() starts as often as needed.\n\n" doc},
#include "collectives.def"
#undef ROW
    {NULL, NULL, 0, NULL},
};

int hxpy_comm_add_collectives(void)
{
    for (PyMethodDef *method = methods; method->ml_name; method++) {
        PyObject *descriptor = PyDescr_NewMethod(&hxpy_comm_type, method);
        int status = descriptor ? PyDict_SetItemString(hxpy_comm_type.tp_dict, method->ml_name, descriptor) : -1;
        Py_XDECREF(descriptor);
        if (status)
            return -1;
    }
    PyType_Modified(&hxpy_comm_type);
    return 0;
}
