/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One rank of a job, of which one gets no memory: starved RANK NTH. On that rank the NTH allocation, from 0 on, of which Hierax asks is
 * refused. Starts, makes some calls, prints "rank R STATUS after MS ms" and ends; "refused" where it is.
 */
#include "runtime/base/clock.h"
#include <dlfcn.h>
#include <errno.h>
#include <hierax.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

#define SEEN __attribute__((visibility("default"))) /* by the library, too */

static const void *library; /* where Hierax is loaded; NULL: nothing is refused */
static long left;

static int is_refused(const void *caller)
{
    Dl_info of;

    if (!library || !dladdr(caller, &of) || of.dli_fbase != library || left-- != 0)
        return 0;
    if (write(STDERR_FILENO, "refused\n", 8) != 8)
        abort();
    errno = ENOMEM;
    return 1;
}

SEEN void *malloc(size_t bytes)
{
    return is_refused(__builtin_return_address(0)) ? NULL : __libc_malloc(bytes);
}

SEEN void *calloc(size_t n, size_t bytes)
{
    return is_refused(__builtin_return_address(0)) ? NULL : __libc_calloc(n, bytes);
}

SEEN void *realloc(void *memory, size_t bytes)
{
    return is_refused(__builtin_return_address(0)) ? NULL : __libc_realloc(memory, bytes);
}

SEEN int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    *memory = is_refused(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, bytes);
    return *memory ? 0 : ENOMEM;
}

SEEN void *aligned_alloc(size_t alignment, size_t bytes)
{
    return is_refused(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, bytes);
}

static hx_status_t calls_make(hx_comm_t *world)
{
    static double in[5000], out[20000];
    hx_status_t status = hx_barrier(world);
    hx_comm_t *dup = NULL;

    if (status == HX_SUCCESS)
        status = hx_allreduce(in, out, 5000, HX_FLOAT64, HX_SUM, world);
    if (status == HX_SUCCESS)
        status = hx_comm_dup(world, &dup);
    if (status == HX_SUCCESS)
        status = hx_allgather(in, out, 5000, HX_FLOAT64, dup);
    if (dup && status == HX_SUCCESS)
        status = hx_comm_free(dup);
    return status;
}

int main(int argc, char **argv)
{
    const char *rank = getenv("HX_RANK");
    Dl_info of;
    hx_comm_t *world;
    double start = 1e3 * hx_now_s();

    if (argc < 3 || !rank)
        return 2;
    left = atol(argv[2]);
    if (!strcmp(argv[1], rank) && dladdr(dlsym(RTLD_DEFAULT, "hx_init"), &of))
        library = of.dli_fbase;
    hx_status_t status = hx_init(&world);
    if (status == HX_SUCCESS) {
        status = calls_make(world);
        hx_finalize();
    }
    printf("rank %s %d after %.0f ms\n", rank, (int)status, 1e3 * hx_now_s() - start);
    return 0;
}
