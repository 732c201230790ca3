/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of algorithms between nodes. A row added here is tested, listed and selectable. */
#include "algorithms.h"

#define ANYWHERE (HX_SCOPE_INTRA | HX_SCOPE_INTER | HX_SCOPE_FLAT)

const struct hx_algorithm hx_inter_algorithms[] = {
    {"ring", HX_COLL_ALLREDUCE, hx_allreduce_ring, ANYWHERE, HX_NEEDS_COMMUTATIVE,
     "least bytes, neighbours only: 2(p-1) rounds", "baidu-allreduce"},
    {"mesh", HX_COLL_ALLREDUCE, hx_allreduce_mesh, ANYWHERE, 0,
     "least bytes in 2 rounds, p-1 messages at a time", "Neuron mesh"},
    {"mesh_single", HX_COLL_ALLREDUCE, hx_allreduce_mesh_single, ANYWHERE, 0,
     "1 round, everybody's whole vector to everybody: small vectors", "Neuron single-step mesh"},
    {"recursive_doubling", HX_COLL_ALLREDUCE, hx_allreduce_recursive_doubling, ANYWHERE, 0,
     "log2 p rounds of whole vectors: small vectors", "Thakur, Rabenseifner, Gropp 2005"},
    {"rdh", HX_COLL_ALLREDUCE, hx_allreduce_rdh, ANYWHERE, HX_NEEDS_COMMUTATIVE,
     "recursive halving, then doubling: 2 log2 p rounds, best where p is a power of two", "Rabenseifner 2004"},
    {"circulant", HX_COLL_ALLREDUCE, hx_allreduce_circulant, ANYWHERE, HX_NEEDS_COMMUTATIVE,
     "least bytes in 2 ceil(log2 p) rounds for any p", "Traeff, arXiv 2410.14234"},

    {"ring", HX_COLL_REDUCE_SCATTER, hx_reduce_scatter_ring, ANYWHERE, HX_NEEDS_COMMUTATIVE,
     "least bytes, neighbours only: p-1 rounds", "baidu-allreduce"},
    {"mesh", HX_COLL_REDUCE_SCATTER, hx_reduce_scatter_mesh, ANYWHERE, 0,
     "least bytes in 1 round, p-1 messages at a time", "Neuron mesh"},
    {"rdh", HX_COLL_REDUCE_SCATTER, hx_reduce_scatter_rdh, ANYWHERE, HX_NEEDS_COMMUTATIVE,
     "recursive halving: log2 p rounds, best where p is a power of two", "Thakur, Rabenseifner, Gropp 2005"},
    {"circulant", HX_COLL_REDUCE_SCATTER, hx_reduce_scatter_circulant, ANYWHERE, HX_NEEDS_COMMUTATIVE,
     "least bytes in ceil(log2 p) rounds for any p", "Traeff, arXiv 2410.14234"},

    {"ring", HX_COLL_ALLGATHER, hx_allgather_ring, ANYWHERE, 0,
     "least bytes, neighbours only: p-1 rounds", "baidu-allreduce"},
    {"mesh", HX_COLL_ALLGATHER, hx_allgather_mesh, ANYWHERE, 0,
     "least bytes in 1 round, p-1 messages at a time", "Neuron mesh"},
    {"rdh", HX_COLL_ALLGATHER, hx_allgather_rdh, ANYWHERE, 0,
     "recursive doubling: log2 p rounds, best where p is a power of two", "Thakur, Rabenseifner, Gropp 2005"},
    {"circulant", HX_COLL_ALLGATHER, hx_allgather_circulant, ANYWHERE, 0,
     "least bytes in ceil(log2 p) rounds for any p", "Traeff, arXiv 2410.14234"},

    {"flat", HX_COLL_BCAST, hx_bcast_flat, ANYWHERE, 0,
     "1 round, the root sends to everybody: few members, small vectors", "The Illustrated Collectives"},
    {"binomial", HX_COLL_BCAST, hx_bcast_binomial, ANYWHERE, 0,
     "log2 p rounds of whole vectors: small vectors", "The Illustrated Collectives"},
    {"knomial", HX_COLL_BCAST, hx_bcast_knomial, ANYWHERE, 0,
     "log4 p rounds of 3 whole vectors at once: small vectors", "MPICH, UCX"},
    {"scatter_ring", HX_COLL_BCAST, hx_bcast_scatter_ring, ANYWHERE, 0,
     "twice the least bytes, log2 p + p-1 rounds: large vectors", "van de Geijn 1994"},
    {"scatter_circulant", HX_COLL_BCAST, hx_bcast_scatter_circulant, ANYWHERE, 0,
     "twice the least bytes, 2 ceil(log2 p) rounds: medium and large vectors", "van de Geijn 1994; Traeff"},
    {"chain", HX_COLL_BCAST, hx_bcast_chain, ANYWHERE, 0,
     "each member passes slices on to the next: large vectors, few members", "Johnsson, Ho 1989"},

    {"flat", HX_COLL_REDUCE, hx_reduce_flat, ANYWHERE, 0,
     "1 round, everybody sends to the root: few members, small vectors", "The Illustrated Collectives"},
    {"binomial", HX_COLL_REDUCE, hx_reduce_binomial, ANYWHERE, HX_NEEDS_COMMUTATIVE,
     "log2 p rounds of whole vectors: small vectors", "The Illustrated Collectives"},
    {"knomial", HX_COLL_REDUCE, hx_reduce_knomial, ANYWHERE, HX_NEEDS_COMMUTATIVE,
     "log4 p rounds of 3 whole vectors at once: small vectors", "MPICH, UCX"},
    {"scatter_gather", HX_COLL_REDUCE, hx_reduce_scatter_gather, ANYWHERE, HX_NEEDS_COMMUTATIVE,
     "twice the least bytes, 2 ceil(log2 p) rounds: medium and large vectors", "Rabenseifner 2004; Traeff"},
    {"chain", HX_COLL_REDUCE, hx_reduce_chain, ANYWHERE, HX_NEEDS_COMMUTATIVE,
     "each member adds its part to a slice and passes it on: large vectors, few members", "Open MPI"},
    {0},
};
