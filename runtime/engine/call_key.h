/* SPDX-License-Identifier: BSD-3-Clause */
/* A call without its buffers: calls with equal keys can share a bound plan. */
#pragma once

#include "runtime/plan/plan.h"

/* Why a collective is called: the caller wants it, or it is a part of another public function. Calls with different purposes never match,
 * even if collective, type and count are the same. */
enum hx_purpose {
#define HX_PURPOSE(name, text) HX_FOR_##name,
#include "runtime/engine/purpose.def"
#undef HX_PURPOSE
};

/* The caller's arrays if ranks' blocks differ: one entry per rank. */
struct hx_blocks {
    const size_t *counts; /* NULL: they do not differ */
    const size_t *displs; /* in OUT, or of a scatter in IN; NULL: one after the other */
    int some_empty;
    uint64_t hash;        /* of what the arrays hold, never 0; 0 without counts */
};

/* A communicator adds these to the keys of its calls. `manner` is both as one number, because each call compares its key. */
#define HX_CALL_MANNER                                                                                                               \
    union {                                                                                                                          \
        struct {                                                                                                                     \
            int16_t shared_alloc; /* its buffers are taken to be memory of hx_alloc */                                               \
            int16_t wire;         /* the communicator's wire format, as hx_wire_chosen; 0: none */                                   \
        };                                                                                                                           \
        int32_t manner;                                                                                                              \
    }

/* Calls with the same key can share a bound plan: the key has all but the buffers. */
struct hx_call_key {
    enum hx_coll coll;
    hx_dtype_t dtype;
    hx_op_t op;     /* HX_SUM where nothing is reduced */
    int root;       /* 0 where there is none */
    uint64_t count; /* as struct hx_sizes */
    HX_CALL_MANNER;
    enum hx_purpose purpose;
    uint64_t about; /* other purposes than HX_FOR_CALL: what else must be the same on all ranks; else 0. See signature.h */
    struct hx_blocks blocks;
};

static inline struct hx_call_key hx_call_key_of(enum hx_coll coll, hx_dtype_t dtype, hx_op_t op, int root, uint64_t count)
{
    return (struct hx_call_key){.coll = coll, .dtype = dtype, .op = op, .root = root, .count = count};
}

static inline struct hx_call_key hx_call_key_for(enum hx_purpose purpose, uint64_t about, struct hx_call_key key)
{
    key.purpose = purpose;
    key.about = about;
    return key;
}

static inline struct hx_call_key hx_call_key_barrier(enum hx_purpose purpose)
{
    return hx_call_key_for(purpose, 0, hx_call_key_of(HX_COLL_BARRIER, HX_BYTE, HX_SUM, 0, 1)); /* a token */
}

/* The format in which its sums may cross between nodes, or NULL. Packed calls have none: their vectors would share blocks and scales. */
static inline const struct hx_wire *hx_call_key_wire(const struct hx_call_key *key)
{
    return key->purpose == HX_FOR_CALL && hx_coll_reduces(key->coll) && !hx_wire_lack(key->dtype, key->op) ? hx_wire_chosen(key->wire) : NULL;
}

/* Have all ranks entered such a call when it ends? No rank waits for a rank that has an empty block. */
static inline int hx_call_key_awaits_all(const struct hx_call_key *key)
{
    return hx_coll_awaits_all(key->coll) && !key->blocks.some_empty;
}

/* A plan bound to a call key. */
