/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of an argument: arrays of numpy, the buffer protocol, DLPack, and numbers. */
#include "native.h"

#include <stdint.h>
#include <string.h>

int hxpy_refuse_device(PyObject *object, const char *name)
{
    static PyObject *attribute;
    if (!attribute && !(attribute = PyUnicode_InternFromString("__cuda_array_interface__")))
        return -1;
    PyObject *found = PyObject_GetAttr(object, attribute);
    if (!found) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError))
            return -1;
        PyErr_Clear();
        return 0;
    }
    Py_DECREF(found);
    hxpy_refuse("%s is in the memory of a GPU (__cuda_array_interface__): copy it to the host first", name);
    return -1;
}

static int get_buffer(struct hxpy_view *view, const char *name)
{
    Py_buffer *buffer = PyMem_Malloc(sizeof *buffer);
    if (!buffer) {
        PyErr_NoMemory();
        return -1;
    }
    if (PyObject_GetBuffer(view->object, buffer, PyBUF_FULL_RO)) {
        PyMem_Free(buffer);
        return -1;
    }
    view->buffer = buffer;
    if (buffer->suboffsets || !PyBuffer_IsContiguous(buffer, 'C')) {
        hxpy_refuse("%s is not contiguous in memory (in C order): pass a copy", name);
        return -1;
    }
    view->dtype = hxpy_dtype_of_format(buffer->format, buffer->itemsize);
    if (view->dtype < 0)
        return -1;
    view->data = buffer->buf;
    view->item_bytes = (size_t)buffer->itemsize;
    view->count = buffer->itemsize ? (size_t)(buffer->len / buffer->itemsize) : 0;
    view->ndim = buffer->ndim;
    view->shape = buffer->shape;
    view->writable = !buffer->readonly;
    return 0;
}

static int get_number(struct hxpy_view *view, const char *name)
{
    PyObject *value = view->object;
    view->scalar = true;
    view->data = &view->number;
    view->count = 1;
    view->item_bytes = 8;
    if (PyBool_Check(value)) {
        view->dtype = HXPY_BOOL;
        view->item_bytes = 1;
        view->number.bytes[0] = value == Py_True;
    } else if (PyLong_Check(value)) {
        int overflow;
        view->dtype = HX_INT64;
        view->number.integer = PyLong_AsLongLongAndOverflow(value, &overflow);
        if (overflow) {
            hxpy_refuse("%s does not fit in 64 bits with a sign", name);
            return -1;
        }
    } else if (PyFloat_Check(value)) {
        view->dtype = HX_FLOAT64;
        view->number.real = PyFloat_AS_DOUBLE(value);
    } else {
        Py_complex parts = PyComplex_AsCComplex(value);
        view->dtype = HX_COMPLEX128;
        view->item_bytes = 16;
        view->number.complex[0] = parts.real;
        view->number.complex[1] = parts.imag;
    }
    return PyErr_Occurred() ? -1 : 0;
}

PyObject *hxpy_type_text(const struct hxpy_view *view)
{
    if (view->array && view->dtype == HXPY_OTHER)
        return hxpy_numpy_type_text(view);
    const char *format = view->buffer && view->dtype == HXPY_OTHER ? view->buffer->format : NULL;
    return PyUnicode_FromFormat(format ? "format %s" : "%s", format ? format : hxpy_dtype_name(view->dtype));
}

static PyObject *scalar_value(const struct hxpy_view *view)
{
    switch (view->dtype) {
    case HXPY_BOOL: return PyBool_FromLong(view->number.bytes[0]);
    case HX_INT64: return PyLong_FromLongLong(view->number.integer);
    case HX_FLOAT64: return PyFloat_FromDouble(view->number.real);
    default: return PyComplex_FromDoubles(view->number.complex[0], view->number.complex[1]);
    }
}

PyObject *hxpy_view_value(const struct hxpy_view *view)
{
    if (!view->object)
        Py_RETURN_NONE;
    if (view->scalar)
        return scalar_value(view);
    if (!view->unwrap)
        return Py_NewRef(view->object);
    PyObject *nowhere = PyTuple_New(0);
    PyObject *element = nowhere ? PyObject_GetItem(view->object, nowhere) : NULL;
    Py_XDECREF(nowhere);
    return element;
}

bool hxpy_view_is_number(const struct hxpy_view *view)
{
    return view->object && (view->scalar || view->unwrap);
}

bool hxpy_is_number(PyObject *object)
{
    return PyLong_CheckExact(object) || PyFloat_CheckExact(object) || PyComplex_CheckExact(object) || PyBool_Check(object);
}

static int get_any(struct hxpy_view *view, const char *name, bool write)
{
    PyObject *object = view->object;
    if (hxpy_is_number(object) && !write)
        return get_number(view, name);
    if (!PyByteArray_CheckExact(object) && !PyMemoryView_Check(object) && hxpy_refuse_device(object, name))
        return -1;
    if (PyObject_CheckBuffer(object))
        return get_buffer(view, name);
    PyObject *method = PyObject_GetAttrString(object, "__dlpack__");
    if (method) {
        Py_DECREF(method);
        return hxpy_dlpack_get(view, name);
    }
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "%s is %s: expected an array of numpy, or an object with the buffer protocol or DLPack", name,
                 object == Py_None ? "None" : Py_TYPE(object)->tp_name);
    return -1;
}

static int check_alignment(const struct hxpy_view *view, const char *name)
{
    size_t bytes = hxpy_dtype_alignment(view->dtype);
    if (!view->count || (uintptr_t)view->data % bytes == 0)
        return 0;
    hxpy_refuse("%s is not aligned in memory: its elements of %s need addresses that are multiples of %zu. Pass a copy", name,
                hxpy_dtype_name(view->dtype), bytes);
    return -1;
}

int hxpy_view_get(struct hxpy_view *view, PyObject *object, const char *name, bool write)
{
    view->object = Py_NewRef(object);
    view->capsule = NULL;
    view->buffer = NULL;
    view->array = view->scalar = view->unwrap = false;
    view->writable = true;
    view->ndim = 0;
    view->shape = NULL;
    if (hxpy_numpy_is_array(object) ? hxpy_numpy_get(view, name) : get_any(view, name, write)) {
        hxpy_view_drop(view);
        return -1;
    }
    if (write && !view->writable) {
        hxpy_view_drop(view);
        hxpy_refuse("%s is read-only, and this call writes to it", name);
        return -1;
    }
    if (__builtin_expect((uintptr_t)view->data % 16 != 0, 0) && check_alignment(view, name)) { /* no type needs more than 16 */
        hxpy_view_drop(view);
        return -1;
    }
    return 0;
}

void hxpy_view_drop(struct hxpy_view *view)
{
    if (view->buffer) {
        PyBuffer_Release(view->buffer);
        PyMem_Free(view->buffer);
        view->buffer = NULL;
    }
    Py_CLEAR(view->capsule);
    Py_CLEAR(view->object);
}

PyObject *hxpy_shape_text(const struct hxpy_view *view)
{
    PyObject *shape = PyTuple_New(view->ndim);
    for (int i = 0; shape && i < view->ndim; i++) {
        PyObject *length = PyLong_FromSsize_t(view->shape[i]);
        if (!length)
            Py_CLEAR(shape);
        else
            PyTuple_SET_ITEM(shape, i, length);
    }
    PyObject *text = shape ? PyObject_Str(shape) : NULL;
    Py_XDECREF(shape);
    return text;
}

static PyObject *new_object(const struct hxpy_view *model, int ndim, const Py_ssize_t *shape)
{
    static PyObject *function; /* hierax._dtypes.new_like */
    PyObject *lengths = PyTuple_New(ndim), *result = NULL;
    for (int i = 0; lengths && i < ndim; i++) {
        PyObject *length = PyLong_FromSsize_t(shape[i]);
        if (!length)
            Py_CLEAR(lengths);
        else
            PyTuple_SET_ITEM(lengths, i, length);
    }
    if (lengths && !function) {
        PyObject *module = PyImport_ImportModule("hierax._dtypes");
        function = module ? PyObject_GetAttrString(module, "new_like") : NULL;
        Py_XDECREF(module);
    }
    if (lengths && function)
        result = PyObject_CallFunctionObjArgs(function, model->object, lengths, NULL);
    Py_XDECREF(lengths);
    return result;
}

int hxpy_view_new(struct hxpy_view *view, const struct hxpy_view *model, int ndim, const Py_ssize_t *shape)
{
    if (model->scalar) {
        *view = *model;
        Py_INCREF(view->object);
        view->data = &view->number;
        return 0;
    }
    PyObject *object = model->array ? hxpy_numpy_empty(model->object, ndim, shape) : new_object(model, ndim, shape);
    if (!object)
        return -1;
    int status = hxpy_view_get(view, object, "out", true);
    Py_DECREF(object);
    view->unwrap = !status && ndim == 0 && !model->array && hxpy_numpy_is_number(model->object);
    return status;
}
