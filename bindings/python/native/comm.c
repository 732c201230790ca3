/* SPDX-License-Identifier: BSD-3-Clause */
/* Comm: a communicator. methods.c adds the collectives, making.c has the methods that make another one. */
#include "making.h"
#include "messages.h"
#include "native.h"
#include "state.h"
#include "worlds.h"

#include <string.h>

hxpy_comm *hxpy_comm_new(void)
{
    hxpy_comm *comm = PyObject_New(hxpy_comm, &hxpy_comm_type);
    if (comm) {
        comm->handle = NULL;
        comm->users = 0;
        comm->world = NULL;
        comm->group = comm->sources = comm->destinations = NULL;
    }
    return comm;
}

void hxpy_comm_open(hxpy_comm *comm, hx_comm_t *handle, struct hxpy_world *world)
{
    comm->handle = handle;
    comm->rank = hx_rank(handle);
    comm->size = hx_size(handle);
    comm->world = hxpy_world_hold(world);
}

int hxpy_comm_check(hxpy_comm *comm)
{
    if (comm->handle && hxpy_is_open(comm->world))
        return 0;
    if (hxpy_running())
        return -1;
    hxpy_state_error("%s", !comm->handle ? "this communicator has been freed" : hxpy_ended_text);
    return -1;
}

/* ---- choices */

static PyObject *comm_set_atomic(PyObject *self, PyObject *value)
{
    hxpy_comm *comm = (hxpy_comm *)self;
    int on;
    if (hxpy_int(value, "on", &on) || hxpy_comm_check(comm))
        return NULL;
    PyThreadState *state = hxpy_begin(comm);
    return hxpy_end(comm, state, hx_comm_set_atomic(comm->handle, on)) ? NULL : Py_NewRef(Py_None);
}

static PyObject *comm_set_wire(PyObject *self, PyObject *value)
{
    hxpy_comm *comm = (hxpy_comm *)self;
    const char *format = PyUnicode_Check(value) ? PyUnicode_AsUTF8(value) : NULL;
    if (!format && !PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "format is %R: expected a string", value);
    if (!format || hxpy_comm_check(comm))
        return NULL;
    PyThreadState *state = hxpy_begin(comm);
    return hxpy_end(comm, state, hx_comm_set_wire(comm->handle, format)) ? NULL : Py_NewRef(Py_None);
}

static PyObject *comm_set_timeout(PyObject *self, PyObject *value)
{
    hxpy_comm *comm = (hxpy_comm *)self;
    double seconds = PyFloat_AsDouble(value);
    if (PyErr_Occurred() || hxpy_comm_check(comm))
        return NULL;
    PyThreadState *state = hxpy_begin(comm);
    return hxpy_end(comm, state, hx_comm_set_timeout(comm->handle, seconds)) ? NULL : Py_NewRef(Py_None);
}

static PyObject *comm_reorder(PyObject *self, PyObject *unused)
{
    hxpy_comm *comm = (hxpy_comm *)self;
    (void)unused;
    if (hxpy_comm_check(comm))
        return NULL;
    PyThreadState *state = hxpy_begin(comm);
    return hxpy_end(comm, state, hx_comm_reorder(comm->handle)) ? NULL : Py_NewRef(Py_None);
}

static hx_status_t release(hxpy_comm *comm, char detail[512])
{
    hx_comm_t *handle = comm->handle;
    comm->handle = NULL;
    PyThreadState *state = hxpy_enter(comm->world);
    hx_status_t status = hx_comm_free(handle);
    if (status != HX_SUCCESS)
        hxpy_keep_detail(detail, status, NULL);
    hxpy_leave(comm->world, state);
    if (status != HX_SUCCESS)
        comm->handle = handle; /* Hierax has freed nothing */
    return status;
}

static PyObject *comm_free(PyObject *self, PyObject *unused)
{
    hxpy_comm *comm = (hxpy_comm *)self;
    char detail[512];
    (void)unused;
    if (hxpy_comm_check(comm))
        return NULL;
    if (hxpy_is_world(comm))
        return hxpy_world_free(comm->world);
    if (comm->users)
        return hxpy_state_error("%d calls on this communicator are in progress in other threads", comm->users);
    hx_status_t status = release(comm, detail);
    if (status != HX_SUCCESS)
        return hxpy_raise(status, detail);
    Py_RETURN_NONE;
}

static void dealloc(PyObject *self)
{
    hxpy_comm *comm = (hxpy_comm *)self;
    char detail[512];
    if (comm->handle && hxpy_is_open(comm->world)) { /* not that of all ranks, which the world holds */
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        release(comm, detail);
        PyErr_Restore(type, value, trace);
    }
    Py_XDECREF(comm->sources);
    Py_XDECREF(comm->destinations);
    hxpy_world_drop(comm->world);
    PyObject_Free(self);
}

static PyObject *comm_enter(PyObject *self, PyObject *unused)
{
    (void)unused;
    return Py_NewRef(self);
}

static PyObject *comm_exit(PyObject *self, PyObject *args)
{
    hxpy_comm *comm = (hxpy_comm *)self;
    (void)args;
    if (!comm->handle || !hxpy_is_open(comm->world) || hxpy_is_world(comm))
        Py_RETURN_NONE;
    return comm_free(self, NULL);
}

static PyObject *comm_alloc(PyObject *self, PyObject *bytes)
{
    Py_ssize_t length = PyNumber_AsSsize_t(bytes, PyExc_OverflowError);
    if (PyErr_Occurred() || hxpy_comm_check((hxpy_comm *)self))
        return NULL;
    if (length < 0)
        return hxpy_refuse("%zd bytes: expected 0 or more", length);
    return hxpy_memory_new((hxpy_comm *)self, length);
}

static PyObject *comm_empty(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *module = PyImport_ImportModule("hierax._dtypes");
    PyObject *function = module ? PyObject_GetAttrString(module, "empty") : NULL, *result = NULL;
    PyObject *all = PyTuple_New(1 + PyTuple_GET_SIZE(args));
    for (Py_ssize_t i = 0; all && i <= PyTuple_GET_SIZE(args); i++)
        PyTuple_SET_ITEM(all, i, Py_NewRef(i ? PyTuple_GET_ITEM(args, i - 1) : self));
    if (function && all)
        result = PyObject_Call(function, all, keywords);
    Py_XDECREF(all);
    Py_XDECREF(function);
    Py_XDECREF(module);
    return result;
}

static int get_dtype(PyObject *object, int *dtype)
{
    PyObject *module = PyImport_ImportModule("hierax._dtypes");
    PyObject *code = module ? PyObject_CallMethod(module, "code_of", "O", object) : NULL;
    int status = code ? hxpy_int(code, "dtype", dtype) : -1;
    Py_XDECREF(code);
    Py_XDECREF(module);
    return status;
}

static PyObject *comm_plan_info(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *allowed[] = {"collective", "count", "dtype", "op", "root", NULL};
    hxpy_comm *comm = (hxpy_comm *)self;
    const char *collective;
    PyObject *count_object, *op = NULL, *root_object = NULL;
    PyObject *dtype_object = NULL;
    int dtype = HX_FLOAT32, root = 0;
    hx_plan_info_t info;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "sO|OOO:plan_info", allowed, &collective, &count_object, &dtype_object, &op,
                                     &root_object))
        return NULL;
    size_t count = PyLong_AsSize_t(count_object);
    if (PyErr_Occurred() || (dtype_object && get_dtype(dtype_object, &dtype)) || (root_object && hxpy_int(root_object, "root", &root)) || hxpy_comm_check(comm))
        return NULL;
    if (hxpy_op_check(op))
        return NULL;
    hx_op_t number = op ? ((hxpy_op *)op)->op : HX_SUM;
    PyThreadState *state = hxpy_begin(comm);
    if (hxpy_end(comm, state, hx_plan_info(comm->handle, collective, count, (hx_dtype_t)dtype, number, root, &info)))
        return NULL;
    return Py_BuildValue("{s:s,s:s,s:I,s:n,s:n}", "plan", info.plan, "network", info.network, "rounds", info.rounds,
                         "network_bytes", (Py_ssize_t)info.network_bytes, "shared_bytes", (Py_ssize_t)info.shared_bytes);
}

static PyObject *comm_abort(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *allowed[] = {"code", "text", NULL};
    hxpy_comm *comm = (hxpy_comm *)self;
    const char *text = NULL;
    int code = 1;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|iz:abort", allowed, &code, &text) || hxpy_comm_check(comm))
        return NULL;
    hx_abort(comm->handle, code, text);
}

static PyObject *get_rank(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLong(((hxpy_comm *)self)->rank);
}

static PyObject *get_size(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLong(((hxpy_comm *)self)->size);
}

static PyObject *get_sources(PyObject *self, void *unused)
{
    hxpy_comm *comm = (hxpy_comm *)self;
    (void)unused;
    return Py_NewRef(comm->sources ? comm->sources : Py_None);
}

static PyObject *get_destinations(PyObject *self, void *unused)
{
    hxpy_comm *comm = (hxpy_comm *)self;
    (void)unused;
    return Py_NewRef(comm->destinations ? comm->destinations : Py_None);
}

static PyObject *get_handle(PyObject *self, void *unused)
{
    (void)unused;
    return hxpy_comm_check((hxpy_comm *)self) ? NULL : PyLong_FromVoidPtr(((hxpy_comm *)self)->handle);
}

static PyObject *repr(PyObject *self)
{
    hxpy_comm *comm = (hxpy_comm *)self;
    return PyUnicode_FromFormat("<hierax.Comm rank %d of %d%s>", comm->rank, comm->size,
                                !comm->handle ? ", freed" : !comm->world->comm ? ", ended" : "");
}

static PyMethodDef methods[] = {
    {"split", WITH_KEYWORDS(hxpy_comm_split), METH_VARARGS | METH_KEYWORDS,
     "split(color, key=0)\n\nCreate communicators of the ranks with the same color. None for a rank whose color is None."},
    {"split_node", hxpy_comm_split_node, METH_NOARGS, "split_node()\n\nCreate a communicator of the ranks of this node."},
    {"dup", hxpy_comm_dup, METH_NOARGS, "dup()\n\nCreate a communicator of the same ranks."},
    {"create_group", hxpy_comm_create_group, METH_O,
     "create_group(ranks)\n\nCreate a communicator of these ranks, in this order. Only they call it."},
    {"graph", WITH_KEYWORDS(hxpy_comm_graph), METH_VARARGS | METH_KEYWORDS,
     "graph(sources, destinations)\n\nCreate a communicator of the same ranks with a graph, for neighbor_allgather and so on. All ranks call it.\n\n"
     "sources, destinations: the ranks from which this rank receives, and those to which it sends. A rank may be named more than once. It then "
     "names this rank as often."},
    {"set_atomic", comm_set_atomic, METH_O,
     "set_atomic(on)\n\nTrue: collectives complete on all ranks that stay alive, or fail on all of them. All ranks choose the same. Local."},
    {"set_wire", comm_set_wire, METH_O,
     "set_wire(format)\n\nLet sums and averages of float32 and float64 cross between nodes as 'bf16', 'fp16', 'fp8' or 'int8'; 'off': exactly. All "
     "ranks choose the same. Local."},
    {"set_timeout", comm_set_timeout, METH_O,
     "set_timeout(seconds)\n\nLet calls wait so long for progress, instead of HX_TIMEOUT. 0: for ever. All ranks choose the same. Local."},
    {"reorder", comm_reorder, METH_NOARGS,
     "reorder()\n\nMeasure the links between nodes again, and let rings pass the nodes in the best order. All ranks call it."},
    {"free", comm_free, METH_NOARGS,
     "free()\n\nRelease this communicator. Local.\n\nOne of all ranks of a world can be freed if another world is open. This closes the world: "
     "all its ranks call it."},
    {"alloc", comm_alloc, METH_O, "alloc(bytes)\n\nAllocate memory that other ranks of the node can read. All ranks call it. "
                                  "The result has the buffer protocol."},
    {"empty", WITH_KEYWORDS(comm_empty), METH_VARARGS | METH_KEYWORDS,
     "empty(shape, dtype='d')\n\nAn array in memory of alloc(). All ranks call it. Its elements are 0."},
    {"plan_info", WITH_KEYWORDS(comm_plan_info), METH_VARARGS | METH_KEYWORDS,
     "plan_info(collective, count, dtype=hierax.FLOAT32, op=hierax.SUM, root=0)\n\nDescribe a call: a dict. Local."},
    {"iprobe", WITH_KEYWORDS(hxpy_comm_iprobe), METH_VARARGS | METH_KEYWORDS,
     "iprobe(source, tag=0)\n\nThe bytes of the first message of rank source with this tag that has arrived, or None."},
    {"revoke", hxpy_comm_revoke, METH_NOARGS,
     "revoke()\n\nEnd all calls on this communicator on every rank, with RevokedError. Any thread may call it. Local."},
    {"failed", hxpy_comm_failed, METH_NOARGS, "failed()\n\nThe ranks that are known here to have died. Local."},
    {"agree", WITH_KEYWORDS(hxpy_comm_agree), METH_VARARGS | METH_KEYWORDS,
     "agree(flags=-1)\n\nAgree with all ranks that live, also after a failure. Returns the bit-wise AND of all flags, and the number of "
     "blocking calls that all ranks have completed."},
    {"shrink", hxpy_comm_shrink, METH_NOARGS,
     "shrink()\n\nCreate a communicator of the ranks that live, in their order. Works on a communicator that has failed or was revoked."},
    {"grow", WITH_KEYWORDS(hxpy_comm_grow), METH_VARARGS | METH_KEYWORDS,
     "grow(n, seconds)\n\nLet up to n processes in that wait in hierax.join(). Returns the communicator of all ranks of the larger world, or "
     "None if no process has joined within so many seconds."},
    {"wait_size", WITH_KEYWORDS(hxpy_comm_wait_size), METH_VARARGS | METH_KEYWORDS,
     "wait_size(least, seconds)\n\nThe number of ranks plus that of processes that wait to join. Returns when it is least or more, or after so "
     "many seconds."},
    {"state_sync", WITH_KEYWORDS(hxpy_comm_state_sync), METH_VARARGS | METH_KEYWORDS,
     "state_sync(entries, revision=0, mode='majority', keep=False)\n\nMake the arrays of all ranks the same, bit by bit. A rank receives only the arrays "
     "that differ from those of the majority.\n\nentries: {name: array}, with the same names and sizes on all ranks. revision: a number "
     "that grows with each change.\nmode: majority, send_only or receive_only. keep: after an error the arrays are as they were; this takes memory "
     "for a copy. Without it, arrays that were received in part are lost. Returns a report, a dict."},
    {"group", WITH_KEYWORDS(hxpy_comm_group), METH_VARARGS | METH_KEYWORDS,
     "group(wait=True)\n\nA with block whose blocking calls are made as one at its end. Their arrays have the results only then."},
    {"abort", WITH_KEYWORDS(comm_abort), METH_VARARGS | METH_KEYWORDS,
     "abort(code=1, text=None)\n\nEnd this process and the job. Does not return."},
    {"__enter__", comm_enter, METH_NOARGS, NULL},
    {"__exit__", comm_exit, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"rank", get_rank, NULL, "The rank of this process: 0 to size-1.", NULL},
    {"size", get_size, NULL, "The number of ranks.", NULL},
    {"sources", get_sources, NULL, "The ranks from which this rank receives along the graph: a tuple. None without a graph.", NULL},
    {"destinations", get_destinations, NULL, "The ranks to which this rank sends along the graph: a tuple. None without a graph.", NULL},
    {"handle", get_handle, NULL, "The address of the hx_comm_t, for other extension modules.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject hxpy_comm_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "hierax.Comm",
    .tp_basicsize = sizeof(hxpy_comm),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "A communicator: a group of ranks. hierax.world() returns the one of all ranks.",
    .tp_dealloc = dealloc,
    .tp_repr = repr,
    .tp_methods = methods,
    .tp_getset = properties,
};
