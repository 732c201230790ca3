/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The neighbourhood collectives and MPI_Alltoallw, in all forms, on topologies of each kind. The test makes the same exchange by messages
 * of MPI, as the standard defines it: not all MPIs match the blocks of several edges between two ranks right. Counts, types and graphs are
 * drawn at random.
 *
 * usage: neighbors ROUNDS SEED
 */
#include "forms.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 300, BLOCKS = 64, ROOM = 24 * MOST * BLOCKS };
static unsigned char in[ROOM], ours[ROOM], theirs[ROOM];
static int large, form, rank, size, round_no, failures;
static unsigned seed;
static MPI_Request request;

static unsigned draw(unsigned n)
{
    seed = seed * 1103515245u + 12345u;
    return (seed >> 16) % n;
}

static int complete(void)
{
    return MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Twice: the second start finds what the first has left. */
static int run(void)
{
    for (int i = 0; i < 2; i++) {
        MPI_Start(&request);
        complete();
    }
    return MPI_Request_free(&request);
}

/* A side of an exchange: with whom, and each block. */
struct side {
    int n, ranks[BLOCKS], tags[BLOCKS], counts[BLOCKS], displs[BLOCKS];
    MPI_Aint at[BLOCKS]; /* bytes */
    MPI_Datatype types[BLOCKS];
    MPI_Count wide_counts[BLOCKS];
};

static struct side sources, destinations;
static MPI_Datatype layouts[3];
static const char *doing;

/* The k-th block for a rank meets the k-th from it. In a grid, what is sent backwards arrives from ahead. */
static void tags_set(struct side *s, int is_grid, int receives)
{
    for (int i = 0; i < s->n; i++) {
        s->tags[i] = is_grid ? (receives ? i ^ 1 : i) : 0;
        for (int k = 0; k < i && !is_grid; k++)
            s->tags[i] += s->ranks[k] == s->ranks[i];
    }
}

/* The type of each block by its displacement in bytes: one for all if type is not MPI_DATATYPE_NULL. */
static void reference(MPI_Comm comm, const struct side *from, const struct side *to)
{
    MPI_Request requests[2 * BLOCKS];

    for (int i = 0; i < from->n; i++)
        PMPI_Irecv(theirs + from->at[i], from->counts[i], from->types[i], from->ranks[i], from->tags[i], comm, &requests[i]);
    for (int i = 0; i < to->n; i++)
        PMPI_Isend(in + to->at[i], to->counts[i], to->types[i], to->ranks[i], to->tags[i], comm, &requests[from->n + i]);
    PMPI_Waitall(from->n + to->n, requests, MPI_STATUSES_IGNORE);
}

static void begin(void)
{
    for (int i = 0; i < ROOM; i++) {
        in[i] = (unsigned char)(i * 7 + rank * 31 + round_no);
        ours[i] = theirs[i] = 0xee;
    }
}

static void compare(const char *what)
{
    for (int i = 0; i < ROOM; i++)
        if (ours[i] != theirs[i]) {
            if (failures++ < 5)
                fprintf(stderr, "neighbors: rank %d, round %d, %s: %s: byte %d is %d, not %d\n", rank, round_no, doing, what, i, ours[i], theirs[i]);
            return;
        }
}

/* Elements that a block has: the same number on both sides. */
static int length(int from, int to, int tag)
{
    return (from * 5 + to * 3 + tag * 11 + round_no) % 4 ? (from * 17 + to * 29 + tag * 13 + round_no) % MOST : 0;
}

enum what { PLAIN, LISTS, OWN_TYPES };

/* Set the blocks of a side. type: of all; count: PLAIN, of each. */
static void blocks_set(struct side *s, enum what what, int receives, int gathers, int count, MPI_Datatype type)
{
    int at = 0;

    for (int i = 0; i < s->n; i++) {
        MPI_Aint low, extent;
        const int from = receives ? s->ranks[i] : rank, to = receives ? rank : s->ranks[i];
        s->types[i] = what == OWN_TYPES ? layouts[(i + rank + round_no) % 3] : type;
        s->counts[i] = s->ranks[i] == MPI_PROC_NULL ? 1 : what == PLAIN ? count : gathers ? length(from, 0, 0) : length(from, to, s->tags[i]);
        MPI_Type_get_extent(s->types[i], &low, &extent);
        s->displs[i] = !gathers || receives ? at : 0;
        s->at[i] = s->displs[i] * (what == OWN_TYPES ? 8 : extent);
        if (what == OWN_TYPES)
            s->displs[i] = (int)s->at[i];
        at += what == PLAIN ? count : (s->counts[i] + 1) * (what == OWN_TYPES ? 3 : 1);
        if (what == PLAIN)
            s->counts[i] = count;
        s->wide_counts[i] = s->counts[i];
    }
}

static void exchanges(MPI_Comm comm)
{
    struct side *const from = &sources, *const to = &destinations;
    const MPI_Datatype mine = layouts[draw(3)], other = layouts[(draw(3) + (unsigned)rank) % 3];
    const int count = (int)draw(4) ? (int)draw(MOST) : (int)draw(3);

    blocks_set(from, PLAIN, 1, 1, count, other);
    blocks_set(to, PLAIN, 0, 1, count, mine);
    begin();
    OURS(Neighbor_allgather, Ineighbor_allgather, in, count, mine, ours, count, other, comm);
    reference(comm, from, to);
    compare("MPI_Neighbor_allgather");

    blocks_set(to, PLAIN, 0, 0, count, mine);
    begin();
    OURS(Neighbor_alltoall, Ineighbor_alltoall, in, count, mine, ours, count, other, comm);
    reference(comm, from, to);
    compare("MPI_Neighbor_alltoall");

    blocks_set(from, LISTS, 1, 1, 0, other);
    blocks_set(to, LISTS, 0, 1, 0, mine);
    begin();
    MPI_Aint at_from[BLOCKS], at_to[BLOCKS]; /* of the forms with MPI_Count */
    (void)at_from, (void)at_to; /* an MPI before 4 has none */
    for (int i = 0; i < from->n; i++)
        at_from[i] = from->displs[i];
    OURS_V(Neighbor_allgatherv, Ineighbor_allgatherv, (in, length(rank, 0, 0), mine, ours, from->counts, from->displs, other, comm),
           (in, length(rank, 0, 0), mine, ours, from->wide_counts, at_from, other, comm));
    reference(comm, from, to);
    compare("MPI_Neighbor_allgatherv");

    blocks_set(from, LISTS, 1, 0, 0, other);
    blocks_set(to, LISTS, 0, 0, 0, mine);
    for (int i = 0; i < from->n; i++)
        at_from[i] = from->displs[i];
    for (int i = 0; i < to->n; i++)
        at_to[i] = to->displs[i];
    begin();
    OURS_V(Neighbor_alltoallv, Ineighbor_alltoallv, (in, to->counts, to->displs, mine, ours, from->counts, from->displs, other, comm),
           (in, to->wide_counts, at_to, mine, ours, from->wide_counts, at_from, other, comm));
    reference(comm, from, to);
    compare("MPI_Neighbor_alltoallv");

    blocks_set(from, OWN_TYPES, 1, 0, 0, other);
    blocks_set(to, OWN_TYPES, 0, 0, 0, mine);
    begin();
    OURS_V(Neighbor_alltoallw, Ineighbor_alltoallw, (in, to->counts, to->at, to->types, ours, from->counts, from->at, from->types, comm),
           (in, to->wide_counts, to->at, to->types, ours, from->wide_counts, from->at, from->types, comm));
    reference(comm, from, to);
    compare("MPI_Neighbor_alltoallw");
}

static void all_to_all(MPI_Comm comm)
{
    const int in_place = (int)draw(3) == 0;

    sources.n = destinations.n = size;
    for (int i = 0; i < size; i++)
        sources.ranks[i] = destinations.ranks[i] = i;
    tags_set(&sources, 0, 1);
    tags_set(&destinations, 0, 0);
    blocks_set(&sources, OWN_TYPES, 1, 0, 0, MPI_BYTE);
    blocks_set(&destinations, OWN_TYPES, 0, 0, 0, MPI_BYTE);
    begin();
    if (in_place) { /* both directions are as long, in the same place */
        for (int i = 0; i < size; i++)
            sources.wide_counts[i] = sources.counts[i] = length(i < rank ? i : rank, i < rank ? rank : i, 0);
        for (int i = 1; i < size; i++)
            sources.at[i] = sources.displs[i] = sources.displs[i - 1] + 24 * (sources.counts[i - 1] + 1);
        destinations = sources;
        memcpy(ours, in, ROOM);
        memcpy(theirs, in, ROOM);
    }
    doing = "all to all";
    const void *input = in_place ? MPI_IN_PLACE : in;
    if (form == 2 && in_place) /* a second start would send what the first has received */
        form = 1;
    OURS_V(Alltoallw, Ialltoallw, (input, destinations.counts, destinations.displs, destinations.types, ours, sources.counts, sources.displs, sources.types, comm),
           (input, destinations.wide_counts, destinations.at, destinations.types, ours, sources.wide_counts, sources.at, sources.types, comm));
    form = round_no % 3;
    reference(comm, &sources, &destinations);
    compare("MPI_Alltoallw");
}

static void graph_run(MPI_Comm comm, int is_grid)
{
    tags_set(&sources, is_grid, 1);
    tags_set(&destinations, is_grid, 0);
    exchanges(comm);
    MPI_Comm_free(&comm);
}

static void grids(void)
{
    static const int shapes[][3] = {{1, 1, 0}, {2, 1, 0}, {0, 1, 2}, {1, 0, 1}, {0, 2, 1}, {0, 1, 1}};
    int dims[3], periods[3], all;
    MPI_Comm comm;

    memcpy(dims, shapes[draw(6)], sizeof(dims));
    for (int d = 0, rest = size; d < 3; d++)
        if (dims[d] > 1 && rest % dims[d] != 0)
            dims[d] = 1;
    MPI_Dims_create(size, 3, dims);
    for (int d = 0; d < 3; d++)
        periods[d] = draw(3) > 0;
    MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 0, &comm);
    doing = "grid";
    sources.n = destinations.n = all = 6;
    for (int i = 0; i < all; i += 2) {
        MPI_Cart_shift(comm, i / 2, 1, &sources.ranks[i], &sources.ranks[i + 1]);
        destinations.ranks[i] = sources.ranks[i];
        destinations.ranks[i + 1] = sources.ranks[i + 1];
    }
    graph_run(comm, 1);
}

static void drawn_graphs(void)
{
    int edges = (int)draw((unsigned)size * 4 + 1);
    MPI_Comm comm;

    sources.n = destinations.n = 0;
    for (int e = 0; e < edges; e++) {
        const int from = (int)draw((unsigned)size), to = (int)draw((unsigned)size);
        if (from == rank && destinations.n < BLOCKS)
            destinations.ranks[destinations.n++] = to;
        if (to == rank && sources.n < BLOCKS)
            sources.ranks[sources.n++] = from;
    }
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, sources.n, sources.ranks, MPI_UNWEIGHTED, destinations.n, destinations.ranks, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &comm);
    doing = "distributed graph";
    graph_run(comm, 0);
}

/* A ring with spokes to rank 0. */
static void graphs(void)
{
    int indices[BLOCKS], edges[4 * BLOCKS], n = 0, mine;
    MPI_Comm comm;

    for (int r = 0; r < size; r++) {
        edges[n++] = (r + 1) % size;
        edges[n++] = (r + size - 1) % size;
        for (int q = 2; r == 0 && q < size - 1; q++)
            edges[n++] = q;
        if (r > 1 && r < size - 1)
            edges[n++] = 0;
        indices[r] = n;
    }
    MPI_Graph_create(MPI_COMM_WORLD, size, indices, edges, 0, &comm);
    MPI_Graph_neighbors_count(comm, rank, &mine);
    MPI_Graph_neighbors(comm, rank, mine, sources.ranks);
    memcpy(destinations.ranks, sources.ranks, sizeof(sources.ranks));
    sources.n = destinations.n = mine;
    doing = "graph";
    graph_run(comm, 0);
}

int main(int argc, char **argv)
{
    const int lengths[2] = {1, 1}, rounds = argc > 1 ? atoi(argv[1]) : 1;
    const MPI_Aint places[2] = {12, 0};
    const MPI_Datatype ints[2] = {MPI_INT, MPI_INT};
    int all = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    seed = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    MPI_Type_contiguous(2, MPI_INT, &layouts[0]);
    MPI_Type_create_struct(2, lengths, places, ints, &layouts[1]);
    MPI_Type_create_resized(layouts[0], 0, 24, &layouts[2]);
    for (int i = 0; i < 3; i++)
        MPI_Type_commit(&layouts[i]);
    for (round_no = 0; round_no < rounds; round_no++) {
        large = (int)draw(2);
        form = round_no % 3;
        const unsigned before = seed;
        void (*const parts[])(void) = {grids, drawn_graphs, graphs, grids};
        for (int i = 0; i < 4; i++) {
            seed = before + (unsigned)i;
            parts[i]();
        }
        seed = before + 5;
        all_to_all(MPI_COMM_WORLD);
        seed = before + 6;
    }
    for (int i = 0; i < 3; i++)
        MPI_Type_free(&layouts[i]);
    PMPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("neighbors: %d rounds, seed %u: %d failures\n", rounds, seed, all);
    MPI_Finalize();
    return all != 0;
}
