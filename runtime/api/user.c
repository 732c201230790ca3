/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * User-defined operations and datatypes: see runtime/base/user_table.h. A handle's low bits are a place in a table, its high bits how
 * often that place was given out before. Who writes holds the mutex; who reads finds the handle first, and what belongs
 * to it stays until it is gone.
 */
#include "runtime/base/user_table.h"
#include "runtime/api/comm.h"
#include "runtime/api/lock.h"
#include "runtime/base/reduce.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { PLACE_BITS = 12, PLACES = 1 << PLACE_BITS, TIMES = 1 << (30 - PLACE_BITS) };

#define DTYPE_MAX_BYTES ((size_t)64 << 20)

struct place {
    _Atomic uint32_t handle; /* 0: free. Release pairs with the acquire in place_of */
    uint32_t times;          /* given out so far; this and the next two under the mutex */
    int references;          /* of requests and calls, and one while it is open */
    _Atomic int open;
    size_t bytes; /* of a datatype; of an operation 0 */
    struct hx_user_op op;
};

static struct place places[PLACES];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned next; /* place to try first, so that places are used in turn */

static struct place *place_of(unsigned handle)
{
    struct place *place = &places[handle % PLACES];

    return hx_is_user(handle) && atomic_load_explicit(&place->handle, memory_order_acquire) == handle ? place : NULL;
}

size_t hx_user_dtype_bytes(hx_dtype_t dtype)
{
    const struct place *place = place_of((unsigned)dtype);
    return place ? place->bytes : 0;
}

struct hx_user_op hx_user_op(hx_op_t op)
{
    const struct place *place = place_of((unsigned)op);
    return place ? place->op : (struct hx_user_op){0};
}

int hx_user_is_open(unsigned handle)
{
    struct place *place = place_of(handle);
    return place && atomic_load_explicit(&place->open, memory_order_relaxed);
}

int hx_user_was_open(unsigned handle)
{
    int was;

    if (!hx_is_user(handle))
        return 0;
    pthread_mutex_lock(&mutex);
    was = (handle - HX_USER_BASE) / PLACES < places[handle % PLACES].times;
    pthread_mutex_unlock(&mutex);
    return was;
}

/* ---- holding ------------------------------------------------------------------------------------------------- */

static void let_go_locked(struct place *place)
{
    if (--place->references == 0)
        atomic_store_explicit(&place->handle, 0, memory_order_relaxed);
}

void hx_user_hold(unsigned handle)
{
    struct place *place = place_of(handle);

    if (!place)
        return;
    pthread_mutex_lock(&mutex);
    place->references++;
    pthread_mutex_unlock(&mutex);
}

void hx_user_let_go(unsigned handle)
{
    struct place *place = place_of(handle);

    if (!place)
        return;
    pthread_mutex_lock(&mutex);
    let_go_locked(place);
    pthread_mutex_unlock(&mutex);
}

/* ---- making and freeing -------------------------------------------------------------------------------------- */

/* A handle for these; 0: none is left. */
static uint32_t place_take(size_t bytes, struct hx_user_op op)
{
    uint32_t handle = 0;

    pthread_mutex_lock(&mutex);
    for (unsigned tried = 0; tried < PLACES && !handle; tried++, next = (next + 1) % PLACES) {
        struct place *place = &places[next];
        if (place->references || place->times == TIMES)
            continue;
        handle = HX_USER_BASE + place->times++ * PLACES + next;
        place->bytes = bytes;
        place->op = op;
        place->references = 1;
        atomic_store_explicit(&place->open, 1, memory_order_relaxed);
        atomic_store_explicit(&place->handle, handle, memory_order_release);
    }
    pthread_mutex_unlock(&mutex);
    return handle;
}

static int is_of(unsigned handle, int is_op)
{
    const struct place *place = place_of(handle);
    return place && is_op == (place->bytes == 0);
}

/* Plans bound to it serve no new call. */
static void bound_forget(struct hx_engine *engine, unsigned handle)
{
    for (int set = 0; engine && set < HX_BOUND_SETS; set++)
        for (int way = 0; way < HX_BOUND_WAYS; way++) {
            struct hx_bound *bound = engine->cache[set][way];
            if (bound && ((unsigned)bound->key.op == handle || (unsigned)bound->key.dtype == handle))
                bound->key.coll = HX_COLL_COUNT;
        }
}

void hx_user_leave(struct hx_engine *engine, unsigned handle)
{
    if (hx_is_user(handle) && !hx_user_is_open(handle)) /* freed before the call was bound, maybe */
        bound_forget(engine, handle);
    hx_user_let_go(handle);
}

static hx_status_t user_free(const char *function, const char *what, const char *built_in, unsigned handle, int is_op)
{
    if (built_in)
        return hx_fail(HX_ERR_ARG, "%s: %s %s (%u) is built in", function, what, built_in, handle);
    if (!hx_user_is_open(handle) || !is_of(handle, is_op))
        return hx_fail(HX_ERR_ARG, "%s: %s %u %s", function, what, handle,
                       place_of(handle) && !is_of(handle, is_op) ? "is a handle of the other kind"
                       : hx_user_was_open(handle)                ? "has been freed already"
                                                                 : "does not exist");
    for (struct hx_comm *comm = hx_world ? hx_world->comms : NULL; comm; comm = comm->next) {
        bound_forget(&comm->engine, handle);
        for (int i = 0; i < HX_CONCURRENT; i++)
            bound_forget(comm->others[i], handle);
    }
    pthread_mutex_lock(&mutex);
    atomic_store_explicit(&places[handle % PLACES].open, 0, memory_order_relaxed);
    let_go_locked(&places[handle % PLACES]);
    pthread_mutex_unlock(&mutex);
    return HX_SUCCESS;
}

hx_status_t hx_op_create(hx_reduce_fn_t *fn, int commutative, void *ctx, hx_op_t *op)
{
    uint32_t handle;

    if (!fn || !op)
        return hx_fail(HX_ERR_ARG, "hx_op_create: %s is NULL", fn ? "op" : "fn");
    if (!(handle = place_take(0, (struct hx_user_op){fn, ctx, commutative})))
        return hx_fail(HX_ERR_NOMEM, "hx_op_create: %d operations and datatypes are in use", PLACES);
    *op = (hx_op_t)handle;
    return HX_SUCCESS;
}

hx_status_t hx_folding_refuse(void)
{
    return hx_fail(HX_ERR_STATE, "an operation of the program (hx_op_create) has called Hierax; make the call after the "
                                 "collective that runs the operation");
}

hx_status_t hx_op_free(hx_op_t op)
{
    return HX_LOCKED(user_free("hx_op_free", "operation", hx_op_name(op), (unsigned)op, 1));
}

hx_status_t hx_dtype_contiguous(size_t bytes, hx_dtype_t *dtype)
{
    uint32_t handle;

    if (!dtype)
        return hx_fail(HX_ERR_ARG, "hx_dtype_contiguous: dtype is NULL");
    if (bytes == 0 || bytes > DTYPE_MAX_BYTES)
        return hx_fail(HX_ERR_ARG, "hx_dtype_contiguous: an element of %zu bytes; choose 1 to %zu", bytes,
                       DTYPE_MAX_BYTES);
    if (!(handle = place_take(bytes, (struct hx_user_op){0})))
        return hx_fail(HX_ERR_NOMEM, "hx_dtype_contiguous: %d operations and datatypes are in use", PLACES);
    *dtype = (hx_dtype_t)handle;
    return HX_SUCCESS;
}

hx_status_t hx_dtype_free(hx_dtype_t dtype)
{
    return HX_LOCKED(user_free("hx_dtype_free", "datatype", hx_dtype_name(dtype), (unsigned)dtype, 0));
}
