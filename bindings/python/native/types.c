/* SPDX-License-Identifier: BSD-3-Clause */
/* The operation and the element type of a call. */
#include "call.h"

static int set_op(struct hxpy_call *call, PyObject *object, int dtype)
{
    hxpy_op *op = (hxpy_op *)object;
    if (object && !PyObject_TypeCheck(object, &hxpy_op_type)) {
        PyErr_Format(PyExc_TypeError, "op is %s: expected hierax.SUM or another operation, or hierax.Op(function)",
                     Py_TYPE(object)->tp_name);
        return -1;
    }
    call->op = op ? op->op : HX_SUM;
    if (op && op->function) {
        call->used_op = Py_NewRef(object);
    }
    if (dtype == HXPY_BOOL) { /* a sum of truth values is "or", a product "and", as in numpy */
        if (call->op == HX_AVG) {
            hxpy_refuse("AVG of bool has no meaning: convert to a floating-point type");
            return -1;
        }
        call->op = call->op == HX_SUM ? HX_LOR : call->op == HX_PROD ? HX_LAND : call->op;
    }
    if (dtype == HXPY_OTHER) {
        hxpy_refuse("elements of this type can be moved, but not combined: other byte order, packed pair, or no number");
        return -1;
    }
    return 0;
}

bool hxpy_combines(const struct hxpy_row *row)
{
    for (int i = 0; row->params[i] >= 0; i++)
        if (row->params[i] == HXPY_OP)
            return true;
    return false;
}

int hxpy_set_type(struct hxpy_call *call, PyObject *op, const struct hxpy_view *view, int size)
{
    int dtype = view->dtype;
    if (hxpy_combines(call->row)) {
        if (set_op(call, op, dtype))
            return -1;
        call->dtype = dtype == HXPY_BOOL ? HX_UINT8 : (hx_dtype_t)dtype;
        return 0;
    }
    call->dtype = dtype >= HXPY_BOOL ? HX_BYTE : (hx_dtype_t)dtype;
    if (dtype != HXPY_OTHER)
        return 0;
    size_t *const counts[] = {call->counts, call->displs, call->scounts, call->sdispls, call->rcounts, call->rdispls};
    if (__builtin_mul_overflow(call->count, view->item_bytes, &call->count))
        goto too_long;
    for (size_t i = 0; call->lists && i < sizeof counts / sizeof counts[0]; i++)
        for (int r = 0; counts[i] && r < size; r++)
            if (__builtin_mul_overflow(counts[i][r], view->item_bytes, &counts[i][r]))
                goto too_long;
    return 0;
too_long:
    hxpy_refuse("the call has more than 2^64 bytes");
    return -1;
}
