/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hierax._native: the extension module. Rules for every file here:
 *  - All calls of Hierax that may wait, take a lock or run an operation are made without the interpreter's lock (hxpy_enter,
 *    hxpy_leave). The function of an Op takes that lock inside Hierax. A thread that held it there would wait for ever.
 *  - All state below is read and written with the interpreter's lock held.
 *  - Objects hold their world, and look whether it is open (worlds.c). No call of Hierax gets a handle of a world that has ended.
 */
#ifndef HXPY_NATIVE_H
#define HXPY_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stddef.h>

#include <hierax.h>

/* ---- state of this process */
/* The processes that one hierax.init(), hierax.join() or Comm.grow() has connected. */
struct hxpy_world {
    PyObject *comm;           /* of all its ranks, owned; NULL: the world has ended */
    struct hxpy_world *older; /* that is open too */
    int holders;              /* objects of this world, and 1 while it is open */
    int inside;               /* threads that are in a function of Hierax for it */
    bool closing;
};

struct hxpy_state {
    struct hxpy_world *worlds; /* that are open, the newest first; NULL: Hierax does not run */
    int inside;                /* threads that are in a function of Hierax */
    bool busy;                 /* a thread opens the first world, or closes all */
    bool started;              /* a world has been open */
    bool forked;               /* a child made by fork: it must not call Hierax */
};
extern struct hxpy_state hxpy;

/* May calls of Hierax get handles of this world? */
static inline bool hxpy_is_open(const struct hxpy_world *world)
{
    return world && world->comm && !world->closing && !hxpy.busy && !hxpy.forked;
}

/* Leave and take the interpreter's lock around calls of Hierax. world: NULL if the call needs none. */
static inline PyThreadState *hxpy_enter(struct hxpy_world *world)
{
    hxpy.inside++;
    if (world)
        world->inside++;
    return PyEval_SaveThread();
}

static inline void hxpy_leave(struct hxpy_world *world, PyThreadState *state)
{
    PyEval_RestoreThread(state);
    if (world)
        world->inside--;
    hxpy.inside--;
}

extern const char hxpy_ended_text[]; /* of the error */
struct hxpy_world *hxpy_world_hold(struct hxpy_world *world);
void hxpy_world_drop(struct hxpy_world *world); /* may be NULL */

/* ---- errors: all set a Python exception, and return NULL or -1 */
PyObject *hxpy_raise(hx_status_t status, const char *detail);
PyObject *hxpy_refuse(const char *format, ...) __attribute__((format(printf, 1, 2))); /* ArgError; formats of printf */
PyObject *hxpy_state_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void hxpy_keep_detail(char text[512], hx_status_t status, const hx_comm_t *comm); /* right after the call that failed */
int hxpy_running(void);   /* -1 unless Hierax runs in this process */
int hxpy_errors_init(void);

/* ---- element types: hx_dtype_t, and these, which Hierax does not have */
enum { HXPY_BOOL = 1000, HXPY_OTHER }; /* OTHER: elements of a fixed size that can be moved, but not combined */
const char *hxpy_dtype_name(int dtype);
int hxpy_dtype_of_format(const char *format, Py_ssize_t item_bytes); /* of the buffer protocol; -1 with an exception */
size_t hxpy_dtype_bytes(int dtype);                                  /* 0 for OTHER */
size_t hxpy_dtype_alignment(int dtype);                              /* of the elements in memory; 1 for OTHER */

/* ---- memory of an argument */
struct hxpy_view {
    PyObject *object; /* owned; NULL: this view is empty */
    PyObject *capsule; /* of DLPack, else NULL */
    Py_buffer *buffer; /* of the buffer protocol, else NULL */
    void *data;
    size_t count, item_bytes;
    const Py_ssize_t *shape;
    int ndim, dtype;
    /* array: numpy's; scalar: a number, kept in `number`; unwrap: an array of no dimension whose element is the result */
    bool writable, array, scalar, unwrap;
    union {
        long long integer;
        double real, complex[2];
        unsigned char bytes[16];
    } number;
};
int hxpy_view_get(struct hxpy_view *view, PyObject *object, const char *name, bool write);
void hxpy_view_drop(struct hxpy_view *view);
PyObject *hxpy_shape_text(const struct hxpy_view *view); /* new reference: "(2, 3)" */
int hxpy_dlpack_get(struct hxpy_view *view, const char *name);
int hxpy_refuse_device(PyObject *object, const char *name);
/* A new array of this shape and of the type of `model`, and its view. */
int hxpy_view_new(struct hxpy_view *view, const struct hxpy_view *model, int ndim, const Py_ssize_t *shape);
PyObject *hxpy_type_text(const struct hxpy_view *view); /* new reference: the name of its type of elements */
PyObject *hxpy_view_value(const struct hxpy_view *view); /* new reference: the result of a call that wrote to the view */
bool hxpy_is_number(PyObject *object);                   /* of Python */
bool hxpy_view_is_number(const struct hxpy_view *view);  /* its value exists only after the call */

/* ---- numpy, if the program has imported it: no header, no dependency */
int hxpy_numpy_find(void); /* 1: it is there, 0: not */
bool hxpy_numpy_is_array(PyObject *object);
bool hxpy_numpy_is_number(PyObject *object);                          /* an element, as in numpy.float64(3) */
bool hxpy_numpy_same_type(const struct hxpy_view *a, const struct hxpy_view *b);
PyObject *hxpy_numpy_type_text(const struct hxpy_view *view);
int hxpy_numpy_get(struct hxpy_view *view, const char *name);
PyObject *hxpy_numpy_empty(PyObject *like, int ndim, const Py_ssize_t *shape);
PyObject *hxpy_numpy_of_memory(PyObject *buffer, int dtype); /* an array of one dimension; a memoryview without numpy */

/* ---- operations */
typedef struct {
    PyObject_HEAD
    PyObject *function; /* NULL for an operation of Hierax */
    hx_op_t op;
    bool owned, commutative;
    const char *name;
} hxpy_op;
extern PyTypeObject hxpy_op_type;
int hxpy_op_check(PyObject *object); /* -1 unless it is an Op or NULL */
int hxpy_ops_init(PyObject *module);

/* ---- communicators and calls */
typedef struct {
    PyObject_HEAD
    hx_comm_t *handle; /* NULL after free */
    struct hxpy_world *world; /* held */
    int rank, size, users; /* users: calls that are in progress in threads */
    PyObject *group; /* the open Group, or NULL */
    PyObject *sources, *destinations; /* tuples; NULL: no graph */
} hxpy_comm;
extern PyTypeObject hxpy_comm_type;
hxpy_comm *hxpy_comm_new(void); /* empty: made before Hierax makes its communicator, which is then never lost */
void hxpy_comm_open(hxpy_comm *comm, hx_comm_t *handle, struct hxpy_world *world);
int hxpy_comm_check(hxpy_comm *comm); /* -1 if it cannot be used */

/* One call of Hierax on comm, which stands between begin and end without the interpreter's lock:
 *     PyThreadState *state = hxpy_begin(comm);
 *     if (hxpy_end(comm, state, hx_...(comm->handle))) return NULL; */
static inline PyThreadState *hxpy_begin(hxpy_comm *comm)
{
    comm->users++;
    return hxpy_enter(comm->world);
}
int hxpy_end(hxpy_comm *comm, PyThreadState *state, hx_status_t status); /* -1 with an exception if the call has failed */
int hxpy_int(PyObject *object, const char *name, int *value);
int hxpy_seconds(PyObject *object, const char *name, double *value);
PyObject *hxpy_items(PyObject *object, const char *name, const char *what); /* new reference: a tuple; what: "integers" */
int hxpy_comm_methods_init(void);
int hxpy_comm_add_collectives(void); /* after PyType_Ready */
#define WITH_KEYWORDS(fn) (PyCFunction)(void (*)(void))(fn)

enum hxpy_mode { HXPY_NOW, HXPY_START, HXPY_PREPARE };
enum hxpy_param { HXPY_X, HXPY_OP, HXPY_ROOT, HXPY_OUT, HXPY_DEST, HXPY_SOURCE, HXPY_TAG, HXPY_COUNTS, HXPY_DISPLS, HXPY_SCOUNTS,
                  HXPY_SDISPLS, HXPY_RCOUNTS, HXPY_RDISPLS, HXPY_PARAMS };
enum hxpy_collective {
#define ROW(name, ...) HXPY_##name,
#include "collectives.def"
#undef ROW
    HXPY_COLLECTIVES
};

struct hxpy_row { /* of collectives.def */
    const char *name;
    int in, out, rooted, peers;
    signed char params[8]; /* in the order of the arguments, then -1 */
};

/* The blocks that a call sends, or receives, if there is one for each peer. */
struct hxpy_side {
    int n;
    size_t *counts, *displs; /* NULL: no list */
    hx_dtype_t *types;       /* of ARRAYS */
};

struct hxpy_call {
    const struct hxpy_row *row;
    struct hxpy_view in, out;
    const void *send;
    void *receive;
    size_t count;
    hx_dtype_t dtype;
    hx_op_t op;
    int root, tag; /* root: also the other rank of a message */
    struct hxpy_side sent, received;
    size_t *lists;            /* owned: the memory of their lists */
    struct hxpy_view *arrays; /* owned: those sent, then those received; NULL unless the row has ARRAYS */
    PyObject *used_op;        /* owned */
};
extern const struct hxpy_row hxpy_rows[HXPY_COLLECTIVES];
int hxpy_call_prepare(struct hxpy_call *call, hxpy_comm *comm, PyObject *const *given);
void hxpy_call_drop(struct hxpy_call *call);
PyObject *hxpy_request_new(hxpy_comm *comm, struct hxpy_call *call, enum hxpy_mode mode); /* moves the content of call */
/* A request of the calls of a group: made before, then it gets the handle, and what is kept until it is complete. */
struct hxpy_kept;
PyObject *hxpy_request_empty(hxpy_comm *comm, const struct hxpy_row *row);
void hxpy_request_started(PyObject *self, hx_request_t *handle, struct hxpy_kept *calls);
hx_status_t hxpy_issue(const struct hxpy_call *c, hx_comm_t *comm, enum hxpy_mode mode, hx_request_t **request);
extern PyTypeObject hxpy_request_type;
/* Before a world is closed; NULL: all. Wait for the requests that the program has dropped; at_end: also for the others. */
int hxpy_requests_finish(const struct hxpy_world *world, bool at_end);

/* ---- groups: calls that are made as one */
extern PyTypeObject hxpy_group_type;
PyObject *hxpy_comm_group(PyObject *self, PyObject *args, PyObject *keywords);
/* A call that Hierax has recorded must be kept. So there is a place for it before: NULL with an exception if memory is exhausted. */
struct hxpy_kept *hxpy_group_place(void);
void hxpy_kept_drop(struct hxpy_kept **calls);
PyObject *hxpy_group_keep(PyObject *self, struct hxpy_kept *place, struct hxpy_call *call); /* takes both */

/* ---- memory of hx_alloc */
extern PyTypeObject hxpy_memory_type;
PyObject *hxpy_memory_new(hxpy_comm *comm, Py_ssize_t bytes);
int hxpy_memory_save(const struct hxpy_world *world);     /* before it is closed; NULL: all. Keep what arrays still use */
void hxpy_memory_restore(const struct hxpy_world *world); /* after it: put it back at the same addresses */
void hxpy_memory_forget(void);                            /* of worlds that stay open */

extern PyObject *hxpy_in_place;

#endif
