/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Speed of the reduction kernels for each instruction set of this CPU: ns per call, and GB/s of loads and stores
 * ((nsrc + 1) * bytes per call). Arguments: [dtype [op]], float32 sum by default. The best of several repetitions.
 */
#include "runtime/base/reduce_table.h"
#include "runtime/base/clock.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPETITIONS = 7, MAX_SOURCES = 8, MAX_BYTES = 1 << 20 };

static double best_ns(hx_reduce_kernel_t *kernel, void *dst, const void *const *src, int nsrc, size_t count, int calls)
{
    double best = 1e18;
    for (int repetition = 0; repetition < REPETITIONS; repetition++) {
        double start = 1e9 * hx_now_s();
        for (int call = 0; call < calls; call++)
            kernel(dst, src, nsrc, count);
        double ns = (1e9 * hx_now_s() - start) / calls;
        best = ns < best ? ns : best;
    }
    return best;
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {8, 4 << 10, 64 << 10, 1 << 20};
    static const int source_counts[] = {2, 4, 8};
    hx_dtype_t dtype = argc > 1 ? 0 : HX_FLOAT32;
    hx_op_t op = HX_SUM;
    while (argc > 1 && dtype < HX_DTYPE_COUNT && strcmp(argv[1], hx_dtype_rows[dtype].name) != 0)
        dtype++;
    while (argc > 2 && op < HX_OP_COUNT && strcmp(argv[2], hx_op_rows[op].name) != 0)
        op++;
    if (argc > 3 || !hx_reduce_kernel(dtype, op)) {
        fprintf(stderr, "usage: bench_reduce [dtype [op]], an operation that is defined for the type\n");
        return 2;
    }
    char *memory = aligned_alloc(4096, (MAX_SOURCES + 1) * (size_t)(MAX_BYTES + 4096));
    if (!memory)
        return 1;
    memset(memory, 0, (MAX_SOURCES + 1) * (size_t)(MAX_BYTES + 4096)); /* fault the pages in */
    const void *src[MAX_SOURCES];
    for (int i = 0; i < MAX_SOURCES; i++) /* at different places within a page: else stores look like later loads */
        src[i] = memory + (size_t)(i + 1) * (MAX_BYTES + 64 * 5);

    printf("%s %s\n%-9s %4s %10s %10s %10s\n", hx_dtype_name(dtype), hx_op_name(op), "isa", "nsrc", "bytes", "ns",
           "GB/s");
    const struct hx_reduce_table *table;
    for (int isa = 0; (table = hx_reduce_table_at(isa)); isa++) {
        for (int n = 0; n < 3; n++) {
            for (int s = 0; s < 4; s++) {
                size_t bytes = sizes[s], moved = bytes * (size_t)(source_counts[n] + 1);
                int calls = (int)((32 << 20) / moved);
                calls = calls > 200000 ? 200000 : calls;
                double ns = best_ns(table->kernel[dtype][op], memory, src, source_counts[n],
                                    bytes / hx_dtype_bytes(dtype), calls);
                printf("%-9s %4d %10zu %10.1f %10.1f\n", table->isa, source_counts[n], bytes, ns, (double)moved / ns);
            }
        }
    }
    free(memory);
    return 0;
}
