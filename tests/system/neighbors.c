/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One rank of a job that makes graphs and calls neighbourhood collectives on them, and all-to-alls with a datatype for each block. All ranks
 * draw the same graphs and lengths. Edges may be of a rank with itself, and several between two ranks; some ranks have none.
 * usage: neighbors SEED GRAPHS [torus]      torus: two edges each way along each dimension of 1 x size ranks, and bad arguments
 */
#include <hierax.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 600, LENGTHS = 4 };

static uint64_t state;
static int size, rank;
static hx_comm_t *world;
static const char *doing = "start";

static uint64_t draw(uint64_t n) /* splitmix64 */
{
    uint64_t z = (state += 0x9e3779b97f4a7c15u);

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (z ^ z >> 31) % n;
}

static void fail(const char *what)
{
    fprintf(stderr, "rank %d, %s: %s: %s\n", rank, doing, what, hx_error_detail(NULL));
    exit(1);
}

static void check(hx_status_t status)
{
    if (status != HX_SUCCESS)
        fail(hx_strerror(status));
}

/* Of the whole graph, the edges by number, and of this rank which edge is at which place. */
static struct graph {
    int n, from[MOST], to[MOST], nin, nout, in[MOST], out[MOST];
    size_t lengths[MOST];
    hx_comm_t *comm;
} g;

static void graph_make(void)
{
    int sources[MOST], destinations[MOST];

    g.nin = g.nout = 0;
    for (int e = 0; e < g.n; e++)
        if (g.from[e] == rank)
            destinations[g.nout] = g.to[e], g.out[g.nout++] = e;
    /* sources in another order than the edges, but for those of one rank */
    for (int of = size - 1; of >= 0; of--)
        for (int e = 0; e < g.n; e++)
            if (g.to[e] == rank && g.from[e] == (of + rank) % size)
                sources[g.nin] = g.from[e], g.in[g.nin++] = e;
    doing = "hx_comm_graph";
    check(hx_comm_graph(world, g.nin, g.nin ? sources : NULL, g.nout, g.nout ? destinations : NULL, &g.comm));
}

static int32_t value(int e, size_t i, int stamp)
{
    return (int32_t)(e * 1000003 + (int)i * 7 + stamp);
}

/* A form: blocking, started or prepared and started twice. */
static hx_request_t *request;
#define CALL(form, name, ...)                                                                                                        \
    do {                                                                                                                             \
        doing = #name;                                                                                                               \
        if ((form) == 0)                                                                                                             \
            check(hx_##name(__VA_ARGS__));                                                                                           \
        else if ((form) == 1)                                                                                                        \
            check(hx_i##name(__VA_ARGS__, &request));                                                                                \
        else                                                                                                                         \
            check(hx_##name##_init(__VA_ARGS__, &request));                                                                          \
    } while (0)

static void finish(int form)
{
    for (int start = 0; form == 2 && start < 2; start++) {
        check(hx_start(request));
        check(hx_wait(request));
    }
    if (form == 1)
        check(hx_wait(request));
    if (form == 2)
        check(hx_request_free(request));
}

/* The block at place i of what this rank receives is edge e's, of so many elements; all else is as it was. */
static void block_check(const int32_t *block, int e, size_t length, int stamp)
{
    for (size_t i = 0; i < length; i++)
        if (block[i] != value(e, i, stamp)) {
            fprintf(stderr, "rank %d, %s: element %zu of %zu of edge %d (%d to %d of %d) is %d, not %d\n", rank, doing, i, length, e, g.from[e],
                    g.to[e], g.n, block[i], value(e, i, stamp));
            exit(1);
        }
    if (block[length] != -1)
        fail("an element behind a block was written");
}

static int32_t *buffer_new(size_t n)
{
    int32_t *buffer = malloc((n + 1) * sizeof(*buffer));

    memset(buffer, 0xff, (n + 1) * sizeof(*buffer));
    return buffer;
}

static void lists_call(int form, int stamp, int gathers)
{
    size_t scounts[MOST], sdispls[MOST], rcounts[MOST], rdispls[MOST], in_end = 0, out_end = 0;

    for (int i = 0; i < g.nout; i++, in_end += scounts[i - 1]) {
        scounts[i] = g.lengths[g.out[i]];
        sdispls[i] = in_end;
    }
    for (int i = g.nin - 1; i >= 0; out_end += rcounts[i--] + 1) { /* one element apart */
        rcounts[i] = g.lengths[gathers ? g.from[g.in[i]] : g.in[i]];
        rdispls[i] = out_end;
    }
    int32_t *in = buffer_new(in_end + g.lengths[rank % MOST]), *out = buffer_new(out_end);
    for (int i = 0; i < g.nout && !gathers; i++)
        for (size_t k = 0; k < scounts[i]; k++)
            in[sdispls[i] + k] = value(g.out[i], k, stamp);
    for (size_t k = 0; k < g.lengths[rank] && gathers; k++)
        in[k] = value(rank, k, stamp);
    if (gathers)
        CALL(form, neighbor_allgatherv, in, g.lengths[rank], out, rcounts, rdispls, HX_INT32, g.comm);
    else
        CALL(form, neighbor_alltoallv, in_end ? in : NULL, scounts, sdispls, out, rcounts, rdispls, HX_INT32, g.comm);
    if (form) { /* the arrays may go */
        memset(scounts, 0xff, sizeof(scounts));
        memset(sdispls, 0xff, sizeof(sdispls));
    }
    finish(form);
    for (int i = 0; i < g.nin; i++)
        block_check(out + rdispls[i], gathers ? g.from[g.in[i]] : g.in[i], rcounts[i], stamp);
    free(in);
    free(out);
}

static void plain_call(int form, int stamp, size_t count, int gathers)
{
    int32_t *in = buffer_new(count * (size_t)(g.nout + 1)), *out = buffer_new(count * (size_t)g.nin);

    for (int i = 0; i < (gathers ? 1 : g.nout); i++)
        for (size_t k = 0; k < count; k++)
            in[(size_t)i * count + k] = value(gathers ? rank : g.out[i], k, stamp);
    if (gathers)
        CALL(form, neighbor_allgather, in, out, count, HX_INT32, g.comm);
    else
        CALL(form, neighbor_alltoall, in, out, count, HX_INT32, g.comm);
    finish(form);
    for (int i = 0; i < g.nin; i++)
        for (size_t k = 0; k < count; k++)
            if (out[(size_t)i * count + k] != value(gathers ? g.from[g.in[i]] : g.in[i], k, stamp))
                fail("a wrong element");
    if (out[(size_t)g.nin * count] != -1)
        fail("an element behind the last block was written");
    free(in);
    free(out);
}

/* Block r to rank q is of int64 elements if r + q is even, else of bytes. */
static void types_call(int form, int in_place)
{
    size_t counts[2][64], displs[2][64], end = 0;
    hx_dtype_t types[2][64];
    unsigned char *in, *out;

    for (int r = 0; r < size; r++) {
        types[0][r] = types[1][r] = (r + rank) % 2 ? HX_BYTE : HX_INT64;
        if (types[0][r] == HX_BYTE && !in_place) /* the same bytes, as other elements on the other side */
            types[1][r] = HX_UINT16;
        counts[0][r] = 4 * (size_t)((r + 1) * (rank + 1) % 5) * (in_place ? 0 : 1) + 8 * (size_t)((r + rank) % 3);
        counts[1][r] = types[1][r] == HX_UINT16 ? counts[0][r] / 2 : counts[0][r];
        displs[0][r] = displs[1][r] = end + 3;
        end += 8 * counts[0][r] + 5;
    }
    in = calloc(end + 1, 1);
    out = calloc(end + 1, 1);
    for (int r = 0; r < size; r++)
        for (size_t k = 0; k < counts[0][r] * (types[0][r] == HX_BYTE ? 1 : 8); k++)
            (in_place ? out : in)[displs[0][r] + k] = (unsigned char)(rank * 16 + r + (int)k);
    CALL(form, alltoallw, in_place ? HX_IN_PLACE : in, counts[0], displs[0], types[0], out, counts[1], displs[1], types[1], world);
    if (form == 2 && in_place) { /* once: the second would send what the first received */
        check(hx_start(request));
        check(hx_wait(request));
        check(hx_request_free(request));
    } else {
        finish(form);
    }
    for (int r = 0; r < size; r++)
        for (size_t k = 0; k < counts[0][r] * (types[0][r] == HX_BYTE ? 1 : 8); k++)
            if (out[displs[1][r] + k] != (unsigned char)(r * 16 + rank + (int)k))
                fail("a wrong byte");
    free(in);
    free(out);
}

static void calls_make(int stamp)
{
    static const size_t longest[LENGTHS] = {3, 40, 3000, 70000};
    const size_t most = longest[draw(LENGTHS)];

    for (int e = 0; e < MOST; e++)
        g.lengths[e] = draw(3) ? (size_t)draw(most) : 0;
    for (int form = 0; form < 3; form++) {
        lists_call(form, stamp + form, 0);
        lists_call(form, stamp + form, 1);
        plain_call(form, stamp + form, most / 4, 0);
        plain_call(form, stamp + form, most / 4, 1);
    }
    /* several under way at once, and another collective of the same communicator meanwhile */
    int32_t one = value(rank, 0, stamp), *outs[6], sum = 0, mine = 1;
    hx_request_t *requests[6];
    for (int i = 0; i < 6; i++)
        check(hx_ineighbor_allgather(&one, outs[i] = buffer_new((size_t)g.nin), 1, HX_INT32, g.comm, &requests[i]));
    check(hx_allreduce(&mine, &sum, 1, HX_INT32, HX_SUM, g.comm));
    check(hx_waitall(6, requests));
    for (int i = 0; i < 6; i++) {
        for (int j = 0; j < g.nin; j++)
            if (outs[i][j] != value(g.from[g.in[j]], 0, stamp) || sum != size)
                fail("one of several calls");
        free(outs[i]);
    }
}

static void refused(hx_status_t got, const char *text)
{
    if (got != HX_ERR_ARG || !strstr(hx_error_detail(NULL), text)) {
        fprintf(stderr, "rank %d: \"%s\" (%s), not \"%s\"\n", rank, hx_error_detail(NULL), hx_strerror(got), text);
        exit(1);
    }
}

static void bad_arguments(void)
{
    int wrong[] = {0, size}, self[] = {rank};
    int32_t number = 0;
    size_t one[MOST], two[MOST], zero[MOST] = {0};
    hx_comm_t *made = NULL;
    char text[64];

    for (int i = 0; i < MOST; i++)
        one[i] = 1, two[i] = 2;
    snprintf(text, sizeof(text), "sources[1] is %d; choose 0 to %d", size, size - 1);
    refused(hx_comm_graph(world, 2, wrong, 0, NULL, &made), text);
    refused(hx_comm_graph(world, 0, NULL, -1, NULL, &made), "ndestinations is -1");
    refused(hx_comm_graph(world, 0, NULL, 1, NULL, &made), "destinations is NULL and ndestinations is 1");
    refused(hx_comm_graph(world, 1, self, 0, NULL, &made), "rank 0 has rank 0 in its sources 1 times, but rank 0 has rank 0 in its destinations 0 times");
    refused(hx_neighbor_allgather(&number, &number, 1, HX_INT32, world), "the communicator has no graph");
    refused(hx_neighbor_allgather(HX_IN_PLACE, &number, 1, HX_INT32, g.comm), "in is HX_IN_PLACE");
    refused(hx_neighbor_allgather(NULL, &number, 1, HX_INT32, g.comm), "in is NULL and count is 1");
    refused(hx_neighbor_alltoall(&number, NULL, 1, HX_INT32, g.comm), "out is NULL and count is 1");
    refused(hx_neighbor_alltoall(&number, &number, SIZE_MAX / 2, HX_INT32, g.comm), "more than an address space holds");
    refused(hx_neighbor_allgatherv(&number, 1, &number, NULL, zero, HX_INT32, g.comm), "rcounts is NULL");
    refused(hx_neighbor_alltoallv(&number, one, zero, &number, one, zero, HX_INT32, g.comm), "but the block of neighbor");
    refused(hx_neighbor_alltoallv(NULL, one, zero, &number, zero, zero, HX_INT32, g.comm), "in is NULL, but scounts are not all 0");
    refused(hx_neighbor_allgather(&number, &number, 1, (hx_dtype_t)999, g.comm), "hx_neighbor_allgather");
    refused(hx_alltoallw(&number, one, zero, NULL, &number, one, zero, NULL, world), "stypes is NULL");
    if (size == 1)
        refused(hx_neighbor_alltoallv(&number, two, zero, &number, one, zero, HX_INT32, g.comm), "to itself (scounts[0])");
    check(hx_group_begin(g.comm));
    if (hx_neighbor_allgather(&number, &number, 0, HX_INT32, g.comm) != HX_ERR_STATE)
        fail("a group is open, but the call is not refused");
    check(hx_group_end(g.comm, NULL));
}

static void torus(void)
{
    g.n = 0;
    for (int r = 0; r < size; r++)
        for (int i = 0; i < 4; i++) { /* a dimension of one rank, and one of size */
            g.from[g.n] = r;
            g.to[g.n++] = i < 2 ? r : i == 2 ? (r + size - 1) % size : (r + 1) % size;
        }
    graph_make();
}

int main(int argc, char **argv)
{
    const int graphs = argc > 2 ? atoi(argv[2]) : 1;

    state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    check(hx_init(&world));
    rank = hx_rank(world);
    size = hx_size(world);
    if (argc > 3) {
        torus();
        calls_make(1);
        bad_arguments();
        calls_make(2);
        check(hx_comm_free(g.comm));
    }
    for (int i = 0; i < graphs; i++) {
        g.n = (int)draw(5) ? (int)draw(1 + (uint64_t)size * 5) : 0;
        for (int e = 0; e < g.n; e++) {
            g.from[e] = (int)draw((uint64_t)size);
            g.to[e] = (int)draw((uint64_t)size);
        }
        graph_make();
        calls_make(100 * i);
        calls_make(100 * i + 50);
        for (int form = 0; form < 6; form++)
            types_call(form / 2, form % 2);
        check(hx_comm_free(g.comm));
    }
    check(hx_finalize());
    if (rank == 0)
        printf("%d graphs, no difference\n", graphs);
    return 0;
}
