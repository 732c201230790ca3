/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Group: `with comm.group():` records the blocking calls of its body, and makes them as one at its end. Their buffers, lists and
 * operations stay with the group, or with its request, until all are complete.
 */
#include "native.h"

#include <stdlib.h>

typedef struct group {
    PyObject_HEAD
    hxpy_comm *comm;
    PyObject *request; /* of group(wait=False), after the end */
    struct hxpy_call **calls;
    size_t count;
    bool wait, ended;
} group;

static const struct hxpy_row row = {.name = "group", .params = {-1}};

PyObject *hxpy_comm_group(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *allowed[] = {"wait", NULL};
    int wait = 1;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|p:group", allowed, &wait) || hxpy_comm_check((hxpy_comm *)self))
        return NULL;
    group *g = PyObject_New(group, &hxpy_group_type);
    if (!g)
        return NULL;
    g->comm = (hxpy_comm *)Py_NewRef(self);
    g->request = NULL;
    g->calls = NULL;
    g->count = 0;
    g->wait = wait;
    g->ended = false;
    return (PyObject *)g;
}

/* Keep a recorded call, and return its array, which receives the result at the end. */
PyObject *hxpy_group_keep(PyObject *self, struct hxpy_call *call)
{
    group *g = (group *)self;
    struct hxpy_call **calls = PyMem_Realloc(g->calls, sizeof *calls * (g->count + 1));
    if (calls)
        g->calls = calls;
    struct hxpy_call *kept = calls ? PyMem_Malloc(sizeof *kept) : NULL;
    if (!kept) /* Hierax has recorded the call, so its memory must stay: end the job rather than leave a dangling pointer */
        Py_FatalError("hierax: no memory for a call of a group");
    *kept = *call;
    g->calls[g->count++] = kept;
    return hxpy_call_result(kept);
}

static PyObject *group_enter(PyObject *self, PyObject *unused)
{
    group *g = (group *)self;
    char detail[512];
    (void)unused;
    if (g->ended || g->comm->group)
        return hxpy_state_error("%s", g->ended ? "this group has ended: call group() again"
                                               : "a group is open on this communicator");
    if (hxpy_comm_check(g->comm))
        return NULL;
    PyThreadState *state = hxpy_enter();
    hx_status_t status = hx_group_begin(g->comm->handle);
    if (status != HX_SUCCESS)
        hxpy_keep_detail(detail, g->comm->handle);
    hxpy_leave(state);
    if (status != HX_SUCCESS)
        return hxpy_raise(status, detail);
    g->comm->group = Py_NewRef(self);
    return Py_NewRef(self);
}

/* The recorded calls are made also if the body has raised an exception: other ranks make them too. */
static PyObject *group_exit(PyObject *self, PyObject *args)
{
    group *g = (group *)self;
    hx_request_t *handle = NULL;
    char detail[512];
    (void)args;
    if (g->comm->group != self)
        return hxpy_state_error("this group is not open");
    g->ended = true;
    g->comm->users++;
    PyThreadState *state = hxpy_enter();
    hx_status_t status = hx_group_end(g->comm->handle, g->wait ? NULL : &handle);
    if (status != HX_SUCCESS)
        hxpy_keep_detail(detail, g->comm->handle);
    hxpy_leave(state);
    g->comm->users--;
    Py_CLEAR(g->comm->group);
    if (status != HX_SUCCESS)
        return hxpy_raise(status, detail);
    if (!g->wait && !(g->request = hxpy_request_started(g->comm, handle, &row, self)))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *get_request(PyObject *self, void *unused)
{
    PyObject *request = ((group *)self)->request;
    (void)unused;
    return Py_NewRef(request ? request : Py_None);
}

static int clear(PyObject *self)
{
    group *g = (group *)self;
    for (size_t i = 0; i < g->count; i++) {
        hxpy_call_drop(g->calls[i]);
        PyMem_Free(g->calls[i]);
    }
    PyMem_Free(g->calls);
    g->calls = NULL;
    g->count = 0;
    Py_CLEAR(g->request);
    return 0;
}

static void dealloc(PyObject *self)
{
    clear(self);
    Py_DECREF(((group *)self)->comm);
    PyObject_Free(self);
}

static PyMethodDef methods[] = {
    {"__enter__", group_enter, METH_NOARGS, NULL},
    {"__exit__", group_exit, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"request", get_request, NULL, "The Request of group(wait=False), after the with block.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject hxpy_group_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "hierax.Group",
    .tp_basicsize = sizeof(group),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "Calls that are made as one at the end of a with block: Comm.group().",
    .tp_dealloc = dealloc,
    .tp_methods = methods,
    .tp_getset = properties,
};
