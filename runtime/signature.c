/* SPDX-License-Identifier: BSD-3-Clause */
/* What all ranks must say alike of a call: see signature.h. */
#include "signature.h"
#include "comm.h"
#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(struct hx_signature) == HX_SIGNATURE_WORDS * sizeof(uint64_t), "it is kept in as many words, and has no padding");

#define BITS_MASK ((1u << HX_SLICE_BITS) - 1)

enum { NO_OP = -1, OWN_OP = -2, OWN_ORDERED_OP = -3 }; /* operations that are not commutative have other plans */

static uint64_t hash(const void *data, size_t bytes) /* FNV-1a */
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ ((const unsigned char *)data)[i]) * UINT64_C(0x100000001b3);
    return hash;
}

struct hx_signature hx_signature_of(const struct hx_kind *kind, int n, int of_its_own)
{
    const size_t *counts = of_its_own ? NULL : kind->blocks.counts;

    return (struct hx_signature){
        .coll = (int32_t)kind->coll,
        .dtype = hx_dtype_name(kind->dtype) ? (int32_t)kind->dtype : -(int32_t)hx_dtype_bytes(kind->dtype),
        .op = !hx_coll_reduces(kind->coll)       ? NO_OP
              : hx_op_name(kind->op)             ? (int32_t)kind->op
              : hx_user_op(kind->op).commutative ? OWN_OP
                                                 : OWN_ORDERED_OP,
        .root = kind->root,
        .count = of_its_own ? 0 : kind->count,
        .counts_hash = counts ? hash(counts, (size_t)n * sizeof(*counts)) | 1 : 0,
    };
}

uint32_t hx_signature_bits(const struct hx_signature *signature)
{
    uint64_t all = hash(signature, sizeof(*signature));

    uint32_t bits = (uint32_t)(all ^ all >> HX_SLICE_BITS ^ all >> 2 * HX_SLICE_BITS) & BITS_MASK;

    return bits ? bits : 1;
}

void hx_signature_tell(const struct hx_signature *s, const char *name, char *text, size_t capacity)
{
    enum hx_coll coll = (enum hx_coll)s->coll;
    char dtype[32], root[24] = "", counts[40] = "";
    const char *op = s->op == NO_OP            ? ""
                     : s->op == OWN_OP         ? ", an operation of its own"
                     : s->op == OWN_ORDERED_OP ? ", an operation of its own that is not commutative"
                                               : hx_op_name((hx_op_t)s->op);

    if (s->dtype < 0)
        snprintf(dtype, sizeof(dtype), "elements of %d bytes", -s->dtype);
    else
        snprintf(dtype, sizeof(dtype), "%s", hx_dtype_name((hx_dtype_t)s->dtype));
    if (s->counts_hash)
        snprintf(counts, sizeof(counts), ", counts %08x", (unsigned)(s->counts_hash >> 32));
    if (hx_coll_is_rooted(coll))
        snprintf(root, sizeof(root), ", root %d", s->root);
    if (coll == HX_COLL_BARRIER)
        snprintf(text, capacity, "%s", name);
    else if (hx_coll_has_traffic(coll))
        snprintf(text, capacity, "%s of %s", name, dtype);
    else
        snprintf(text, capacity, "%s of %llu %s%s%s%s%s", name, (unsigned long long)s->count, dtype, s->op >= 0 ? ", " : "", op,
                 root, counts);
}

void hx_signature_keep(struct hx_control *mine, const struct hx_signature *signature)
{
    _Atomic uint64_t *words = mine->signatures[hx_signature_bits(signature) % HX_SIGNATURES];
    uint64_t values[HX_SIGNATURE_WORDS];

    memcpy(values, signature, sizeof(values));
    for (int i = 0; i < HX_SIGNATURE_WORDS; i++) /* a flag publishes them */
        atomic_store_explicit(&words[i], values[i], memory_order_relaxed);
}

void hx_stamp_tell(struct hx_control *control, uint64_t stamp, char *text, size_t capacity)
{
    uint32_t bits = (uint32_t)stamp & BITS_MASK;
    uint64_t values[HX_SIGNATURE_WORDS];
    struct hx_signature signature;

    for (int i = 0; i < HX_SIGNATURE_WORDS; i++)
        values[i] = atomic_load_explicit(&control->signatures[bits % HX_SIGNATURES][i], memory_order_relaxed);
    memcpy(&signature, values, sizeof(signature));
    if (hx_signature_bits(&signature) == bits) /* not overwritten since */
        hx_signature_tell(&signature, hx_coll_name((enum hx_coll)signature.coll), text, capacity);
    else
        snprintf(text, capacity, "another one");
}

int hx_stamps_are_unlike(const struct hx_engine *engine, uint64_t mine, uint64_t theirs)
{
    uint64_t call = mine >> HX_SLICE_BITS;

    /* of other communicators; where pairs count, ranks count each for itself */
    return theirs >> HX_SLICE_BITS == call && theirs != mine && call > engine->first_call && !engine->pairs;
}

void hx_unlike_tell(const struct hx_engine *engine, uint64_t mine, int rank, const char *there, char *text, size_t capacity)
{
    char here[HX_CALL_TEXT_BYTES];

    hx_stamp_tell(engine->mine, mine, here, sizeof(here));
    snprintf(text, capacity, "ranks make different calls: call %llu of rank %d is %s; of rank %d, %s",
             (unsigned long long)((mine >> HX_SLICE_BITS) - engine->first_call), engine->comm->rank, here, rank, there);
}

int hx_stamp_differs(struct hx_run *run, uint64_t mine, int rank, uint64_t theirs)
{
    struct hx_engine *engine = run->engine;
    char there[HX_CALL_TEXT_BYTES], text[3 * HX_CALL_TEXT_BYTES];

    if (!hx_stamps_are_unlike(engine, mine, theirs))
        return 0;
    hx_stamp_tell(hx_node_control(&engine->node, engine->comm->shape->local_of[rank]), theirs, there, sizeof(there));
    hx_unlike_tell(engine, mine, rank, there, text, sizeof(text));
    run->status = hx_fail(HX_ERR_MISMATCH, "%s: %s", run->name, text);
    hx_detail_keep(engine->comm->why); /* another thread may end the call */
    return 1;
}
