/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Group: `with comm.group():` records the blocking calls of its body, and makes them as one at its end. Their buffers, lists and
 * operations stay with the group, or with its request, until all are complete.
 */
#include "native.h"

typedef struct group {
    PyObject_HEAD
    hxpy_comm *comm;
    PyObject *request; /* of group(wait=False): it exists before the end, so that the started calls are never lost */
    struct hxpy_kept *calls;
    bool ended;
} group;

struct hxpy_kept {
    struct hxpy_call call;
    struct hxpy_kept *next;
};

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
    g->ended = false;
    if (!wait && !(g->request = hxpy_request_empty(g->comm, &row)))
        Py_CLEAR(g);
    return (PyObject *)g;
}

struct hxpy_kept *hxpy_group_place(void)
{
    struct hxpy_kept *place = PyMem_Malloc(sizeof *place);
    return place ? place : (struct hxpy_kept *)PyErr_NoMemory();
}

/* Keep a recorded call, and return its array, which receives the result at the end. */
PyObject *hxpy_group_keep(PyObject *self, struct hxpy_kept *place, struct hxpy_call *call)
{
    group *g = (group *)self;
    place->call = *call;
    place->next = g->calls;
    g->calls = place;
    return hxpy_view_value(&place->call.out);
}

static PyObject *group_enter(PyObject *self, PyObject *unused)
{
    group *g = (group *)self;
    (void)unused;
    if (g->ended || g->comm->group)
        return hxpy_state_error("%s", g->ended ? "this group has ended: call group() again"
                                               : "a group is open on this communicator");
    if (hxpy_comm_check(g->comm))
        return NULL;
    if (g->comm->users) /* their calls would be recorded, and no group would keep their arrays */
        return hxpy_state_error("%d calls on this communicator are in progress in other threads", g->comm->users);
    PyThreadState *state = hxpy_begin(g->comm);
    if (hxpy_end(g->comm, state, hx_group_begin(g->comm->handle)))
        return NULL;
    g->comm->group = Py_NewRef(self);
    return Py_NewRef(self);
}

/* The recorded calls are made also if the body has raised an exception: other ranks make them too. */
static PyObject *group_exit(PyObject *self, PyObject *const *args, Py_ssize_t n) /* as METH_FASTCALL it needs no memory */
{
    group *g = (group *)self;
    hx_request_t *handle = NULL;
    (void)args;
    (void)n;
    if (g->comm->group != self)
        return hxpy_state_error("this group is not open");
    g->ended = true;
    PyThreadState *state = hxpy_begin(g->comm);
    int failed = hxpy_end(g->comm, state, hx_group_end(g->comm->handle, g->request ? &handle : NULL));
    Py_CLEAR(g->comm->group);
    if (failed) {
        Py_CLEAR(g->request);
        return NULL;
    }
    if (g->request) {
        hxpy_request_started(g->request, handle, g->calls);
        g->calls = NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *get_request(PyObject *self, void *unused)
{
    group *g = (group *)self;
    (void)unused;
    return Py_NewRef(g->request && g->ended ? g->request : Py_None);
}

void hxpy_kept_drop(struct hxpy_kept **calls)
{
    while (*calls) {
        struct hxpy_kept *first = *calls;
        *calls = first->next;
        hxpy_call_drop(&first->call);
        PyMem_Free(first);
    }
}

static void dealloc(PyObject *self)
{
    group *g = (group *)self;
    hxpy_kept_drop(&g->calls);
    Py_XDECREF(g->request);
    Py_DECREF(g->comm);
    PyObject_Free(self);
}

static PyMethodDef methods[] = {
    {"__enter__", group_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))group_exit, METH_FASTCALL, NULL},
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
