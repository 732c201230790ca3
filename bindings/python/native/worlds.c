/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The worlds of this process.
 *
 *   init, join           the first world: no other thread may be in Hierax (busy)
 *   join, Comm.grow      a further one, beside those that are open
 *   Comm.free            closes a world, if it is not the only one
 *   finalize             closes all, the oldest first, as hx_finalize does
 *
 * Each object of a world holds it (struct hxpy_world), so that it can see later that the world has ended.
 */
#include "worlds.h"

#include <string.h>

const char hxpy_ended_text[] = "this object is of an earlier world, which has ended";

struct hxpy_world *hxpy_world_hold(struct hxpy_world *world)
{
    world->holders++;
    return world;
}

void hxpy_world_drop(struct hxpy_world *world)
{
    if (world && --world->holders == 0)
        PyMem_Free(world);
}

/* ---- open ------------------------------------------------------------------------------------------------------- */

/* Made before Hierax opens the world, which is then never lost. */
struct opening {
    struct hxpy_world *world;
    hxpy_comm *comm;
    hx_comm_t *handle; /* NULL: Hierax has opened none */
};

static int opening_begin(struct opening *opening)
{
    *opening = (struct opening){.world = PyMem_Calloc(1, sizeof *opening->world), .comm = hxpy_comm_new()};
    if (opening->world && opening->comm)
        return 0;
    if (!PyErr_Occurred())
        PyErr_NoMemory();
    PyMem_Free(opening->world);
    Py_XDECREF(opening->comm);
    return -1;
}

/* The communicator; None if there is no world; NULL if failed: an exception is set. */
static PyObject *opening_end(struct opening *opening, bool failed)
{
    struct hxpy_world *world = opening->world;
    if (failed || !opening->handle) {
        PyMem_Free(world);
        Py_DECREF(opening->comm);
        return failed ? NULL : Py_NewRef(Py_None);
    }
    hxpy_world_hold(world);
    hxpy_comm_open(opening->comm, opening->handle, world);
    world->comm = (PyObject *)opening->comm;
    world->older = hxpy.worlds;
    hxpy.worlds = world;
    hxpy.started = true;
    return Py_NewRef(world->comm);
}

int hxpy_may_start(void)
{
    if (!hxpy.busy && !hxpy.forked && !hxpy.inside)
        return 0;
    hxpy_state_error("%s", hxpy.forked ? "this process is a child made by fork of a rank, and must not use Hierax"
                                       : "another thread is in Hierax");
    return -1;
}

/* config: of hx_init_with; NULL: join at that place. */
static PyObject *first_open(const hx_config_t *config, const char *where)
{
    char detail[512] = "";
    struct opening opening;
    if (opening_begin(&opening))
        return NULL;
    hxpy.busy = true;
    PyThreadState *state = PyEval_SaveThread();
    hx_status_t status = config ? hx_init_with(config, &opening.handle) : hx_join(where, &opening.handle);
    if (status != HX_SUCCESS)
        hxpy_keep_detail(detail, status, NULL);
    PyEval_RestoreThread(state);
    hxpy.busy = false;
    if (status != HX_SUCCESS)
        hxpy_raise(status, detail);
    return opening_end(&opening, status != HX_SUCCESS);
}

PyObject *hxpy_world_init(const hx_config_t *config)
{
    return first_open(config, NULL);
}

PyObject *hxpy_join(PyObject *self, PyObject *args)
{
    char detail[512] = "";
    struct opening opening;
    const char *where;
    (void)self;
    if (!PyArg_ParseTuple(args, "z", &where))
        return NULL;
    if (!hxpy.worlds)
        return hxpy_may_start() ? NULL : first_open(NULL, where);
    if (hxpy_running() || opening_begin(&opening))
        return NULL;
    PyThreadState *state = hxpy_enter(NULL);
    hx_status_t status = hx_join(where, &opening.handle);
    if (status != HX_SUCCESS)
        hxpy_keep_detail(detail, status, NULL);
    hxpy_leave(NULL, state);
    if (status != HX_SUCCESS)
        hxpy_raise(status, detail);
    return opening_end(&opening, status != HX_SUCCESS);
}

PyObject *hxpy_comm_grow(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *allowed[] = {"n", "seconds", NULL};
    hxpy_comm *comm = (hxpy_comm *)self;
    PyObject *number, *time;
    struct opening opening;
    double seconds;
    int n;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO:grow", allowed, &number, &time) || hxpy_int(number, "n", &n) ||
        hxpy_seconds(time, "seconds", &seconds) || hxpy_comm_check(comm) || opening_begin(&opening))
        return NULL;
    PyThreadState *state = hxpy_begin(comm);
    int failed = hxpy_end(comm, state, hx_comm_grow(comm->handle, n, seconds, &opening.handle));
    return opening_end(&opening, failed);
}

PyObject *hxpy_comm_wait_size(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *allowed[] = {"least", "seconds", NULL};
    hxpy_comm *comm = (hxpy_comm *)self;
    PyObject *number, *time;
    double seconds;
    int least, size = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO:wait_size", allowed, &number, &time) || hxpy_int(number, "least", &least) ||
        hxpy_seconds(time, "seconds", &seconds) || hxpy_comm_check(comm))
        return NULL;
    PyThreadState *state = hxpy_begin(comm);
    if (hxpy_end(comm, state, hx_comm_wait_size(comm->handle, least, seconds, &size)))
        return NULL;
    return PyLong_FromLong(size);
}

PyObject *hxpy_newest(PyObject *self, PyObject *unused)
{
    struct hxpy_world *world = hxpy.worlds;
    (void)self;
    (void)unused;
    while (world && world->closing)
        world = world->older;
    return Py_NewRef(hxpy_is_open(world) ? world->comm : Py_None);
}

/* ---- close ------------------------------------------------------------------------------------------------------ */

static void forget(struct hxpy_world *world)
{
    struct hxpy_world **at = &hxpy.worlds;
    while (*at != world)
        at = &(*at)->older;
    *at = world->older;
    Py_CLEAR(world->comm);
    hxpy_memory_restore(world);
    hxpy_world_drop(world);
}

/* Close a world whose requests and memory are prepared. *stays: it is still open. */
static hx_status_t world_close(struct hxpy_world *world, char detail[512], bool *stays)
{
    hx_comm_t *handle = ((hxpy_comm *)world->comm)->handle;
    const bool only = hxpy.worlds == world && !world->older;
    PyThreadState *state = hxpy_enter(world);
    hx_status_t status = only ? hx_finalize() : hx_comm_free(handle);
    if (status != HX_SUCCESS)
        hxpy_keep_detail(detail, status, NULL);
    /* HX_CHECK refuses to close a world with HX_ERR_MISMATCH. A failed world is closed with the same status. hx_finalize closes in a later
     * call what stays here. */
    *stays = status == HX_ERR_STATE || (only && status == HX_ERR_MISMATCH && hx_size(handle) >= 0);
    hxpy_leave(world, state);
    if (!*stays)
        forget(world);
    return status;
}

PyObject *hxpy_world_free(struct hxpy_world *world)
{
    char detail[512];
    bool stays = true;
    hx_status_t status = HX_ERR_STATE;
    if (hxpy.worlds == world && !world->older)
        return hxpy_state_error("the communicator of the only world is freed by hierax.finalize()");
    if (world->inside)
        return hxpy_state_error("%d calls of other threads in this world are in progress", world->inside);
    hxpy_world_hold(world);
    world->closing = true; /* refuses calls of other threads */
    int refused = hxpy_requests_finish(world, false) || hxpy_memory_save(world);
    if (!refused)
        status = world_close(world, detail, &stays);
    world->closing = false;
    if (stays)
        hxpy_memory_forget();
    hxpy_world_drop(world);
    if (refused)
        return NULL;
    return status != HX_SUCCESS ? hxpy_raise(status, detail) : Py_NewRef(Py_None);
}

PyObject *hxpy_finalize(PyObject *self, PyObject *args)
{
    char detail[512], text[512];
    int at_end = 0;
    hx_status_t status = HX_SUCCESS;
    bool stays = false;
    (void)self;
    if (!PyArg_ParseTuple(args, "|p", &at_end) || hxpy_running())
        return NULL;
    if (hxpy.inside)
        return hxpy_state_error("%d other threads are in calls of Hierax", hxpy.inside);
    hxpy.busy = true; /* refuses calls of other threads while this one waits without the interpreter's lock */
    if (hxpy_requests_finish(NULL, at_end) || hxpy_memory_save(NULL)) {
        hxpy.busy = false;
        return NULL;
    }
    while (hxpy.worlds && !stays) {
        struct hxpy_world *oldest = hxpy.worlds;
        while (oldest->older)
            oldest = oldest->older;
        hx_status_t one = world_close(oldest, text, &stays);
        if (one != HX_SUCCESS && status == HX_SUCCESS) {
            status = one;
            memcpy(detail, text, sizeof detail);
        }
    }
    hxpy.busy = false;
    hxpy_memory_forget();
    return status != HX_SUCCESS ? hxpy_raise(status, detail) : Py_NewRef(Py_None);
}
