/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between two ranks; revoked communicators, and their dead. */
#include "messages.h"
#include "call.h"

static int get_peer(hxpy_comm *comm, PyObject *object, const char *name, int *peer)
{
    if (!object) {
        PyErr_Format(PyExc_TypeError, "%s is missing", name);
        return -1;
    }
    if (hxpy_int(object, name, peer))
        return -1;
    if (*peer >= 0 && *peer < comm->size)
        return 0;
    hxpy_refuse("%s %d is out of range: this communicator has ranks 0 to %d", name, *peer, comm->size - 1);
    return -1;
}

static int get_tag(PyObject *object, int *tag)
{
    *tag = 0;
    if (object && hxpy_int(object, "tag", tag))
        return -1;
    if (*tag >= 0)
        return 0;
    hxpy_refuse("tag %d: expected 0 or more", *tag);
    return -1;
}

int hxpy_message(struct hxpy_call *call, hxpy_comm *comm, PyObject *const *given)
{
    bool sends = call->row->rooted == IN;
    PyObject *peer = given[sends ? HXPY_DEST : HXPY_SOURCE];
    if (get_peer(comm, peer, sends ? "dest" : "source", &call->root) || get_tag(given[HXPY_TAG], &call->tag))
        return -1;
    if (!given[HXPY_X] || given[HXPY_X] == hxpy_in_place) {
        PyErr_Format(PyExc_TypeError, "%s: x is missing", call->row->name);
        return -1;
    }
    struct hxpy_view *view = sends ? &call->in : &call->out;
    if (hxpy_view_get(view, given[HXPY_X], "x", !sends))
        return -1;
    call->send = call->receive = view->data;
    call->count = view->count;
    return 0;
}

PyObject *hxpy_comm_iprobe(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *allowed[] = {"source", "tag", NULL};
    hxpy_comm *comm = (hxpy_comm *)self;
    PyObject *source_object, *tag_object = NULL;
    int source, tag, found = 0;
    size_t bytes = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|O:iprobe", allowed, &source_object, &tag_object) || hxpy_comm_check(comm) ||
        get_peer(comm, source_object, "source", &source) || get_tag(tag_object, &tag))
        return NULL;
    PyThreadState *state = hxpy_begin(comm);
    if (hxpy_end(comm, state, hx_iprobe(source, tag, comm->handle, &found, &bytes)))
        return NULL;
    if (!found)
        Py_RETURN_NONE;
    return PyLong_FromSize_t(bytes);
}

PyObject *hxpy_comm_revoke(PyObject *self, PyObject *unused)
{
    hxpy_comm *comm = (hxpy_comm *)self;
    (void)unused;
    if (hxpy_comm_check(comm))
        return NULL;
    PyThreadState *state = hxpy_begin(comm);
    if (hxpy_end(comm, state, hx_comm_revoke(comm->handle)))
        return NULL;
    Py_RETURN_NONE;
}

PyObject *hxpy_comm_failed(PyObject *self, PyObject *unused)
{
    hxpy_comm *comm = (hxpy_comm *)self;
    int count = 0, *ranks = NULL;
    (void)unused;
    if (hxpy_comm_check(comm))
        return NULL;
    if (!(ranks = PyMem_Malloc(sizeof *ranks * (size_t)comm->size)))
        return PyErr_NoMemory();
    PyThreadState *state = hxpy_begin(comm);
    int failed = hxpy_end(comm, state, hx_comm_failed(comm->handle, ranks, comm->size, &count));
    PyObject *list = failed ? NULL : PyList_New(0);
    for (int i = 0; list && i < count; i++) {
        PyObject *rank = PyLong_FromLong(ranks[i]);
        if (!rank || PyList_Append(list, rank))
            Py_CLEAR(list);
        Py_XDECREF(rank);
    }
    PyMem_Free(ranks);
    return list;
}
