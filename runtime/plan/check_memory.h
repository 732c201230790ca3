/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The checker's memory: cells that hold symbolic values and remember who accessed them last, and the vector clocks
 * that order accesses. An access is (thread, its clock at the time); it is before everything whose clock knows that
 * time. An access by a transfer happens at any time from its post until its JOIN, so it is before what knows the time
 * of the JOIN. When memory is exhausted or a fault is found, the run ends by longjmp: no function here returns then. Private to check*.c.
 */
#pragma once

#include "runtime/plan/check.h"
#include <setjmp.h>

#define HX_CHECK_NONE UINT32_MAX

struct hx_check_where { /* a step that was run, for reports */
    int call, rank, stage;
    uint64_t slice;
    uint32_t step;
};

struct hx_check_access {
    uint32_t thread, clock;
    uint32_t transfer; /* or HX_CHECK_NONE */
    uint32_t where;    /* index of a hx_check_where */
};

struct hx_check_value {
    uint32_t element;    /* index in the vector of the collective */
    int call;            /* in whose input it began */
    int low, high;       /* lowest and highest contributor */
    int ordered;         /* folded in rank order */
    int roundings;       /* reduce steps, one after the other */
    int codings;         /* times that it was encoded, or what it was folded from, likewise */
    uint64_t expression; /* hash of the order in which contributions were folded, and which with which */
    uint64_t contributors[]; /* [words] a bit each */
};

struct hx_check_cell {
    uint32_t value; /* 0: never written */
    uint32_t reads; /* list of accesses since the last write; 0 ends it */
    struct hx_check_access write;
};

struct hx_check_read {
    struct hx_check_access access;
    uint32_t next;
};

struct hx_check_memory {
    const char *name;
    int rank;
    size_t bytes;
    uint32_t *cells; /* index of the cell of each byte, 0: not touched yet */
};

struct hx_check_snapshot { /* a vector clock as it was when a thread released it */
    struct hx_check_snapshot *next_free, *next_made;
    int references;
    uint32_t clock[];
};

struct hx_check_thread {
    uint32_t *clock;                    /* [nthreads] */
    struct hx_check_snapshot *released; /* still exact, unless */
    int dirty;
};

struct hx_check_transfer {
    int call, stage, sender, receiver; /* the sender's stage; ranks */
    uint64_t slice;
    uint32_t tag;
    int sends, network;
    uint32_t ordinal; /* its place among the messages between these ranks in the slice */
    uint64_t match;   /* between nodes: the engine's id; else the ordinal: rings keep the order */
    uint32_t join_clock;         /* 0: not joined */
    uint32_t partner;            /* matched transfer, or HX_CHECK_NONE */
    uint32_t next;               /* in its hash chain */
    uint32_t where;
    uint32_t n, *cells, *elements; /* until it is matched */
    struct hx_check_snapshot *released;
};

struct hx_check_pool { /* an array that grows */
    void *items;
    size_t n, capacity, item_bytes;
};

struct hx_check_store { /* all of it */
    int nranks, words;
    uint32_t nthreads;
    struct hx_check_thread *threads;
    struct hx_check_pool cells, values, reads, wheres, transfers, blocks;
    uint32_t free_read;
    struct hx_check_snapshot *free_snapshot, *made;
    hx_status_t status; /* with which the run ends */
    jmp_buf stop;
};

void hx_check_stop(struct hx_check_store *store, hx_status_t status) __attribute__((noreturn));
void hx_check_store_open(struct hx_check_store *store, int nranks, uint32_t nthreads);
void hx_check_store_close(struct hx_check_store *store);
/* Zeroed, lives as long as the store. */
void *hx_check_alloc(struct hx_check_store *store, size_t n, size_t item_bytes);
/* One more item, zeroed: its index, never 0. */
uint32_t hx_check_add(struct hx_check_store *store, struct hx_check_pool *pool);
uint32_t hx_check_where_new(struct hx_check_store *store, struct hx_check_where where);

static inline void *hx_check_at(const struct hx_check_pool *pool, uint32_t i)
{
    return (char *)pool->items + i * pool->item_bytes;
}

static inline struct hx_check_transfer *hx_check_transfer_at(const struct hx_check_store *store, uint32_t transfer)
{
    return hx_check_at(&store->transfers, transfer);
}

static inline struct hx_check_cell *hx_check_cell_at(const struct hx_check_store *store, uint32_t cell)
{
    return hx_check_at(&store->cells, cell);
}

static inline struct hx_check_value *hx_check_value_at(const struct hx_check_store *store, uint32_t value)
{
    return hx_check_at(&store->values, value);
}

/* Clocks. A released snapshot is referenced once for the caller. */
struct hx_check_snapshot *hx_check_release(struct hx_check_store *store, uint32_t thread);
void hx_check_acquire(struct hx_check_store *store, uint32_t thread, const struct hx_check_snapshot *snapshot);
void hx_check_drop(struct hx_check_store *store, struct hx_check_snapshot *snapshot);

/* A byte's cell. */
uint32_t hx_check_cell_of(struct hx_check_store *store, struct hx_check_memory *memory, size_t offset);
/* Record an access; NULL, or the earlier access that it is not ordered after. */
const struct hx_check_access *hx_check_read(struct hx_check_store *store, uint32_t cell,
                                            const struct hx_check_access *access);
const struct hx_check_access *hx_check_write(struct hx_check_store *store, uint32_t cell,
                                             const struct hx_check_access *access);

/* Write a rank's own input: at the beginning of a call. */
void hx_check_input(struct hx_check_store *store, uint32_t cell, const struct hx_check_access *access, int call, int rank,
                    size_t element);
int hx_check_value_count(const struct hx_check_store *store, uint32_t value); /* contributors */
int hx_check_value_has(const struct hx_check_store *store, uint32_t value, int rank);
/* A rank that is in both (a double contribution), or -1. */
int hx_check_value_overlap(const struct hx_check_store *store, uint32_t a, uint32_t b);
uint32_t hx_check_value_fold(struct hx_check_store *store, uint32_t a, uint32_t b); /* a op b */
uint32_t hx_check_value_encode(struct hx_check_store *store, uint32_t value); /* as its codes have it */
/* The step that made it by folding is at its end: what follows is another rounding. */
void hx_check_value_round(struct hx_check_store *store, uint32_t value);
