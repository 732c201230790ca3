/* SPDX-License-Identifier: BSD-3-Clause */
/* A graph is made of all ranks' lists, and of each edge its two ends are matched: see graph.h. */
#include "runtime/plan/graph.h"
#include "runtime/base/error.h"
#include <stdlib.h>

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static struct hx_graph *graph_alloc(int p, size_t nedges)
{
    struct hx_graph *graph = calloc(1, sizeof(*graph));
    uint32_t *numbers = calloc(2 * ((size_t)p + 1) + 4 * nedges, sizeof(*numbers));

    if (!graph || !numbers) {
        free(graph);
        free(numbers);
        return NULL;
    }
    *graph = (struct hx_graph){.p = p, .nedges = (uint32_t)nedges, .references = 1, .start = numbers, .in_start = numbers + p + 1};
    graph->from = graph->in_start + p + 1;
    graph->to = graph->from + nedges;
    graph->in = graph->to + nedges;
    graph->in_place = graph->in + nedges;
    return graph;
}

/* The edges from each rank; and those to each rank, in the order of their numbers. */
static void edges_list(struct hx_graph *graph, const int *ntargets, const int *targets)
{
    uint32_t e = 0;

    for (int r = 0; r < graph->p; r++) {
        for (int i = 0; i < ntargets[r]; i++, e++) {
            graph->from[e] = (uint32_t)r;
            graph->to[e] = (uint32_t)targets[e];
            graph->in_start[targets[e] + 1]++;
        }
        graph->start[r + 1] = e;
        graph->most = (uint32_t)ntargets[r] > graph->most ? (uint32_t)ntargets[r] : graph->most;
    }
    for (int r = 0; r < graph->p; r++)
        graph->in_start[r + 1] += graph->in_start[r];
    for (e = graph->nedges; e-- > 0;) /* in_start[r + 1] is where those to rank r end, and then where they start */
        graph->in[--graph->in_start[graph->to[e] + 1]] = e;
    for (int r = 0; r < graph->p; r++)
        graph->in_start[r] = graph->in_start[r + 1];
    graph->in_start[graph->p] = graph->nedges;
}

static int times(const uint32_t *ranks, size_t n, int rank)
{
    int found = 0;

    for (size_t i = 0; i < n; i++)
        found += ranks[i] == (uint32_t)rank;
    return found;
}

static hx_status_t differ(const char *name, const struct hx_graph *graph, int rank, const int *sources, int nsources)
{
    for (int other = 0; other < graph->p; other++) {
        int lists = times((const uint32_t *)sources, (size_t)nsources, other);
        int listed = times(graph->to + graph->start[other], graph->start[other + 1] - graph->start[other], rank);
        if (lists != listed)
            return hx_fail(HX_ERR_ARG, "%s: rank %d has rank %d in its sources %d times, but rank %d has rank %d in its destinations %d times",
                           name, rank, other, lists, other, rank, listed);
    }
    return HX_ERR_INTERNAL;
}

/* Put the edges to a rank into the order of its sources. keys: room for as many numbers as it has edges. */
static int sources_order(struct hx_graph *graph, int rank, const int *sources, int nsources, uint64_t *keys)
{
    uint32_t *in = graph->in + graph->in_start[rank];

    if ((uint32_t)nsources != graph->in_start[rank + 1] - graph->in_start[rank])
        return 0;
    for (int i = 0; i < nsources; i++)
        keys[i] = (uint64_t)sources[i] << 32 | (uint32_t)i;
    qsort(keys, (size_t)nsources, sizeof(*keys), by_number);
    for (int i = 0; i < nsources; i++) { /* edges stand in the order of their ranks too */
        if (graph->from[in[i]] != keys[i] >> 32)
            return 0;
        graph->in_place[in[i]] = (uint32_t)keys[i];
        keys[i] = keys[i] << 32 | in[i];
    }
    for (int i = 0; i < nsources; i++)
        in[keys[i] >> 32] = (uint32_t)keys[i];
    return 1;
}

/* Rounds tell the messages from one rank to another apart. Edges to a rank stand in the order of their ranks. */
static hx_status_t times_check(const char *name, const struct hx_graph *graph, int rank)
{
    const uint32_t *in = graph->in + graph->in_start[rank], n = graph->in_start[rank + 1] - graph->in_start[rank];

    for (uint32_t i = HX_MATCH_ROUNDS; i < n; i++)
        if (graph->from[in[i]] == graph->from[in[i - HX_MATCH_ROUNDS]])
            return hx_fail(HX_ERR_ARG, "%s: rank %u has rank %d in its destinations more than %d times", name, graph->from[in[i]], rank,
                           HX_MATCH_ROUNDS);
    return HX_SUCCESS;
}

hx_status_t hx_graph_new(const char *name, int p, const int *ntargets, const int *targets, const int *nsources, const int *sources,
                         struct hx_graph **out)
{
    struct hx_graph *graph;
    size_t nedges = 0, most = 1;
    hx_status_t status = HX_SUCCESS;
    uint64_t *keys;

    for (int r = 0; r < p; r++) {
        nedges += (size_t)ntargets[r];
        most = (size_t)nsources[r] > most ? (size_t)nsources[r] : most;
    }
    if (nedges > INT32_MAX)
        return hx_fail(HX_ERR_ARG, "%s: the graph has %zu edges; choose at most %d", name, nedges, INT32_MAX);
    graph = graph_alloc(p, nedges);
    keys = malloc(most * sizeof(*keys));
    if (graph && keys)
        edges_list(graph, ntargets, targets);
    else
        status = hx_fail(HX_ERR_NOMEM, "%s: no memory for a graph of %zu edges", name, nedges);
    for (int r = 0; r < p && status == HX_SUCCESS; sources += nsources[r++])
        if ((status = times_check(name, graph, r)) == HX_SUCCESS && !sources_order(graph, r, sources, nsources[r], keys))
            status = differ(name, graph, r, sources, nsources[r]);
    free(keys);
    if (status == HX_SUCCESS)
        *out = graph;
    else
        hx_graph_release(graph);
    return status;
}

struct hx_graph *hx_graph_retain(struct hx_graph *graph)
{
    if (graph)
        graph->references++;
    return graph;
}

void hx_graph_release(struct hx_graph *graph)
{
    if (!graph || --graph->references > 0)
        return;
    free(graph->start);
    free(graph);
}
