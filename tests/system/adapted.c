/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One rank of a job whose calls change over between plans (HX_ADAPT), each kind of call again and again among all others. The time of a call
 * is real, but a second is added to it if its plan is on the side that shall be slow. Each result must have the bits of the first.
 *   adapted SLOW [refuse N | secret | die]    SLOW: slots, single_copy or none
 *       refuse   process_vm_readv fails after so many reads on each rank, as for memory that the kernel does not read
 *       secret   all buffers are memory of memfd_secret; ends with 77 if there is none
 *       die      rank 1 ends in the middle of a trial
 */
#include "runtime/api/comm.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { CALLS = 2 * (64 + 18 + 16) + 64, COUNT = 16384, MOST = 8 }; /* two trials of each kind, and what follows; elements of a block; ranks */

static hx_comm_t *comm;
static int rank, size, slow = -1;
static long reads_left = -1;
static float *in, *out, *wanted;
static hx_op_t own_sum;
static hx_dtype_t own_type;

ssize_t process_vm_readv(pid_t pid, const struct iovec *to, unsigned long nto, const struct iovec *from, unsigned long nfrom, unsigned long flags)
{
    if (reads_left > 0)
        reads_left--;
    if (reads_left) /* less than 0: no limit */
        return syscall(SYS_process_vm_readv, pid, to, nto, from, nfrom, flags);
    errno = EFAULT;
    return -1;
}

static void check(hx_status_t status, const char *what)
{
    if (status == HX_SUCCESS)
        return;
    printf("rank %d: %s: %s: %s\n", rank, what, hx_strerror(status), hx_error_detail(comm));
    exit(1);
}

static void own_fn(const void *left, const void *right, void *result, size_t count, hx_dtype_t dtype, void *ctx)
{
    const float *a = left, *b = right;
    float *r = result;

    (void)dtype, (void)ctx;
    for (size_t i = 0; i < count; i++)
        r[i] = a[i] + b[i];
}

/* Does its plan read another rank's memory, or is this rank's read? */
static int is_single_copy(const struct hx_bound *bound)
{
    const struct hx_stage *stage = &bound->plan->stages[0];
    int reads = stage->offers;

    for (uint32_t i = 0; i < stage->nsteps; i++)
        reads |= stage->steps[i].op == HX_OP_FETCH;
    return reads;
}

static uint64_t extra_ns(const struct hx_bound *bound)
{
    return is_single_copy(bound) == slow ? 1000000000 : 0;
}

/* ---- kinds of call, with what they write on this rank */

static size_t at_root(int root, size_t n)
{
    return rank == root ? n : 0;
}

static size_t call(int kind)
{
    const int root = kind % size;
    size_t counts[MOST], all = (size_t)size * COUNT, sum = 0;

    for (int r = 0; r < size; r++)
        sum += counts[r] = COUNT - 100 * (size_t)r;
    switch (kind) {
    case 0: check(hx_bcast(out, COUNT, HX_FLOAT32, root, comm), "hx_bcast"); return COUNT;
    case 1: check(hx_allreduce(in, out, COUNT, HX_FLOAT32, HX_SUM, comm), "hx_allreduce"); return COUNT;
    case 2: check(hx_allreduce(HX_IN_PLACE, out, COUNT, HX_FLOAT32, HX_AVG, comm), "hx_allreduce in place"); return COUNT;
    case 3: check(hx_allreduce(in, out, COUNT, HX_FLOAT32, own_sum, comm), "hx_allreduce, own"); return COUNT;
    case 4: check(hx_reduce(rank == root ? HX_IN_PLACE : in, out, COUNT, HX_FLOAT32, HX_SUM, root, comm), "hx_reduce"); return at_root(root, COUNT);
    case 5: check(hx_reduce_scatter_block(in, out, COUNT, HX_FLOAT32, HX_SUM, comm), "hx_reduce_scatter_block"); return COUNT;
    case 6: check(hx_reduce_scatter(in, out, counts, HX_FLOAT32, HX_SUM, comm), "hx_reduce_scatter"); return counts[rank];
    case 7: check(hx_allgather(in, out, COUNT / 2, own_type, comm), "hx_allgather"); return all;
    case 8: check(hx_allgather(HX_IN_PLACE, out, COUNT, HX_FLOAT32, comm), "hx_allgather in place"); return all;
    case 9: check(hx_allgatherv(in, counts[rank], out, counts, NULL, HX_FLOAT32, comm), "hx_allgatherv"); return sum;
    case 10: check(hx_gather(rank == root ? HX_IN_PLACE : in, out, COUNT, HX_FLOAT32, root, comm), "hx_gather"); return at_root(root, all);
    case 11: check(hx_gatherv(in, counts[rank], out, counts, NULL, HX_FLOAT32, root, comm), "hx_gatherv"); return at_root(root, sum);
    case 12: check(hx_scatter(in, out, COUNT, HX_FLOAT32, root, comm), "hx_scatter"); return COUNT;
    case 13: check(hx_alltoall(in, out, COUNT, HX_FLOAT32, comm), "hx_alltoall"); return all;
    case 14: check(hx_alltoall(HX_IN_PLACE, out, COUNT, HX_FLOAT32, comm), "hx_alltoall in place"); return all;
    default: return 0;
    }
}
#define KINDS 15

static void kind_run(int kind, int first)
{
    const size_t all = (size_t)size * COUNT;
    float *keep = wanted + (size_t)kind * all;
    size_t n;

    for (size_t i = 0; i < all; i++) /* out is an input as well, in place */
        out[i] = in[i];
    n = call(kind);
    if (first)
        memcpy(keep, out, n * sizeof(*out));
    else if (memcmp(keep, out, n * sizeof(*out))) {
        printf("rank %d: other bits in kind %d\n", rank, kind);
        exit(1);
    }
}

/* Calls that take no part, some of the same kind, and plans that one rank alone binds, so that it forgets others. */
static void others_run(int i)
{
    static float a[COUNT], b[COUNT];
    hx_request_t *requests[2];
    hx_plan_info_t info;
    float one = 1, sum;

    check(hx_allreduce(&one, &sum, 1, HX_FLOAT32, HX_SUM, comm), "hx_allreduce of one");
    check(hx_iallreduce(a, b, COUNT, HX_FLOAT32, HX_SUM, comm, &requests[0]), "hx_iallreduce");
    check(hx_bcast_init(a, COUNT, HX_FLOAT32, 0, comm, &requests[1]), "hx_bcast_init");
    check(hx_start(requests[1]), "hx_start");
    check(hx_waitall(2, requests), "hx_waitall");
    check(hx_request_free(requests[1]), "hx_request_free");
    for (size_t k = 0; k < 40 && rank == 1; k++)
        check(hx_plan_info(comm, "allreduce", COUNT + 40 * (size_t)i + k, HX_FLOAT32, HX_SUM, 0, &info), "hx_plan_info");
}

static struct {
    struct hx_signature signature;
    int slow;
} seen[4 * KINDS];
static int nseen;

/* Note which signatures have a rival, and which of them are planned on the slow side. The call just made is still in the cache. */
static void rivals_note(void)
{
    const struct hx_engine *engine = &comm->engine;

    for (int i = 0; i < HX_BOUND_SETS * HX_BOUND_WAYS; i++) {
        const struct hx_bound *bound = engine->cache[i / HX_BOUND_WAYS][i % HX_BOUND_WAYS];
        int k = 0;
        while (k < nseen && bound && memcmp(&seen[k].signature, &bound->signature, sizeof(seen[k].signature)))
            k++;
        if (bound && bound->has_rival && k == nseen && k < 4 * KINDS) {
            seen[nseen].signature = bound->signature;
            seen[nseen++].slow = is_single_copy(bound) == slow;
        }
    }
}

/* ---- the end: counts that all ranks have alike */

static void result_tell(void)
{
    const struct hx_engine *engine = &comm->engine;
    uint64_t mine[3] = {engine->adapt_trials, engine->adapt_changes, engine->call - engine->first_call}, least[3], most[3];
    uint64_t refused = engine->asks.refused, all_refused;
    int slow_ones = 0;

    check(hx_allreduce(mine, least, 3, HX_UINT64, HX_MIN, comm), "hx_allreduce");
    check(hx_allreduce(mine, most, 3, HX_UINT64, HX_MAX, comm), "hx_allreduce");
    check(hx_allreduce(&refused, &all_refused, 1, HX_UINT64, HX_SUM, comm), "hx_allreduce");
    if (memcmp(least, most, sizeof(least)))
        check(HX_ERR_MISMATCH, "the ranks' counts");
    for (int k = 0; k < nseen; k++)
        slow_ones += seen[k].slow;
    if (rank == 0)
        printf("%d trials, %d changes; %d kinds, %d on the slow side; refused %d\n", (int)mine[0], (int)mine[1], nseen, slow_ones, all_refused > 0);
}

static float *memory(size_t floats, int secret)
{
    const size_t bytes = (floats * sizeof(float) + 65535) & ~(size_t)65535;
    int fd = secret ? (int)syscall(447, 0) : -1; /* memfd_secret */
    float *p;

    if (secret && (fd < 0 || ftruncate(fd, (off_t)bytes)))
        exit(77);
    p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, secret ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, fd, 0);
    if (p == MAP_FAILED)
        exit(secret ? 77 : 1);
    return p;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 2 ? argv[2] : "";
    const int secret = !strcmp(mode, "secret");
    size_t all;

    check(hx_init(&comm), "hx_init");
    rank = hx_rank(comm);
    size = hx_size(comm);
    all = (size_t)size * COUNT;
    slow = !strcmp(argv[1], "slots") ? 0 : !strcmp(argv[1], "single_copy") ? 1 : -1;
    hx_adapt_extra_ns = extra_ns;
    in = memory(all, secret);
    out = memory(all, secret);
    wanted = memory(KINDS * all, 0);
    for (size_t i = 0; i < all; i++)
        in[i] = (float)((i * 2654435761u + (size_t)rank * 40503u) % 100003) / 977.0f - 50.0f;
    if (rank == 1) /* types have other numbers on this rank */
        check(hx_dtype_contiguous(24, &own_type), "hx_dtype_contiguous");
    check(hx_dtype_contiguous(2 * sizeof(float), &own_type), "hx_dtype_contiguous");
    check(hx_op_create(own_fn, 1, NULL, &own_sum), "hx_op_create");
    if (!strcmp(mode, "refuse"))
        reads_left = atol(argv[3]);
    for (int i = 0; i < CALLS; i++) {
        for (int kind = 0; kind < KINDS; kind++) {
            if (!strcmp(mode, "die") && rank == 1 && i == 75 && kind == 1)
                _exit(3);
            kind_run(kind, i == 0);
            if (i == 0)
                rivals_note();
        }
        if (i % 8 == 7)
            others_run(i);
    }
    result_tell();
    check(hx_finalize(), "hx_finalize");
    return 0;
}
