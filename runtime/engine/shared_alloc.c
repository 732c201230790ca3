/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hx_alloc: a memfd for each allocation, sealed against shrinking. With the buffers of its call a rank writes, in its control, the allocation of
 * each buffer. The other ranks of the node map that allocation (peer_map.c). An allocation that is freed gives its pages back at once, even while
 * others have it mapped. Its number is not used again.
 */
#include "runtime/engine/shared_alloc.h"
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
        hx_fail(HX_ERR_NOMEM, "hx_alloc: %zu bytes, but the file size limit (ulimit -f) is %llu bytes", bytes,
                (unsigned long long)limit.rlim_cur);
    else if (ftruncate(fd, (off_t)bytes) < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
        hx_fail(HX_ERR_NOMEM, "hx_alloc: no memory for %zu bytes: %s", bytes, strerror(errno));
    else
        return fd;
    close(fd);
    return -(int)HX_ERR_NOMEM;
}

hx_status_t hx_shared_alloc_open(struct hx_process *process, size_t bytes, void **memory)
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
    *allocation = (struct hx_shared_alloc){process->shared_allocs, ++process->shared_allocs_made << 32 | (uint32_t)fd, st.st_ino, base, whole};
    process->shared_allocs = allocation;
    if (process->net)
        hx_registry.net->memory_add(process->net, base, whole, HX_MEMORY_PROGRAM);
    *memory = base;
    return HX_SUCCESS;
}

static void allocation_close(struct hx_process *process, struct hx_shared_alloc *allocation)
{
    int stays = process->net && hx_registry.net->memory_remove(process->net, allocation->base);

    madvise(allocation->base, allocation->bytes, MADV_REMOVE); /* others may have it mapped */
    if (!stays)
        munmap(allocation->base, allocation->bytes);
    close((int)(uint32_t)allocation->number);
    free(allocation);
}

int hx_shared_alloc_close(struct hx_process *process, const void *memory)
{
    struct hx_shared_alloc **at = &process->shared_allocs, *allocation;

    while ((allocation = *at) && allocation->base != memory)
        at = &allocation->next;
    if (!allocation)
        return 0;
    *at = allocation->next;
    allocation_close(process, allocation);
    return 1;
}

void hx_shared_alloc_tell(struct hx_process *process, struct hx_control *mine, int buffer, uintptr_t address)
{
    struct hx_shared_alloc **at = &process->shared_allocs, *allocation;

    while ((allocation = *at) && address - (uintptr_t)allocation->base >= allocation->bytes)
        at = &allocation->next;
    if (allocation) { /* the last used stands first */
        *at = allocation->next;
        allocation->next = process->shared_allocs;
        process->shared_allocs = allocation;
    }
    /* relaxed: as the buffer's address, which stands beside them, an offer's flag publishes them */
    atomic_store_explicit(&mine->allocs[buffer], allocation ? allocation->number : 0, memory_order_relaxed);
    if (!allocation)
        return;
    atomic_store_explicit(&mine->shared_allocs[buffer].inode, allocation->inode, memory_order_relaxed);
    atomic_store_explicit(&mine->shared_allocs[buffer].base, (uintptr_t)allocation->base, memory_order_relaxed);
}

void hx_shared_allocs_close(struct hx_process *process)
{
    for (struct hx_shared_alloc *allocation; (allocation = process->shared_allocs);) {
        process->shared_allocs = allocation->next;
        allocation_close(process, allocation);
    }
}
