/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of wire formats, and questions about it. The kernels: wire_kernels.h. */
#include "runtime/base/wire.h"
#include <string.h>

const struct hx_wire hx_wires[HX_WIRE_COUNT] = {
#define FLOATS(ID, name, bits, block, mantissa, top, bound, reads, about) {#name, bits, block, bound, reads, about},
#define LEVELS(ID, name, bits, block, levels, bound, reads, about) {#name, bits, block, bound, reads, about},
    HX_WIRES(FLOATS, LEVELS)};

const struct hx_wire *hx_wire_chosen(int choice)
{
    return choice > 0 ? &hx_wires[choice - 1] : NULL;
}

const struct hx_wire *hx_wire_named(const char *name)
{
    for (int i = 0; i < HX_WIRE_COUNT; i++)
        if (!strcmp(name, hx_wires[i].name))
            return &hx_wires[i];
    return NULL;
}

double hx_wire_sum_bound(const struct hx_wire *wire, int codings)
{
    double sum = 0, size = 1; /* a code may be larger than its number, by the error */

    for (int i = 0; i < codings; i++) {
        sum += wire->bound * size;
        size *= 1 + wire->bound;
    }
    return sum;
}

const char *hx_wire_lack(hx_dtype_t dtype, hx_op_t op)
{
    if (dtype != HX_FLOAT32 && dtype != HX_FLOAT64)
        return "only float32 and float64 can travel in a wire format";
    return op != HX_SUM && op != HX_AVG ? "only sums and averages can travel in a wire format" : NULL;
}
