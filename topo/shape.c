/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shapes: from the node id of each rank to the tables node -> ranks and rank -> node.
 *
 * Every way to make a shape ends in hx_shape_from_nodes. It renumbers the ids by first appearance, so equal placements give equal
 * shapes. The time is linear in the number of ranks, except that levels compare each rank with the domains of its node: 100,000
 * ranks take 2 ms.
 */
#include "topo/shape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RANKS (1 << 24)
#define EXPECTED                                                         \
    "ranks per node (4,4,3 or 33x1 or 4x96,2x95), or ranks and domains " \
    "per node (2x96/2/12); :block or :cyclic may follow"

/* Number nodes by the first appearance of their id, by an open hash table from id to node. node_id[first_rank[node]] is the node's
 * id. Returns the number of nodes; 0: no memory. */
static int number_nodes(const int *node_id, int nranks, int *first_rank, int *node_of)
{
    int bits = 1;
    while (((size_t)1 << bits) < 2 * (size_t)nranks)
        bits++;
    size_t mask = ((size_t)1 << bits) - 1;
    int *table = calloc(mask + 1, sizeof *table); /* node + 1; 0 is an empty place */
    if (!table)
        return 0;
    int nnodes = 0;
    for (int rank = 0; rank < nranks; rank++) {
        size_t place = (size_t)(((uint64_t)(uint32_t)node_id[rank] * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - bits));
        while (table[place] && node_id[first_rank[table[place] - 1]] != node_id[rank])
            place = (place + 1) & mask;
        if (!table[place]) {
            first_rank[nnodes] = rank;
            table[place] = ++nnodes;
        }
        node_of[rank] = table[place] - 1;
    }
    free(table);
    return nnodes;
}

/* Counting sort of the ranks by node; node_of and nnodes are set. */
static void fill_members(struct hx_shape *s)
{
    int *start = s->node_start;
    memset(start, 0, ((size_t)s->nnodes + 1) * sizeof *start);
    for (int rank = 0; rank < s->nranks; rank++)
        s->local_of[rank] = start[s->node_of[rank] + 1]++;
    s->max_local = s->min_local = start[1];
    for (int node = 0; node < s->nnodes; node++) {
        int size = start[node + 1];
        s->max_local = size > s->max_local ? size : s->max_local;
        s->min_local = size < s->min_local ? size : s->min_local;
        start[node + 1] += start[node];
    }
    s->in_order = 1;
    for (int rank = 0; rank < s->nranks; rank++) {
        int place = start[s->node_of[rank]] + s->local_of[rank];
        s->members[place] = rank;
        s->in_order &= place == rank;
    }
}

/* node_of determines the rest of a shape, except its levels. */
uint64_t hx_shape_hash(const struct hx_shape *s, const int *domain_of)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ (uint64_t)s->nranks;
    for (int rank = 0; rank < s->nranks; rank++) {
        hash = (hash ^ (uint64_t)s->node_of[rank]) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 29;
    }
    for (size_t i = 0; i < (size_t)s->nlevels * (size_t)s->nranks; i++) {
        hash = (hash ^ (uint64_t)domain_of[i]) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 29;
    }
    return hash;
}

struct hx_shape *hx_shape_from_nodes(const int *node_id, int nranks)
{
    if (nranks < 1)
        return NULL;
    size_t n = (size_t)nranks;
    struct hx_shape *s = malloc(sizeof *s + (4 * n + 1) * sizeof(int)); /* one block but for ring, groups and levels */
    if (!s)
        return NULL;
    s->nranks = nranks;
    s->ring = NULL;
    s->group_of = NULL;
    s->ngroups = 1;
    s->domain_of = NULL;
    s->nlevels = 0;
    s->node_of = (int *)(s + 1);
    s->local_of = s->node_of + n;
    s->members = s->local_of + n;
    s->node_start = s->members + n;
    s->nnodes = number_nodes(node_id, nranks, s->members /* not yet in use */, s->node_of);
    if (!s->nnodes) {
        free(s);
        return NULL;
    }
    fill_members(s);
    s->hash = hx_shape_hash(s, NULL);
    return s;
}

/* A positive number without sign or blanks, limited to MAX_RANKS + 1; 0: there is none. */
static int read_number(const char **text)
{
    int value = 0;
    for (; **text >= '0' && **text <= '9'; ++*text)
        value = value > MAX_RANKS ? value : value * 10 + (**text - '0');
    return value > MAX_RANKS ? MAX_RANKS + 1 : value;
}

struct node_text {
    int size;
    int parts[HX_SHAPE_LEVELS]; /* domains at each level, within each domain of the level around; 0: no such level */
};

/* Read "/2/6" after a node's size. Returns what is wrong, or NULL. */
static const char *read_parts(const char **text, struct node_text *node)
{
    int domains = 1;

    for (int k = 0; **text == '/'; k++) {
        ++*text;
        if (k == HX_SHAPE_LEVELS)
            return "more than 3 levels inside a node; ";
        if (!(node->parts[k] = read_number(text)))
            return "";
        if (node->parts[k] > node->size / domains)
            return "more domains than a node has ranks; ";
        domains *= node->parts[k];
    }
    return NULL;
}

/* Read "4,4,3" or "4x96/2,2x95". Called twice: with nodes NULL to count and check, then to fill. Returns what is wrong, or NULL
 * with *rest behind the list. */
static const char *read_nodes(const char *text, struct node_text *nodes, int *nnodes, int *nranks, const char **rest)
{
    *nnodes = *nranks = 0;
    for (const char *at = text, *wrong;; at++) {
        struct node_text node = {.size = read_number(&at)};
        int copies = 1;
        if (node.size && *at == 'x') {
            at++;
            copies = node.size;
            node.size = read_number(&at);
        }
        if (!node.size)
            return "";
        if ((int64_t)copies * node.size > MAX_RANKS - *nranks)
            return "more than 16777216 ranks; ";
        if ((wrong = read_parts(&at, &node)))
            return wrong;
        for (int i = 0; nodes && i < copies; i++)
            nodes[*nnodes + i] = node;
        *nnodes += copies;
        *nranks += copies * node.size;
        *rest = at;
        if (*at != ',')
            return NULL;
    }
}

static void place_block(const struct node_text *nodes, int nnodes, int *node_id)
{
    for (int node = 0; node < nnodes; node++)
        for (int i = 0; i < nodes[node].size; i++)
            *node_id++ = node;
}

/* Deal one rank to each node that has room, round by round. Full nodes leave the list, so the time is linear. */
static void place_cyclic(const struct node_text *nodes, int nnodes, int *node_id, int *open)
{
    for (int node = 0; node < nnodes; node++)
        open[node] = node;
    for (int nopen = nnodes, round = 1; nopen > 0; round++) {
        int still_open = 0;
        for (int i = 0; i < nopen; i++) {
            int node = open[i];
            *node_id++ = node;
            if (round < nodes[node].size)
                open[still_open++] = node;
        }
        nopen = still_open;
    }
}

/* The domains of local rank `place`: each domain is cut evenly. */
static void find_domains(const struct node_text *node, int place, int ids[HX_SHAPE_LEVELS])
{
    int64_t at = place, n = node->size;

    for (int k = 0; k < HX_SHAPE_LEVELS; k++) {
        int64_t parts = node->parts[k], part = parts ? at * parts / n : 0;
        ids[k] = parts ? (int)part : -1;
        if (parts) {
            int64_t low = (part * n + parts - 1) / parts, high = ((part + 1) * n + parts - 1) / parts;
            at -= low;
            n = high - low;
        }
    }
}

static int place_levels(struct hx_shape *shape, const struct node_text *nodes)
{
    int *ids, status, parts = 0;

    for (int node = 0; node < shape->nnodes; node++)
        parts |= nodes[node].parts[0];
    if (!parts)
        return 0;
    if (!(ids = malloc((size_t)shape->nranks * HX_SHAPE_LEVELS * sizeof *ids)))
        return -1;
    for (int rank = 0; rank < shape->nranks; rank++)
        find_domains(&nodes[shape->node_of[rank]], shape->local_of[rank], ids + (size_t)rank * HX_SHAPE_LEVELS);
    status = hx_shape_set_levels(shape, ids, HX_SHAPE_LEVELS);
    free(ids);
    return status;
}

/* also: what else is expected here, for the error. */
static struct hx_shape *shape_parse(const char *text, const char *also, char error[HX_TOPO_ERROR_BYTES])
{
    int nnodes, nranks;
    const char *rest = "";
    const char *wrong = text ? read_nodes(text, NULL, &nnodes, &nranks, &rest) : "";
    int cyclic = !wrong && !strcmp(rest, ":cyclic");
    if (!wrong && *rest && !cyclic && strcmp(rest, ":block"))
        wrong = "";
    if (wrong) {
        snprintf(error, HX_TOPO_ERROR_BYTES, "shape \"%.60s\": %sexpected %s" EXPECTED, text ? text : "", wrong, also);
        return NULL;
    }
    int *node_id = malloc(((size_t)nranks + (size_t)nnodes) * sizeof *node_id);
    struct node_text *nodes = malloc((size_t)nnodes * sizeof *nodes);
    struct hx_shape *shape = NULL;
    if (node_id && nodes) {
        read_nodes(text, nodes, &nnodes, &nranks, &rest);
        if (cyclic)
            place_cyclic(nodes, nnodes, node_id, node_id + nranks);
        else
            place_block(nodes, nnodes, node_id);
        shape = hx_shape_from_nodes(node_id, nranks);
        if (shape && place_levels(shape, nodes) < 0) {
            hx_shape_free(shape);
            shape = NULL;
        }
    }
    free(node_id);
    free(nodes);
    if (!shape)
        snprintf(error, HX_TOPO_ERROR_BYTES, "shape \"%.60s\": no memory for %d ranks", text, nranks);
    return shape;
}

struct hx_shape *hx_shape_parse(const char *text, char error[HX_TOPO_ERROR_BYTES])
{
    return shape_parse(text, "", error);
}

struct hx_shape *hx_shape_emulate(const char *text, int nranks, char error[HX_TOPO_ERROR_BYTES])
{
    const char *end = text;
    int nnodes = read_number(&end);
    struct hx_shape *shape = NULL;
    int *node_id;

    if (end == text || *end) { /* not one number */
        if ((shape = shape_parse(text, "a number of nodes (2), ", error)) && shape->nranks == nranks)
            return shape;
        if (shape)
            snprintf(error, HX_TOPO_ERROR_BYTES,
                     "these nodes have %d ranks in all, but the job has %d; choose sizes whose sum is %d", shape->nranks, nranks,
                     nranks);
        hx_shape_free(shape);
        return NULL;
    }
    if (nnodes < 1 || nnodes > nranks) {
        snprintf(error, HX_TOPO_ERROR_BYTES, nnodes < 1 ? "%d nodes; choose 1 to %d nodes, or list the ranks of each, %d in all"
                 : "the job has only %d ranks; choose 1 to %d nodes, or list the ranks of each, %d in all",
                 nnodes < 1 ? nnodes : nranks, nranks, nranks);
        return NULL;
    }
    if ((node_id = malloc((size_t)nranks * sizeof *node_id))) {
        for (int rank = 0; rank < nranks; rank++)
            node_id[rank] = (int)((int64_t)rank * nnodes / nranks);
        shape = hx_shape_from_nodes(node_id, nranks);
        free(node_id);
    }
    if (!shape)
        snprintf(error, HX_TOPO_ERROR_BYTES, "no memory for %d ranks", nranks);
    return shape;
}

int hx_shape_format(const struct hx_shape *shape, char *text, size_t capacity_bytes)
{
    size_t length = 0;
    for (int node = 0, run; node < shape->nnodes; node += run) {
        int size = hx_shape_node_size(shape, node);
        for (run = 1; node + run < shape->nnodes && hx_shape_node_size(shape, node + run) == size; run++)
            ;
        /* "4,4" is as short as "2x4" and easier to read */
        if (run == 2 && size < 10)
            run = 1;
        char item[32];
        int n = run == 1 ? snprintf(item, sizeof item, "%s%d", node ? "," : "", size)
                         : snprintf(item, sizeof item, "%s%dx%d", node ? "," : "", run, size);
        if (length < capacity_bytes)
            snprintf(text + length, capacity_bytes - length, "%s", item);
        length += (size_t)n;
    }
    return (int)length;
}

int hx_shape_set_ring(struct hx_shape *shape, const int *order)
{
    int *ring = malloc((size_t)shape->nnodes * sizeof *ring);

    if (!ring)
        return -1;
    memcpy(ring, order, (size_t)shape->nnodes * sizeof *ring);
    free(shape->ring);
    shape->ring = ring;
    return 0;
}

int hx_shape_set_groups(struct hx_shape *shape, const int *group_of)
{
    int *groups = malloc((size_t)shape->nnodes * sizeof *groups), alike = 1;

    if (!groups)
        return -1;
    shape->ngroups = 1;
    for (int node = 0; node < shape->nnodes; node++) {
        groups[node] = group_of[node];
        alike &= group_of[node] == group_of[0];
        shape->ngroups = group_of[node] < shape->ngroups ? shape->ngroups : group_of[node] + 1;
    }
    free(shape->group_of);
    shape->group_of = alike ? NULL : groups;
    if (alike)
        free(groups);
    return 0;
}

/* here: node of whole -> 1 + node of shape. */
static int inherit_ring(struct hx_shape *shape, const struct hx_shape *whole, const int *here, int *order)
{
    int n = 0;

    for (int i = 0; i < whole->nnodes; i++)
        if (here[whole->ring[i]])
            order[n++] = here[whole->ring[i]] - 1;
    return hx_shape_set_ring(shape, order);
}

static int inherit_groups(struct hx_shape *shape, const struct hx_shape *whole, const int *here, int *group_of)
{
    for (int node = 0; node < whole->nnodes; node++)
        if (here[node])
            group_of[here[node] - 1] = whole->group_of[node];
    return hx_shape_set_groups(shape, group_of);
}

int hx_shape_inherit(struct hx_shape *shape, const struct hx_shape *whole, const int *ranks)
{
    int *here, *found, status = 0;

    if (!whole->ring && !whole->group_of)
        return 0;
    here = calloc((size_t)whole->nnodes + (size_t)shape->nnodes, sizeof *here);
    if (!here)
        return -1;
    found = here + whole->nnodes;
    for (int node = 0; node < shape->nnodes; node++)
        here[whole->node_of[ranks[hx_shape_member(shape, node, 0)]]] = node + 1;
    if (whole->ring)
        status = inherit_ring(shape, whole, here, found);
    if (status == 0 && whole->group_of)
        status = inherit_groups(shape, whole, here, found);
    free(here);
    return status;
}

void hx_shape_free(struct hx_shape *shape)
{
    if (!shape)
        return;
    free(shape->ring);
    free(shape->group_of);
    free(shape->domain_of);
    free(shape);
}
