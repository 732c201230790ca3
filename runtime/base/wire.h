/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wire formats: how floats may cross between nodes in fewer bits (HX_WIRE). Elements travel in blocks. Each block has a head with a scale,
 * and then a code for each element:
 *
 *   | scale: exponent, fraction | code 0 | code 1 | ... |      scale = (1 + fraction / 2^15) * 2^exponent
 *
 * The exponent is that of the block's largest finite number, so that huge and tiny blocks lose no more than others. The error of a number
 * is at most `bound` times the largest finite number of its block. Subnormal results are rounded once more, by at most the smallest number
 * of the type.
 * Infinities and NaN stay what they are and do not change their block's scale. All CPUs compute the same bits.
 */
#pragma once

#include "runtime/base/dtype.h"
#include <stddef.h>

/* A row for each format.
 *   kind      FLOATS: codes are floats of `mantissa` bits; the block's largest number has the exponent field `top`.
 *             LEVELS: codes are integers from -levels to levels; the code `levels` means the scale itself
 *   bits      of a code
 *   block     elements that share a scale
 *   bound     the largest error of an element, as a fraction of the largest number of its block
 *   reads     a core encodes and decodes one byte in the time in which a reduction reads this many bytes. Measured with AVX2 and AVX-512 on
 *             float32, where a reduction reads 10 GB/s: bf16 7 and 13 GB/s, int8 5 and 6 GB/s */
#define HX_WIRES(FLOATS, LEVELS)                                                                                          \
    /*     ID    name  bits block  mantissa top  bound     reads about */                                                  \
    FLOATS(BF16, bf16, 16,  256,   7,       127, 0x1p-8,   2.2,  "floats with 8 bits of exponent and 7 of mantissa")       \
    FLOATS(FP16, fp16, 16,  256,   10,      30,  0x1p-11,  2.2,  "floats with 5 bits of exponent and 10 of mantissa")      \
    FLOATS(FP8,  fp8,  8,   128,   3,       14,  0x1p-4,   3.2,  "floats with 4 bits of exponent and 3 of mantissa")       \
    /*     ID    name  bits block  levels        bound     reads about */                                                  \
    LEVELS(INT8, int8, 8,   128,   126,          1 / 251., 3.7,  "integers, 126 levels on each side of zero")

#define HX_WIRE_BLOCK_MOST 256

enum hx_wire_id {
#define HX_WIRE_ID(ID, ...) HX_WIRE_##ID,
    HX_WIRES(HX_WIRE_ID, HX_WIRE_ID) HX_WIRE_COUNT
#undef HX_WIRE_ID
};

#define HX_WIRE_OR(ID, name, ...) "|" #name
#define HX_WIRE_OFF "off"
#define HX_WIRE_CHOICES HX_WIRE_OFF HX_WIRES(HX_WIRE_OR, HX_WIRE_OR) /* of settings: number 0 is off, i + 1 is format i */

struct hx_wire_head {
    int16_t exponent;
    uint16_t fraction;
};

struct hx_wire {
    const char *name;
    int bits, block;
    double bound, reads;
    const char *about;
};
extern const struct hx_wire hx_wires[HX_WIRE_COUNT];

/* The format of a setting's choice; NULL: off. */
const struct hx_wire *hx_wire_chosen(int choice);
const struct hx_wire *hx_wire_named(const char *name); /* NULL: there is none */

/* Bytes that count elements take in a format. */
static inline size_t hx_wire_bytes(const struct hx_wire *wire, size_t count)
{
    size_t blocks = (count + (size_t)wire->block - 1) / (size_t)wire->block;
    return blocks * sizeof(struct hx_wire_head) + count * (size_t)wire->bits / 8;
}

/* The error of a sum that was encoded `codings` times, one after the other. It is in parts of L: the sum over all ranks of the largest
 * number that the rank gives to the block. Partial sums may be as large as L. */
double hx_wire_sum_bound(const struct hx_wire *wire, int codings);

/* Why no format serves such a call between nodes; NULL: each does. */
const char *hx_wire_lack(hx_dtype_t dtype, hx_op_t op);

/* Encode count elements, or decode as many. dst and src do not overlap. Needs no alignment of codes. */
typedef void hx_wire_kernel_t(void *dst, const void *src, size_t count);
/* For types that hx_wire_lack accepts, chosen for this CPU. */
hx_wire_kernel_t *hx_wire_encoder(const struct hx_wire *wire, hx_dtype_t dtype);
hx_wire_kernel_t *hx_wire_decoder(const struct hx_wire *wire, hx_dtype_t dtype);
