/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory for the buffers of a run, looked at before it begins: where it is short the kernel would kill a rank in the midst of it. Limits of control
 * groups are not looked at. */
#include "bench_backend.h"
#include "bench_loop.h"
#include <stdlib.h>
#include <unistd.h>

#define GIB (1024.0 * 1024 * 1024)

/* What programs can get, in bytes; without bounds where the kernel does not tell. */
static double memory_available(void)
{
    char line[256];
    unsigned long long kib;
    double available = 1e30, swap = 0;
    FILE *f = fopen("/proc/meminfo", "re");

    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
            available = 1024.0 * (double)kib;
        else if (sscanf(line, "SwapFree: %llu kB", &kib) == 1)
            swap = 1024.0 * (double)kib;
    if (f)
        fclose(f);
    return available + swap;
}

/* What the ranks under this one's kernel need for a row. */
static double memory_needed(const struct bench_options *o, const struct bench_job *job, const struct bench_row *row, const uint64_t *kernels)
{
    struct bench_job other = *job;
    double bytes = 0;

    for (other.rank = 0; other.rank < job->size; other.rank++)
        if (kernels[other.rank] == job->kernel)
            bytes += (double)bench_loop_bytes(o, &other, row);
    return bytes;
}

int bench_memory_check(const struct bench_options *o, const struct bench_job *job, const struct bench_row *rows, int n, int times)
{
    uint64_t *kernels = malloc((size_t)job->size * sizeof(*kernels));
    double available = memory_available(), needed = 0;
    int32_t lacking, first = job->size;
    int row = -1;

    if (!kernels || bench_allgather(&job->kernel, kernels, 1, HX_UINT64)) {
        free(kernels);
        return -1;
    }
    while (row + 1 < n && needed <= available)
        needed = times * memory_needed(o, job, &rows[++row], kernels);
    free(kernels);
    lacking = needed > available ? job->rank : job->size;
    if (bench_allreduce(&lacking, &first, 1, HX_INT32, HX_MIN))
        return -1;
    if (first == job->rank) {
        char host[256] = "";
        gethostname(host, sizeof(host) - 1);
        fprintf(stderr, "%s: --max: %s of %llu bytes takes %.1f GiB for buffers of all ranks (%d) on %s, which has %.1f GiB of memory left\n",
                bench_backend_tool, bench_collective_names[rows[row].collective], (unsigned long long)rows[row].bytes, needed / GIB,
                job->sharing, host, available / GIB);
    }
    return first < job->size ? 2 : 0;
}
