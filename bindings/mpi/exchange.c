/* SPDX-License-Identifier: BSD-3-Clause */
#include "exchange.h"
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

/* All ranks call this in turn, also those whose hx_init_with has returned already: with is_in 0. So no rank is alone in a call of MPI if
 * ranks fail at different places. Returns 1 if all ranks are in a fence and have memory. *any: is a rank in a fence? */
static int meet(int is_in, int is_good, int *any)
{
    const int mine[3] = {is_in, !is_in, !is_good};
    int all[3] = {0, 1, 1};

    PMPI_Allreduce(mine, all, 3, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    *any = all[0];
    return !all[1] && !all[2];
}

static int fence(void *ctx)
{
    struct hxmpi_exchange *exchange = ctx;
    int *counts = calloc((size_t)exchange->size, 2 * sizeof(*counts)), *places = counts ? counts + exchange->size : NULL;
    int count = (int)exchange->mine.used, any, good = meet(1, counts != NULL, &any);
    long long sum = 0;
    char *room = NULL;

    if (good) {
        PMPI_Allgather(&count, 1, MPI_INT, counts, 1, MPI_INT, MPI_COMM_WORLD);
        for (int r = 0; r < exchange->size; r++) {
            places[r] = (int)sum;
            sum += counts[r];
        }
        room = sum < INT_MAX ? text_grow(&exchange->all, (size_t)sum) : NULL;
        good = meet(1, room != NULL, &any);
    }
    if (good) {
        PMPI_Allgatherv(exchange->mine.bytes, count, MPI_CHAR, room, counts, places, MPI_CHAR, MPI_COMM_WORLD);
        exchange->all.used += (size_t)sum;
        exchange->mine.used = 0;
    }
    free(counts);
    return !good;
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
    *exchange = (struct hxmpi_exchange){.rank = rank, .size = size};
    return text_grow(&exchange->mine, 0) && text_grow(&exchange->all, 0);
}

hx_bootstrap_t hxmpi_exchange_callbacks(struct hxmpi_exchange *exchange)
{
    return (hx_bootstrap_t){.rank = exchange->rank, .size = exchange->size, .put = put, .fence = fence, .get = get, .ctx = exchange};
}

void hxmpi_exchange_close(struct hxmpi_exchange *exchange)
{
    int any;

    do
        meet(0, 1, &any);
    while (any);
    free(exchange->mine.bytes);
    free(exchange->all.bytes);
}
