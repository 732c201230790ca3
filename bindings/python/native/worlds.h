/* SPDX-License-Identifier: BSD-3-Clause */
/* The worlds of this process: how they open, grow and end. */
#ifndef HXPY_WORLDS_H
#define HXPY_WORLDS_H

#include "native.h"

static inline bool hxpy_is_world(const hxpy_comm *comm)
{
    return comm->world->comm == (const PyObject *)comm;
}

int hxpy_may_start(void); /* -1 with an exception unless this thread may open the first world */
PyObject *hxpy_world_init(const hx_config_t *config);
PyObject *hxpy_world_free(struct hxpy_world *world); /* free() of its communicator */

/* functions of the module */
PyObject *hxpy_join(PyObject *self, PyObject *args);
PyObject *hxpy_finalize(PyObject *self, PyObject *args);
PyObject *hxpy_newest(PyObject *self, PyObject *unused);
/* methods of Comm */
PyObject *hxpy_comm_grow(PyObject *self, PyObject *args, PyObject *keywords);
PyObject *hxpy_comm_wait_size(PyObject *self, PyObject *args, PyObject *keywords);

#endif
