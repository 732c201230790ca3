/* SPDX-License-Identifier: BSD-3-Clause */
#include "side.h"
#include "hxmpi.h"
#include <limits.h>
#include <stdlib.h>

/* MPI packs and unpacks at most INT_MAX bytes at once. */
static void pack(const struct hxmpi_side *side, char *user, size_t count, char *copy, int load)
{
    const size_t most = side->element ? INT_MAX / side->element : count;

    while (count && side->element) {
        const size_t now = count < most ? count : most;
        const int bytes = (int)(now * side->element);
        int at = 0;
        if (load)
            PMPI_Pack(user, (int)now, side->type, copy, bytes, &at, MPI_COMM_SELF);
        else
            PMPI_Unpack(copy, bytes, &at, user, (int)now, side->type, MPI_COMM_SELF);
        user += (MPI_Aint)now * side->extent;
        copy += bytes;
        count -= now;
    }
}

static int side_begin(struct hxmpi_side *side, const void *buffer, MPI_Datatype type, int flags);

static void blocks_pack(const struct hxmpi_side *side, int load)
{
    struct hxmpi_side one;

    for (int i = 0; i < side->blocks && side->types; i++)
        if (side->user_counts[i]) {
            side_begin(&one, side->user + side->user_displs[i], side->types[i], 0);
            pack(&one, one.user, side->user_counts[i], (char *)side->copy + side->displs[i], load);
        }
    for (int i = 0; i < side->blocks && !side->types; i++)
        pack(side, side->user + side->user_displs[i] * side->extent, side->user_counts[i], (char *)side->copy + side->displs[i], load);
}

static int side_begin(struct hxmpi_side *side, const void *buffer, MPI_Datatype type, int flags)
{
    MPI_Aint lower;
    int row;

    *side = (struct hxmpi_side){.data = (void *)buffer, .user = (char *)buffer, .type = type, .flags = flags};
    row = hxmpi_is_contiguous(type, &side->element);
    side->extent = (MPI_Aint)side->element;
    if (!row)
        PMPI_Type_get_extent(type, &lower, &side->extent);
    return row;
}

static int copy_make(struct hxmpi_side *side)
{
    if (side->element > INT_MAX) /* MPI cannot pack one element */
        return 0;
    side->data = side->copy = malloc(side->bytes ? side->bytes : 1);
    return side->copy != NULL;
}

int hxmpi_side_open(struct hxmpi_side *side, const void *buffer, size_t count, MPI_Datatype type, int flags)
{
    const int row = side_begin(side, buffer, type, flags);

    side->bytes = count * side->element;
    if (row)
        return 1;
    if (!copy_make(side))
        return 0;
    if (flags & HXMPI_LOAD)
        pack(side, side->user, count, side->copy, 1);
    return 1;
}

struct range {
    size_t first, end;
};

static int by_first(const void *a, const void *b)
{
    const struct range *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

static int overlap(const struct hxmpi_side *side)
{
    struct range *ranges;
    size_t end = 0;
    int used = 0, found = 0, in_order = 1;

    for (int i = 0; i < side->blocks && in_order; i++)
        if (side->counts[i]) {
            in_order = side->displs[i] >= end;
            end = side->displs[i] + side->counts[i];
        }
    if (in_order)
        return 0;
    if (!(ranges = malloc((size_t)side->blocks * sizeof(*ranges))))
        return 1;
    for (int i = 0; i < side->blocks; i++)
        if (side->counts[i])
            ranges[used++] = (struct range){side->displs[i], side->displs[i] + side->counts[i]};
    qsort(ranges, (size_t)used, sizeof(*ranges), by_first);
    for (int i = 1; i < used && !found; i++)
        found = ranges[i].first < ranges[i - 1].end;
    free(ranges);
    return found;
}

/* Find the places of the blocks: in the program's memory, or one after the other in a copy. Displacements of the program are in units of
 * so many bytes. Programs receive blocks that overlap, although MPI forbids it. Hierax refuses such blocks, so they need a copy too: then
 * the block of the highest rank is the last that is stored. */
static int places_find(struct hxmpi_side *side, int rows, MPI_Aint unit)
{
    MPI_Aint least = PTRDIFF_MAX;

    for (int i = 0; i < side->blocks; i++) {
        least = side->counts[i] && side->user_displs[i] < least ? side->user_displs[i] : least;
        side->bytes += side->counts[i];
    }
    for (int i = 0; i < side->blocks && rows; i++)
        side->displs[i] = side->counts[i] ? (size_t)((side->user_displs[i] - least) * unit) : 0;
    if (rows && !((side->flags & HXMPI_STORE) && overlap(side))) {
        side->data = side->bytes ? side->user + least * unit : side->user;
        return 1;
    }
    for (int i = 0; i < side->blocks; i++)
        side->displs[i] = i ? side->displs[i - 1] + side->counts[i - 1] : 0;
    if (!copy_make(side))
        return 0;
    if (side->flags & HXMPI_LOAD)
        blocks_pack(side, 1);
    return 1;
}

int hxmpi_side_open_blocks(struct hxmpi_side *side, const void *buffer, int blocks, const size_t *counts, const MPI_Aint *displs,
                           MPI_Datatype type, int flags)
{
    const int row = side_begin(side, buffer, type, flags);

    side->counts = malloc((size_t)blocks * 2 * sizeof(*side->counts));
    if (!side->counts)
        return 0;
    side->displs = side->counts + blocks;
    side->user_counts = counts;
    side->user_displs = displs;
    side->blocks = blocks;
    for (int i = 0; i < blocks; i++)
        side->counts[i] = counts[i] * side->element;
    return places_find(side, row, side->extent);
}

int hxmpi_side_open_types(struct hxmpi_side *side, const void *buffer, int blocks, const size_t *counts, const MPI_Aint *displs,
                          const MPI_Datatype *types, int flags)
{
    int rows = 1;

    *side = (struct hxmpi_side){.data = (void *)buffer, .user = (char *)buffer, .type = MPI_DATATYPE_NULL, .flags = flags, .blocks = blocks,
                                .user_counts = counts, .user_displs = displs};
    side->counts = malloc((size_t)blocks * (2 * sizeof(*side->counts) + sizeof(*side->types)) + 1);
    if (!side->counts)
        return 0;
    side->displs = side->counts + blocks;
    side->types = (MPI_Datatype *)(void *)(side->displs + blocks);
    for (int i = 0; i < blocks; i++) {
        size_t element = 0;
        side->types[i] = types[i];
        if (counts[i])
            rows &= hxmpi_is_contiguous(types[i], &element);
        if (element > side->element)
            side->element = element;
        side->counts[i] = counts[i] * element;
    }
    return places_find(side, rows, 1);
}

static void all_pack(const struct hxmpi_side *side, int load)
{
    if (side->counts)
        blocks_pack(side, load);
    else
        pack(side, side->user, side->element ? side->bytes / side->element : 0, side->copy, load);
}

void hxmpi_side_load(const struct hxmpi_side *side)
{
    if (side->copy && (side->flags & HXMPI_LOAD))
        all_pack(side, 1);
}

void hxmpi_side_store(const struct hxmpi_side *side)
{
    if (side->copy && (side->flags & HXMPI_STORE))
        all_pack(side, 0);
}

void hxmpi_side_close(struct hxmpi_side *side, int store)
{
    if (store)
        hxmpi_side_store(side);
    free(side->counts);
    free(side->copy);
}

void hxmpi_data_close(struct hxmpi_data *data, int complete)
{
    hxmpi_side_close(&data->in, 0);
    hxmpi_side_close(&data->out, complete);
    free(data->sent);
    free(data->counts);
}

void hxmpi_data_store(const struct hxmpi_data *data, int complete)
{
    if (complete)
        hxmpi_side_store(&data->out);
}
