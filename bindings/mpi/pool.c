/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HXMPI_ALLOC: MPI_Alloc_mem takes blocks from a pool of this rank. The pool is memory of hx_alloc, so the ranks of a node read it directly, and
 * a network device that needs registered memory sends from it. The pool is made of runs of pages. A run is a block in use, or free:
 *
 *   page     0    1    2    3    4    5    6    7
 *           [ block of 3   ][free][ block of 2 ][free ...
 *   runs    3|USED          1     2|USED        2          numbers stand at the first page of a run
 *
 * A block is the first free run that is long enough. Free runs that follow one another become one when a search meets them. No free run begins
 * before the page first_free.
 */
#include "hxmpi.h"
#include "runtime/base/size.h"
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PAGE ((size_t)4096)
#define USED (UINT32_C(1) << 31)
#define POOL_DEFAULT ((int64_t)1 << 30)
#define POOL_LEAST ((int64_t)1 << 20)
#define POOL_MOST ((int64_t)1 << 42)

static struct {
    unsigned char *base; /* NULL: there is no pool */
    uintptr_t begin, end; /* its addresses, which outlive it */
    size_t pages, free_pages, first_free;
    uint32_t *runs;
    unsigned long taken, refused; /* blocks */
} pool;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

int64_t hxmpi_pool_wish(int rank)
{
    const char *wish = getenv("HXMPI_ALLOC"), *end = "";
    int64_t bytes = 0;

    if (!wish || !*wish || !strcmp(wish, "0"))
        return 0;
    if (!strcmp(wish, "1"))
        return POOL_DEFAULT;
    if (hx_size_parse(wish, &end, &bytes) == 0 && !*end && bytes >= POOL_LEAST && bytes <= POOL_MOST)
        return bytes;
    if (rank == 0)
        hxmpi_say("HXMPI_ALLOC=%.60s is wrong; choices: 0 (no pool), 1 (a pool of 1 GiB), or a size from 1M to 4096G. There is no pool", wish);
    return 0;
}

void hxmpi_pool_open(hx_comm_t *world, int rank, int64_t bytes)
{
    void *base = NULL;
    uint32_t *runs = calloc((size_t)bytes / PAGE, sizeof(*runs));
    const int ready = hxmpi_least(runs != NULL);

    if (!ready || hx_alloc(world, (size_t)bytes, &base) != HX_SUCCESS) {
        if (rank == 0)
            hxmpi_say("HXMPI_ALLOC: there is no pool: %s", ready ? hx_error_detail(world) : "a rank has no memory for it");
        free(runs);
        return;
    }
    pool.base = base;
    pool.begin = (uintptr_t)base;
    pool.pages = pool.free_pages = (size_t)bytes / PAGE;
    pool.end = pool.begin + pool.pages * PAGE;
    pool.runs = runs;
    runs[0] = (uint32_t)pool.pages;
}

int hxmpi_pool_is_open(void)
{
    return pool.base != NULL;
}

hx_status_t hxmpi_pool_expect(hx_comm_t *comm)
{
    void *none;

    return hx_alloc(comm, 0, &none);
}

/* MPI_Finalize: hx_finalize frees the memory. */
void hxmpi_pool_close(void)
{
    pthread_mutex_lock(&mutex);
    pool.base = NULL;
    free(pool.runs);
    pool.runs = NULL;
    pthread_mutex_unlock(&mutex);
}

void hxmpi_pool_print(int rank)
{
    if (pool.end)
        fprintf(stderr, "hierax-mpi: rank %d: MPI_Alloc_mem: %lu blocks from the pool, %lu from MPI\n", rank, pool.taken, pool.refused);
}

/* The run at this page takes in the free runs behind it. Returns its length. */
static uint32_t free_run_join(size_t page)
{
    uint32_t n = pool.runs[page];

    for (size_t next = page + n; next < pool.pages && !(pool.runs[next] & USED); next = page + n)
        n += pool.runs[next];
    return pool.runs[page] = n;
}

/* NULL: there is no free run of so many pages. */
static void *take(size_t wanted)
{
    if (!pool.base || wanted > pool.free_pages)
        return NULL;
    for (size_t page = pool.first_free; page < pool.pages; page += pool.runs[page] & ~USED) {
        const uint32_t n = pool.runs[page] & USED ? 0 : free_run_join(page);
        if (n < wanted) {
            if (n == 0 && page == pool.first_free)
                pool.first_free += pool.runs[page] & ~USED;
            continue;
        }
        if (n > wanted)
            pool.runs[page + wanted] = n - (uint32_t)wanted;
        pool.runs[page] = (uint32_t)wanted | USED;
        pool.free_pages -= wanted;
        return pool.base + page * PAGE;
    }
    return NULL;
}

/* info: only MPI knows its keys. Blocks below a page would waste the pool. */
int MPI_Alloc_mem(MPI_Aint size, MPI_Info info, void *baseptr)
{
    void *block = NULL;

    if (!pool.end)
        return PMPI_Alloc_mem(size, info, baseptr);
    pthread_mutex_lock(&mutex);
    if (info == MPI_INFO_NULL && size >= (MPI_Aint)PAGE && (size_t)size <= pool.pages * PAGE)
        block = take(((size_t)size + PAGE - 1) / PAGE);
    pool.taken += block != NULL;
    pool.refused += block == NULL;
    pthread_mutex_unlock(&mutex);
    if (!block)
        return PMPI_Alloc_mem(size, info, baseptr);
    *(void **)baseptr = block;
    return MPI_SUCCESS;
}

int MPI_Free_mem(void *base)
{
    const uintptr_t at = (uintptr_t)base;
    int good = 1;

    if (at < pool.begin || at >= pool.end)
        return PMPI_Free_mem(base);
    pthread_mutex_lock(&mutex);
    if (pool.base) {
        const size_t page = (at - pool.begin) / PAGE;
        if ((good = (at - pool.begin) % PAGE == 0 && pool.runs[page] & USED)) {
            pool.runs[page] &= ~USED;
            pool.free_pages += pool.runs[page];
            pool.first_free = page < pool.first_free ? page : pool.first_free;
        }
    }
    pthread_mutex_unlock(&mutex);
    return good ? MPI_SUCCESS : hxmpi_error(MPI_COMM_WORLD, "Hierax: MPI_Free_mem: this address is not from MPI_Alloc_mem, or the block has already been freed");
}
