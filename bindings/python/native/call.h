/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of hxpy_call_prepare: from the arguments of a method to those of Hierax. Functions return -1 with an exception set. */
#ifndef HXPY_CALL_H
#define HXPY_CALL_H

#include "native.h"

enum { NONE, ONE, ALL, LISTED, MESSAGE };
enum { NO, IN, OUT, BOTH };

/* types.c: the operation and type of the call, and counts in bytes for elements that Hierax does not know */
bool hxpy_combines(const struct hxpy_row *row);
int hxpy_set_type(struct hxpy_call *call, PyObject *op, const struct hxpy_view *view, int size);

/* lists.c: counts and displacements */
int hxpy_get_lists(struct hxpy_call *call, int size, PyObject *const *given);
bool hxpy_extent(const size_t *counts, const size_t *displs, int size, size_t *total);
void hxpy_fill_displs(struct hxpy_call *call, size_t **displs, const size_t *counts, enum hxpy_param param, int size);

/* call.c: buffers */
int hxpy_wrong_count(const char *name, const struct hxpy_view *view, size_t wanted, const char *why, const struct hxpy_view *other);
int hxpy_check_pair(const struct hxpy_call *call);
int hxpy_get_in(struct hxpy_call *call, PyObject *x, bool needed);
int hxpy_get_out(struct hxpy_call *call, PyObject *out, bool needed);
int hxpy_new_out(struct hxpy_call *call, int ndim, const Py_ssize_t *shape);

/* regular.c, listed.c, messages.c: the kinds of calls */
int hxpy_regular(struct hxpy_call *call, hxpy_comm *comm, PyObject *const *given);
int hxpy_broadcast(struct hxpy_call *call, hxpy_comm *comm, PyObject *const *given);
int hxpy_listed(struct hxpy_call *call, hxpy_comm *comm, PyObject *const *given);
int hxpy_message(struct hxpy_call *call, hxpy_comm *comm, PyObject *const *given);

#endif
