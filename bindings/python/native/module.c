/* SPDX-License-Identifier: BSD-3-Clause */
/* The module hierax._native: start and end of Hierax, and constants. */
#include "bootstrap.h"
#include "native.h"
#include "worlds.h"

#include <pthread.h>
#include <stdio.h>

struct hxpy_state hxpy;
PyObject *hxpy_in_place;

/* {"HX_NAME": value} as a list of "HX_NAME=value", which keeps the texts of the array alive */
static PyObject *settings_texts(PyObject *settings, const char **array, Py_ssize_t most)
{
    PyObject *texts = PyList_New(0), *key, *value;
    Py_ssize_t at = 0, n = 0;
    while (texts && PyDict_Next(settings, &at, &key, &value) && n < most) {
        PyObject *text = PyUnicode_FromFormat("%S=%S", key, value);
        const char *bytes = text ? PyUnicode_AsUTF8(text) : NULL;
        if (!bytes || PyList_Append(texts, text))
            Py_CLEAR(texts);
        Py_XDECREF(text);
        array[n++] = bytes;
    }
    array[n] = NULL;
    return texts;
}

static PyObject *native_init(PyObject *self, PyObject *args)
{
    PyObject *settings, *bootstrap, *texts = NULL, *result = NULL;
    const char *array[257];
    hx_bootstrap_t callbacks;
    hx_config_t config = {0};
    (void)self;
    if (!PyArg_ParseTuple(args, "O!O", &PyDict_Type, &settings, &bootstrap))
        return NULL;
    if (hxpy.worlds && !hxpy.busy && !hxpy.forked)
        return hxpy_state_error("Hierax runs already: hierax.world() is its communicator");
    if (hxpy_may_start())
        return NULL;
    if (PyDict_GET_SIZE(settings) > 256)
        return hxpy_refuse("%zd settings: 256 at most", PyDict_GET_SIZE(settings));
    if (bootstrap != Py_None && hxpy_bootstrap_get(bootstrap, &callbacks))
        return NULL;
    texts = settings_texts(settings, array, 256);
    if (texts) {
        config.bootstrap = bootstrap != Py_None ? &callbacks : NULL;
        config.settings = array;
        result = hxpy_world_init(&config);
        Py_DECREF(texts);
    }
    return result;
}

static PyObject *native_forked(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    return PyBool_FromLong(hxpy.forked);
}

static PyObject *native_inside(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    return PyLong_FromLong(hxpy.inside);
}

static PyObject *native_abort(PyObject *self, PyObject *args)
{
    int code;
    const char *text;
    (void)self;
    if (!PyArg_ParseTuple(args, "iz", &code, &text))
        return NULL;
    if (hxpy.forked)
        return hxpy_state_error("this process is a child made by fork of a rank, and must not use Hierax");
    hx_abort(NULL, code, text);
}

static PyObject *native_version(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    return PyUnicode_FromString(hx_version());
}

static PyMethodDef functions[] = {
    {"init", native_init, METH_VARARGS, NULL},
    {"join", hxpy_join, METH_VARARGS, NULL},
    {"finalize", hxpy_finalize, METH_VARARGS, NULL},
    {"world", hxpy_newest, METH_NOARGS, "The communicator of the newest world, or None if Hierax does not run."},
    {"inside", native_inside, METH_NOARGS, "The number of threads that are in a call of Hierax."},
    {"forked", native_forked, METH_NOARGS, "True in a child made by fork."},
    {"abort", native_abort, METH_VARARGS, NULL},
    {"version", native_version, METH_NOARGS, "version()\n\nThe version of the library that runs."},
    {NULL, NULL, 0, NULL},
};

static void in_child(void)
{
    hxpy.forked = hxpy.started;
}

static int add_types(PyObject *module)
{
    static PyTypeObject *const types[] = {&hxpy_comm_type, &hxpy_request_type, &hxpy_op_type, &hxpy_memory_type, &hxpy_group_type};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (PyModule_AddType(module, types[i]))
            return -1;
    return 0;
}

static int add_dtypes(PyObject *module)
{
    static const struct {
        const char *name;
        int dtype;
    } dtypes[] = {
#define DTYPE(name) {#name, HX_##name}
        DTYPE(INT8), DTYPE(INT16), DTYPE(INT32), DTYPE(INT64), DTYPE(UINT8), DTYPE(UINT16), DTYPE(UINT32), DTYPE(UINT64),
        DTYPE(FLOAT16), DTYPE(BFLOAT16), DTYPE(FLOAT32), DTYPE(FLOAT64), DTYPE(COMPLEX64), DTYPE(COMPLEX128), DTYPE(BYTE),
        DTYPE(FLOAT32_INDEX), DTYPE(FLOAT64_INDEX), DTYPE(INT32_INDEX), DTYPE(INT64_INDEX),
#undef DTYPE
        {"_BOOL", HXPY_BOOL}, {"_OTHER", HXPY_OTHER},
    };
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++)
        if (PyModule_AddIntConstant(module, dtypes[i].name, dtypes[i].dtype))
            return -1;
    return 0;
}

static int fill(PyObject *module)
{
    static bool filled;
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_ImportError, "hierax works in the main interpreter only, not in sub-interpreters");
        return -1;
    }
    if (filled) {
        PyErr_SetString(PyExc_ImportError, "hierax._native has been loaded in this process: it cannot be loaded twice");
        return -1;
    }
    if (hxpy_errors_init() || hxpy_comm_methods_init() || add_types(module) || hxpy_comm_add_collectives() || add_dtypes(module) ||
        hxpy_ops_init(module))
        return -1;
    char header[32];
    snprintf(header, sizeof header, "%d.%d.%d", HX_VERSION_MAJOR, HX_VERSION_MINOR, HX_VERSION_PATCH);
    if (PyModule_AddStringConstant(module, "HEADER_VERSION", header))
        return -1;
    hxpy_in_place = PyObject_CallNoArgs((PyObject *)&PyBaseObject_Type);
    if (!hxpy_in_place || PyModule_AddObjectRef(module, "IN_PLACE", hxpy_in_place))
        return -1;
    filled = true;
    return pthread_atfork(NULL, NULL, in_child);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, fill},
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
    {0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "hierax._native",
    .m_doc = "Hierax in C. Use the package hierax.",
    .m_methods = functions,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__native(void)
{
    return PyModuleDef_Init(&definition);
}
