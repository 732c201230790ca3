/* SPDX-License-Identifier: BSD-3-Clause */
/* The signature of a call, which must be the same on all ranks: see signature.h. */
#include "runtime/engine/signature.h"
#include "runtime/engine/engine.h"
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

int32_t hx_dtype_code(hx_dtype_t dtype)
{
    return hx_dtype_name(dtype) ? (int32_t)dtype : -(int32_t)hx_dtype_bytes(dtype);
}

uint64_t hx_about_rooted(hx_dtype_t dtype, int root)
{
    return (uint64_t)(uint32_t)hx_dtype_code(dtype) << 32 | (uint32_t)root;
}

#define GROUP_HASH_BITS 40
#define A_MESSAGE UINT64_MAX /* as hx_about_rooted: the message of a long block, which knows neither */

uint64_t hx_about_group(int parent_context, const int *members, int n)
{
    uint64_t all = hash(members, (size_t)n * sizeof(*members)) ^ hash(&parent_context, sizeof(parent_context));

    return (uint64_t)n << GROUP_HASH_BITS | ((all >> GROUP_HASH_BITS ^ all) & ((UINT64_C(1) << GROUP_HASH_BITS) - 1));
}

/* A float tells times apart, and leaves room for n. */
uint64_t hx_about_growth(int n, double seconds)
{
    const float rounded = (float)seconds;
    uint32_t bits;

    memcpy(&bits, &rounded, sizeof(bits));
    return (uint64_t)(uint32_t)n << 32 | bits;
}

static double growth_seconds(uint64_t about)
{
    const uint32_t bits = (uint32_t)about;
    float seconds;

    memcpy(&seconds, &bits, sizeof(seconds));
    return (double)seconds;
}

#define WIRE_OP 256 /* the code of an operation in wire format i is that of the operation, and i + 1 times this */

/* A built-in operation: the same in two formats makes unlike messages. */
static int32_t op_code(const struct hx_call_key *key)
{
    const struct hx_wire *wire = hx_call_key_wire(key);

    return (int32_t)key->op + (wire ? WIRE_OP * (int32_t)(1 + (wire - hx_wires)) : 0);
}

struct hx_signature hx_signature_of(const struct hx_call_key *key, int n, int of_its_own)
{
    const size_t *counts = of_its_own ? NULL : key->blocks.counts;

    return (struct hx_signature){
        .coll = (int16_t)key->coll,
        .purpose = (int16_t)key->purpose,
        .dtype = hx_dtype_code(key->dtype),
        .op = !hx_coll_reduces(key->coll)       ? NO_OP
              : hx_op_name(key->op)             ? op_code(key)
              : hx_user_op(key->op).commutative ? OWN_OP
                                                 : OWN_ORDERED_OP,
        .root = key->root,
        .count = of_its_own ? 0 : key->count,
        .about = key->purpose != HX_FOR_CALL ? key->about : counts ? hash(counts, (size_t)n * sizeof(*counts)) | 1 : 0,
    };
}

struct hx_signature hx_signature_of_message(int sending, int rank, int tag)
{
    if (tag == HX_TAG_STATE_SYNC)
        return (struct hx_signature){.purpose = HX_FOR_STATE_SYNC, .about = (uint64_t)sending};
    if (tag < 0)
        return (struct hx_signature){.purpose = tag == HX_TAG_GATHERV ? HX_FOR_GATHERV : HX_FOR_SCATTERV, .about = A_MESSAGE};
    return (struct hx_signature){.purpose = sending ? HX_FOR_SEND : HX_FOR_RECV, .about = (uint64_t)(uint32_t)tag << 32 | (uint32_t)rank};
}

uint32_t hx_signature_bits(const struct hx_signature *signature)
{
    uint64_t all = hash(signature, sizeof(*signature));

    uint32_t bits = (uint32_t)(all ^ all >> HX_SLICE_BITS ^ all >> 2 * HX_SLICE_BITS) & BITS_MASK;

    return bits ? bits : 1;
}

static const char *dtype_tell(int32_t code, char text[32])
{
    if (code < 0)
        snprintf(text, 32, "elements of %d bytes", -code);
    else
        snprintf(text, 32, "%s", hx_dtype_name((hx_dtype_t)code));
    return text;
}

/* Write the public function that the call is part of. */
static void part_tell(const struct hx_signature *s, char *text, size_t capacity)
{
    static const char *const functions[] = {
#define HX_PURPOSE(name, function) function,
#include "runtime/engine/purpose.def"
#undef HX_PURPOSE
    };
    const char *function = functions[s->purpose];
    char dtype[32];

    if ((s->purpose == HX_FOR_GATHERV || s->purpose == HX_FOR_SCATTERV) && s->about != A_MESSAGE)
        snprintf(text, capacity, "%s of %s, root %d", function, dtype_tell((int32_t)(s->about >> 32), dtype), (int)(int32_t)s->about);
    else if (s->purpose == HX_FOR_SEND || s->purpose == HX_FOR_RECV)
        snprintf(text, capacity, "%s %s rank %d, tag %d", function, s->purpose == HX_FOR_SEND ? "to" : "from", (int)(int32_t)s->about,
                 (int)(int32_t)(s->about >> 32));
    else if (s->purpose == HX_FOR_GROUP)
        snprintf(text, capacity, "%s of %d ranks, list %08x", function, (int)(s->about >> GROUP_HASH_BITS), (unsigned)s->about);
    else if ((s->purpose == HX_FOR_GROW || s->purpose == HX_FOR_WAIT_SIZE) && s->about)
        snprintf(text, capacity, "%s of %d, %g s", function, (int)(int32_t)(s->about >> 32), growth_seconds(s->about));
    else
        snprintf(text, capacity, "%s", function);
}

void hx_signature_tell(const struct hx_signature *s, const char *name, char *text, size_t capacity)
{
    enum hx_coll coll = (enum hx_coll)s->coll;
    char dtype[32], root[24] = "", counts[40] = "";
    const char *op = s->op == NO_OP            ? ""
                     : s->op == OWN_OP         ? ", an operation of its own"
                     : s->op == OWN_ORDERED_OP ? ", an operation of its own that is not commutative"
                                               : hx_op_name((hx_op_t)(s->op % WIRE_OP));
    const char *wire = s->op < WIRE_OP ? "" : hx_wires[s->op / WIRE_OP - 1].name;

    if (s->purpose != HX_FOR_CALL && s->purpose != HX_FOR_PACK) {
        part_tell(s, text, capacity);
        return;
    }
    dtype_tell(s->dtype, dtype);
    if (s->about)
        snprintf(counts, sizeof(counts), ", counts %08x", (unsigned)(s->about >> 32));
    if (hx_coll_is_rooted(coll))
        snprintf(root, sizeof(root), ", root %d", s->root);
    if (coll == HX_COLL_BARRIER)
        snprintf(text, capacity, "%s", name);
    else if (hx_coll_has_pair_counts(coll))
        snprintf(text, capacity, "%s of %s", name, dtype);
    else
        snprintf(text, capacity, "%s of %llu %s%s%s%s%s%s%s", name, (unsigned long long)s->count, dtype, s->op >= 0 ? ", " : "", op,
                 *wire ? " in " : "", wire, root, counts);
}

void hx_signature_keep(struct hx_control *mine, const struct hx_signature *signature)
{
    _Atomic uint64_t *words = mine->signatures[hx_signature_bits(signature) % HX_SIGNATURES];
    uint64_t values[HX_SIGNATURE_WORDS];

    memcpy(values, signature, sizeof(values));
    for (int i = 0; i < HX_SIGNATURE_WORDS; i++) /* a flag publishes them */
        atomic_store_explicit(&words[i], values[i], memory_order_relaxed);
}

struct hx_signature hx_signature_kept(struct hx_control *control, unsigned i)
{
    uint64_t values[HX_SIGNATURE_WORDS];
    struct hx_signature signature;

    for (int k = 0; k < HX_SIGNATURE_WORDS; k++)
        values[k] = atomic_load_explicit(&control->signatures[i][k], memory_order_relaxed);
    memcpy(&signature, values, sizeof(signature));
    return signature;
}

void hx_stamp_tell(struct hx_control *control, uint64_t stamp, char *text, size_t capacity)
{
    uint32_t bits = (uint32_t)stamp & BITS_MASK;
    struct hx_signature signature = hx_signature_kept(control, bits % HX_SIGNATURES);

    if (hx_signature_bits(&signature) == bits) /* not overwritten since */
        hx_signature_tell(&signature, hx_coll_name((enum hx_coll)signature.coll), text, capacity);
    else
        snprintf(text, capacity, "another one");
}

int hx_stamps_mismatch(const struct hx_engine *engine, uint64_t mine, uint64_t theirs)
{
    uint64_t call = mine >> HX_SLICE_BITS;

    /* of other communicators; if pairs count their messages, each rank counts for itself */
    return theirs >> HX_SLICE_BITS == call && theirs != mine && call > engine->first_call && !engine->pairs;
}

static unsigned long long number_of(const struct hx_engine *engine, uint64_t stamp)
{
    return (stamp >> HX_SLICE_BITS) - engine->first_call;
}

void hx_mismatch_describe(const struct hx_engine *engine, uint64_t mine, int rank, const char *there, char *text, size_t capacity)
{
    char here[HX_CALL_TEXT_BYTES];

    hx_stamp_tell(engine->mine, mine, here, sizeof(here));
    if (engine->pairs) /* their calls have no numbers in common */
        snprintf(text, capacity, "ranks make different calls: rank %d of the job makes %s; rank %d, %s", engine->members->rank, here, rank,
                 there);
    else
        snprintf(text, capacity, "ranks make different calls: call %llu of rank %d is %s; of rank %d, %s", number_of(engine, mine),
                 engine->members->rank, here, rank, there);
}

void hx_stamps_tell(const struct hx_engine *engine, uint64_t mine, int rank, uint64_t theirs, char *text, size_t capacity)
{
    char there[HX_CALL_TEXT_BYTES];

    if (theirs >> HX_SLICE_BITS != mine >> HX_SLICE_BITS) {
        snprintf(text, capacity, "ranks make different calls: rank %d is in call %llu, but has received data of call %llu of rank %d",
                 engine->members->rank, number_of(engine, mine), number_of(engine, theirs), rank);
        return;
    }
    hx_stamp_tell(hx_node_control(&engine->node, engine->members->shape->local_of[rank]), theirs, there, sizeof(there));
    hx_mismatch_describe(engine, mine, rank, there, text, capacity);
}

static void run_refuse(struct hx_run *run, uint64_t mine, int rank, uint64_t theirs)
{
    char text[3 * HX_CALL_TEXT_BYTES];

    hx_stamps_tell(run->engine, mine, rank, theirs, text, sizeof(text));
    run->status = hx_fail(HX_ERR_MISMATCH, "%s: %s", run->name, text);
    hx_detail_keep(run->engine->members->why); /* another thread may end the call */
}

int hx_stamp_differs(struct hx_run *run, uint64_t mine, int rank, uint64_t theirs)
{
    if (!hx_stamps_mismatch(run->engine, mine, theirs))
        return 0;
    run_refuse(run, mine, rank, theirs);
    return 1;
}

int hx_stamp_is_refused(struct hx_run *run, int rank, uint64_t theirs)
{
    run_refuse(run, run->stamp, rank, theirs);
    return 1;
}
