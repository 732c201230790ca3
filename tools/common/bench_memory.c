/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory for the buffers of a run, looked at before it begins: where it is short the kernel would kill a rank in the midst of it. */
#include "tools/common/bench_backend.h"
#include "tools/common/bench_loop.h"
#include "runtime/base/size.h"
#include "topo/cgroup.h"
#include <stdlib.h>
#include <unistd.h>

#define GIB (1024.0 * 1024 * 1024)

/* The bytes that programs can get, up to most; all of these if the kernel does not say. A limit does not include swap: a group
 * may have none. */
static double memory_available(uint64_t most)
{
    char line[256];
    unsigned long long kib;
    double available = (double)most, swap = 0;
    FILE *f = fopen("/proc/meminfo", "re");

    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
            available = 1024.0 * (double)kib < available ? 1024.0 * (double)kib : available;
        else if (sscanf(line, "SwapFree: %llu kB", &kib) == 1)
            swap = 1024.0 * (double)kib;
    if (f)
        fclose(f);
    return most == UINT64_MAX ? available + swap : available;
}

/* The memory for a row on all ranks with the same word as this one. Each rank has two words; the first counts. */
static double memory_needed(const struct bench_options *o, const struct bench_job *job, const struct bench_row *row, const uint64_t *words)
{
    struct bench_job other = *job;
    double bytes = 0;

    for (other.rank = 0; other.rank < job->size; other.rank++)
        if (words[2 * other.rank] == words[2 * job->rank])
            bytes += (double)bench_loop_bytes(o, &other, row);
    return bytes;
}

int bench_memory_check(const struct bench_options *o, const struct bench_job *job, const struct bench_row *rows, int n, int times)
{
    /* the ranks of a kernel share its memory; only those of a machine share a control group's: containers under one kernel have
     * limits of their own */
    const uint64_t mine[] = {job->kernel, (uint64_t)job->machine};
    const double available[] = {memory_available(UINT64_MAX), memory_available(hx_cgroup_memory_left(""))};
    uint64_t *words = malloc((size_t)job->size * sizeof(mine));
    double needed = 0;
    int32_t lacking, first = job->size;
    int at;

    if (!words || bench_allgather(mine, words, 2, HX_UINT64)) {
        free(words);
        return -1;
    }
    for (at = 0; at < 2 * n; at++) {
        needed = times * memory_needed(o, job, &rows[at / 2], words + at % 2);
        if (needed > available[at % 2])
            break;
    }
    free(words);
    lacking = at < 2 * n ? job->rank : job->size;
    if (bench_allreduce(&lacking, &first, 1, HX_INT32, HX_MIN))
        return -1;
    if (first == job->rank) {
        char host[256] = "", size[HX_SIZE_BYTES];
        gethostname(host, sizeof(host) - 1);
        fprintf(stderr, "%s: --max: %s of %s takes %.1f GiB for buffers of all ranks (%d) on %s, but %s has %.1f GiB of "
                        "memory left\n",
                bench_backend_tool, bench_collective_names[rows[at / 2].collective], hx_size_format(rows[at / 2].bytes, size), needed / GIB,
                at % 2 ? job->local_size : job->sharing, host, at % 2 ? "its control group" : "it", available[at % 2] / GIB);
    }
    return first < job->size ? 2 : 0;
}
