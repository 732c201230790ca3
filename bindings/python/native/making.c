/* SPDX-License-Identifier: BSD-3-Clause */
/* Methods of Comm that make another communicator in the same world. */
#include "making.h"

#include <stdio.h>

/* Their arguments, and the function that makes it without the interpreter's lock. */
struct list {
    int n, *ranks; /* owned */
};
struct making {
    int color, key;
    struct list ranks, destinations;
};
typedef hx_status_t make_fn(hx_comm_t *comm, const struct making *with, hx_comm_t **out);

static hx_status_t make_split(hx_comm_t *comm, const struct making *with, hx_comm_t **out)
{
    return hx_comm_split(comm, with->color, with->key, out);
}

static hx_status_t make_node(hx_comm_t *comm, const struct making *with, hx_comm_t **out)
{
    (void)with;
    return hx_comm_split_node(comm, out);
}

static hx_status_t make_dup(hx_comm_t *comm, const struct making *with, hx_comm_t **out)
{
    (void)with;
    return hx_comm_dup(comm, out);
}

static hx_status_t make_group(hx_comm_t *comm, const struct making *with, hx_comm_t **out)
{
    return hx_comm_group(comm, with->ranks.ranks, with->ranks.n, out);
}

static hx_status_t make_graph(hx_comm_t *comm, const struct making *with, hx_comm_t **out)
{
    return hx_comm_graph(comm, with->ranks.n, with->ranks.ranks, with->destinations.n, with->destinations.ranks, out);
}

static hx_status_t make_shrink(hx_comm_t *comm, const struct making *with, hx_comm_t **out)
{
    (void)with;
    return hx_comm_shrink(comm, out);
}

static PyObject *make(PyObject *self, make_fn *fn, const struct making *with)
{
    hxpy_comm *comm = (hxpy_comm *)self;
    hx_comm_t *out = NULL;
    hxpy_comm *made = hxpy_comm_check(comm) ? NULL : hxpy_comm_new();
    if (!made)
        return NULL;
    PyThreadState *state = hxpy_begin(comm);
    int failed = hxpy_end(comm, state, fn(comm->handle, with, &out));
    if (!failed && out) {
        hxpy_comm_open(made, out, comm->world);
        return (PyObject *)made;
    }
    Py_DECREF(made);
    return failed ? NULL : Py_NewRef(Py_None);
}

/* Ranks that the program gives; and as a tuple of integers of Python, if numbers is not NULL. */
static int get_ranks(PyObject *object, const char *name, struct list *list, PyObject **numbers)
{
    PyObject *items = hxpy_items(object, name, "integers");
    if (!items)
        return -1;
    Py_ssize_t n = PyTuple_GET_SIZE(items);
    list->n = n > INT_MAX ? INT_MAX : (int)n;
    list->ranks = PyMem_Malloc(sizeof *list->ranks * (size_t)(n ? n : 1));
    if (!list->ranks)
        PyErr_NoMemory();
    if (list->ranks && numbers)
        *numbers = PyTuple_New(n);
    for (Py_ssize_t i = 0; i < n && !PyErr_Occurred(); i++) {
        char entry[48];
        snprintf(entry, sizeof entry, "%s[%zd]", name, i);
        PyObject *number = hxpy_int(PyTuple_GET_ITEM(items, i), entry, &list->ranks[i]) || !numbers ? NULL : PyLong_FromLong(list->ranks[i]);
        if (number)
            PyTuple_SET_ITEM(*numbers, i, number);
    }
    Py_DECREF(items);
    return PyErr_Occurred() ? -1 : 0;
}

PyObject *hxpy_comm_split(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *allowed[] = {"color", "key", NULL};
    PyObject *color = NULL, *key = NULL;
    struct making with = {.color = HX_UNDEFINED};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|O:split", allowed, &color, &key) ||
        (color != Py_None && hxpy_int(color, "color", &with.color)) || (key && hxpy_int(key, "key", &with.key)))
        return NULL;
    return make(self, make_split, &with);
}

PyObject *hxpy_comm_split_node(PyObject *self, PyObject *unused)
{
    (void)unused;
    return make(self, make_node, NULL);
}

PyObject *hxpy_comm_dup(PyObject *self, PyObject *unused)
{
    (void)unused;
    return make(self, make_dup, NULL);
}

PyObject *hxpy_comm_shrink(PyObject *self, PyObject *unused)
{
    (void)unused;
    return make(self, make_shrink, NULL);
}

PyObject *hxpy_comm_create_group(PyObject *self, PyObject *ranks)
{
    struct making with = {0};
    PyObject *result = get_ranks(ranks, "ranks", &with.ranks, NULL) ? NULL : make(self, make_group, &with);
    PyMem_Free(with.ranks.ranks);
    return result;
}

PyObject *hxpy_comm_graph(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *allowed[] = {"sources", "destinations", NULL};
    PyObject *given[2], *numbers[2] = {NULL, NULL}, *result = NULL;
    struct making with = {0};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO:graph", allowed, &given[0], &given[1]))
        return NULL;
    if (!get_ranks(given[0], "sources", &with.ranks, &numbers[0]) && !get_ranks(given[1], "destinations", &with.destinations, &numbers[1]))
        result = make(self, make_graph, &with);
    if (result) {
        ((hxpy_comm *)result)->sources = Py_NewRef(numbers[0]);
        ((hxpy_comm *)result)->destinations = Py_NewRef(numbers[1]);
    }
    Py_XDECREF(numbers[0]);
    Py_XDECREF(numbers[1]);
    PyMem_Free(with.ranks.ranks);
    PyMem_Free(with.destinations.ranks);
    return result;
}
