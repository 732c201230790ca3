/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signatures: what all ranks must say alike of a call. Ranks of a node compare them wherever their plans meet: a few bits of it stand in
 * the line of each flag (flags.h), in the call's stamp, and in `entered` and `left`, for whoever waits long (stall.c). Who finds
 * another rank's stamp of the same call unlike its own looks up the whole signature among that rank's last ones. Between nodes each
 * message brings along these bits (transport.h), and who asks a rank that is late its whole signature (failed.h). HX_CHECK compares it
 * before each call (call_agree.c).
 */
#ifndef HX_SIGNATURE_H
#define HX_SIGNATURE_H
#include "hierax.h"
#include <stddef.h>
#include <stdint.h>

struct hx_control;
struct hx_engine;
struct hx_kind;
struct hx_run;

/* What a collective is made for: it is the caller's own, or a part of another public function. One of these never completes another, though
 * collective, type and count be the same. */
enum hx_purpose {
#define HX_PURPOSE(name, text) HX_FOR_##name,
#include "purpose.def"
#undef HX_PURPOSE
};

struct hx_signature {
    int16_t coll, purpose; /* enum hx_coll, enum hx_purpose */
    int32_t dtype;         /* hx_dtype_t, or of the program's own, which may have other numbers elsewhere, less than 0: its bytes */
    int32_t op, root;      /* hx_op_t; -1: none, -2: the program's own, -3: and not commutative */
    uint64_t count;
    uint64_t about; /* of the caller's own call: hash of a count for each rank, 0: there are none that all have alike; else as in hx_kind */
};

/* What hx_kind says of the call for which counts are spread, and of the group that is created. */
uint64_t hx_about_rooted(hx_dtype_t dtype, int root);
uint64_t hx_about_group(int parent_context, const int *members, int n);

/* n: ranks. of_its_own: each rank has lengths that others do not know. */
struct hx_signature hx_signature_of(const struct hx_kind *kind, int n, int of_its_own);
/* HX_SLICE_BITS of it, not all 0. */
uint32_t hx_signature_bits(const struct hx_signature *signature);
/* What a message of this call brings along, never 0: the bits, the call's number, and the generation of its communicator (struct hx_comm_id),
 * so that a message which nobody received is not taken for one of a later call with the same match id. */
static inline uint32_t hx_signature_mix(uint64_t bits, uint64_t call, uint32_t generation)
{
    uint32_t mixed = (uint32_t)bits ^ (uint32_t)((call ^ (uint64_t)generation << 32) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
    return mixed ? mixed : 1;
}
/* As "allreduce of 100 float32, sum", if that is the name; or the function that it is made for. */
void hx_signature_tell(const struct hx_signature *signature, const char *name, char *text, size_t capacity);
/* Let others look it up, before this rank calls so. */
void hx_signature_keep(struct hx_control *mine, const struct hx_signature *signature);

/* One of those that this rank has kept, i < HX_SIGNATURES; all 0: there is none. */
struct hx_signature hx_signature_kept(struct hx_control *control, unsigned i);

#define HX_CALL_TEXT_BYTES 192
/* The call of this stamp, of a rank of this node, if it is one of the kinds that it has bound last; else "another one". */
void hx_stamp_tell(struct hx_control *control, uint64_t stamp, char *text, size_t capacity);
/* Are these stamps, of this rank and of another, of one call of the engine's communicator, and unlike? */
int hx_stamps_are_unlike(const struct hx_engine *engine, uint64_t mine, uint64_t theirs);
/* That they are; there: the other rank's call. */
void hx_unlike_tell(const struct hx_engine *engine, uint64_t mine, int rank, const char *there, char *text, size_t capacity);

/* The same of a rank of this node, whose stamp is this. */
void hx_stamps_tell(const struct hx_engine *engine, uint64_t mine, int rank, uint64_t theirs, char *text, size_t capacity);

/* A rank of this node has raised a flag with a stamp that is not the run's. Nonzero if it makes, or has made, another call: run->status is
 * HX_ERR_MISMATCH, with a text. Else it has raised the flag in this call, and in a later one anew. */
int hx_stamp_is_refused(struct hx_run *run, const struct hx_control *control, int rank, uint64_t theirs);
/* Stamps of this rank, in run's communicator, and of another of this node. Nonzero if they are unlike, and of the same call: then run->status is
 * HX_ERR_MISMATCH, with a text. */
int hx_stamp_differs(struct hx_run *run, uint64_t mine, int rank, uint64_t theirs);

#endif
