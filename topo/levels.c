/* SPDX-License-Identifier: BSD-3-Clause */
/* Levels inside the nodes of a shape: see shape.h. */
#include "topo/shape.h"
#include <stdlib.h>
#include <string.h>

struct division { /* of all nodes at one level, while it is computed */
    const int *around; /* [nranks] domain of rank at the level around this one, or its node */
    const int *ids;    /* ids[r * depth]: id of rank r */
    int depth;
    int *domain_of;    /* [nranks] */
    int *lowest;       /* [domains so far] lowest rank */
    int ndomains, most;
    int is_useful; /* a node has more domains than at the level around, and a domain of several ranks */
};

static int is_divided(const struct hx_shape *s, const struct division *d, int node)
{
    for (int local = 0; local < hx_shape_node_size(s, node); local++)
        if (d->ids[(size_t)hx_shape_member(s, node, local) * (size_t)d->depth] < 0)
            return 0;
    return 1;
}

static void node_divide(const struct hx_shape *s, struct division *d, int node)
{
    int first = d->ndomains, divided = is_divided(s, d, node), finer = 0;

    for (int local = 0; local < hx_shape_node_size(s, node); local++) {
        int rank = hx_shape_member(s, node, local), domain, beside = 0;
        for (domain = first; domain < d->ndomains; domain++) {
            int other = d->lowest[domain];
            if (d->around[other] != d->around[rank])
                continue;
            if (!divided || d->ids[(size_t)other * (size_t)d->depth] == d->ids[(size_t)rank * (size_t)d->depth])
                break;
            beside = 1;
        }
        d->domain_of[rank] = domain;
        if (domain < d->ndomains)
            continue;
        d->lowest[d->ndomains++] = rank;
        finer |= beside;
    }
    int n = d->ndomains - first;
    d->most = n > d->most ? n : d->most;
    d->is_useful |= finer && n < hx_shape_node_size(s, node);
}

int hx_shape_set_levels(struct hx_shape *s, const int *ids, int depth)
{
    size_t n = (size_t)s->nranks;
    int *all = depth ? malloc(((size_t)depth + 1) * n * sizeof *all) : NULL;

    if (depth && !all)
        return -1;
    free(s->domain_of);
    s->domain_of = NULL;
    s->nlevels = 0;
    for (int k = 0; k < depth; k++) {
        int *around = s->nlevels ? all + (size_t)(s->nlevels - 1) * n : s->node_of;
        struct division d = {.around = around, .ids = ids + k, .depth = depth, .domain_of = all + (size_t)s->nlevels * n,
                             .lowest = all + (size_t)depth * n};
        for (int node = 0; node < s->nnodes; node++)
            node_divide(s, &d, node);
        if (d.is_useful)
            s->most_domains[s->nlevels++] = d.most;
    }
    s->hash = hx_shape_hash(s, all);
    if (s->nlevels) {
        int *exact = realloc(all, (size_t)s->nlevels * n * sizeof *all);
        s->domain_of = exact ? exact : all;
    } else {
        free(all);
    }
    return 0;
}

int hx_shape_levels_in_order(const struct hx_shape *s)
{
    for (int k = 0; k < s->nlevels; k++)
        for (int i = 1; i < s->nranks; i++) /* domains are numbered in the order of members */
            if (hx_shape_domain(s, k, s->members[i]) < hx_shape_domain(s, k, s->members[i - 1]))
                return 0;
    return 1;
}
