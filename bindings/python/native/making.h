/* SPDX-License-Identifier: BSD-3-Clause */
/* Methods of Comm that make another communicator in the same world. */
#ifndef HXPY_MAKING_H
#define HXPY_MAKING_H

#include "native.h"

PyObject *hxpy_comm_split(PyObject *self, PyObject *args, PyObject *keywords);
PyObject *hxpy_comm_split_node(PyObject *self, PyObject *unused);
PyObject *hxpy_comm_dup(PyObject *self, PyObject *unused);
PyObject *hxpy_comm_shrink(PyObject *self, PyObject *unused);
PyObject *hxpy_comm_create_group(PyObject *self, PyObject *ranks);
PyObject *hxpy_comm_graph(PyObject *self, PyObject *args, PyObject *keywords);

#endif
