/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Op: operations of Hierax, and operations that are a function of Python: function(left, right) returns the combined array.
 * Hierax calls it in any thread, the progress thread included. An exception in it ends the job: other ranks would otherwise go on
 * with a result that no rank has computed.
 */
#include "native.h"

#include <stdio.h>
#include <string.h>

static _Noreturn void end_job(void)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (value && trace)
        PyException_SetTraceback(value, trace);
    PyObject *module = PyImport_ImportModule("hierax._process");
    if (module && value)
        PyObject_CallMethod(module, "operation_failed", "O", value); /* does not return */
    PyErr_Print();
    hx_abort(NULL, 1, "an error in the function of a hierax.Op");
}

static PyObject *array_of(const void *memory, size_t bytes, int dtype)
{
    PyObject *copy = PyByteArray_FromStringAndSize(memory, (Py_ssize_t)bytes);
    PyObject *array = copy ? hxpy_numpy_of_memory(copy, dtype) : NULL;
    Py_XDECREF(copy);
    return array;
}

/* Copy what the function has returned. It may be an array of the right length and type, or a view of one. */
static int copy_result(PyObject *answer, void *result, size_t count, int dtype)
{
    struct hxpy_view view;
    if (hxpy_view_get(&view, answer, "the function's result", false))
        return -1;
    size_t bytes = count * hxpy_dtype_bytes(dtype);
    int status = 0;
    bool fits = view.dtype == dtype || (view.dtype == HXPY_BOOL && hxpy_dtype_bytes(dtype) == 1);
    if (view.scalar)
        PyErr_SetString(PyExc_TypeError, "the function of a hierax.Op returned a number: expected an array");
    else if (view.count != count || !fits)
        PyErr_Format(PyExc_ValueError, "the function of a hierax.Op returned %zu elements of %s, expected %zu of %s", view.count,
                     hxpy_dtype_name(view.dtype), count, hxpy_dtype_name(dtype));
    else
        memcpy(result, view.data, bytes);
    if (PyErr_Occurred())
        status = -1;
    hxpy_view_drop(&view);
    return status;
}

/* The function gets copies: it may change, return and keep them. Hierax's own memory is valid only during this call. */
static void combine(const void *left, const void *right, void *result, size_t count, hx_dtype_t dtype, void *ctx)
{
    hxpy_op *op = ctx;
    PyGILState_STATE state = PyGILState_Ensure();
    size_t bytes = count * hxpy_dtype_bytes((int)dtype);
    PyObject *a = array_of(left, bytes, (int)dtype), *b = a ? array_of(right, bytes, (int)dtype) : NULL;
    PyObject *answer = b ? PyObject_CallFunctionObjArgs(op->function, a, b, NULL) : NULL;
    if (!answer || copy_result(answer, result, count, (int)dtype))
        end_job();
    Py_DECREF(answer);
    Py_DECREF(a);
    Py_DECREF(b);
    PyGILState_Release(state);
}

static PyObject *op_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *allowed[] = {"function", "commutative", NULL};
    PyObject *function;
    int commutative = 0;
    hx_op_t number;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|p:Op", allowed, &function, &commutative))
        return NULL;
    if (!PyCallable_Check(function)) {
        PyErr_Format(PyExc_TypeError, "function is %s, which cannot be called", Py_TYPE(function)->tp_name);
        return NULL;
    }
    if (hxpy.forked)
        return hxpy_state_error("this process is a child made by fork of a rank, and must not use Hierax");
    hxpy_op *op = (hxpy_op *)type->tp_alloc(type, 0);
    if (!op)
        return NULL;
    PyThreadState *state = hxpy_enter(NULL);
    hx_status_t status = hx_op_create(combine, commutative, op, &number);
    hxpy_leave(NULL, state);
    if (status != HX_SUCCESS) {
        Py_DECREF(op);
        return hxpy_raise(status, hx_error_detail(NULL));
    }
    op->function = Py_NewRef(function);
    op->op = number;
    op->owned = true;
    op->commutative = commutative;
    op->name = NULL;
    return (PyObject *)op;
}

static int traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((hxpy_op *)self)->function);
    return 0;
}

static int clear(PyObject *self)
{
    Py_CLEAR(((hxpy_op *)self)->function);
    return 0;
}

static void dealloc(PyObject *self)
{
    hxpy_op *op = (hxpy_op *)self;
    PyObject_GC_UnTrack(self);
    if (op->owned && !hxpy.forked) {
        PyThreadState *state = hxpy_enter(NULL);
        hx_op_free(op->op);
        hxpy_leave(NULL, state);
    }
    clear(self);
    Py_TYPE(self)->tp_free(self);
}

static PyObject *repr(PyObject *self)
{
    hxpy_op *op = (hxpy_op *)self;
    return op->name ? PyUnicode_FromFormat("hierax.%s", op->name)
                    : PyUnicode_FromFormat("hierax.Op(%R, commutative=%s)", op->function, op->commutative ? "True" : "False");
}

PyTypeObject hxpy_op_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "hierax.Op",
    .tp_basicsize = sizeof(hxpy_op),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "Op(function, commutative=False)\n\nAn operation. function(left, right) gets two arrays of one dimension, and "
              "returns their combination as an array of the same length and type. It must be associative. left is of lower ranks "
              "than right. If op(a, b) equals op(b, a), pass commutative=True: more plans can then be used. An exception in the "
              "function ends the job.",
    .tp_new = op_new,
    .tp_traverse = traverse,
    .tp_clear = clear,
    .tp_dealloc = dealloc,
    .tp_repr = repr,
};

static const struct {
    const char *name;
    hx_op_t op;
} ops[] = {{"SUM", HX_SUM}, {"PROD", HX_PROD}, {"MIN", HX_MIN}, {"MAX", HX_MAX}, {"AVG", HX_AVG}, {"BAND", HX_BAND},
           {"BOR", HX_BOR}, {"BXOR", HX_BXOR}, {"LAND", HX_LAND}, {"LOR", HX_LOR}, {"LXOR", HX_LXOR}, {"MINLOC", HX_MINLOC},
           {"MAXLOC", HX_MAXLOC}};

int hxpy_op_check(PyObject *object)
{
    if (!object || PyObject_TypeCheck(object, &hxpy_op_type))
        return 0;
    char choices[256] = "";
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        snprintf(choices + strlen(choices), sizeof choices - strlen(choices), "%s%s", i ? ", " : "hierax.", ops[i].name);
    PyErr_Format(PyExc_TypeError, "op is %R: expected %s, or hierax.Op(function)", object, choices);
    return -1;
}

int hxpy_ops_init(PyObject *module)
{
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        hxpy_op *op = (hxpy_op *)hxpy_op_type.tp_alloc(&hxpy_op_type, 0);
        if (!op)
            return -1;
        op->op = ops[i].op;
        op->name = ops[i].name;
        op->commutative = true;
        if (PyModule_AddObject(module, ops[i].name, (PyObject *)op))
            return -1;
    }
    return 0;
}
