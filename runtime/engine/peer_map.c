/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allocations of hx_alloc that other ranks of the node have published in their control lines. When this rank first reads from one,
 * it maps the allocation by its owner's descriptor under /proc, and keeps it mapped. If it cannot be mapped, FETCH reads it like
 * any other memory.
 */
#include "runtime/base/log.h"
#include "runtime/engine/shared_alloc.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define VIEWS_MAX 256 /* allocations of one rank that are mapped at a time: the last used */

struct hx_peer_map {
    struct hx_peer_map *next;
    uint64_t number;
    void *base; /* NULL: cannot be mapped */
    size_t bytes;
};

static void map_close(struct hx_peer_map *map)
{
    if (map->base)
        munmap(map->base, map->bytes);
    free(map);
}

/* Is the file the published allocation? And can it not become shorter, which would end this process as it reads? */
static int file_is_shared_alloc(int fd, uint64_t inode, struct stat *st)
{
    int seals = fcntl(fd, F_GET_SEALS);

    return seals >= 0 && seals & F_SEAL_SHRINK && fstat(fd, st) == 0 && S_ISREG(st->st_mode) && st->st_ino == inode;
}

static void map_open(struct hx_peer_map *map, const struct hx_control *theirs, int buffer)
{
    uint64_t inode = atomic_load_explicit(&theirs->shared_allocs[buffer].inode, memory_order_relaxed);
    const char *why = NULL;
    struct stat st;
    char path[64];
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/fd/%u", theirs->pid, (uint32_t)map->number);
    if ((fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) < 0)
        why = strerror(errno);
    else if (!file_is_shared_alloc(fd, inode, &st))
        why = "it is another file";
    else if ((map->base = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0)) == MAP_FAILED)
        why = strerror(errno);
    if (fd >= 0)
        close(fd);
    if (why) {
        map->base = NULL;
        hx_info("cannot map memory of hx_alloc, %s (%s): Hierax reads it by system calls", path, why);
        return;
    }
    map->bytes = (size_t)st.st_size;
    madvise(map->base, map->bytes, MADV_DONTDUMP); /* its owner's core has it */
}

/* The last used stands first. */
static struct hx_peer_map *map_of(struct hx_process *process, int row, const struct hx_control *theirs, int buffer, uint64_t number)
{
    struct hx_peer_map **first, **at, *map;
    int n = 0;

    if (!process->peer_maps && !(process->peer_maps = calloc((size_t)process->shared->n, sizeof(*process->peer_maps))))
        return NULL;
    first = at = &process->peer_maps[row];
    for (; (map = *at) && map->number != number; at = &map->next, n++) {
        if (n < VIEWS_MAX - 1)
            continue;
        *at = NULL; /* the last of all */
        map_close(map);
        break;
    }
    if ((map = *at)) {
        *at = map->next;
    } else {
        if (!(map = calloc(1, sizeof(*map))))
            return NULL;
        map->number = number;
        map_open(map, theirs, buffer);
    }
    map->next = *first;
    *first = map;
    return map;
}

struct hx_view hx_peer_map_view(struct hx_process *process, int row, const struct hx_control *theirs, int buffer)
{
    uint64_t number = atomic_load_explicit(&theirs->allocs[buffer], memory_order_relaxed);
    const struct hx_peer_map *map = number ? map_of(process, row, theirs, buffer, number) : NULL;
    uintptr_t first;

    if (!map || !map->base)
        return (struct hx_view){0};
    first = atomic_load_explicit(&theirs->shared_allocs[buffer].base, memory_order_relaxed);
    return (struct hx_view){first, first + map->bytes, (uintptr_t)map->base - first};
}

void hx_peer_maps_close(struct hx_process *process)
{
    for (int row = 0; process->peer_maps && row < process->shared->n; row++)
        for (struct hx_peer_map *map = process->peer_maps[row], *next; map; map = next) {
            next = map->next;
            map_close(map);
        }
    free(process->peer_maps);
    process->peer_maps = NULL;
}
