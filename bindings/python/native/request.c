/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Request: a call that has been started or prepared.
 *
 *      prepare -> IDLE --start--> ACTIVE --wait, test--> IDLE (prepared calls) or DONE
 *
 * While a request is active it holds a reference to itself: its buffers must stay, also if the program drops it. Later requests
 * test those that were dropped, and the end of their world waits for them. One thread at a time is in Hierax with a request (`entered`); others wait for it.
 */
#include "native.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>

enum phase { IDLE, ACTIVE, DONE };

typedef struct request {
    PyObject_HEAD
    hx_request_t *handle; /* NULL: released */
    hxpy_comm *comm;
    struct hxpy_call call;
    struct hxpy_kept *calls; /* of a group */
    enum phase phase;
    bool persistent, entered;
    hx_status_t status; /* of the last completion */
    char *detail;
    struct request *before, *after; /* in the list of all requests that hold a handle */
} request;

static void collect_dropped(void);

static request all = {.before = &all, .after = &all};

static void hold(request *r, hx_request_t *handle)
{
    r->handle = handle;
    r->before = all.before;
    r->after = &all;
    r->before->after = r->after->before = r;
}

static void unlink_from_all(request *r)
{
    r->before->after = r->after;
    r->after->before = r->before;
}

static hx_request_t *let_go(request *r)
{
    hx_request_t *handle = r->handle;
    r->handle = NULL;
    unlink_from_all(r);
    return handle;
}

static void activate(request *r)
{
    Py_INCREF(r);
    r->phase = ACTIVE;
}

static void complete(request *r, hx_status_t status, const char *detail)
{
    r->status = status;
    r->phase = r->persistent ? IDLE : DONE;
    if (!r->persistent)
        let_go(r);
    PyMem_Free(r->detail);
    r->detail = NULL;
    if (status != HX_SUCCESS) {
        size_t bytes = strlen(detail) + 1;
        r->detail = PyMem_Malloc(bytes);
        if (r->detail)
            memcpy(r->detail, detail, bytes);
    }
    if (!r->persistent)
        Py_CLEAR(r->call.used_op);
    hxpy_kept_drop(&r->calls);
    Py_DECREF(r); /* the caller has another reference */
}

static PyObject *result(request *r)
{
    return r->status == HX_SUCCESS ? hxpy_view_value(&r->call.out) : hxpy_raise(r->status, r->detail ? r->detail : "");
}

static int check(request *r)
{
    if (hxpy_running())
        return -1;
    if (hxpy_is_open(r->comm->world) && (r->handle || r->phase == DONE))
        return 0;
    hxpy_state_error("%s", hxpy_is_open(r->comm->world) ? "this request has been freed" : hxpy_ended_text);
    return -1;
}

/* Wait until no other thread is in Hierax with this request. */
static void wait_for_others(request *r)
{
    const struct timespec pause = {.tv_nsec = 50000};
    while (r->entered) {
        Py_BEGIN_ALLOW_THREADS
        nanosleep(&pause, NULL);
        Py_END_ALLOW_THREADS
    }
}

static void aim_at_numbers(struct hxpy_call *call)
{
    if (call->in.scalar)
        call->send = call->in.data = &call->in.number;
    if (call->out.scalar)
        call->receive = call->out.data = &call->out.number;
}

static request *new_request(hxpy_comm *comm, bool persistent)
{
    request *r = PyObject_New(request, &hxpy_request_type);
    if (!r)
        return NULL;
    r->handle = NULL;
    r->comm = (hxpy_comm *)Py_NewRef(comm);
    r->calls = NULL;
    r->phase = IDLE;
    r->persistent = persistent;
    r->entered = false;
    r->status = HX_SUCCESS;
    r->detail = NULL;
    return r;
}

PyObject *hxpy_request_empty(hxpy_comm *comm, const struct hxpy_row *row)
{
    request *r = new_request(comm, false);
    if (r) {
        memset(&r->call, 0, sizeof r->call);
        r->call.row = row;
        collect_dropped();
    }
    return (PyObject *)r;
}

void hxpy_request_started(PyObject *self, hx_request_t *handle, struct hxpy_kept *calls)
{
    request *r = (request *)self;
    r->calls = calls;
    hold(r, handle);
    activate(r);
}

PyObject *hxpy_request_new(hxpy_comm *comm, struct hxpy_call *call, enum hxpy_mode mode)
{
    hx_request_t *handle = NULL;
    request *r = new_request(comm, mode == HXPY_PREPARE);
    if (!r) {
        hxpy_call_drop(call);
        return NULL;
    }
    r->call = *call;
    aim_at_numbers(&r->call);
    PyThreadState *state = hxpy_begin(comm);
    if (hxpy_end(comm, state, hxpy_issue(&r->call, comm->handle, mode, &handle))) {
        Py_DECREF(r);
        return NULL;
    }
    hold(r, handle);
    if (mode == HXPY_START)
        activate(r);
    collect_dropped();
    return (PyObject *)r;
}

static PyObject *request_start(PyObject *self, PyObject *unused)
{
    request *r = (request *)self;
    char detail[512];
    (void)unused;
    wait_for_others(r);
    if (check(r))
        return NULL;
    if (!r->persistent || r->phase == ACTIVE)
        return hxpy_state_error("%s", r->persistent ? "this request is active: wait for it first"
                                                    : "start() is for prepared calls (name_init); this call has been started");
    r->entered = true;
    PyThreadState *state = hxpy_enter(r->comm->world);
    hx_status_t status = hx_start(r->handle);
    if (status != HX_SUCCESS)
        hxpy_keep_detail(detail, status, r->comm->handle);
    hxpy_leave(r->comm->world, state);
    r->entered = false;
    if (status != HX_SUCCESS)
        return hxpy_raise(status, detail);
    activate(r);
    return Py_NewRef(self);
}

/* Test or wait for an active request. 1: it is complete, 0: not, -1 with an exception: Hierax refuses this now, for example in the
 * function of an Op, and the call goes on. */
static int advance(request *r, bool wait)
{
    char detail[512] = "";
    int done = 1;
    r->entered = true;
    PyThreadState *state = hxpy_enter(r->comm->world);
    hx_status_t status = wait ? hx_wait(r->handle) : hx_test(r->handle, &done);
    if (status != HX_SUCCESS)
        hxpy_keep_detail(detail, status, r->comm->handle);
    hxpy_leave(r->comm->world, state);
    r->entered = false;
    if (status == HX_ERR_STATE) {
        hxpy_raise(status, detail);
        return -1;
    }
    if (status != HX_SUCCESS || done)
        complete(r, status, detail);
    return status != HX_SUCCESS || done;
}

/* Complete what the program has dropped, so that a loop that drops its requests does not keep all their buffers. Two of the
 * list each time: it then has at most twice as many as the program holds or Hierax has not finished. */
static void collect_dropped(void)
{
    for (int i = 0; i < 2 && all.after != &all; i++) {
        request *r = all.after;
        Py_INCREF(r);
        unlink_from_all(r); /* it becomes the last */
        hold(r, r->handle);
        if (r->phase == ACTIVE && !r->entered && Py_REFCNT(r) == 2 && advance(r, false) < 0)
            PyErr_Clear();
        Py_DECREF(r);
    }
}

static PyObject *request_wait(PyObject *self, PyObject *unused)
{
    request *r = (request *)self;
    (void)unused;
    wait_for_others(r);
    if (r->phase == DONE)
        return result(r);
    if (check(r))
        return NULL;
    if (r->phase == ACTIVE && advance(r, true) < 0)
        return NULL;
    return result(r);
}

static PyObject *request_test(PyObject *self, PyObject *unused)
{
    request *r = (request *)self;
    (void)unused;
    if (r->entered)
        Py_RETURN_FALSE;
    if (r->phase != DONE && check(r))
        return NULL;
    int done = r->phase == ACTIVE ? advance(r, false) : 1;
    if (done < 0)
        return NULL;
    if (!done)
        Py_RETURN_FALSE;
    if (r->status != HX_SUCCESS)
        return result(r);
    Py_RETURN_TRUE;
}

static void release(request *r) /* a prepared call that is not active: this cannot fail */
{
    hx_request_t *handle = let_go(r);
    PyThreadState *state = hxpy_enter(r->comm->world);
    hx_request_free(handle);
    hxpy_leave(r->comm->world, state);
}

static PyObject *request_free(PyObject *self, PyObject *unused)
{
    request *r = (request *)self;
    (void)unused;
    wait_for_others(r);
    if (check(r))
        return NULL;
    if (!r->persistent || r->phase == ACTIVE)
        return hxpy_state_error("%s", r->persistent ? "this request is active: wait for it first" : "free() is for prepared calls");
    release(r);
    Py_RETURN_NONE;
}

static void dealloc(PyObject *self)
{
    request *r = (request *)self;
    if (r->handle && hxpy_is_open(r->comm->world)) {
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        release(r);
        PyErr_Restore(type, value, trace);
    } else if (r->handle) {
        let_go(r);
    }
    hxpy_call_drop(&r->call);
    hxpy_kept_drop(&r->calls);
    Py_DECREF(r->comm);
    PyMem_Free(r->detail);
    PyObject_Free(self);
}

/* The first request of a world; NULL: of all. */
static request *first_of(const struct hxpy_world *world)
{
    request *r = all.after;
    while (r != &all && world && r->comm->world != world)
        r = r->after;
    return r;
}

/* Complete what the program has dropped, and release prepared calls. */
int hxpy_requests_finish(const struct hxpy_world *world, bool at_end)
{
    for (request *r = all.after; !at_end && r != &all; r = r->after)
        if (r->phase == ACTIVE && Py_REFCNT(r) > 1 && (!world || r->comm->world == world)) {
            hxpy_state_error("a request of %s%s is not complete: wait for it first", r->persistent ? "" : "i", r->call.row->name);
            return -1;
        }
    for (request *r; (r = first_of(world)) != &all;) {
        Py_INCREF(r);
        int status = r->phase == ACTIVE ? advance(r, true) : 1;
        if (status > 0 && r->handle)
            release(r);
        Py_DECREF(r);
        if (status < 0)
            return -1;
    }
    return 0;
}

static PyObject *request_await(PyObject *self)
{
    PyObject *module = PyImport_ImportModule("hierax._requests");
    PyObject *answer = module ? PyObject_CallMethod(module, "until_done", "O", self) : NULL;
    Py_XDECREF(module);
    return answer;
}

static PyObject *descriptor(request *r, bool copy)
{
    char detail[512];
    int fd = -1;
    wait_for_others(r);
    if (r->phase == DONE)
        return hxpy_state_error("this request is complete, and its descriptor is closed");
    if (check(r))
        return NULL;
    r->entered = true;
    PyThreadState *state = hxpy_enter(r->comm->world);
    hx_status_t status = hx_request_fd(r->handle, &fd);
    if (status != HX_SUCCESS)
        hxpy_keep_detail(detail, status, r->comm->handle);
    else if (copy)
        fd = fcntl(fd, F_DUPFD_CLOEXEC, 0); /* before another thread completes the request, which closes the descriptor */
    hxpy_leave(r->comm->world, state);
    r->entered = false;
    if (status != HX_SUCCESS)
        return hxpy_raise(status, detail);
    return fd < 0 ? PyErr_SetFromErrno(PyExc_OSError) : PyLong_FromLong(fd);
}

static PyObject *request_fileno(PyObject *self, PyObject *unused)
{
    (void)unused;
    return descriptor((request *)self, false);
}

static PyObject *request_copy_fileno(PyObject *self, PyObject *unused)
{
    (void)unused;
    return descriptor((request *)self, true);
}

static PyObject *request_enter(PyObject *self, PyObject *unused)
{
    (void)unused;
    return Py_NewRef(self);
}

static PyObject *request_exit(PyObject *self, PyObject *args)
{
    (void)args;
    PyObject *value = request_wait(self, NULL);
    if (!value)
        return NULL;
    Py_DECREF(value);
    Py_RETURN_NONE;
}

static PyObject *get_out(PyObject *self, void *unused)
{
    request *r = (request *)self;
    (void)unused;
    return hxpy_view_is_number(&r->call.out) ? Py_NewRef(Py_None) : hxpy_view_value(&r->call.out);
}

static PyObject *get_active(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(((request *)self)->phase == ACTIVE);
}

static PyObject *repr(PyObject *self)
{
    request *r = (request *)self;
    static const char *const phases[] = {"not started", "active", "complete"};
    return PyUnicode_FromFormat("<hierax.Request %s%s%s, %s>", r->persistent ? "" : "i", r->call.row->name,
                                r->persistent ? "_init" : "",
                                r->phase == DONE && r->status != HX_SUCCESS ? "failed" : phases[r->phase]);
}

static PyMethodDef methods[] = {
    {"start", request_start, METH_NOARGS, "start()\n\nStart a prepared call, and return this request."},
    {"wait", request_wait, METH_NOARGS,
     "wait()\n\nWait for the call, and return its result. Later waits return it again, or raise the same error again."},
    {"test", request_test, METH_NOARGS, "test()\n\nTrue if the call is complete. Makes progress. Does not block."},
    {"fileno", request_fileno, METH_NOARGS,
     "fileno()\n\nA descriptor that is readable when the call is complete. Needs HX_PROGRESS_THREAD=1. Do not read or close it."},
    {"_copy_fileno", request_copy_fileno, METH_NOARGS, "A copy of the descriptor, which the caller closes."},
    {"free", request_free, METH_NOARGS, "free()\n\nRelease a prepared call that is not active."},
    {"__enter__", request_enter, METH_NOARGS, NULL},
    {"__exit__", request_exit, METH_VARARGS, "Wait for the call."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"out", get_out, NULL, "The array that receives the result. Do not touch it while the call is active.", NULL},
    {"active", get_active, NULL, "True from the start until wait() or test() has found the call complete.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyAsyncMethods awaiting = {.am_await = request_await};

PyTypeObject hxpy_request_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "hierax.Request",
    .tp_basicsize = sizeof(request),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "A call that has been started or prepared: wait(), test(), await, or a with block, which waits at its end.",
    .tp_dealloc = dealloc,
    .tp_repr = repr,
    .tp_as_async = &awaiting,
    .tp_methods = methods,
    .tp_getset = properties,
};
