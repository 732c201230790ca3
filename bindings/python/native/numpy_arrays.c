/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arrays of numpy without its headers, so that one binary serves numpy 1 and 2, and programs without numpy. numpy publishes its
 * functions as a capsule. Those used here, and the members below, have the same place in every version since 1.7.
 */
#include "native.h"

#include <string.h>

struct array { /* PyArrayObject_fields */
    PyObject_HEAD
    char *data;
    int ndim;
    Py_ssize_t *shape, *strides;
    PyObject *base, *dtype;
    int flags;
};

struct dtype { /* the first members of PyArray_Descr in both versions */
    PyObject_HEAD
    PyTypeObject *typeobj;
    char kind, type, byteorder, unused;
    int number;
};

enum { C_CONTIGUOUS = 1, WRITEABLE = 0x400 };
enum { AT_ARRAY_TYPE = 2, AT_GENERIC_TYPE = 10, AT_EMPTY = 184 };
typedef PyObject *empty_fn(int ndim, const Py_ssize_t *shape, PyObject *dtype, int fortran); /* takes the reference of dtype */

static void **functions;
static PyTypeObject *array_type;
static PyObject *classify; /* hierax._dtypes.of_numpy */

static void *find(void)
{
    PyObject *loaded = PyImport_GetModuleDict();
    static const char *const homes[] = {"numpy._core._multiarray_umath", "numpy.core._multiarray_umath"};
    for (int i = 0; i < 2; i++) {
        PyObject *module = PyDict_GetItemString(loaded, homes[i]);
        PyObject *capsule = module ? PyObject_GetAttrString(module, "_ARRAY_API") : NULL;
        void *found = capsule ? PyCapsule_GetPointer(capsule, NULL) : NULL;
        Py_XDECREF(capsule);
        PyErr_Clear();
        if (found)
            return found;
    }
    return NULL;
}

int hxpy_numpy_find(void)
{
    if (array_type)
        return 1;
    functions = find();
    if (!functions)
        return 0;
    PyObject *module = PyImport_ImportModule("hierax._dtypes");
    classify = module ? PyObject_GetAttrString(module, "of_numpy") : NULL;
    Py_XDECREF(module);
    if (!classify) {
        PyErr_Clear();
        return 0;
    }
    array_type = functions[AT_ARRAY_TYPE];
    return 1;
}

bool hxpy_numpy_is_array(PyObject *object)
{
    if (array_type && Py_TYPE(object) == array_type)
        return true;
    return hxpy_numpy_find() && PyObject_TypeCheck(object, array_type);
}

bool hxpy_numpy_is_number(PyObject *object)
{
    return hxpy_numpy_find() && PyObject_TypeCheck(object, (PyTypeObject *)functions[AT_GENERIC_TYPE]);
}

bool hxpy_numpy_same_type(const struct hxpy_view *a, const struct hxpy_view *b)
{
    if (!a->array || !b->array)
        return true;
    int same = PyObject_RichCompareBool(((struct array *)a->object)->dtype, ((struct array *)b->object)->dtype, Py_EQ);
    PyErr_Clear();
    return same > 0;
}

PyObject *hxpy_numpy_type_text(const struct hxpy_view *view)
{
    return PyObject_Str(((struct array *)view->object)->dtype);
}

/* numpy's type numbers; those of C types whose size depends on the machine have their sizes here. */
static const short plain_types[] = {
    HXPY_BOOL, HX_INT8, HX_UINT8, HX_INT16, HX_UINT16, HX_INT32, HX_UINT32,
    sizeof(long) == 8 ? HX_INT64 : HX_INT32, sizeof(long) == 8 ? HX_UINT64 : HX_UINT32, HX_INT64, HX_UINT64,
    HX_FLOAT32, HX_FLOAT64, -1, HX_COMPLEX64, HX_COMPLEX128, -1, -1, -1, -1, -1, -1, -1, HX_FLOAT16,
};

static int type_of(PyObject *object, const struct array *array, size_t *item_bytes)
{
    const struct dtype *dtype = (const struct dtype *)array->dtype;
    if (Py_TYPE(object) == array_type && (unsigned)dtype->number < sizeof plain_types / sizeof plain_types[0] &&
        plain_types[dtype->number] >= 0 && (dtype->byteorder == '=' || dtype->byteorder == '|')) {
        *item_bytes = hxpy_dtype_bytes(plain_types[dtype->number]);
        return plain_types[dtype->number];
    }
    int type;
    PyObject *answer = PyObject_CallFunctionObjArgs(classify, object, NULL); /* (type, bytes of an element) */
    if (!answer || !PyArg_ParseTuple(answer, "in", &type, (Py_ssize_t *)item_bytes))
        type = -1;
    Py_XDECREF(answer);
    return type;
}

int hxpy_numpy_get(struct hxpy_view *view, const char *name)
{
    const struct array *array = (const struct array *)view->object;
    view->array = true;
    view->dtype = type_of(view->object, array, &view->item_bytes);
    if (view->dtype < 0)
        return -1;
    view->data = array->data;
    view->ndim = array->ndim;
    view->shape = array->shape;
    view->writable = array->flags & WRITEABLE;
    view->count = 1;
    for (int i = 0; i < array->ndim; i++)
        view->count *= (size_t)array->shape[i];
    if (!(array->flags & C_CONTIGUOUS)) {
        hxpy_refuse("%s is not contiguous in memory (in C order): pass numpy.ascontiguousarray(%s), or a copy", name, name);
        return -1;
    }
    return 0;
}

PyObject *hxpy_numpy_empty(PyObject *like, int ndim, const Py_ssize_t *shape)
{
    PyObject *dtype = ((struct array *)like)->dtype;
    Py_INCREF(dtype);
    return ((empty_fn *)functions[AT_EMPTY])(ndim, shape, dtype, 0);
}

PyObject *hxpy_numpy_of_memory(PyObject *buffer, int dtype)
{
    PyObject *module = PyImport_ImportModule("hierax._dtypes");
    PyObject *array = module ? PyObject_CallMethod(module, "view", "Oi", buffer, dtype) : NULL;
    Py_XDECREF(module);
    return array;
}
