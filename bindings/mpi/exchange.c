/* SPDX-License-Identifier: BSD-3-Clause */
#include "exchange.h"
#include "hxmpi.h"
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for more bytes, and a NUL after them. */
static char *text_grow(struct hxmpi_text *text, size_t more)
{
    char *bytes = realloc(text->bytes, text->used + more + 1);

    if (!bytes)
        return NULL;
    text->bytes = bytes;
    bytes[text->used + more] = '\0';
    return bytes + text->used;
}

static int put(void *ctx, const char *key, const char *value)
{
    struct hxmpi_exchange *exchange = ctx;
    const size_t bytes = strlen(key) + strlen(value) + 2;
    char *line = text_grow(&exchange->mine, bytes);

    if (!line)
        return 1;
    snprintf(line, bytes + 1, "%s %s\n", key, value);
    exchange->mine.used += bytes;
    return 0;
}

static struct hxmpi_block *block_of(const struct hxmpi_exchange *exchange, int rank)
{
    return (struct hxmpi_block *)(void *)(exchange->blocks + (size_t)rank * (sizeof(struct hxmpi_block) + exchange->text_bytes));
}

/* All ranks call this in turn, also those whose hx_init_with has returned already: with is_in 0. So no rank is alone in a call of MPI if
 * ranks fail at different places. Each tells the start of its text, usually all of it. So a fence is one call of MPI as a rule: a call takes
 * milliseconds if ranks share cores. Returns how many ranks are in a fence; 0 also if MPI fails. */
static int meet(struct hxmpi_exchange *exchange, int is_in)
{
    struct hxmpi_block *mine = block_of(exchange, exchange->size);
    const int bytes = (int)(sizeof(*mine) + exchange->text_bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    int in = 0;

    mine->is_in = is_in;
    mine->used = (int)exchange->mine.used;
    memcpy(mine->text, exchange->mine.bytes, exchange->mine.used < exchange->text_bytes ? exchange->mine.used : exchange->text_bytes);
    if (PMPI_Iallgather(mine, bytes, MPI_BYTE, exchange->blocks, bytes, MPI_BYTE, MPI_COMM_WORLD, &request) != MPI_SUCCESS)
        return 0;
    hxmpi_wait_gently(&request);
    for (int r = 0; r < exchange->size; r++)
        in += block_of(exchange, r)->is_in;
    return in;
}

/* The whole texts to room, if a block is too short for one. room NULL: this rank has no memory. Returns 0 if a rank has none. */
static int gather(const struct hxmpi_exchange *exchange, char *room)
{
    int *counts = calloc((size_t)exchange->size, 2 * sizeof(*counts)), *places = counts ? counts + exchange->size : NULL;
    int mine = room && counts, all = 0;
    MPI_Request request = MPI_REQUEST_NULL;

    if (PMPI_Iallreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD, &request) == MPI_SUCCESS)
        hxmpi_wait_gently(&request);
    for (int r = 0; all && r < exchange->size; r++) {
        counts[r] = block_of(exchange, r)->used;
        places[r] = r ? places[r - 1] + counts[r - 1] : 0;
    }
    if (all && PMPI_Iallgatherv(exchange->mine.bytes, (int)exchange->mine.used, MPI_CHAR, room, counts, places, MPI_CHAR, MPI_COMM_WORLD,
                                &request) == MPI_SUCCESS)
        hxmpi_wait_gently(&request);
    free(counts);
    return all;
}

static int fence(void *ctx)
{
    struct hxmpi_exchange *exchange = ctx;
    const size_t size = (size_t)exchange->size;
    const int has_room = text_grow(&exchange->all, size * exchange->text_bytes) != NULL; /* before: then all ranks know if one has none */
    long long sum = 0;
    int fit = 1;
    char *room;

    if (meet(exchange, has_room) != exchange->size)
        return 1;
    for (int r = 0; r < exchange->size; r++) {
        fit = fit && (size_t)block_of(exchange, r)->used <= exchange->text_bytes;
        sum += block_of(exchange, r)->used;
    }
    room = fit ? exchange->all.bytes + exchange->all.used : sum < INT_MAX ? text_grow(&exchange->all, (size_t)sum) : NULL;
    if (!fit && !gather(exchange, room))
        return 1;
    for (int r = 0; fit && r < exchange->size; r++) {
        memcpy(room, block_of(exchange, r)->text, (size_t)block_of(exchange, r)->used);
        room += block_of(exchange, r)->used;
    }
    exchange->all.used += (size_t)sum;
    exchange->all.bytes[exchange->all.used] = '\0';
    exchange->mine.used = 0;
    return 0;
}

static int get(void *ctx, const char *key, char *value, size_t capacity)
{
    const struct hxmpi_exchange *exchange = ctx;
    const size_t length = strlen(key);

    for (const char *line = exchange->all.bytes; line && *line; line = strchr(line, '\n') + 1) {
        if (strncmp(line, key, length) != 0 || line[length] != ' ')
            continue;
        const size_t bytes = strcspn(line + length + 1, "\n");
        if (bytes >= capacity)
            return 1;
        memcpy(value, line + length + 1, bytes);
        value[bytes] = '\0';
        return 0;
    }
    return 1;
}

int hxmpi_exchange_open(struct hxmpi_exchange *exchange, int rank, int size)
{
    enum { MOST_BYTES = 1 << 20, MOST_TEXT = 1016 }; /* of all blocks; with many ranks only the leaders of nodes have something to tell */
    const size_t share = MOST_BYTES / (size_t)size, text = share < MOST_TEXT ? share & ~(sizeof(int) - 1) : MOST_TEXT;

    *exchange = (struct hxmpi_exchange){.rank = rank, .size = size, .text_bytes = text};
    exchange->blocks = calloc((size_t)size + 1, sizeof(struct hxmpi_block) + text);
    return exchange->blocks && text_grow(&exchange->mine, 0) && text_grow(&exchange->all, 0);
}

hx_bootstrap_t hxmpi_exchange_callbacks(struct hxmpi_exchange *exchange)
{
    return (hx_bootstrap_t){.rank = exchange->rank, .size = exchange->size, .put = put, .fence = fence, .get = get, .ctx = exchange};
}

void hxmpi_exchange_leave(struct hxmpi_exchange *exchange)
{
    exchange->mine.used = 0;
    while (meet(exchange, 0))
        ;
}

void hxmpi_exchange_close(struct hxmpi_exchange *exchange)
{
    free(exchange->blocks);
    free(exchange->mine.bytes);
    free(exchange->all.bytes);
}
