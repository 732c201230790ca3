/* SPDX-License-Identifier: BSD-3-Clause */
/* The operation and the element type of a call. */
#include "call.h"

static int set_op(struct hxpy_call *call, PyObject *object, const struct hxpy_view *view)
{
    int dtype = view->dtype;
    hxpy_op *op = (hxpy_op *)object;
    if (hxpy_op_check(object))
        return -1;
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
        PyObject *type = hxpy_type_text(view);
        if (type)
            hxpy_refuse("elements of %s can be moved, but not combined. Those that can are bool, int8 to int64, uint8 to uint64, "
                        "float16 to float64, bfloat16, complex64 and complex128, in this machine's byte order, and hierax.pair",
                        PyUnicode_AsUTF8(type));
        Py_XDECREF(type);
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

hx_dtype_t hxpy_moved_as(const struct hxpy_view *view)
{
    return view->dtype >= HXPY_BOOL ? HX_BYTE : (hx_dtype_t)view->dtype;
}

int hxpy_set_type(struct hxpy_call *call, PyObject *op, const struct hxpy_view *view)
{
    int dtype = view->dtype;
    if (hxpy_combines(call->row)) {
        if (set_op(call, op, view))
            return -1;
        call->dtype = dtype == HXPY_BOOL ? HX_UINT8 : (hx_dtype_t)dtype;
        return 0;
    }
    call->dtype = hxpy_moved_as(view);
    if (dtype != HXPY_OTHER)
        return 0;
    if (__builtin_mul_overflow(call->count, view->item_bytes, &call->count))
        goto too_long;
    for (int i = 0; call->lists && i < 2 * (call->sent.n + call->received.n); i++)
        if (__builtin_mul_overflow(call->lists[i], view->item_bytes, &call->lists[i]))
            goto too_long;
    return 0;
too_long:
    hxpy_refuse("the call has more than 2^64 bytes");
    return -1;
}
