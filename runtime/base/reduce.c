/* SPDX-License-Identifier: BSD-3-Clause */
/* Picks the reduction kernels for this CPU. All tables give the same bits, so ranks on unlike CPUs agree. */
#include "runtime/base/reduce_table.h"
#include "runtime/base/target.h"
#include <stdatomic.h>

const struct hx_reduce_table *hx_reduce_table_at(int idx)
{
    const struct hx_reduce_table *usable[3];
    int count = 0;
#if defined(__x86_64__)
    __builtin_cpu_init();
    int avx2 = __builtin_cpu_supports("avx2") && hx_cpu_has_f16c();
    if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        usable[count++] = &hx_reduce_table_avx512;
    if (avx2)
        usable[count++] = &hx_reduce_table_avx2;
#endif
    usable[count++] = &hx_reduce_table_baseline;
    return idx >= 0 && idx < count ? usable[idx] : NULL;
}

/* Relaxed is enough: every thread would find the same table, and the tables are constants. */
static const struct hx_reduce_table *best_table(void)
{
    static _Atomic(const struct hx_reduce_table *) best;
    const struct hx_reduce_table *table = atomic_load_explicit(&best, memory_order_relaxed);
    if (!table) {
        table = hx_reduce_table_at(0);
        atomic_store_explicit(&best, table, memory_order_relaxed);
    }
    return table;
}

hx_reduce_kernel_t *hx_reduce_kernel(hx_dtype_t dtype, hx_op_t op)
{
    if ((unsigned)dtype >= HX_DTYPE_COUNT || (unsigned)op >= HX_OP_COUNT)
        return NULL;
    return best_table()->kernel[dtype][op];
}

hx_wire_kernel_t *hx_wire_encoder(const struct hx_wire *wire, hx_dtype_t dtype)
{
    return best_table()->encode[wire - hx_wires][dtype];
}

hx_wire_kernel_t *hx_wire_decoder(const struct hx_wire *wire, hx_dtype_t dtype)
{
    return best_table()->decode[wire - hx_wires][dtype];
}

const char *hx_reduce_isa(void)
{
    return best_table()->isa;
}

void hx_scale_inverse(void *buf, size_t count, hx_dtype_t dtype, int divisor)
{
    hx_scale_kernel_t *scale = (unsigned)dtype < HX_DTYPE_COUNT ? best_table()->scale[dtype] : NULL;
    if (scale)
        scale(buf, count, divisor);
}
