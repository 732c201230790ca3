/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of hxpy_call_prepare: from the arguments of a method to those of Hierax. Functions return -1 with an exception set. */
#ifndef HXPY_CALL_H
#define HXPY_CALL_H

#include "native.h"

enum { NONE, ONE, ALL, LISTED, ARRAYS, MESSAGE };
enum { NO, IN, OUT, BOTH };
enum { RANKS, NEIGHBORS };

/* The name of the peers of a side, for errors. */
static inline const char *hxpy_peer(const struct hxpy_call *call, const struct hxpy_side *side)
{
    return call->row->peers == RANKS ? "rank" : side == &call->sent ? "destination" : "source";
}

/* types.c: the operation and type of the call, and counts in bytes for elements that Hierax does not know */
bool hxpy_combines(const struct hxpy_row *row);
int hxpy_set_type(struct hxpy_call *call, PyObject *op, const struct hxpy_view *view);
hx_dtype_t hxpy_moved_as(const struct hxpy_view *view); /* if it is not combined; bytes for those that Hierax does not know */

/* lists.c: counts and displacements */
PyObject *hxpy_peer_items(const struct hxpy_call *call, const struct hxpy_side *side, PyObject *object, const char *name, const char *what);
int hxpy_get_lists(struct hxpy_call *call, PyObject *const *given);
bool hxpy_extent(const struct hxpy_side *side, size_t *total);
void hxpy_fill_displs(struct hxpy_side *side);

/* call.c: buffers */
int hxpy_wrong_count(const char *name, const struct hxpy_view *view, size_t wanted, const char *why, const struct hxpy_view *other);
int hxpy_check_pair(const struct hxpy_call *call);
int hxpy_get_in(struct hxpy_call *call, PyObject *x, bool needed);
int hxpy_get_out(struct hxpy_call *call, PyObject *out, bool needed);
int hxpy_new_out(struct hxpy_call *call, int ndim, const Py_ssize_t *shape);

/* regular.c, listed.c, arrays.c, messages.c: the kinds of calls */
int hxpy_regular(struct hxpy_call *call, hxpy_comm *comm, PyObject *const *given);
int hxpy_broadcast(struct hxpy_call *call, hxpy_comm *comm, PyObject *const *given);
int hxpy_listed(struct hxpy_call *call, hxpy_comm *comm, PyObject *const *given);
int hxpy_arrays(struct hxpy_call *call, PyObject *const *given);
void hxpy_arrays_drop(struct hxpy_call *call);
int hxpy_message(struct hxpy_call *call, hxpy_comm *comm, PyObject *const *given);

#endif
