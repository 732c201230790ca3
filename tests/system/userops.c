/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One rank of a job that uses operations and datatypes of its own. usage: userops [LARGEST]
 *
 * An element is a row of maps x -> a x + b over bytes, two bytes each; to fold two elements is to compose their maps, which is associative
 * and not commutative. So a result tells in which order contributions were folded, in elements of any even size, up to LARGEST bytes (1 MiB).
 * As a commutative operation the bytes are added. Each collective is called on the world, and on all ranks in another order, in
 * which the ranks of a node are apart.
 */
#include <hierax.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hx_comm_t *world, *comm;
static int rank, size, calls;
static size_t bytes; /* of an element */
static hx_dtype_t type;
static hx_op_t compose, add;
static int seen_wrong;

static void die(const char *what)
{
    fprintf(stderr, "userops: rank %d of %d, elements of %zu bytes: %s: %s\n", rank, size, bytes, what, hx_error_detail(comm ? comm : world));
    exit(1);
}

static void check(hx_status_t status, const char *what)
{
    calls++;
    if (status != HX_SUCCESS)
        die(what);
}

/* ---- the operations */

static int overlap(const void *a, const void *b, size_t n)
{
    uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
    return x < y + n && y < x + n;
}

/* What the library promises of its arguments. */
static void promises_check(const void *left, const void *right, const void *result, size_t count, hx_dtype_t dtype, void *ctx)
{
    size_t n = count * bytes, align = bytes & -bytes;

    align = align < 64 ? align : 64;
    if (((uintptr_t)left | (uintptr_t)right | (uintptr_t)result) % align)
        seen_wrong = 1;
    if (overlap(left, right, n) || overlap(left, result, n) || overlap(right, result, n) || dtype != type || ctx != &bytes || count == 0)
        seen_wrong = 1;
}

static void compose_maps(const void *left, const void *right, void *result, size_t count, hx_dtype_t dtype, void *ctx)
{
    const uint8_t *restrict l = left, *restrict r = right;
    uint8_t *restrict out = result;

    promises_check(left, right, result, count, dtype, ctx);
    for (size_t i = 0; i < count * bytes; i += 2) {
        out[i] = (uint8_t)(l[i] * r[i]);
        out[i + 1] = (uint8_t)(l[i] * r[i + 1] + l[i + 1]);
    }
}

static void add_bytes(const void *left, const void *right, void *result, size_t count, hx_dtype_t dtype, void *ctx)
{
    const uint8_t *restrict l = left, *restrict r = right;
    uint8_t *restrict out = result;

    promises_check(left, right, result, count, dtype, ctx);
    for (size_t i = 0; i < count * bytes; i++)
        out[i] = (uint8_t)(l[i] + r[i]);
}

/* ---- contributions */

/* Byte k of the vector of a rank; every other one is odd, so that no map forgets what is behind it. */
static uint8_t contribution(int r, size_t k)
{
    uint64_t x = (k + 1) * 0x9e3779b97f4a7c15u ^ (uint64_t)(r + 7) * 0xbf58476d1ce4e5b9u;

    x = (x ^ x >> 29) * 0x94d049bb133111ebu;
    return (uint8_t)((x >> 32) | (k % 2 == 0));
}

static void fill(uint8_t *at, size_t first, size_t n)
{
    for (size_t k = 0; k < n * bytes; k++)
        at[k] = contribution(rank, first * bytes + k);
}

/* Elements of one rank's vector. */
static void moved_check(const uint8_t *at, int r, size_t first, size_t n, const char *what)
{
    for (size_t k = 0; k < n * bytes; k++)
        if (at[k] != contribution(r, first * bytes + k)) {
            fprintf(stderr, "userops: rank %d of %d, elements of %zu bytes: %s: byte %zu of rank %d is wrong\n", rank, size, bytes, what, k, r);
            exit(1);
        }
}

/* Elements of the first p ranks' vectors, folded in order. */
static void folded_check(const uint8_t *at, size_t first, size_t n, int p, hx_op_t op, const char *what)
{
    for (size_t k = 0; k < n * bytes; k += 2) {
        uint8_t a = contribution(0, first * bytes + k), b = contribution(0, first * bytes + k + 1);
        for (int r = 1; r < p; r++) {
            uint8_t ra = contribution(r, first * bytes + k), rb = contribution(r, first * bytes + k + 1);
            b = (uint8_t)(op == compose ? a * rb + b : b + rb);
            a = (uint8_t)(op == compose ? a * ra : a + ra);
        }
        if (at[k] != a || at[k + 1] != b || seen_wrong) {
            fprintf(stderr, "userops: rank %d of %d, elements of %zu bytes: %s %s: %s %zu %s\n", rank, size, bytes, what,
                    op == compose ? "compose" : "add", seen_wrong ? "an argument of the operation, before byte" : "byte", k, "is wrong");
            exit(1);
        }
    }
}

/* ---- calls */

static uint8_t *in, *out;

static void reductions(hx_op_t op, size_t n, int in_place)
{
    size_t p = (size_t)size, me = (size_t)rank, counts[64], first = 0;
    const void *from = in_place ? HX_IN_PLACE : in;

    fill(in_place ? out : in, 0, n);
    check(hx_allreduce(from, out, n, type, op, comm), "allreduce");
    folded_check(out, 0, n, size, op, "allreduce");
    fill(in_place ? out : in, 0, n);
    check(hx_scan(from, out, n, type, op, comm), "scan");
    folded_check(out, 0, n, rank + 1, op, "scan");
    fill(in_place ? out : in, 0, n);
    check(hx_exscan(from, out, n, type, op, comm), "exscan");
    if (rank)
        folded_check(out, 0, n, rank, op, "exscan");
    for (int root = 0; root < size; root++) {
        int one = in_place && rank == root;
        fill(one ? out : in, 0, n);
        check(hx_reduce(one ? HX_IN_PLACE : in, rank == root ? out : NULL, n, type, op, root, comm), "reduce");
        if (rank == root)
            folded_check(out, 0, n, size, op, "reduce");
    }
    fill(in_place ? out : in, 0, n * p);
    check(hx_reduce_scatter_block(from, out, n, type, op, comm), "reduce_scatter_block");
    folded_check(out, me * n, n, size, op, "reduce_scatter_block");
    for (size_t r = 0; r < p; r++) {
        counts[r] = n * (r % 3) / 2;
        first += r < me ? counts[r] : 0;
    }
    fill(in_place ? out : in, 0, n * p);
    check(hx_reduce_scatter(from, out, counts, type, op, comm), "reduce_scatter");
    folded_check(out, first, counts[rank], size, op, "reduce_scatter");
}

static void moves(size_t n)
{
    size_t p = (size_t)size, me = (size_t)rank, counts[64], displs[64], end = 0;

    for (int root = 0; root < size; root += size > 1 ? size - 1 : 1) {
        if (rank == root)
            fill(out, 0, n);
        check(hx_bcast(out, n, type, root, comm), "bcast");
        moved_check(out, root, 0, n, "bcast");
        fill(in, 0, n);
        check(hx_gather(in, out, n, type, root, comm), "gather");
        for (int r = 0; rank == root && r < size; r++)
            moved_check(out + (size_t)r * n * bytes, r, 0, n, "gather");
        fill(in, 0, n * p);
        check(hx_scatter(in, out, n, type, root, comm), "scatter");
        moved_check(out, root, me * n, n, "scatter");
    }
    check(hx_allgather(in, out, n, type, comm), "allgather");
    for (int r = 0; r < size; r++)
        moved_check(out + (size_t)r * n * bytes, r, 0, n, "allgather");
    check(hx_alltoall(in, out, n, type, comm), "alltoall");
    for (int r = 0; r < size; r++)
        moved_check(out + (size_t)r * n * bytes, r, me * n, n, "alltoall");
    for (size_t r = 0; r < p; r++) { /* alike both ways: rank r and this one exchange as much as their numbers say */
        counts[r] = n * ((r + me) % 3) / 2;
        displs[r] = r * n;
    }
    check(hx_alltoallv(in, counts, displs, out, counts, displs, type, comm), "alltoallv");
    for (int r = 0; r < size; r++)
        moved_check(out + (size_t)r * n * bytes, r, me * n, counts[r], "alltoallv");
    for (size_t r = 0; r < p; r++)
        counts[r] = n * (r % 3) / 2;
    for (size_t r = p; r-- > 0; end += counts[r]) /* in reverse order */
        displs[r] = end;
    check(hx_allgatherv(in, counts[rank], out, counts, displs, type, comm), "allgatherv");
    for (int r = 0; r < size; r++)
        moved_check(out + displs[r] * bytes, r, 0, counts[r], "allgatherv");
    int root = size - 1, is_root = rank == root;
    check(hx_gatherv(in, counts[rank], out, is_root ? counts : NULL, is_root ? displs : NULL, type, root, comm), "gatherv");
    for (int r = 0; is_root && r < size; r++)
        moved_check(out + displs[r] * bytes, r, 0, counts[r], "gatherv");
    check(hx_scatterv(in, is_root ? counts : NULL, is_root ? displs : NULL, out, counts[rank], type, root, comm), "scatterv");
    moved_check(out, root, displs[rank], counts[rank], "scatterv");
}

/* Freed while requests use them: these go on. */
static void freed(size_t n)
{
    hx_request_t *persistent, *other, *spreading;
    size_t counts[64];
    hx_dtype_t old_type = type;
    hx_op_t op;

    check(hx_op_create(compose_maps, 0, &bytes, &op), "op_create");
    check(hx_allreduce_init(in, out, n, type, op, comm, &persistent), "allreduce_init");
    check(hx_ialltoall(in + n * (size_t)size * bytes, out + n * (size_t)size * bytes, n, type, comm, &other), "ialltoall");
    for (int r = 0; r < size; r++)
        counts[r] = r ? n : 0;
    check(hx_gatherv_init(in, counts[rank], out, counts, NULL, type, 0, comm, &spreading), "gatherv_init");
    check(hx_op_free(op), "op_free");
    check(hx_dtype_free(type), "dtype_free");
    if (hx_allreduce(in, out, n, old_type, compose, comm) != HX_ERR_ARG || !strstr(hx_error_detail(comm), "has been freed"))
        die("a freed datatype is taken");
    check(hx_wait(other), "wait");
    for (int i = 0; i < 3; i++) {
        fill(in, 0, n);
        check(hx_start(persistent), "start");
        check(hx_wait(persistent), "wait");
        hx_op_t composed = compose;
        compose = op;
        folded_check(out, 0, n, size, op, "a persistent allreduce");
        compose = composed;
    }
    check(hx_request_free(persistent), "request_free");
    fill(in, 0, n);
    check(hx_start(spreading), "start");
    check(hx_wait(spreading), "wait");
    for (int r = 1; rank == 0 && r < size; r++)
        moved_check(out + (size_t)(r - 1) * n * bytes, r, 0, n, "a persistent gatherv");
    check(hx_request_free(spreading), "request_free");
    check(hx_dtype_contiguous(bytes, &type), "dtype_contiguous");
    if (type == old_type)
        die("a handle is given out twice");
}

/* ---- main */

static void one_size(size_t element, const size_t *counts, int ncounts)
{
    size_t most = counts[ncounts - 1] * (size_t)hx_size(world);

    bytes = element;
    check(hx_dtype_contiguous(bytes, &type), "dtype_contiguous");
    if (posix_memalign((void **)&in, 64, 2 * most * bytes) || posix_memalign((void **)&out, 64, 2 * most * bytes))
        die("no memory");
    memset(in, 0, 2 * most * bytes);
    for (int i = 0; i < ncounts; i++) {
        for (int k = 0; k < 4 && bytes % 2 == 0; k++)
            reductions(k % 2 ? add : compose, counts[i], k / 2);
        moves(counts[i]);
    }
    if (bytes % 2 == 0)
        freed(counts[0]);
    check(hx_dtype_free(type), "dtype_free");
    free(in);
    free(out);
}

static void all_sizes(size_t largest)
{
    static const size_t many[] = {1, 3, 40, 1000}, some[] = {1, 7}, few[] = {1, 2};
    static const struct {
        size_t bytes;
        const size_t *counts;
        int n;
    } sizes[] = {{2, many, 4}, {7, many, 4}, {12, many, 4}, {16, many, 4}, {48, many, 3}, {5000, some, 2}, {65536, few, 2}, {1 << 20, few, 2}};

    rank = hx_rank(comm);
    size = hx_size(comm);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        if (sizes[i].bytes <= largest)
            one_size(sizes[i].bytes, sizes[i].counts, sizes[i].n);
}

int main(int argc, char **argv)
{
    hx_op_t spare;

    check(hx_op_create(compose_maps, 0, &bytes, &compose), "op_create"); /* before hx_init, as a type may be too */
    check(hx_init(&world), "init");
    for (int i = 0; i < hx_rank(world); i++) /* other handles on other ranks */
        check(hx_op_create(add_bytes, 1, &bytes, &spare), "op_create");
    check(hx_op_create(add_bytes, 1, &bytes, &add), "op_create");
    comm = world;
    all_sizes(argc > 1 ? strtoul(argv[1], NULL, 10) : 1 << 20);
    if (hx_size(world) > 1) { /* the ranks by twos, so that those of a node are apart, then backwards */
        int me = hx_rank(world), half = (hx_size(world) + 1) / 2;
        check(hx_comm_split(world, 0, me % half * 2 + me / half, &comm), "comm_split");
        all_sizes(5000);
        check(hx_comm_free(comm), "comm_free");
        comm = world;
        check(hx_comm_split(world, 0, -me, &comm), "comm_split");
        all_sizes(16);
        check(hx_comm_free(comm), "comm_free");
    }
    if (hx_rank(world) == 0)
        printf("%d calls\n", calls);
    check(hx_finalize(), "finalize");
    check(hx_op_free(compose), "op_free");
    return 0;
}
