/* SPDX-License-Identifier: BSD-3-Clause */
/* DLPack: tensors of PyTorch and others, without a copy. The structs are those of DLPack 0.8, which every library still exports. */
#include "native.h"

#include <stdint.h>

struct tensor {
    void *data;
    struct {
        int32_t type, id;
    } device;
    int32_t ndim;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
};

enum { CPU = 1, CUDA_HOST = 3, ROCM_HOST = 11 }; /* memory that the processor can use */
enum { INT = 0, UINT = 1, FLOAT = 2, BFLOAT = 4, COMPLEX = 5, BOOL = 6 };

_Static_assert(sizeof(Py_ssize_t) == sizeof(int64_t), "the shape of a tensor is used as it is");

static int type_of(const struct tensor *t)
{
    static const struct {
        uint8_t code, bits;
        short dtype;
    } types[] = {{INT, 8, HX_INT8}, {INT, 16, HX_INT16}, {INT, 32, HX_INT32}, {INT, 64, HX_INT64},
                 {UINT, 8, HX_UINT8}, {UINT, 16, HX_UINT16}, {UINT, 32, HX_UINT32}, {UINT, 64, HX_UINT64},
                 {FLOAT, 16, HX_FLOAT16}, {BFLOAT, 16, HX_BFLOAT16}, {FLOAT, 32, HX_FLOAT32}, {FLOAT, 64, HX_FLOAT64},
                 {COMPLEX, 64, HX_COMPLEX64}, {COMPLEX, 128, HX_COMPLEX128}, {BOOL, 8, HXPY_BOOL}};
    for (size_t i = 0; t->dtype.lanes == 1 && i < sizeof types / sizeof types[0]; i++)
        if (types[i].code == t->dtype.code && types[i].bits == t->dtype.bits)
            return types[i].dtype;
    return HXPY_OTHER;
}

static bool on_host(int type)
{
    return type == CPU || type == CUDA_HOST || type == ROCM_HOST;
}

static int check_device(PyObject *object, const char *name)
{
    int type, id, status = -1;
    PyObject *device = PyObject_CallMethod(object, "__dlpack_device__", NULL);
    if (device && PyArg_ParseTuple(device, "ii", &type, &id)) {
        status = on_host(type) ? 0 : -1;
        if (status)
            hxpy_refuse("%s is in the memory of a GPU or another device (DLPack device %d, %d): copy it to the host first", name,
                        type, id);
    }
    Py_XDECREF(device);
    return status;
}

static bool contiguous(const struct tensor *t)
{
    int64_t step = 1;
    for (int i = t->ndim - 1; t->strides && i >= 0; i--) {
        if (t->shape[i] == 0)
            return true;
        if (t->shape[i] != 1 && t->strides[i] != step)
            return false;
        step *= t->shape[i];
    }
    return true;
}

int hxpy_dlpack_get(struct hxpy_view *view, const char *name)
{
    if (check_device(view->object, name))
        return -1;
    /* The capsule stays as it is, unconsumed: its destructor gives the tensor back when the view is dropped. */
    view->capsule = PyObject_CallMethod(view->object, "__dlpack__", NULL);
    if (!view->capsule)
        return -1;
    const struct tensor *t = PyCapsule_IsValid(view->capsule, "dltensor") ? PyCapsule_GetPointer(view->capsule, "dltensor") : NULL;
    if (!t) {
        PyErr_Format(PyExc_TypeError, "%s: __dlpack__() of %s returned no new capsule with the name dltensor", name,
                     Py_TYPE(view->object)->tp_name);
        return -1;
    }
    if (!on_host(t->device.type)) {
        hxpy_refuse("%s is in the memory of a GPU or another device: copy it to the host first", name);
        return -1;
    }
    if (!contiguous(t)) {
        hxpy_refuse("%s is not contiguous in memory (in C order): pass %s.contiguous(), or a copy", name, name);
        return -1;
    }
    view->dtype = type_of(t);
    view->item_bytes = (size_t)t->dtype.bits * t->dtype.lanes / 8;
    if ((size_t)t->dtype.bits * t->dtype.lanes % 8) {
        hxpy_refuse("%s has elements of %d bits, which Hierax cannot send", name, t->dtype.bits * t->dtype.lanes);
        return -1;
    }
    view->data = t->data ? (char *)t->data + t->byte_offset : NULL;
    view->ndim = t->ndim;
    view->shape = (const Py_ssize_t *)t->shape;
    view->count = 1;
    for (int i = 0; i < t->ndim; i++)
        view->count *= (size_t)t->shape[i];
    return 0;
}
