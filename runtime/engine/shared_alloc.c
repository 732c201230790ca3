/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hx_alloc: a memfd for each allocation, sealed against shrinking. With the buffers of its call a rank writes, in its control, the allocation of
 * each buffer. The other ranks of the node map that allocation (peer_map.c). An allocation that is freed gives its pages back at once, even while
 * others have it mapped. Its number is not used again.
 */
#include "runtime/engine/shared_alloc.h"
#include "runtime/api/call.h"
#include "runtime/api/lock.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

struct hx_shared_alloc {
    struct hx_shared_alloc *next;
    uint64_t number; /* its descriptor, and in the upper half how many were made before */
    uint64_t inode;
    unsigned char *base;
    size_t bytes;
};

static int memory_make(size_t bytes)
{
    struct rlimit limit;
    int fd = memfd_create("hierax-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0)
        return -(int)hx_fail(HX_ERR_NOMEM, "hx_alloc: memfd_create: %s", strerror(errno));
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes) /* else a signal would tell */
        hx_fail(HX_ERR_NOMEM, "hx_alloc: %zu bytes, and the file size limit (ulimit -f) is %llu bytes", bytes, (unsigned long long)limit.rlim_cur);
    else if (ftruncate(fd, (off_t)bytes) < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
        hx_fail(HX_ERR_NOMEM, "hx_alloc: no memory for %zu bytes: %s", bytes, strerror(errno));
    else
        return fd;
    close(fd);
    return -(int)HX_ERR_NOMEM;
}

static hx_status_t allocation_open(struct hx_world *world, size_t bytes, void **memory)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (bytes + page - 1) & ~(page - 1);
    struct hx_shared_alloc *allocation;
    struct stat st;
    void *base;
    int fd;

    if ((fd = memory_make(whole)) < 0)
        return (hx_status_t)-fd;
    allocation = malloc(sizeof(*allocation));
    base = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (!allocation || base == MAP_FAILED || fstat(fd, &st) < 0) {
        hx_status_t status = hx_fail(HX_ERR_NOMEM, "hx_alloc: no memory for %zu bytes: %s", bytes, strerror(errno));
        if (base != MAP_FAILED)
            munmap(base, whole);
        close(fd);
        free(allocation);
        return status;
    }
    *allocation = (struct hx_shared_alloc){world->shared_allocs, ++world->shared_allocs_made << 32 | (uint32_t)fd, st.st_ino, base, whole};
    world->shared_allocs = allocation;
    if (world->net)
        hx_registry.net->memory_add(world->net, base, whole, HX_MEMORY_PROGRAM);
    *memory = base;
    return HX_SUCCESS;
}

static void allocation_close(struct hx_world *world, struct hx_shared_alloc *allocation)
{
    int stays = world->net && hx_registry.net->memory_remove(world->net, allocation->base);

    madvise(allocation->base, allocation->bytes, MADV_REMOVE); /* others may have it mapped */
    if (!stays)
        munmap(allocation->base, allocation->bytes);
    close((int)(uint32_t)allocation->number);
    free(allocation);
}

/* The one at this address, out of the list; NULL: none begins there. */
static struct hx_shared_alloc *allocation_take(struct hx_world *world, const void *base)
{
    struct hx_shared_alloc **at = &world->shared_allocs, *allocation;

    while ((allocation = *at) && allocation->base != base)
        at = &allocation->next;
    if (allocation)
        *at = allocation->next;
    return allocation;
}

void hx_shared_alloc_tell(struct hx_world *world, struct hx_control *mine, int buffer, uintptr_t address)
{
    struct hx_shared_alloc **at = &world->shared_allocs, *allocation;

    while ((allocation = *at) && address - (uintptr_t)allocation->base >= allocation->bytes)
        at = &allocation->next;
    if (allocation) { /* the last used stands first */
        *at = allocation->next;
        allocation->next = world->shared_allocs;
        world->shared_allocs = allocation;
    }
    /* relaxed: as the buffer's address, which stands beside them, an offer's flag publishes them */
    atomic_store_explicit(&mine->shared_allocs[buffer].number, allocation ? allocation->number : 0, memory_order_relaxed);
    atomic_store_explicit(&mine->shared_allocs[buffer].inode, allocation ? allocation->inode : 0, memory_order_relaxed);
    atomic_store_explicit(&mine->shared_allocs[buffer].base, allocation ? (uintptr_t)allocation->base : 0, memory_order_relaxed);
}

void hx_shared_allocs_close(struct hx_world *world)
{
    for (struct hx_shared_alloc *allocation; (allocation = world->shared_allocs);) {
        world->shared_allocs = allocation->next;
        allocation_close(world, allocation);
    }
}

/* Has every rank its memory? Else the lowest that has not is told to all. */
static hx_status_t all_have(hx_comm_t *comm, hx_status_t mine)
{
    int32_t lacks = mine == HX_SUCCESS ? comm->size : comm->rank, lowest = lacks;
    struct hx_call agree = {.name = "hx_alloc", .comm = comm, .in = &lacks, .out = &lowest, .needed = {&lacks, &lowest},
                            .key = hx_call_key_for(HX_FOR_ALLOC, 0, hx_call_key_of(HX_COLL_ALLREDUCE, HX_INT32, HX_MIN, 0, 1))};
    hx_status_t status = hx_call_do(&agree, HX_BLOCKING, NULL);

    if (status != HX_SUCCESS || lowest == comm->size)
        return status;
    if (mine == HX_SUCCESS)
        hx_fail(HX_ERR_NOMEM, "hx_alloc: rank %d has no memory for its part", lowest);
    return hx_comm_fail(comm, HX_ERR_NOMEM);
}

static hx_status_t alloc_locked(hx_comm_t *comm, size_t bytes, void **memory)
{
    hx_status_t status;

    if (memory)
        *memory = NULL;
    if ((status = hx_comm_check(comm, "hx_alloc")) != HX_SUCCESS)
        return status;
    if (!memory)
        return hx_comm_fail(comm, hx_fail(HX_ERR_ARG, "hx_alloc: memory is NULL"));
    if (bytes > PTRDIFF_MAX / 2)
        return hx_comm_fail(comm, hx_fail(HX_ERR_ARG, "hx_alloc: %zu bytes are more than an address space", bytes));
    status = all_have(comm, bytes ? allocation_open(comm->world, bytes, memory) : HX_SUCCESS);
    if (status == HX_SUCCESS) {
        comm->shared_alloc = comm->world->job.single_copy && comm->shape->max_local > 1;
        return HX_SUCCESS;
    }
    if (*memory) {
        allocation_close(comm->world, allocation_take(comm->world, *memory));
        *memory = NULL;
    }
    return status;
}

static hx_status_t free_locked(hx_comm_t *comm, void *memory)
{
    struct hx_shared_alloc *allocation;

    if (!comm || !hx_comm_is_open(comm))
        return hx_comm_check(comm, "hx_free");
    if (!memory)
        return HX_SUCCESS;
    if (!(allocation = allocation_take(comm->world, memory)))
        return hx_comm_fail(comm, hx_fail(HX_ERR_ARG, "hx_free: %p is not what hx_alloc gave, or has been freed", memory));
    allocation_close(comm->world, allocation);
    return HX_SUCCESS;
}

hx_status_t hx_alloc(hx_comm_t *comm, size_t bytes, void **memory)
{
    return HX_LOCKED(alloc_locked(comm, bytes, memory));
}

hx_status_t hx_free(hx_comm_t *comm, void *memory)
{
    return HX_LOCKED(free_locked(comm, memory));
}
