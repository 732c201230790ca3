/* SPDX-License-Identifier: BSD-3-Clause */
/* The checker's memory: pools, vector clocks, cells and symbolic values. */
#include "runtime/plan/check_memory.h"
#include <stdlib.h>
#include <string.h>

void hx_check_stop(struct hx_check_store *store, hx_status_t status)
{
    store->status = status;
    longjmp(store->stop, 1);
}

/* ---- pools: item 0 is never used */

uint32_t hx_check_add(struct hx_check_store *store, struct hx_check_pool *pool)
{
    if (pool->n == pool->capacity) {
        size_t capacity = pool->capacity ? 2 * pool->capacity : 256;
        void *items = capacity < HX_CHECK_NONE ? realloc(pool->items, capacity * pool->item_bytes) : NULL;
        if (!items)
            hx_check_stop(store, HX_ERR_NOMEM);
        pool->items = items;
        pool->capacity = capacity;
    }
    memset(hx_check_at(pool, (uint32_t)pool->n), 0, pool->item_bytes);
    return (uint32_t)pool->n++;
}

void *hx_check_alloc(struct hx_check_store *store, size_t n, size_t item_bytes)
{
    uint32_t i = hx_check_add(store, &store->blocks);
    void *block = calloc(n ? n : 1, item_bytes);

    if (!block)
        hx_check_stop(store, HX_ERR_NOMEM);
    *(void **)hx_check_at(&store->blocks, i) = block;
    return block;
}

void hx_check_store_open(struct hx_check_store *store, int nranks, uint32_t nthreads)
{
    struct hx_check_pool *pools[] = {&store->cells,  &store->values,    &store->reads,
                                     &store->wheres, &store->transfers, &store->blocks};

    store->nranks = nranks;
    store->words = (nranks + 63) / 64;
    store->nthreads = nthreads;
    store->cells.item_bytes = sizeof(struct hx_check_cell);
    store->values.item_bytes = sizeof(struct hx_check_value) + (size_t)store->words * sizeof(uint64_t);
    store->reads.item_bytes = sizeof(struct hx_check_read);
    store->wheres.item_bytes = sizeof(struct hx_check_where);
    store->transfers.item_bytes = sizeof(struct hx_check_transfer);
    store->blocks.item_bytes = sizeof(void *);
    for (size_t i = 0; i < sizeof pools / sizeof pools[0]; i++)
        hx_check_add(store, pools[i]);
    store->threads = hx_check_alloc(store, nthreads, sizeof(*store->threads));
    for (uint32_t t = 0; t < nthreads; t++) {
        store->threads[t].clock = hx_check_alloc(store, nthreads, sizeof(uint32_t));
        store->threads[t].clock[t] = 1;
    }
}

void hx_check_store_close(struct hx_check_store *store)
{
    for (uint32_t i = 1; i < store->transfers.n; i++) {
        free(hx_check_transfer_at(store, i)->cells);
        free(hx_check_transfer_at(store, i)->elements);
    }
    while (store->made) {
        struct hx_check_snapshot *s = store->made;
        store->made = s->next_made;
        free(s);
    }
    for (uint32_t i = 1; i < store->blocks.n; i++)
        free(*(void **)hx_check_at(&store->blocks, i));
    free(store->cells.items);
    free(store->values.items);
    free(store->reads.items);
    free(store->wheres.items);
    free(store->transfers.items);
    free(store->blocks.items);
}

uint32_t hx_check_where_new(struct hx_check_store *store, struct hx_check_where where)
{
    uint32_t i = hx_check_add(store, &store->wheres);

    *(struct hx_check_where *)hx_check_at(&store->wheres, i) = where;
    return i;
}

/* ---- clocks */

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

    if (t->released && !t->dirty) {
        t->released->references++;
        return t->released;
    }
    if (s) {
        store->free_snapshot = s->next_free;
    } else if ((s = malloc(sizeof(*s) + store->nthreads * sizeof(uint32_t)))) {
        s->next_made = store->made;
        store->made = s;
    } else {
        hx_check_stop(store, HX_ERR_NOMEM);
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
        memory->cells[offset] = hx_check_add(store, &store->cells);
        hx_check_cell_at(store, memory->cells[offset])->write.thread = HX_CHECK_NONE;
    }
    return memory->cells[offset];
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

/* Note the thread's access. NULL, or the cell's last write, if that may come later. */
static const struct hx_check_access *write_after(struct hx_check_store *store, const struct hx_check_cell *c,
                                                 const struct hx_check_access *access)
{
    if (access->transfer == HX_CHECK_NONE)
        store->threads[access->thread].dirty = 1;
    return c->write.thread != HX_CHECK_NONE && !ordered(store, &c->write, access) ? &c->write : NULL;
}

const struct hx_check_access *hx_check_read(struct hx_check_store *store, uint32_t cell,
                                            const struct hx_check_access *access)
{
    struct hx_check_cell *c = hx_check_cell_at(store, cell);
    const struct hx_check_access *before = write_after(store, c, access);
    struct hx_check_read *r;
    uint32_t i;

    if (before)
        return before;
    for (i = c->reads; i; i = r->next) {
        r = hx_check_at(&store->reads, i);
        if (r->access.thread == access->thread && r->access.transfer == HX_CHECK_NONE &&
            access->transfer == HX_CHECK_NONE) {
            r->access = *access; /* the later one stands for both */
            return NULL;
        }
    }
    if (!(i = store->free_read))
        i = hx_check_add(store, &store->reads);
    r = hx_check_at(&store->reads, i);
    if (i == store->free_read)
        store->free_read = r->next;
    *r = (struct hx_check_read){*access, c->reads};
    c->reads = i;
    return NULL;
}

const struct hx_check_access *hx_check_write(struct hx_check_store *store, uint32_t cell,
                                             const struct hx_check_access *access)
{
    struct hx_check_cell *c = hx_check_cell_at(store, cell);
    const struct hx_check_access *before = write_after(store, c, access);

    if (before)
        return before;
    while (c->reads) {
        struct hx_check_read *r = hx_check_at(&store->reads, c->reads);
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

void hx_check_input(struct hx_check_store *store, uint32_t cell, const struct hx_check_access *access, int call, int rank,
                    size_t element)
{
    uint32_t value = hx_check_add(store, &store->values);
    struct hx_check_value *v = hx_check_value_at(store, value);

    *v = (struct hx_check_value){.element = (uint32_t)element, .call = call, .low = rank, .high = rank, .ordered = 1};
    v->expression = mix(mix((uint64_t)rank + 1, v->element), (uint64_t)call);
    v->contributors[rank / 64] |= UINT64_C(1) << (rank % 64);
    hx_check_write(store, cell, access);
    hx_check_cell_at(store, cell)->value = value;
}

int hx_check_value_count(const struct hx_check_store *store, uint32_t value)
{
    int count = 0;

    for (int w = 0; w < store->words; w++)
        count += __builtin_popcountll(hx_check_value_at(store, value)->contributors[w]);
    return count;
}

int hx_check_value_has(const struct hx_check_store *store, uint32_t value, int rank)
{
    return hx_check_value_at(store, value)->contributors[rank / 64] >> (rank % 64) & 1;
}

int hx_check_value_overlap(const struct hx_check_store *store, uint32_t a, uint32_t b)
{
    for (int w = 0; w < store->words; w++) {
        uint64_t both = hx_check_value_at(store, a)->contributors[w] & hx_check_value_at(store, b)->contributors[w];
        if (both)
            return 64 * w + __builtin_ctzll(both);
    }
    return -1;
}

uint32_t hx_check_value_fold(struct hx_check_store *store, uint32_t a, uint32_t b)
{
    uint32_t value = hx_check_add(store, &store->values);
    const struct hx_check_value *x = hx_check_value_at(store, a), *y = hx_check_value_at(store, b);
    struct hx_check_value *v = hx_check_value_at(store, value);

    *v = *x;
    v->ordered = x->ordered && y->ordered && x->high < y->low;
    v->low = x->low < y->low ? x->low : y->low;
    v->high = x->high > y->high ? x->high : y->high;
    v->roundings = x->roundings > y->roundings ? x->roundings : y->roundings;
    v->codings = x->codings > y->codings ? x->codings : y->codings;
    v->expression = mix(mix(x->expression, 0x5851f42d4c957f2du), y->expression);
    for (int w = 0; w < store->words; w++)
        v->contributors[w] = x->contributors[w] | y->contributors[w];
    return value;
}

uint32_t hx_check_value_encode(struct hx_check_store *store, uint32_t value)
{
    uint32_t encoded = hx_check_add(store, &store->values);
    struct hx_check_value *v = hx_check_value_at(store, encoded);

    memcpy(v, hx_check_value_at(store, value), store->values.item_bytes);
    v->expression = mix(v->expression, 0x9fb21c651e98df25u);
    v->codings++;
    return encoded;
}

void hx_check_value_round(struct hx_check_store *store, uint32_t value)
{
    struct hx_check_value *v = hx_check_value_at(store, value);

    v->expression = mix(v->expression, 0xda942042e4dd58b5u);
    v->roundings++;
}
