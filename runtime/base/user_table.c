/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of user-defined operations and datatypes: see user_table.h. A handle's low bits are a place in the table, its high bits how often
 * that place was given out before. A writer holds the mutex. A reader finds the handle first; what belongs to it stays until it is gone. */
#include "runtime/base/user_table.h"
#include <pthread.h>
#include <stdatomic.h>

enum { PLACES = HX_USER_PLACES, TIMES = (1 << 30) / PLACES };

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

/* ---- taking and closing -------------------------------------------------------------------------------------- */

uint32_t hx_user_take(size_t bytes, struct hx_user_op op)
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

void hx_user_close(unsigned handle)
{
    struct place *place = &places[handle % PLACES];

    pthread_mutex_lock(&mutex);
    atomic_store_explicit(&place->open, 0, memory_order_relaxed);
    let_go_locked(place);
    pthread_mutex_unlock(&mutex);
}
