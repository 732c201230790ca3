/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of algorithms inside a node. A row added here is tested, listed and selectable. */
#include "algorithms.h"

const struct hx_algorithm hx_intra_algorithms[] = {
    {"nary", HX_COLL_ALLREDUCE, hx_allreduce_nary, HX_SCOPE_INTRA, HX_NEEDS_SHARED_MEMORY,
     "1 hop, everybody adds up all slots: small vectors", "shared-memory flag exchange"},
    {"nary_sliced", HX_COLL_ALLREDUCE, hx_allreduce_nary_sliced, HX_SCOPE_INTRA, HX_NEEDS_SHARED_MEMORY,
     "2 hops, each member adds up one block of all slots: medium and large vectors",
     "n-ary reduce-scatter and all-gather"},
    {"nary", HX_COLL_REDUCE_SCATTER, hx_reduce_scatter_nary, HX_SCOPE_INTRA, HX_NEEDS_SHARED_MEMORY,
     "1 hop, each owner adds up its block of all slots", "n-ary reduce-scatter"},
    {"nary", HX_COLL_ALLGATHER, hx_allgather_nary, HX_SCOPE_INTRA, HX_NEEDS_SHARED_MEMORY,
     "1 hop, everybody copies from all owners' slots", "n-ary all-gather"},
    {"nary", HX_COLL_BCAST, hx_bcast_nary, HX_SCOPE_INTRA, HX_NEEDS_SHARED_MEMORY,
     "1 hop, everybody copies from the root's slot", "shared-memory flag exchange"},
    {"nary", HX_COLL_REDUCE, hx_reduce_nary, HX_SCOPE_INTRA, HX_NEEDS_SHARED_MEMORY,
     "1 hop, the root adds up all slots: small vectors", "shared-memory flag exchange"},
    {"nary_sliced", HX_COLL_REDUCE, hx_reduce_nary_sliced, HX_SCOPE_INTRA, HX_NEEDS_SHARED_MEMORY,
     "2 hops, each member adds up one block of all slots: medium and large vectors", "n-ary reduce-scatter and gather"},
    {"nary", HX_COLL_BARRIER, hx_barrier_nary, HX_SCOPE_INTRA, HX_NEEDS_SHARED_MEMORY,
     "1 hop, everybody looks at all flags: few members", "shared-memory flag exchange"},
    {"flag_tree", HX_COLL_BARRIER, hx_barrier_flag_tree, HX_SCOPE_INTRA, HX_NEEDS_SHARED_MEMORY,
     "2 log8 p hops, nobody looks at more than 9 flags: many members", "Mellor-Crummey, Scott 1991"},
    {"nary", HX_COLL_GATHER, hx_gather_nary, HX_SCOPE_INTRA, HX_NEEDS_SHARED_MEMORY,
     "1 hop, the root copies from everybody's slot", "shared-memory flag exchange"},
    {"nary", HX_COLL_SCATTER, hx_scatter_nary, HX_SCOPE_INTRA, HX_NEEDS_SHARED_MEMORY,
     "1 hop, everybody copies its block from the root's slot", "shared-memory flag exchange"},
    {"nary", HX_COLL_SCAN, hx_scan_nary, HX_SCOPE_INTRA, HX_NEEDS_SHARED_MEMORY,
     "1 hop, everybody adds up the slots of the lower ones", "shared-memory flag exchange"},
    {"nary", HX_COLL_EXSCAN, hx_exscan_nary, HX_SCOPE_INTRA, HX_NEEDS_SHARED_MEMORY,
     "1 hop, everybody adds up the slots of the lower ones", "shared-memory flag exchange"},
    {0},
};
