/* SPDX-License-Identifier: BSD-3-Clause */
/* Elements: see elements.h. Floats are small integers or powers of two, whose sums and products are exact in any order. */
#include "elements.h"
#include "runtime/base/reduce.h"
#include "tests/op_fold.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int is_pair(hx_dtype_t t)
{
    return hx_dtype_rows[t].class == HX_CLASS_PAIR;
}

static int is_float(hx_dtype_t t)
{
    return !hx_dtype_is_exact(t) || is_pair(t); /* a pair's value and index are real and imag */
}

static int is_signed(hx_dtype_t t)
{
    return hx_dtype_rows[t].digits % 8;
}

uint64_t mix(uint64_t r, uint64_t i)
{
    uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u ^ (r + 7) * 0xbf58476d1ce4e5b9u;
    x ^= x >> 29;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 32;
}

static struct value narrow(struct value v, hx_dtype_t t)
{
    unsigned bits = 8 * (unsigned)hx_dtype_bytes(t);

    if (bits < 64)
        v.bits = is_signed(t) ? (uint64_t)((int64_t)(v.bits << (64 - bits)) >> (64 - bits)) : v.bits << (64 - bits) >> (64 - bits);
    return v;
}

struct value contribution(int r, size_t i, hx_dtype_t t, hx_op_t op)
{
    static const double powers[] = {1, -1, 2, -0.5};
    uint64_t x = mix((uint64_t)r, i);
    struct value v = {.bits = x & 3 ? x >> 2 : 0}; /* zeros for the logical operations */
    int turned = t >= HX_COMPLEX64 && (x & 8);

    if (!is_float(t))
        return narrow(v, t);
    v.real = op == HX_PROD ? powers[x & 3] : (double)(x % 6) - 2;
    v.imag = t < HX_COMPLEX64 ? 0 : op == HX_PROD ? 0 : (double)(x / 6 % 6) - 2;
    if (is_pair(t)) /* few values, so that indices decide */
        return (struct value){.real = (double)(x % 3), .imag = (double)(x / 3 % 1000) - 500};
    if (op == HX_PROD && turned) {
        v.imag = v.real;
        v.real = 0;
    }
    return v;
}

struct value fold(struct value a, struct value b, hx_dtype_t t, hx_op_t op)
{
    int less = is_float(t) ? a.real < b.real : is_signed(t) ? (int64_t)a.bits < (int64_t)b.bits : a.bits < b.bits;

    switch (op) {
    case HX_SUM:
    case HX_AVG:
        return narrow((struct value){a.bits + b.bits, a.real + b.real, a.imag + b.imag}, t);
    case HX_PROD:
        return narrow((struct value){a.bits * b.bits, a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real}, t);
    case HX_MINLOC:
    case HX_MAXLOC:
        return a.real == b.real ? (a.imag < b.imag ? a : b) : less == (op == HX_MINLOC) ? a : b;
    case HX_MIN:
        return less ? a : b;
    case HX_MAX:
        return less ? b : a;
    default: /* of integers only */
        return narrow((struct value){.bits = op_fold(op, a.bits, b.bits, is_signed(t))}, t);
    }
}

/* One float of the kinds that occur here (no subnormal, no infinity) as binary16; and back. */
static uint16_t half_encode(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    return (uint16_t)(f == 0 ? u >> 16 : (u >> 16 & 0x8000) | (((u >> 23 & 255) - 112) << 10 | (u >> 13 & 1023)));
}

static double half_decode(uint16_t h)
{
    double m = h >> 10 & 31 ? ldexp(1024 + (h & 1023), (h >> 10 & 31) - 25) : ldexp(h & 1023, -24);
    return h & 0x8000 ? -m : m;
}

void element_put(unsigned char *at, hx_dtype_t t, struct value v)
{
    size_t bytes = hx_dtype_bytes(t);
    float f[2] = {(float)v.real, (float)v.imag};
    double d[2] = {v.real, v.imag};
    uint16_t h = half_encode(f[0]);
    hx_float32_index_t fi = {f[0], (int32_t)v.imag};
    hx_float64_index_t di = {v.real, (int32_t)v.imag};
    hx_int32_index_t ii = {(int32_t)v.real, (int32_t)v.imag};
    hx_int64_index_t li = {(int64_t)v.real, (int32_t)v.imag};

    if (is_pair(t))
        memcpy(at, t == HX_FLOAT32_INDEX ? (void *)&fi : t == HX_FLOAT64_INDEX ? (void *)&di : t == HX_INT32_INDEX ? (void *)&ii : &li,
               bytes);
    else if (t == HX_FLOAT16)
        memcpy(at, &h, 2);
    else if (t == HX_BFLOAT16)
        memcpy(at, (unsigned char *)f + (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 2 : 0), 2);
    else if (t == HX_FLOAT32 || t == HX_COMPLEX64)
        memcpy(at, f, bytes);
    else if (is_float(t))
        memcpy(at, d, bytes);
    else
        memcpy(at, &v.bits, bytes); /* little endian */
}

static struct value pair_get(const unsigned char *at, hx_dtype_t t)
{
    hx_float32_index_t fi;
    hx_float64_index_t di;
    hx_int32_index_t ii;
    hx_int64_index_t li;

    switch (t) {
    case HX_FLOAT32_INDEX: memcpy(&fi, at, sizeof(fi)); return (struct value){.real = fi.value, .imag = fi.index};
    case HX_FLOAT64_INDEX: memcpy(&di, at, sizeof(di)); return (struct value){.real = di.value, .imag = di.index};
    case HX_INT32_INDEX: memcpy(&ii, at, sizeof(ii)); return (struct value){.real = ii.value, .imag = ii.index};
    default: memcpy(&li, at, sizeof(li)); return (struct value){.real = (double)li.value, .imag = li.index};
    }
}

struct value element_get(const unsigned char *at, hx_dtype_t t)
{
    struct value v = {0};
    float f[2] = {0};
    double d[2] = {0};
    uint16_t h;
    uint32_t u;

    if (is_pair(t))
        return pair_get(at, t);
    memcpy(&h, at, 2);
    if (!is_float(t)) {
        memcpy(&v.bits, at, hx_dtype_bytes(t));
        return narrow(v, t);
    }
    if (t == HX_FLOAT16) {
        d[0] = half_decode(h);
    } else if (t == HX_BFLOAT16) {
        u = (uint32_t)h << 16;
        memcpy(f, &u, 4);
    } else if (t == HX_FLOAT32 || t == HX_COMPLEX64) {
        memcpy(f, at, hx_dtype_bytes(t));
    } else {
        memcpy(d, at, hx_dtype_bytes(t));
    }
    v.real = d[0] + f[0];
    v.imag = d[1] + f[1];
    return v;
}

int element_equals(struct value got, struct value want, hx_dtype_t t, double tolerance)
{
    if (!is_float(t))
        return got.bits == want.bits;
    return fabs(got.real - want.real) <= tolerance * fabs(want.real) && fabs(got.imag - want.imag) <= tolerance * fabs(want.imag);
}

struct value folded(int n_ranks, int scans, size_t i, hx_dtype_t t, hx_op_t op)
{
    struct value v = contribution(0, i, t, op);

    if (!is_float(t) && !(scans && n_ranks == 1))
        v = narrow((struct value){.bits = op_first(op, v.bits)}, t);
    for (int r = 1; r < n_ranks; r++)
        v = fold(v, contribution(r, i, t, op), t, op);
    if (op == HX_AVG) {
        v.real /= n_ranks;
        v.imag /= n_ranks;
    }
    return v;
}

/* ---- vectors that are kept */

static struct vector {
    unsigned char *at;
    size_t n, bytes;
} inputs[ELEMENTS_RANKS], reductions[2][ELEMENTS_RANKS + 1]; /* by rank; by scans and n_ranks */

/* With room for n elements of this kind. */
static struct vector *vector_get(struct vector *vector, size_t n, hx_dtype_t t, hx_op_t op)
{
    static hx_dtype_t type;
    static hx_op_t operation;
    size_t bytes = n * hx_dtype_bytes(t);

    if (t != type || op != operation) {
        for (int r = 0; r < ELEMENTS_RANKS; r++)
            inputs[r].n = reductions[0][r + 1].n = reductions[1][r + 1].n = 0;
        type = t;
        operation = op;
    }
    if (bytes >= vector->bytes) {
        vector->bytes = 2 * bytes + 64;
        if (!(vector->at = realloc(vector->at, vector->bytes))) {
            perror("elements");
            exit(1);
        }
    }
    return vector;
}

const unsigned char *vector_input(int r, size_t first, size_t n, hx_dtype_t t, hx_op_t op)
{
    struct vector *v = vector_get(&inputs[r], first + n, t, op);
    size_t e = hx_dtype_bytes(t);

    for (; v->n < first + n; v->n++)
        element_put(v->at + v->n * e, t, contribution(r, v->n, t, op));
    return v->at + first * e;
}

const unsigned char *vector_folded(int n_ranks, int scans, size_t first, size_t n, hx_dtype_t t, hx_op_t op)
{
    struct vector *v = vector_get(&reductions[scans][n_ranks], first + n, t, op);
    size_t e = hx_dtype_bytes(t);

    for (; v->n < first + n; v->n++)
        element_put(v->at + v->n * e, t, folded(n_ranks, scans, v->n, t, op));
    return v->at + first * e;
}
