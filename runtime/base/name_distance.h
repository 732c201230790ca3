/* SPDX-License-Identifier: BSD-3-Clause */
/* How far a name is from one that is known. This header stands alone, because tools that do not link the library need it too. */
#pragma once

#include <string.h>

enum { HX_NAME_BYTES = 64 }; /* no name that is known is longer */

/* Edit distance (insert, delete, replace: 1 each) of a name of length bytes and a known name; HX_NAME_BYTES if one is longer. */
static inline int hx_name_distance(const char *name, size_t length, const char *known)
{
    const size_t known_length = strlen(known);
    int cost[HX_NAME_BYTES + 1]; /* of the current line of the classic table */

    if (length > HX_NAME_BYTES || known_length > HX_NAME_BYTES)
        return HX_NAME_BYTES;
    for (size_t j = 0; j <= known_length; j++)
        cost[j] = (int)j;
    for (size_t i = 1; i <= length; i++) {
        int diagonal = cost[0];
        cost[0] = (int)i;
        for (size_t j = 1; j <= known_length; j++) {
            const int replace = diagonal + (name[i - 1] != known[j - 1]);
            const int other = 1 + (cost[j] < cost[j - 1] ? cost[j] : cost[j - 1]);
            diagonal = cost[j];
            cost[j] = replace < other ? replace : other;
        }
    }
    return cost[known_length];
}
