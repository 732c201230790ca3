/* SPDX-License-Identifier: BSD-3-Clause */
/* A table from byte keys to byte values, over libc's balanced tree. */
#include "runtime/base/keyvalue.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

struct pair {
    size_t key_bytes, value_bytes;
    const void *key; /* in content, or the caller's while looking up */
    char content[];  /* key, value */
};

static int compare(const void *left, const void *right)
{
    const struct pair *a = left, *b = right;

    if (a->key_bytes != b->key_bytes)
        return a->key_bytes < b->key_bytes ? -1 : 1;
    return memcmp(a->key, b->key, a->key_bytes);
}

int hx_keyvalue_put(struct hx_keyvalue *table, const void *key, size_t key_bytes, const void *value,
                    size_t value_bytes)
{
    struct pair *pair = malloc(sizeof *pair + key_bytes + value_bytes), **node;

    if (!pair)
        return -1;
    *pair = (struct pair){.key_bytes = key_bytes, .value_bytes = value_bytes, .key = pair->content};
    memcpy(pair->content, key, key_bytes);
    if (value_bytes)
        memcpy(pair->content + key_bytes, value, value_bytes);
    node = tsearch(pair, &table->tree, compare);
    if (!node) {
        free(pair);
        return -1;
    }
    if (*node != pair) {
        free(*node);
        *node = pair;
    }
    return 0;
}

const void *hx_keyvalue_get(const struct hx_keyvalue *table, const void *key, size_t key_bytes, size_t *value_bytes)
{
    const struct pair wanted = {.key_bytes = key_bytes, .key = key};
    struct pair *const *node = tfind(&wanted, &table->tree, compare);

    if (!node)
        return NULL;
    *value_bytes = (*node)->value_bytes;
    return (*node)->content + key_bytes;
}

void hx_keyvalue_clear(struct hx_keyvalue *table)
{
    tdestroy(table->tree, free);
    table->tree = NULL;
}
