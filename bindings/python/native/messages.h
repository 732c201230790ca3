/* SPDX-License-Identifier: BSD-3-Clause */
/* Methods of Comm about messages between two ranks and failed communicators. */
#ifndef HXPY_MESSAGES_H
#define HXPY_MESSAGES_H

#include "native.h"

PyObject *hxpy_comm_iprobe(PyObject *self, PyObject *args, PyObject *keywords);
PyObject *hxpy_comm_revoke(PyObject *self, PyObject *unused);
PyObject *hxpy_comm_failed(PyObject *self, PyObject *unused);

#endif
