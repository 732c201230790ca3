/* SPDX-License-Identifier: BSD-3-Clause */
/* One side of a call that moves data: a buffer of the program as the bytes that Hierax moves. Data with gaps is packed. */
#ifndef HXMPI_SIDE_H
#define HXMPI_SIDE_H

#include <mpi.h>
#include <stddef.h>

enum { HXMPI_LOAD = 1, HXMPI_STORE = 2 }; /* Hierax reads the data; Hierax writes it */

struct hxmpi_side {
    void *data;             /* for Hierax */
    size_t bytes;           /* of all elements */
    size_t *counts, *displs; /* of blocks: in bytes */

    char *user;
    MPI_Datatype type;
    size_t element; /* bytes of data */
    MPI_Aint extent;
    const size_t *user_counts; /* in elements */
    const MPI_Aint *user_displs;
    int blocks, flags;
    MPI_Datatype *types; /* of each block, whose user_displs are in bytes; NULL: all have `type` */
    void *copy;
};

/* `count` elements in a row. Returns 0 without memory; close it in any case. */
int hxmpi_side_open(struct hxmpi_side *side, const void *buffer, size_t count, MPI_Datatype type, int flags);
/* Blocks of counts[i] elements, at displs[i] extents. Both arrays stay until side_close. */
int hxmpi_side_open_blocks(struct hxmpi_side *side, const void *buffer, int blocks, const size_t *counts, const MPI_Aint *displs,
                           MPI_Datatype type, int flags);
/* Blocks of counts[i] elements of types[i], at displs[i] bytes. */
int hxmpi_side_open_types(struct hxmpi_side *side, const void *buffer, int blocks, const size_t *counts, const MPI_Aint *displs,
                          const MPI_Datatype *types, int flags);
/* store: the data is complete, so give it to the program if Hierax has written it. */
void hxmpi_side_close(struct hxmpi_side *side, int store);
/* For a persistent call: copy the data from the program before each start, and back after it. */
void hxmpi_side_load(const struct hxmpi_side *side);
void hxmpi_side_store(const struct hxmpi_side *side);

/* The data of a call that moves blocks. */
struct hxmpi_data {
    struct hxmpi_side in, out;
    size_t *counts, *sent; /* arrays that hxmpi_data_close frees; or NULL */
};

/* complete: give the program what Hierax has written. store keeps the data for the next start, close frees it. */
void hxmpi_data_close(struct hxmpi_data *data, int complete);
void hxmpi_data_store(const struct hxmpi_data *data, int complete);

#endif
