/* SPDX-License-Identifier: BSD-3-Clause */
/* A table from byte keys to byte values, both copied. */
#pragma once

#include <stddef.h>

struct hx_keyvalue {
    void *tree; /* zero-initialise */
};

/* A value that is there already is replaced. Returns 0, or -1 without memory. */
int hx_keyvalue_put(struct hx_keyvalue *table, const void *key, size_t key_bytes, const void *value,
                    size_t value_bytes);
/* The stored value, or NULL. */
const void *hx_keyvalue_get(const struct hx_keyvalue *table, const void *key, size_t key_bytes, size_t *value_bytes);
void hx_keyvalue_clear(struct hx_keyvalue *table);
