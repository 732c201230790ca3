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
#include <stddef.h>
#include <stdint.h>

struct hx_kind;
struct hx_control;
struct hx_engine;
struct hx_run;

struct hx_signature {
    int32_t coll, dtype;  /* enum hx_coll; hx_dtype_t, or of the program's own, which may have other numbers elsewhere, less than 0: its bytes */
    int32_t op, root;     /* hx_op_t; -1: none, -2: the program's own, -3: and not commutative */
    uint64_t count;
    uint64_t counts_hash; /* of a count for each rank; 0: there are none that all have alike */
};

/* n: ranks. of_its_own: each rank has lengths that others do not know. */
struct hx_signature hx_signature_of(const struct hx_kind *kind, int n, int of_its_own);
/* HX_SLICE_BITS of it, not all 0. */
uint32_t hx_signature_bits(const struct hx_signature *signature);
/* As "allreduce of 100 float32, sum", if that is the name. */
void hx_signature_tell(const struct hx_signature *signature, const char *name, char *text, size_t capacity);
/* Let others look it up, before this rank calls so. */
void hx_signature_keep(struct hx_control *mine, const struct hx_signature *signature);

#define HX_CALL_TEXT_BYTES 192
/* The call of this stamp, of a rank of this node, if it is one of the kinds that it has bound last; else "another one". */
void hx_stamp_tell(struct hx_control *control, uint64_t stamp, char *text, size_t capacity);
/* Are these stamps, of this rank and of another, of one call of the engine's communicator, and unlike? */
int hx_stamps_are_unlike(const struct hx_engine *engine, uint64_t mine, uint64_t theirs);
/* That they are; there: the other rank's call. */
void hx_unlike_tell(const struct hx_engine *engine, uint64_t mine, int rank, const char *there, char *text, size_t capacity);

/* Stamps of this rank, in run's communicator, and of another of this node. Nonzero if they are unlike, and of the same call: then run->status is
 * HX_ERR_MISMATCH, with a text. */
int hx_stamp_differs(struct hx_run *run, uint64_t mine, int rank, uint64_t theirs);

#endif
