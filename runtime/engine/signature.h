/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signatures: the properties of a call that must be the same on all ranks. A few bits of the signature are in the stamp of the call.
 *
 *   on a node       The stamp stands beside each flag (flags.h), and in `entered` and `left` for ranks that wait long (stall.c). Ranks
 *                   compare stamps wherever their plans meet. If a stamp of the same call differs, the rank looks up the whole signature
 *                   among the other rank's last ones.
 *   between nodes   The proof of each message covers these bits (transport.h). A question to a late rank carries the whole signature
 *                   (failure.h).
 *   HX_CHECK=1      compares signatures before each call (call.c).
 */
#pragma once

#include "runtime/ports/transport.h"
#include <stddef.h>
#include <stdint.h>

struct hx_control;
struct hx_engine;
struct hx_call_key;
struct hx_run;

/* The field about of hx_call_key: for the call whose counts are sent to all first, for the group that is created, and for hx_comm_grow or
 * hx_comm_wait_size with these arguments. */
uint64_t hx_about_rooted(hx_dtype_t dtype, int root);
uint64_t hx_about_group(int parent_context, const int *members, int n);
uint64_t hx_about_growth(int n, double seconds);

/* n: ranks. of_its_own: each rank has lengths that others do not know. */
struct hx_signature hx_signature_of(const struct hx_call_key *key, int n, int of_its_own);
/* Tags of Hierax's own messages: no message of the program has them. */
enum { HX_TAG_STATE_SYNC = -1, HX_TAG_GATHERV = -2, HX_TAG_SCATTERV = -3 };
/* The same for a message between two ranks. rank: in the communicator, of the other side. */
struct hx_signature hx_signature_of_message(int sending, int rank, int tag);
/* The code of an element type in a signature. */
int32_t hx_dtype_code(hx_dtype_t dtype);
/* HX_SLICE_BITS bits that stand for the signature, never 0. */
uint32_t hx_signature_bits(const struct hx_signature *signature);
/* The bits that the proof of a message covers: these bits, the call's number, and the generation of its communicator (struct
 * hx_comm_id). So a stale message that no rank received is not taken for one of a later call with the same match id. Never 0. */
static inline uint32_t hx_signature_mix(uint64_t bits, uint64_t call, uint32_t generation)
{
    uint32_t mixed = (uint32_t)bits ^ (uint32_t)((call ^ (uint64_t)generation << 32) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
    return mixed ? mixed : 1;
}
/* Write it as text, as in "allreduce of 100 float32, sum" for the name "allreduce"; or the name of the public function that the call is
 * for. */
void hx_signature_tell(const struct hx_signature *signature, const char *name, char *text, size_t capacity);
/* Store it where the ranks of this node can look it up. To be done before this rank makes such a call. */
void hx_signature_keep(struct hx_control *mine, const struct hx_signature *signature);

/* The signature that a rank has stored in place i < HX_SIGNATURES; all 0: there is none. */
struct hx_signature hx_signature_kept(struct hx_control *control, unsigned i);

#define HX_CALL_TEXT_BYTES 192
/* Write as text the call of this stamp of a rank of this node. "another one" if its signature is no longer stored. */
void hx_stamp_tell(struct hx_control *control, uint64_t stamp, char *text, size_t capacity);
/* Are both stamps, of this rank and of another, of the same call of the engine's communicator, and do their signature bits differ? */
int hx_stamps_mismatch(const struct hx_engine *engine, uint64_t mine, uint64_t theirs);
/* Write the text of such a mismatch. there: the other rank's call as text. */
void hx_mismatch_describe(const struct hx_engine *engine, uint64_t mine, int rank, const char *there, char *text, size_t capacity);

/* The same for a rank of this node, given its stamp. */
void hx_stamps_tell(const struct hx_engine *engine, uint64_t mine, int rank, uint64_t theirs, char *text, size_t capacity);

/* A rank of this node has raised a flag of the run's call with a stamp that is not the run's: it makes a different call. Returns 1;
 * run->status is HX_ERR_MISMATCH, with a text. */
int hx_stamp_is_refused(struct hx_run *run, int rank, uint64_t theirs);
/* Stamps in run's communicator, of this rank and of another rank of this node. Nonzero if they are of the same call and differ: then
 * run->status is HX_ERR_MISMATCH, with a text. */
int hx_stamp_differs(struct hx_run *run, uint64_t mine, int rank, uint64_t theirs);
