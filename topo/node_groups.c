/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups of nodes from text: see node_groups.h. */
#include "topo/node_groups.h"
#include <stdio.h>
#include <stdlib.h>

#define SIZE_MOST (1 << 24)

/* A size, limited to SIZE_MOST, and what follows it; 0: there is none. */
static int size_read(const char **text)
{
    int size = 0;

    for (; **text >= '0' && **text <= '9'; ++*text)
        size = size >= SIZE_MOST ? SIZE_MOST : 10 * size + (**text - '0');
    return size;
}

int hx_node_groups_parse(const char *text, int n, int *group_of, char *error, size_t error_bytes)
{
    long long nodes = 0;
    int group = 0, size;

    for (const char *at = text;; at++, group++) {
        size = size_read(&at);
        if (size == 0 || (*at != ',' && *at)) {
            snprintf(error, error_bytes, "choose a number of nodes per group (4: consecutive nodes in groups of 4), or the size of each group, "
                     "as in 4,4,2, with the sum %d", n);
            return -1;
        }
        for (long long i = nodes; i < nodes + size && i < n; i++)
            group_of[i] = group;
        nodes += size;
        if (!*at)
            break;
    }
    if (group == 0) {
        for (int i = 0; i < n; i++)
            group_of[i] = i / size;
    } else if (nodes != n) {
        snprintf(error, error_bytes, "these groups have %lld nodes in all, but the job has %d; choose sizes whose sum is %d, or a number of nodes "
                 "per group", nodes, n, n);
        return -1;
    }
    return 0;
}

int hx_node_groups_set(struct hx_shape *shape, const char *text, char *error, size_t error_bytes)
{
    int *group_of = malloc((size_t)shape->nnodes * sizeof(*group_of)), status = group_of ? 0 : -1;

    if (status == 0 && hx_node_groups_parse(text, shape->nnodes, group_of, error, error_bytes) < 0) {
        free(group_of);
        return -1;
    }
    if (status == 0)
        status = hx_shape_set_groups(shape, group_of);
    if (status < 0)
        snprintf(error, error_bytes, "no memory for the groups of %d nodes", shape->nnodes);
    free(group_of);
    return status;
}
