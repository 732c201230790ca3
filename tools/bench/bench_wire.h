/* SPDX-License-Identifier: BSD-3-Clause */
/* Plain TCP between the nodes of a job: bench_wire_join.c connects, bench_wire.c measures. */
#pragma once

#include "tools/common/bench_backend.h"

#define WIRE_PATIENCE_NS 5e8 /* for a join, all pings, or a stream: meanwhile the other ranks wait in the library, which gives up after HX_TIMEOUT */

struct wire {
    const struct bench_job *job;
    int streams;              /* connections from a node to the next: the ranks of the smallest */
    int node, local;          /* this rank's node, and which of the node's ranks it is */
    int to_next, from_before; /* sockets that do not block; -1: none */
};

/* Find this rank's place among the nodes, in the order of their first ranks, and connect each rank to the one at the same place of the next
 * node, with this congestion control (NULL: the machine's). 0; 1 where that is not possible, on any rank; -1 when the backend failed. */
int wire_join(struct wire *w, const struct bench_job *job, const char *control);
void wire_part(struct wire *w);

/* Wait until a socket can do more, for a millisecond at most, and let the library move. 0, or -1 when it is too long since that moment. */
int wire_wait(int s, short events, double since);

/* The most of all ranks' values; below 0 where the backend failed. */
double wire_most(double mine);
