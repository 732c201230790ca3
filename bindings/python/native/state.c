/* SPDX-License-Identifier: BSD-3-Clause */
/* Methods of Comm by which a job goes on after a failure: agreement, and state that becomes the same on all ranks. */
#include "state.h"

#include <string.h>

PyObject *hxpy_comm_agree(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *allowed[] = {"flags", NULL};
    hxpy_comm *comm = (hxpy_comm *)self;
    PyObject *object = NULL;
    uint64_t completed = 0;
    int flags = -1;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|O:agree", allowed, &object) || (object && hxpy_int(object, "flags", &flags)) ||
        hxpy_comm_check(comm))
        return NULL;
    PyThreadState *state = hxpy_begin(comm);
    if (hxpy_end(comm, state, hx_comm_agree(comm->handle, &flags, &completed)))
        return NULL;
    return Py_BuildValue("iK", flags, (unsigned long long)completed);
}

static int get_mode(const char *name, hx_state_mode_t *mode)
{
    static const char *const names[] = {[HX_STATE_MAJORITY] = "majority", [HX_STATE_SEND_ONLY] = "send_only",
                                        [HX_STATE_RECEIVE_ONLY] = "receive_only"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!strcmp(name, names[i])) {
            *mode = (hx_state_mode_t)i;
            return 0;
        }
    hxpy_refuse("mode \"%.100s\": choose majority, send_only or receive_only", name);
    return -1;
}

/* The entries of a call: names and arrays, which the objects below keep alive. */
struct list {
    PyObject *items; /* of (name, array) */
    Py_ssize_t n, views_made;
    hx_state_entry_t *entries;
    struct hxpy_view *views;
    char *kept; /* a copy of the arrays, one after the other; NULL: none */
};

static void list_drop(struct list *list)
{
    while (list->views_made > 0)
        hxpy_view_drop(&list->views[--list->views_made]);
    PyMem_RawFree(list->kept);
    PyMem_Free(list->views);
    PyMem_Free(list->entries);
    Py_XDECREF(list->items);
}

static int entry_get(struct list *list, Py_ssize_t i, bool receives)
{
    PyObject *item = PyList_GET_ITEM(list->items, i), *key = PyTuple_Check(item) ? PyTuple_GetItem(item, 0) : NULL;
    if (!key || !PyUnicode_Check(key)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "the names of entries are texts");
        return -1;
    }
    Py_ssize_t length;
    const char *name = PyUnicode_AsUTF8AndSize(key, &length);
    PyObject *array = name ? PyTuple_GetItem(item, 1) : NULL;
    struct hxpy_view *view = &list->views[i];
    if (!array)
        return -1;
    if (strlen(name) != (size_t)length) {
        hxpy_refuse("the name of entry %zd has a NUL", i);
        return -1;
    }
    if (hxpy_view_get(view, array, name, receives))
        return -1;
    list->views_made = i + 1;
    list->entries[i] = (hx_state_entry_t){name, view->data, view->count * view->item_bytes};
    return 0;
}

static int list_get(struct list *list, PyObject *mapping, bool receives)
{
    if (!(list->items = PyMapping_Items(mapping)))
        return -1;
    list->n = PyList_GET_SIZE(list->items);
    list->entries = PyMem_Calloc((size_t)list->n + 1, sizeof *list->entries);
    list->views = PyMem_Calloc((size_t)list->n + 1, sizeof *list->views);
    if (!list->entries || !list->views) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < list->n; i++)
        if (entry_get(list, i, receives))
            return -1;
    return 0;
}

static int kept_make(struct list *list)
{
    size_t bytes = 0;
    for (Py_ssize_t i = 0; i < list->n; i++)
        bytes += list->entries[i].bytes;
    if (!(list->kept = PyMem_RawMalloc(bytes + 1))) {
        PyErr_NoMemory();
        return -1;
    }
    char *at = list->kept;
    for (Py_ssize_t i = 0; i < list->n; at += list->entries[i++].bytes)
        if (list->entries[i].bytes) /* else the address may be NULL */
            memcpy(at, list->entries[i].address, list->entries[i].bytes);
    return 0;
}

/* After an error. */
static void kept_restore(const struct list *list)
{
    const char *at = list->kept;
    for (Py_ssize_t i = 0; at && i < list->n; at += list->entries[i++].bytes)
        if (list->entries[i].bytes)
            memcpy(list->entries[i].address, at, list->entries[i].bytes);
}

static PyObject *report_dict(const hx_state_report_t *report)
{
    return Py_BuildValue("{s:K,s:n,s:n,s:K,s:K,s:i,s:d,s:d}", "revision", (unsigned long long)report->revision, "entries_received",
                         (Py_ssize_t)report->entries_received, "entries_sent", (Py_ssize_t)report->entries_sent, "bytes_received",
                         (unsigned long long)report->bytes_received, "bytes_sent", (unsigned long long)report->bytes_sent, "sources",
                         report->sources, "hash_seconds", report->hash_seconds, "transfer_seconds", report->transfer_seconds);
}

PyObject *hxpy_comm_state_sync(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *allowed[] = {"entries", "revision", "mode", "keep", NULL};
    hxpy_comm *comm = (hxpy_comm *)self;
    PyObject *mapping, *number = NULL;
    const char *mode_name = "majority";
    hx_state_mode_t mode = HX_STATE_MAJORITY;
    hx_state_report_t report = {0};
    struct list list = {0};
    unsigned long long revision = 0;
    int keep = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|Osp:state_sync", allowed, &mapping, &number, &mode_name, &keep) ||
        hxpy_comm_check(comm) || get_mode(mode_name, &mode))
        return NULL;
    if (number && (revision = PyLong_AsUnsignedLongLong(number)) == (unsigned long long)-1 && PyErr_Occurred())
        return NULL;
    if (list_get(&list, mapping, mode != HX_STATE_SEND_ONLY) || (keep && mode != HX_STATE_SEND_ONLY && kept_make(&list)) ||
        hxpy_comm_check(comm)) {
        list_drop(&list);
        return NULL;
    }
    PyThreadState *state = hxpy_begin(comm);
    int failed = hxpy_end(comm, state, hx_state_sync(comm->handle, list.entries, (size_t)list.n, revision, mode, &report));
    if (failed)
        kept_restore(&list);
    list_drop(&list);
    return failed ? NULL : report_dict(&report);
}
