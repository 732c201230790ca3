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

/* Every rank takes part in both calls, whatever has failed. */
static int fence(void *ctx)
{
    struct hxmpi_exchange *exchange = ctx;
    int *counts = calloc((size_t)exchange->size, 2 * sizeof(*counts)), *places = counts ? counts + exchange->size : NULL;
    int count = (int)exchange->mine.used, least = counts != NULL, all = 0;
    long long sum = 0;
    char *room = NULL;

    PMPI_Allreduce(&least, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (all) {
        PMPI_Allgather(&count, 1, MPI_INT, counts, 1, MPI_INT, MPI_COMM_WORLD);
        for (int r = 0; r < exchange->size; r++) {
            places[r] = (int)sum;
            sum += counts[r];
        }
        room = sum < INT_MAX ? text_grow(&exchange->all, (size_t)sum) : NULL;
        least = room != NULL;
        PMPI_Allreduce(&least, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    }
    if (all) {
        PMPI_Allgatherv(exchange->mine.bytes, count, MPI_CHAR, room, counts, places, MPI_CHAR, MPI_COMM_WORLD);
        exchange->all.used += (size_t)sum;
        exchange->mine.used = 0;
    }
    free(counts);
    return !all;
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
    free(exchange->mine.bytes);
    free(exchange->all.bytes);
}
