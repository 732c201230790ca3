/* SPDX-License-Identifier: BSD-3-Clause */
/* The checker's memory: pools, vector clocks, cells and symbolic values. */
#include "runtime/plan/check_memory.h"
#include <stdlib.h>
#include <string.h>

/* ---- pools: item 0 is never used */

static size_t pool_add(struct hx_check_store *store, struct hx_check_pool *pool)
{
    if (pool->n == pool->capacity) {
        size_t capacity = pool->capacity ? 2 * pool->capacity : 256;
        void *items = realloc(pool->items, capacity * pool->item_bytes);
        if (!items || capacity >= HX_CHECK_NONE) {
            pool->items = items ? items : pool->items;
            store->status = HX_ERR_NOMEM;
            return 0;
        }
        pool->items = items;
        pool->capacity = capacity;
    }
    memset((char *)pool->items + pool->n * pool->item_bytes, 0, pool->item_bytes);
    return pool->n++;
}

static void *pool_at(const struct hx_check_pool *pool, size_t i)
{
    return (char *)pool->items + i * pool->item_bytes;
}

void *hx_check_alloc(struct hx_check_store *store, size_t bytes)
{
    size_t i = pool_add(store, &store->blocks);
    void *block = i ? calloc(1, bytes ? bytes : 1) : NULL;

    if (!block)
        store->status = HX_ERR_NOMEM;
    else
        *(void **)pool_at(&store->blocks, i) = block;
    return block;
}

hx_status_t hx_check_store_open(struct hx_check_store *store, int nranks, uint32_t nthreads)
{
    *store = (struct hx_check_store){.nranks = nranks,
                                     .words = (nranks + 63) / 64,
                                     .nthreads = nthreads,
                                     .cells.item_bytes = sizeof(struct hx_check_cell),
                                     .values.item_bytes = sizeof(struct hx_check_value),
                                     .reads.item_bytes = sizeof(struct hx_check_read),
                                     .wheres.item_bytes = sizeof(struct hx_check_where),
                                     .transfers.item_bytes = sizeof(struct hx_check_transfer),
                                     .blocks.item_bytes = sizeof(void *)};
    struct hx_check_pool *pools[] = {&store->cells,  &store->values,    &store->reads,
                                     &store->wheres, &store->transfers, &store->blocks};

    for (size_t i = 0; i < sizeof pools / sizeof pools[0]; i++)
        pool_add(store, pools[i]);
    if (store->status != HX_SUCCESS)
        return store->status;
    store->threads = hx_check_alloc(store, nthreads * sizeof(*store->threads));
    for (uint32_t t = 0; store->threads && t < nthreads; t++) {
        if (!(store->threads[t].clock = hx_check_alloc(store, nthreads * sizeof(uint32_t))))
            break;
        store->threads[t].clock[t] = 1;
    }
    return store->status;
}

void hx_check_store_close(struct hx_check_store *store)
{
    for (size_t i = 1; i < store->transfers.n; i++) {
        struct hx_check_transfer *t = pool_at(&store->transfers, i);
        free(t->cells);
        free(t->elements);
    }
    while (store->made) {
        struct hx_check_snapshot *s = store->made;
        store->made = s->next_made;
        free(s);
    }
    for (size_t i = 1; i < store->blocks.n; i++)
        free(*(void **)pool_at(&store->blocks, i));
    free(store->cells.items);
    free(store->values.items);
    free(store->reads.items);
    free(store->wheres.items);
    free(store->transfers.items);
    free(store->blocks.items);
    free(store->contributors);
}

struct hx_check_transfer *hx_check_transfer_at(struct hx_check_store *store, uint32_t transfer)
{
    return pool_at(&store->transfers, transfer);
}

uint32_t hx_check_transfer_new(struct hx_check_store *store, const struct hx_check_transfer *init)
{
    size_t i = pool_add(store, &store->transfers);

    if (i == 0)
        return HX_CHECK_NONE;
    *hx_check_transfer_at(store, (uint32_t)i) = *init;
    return (uint32_t)i;
}

const struct hx_check_where *hx_check_where_at(const struct hx_check_store *store, uint32_t where)
{
    return pool_at(&store->wheres, where);
}

uint32_t hx_check_where_new(struct hx_check_store *store, const struct hx_check_where *init)
{
    size_t i = pool_add(store, &store->wheres);

    if (i)
        *(struct hx_check_where *)pool_at(&store->wheres, i) = *init;
    return (uint32_t)i;
}

/* ---- clocks */

static struct hx_check_snapshot *snapshot_retain(struct hx_check_snapshot *snapshot)
{
    snapshot->references++;
    return snapshot;
}

void hx_check_drop(struct hx_check_store *store, struct hx_check_snapshot *snapshot)
{
    if (--snapshot->references == 0) {
        snapshot->next_free = store->free_snapshot;
        store->free_snapshot = snapshot;
    }
}

/* Releases without an access or an acquire in between share one snapshot; the clock ticks only when a new one is
 * made. */
struct hx_check_snapshot *hx_check_release(struct hx_check_store *store, uint32_t thread)
{
    struct hx_check_thread *t = &store->threads[thread];
    struct hx_check_snapshot *s = store->free_snapshot;

    if (t->released && !t->dirty)
        return snapshot_retain(t->released);
    if (s) {
        store->free_snapshot = s->next_free;
    } else if ((s = malloc(sizeof(*s) + store->nthreads * sizeof(uint32_t)))) {
        s->next_made = store->made;
        store->made = s;
    } else {
        store->status = HX_ERR_NOMEM;
        return NULL;
    }
    memcpy(s->clock, t->clock, store->nthreads * sizeof(uint32_t));
    s->references = 2;
    if (t->released)
        hx_check_drop(store, t->released);
    t->released = s;
    t->dirty = 0;
    t->clock[thread]++;
    return s;
}

void hx_check_acquire(struct hx_check_store *store, uint32_t thread, const struct hx_check_snapshot *snapshot)
{
    uint32_t *mine = store->threads[thread].clock;

    for (uint32_t t = 0; t < store->nthreads; t++)
        mine[t] = mine[t] > snapshot->clock[t] ? mine[t] : snapshot->clock[t];
    store->threads[thread].dirty = 1;
}

/* ---- cells */

uint32_t hx_check_cell_of(struct hx_check_store *store, struct hx_check_memory *memory, size_t offset)
{
    if (memory->cells[offset] == 0) {
        uint32_t cell = (uint32_t)pool_add(store, &store->cells);
        hx_check_cell_at(store, cell)->write.thread = HX_CHECK_NONE;
        memory->cells[offset] = cell;
    }
    return memory->cells[offset];
}

struct hx_check_cell *hx_check_cell_at(struct hx_check_store *store, uint32_t cell)
{
    return pool_at(&store->cells, cell);
}

static int ordered(struct hx_check_store *store, const struct hx_check_access *before,
                   const struct hx_check_access *after)
{
    const uint32_t *known = store->threads[after->thread].clock;

    if (before->transfer == HX_CHECK_NONE)
        return known[before->thread] >= before->clock;
    uint32_t joined = hx_check_transfer_at(store, before->transfer)->join_clock;
    return joined && known[before->thread] >= joined;
}

static void access_note(struct hx_check_store *store, const struct hx_check_access *access)
{
    if (access->transfer == HX_CHECK_NONE)
        store->threads[access->thread].dirty = 1;
}

const struct hx_check_access *hx_check_read(struct hx_check_store *store, uint32_t cell,
                                            const struct hx_check_access *access)
{
    struct hx_check_cell *c = hx_check_cell_at(store, cell);

    access_note(store, access);
    if (c->write.thread != HX_CHECK_NONE && !ordered(store, &c->write, access))
        return &c->write;
    for (uint32_t i = c->reads; i; i = ((struct hx_check_read *)pool_at(&store->reads, i))->next) {
        struct hx_check_read *r = pool_at(&store->reads, i);
        if (r->access.thread == access->thread && r->access.transfer == HX_CHECK_NONE &&
            access->transfer == HX_CHECK_NONE) {
            r->access = *access; /* the later one stands for both */
            return NULL;
        }
    }
    uint32_t i = store->free_read;
    if (i)
        store->free_read = ((struct hx_check_read *)pool_at(&store->reads, i))->next;
    else if (!(i = (uint32_t)pool_add(store, &store->reads)))
        return NULL;
    *(struct hx_check_read *)pool_at(&store->reads, i) = (struct hx_check_read){*access, c->reads};
    c->reads = i;
    return NULL;
}

const struct hx_check_access *hx_check_write(struct hx_check_store *store, uint32_t cell,
                                             const struct hx_check_access *access)
{
    struct hx_check_cell *c = hx_check_cell_at(store, cell);

    access_note(store, access);
    if (c->write.thread != HX_CHECK_NONE && !ordered(store, &c->write, access))
        return &c->write;
    while (c->reads) {
        struct hx_check_read *r = pool_at(&store->reads, c->reads);
        uint32_t next = r->next;
        if (!ordered(store, &r->access, access))
            return &r->access;
        r->next = store->free_read;
        store->free_read = c->reads;
        c->reads = next;
    }
    c->write = *access;
    return NULL;
}

/* ---- values */

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
}

static uint64_t *contributors(const struct hx_check_store *store, uint32_t value)
{
    return store->contributors + (size_t)value * (size_t)store->words;
}

static uint32_t value_new(struct hx_check_store *store, const struct hx_check_value *init)
{
    uint32_t value = (uint32_t)pool_add(store, &store->values);

    if (value == 0)
        return 0;
    if (store->values.capacity > store->contributors_capacity) {
        uint64_t *grown =
            realloc(store->contributors, store->values.capacity * (size_t)store->words * sizeof(uint64_t));
        if (!grown) {
            store->status = HX_ERR_NOMEM;
            return 0;
        }
        store->contributors = grown;
        store->contributors_capacity = store->values.capacity;
    }
    memset(contributors(store, value), 0, (size_t)store->words * sizeof(uint64_t));
    *(struct hx_check_value *)pool_at(&store->values, value) = *init;
    return value;
}

uint32_t hx_check_value_input(struct hx_check_store *store, int call, int rank, uint32_t element)
{
    struct hx_check_value v = {.element = element, .call = call, .low = rank, .high = rank, .ordered = 1};

    v.expression = mix(mix((uint64_t)rank + 1, element), (uint64_t)call);
    uint32_t value = value_new(store, &v);
    if (value)
        contributors(store, value)[rank / 64] |= UINT64_C(1) << (rank % 64);
    return value;
}

const struct hx_check_value *hx_check_value_at(const struct hx_check_store *store, uint32_t value)
{
    return pool_at(&store->values, value);
}

int hx_check_value_count(const struct hx_check_store *store, uint32_t value)
{
    int count = 0;

    for (int w = 0; w < store->words; w++)
        count += __builtin_popcountll(contributors(store, value)[w]);
    return count;
}

int hx_check_value_has(const struct hx_check_store *store, uint32_t value, int rank)
{
    return contributors(store, value)[rank / 64] >> (rank % 64) & 1;
}

int hx_check_value_overlap(const struct hx_check_store *store, uint32_t a, uint32_t b)
{
    for (int w = 0; w < store->words; w++) {
        uint64_t both = contributors(store, a)[w] & contributors(store, b)[w];
        if (both)
            return 64 * w + __builtin_ctzll(both);
    }
    return -1;
}

uint32_t hx_check_value_fold(struct hx_check_store *store, uint32_t a, uint32_t b)
{
    struct hx_check_value x = *hx_check_value_at(store, a), y = *hx_check_value_at(store, b);
    uint32_t value;

    x.ordered = x.ordered && y.ordered && x.high < y.low;
    x.low = x.low < y.low ? x.low : y.low;
    x.high = x.high > y.high ? x.high : y.high;
    x.roundings = x.roundings > y.roundings ? x.roundings : y.roundings;
    x.expression = mix(mix(x.expression, 0x5851f42d4c957f2du), y.expression);
    if ((value = value_new(store, &x)) != 0)
        for (int w = 0; w < store->words; w++)
            contributors(store, value)[w] = contributors(store, a)[w] | contributors(store, b)[w];
    return value;
}

void hx_check_value_round(struct hx_check_store *store, uint32_t value)
{
    struct hx_check_value *v = pool_at(&store->values, value);
    v->expression = mix(v->expression, 0xda942042e4dd58b5u);
    v->roundings++;
}
