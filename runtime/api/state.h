/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hx_state_sync: state that all ranks hold becomes the same on all of them.
 *
 *   state_sync.c      the public function, in the order of its steps
 *   state_hash.c      hashes the entries, with several threads
 *   state_compare.c   compares the tables of entries, and elects the state that all ranks get
 *   state_transfer.c  moves the entries that differ, in pieces, from all ranks that hold them
 *
 * Every rank gathers a summary of every other rank's state, so all ranks elect the same state, find the same errors and know the same
 * transfers. If all summaries are equal, the call ends there. Else the hashes of the elected state go to all ranks, and each rank
 * tells by a bit for each entry whether it holds that entry.
 */
#pragma once

#include "runtime/api/comm.h"

#define HX_STATE_HASH_BYTES 16
#define HX_STATE_NAME_BYTES 255 /* of the longest name of an entry */

struct hx_state_hash { /* XXH3-128, in the order of bytes that is the same on all machines */
    unsigned char bytes[HX_STATE_HASH_BYTES];
};

/* The part of a rank's state that all others see. Plain bytes, without padding. */
struct hx_state_summary {
    uint64_t revision, mode, entries, table_bytes;
    struct hx_state_hash table;    /* of the names and sizes */
    struct hx_state_hash contents; /* of the hashes of all entries */
};

/* One call on one rank. */
struct hx_state {
    struct hx_comm *comm;
    size_t n;
    const hx_state_entry_t **entries; /* [n] by name */
    struct hx_state_hash *hashes;     /* [n] of this rank's entries */
    struct hx_state_hash *elected;    /* [n] of the elected state */
    struct hx_state_summary *all;     /* [ranks] */
    unsigned char *holds;             /* [ranks][hx_state_mask_bytes] a bit for each entry: the rank holds the elected one */
    char *table;                      /* of table_bytes: the names and sizes, as other ranks read them */
    size_t table_bytes;
    int rank;                         /* the lowest rank that holds the elected state */
    hx_state_report_t report;
};

static inline size_t hx_state_mask_bytes(const struct hx_state *state)
{
    return (state->n + 7) / 8;
}

static inline int hx_state_holds(const struct hx_state *state, int rank, size_t entry)
{
    return state->holds[(size_t)rank * hx_state_mask_bytes(state) + entry / 8] >> entry % 8 & 1;
}

/* state_hash.c. Hash the entries for which the rank does not hold the elected one, or all if rank is -1. Only memory is read: no lock is
 * needed. Returns 0 if there is no memory for it. */
int hx_state_hash_entries(const struct hx_state *state, int rank, int threads, struct hx_state_hash *hashes);
struct hx_state_hash hx_state_hash_bytes(const void *bytes, size_t n);
/* So many threads may hash at the same time in this process. */
int hx_state_threads(const struct hx_process *process);

/* state_compare.c. Do all ranks have the same table of entries? Collective. Else all ranks get the same HX_ERR_MISMATCH. */
hx_status_t hx_state_tables_compare(struct hx_state *state);
/* Elect the state that all ranks get; *elected: the lowest rank that holds it. HX_ERR_MISMATCH or HX_ERR_ARG after hx_fail if ranks ask for
 * what cannot be. The same on all ranks: only the summaries matter. */
hx_status_t hx_state_elect(const struct hx_state_summary *all, int size, int *elected);

/* state_transfer.c. Move the entries that differ. Collective. Errors: the communicator has failed. */
hx_status_t hx_state_transfer(struct hx_state *state);

/* Collectives of state_sync.c, named as its parts. */
hx_status_t hx_state_allgather(struct hx_comm *comm, const void *in, void *out, size_t bytes);
hx_status_t hx_state_bcast(struct hx_comm *comm, void *buffer, size_t bytes, int root);
/* This rank has no memory, and the others wait for it. */
hx_status_t hx_state_no_memory(struct hx_comm *comm, const char *what);
