/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lower bounds of a collective on N nodes of n ranks, S bytes; the largest known term is the bound:
 *
 *   hop      two ranks write a cache line each and read the other's, when a node has several (measured)
 *   memory   inputs read once, outputs written once (measured on each rank), by all cores that the ranks have
 *   dirty    f S(n-1)/n, of gather S(n-1)/(n N), of scatter S/(n N), at the rate of reading lines that another core has just written (measured)
 *   latency  one message between nodes (given, or of plain TCP, measured: bench_wire.c)
 *   network  f S(N-1)/(N B_node)                  f = 2 for all-reduce, 1 for the others (likewise)
 *
 * Broadcast, reduce and scans: S/B_node, and S where dirty says f S(n-1)/n. Gather and scatter: the blocks of all ranks but
 * the fullest node's. All-to-all, S bytes on each rank: likewise, n times, and S(n-1)/(n N) where dirty says f S(n-1)/n.
 * If B_node is measured, it is the one-way rate for collectives with a root and for scans: their nodes need not send and
 * receive at once. The rate is from one node to one other. If each connection is slowed, a node that talks to several
 * others does better, so gather, scatter and all-to-all on more than 2 nodes are not held against it.
 */
#include "tools/common/bench.h"

static void raise_to(struct bench_row *row, double us, const char *term)
{
    if (us > row->bound_us) {
        row->bound_us = us;
        row->bound_term = term;
    }
}

double bench_bound_gbps(const struct bench_options *o, const struct bench_job *job, enum hx_function collective)
{
    const int whole = bench_is_whole(collective), rooted = bench_is_rooted(collective);
    if (o->node_gbps > 0)
        return o->node_gbps;
    if (job->nodes > 2 && ((rooted && !whole) || hx_coll_has_pairs(hx_function_coll(collective))))
        return 0;
    return rooted || whole ? job->wire_one_way_gbps : job->wire_gbps;
}

void bench_bound_set(const struct bench_options *o, const struct bench_job *job, double floor_us,
                     struct bench_row *row)
{
    const double n = job->max_local, nodes = job->nodes, bytes = (double)row->bytes;
    const double elsewhere = (job->size - n) / job->size; /* of the ranks, seen from the fullest node */
    const double phases = row->collective == HX_FUNCTION_ALLREDUCE ? 2 : 1;
    const int whole = bench_is_whole(row->collective);
    const int pairs = hx_coll_has_pairs(hx_function_coll(row->collective));
    const int rooted = bench_is_rooted(row->collective);
    const double node_gbps = bench_bound_gbps(o, job, row->collective);
    row->bound_us = 0;
    row->bound_term = "-";
    raise_to(row, floor_us, "memory");
    if (n > 1 && o->loop != BENCH_AHEAD)
        raise_to(row, job->hop_ns / 1e3, "hop");
    if (job->dirty_gbps > 0 && o->loop == BENCH_COLD) { /* the bytes of other ranks of its node that the busiest reader must read */
        const int scatters = bench_is_rooted(row->collective) && bench_scatters(row->collective);
        const double others = scatters ? (n > 1) / n : phases * (n - 1) / n;
        raise_to(row, (whole ? bytes * (n > 1) : bytes * others) / (pairs || (rooted && !whole) ? nodes : 1) / job->dirty_gbps / 1e3, "dirty");
    }
    if (nodes > 1 && o->loop != BENCH_AHEAD && (row->count > 0 || row->collective == HX_FUNCTION_BARRIER))
        raise_to(row, o->alpha_us > 0 ? o->alpha_us : job->wire_us, "latency");
    if (node_gbps > 0)
        raise_to(row,
                 (whole ? bytes * (nodes > 1) : pairs ? n * bytes * elsewhere : rooted ? bytes * elsewhere : phases * bytes * (nodes - 1) / nodes) /
                     node_gbps / 1e3,
                 "network");
}
