/* SPDX-License-Identifier: BSD-3-Clause */
/* Methods of Comm by which a job goes on after a failure. */
#ifndef HXPY_STATE_H
#define HXPY_STATE_H

#include "native.h"

PyObject *hxpy_comm_agree(PyObject *self, PyObject *args, PyObject *keywords);
PyObject *hxpy_comm_state_sync(PyObject *self, PyObject *args, PyObject *keywords);

#endif
