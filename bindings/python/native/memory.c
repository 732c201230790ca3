/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of hx_alloc, with the buffer protocol. Arrays of it keep it alive, and the last one frees it. The end of a world frees all of
 * its memory at once. So memory that arrays still use is copied before, and put back afterwards at the same addresses.
 */
#include "native.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct memory {
    PyObject_HEAD
    void *data, *saved;
    Py_ssize_t bytes;
    bool own; /* the pages are this process's own: put back after the end of the world */
    struct hxpy_world *world; /* held */
    struct memory *before, *after;
} memory;

static memory all = {.before = &all, .after = &all};

static size_t page_bytes(const memory *m)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return ((size_t)m->bytes + page - 1) / page * page;
}

PyObject *hxpy_memory_new(hxpy_comm *comm, Py_ssize_t bytes)
{
    memory *m = PyObject_New(memory, &hxpy_memory_type);
    if (!m)
        return NULL;
    m->data = m->saved = NULL;
    m->bytes = bytes;
    m->own = false;
    m->world = hxpy_world_hold(comm->world);
    m->before = all.before;
    m->after = &all;
    m->before->after = m->after->before = m;
    void *data = NULL;
    PyThreadState *state = hxpy_begin(comm);
    if (hxpy_end(comm, state, hx_alloc(comm->handle, (size_t)bytes, &data))) {
        Py_DECREF(m);
        return NULL;
    }
    m->data = data;
    return (PyObject *)m;
}

int hxpy_memory_save(const struct hxpy_world *world)
{
    for (memory *m = all.after; m != &all; m = m->after) {
        if (!m->data || !m->world->comm || (world && m->world != world))
            continue;
        m->saved = malloc((size_t)m->bytes);
        if (!m->saved) {
            PyErr_NoMemory();
            hxpy_memory_forget();
            return -1;
        }
        memcpy(m->saved, m->data, (size_t)m->bytes);
    }
    return 0;
}

void hxpy_memory_forget(void)
{
    for (memory *m = all.after; m != &all; m = m->after) {
        free(m->saved);
        m->saved = NULL;
    }
}

void hxpy_memory_restore(const struct hxpy_world *world)
{
    for (memory *m = all.after; m != &all; m = m->after) {
        if (!m->saved || m->world != world)
            continue;
        const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
        void *pages = mmap(m->data, page_bytes(m), PROT_READ | PROT_WRITE, flags, -1, 0);
        m->own = pages == m->data;
        if (m->own)
            memcpy(m->data, m->saved, (size_t)m->bytes);
        else if (pages != MAP_FAILED)
            munmap(pages, page_bytes(m));
        if (!m->own)
            fprintf(stderr, "hierax: an array of comm.empty cannot outlive its world: its addresses are in use\n");
        free(m->saved);
        m->saved = NULL;
    }
}

static void dealloc(PyObject *self)
{
    memory *m = (memory *)self;
    m->before->after = m->after;
    m->after->before = m->before;
    if (m->own)
        munmap(m->data, page_bytes(m));
    else if (m->data && hxpy_is_open(m->world)) {
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        hx_comm_t *comm = ((hxpy_comm *)m->world->comm)->handle;
        PyThreadState *state = hxpy_enter(m->world);
        hx_free(comm, m->data);
        hxpy_leave(m->world, state);
        PyErr_Restore(type, value, trace);
    }
    free(m->saved);
    hxpy_world_drop(m->world);
    PyObject_Free(self);
}

static int get_buffer(PyObject *self, Py_buffer *buffer, int flags)
{
    memory *m = (memory *)self;
    static char nothing;
    return PyBuffer_FillInfo(buffer, self, m->data ? m->data : &nothing, m->bytes, 0, flags);
}

static Py_ssize_t length(PyObject *self)
{
    return ((memory *)self)->bytes;
}

static PyBufferProcs as_buffer = {.bf_getbuffer = get_buffer};
static PySequenceMethods as_sequence = {.sq_length = length};

PyTypeObject hxpy_memory_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "hierax.Memory",
    .tp_basicsize = sizeof(memory),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "Memory that other ranks of the node can read: made by Comm.alloc(), freed with the last array that uses it.",
    .tp_dealloc = dealloc,
    .tp_as_buffer = &as_buffer,
    .tp_as_sequence = &as_sequence,
};
