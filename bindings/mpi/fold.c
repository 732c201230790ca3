/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions that Hierax has no operation for: of the program, or of MPI on long double. MPI's own MPI_Reduce_local combines the elements.
 *
 * Each pair of an operation and a datatype takes one of a few places, which stay in use by turns. So a program may create any number of
 * operations. If started calls use all places, a further call gets an extra one. So no rank runs out of places before the others.
 */
#include "hxmpi.h"
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 256 };

struct hxmpi_fold {
    MPI_Op op;
    MPI_Datatype type;
    size_t bytes; /* of an element; 0: the place is free */
    int commutative;
    hx_op_t hx_op;
    hx_dtype_t dtype;
    unsigned long used; /* when, in calls */
    unsigned users;     /* calls that run */
    int is_extra;       /* not one of the places: freed when its call has ended */
};

static struct hxmpi_fold places[PLACES];
static unsigned long calls;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* MPI combines into its second argument. */
static void combine(const void *left, const void *right, void *result, size_t count, hx_dtype_t dtype, void *ctx)
{
    const struct hxmpi_fold *fold = ctx;
    const char *in = left;
    char *out = result;

    (void)dtype;
    memcpy(result, right, count * fold->bytes);
    while (count) {
        const size_t now = count < INT_MAX ? count : INT_MAX;
        PMPI_Reduce_local(in, out, (int)now, fold->type, fold->op);
        in += now * fold->bytes;
        out += now * fold->bytes;
        count -= now;
    }
}

static void drop(struct hxmpi_fold *fold)
{
    hx_op_free(fold->hx_op);
    hx_dtype_free(fold->dtype);
}

static int fill(struct hxmpi_fold *fold, MPI_Op op, MPI_Datatype type, size_t bytes, int commutative)
{
    if (fold->bytes)
        drop(fold);
    *fold = (struct hxmpi_fold){.op = op, .type = type, .commutative = commutative};
    if (hx_dtype_contiguous(bytes, &fold->dtype) != HX_SUCCESS)
        return 0;
    if (hx_op_create(combine, commutative, fold, &fold->hx_op) != HX_SUCCESS) {
        hx_dtype_free(fold->dtype);
        return 0;
    }
    fold->bytes = bytes;
    return 1;
}

static struct hxmpi_fold *extra_make(MPI_Op op, MPI_Datatype type, size_t bytes, int commutative)
{
    struct hxmpi_fold *fold = calloc(1, sizeof(*fold));

    if (fold && !fill(fold, op, type, bytes, commutative)) {
        free(fold);
        return NULL;
    }
    if (fold)
        fold->is_extra = 1;
    return fold;
}

/* The place of the pair, or else the one that was not used for the longest time. NULL: no memory, or Hierax has no type of so many bytes. */
static struct hxmpi_fold *find(MPI_Op op, MPI_Datatype type, size_t bytes, int commutative)
{
    struct hxmpi_fold *oldest = NULL;

    for (int i = 0; i < PLACES; i++) {
        struct hxmpi_fold *fold = &places[i];
        if (fold->bytes == bytes && fold->op == op && fold->type == type && fold->commutative == commutative)
            return fold;
        if (!fold->users && (!oldest || fold->used < oldest->used))
            oldest = fold;
    }
    if (!oldest)
        return extra_make(op, type, bytes, commutative);
    return fill(oldest, op, type, bytes, commutative) ? oldest : NULL;
}

struct hxmpi_fold *hxmpi_fold_take(MPI_Op op, MPI_Datatype type, hx_dtype_t *dtype, hx_op_t *hx_op)
{
    struct hxmpi_fold *fold = NULL;
    int commutative;
    size_t bytes;

    if (!hxmpi_is_contiguous(type, &bytes) || !bytes || PMPI_Op_commutative(op, &commutative) != MPI_SUCCESS)
        return NULL;
    pthread_mutex_lock(&mutex);
    fold = find(op, type, bytes, commutative);
    if (fold) {
        fold->users++;
        fold->used = ++calls;
        *dtype = fold->dtype;
        *hx_op = fold->hx_op;
    }
    pthread_mutex_unlock(&mutex);
    return fold;
}

void hxmpi_fold_release(struct hxmpi_fold *fold)
{
    pthread_mutex_lock(&mutex);
    fold->users--;
    pthread_mutex_unlock(&mutex);
    if (fold->is_extra) {
        drop(fold);
        free(fold);
    }
}
