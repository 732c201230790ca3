/* SPDX-License-Identifier: BSD-3-Clause */
/* hx_alloc and hx_free: every rank has its memory, or none has. The memory: runtime/engine/shared_alloc.c. */
#include "runtime/api/call.h"
#include "runtime/api/lock.h"
#include "runtime/engine/shared_alloc.h"

/* Does every rank have its memory? If not, every rank gets an error that names the lowest rank without it. */
static hx_status_t all_have(hx_comm_t *comm, hx_status_t mine)
{
    int32_t lacks = mine == HX_SUCCESS ? comm->members.size : comm->members.rank, lowest = lacks;
    const struct hx_call_key key = hx_call_key_for(HX_FOR_ALLOC, 0, hx_call_key_of(HX_COLL_ALLREDUCE, HX_INT32, HX_MIN, 0, 1));
    hx_status_t status = hx_call_inner("hx_alloc", comm, key, &lacks, &lowest);

    if (status != HX_SUCCESS || lowest == comm->members.size)
        return status;
    if (mine == HX_SUCCESS)
        hx_fail(HX_ERR_NOMEM, "hx_alloc: rank %d has no memory for its part", lowest);
    return hx_comm_fail(comm, HX_ERR_NOMEM);
}

hx_status_t hx_alloc(hx_comm_t *comm, size_t bytes, void **memory)
{
    hx_status_t status;

    HX_ENTER();
    if (memory)
        *memory = NULL;
    if ((status = hx_comm_check(comm, "hx_alloc")) != HX_SUCCESS || (status = hx_notice_refuse("hx_alloc")) != HX_SUCCESS ||
        (status = hx_group_refuse(comm, "hx_alloc")) != HX_SUCCESS)
        return status;
    if (!memory)
        return hx_comm_fail(comm, hx_fail(HX_ERR_ARG, "hx_alloc: memory is NULL"));
    if (bytes > PTRDIFF_MAX / 2)
        return hx_comm_fail(comm, hx_fail(HX_ERR_ARG, "hx_alloc: %zu bytes are more than an address space holds", bytes));
    status = all_have(comm, bytes ? hx_shared_alloc_open(&comm->world->process, bytes, memory) : HX_SUCCESS);
    if (status == HX_SUCCESS) {
        comm->shared_alloc = comm->world->process.job.single_copy && comm->members.shape->max_local > 1;
        return HX_SUCCESS;
    }
    if (*memory) {
        hx_shared_alloc_close(&comm->world->process, *memory);
        *memory = NULL;
    }
    return status;
}

hx_status_t hx_free(hx_comm_t *comm, void *memory)
{
    HX_ENTER();
    if (!comm || !hx_comm_is_open(comm))
        return hx_comm_check(comm, "hx_free");
    if (memory && !hx_shared_alloc_close(&comm->world->process, memory))
        return hx_comm_fail(comm, hx_fail(HX_ERR_ARG, "hx_free: %p is not a pointer from hx_alloc, or is already freed", memory));
    return HX_SUCCESS;
}
