/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hx_alloc: a memfd for each window, sealed against shrinking. With the buffers of its call a rank writes, in its control, the window of
 * each buffer. The other ranks of the node map that window (peer_map.c). A window that is freed gives its pages back at once, even while
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

struct hx_window {
    struct hx_window *next;
    uint64_t number; /* its descriptor, and in the upper half how many were made before */
    uint64_t inode;
    unsigned char *base;
    size_t bytes;
};

static int memory_make(size_t bytes)
{
    struct rlimit limit;
    int fd = memfd_create("hierax-window", MFD_CLOEXEC | MFD_ALLOW_SEALING);

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

static hx_status_t window_open(struct hx_world *world, size_t bytes, void **memory)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (bytes + page - 1) & ~(page - 1);
    struct hx_window *window;
    struct stat st;
    void *base;
    int fd;

    if ((fd = memory_make(whole)) < 0)
        return (hx_status_t)-fd;
    window = malloc(sizeof(*window));
    base = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (!window || base == MAP_FAILED || fstat(fd, &st) < 0) {
        hx_status_t status = hx_fail(HX_ERR_NOMEM, "hx_alloc: no memory for %zu bytes: %s", bytes, strerror(errno));
        if (base != MAP_FAILED)
            munmap(base, whole);
        close(fd);
        free(window);
        return status;
    }
    *window = (struct hx_window){world->windows, ++world->windows_made << 32 | (uint32_t)fd, st.st_ino, base, whole};
    world->windows = window;
    if (world->net)
        hx_registry.net->memory_add(world->net, base, whole, HX_MEMORY_PROGRAM);
    *memory = base;
    return HX_SUCCESS;
}

static void window_close(struct hx_world *world, struct hx_window *window)
{
    int stays = world->net && hx_registry.net->memory_remove(world->net, window->base);

    madvise(window->base, window->bytes, MADV_REMOVE); /* others may have it mapped */
    if (!stays)
        munmap(window->base, window->bytes);
    close((int)(uint32_t)window->number);
    free(window);
}

/* The one at this address, out of the list; NULL: none begins there. */
static struct hx_window *window_take(struct hx_world *world, const void *base)
{
    struct hx_window **at = &world->windows, *window;

    while ((window = *at) && window->base != base)
        at = &window->next;
    if (window)
        *at = window->next;
    return window;
}

void hx_window_tell(struct hx_world *world, struct hx_control *mine, int buffer, uintptr_t address)
{
    struct hx_window **at = &world->windows, *window;

    while ((window = *at) && address - (uintptr_t)window->base >= window->bytes)
        at = &window->next;
    if (window) { /* the last used stands first */
        *at = window->next;
        window->next = world->windows;
        world->windows = window;
    }
    /* relaxed: as the buffer's address, which stands beside them, an offer's flag publishes them */
    atomic_store_explicit(&mine->windows[buffer].number, window ? window->number : 0, memory_order_relaxed);
    atomic_store_explicit(&mine->windows[buffer].inode, window ? window->inode : 0, memory_order_relaxed);
    atomic_store_explicit(&mine->windows[buffer].base, window ? (uintptr_t)window->base : 0, memory_order_relaxed);
}

void hx_windows_close(struct hx_world *world)
{
    for (struct hx_window *window; (window = world->windows);) {
        world->windows = window->next;
        window_close(world, window);
    }
}

/* Has every rank its memory? Else the lowest that has not is told to all. */
static hx_status_t all_have(hx_comm_t *comm, hx_status_t mine)
{
    int32_t lacks = mine == HX_SUCCESS ? comm->size : comm->rank, lowest = lacks;
    struct hx_call agree = {.name = "hx_alloc", .comm = comm, .in = &lacks, .out = &lowest, .needed = {&lacks, &lowest},
                            .kind = hx_kind_for(HX_FOR_ALLOC, 0, hx_kind_of(HX_COLL_ALLREDUCE, HX_INT32, HX_MIN, 0, 1))};
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
    status = all_have(comm, bytes ? window_open(comm->world, bytes, memory) : HX_SUCCESS);
    if (status == HX_SUCCESS) {
        comm->windows = comm->world->job.single_copy && comm->shape->max_local > 1;
        return HX_SUCCESS;
    }
    if (*memory) {
        window_close(comm->world, window_take(comm->world, *memory));
        *memory = NULL;
    }
    return status;
}

static hx_status_t free_locked(hx_comm_t *comm, void *memory)
{
    struct hx_window *window;

    if (!comm || !hx_comm_is_open(comm))
        return hx_comm_check(comm, "hx_free");
    if (!memory)
        return HX_SUCCESS;
    if (!(window = window_take(comm->world, memory)))
        return hx_comm_fail(comm, hx_fail(HX_ERR_ARG, "hx_free: %p is not what hx_alloc gave, or has been freed", memory));
    window_close(comm->world, window);
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
