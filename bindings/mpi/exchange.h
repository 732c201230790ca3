/* SPDX-License-Identifier: BSD-3-Clause */
/* How the ranks meet before Hierax connects them: keys and values over MPI's own all-gather. */
#ifndef HXMPI_EXCHANGE_H
#define HXMPI_EXCHANGE_H

#include <hierax.h>
#include <stddef.h>

struct hxmpi_text {
    char *bytes; /* lines "key value\n" */
    size_t used;
};

struct hxmpi_block { /* of one rank, at a fence */
    int is_in, used; /* used: bytes of its whole text */
    char text[];
};

struct hxmpi_exchange {
    int rank, size;
    size_t text_bytes; /* of a block */
    char *blocks;      /* of all ranks; behind them, that of this rank */
    struct hxmpi_text mine; /* put since the last fence */
    struct hxmpi_text all;  /* of all ranks, until the last fence */
};

/* Returns 0 if there is no memory. To be closed in any case. */
int hxmpi_exchange_open(struct hxmpi_exchange *exchange, int rank, int size);
hx_bootstrap_t hxmpi_exchange_callbacks(struct hxmpi_exchange *exchange);
/* Collective, after hx_init_with: returns when no rank is in it any more. */
void hxmpi_exchange_leave(struct hxmpi_exchange *exchange);
void hxmpi_exchange_close(struct hxmpi_exchange *exchange);

#endif
