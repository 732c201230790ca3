/* SPDX-License-Identifier: BSD-3-Clause */
/* Datatypes and operations of MPI, as Hierax names them. */
#include "hxmpi.h"
#include "runtime/base/dtype.h"
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>

/* A class of types, and the operations that Hierax has on it. */
enum { OF_INTEGERS = 1, OF_FLOATS = 2, OF_COMPLEX = 4, OF_BYTES = 8, OF_PAIRS = 16 };

struct operation {
    MPI_Op mpi;
    hx_op_t hx;
    int classes;
};

static const struct operation operations[] = {
    {MPI_SUM, HX_SUM, OF_INTEGERS | OF_FLOATS | OF_COMPLEX},
    {MPI_PROD, HX_PROD, OF_INTEGERS | OF_FLOATS | OF_COMPLEX},
    {MPI_MIN, HX_MIN, OF_INTEGERS | OF_FLOATS},
    {MPI_MAX, HX_MAX, OF_INTEGERS | OF_FLOATS},
    {MPI_BAND, HX_BAND, OF_INTEGERS | OF_BYTES},
    {MPI_BOR, HX_BOR, OF_INTEGERS | OF_BYTES},
    {MPI_BXOR, HX_BXOR, OF_INTEGERS | OF_BYTES},
    {MPI_LAND, HX_LAND, OF_INTEGERS},
    {MPI_LOR, HX_LOR, OF_INTEGERS},
    {MPI_LXOR, HX_LXOR, OF_INTEGERS},
    {MPI_MINLOC, HX_MINLOC, OF_PAIRS},
    {MPI_MAXLOC, HX_MAXLOC, OF_PAIRS},
};

struct type {
    MPI_Datatype mpi;
    hx_dtype_t hx;
    int kind;
};

#define SIGNED(type) ((hx_dtype_t)(sizeof(type) == 1 ? HX_INT8 : sizeof(type) == 2 ? HX_INT16 : sizeof(type) == 4 ? HX_INT32 : HX_INT64))
#define UNSIGNED(type)                                                                                                               \
    ((hx_dtype_t)(sizeof(type) == 1 ? HX_UINT8 : sizeof(type) == 2 ? HX_UINT16 : sizeof(type) == 4 ? HX_UINT32 : HX_UINT64))

static const struct type types[] = {
    {MPI_DOUBLE, HX_FLOAT64, OF_FLOATS},
    {MPI_FLOAT, HX_FLOAT32, OF_FLOATS},
    {MPI_INT, SIGNED(int), OF_INTEGERS},
    {MPI_LONG, SIGNED(long), OF_INTEGERS},
    {MPI_UNSIGNED_LONG, UNSIGNED(long), OF_INTEGERS},
    {MPI_LONG_LONG, SIGNED(long long), OF_INTEGERS},
    {MPI_UNSIGNED_LONG_LONG, UNSIGNED(long long), OF_INTEGERS},
    {MPI_UNSIGNED, UNSIGNED(int), OF_INTEGERS},
    {MPI_SHORT, SIGNED(short), OF_INTEGERS},
    {MPI_UNSIGNED_SHORT, UNSIGNED(short), OF_INTEGERS},
    {MPI_SIGNED_CHAR, HX_INT8, OF_INTEGERS},
    {MPI_UNSIGNED_CHAR, HX_UINT8, OF_INTEGERS},
    {MPI_INT8_T, HX_INT8, OF_INTEGERS},
    {MPI_INT16_T, HX_INT16, OF_INTEGERS},
    {MPI_INT32_T, HX_INT32, OF_INTEGERS},
    {MPI_INT64_T, HX_INT64, OF_INTEGERS},
    {MPI_UINT8_T, HX_UINT8, OF_INTEGERS},
    {MPI_UINT16_T, HX_UINT16, OF_INTEGERS},
    {MPI_UINT32_T, HX_UINT32, OF_INTEGERS},
    {MPI_UINT64_T, HX_UINT64, OF_INTEGERS},
    {MPI_AINT, SIGNED(MPI_Aint), OF_INTEGERS},
    {MPI_OFFSET, SIGNED(MPI_Offset), OF_INTEGERS},
    {MPI_COUNT, SIGNED(MPI_Count), OF_INTEGERS},
    {MPI_BYTE, HX_BYTE, OF_BYTES},
    {MPI_C_FLOAT_COMPLEX, HX_COMPLEX64, OF_COMPLEX},
    {MPI_C_DOUBLE_COMPLEX, HX_COMPLEX128, OF_COMPLEX},
    {MPI_FLOAT_INT, HX_FLOAT32_INDEX, OF_PAIRS},
    {MPI_DOUBLE_INT, HX_FLOAT64_INDEX, OF_PAIRS},
    {MPI_2INT, HX_INT32_INDEX, OF_PAIRS},
#if LONG_MAX == INT64_MAX
    {MPI_LONG_INT, HX_INT64_INDEX, OF_PAIRS},
#endif
    /* Fortran's; an MPI without Fortran has MPI_DATATYPE_NULL for them */
    {MPI_DOUBLE_PRECISION, HX_FLOAT64, OF_FLOATS},
    {MPI_REAL, HX_FLOAT32, OF_FLOATS},
    {MPI_REAL4, HX_FLOAT32, OF_FLOATS},
    {MPI_REAL8, HX_FLOAT64, OF_FLOATS},
    {MPI_INTEGER, SIGNED(MPI_Fint), OF_INTEGERS},
    {MPI_INTEGER1, HX_INT8, OF_INTEGERS},
    {MPI_INTEGER2, HX_INT16, OF_INTEGERS},
    {MPI_INTEGER4, HX_INT32, OF_INTEGERS},
    {MPI_INTEGER8, HX_INT64, OF_INTEGERS},
    {MPI_COMPLEX, HX_COMPLEX64, OF_COMPLEX},
    {MPI_DOUBLE_COMPLEX, HX_COMPLEX128, OF_COMPLEX},
    {MPI_COMPLEX8, HX_COMPLEX64, OF_COMPLEX},
    {MPI_COMPLEX16, HX_COMPLEX128, OF_COMPLEX},
    {MPI_2INTEGER, HX_INT32_INDEX, OF_PAIRS},
};

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

/* The row of a type, or NULL. MPI may be built for a Fortran with longer numbers than this library expects: then its types have other lengths. */
static const struct type *type_find(MPI_Datatype type)
{
    MPI_Aint lower, extent;

    for (size_t i = 0; i < COUNT(types) && type != MPI_DATATYPE_NULL; i++)
        if (types[i].mpi == type)
            return PMPI_Type_get_extent(type, &lower, &extent) == MPI_SUCCESS && extent == hx_dtype_rows[types[i].hx].bytes ? &types[i] : NULL;
    return NULL;
}

enum hxmpi_known hxmpi_reduction(MPI_Datatype type, MPI_Op op, hx_dtype_t *dtype, hx_op_t *hx_op)
{
    static __thread const struct type *last_type; /* programs use one after the other the same */
    static __thread const struct operation *last_op;

    if (!last_type || last_type->mpi != type)
        last_type = type_find(type);
    if (!last_op || last_op->mpi != op) {
        last_op = NULL;
        for (size_t i = 0; i < COUNT(operations) && op != MPI_OP_NULL && !last_op; i++)
            last_op = operations[i].mpi == op ? &operations[i] : NULL;
    }
    if (!last_op) /* of the program */
        return type == MPI_DATATYPE_NULL || op == MPI_OP_NULL || op == MPI_REPLACE || op == MPI_NO_OP ? HXMPI_NOT : HXMPI_FOLDED;
    if (!last_type)
        return type == MPI_LONG_DOUBLE && (last_op->classes & OF_FLOATS) ? HXMPI_FOLDED : HXMPI_NOT;
    if (!(last_op->classes & last_type->kind))
        return HXMPI_NOT;
    *dtype = last_type->hx;
    *hx_op = last_op->hx;
    return HXMPI_NAMED;
}

/* ---- the layout of data that is only moved */

/* Derived types that were freed: a new one may get the same handle. An attribute of the type counts them, because programs free types
 * in any language. */
static atomic_uint freed;
static int keyval = MPI_KEYVAL_INVALID;

static int deleted(MPI_Datatype type, int key, void *value, void *extra)
{
    (void)type, (void)key, (void)value, (void)extra;
    atomic_fetch_add_explicit(&freed, 1, memory_order_relaxed);
    return MPI_SUCCESS;
}

hx_status_t hxmpi_types_begin(void)
{
    return PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, deleted, &keyval, NULL) == MPI_SUCCESS ? HX_SUCCESS : HX_ERR_NOMEM;
}

/* How the type was made; a combiner that is_row does not know if it has counts of MPI_Count. */
static int envelope(MPI_Datatype type, int *integers, int *addresses, int *types_n, int *combiner)
{
#if MPI_VERSION >= 4
    MPI_Count n[4];

    if (PMPI_Type_get_envelope_c(type, &n[0], &n[1], &n[2], &n[3], combiner) != MPI_SUCCESS)
        return 0;
    if (n[2] > 0)
        *combiner = MPI_COMBINER_RESIZED;
    *integers = (int)n[0];
    *addresses = (int)n[1];
    *types_n = (int)n[3];
    return 1;
#else
    return PMPI_Type_get_envelope(type, integers, addresses, types_n, combiner) == MPI_SUCCESS;
#endif
}

/* MPI 4.1 deprecates these names, which end in _x; MPI 3 has no others. */
#if MPI_VERSION < 4
#define PMPI_Type_size_c PMPI_Type_size_x
#define PMPI_Type_get_extent_c PMPI_Type_get_extent_x
#endif

/* One block of memory, in the order of the type map? Made of named types, copies of them, rows of them, and vectors of them. A vector is a
 * row if it begins at 0 and has no gaps. */
static int is_row(MPI_Datatype type)
{
    int integers, addresses, kinds, combiner, good, numbers[3];
    MPI_Count lower, extent, size;
    MPI_Aint stride;
    MPI_Datatype inner;

    if (PMPI_Type_size_c(type, &size) != MPI_SUCCESS || PMPI_Type_get_extent_c(type, &lower, &extent) != MPI_SUCCESS || lower != 0 ||
        extent != size || !envelope(type, &integers, &addresses, &kinds, &combiner))
        return 0;
    if (combiner == MPI_COMBINER_NAMED)
        return 1;
    if (combiner != MPI_COMBINER_CONTIGUOUS && combiner != MPI_COMBINER_DUP && combiner != MPI_COMBINER_VECTOR &&
        combiner != MPI_COMBINER_HVECTOR)
        return 0;
    if (PMPI_Type_get_contents(type, integers, addresses, kinds, numbers, &stride, &inner) != MPI_SUCCESS)
        return 0;
    good = is_row(inner);
    if (envelope(inner, &integers, &addresses, &kinds, &combiner) && combiner != MPI_COMBINER_NAMED)
        PMPI_Type_free(&inner);
    return good;
}

/* Its freed handle will be noticed. */
static int is_watched(MPI_Datatype type)
{
    int integers, addresses, kinds, combiner, found = 0;
    void *value;

    if (!envelope(type, &integers, &addresses, &kinds, &combiner))
        return 0;
    if (combiner == MPI_COMBINER_NAMED)
        return 1; /* never freed */
    return (PMPI_Type_get_attr(type, keyval, &value, &found) == MPI_SUCCESS && found) ||
           PMPI_Type_set_attr(type, keyval, NULL) == MPI_SUCCESS;
}

int hxmpi_is_contiguous(MPI_Datatype type, size_t *bytes)
{
    static __thread struct {
        MPI_Datatype type;
        unsigned freed;
        int known, is_row;
        MPI_Count size;
    } last;
    const unsigned now = atomic_load_explicit(&freed, memory_order_relaxed);

    if (!last.known || last.type != type || last.freed != now) {
        last.is_row = is_row(type);
        PMPI_Type_size_c(type, &last.size);
        last.type = type;
        last.freed = now;
        last.known = is_watched(type);
    }
    *bytes = (size_t)last.size;
    return last.is_row;
}
