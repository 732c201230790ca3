/* SPDX-License-Identifier: BSD-3-Clause */
/* User-defined operations and datatypes: the public calls. */
#include "runtime/api/call.h"
#include "runtime/api/lock.h"
#include "runtime/base/reduce.h"
#include "runtime/base/user_table.h"

#define DTYPE_MAX_BYTES ((size_t)64 << 20)

/* Is it, open or held, a handle of that kind? */
static int is_of(unsigned handle, int is_op)
{
    return is_op ? hx_user_op((hx_op_t)handle).fn != NULL : hx_user_dtype_bytes((hx_dtype_t)handle) > 0;
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
                       is_of(handle, !is_op)      ? "is a handle of the other kind"
                       : hx_user_was_open(handle) ? "has been freed already"
                                                  : "does not exist");
    for (const struct hx_world *world = hx_world; world; world = world->older)
        for (struct hx_comm *comm = world->comms; comm; comm = comm->next) {
            bound_forget(&comm->engine, handle);
            for (int i = 0; i < HX_CONCURRENT; i++)
                bound_forget(comm->others[i], handle);
        }
    hx_user_close(handle);
    return HX_SUCCESS;
}

hx_status_t hx_op_create(hx_reduce_fn_t *fn, int commutative, void *ctx, hx_op_t *op)
{
    uint32_t handle;

    if (!fn || !op)
        return hx_fail(HX_ERR_ARG, "hx_op_create: %s is NULL", fn ? "op" : "fn");
    if (!(handle = hx_user_take(0, (struct hx_user_op){fn, ctx, commutative})))
        return hx_fail(HX_ERR_NOMEM, "hx_op_create: %d operations and datatypes are in use", HX_USER_PLACES);
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
    HX_ENTER();
    return user_free("hx_op_free", "operation", hx_op_name(op), (unsigned)op, 1);
}

hx_status_t hx_dtype_contiguous(size_t bytes, hx_dtype_t *dtype)
{
    uint32_t handle;

    if (!dtype)
        return hx_fail(HX_ERR_ARG, "hx_dtype_contiguous: dtype is NULL");
    if (bytes == 0 || bytes > DTYPE_MAX_BYTES)
        return hx_fail(HX_ERR_ARG, "hx_dtype_contiguous: an element of %zu bytes; choose 1 to %zu", bytes,
                       DTYPE_MAX_BYTES);
    if (!(handle = hx_user_take(bytes, (struct hx_user_op){0})))
        return hx_fail(HX_ERR_NOMEM, "hx_dtype_contiguous: %d operations and datatypes are in use", HX_USER_PLACES);
    *dtype = (hx_dtype_t)handle;
    return HX_SUCCESS;
}

hx_status_t hx_dtype_free(hx_dtype_t dtype)
{
    HX_ENTER();
    return user_free("hx_dtype_free", "datatype", hx_dtype_name(dtype), (unsigned)dtype, 0);
}
