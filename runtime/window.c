/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hx_alloc: a memfd for each window, sealed against shrinking. A rank tells in its control line, with the buffers of its call, in
 * which window they stand (window.h); another rank of the node maps that window when it first reads from it, by the owner's descriptor under
 * /proc, and keeps it mapped. A window that is freed gives its pages back at once, whoever has it mapped still; its number is not used
 * again. Where it cannot be mapped, FETCH reads as of any other memory.
 */
#include "window.h"
#include "call.h"
#include "handle.h"
#include "lock.h"
#include "log.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define VIEWS_MAX 256 /* windows of others that are mapped at a time: the last used */

struct hx_window { /* of this process */
    struct hx_window *next;
    uint64_t number; /* its descriptor, and in the upper half how many were made before */
    unsigned char *base;
    size_t bytes;
};

struct hx_window_map { /* of another's */
    struct hx_window_map *next;
    uint64_t number;
    int row;
    void *base; /* NULL: cannot be mapped */
    size_t bytes;
};

/* ---- of this process --------------------------------------------------------------------------------------------- */

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
    void *base;
    int fd;

    if ((fd = memory_make(whole)) < 0)
        return (hx_status_t)-fd;
    window = malloc(sizeof(*window));
    base = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (!window || base == MAP_FAILED) {
        hx_status_t status = hx_fail(HX_ERR_NOMEM, "hx_alloc: no memory for %zu bytes: %s", bytes, strerror(errno));
        if (base != MAP_FAILED)
            munmap(base, whole);
        close(fd);
        free(window);
        return status;
    }
    *window = (struct hx_window){world->windows, ++world->windows_made << 32 | (uint32_t)fd, base, whole};
    world->windows = window;
    if (world->net)
        hx_registry.net->memory_add(world->net, base, whole);
    *memory = base;
    return HX_SUCCESS;
}

static void window_close(struct hx_world *world, struct hx_window *window)
{
    int fd = (int)(uint32_t)window->number;

    if (world->net)
        hx_registry.net->memory_remove(world->net, window->base);
    munmap(window->base, window->bytes);
    fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)window->bytes); /* others may have it mapped */
    close(fd);
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

void hx_window_tell(const struct hx_world *world, struct hx_control *mine, int buffer, uintptr_t address)
{
    const struct hx_window *window = world->windows;

    while (window && address - (uintptr_t)window->base >= window->bytes)
        window = window->next;
    /* relaxed: as the buffer's address, which stands beside it, an offer's flag publishes them */
    atomic_store_explicit(&mine->windows[buffer], window ? window->number : 0, memory_order_relaxed);
    atomic_store_explicit(&mine->window_bases[buffer], window ? (uintptr_t)window->base : 0, memory_order_relaxed);
}

/* ---- of others --------------------------------------------------------------------------------------------------- */

static void map_close(struct hx_window_map *map)
{
    if (map->base)
        munmap(map->base, map->bytes);
    free(map);
}

static void map_open(struct hx_window_map *map, int pid)
{
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW; /* without them a read could end this process */
    struct stat st;
    char path[64];
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/fd/%u", pid, (uint32_t)map->number);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0 && (fcntl(fd, F_GET_SEALS) & seals) == seals) {
        void *base = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
        map->base = base == MAP_FAILED ? NULL : base;
        map->bytes = (size_t)st.st_size;
    }
    if (!map->base)
        hx_info("cannot map memory of hx_alloc of process %d (%s): it is read by system calls", pid, strerror(errno));
    if (fd >= 0)
        close(fd);
}

/* The last used stands first. */
static struct hx_window_map *map_of(struct hx_world *world, int row, uint64_t number, int pid)
{
    struct hx_window_map **at = &world->window_maps, *map;
    int n = 0;

    for (; (map = *at) && (map->row != row || map->number != number); n++) {
        if (n == VIEWS_MAX - 1) {
            *at = map->next;
            map_close(map);
            break;
        }
        at = &map->next;
    }
    map = *at;
    if (map) {
        *at = map->next;
    } else {
        if (!(map = calloc(1, sizeof(*map))))
            return NULL;
        map->row = row;
        map->number = number;
        map_open(map, pid);
    }
    map->next = world->window_maps;
    world->window_maps = map;
    return map;
}

struct hx_view hx_window_view(struct hx_world *world, int row, const struct hx_control *theirs, int buffer)
{
    uint64_t number = atomic_load_explicit(&theirs->windows[buffer], memory_order_relaxed);
    uintptr_t first = atomic_load_explicit(&theirs->window_bases[buffer], memory_order_relaxed);
    const struct hx_window_map *map = number ? map_of(world, row, number, theirs->pid) : NULL;

    if (!map || !map->base)
        return (struct hx_view){0};
    return (struct hx_view){first, first + map->bytes, (uintptr_t)map->base - first};
}

void hx_windows_close(struct hx_world *world)
{
    for (struct hx_window *window; (window = world->windows);) {
        world->windows = window->next;
        window_close(world, window);
    }
    for (struct hx_window_map *map; (map = world->window_maps);) {
        world->window_maps = map->next;
        map_close(map);
    }
}

/* ---- the program's ----------------------------------------------------------------------------------------------- */

static hx_status_t comm_check(const hx_comm_t *comm, const char *name)
{
    if (!comm)
        return hx_fail(HX_ERR_ARG, "%s: the communicator is NULL", name);
    return hx_comm_is_open(comm) ? comm->failed : hx_fail(HX_ERR_STATE, "%s: this communicator is not open", name);
}

/* Has every rank its memory? Else the lowest that has not is told to all. */
static hx_status_t all_have(hx_comm_t *comm, hx_status_t mine)
{
    int32_t lacks = mine == HX_SUCCESS ? comm->size : comm->rank, lowest = lacks;
    struct hx_call agree = {.name = "hx_alloc", .comm = comm, .kind = hx_kind_of(HX_COLL_ALLREDUCE, HX_INT32, HX_MIN, 0, 1),
                            .in = &lacks, .out = &lowest, .needed = {&lacks, &lowest}};
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

    if (!memory)
        return hx_fail(HX_ERR_ARG, "hx_alloc: memory is NULL");
    *memory = NULL;
    if ((status = comm_check(comm, "hx_alloc")) != HX_SUCCESS)
        return status;
    if (bytes > PTRDIFF_MAX / 2)
        return hx_comm_fail(comm, hx_fail(HX_ERR_ARG, "hx_alloc: %zu bytes are more than an address space", bytes));
    status = all_have(comm, bytes ? window_open(comm->world, bytes, memory) : HX_SUCCESS);
    if (status == HX_SUCCESS) {
        comm->windows = comm->world->job.single_copy;
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
    hx_status_t status = comm_check(comm, "hx_free");
    struct hx_window *window;

    if (!memory || (status != HX_SUCCESS && status != comm->failed))
        return status;
    if (!(window = window_take(comm->world, memory)))
        return hx_comm_fail(comm, hx_fail(HX_ERR_ARG, "hx_free: %p is not what hx_alloc gave, or has been freed", memory));
    window_close(comm->world, window);
    return HX_SUCCESS;
}

hx_status_t hx_alloc(hx_comm_t *comm, size_t bytes, void **memory)
{
    HX_RETURN_IF_FREED(comm, "hx_alloc");
    return HX_LOCKED(alloc_locked(comm, bytes, memory));
}

hx_status_t hx_free(hx_comm_t *comm, void *memory)
{
    HX_RETURN_IF_FREED(comm, "hx_free");
    return HX_LOCKED(free_locked(comm, memory));
}
