/* SPDX-License-Identifier: BSD-3-Clause */
/* The collectives, as coll.def describes them. */
#pragma once

#include <stdint.h>

/* The collectives that have plans; HX_COLL_COUNT also means none. */
enum hx_coll {
#define HX_COLL(ID, name, gives, gets, traits) HX_COLL_##ID,
#include "runtime/base/coll.def"
    HX_COLL_COUNT
};

/* The public functions: of each collective, in the same order, then those with counts. */
enum hx_function {
#define HX_COLL(ID, name, gives, gets, traits) HX_FUNCTION_##ID,
#define HX_COLL_WITH_COUNTS(ID, name, of) HX_FUNCTION_##ID,
#include "runtime/base/coll.def"
    HX_FUNCTION_COUNT
};

enum hx_holds { HX_HOLDS_NOTHING, HX_HOLDS_ALL, HX_HOLDS_OWN, HX_HOLDS_ROOT, HX_HOLDS_PAIRS };

enum { HX_COLL_REDUCES = 1, HX_COLL_PREFIX = 2, HX_COLL_EXCLUSIVE = 4, HX_COLL_PAIR_COUNTS = 8 };

/* Here, so that the compiler knows what it says of a collective that the code names. */
static const struct hx_coll_row {
    unsigned char gives, gets, traits;
} hx_coll_rows[] = {
#define HX_COLL(ID, name, gives, gets, traits) {HX_HOLDS_##gives, HX_HOLDS_##gets, traits},
#include "runtime/base/coll.def"
};

const char *hx_coll_name(enum hx_coll coll);    /* "allreduce" ...; NULL: out of range */
const char *hx_coll_setting(enum hx_coll coll); /* "ALLREDUCE" ... */
int hx_coll_parse(const char *text, enum hx_coll *coll); /* 0, or -1 */
const char *hx_function_name(enum hx_function function);  /* "allreduce", "allgatherv" ... */

/* The collective whose plans this function uses. */
static inline enum hx_coll hx_function_coll(enum hx_function function)
{
    static const unsigned char colls[] = {
#define HX_COLL(ID, name, gives, gets, traits) HX_COLL_##ID,
#define HX_COLL_WITH_COUNTS(ID, name, of) HX_COLL_##of,
#include "runtime/base/coll.def"
    };

    return (enum hx_coll)colls[function];
}

static inline enum hx_holds hx_coll_gives(enum hx_coll coll)
{
    return (enum hx_holds)hx_coll_rows[coll].gives;
}

static inline enum hx_holds hx_coll_gets(enum hx_coll coll)
{
    return (enum hx_holds)hx_coll_rows[coll].gets;
}

/* One rank gives or gets all: the other ranks need not wait for every rank. */
static inline int hx_coll_is_rooted(enum hx_coll coll)
{
    return hx_coll_gives(coll) == HX_HOLDS_ROOT || hx_coll_gets(coll) == HX_HOLDS_ROOT;
}

/* The root sends from the buffer into which the other ranks receive. */
static inline int hx_coll_has_one_buffer(enum hx_coll coll)
{
    return hx_coll_gives(coll) == HX_HOLDS_ROOT && hx_coll_gets(coll) == HX_HOLDS_ALL;
}

/* A rank's result combines the inputs of the ranks up to it, in rank order. So no rank waits for a higher one. */
static inline int hx_coll_is_scan(enum hx_coll coll)
{
    return hx_coll_rows[coll].traits & HX_COLL_PREFIX;
}

/* Rank 0 gets nothing. */
static inline int hx_coll_is_exclusive(enum hx_coll coll)
{
    return hx_coll_rows[coll].traits & HX_COLL_EXCLUSIVE;
}

/* Each rank knows only what it sends and receives itself, which is another thing in each call. */
static inline int hx_coll_has_pair_counts(enum hx_coll coll)
{
    return hx_coll_rows[coll].traits & HX_COLL_PAIR_COUNTS;
}

/* When it ends on one rank, every rank has entered it. */
static inline int hx_coll_awaits_all(enum hx_coll coll)
{
    return !hx_coll_is_rooted(coll) && !(hx_coll_rows[coll].traits & (HX_COLL_PREFIX | HX_COLL_PAIR_COUNTS));
}

static inline int hx_coll_reduces(enum hx_coll coll)
{
    return hx_coll_rows[coll].traits & HX_COLL_REDUCES;
}

/* An all-reduce is a reduce-scatter and an all-gather. */
static inline int hx_coll_phases(enum hx_coll coll)
{
    return hx_coll_rows[coll].traits == HX_COLL_REDUCES && hx_coll_gives(coll) == HX_HOLDS_ALL && hx_coll_gets(coll) == HX_HOLDS_ALL ? 2 : 1;
}

/* How many ranks of p, from the lowest on, contribute to each element of rank's result. */
static inline int hx_coll_contributors(enum hx_coll coll, int p, int rank)
{
    return hx_coll_is_scan(coll) ? rank + !hx_coll_is_exclusive(coll) : hx_coll_reduces(coll) ? p : 1;
}

/* It has a block for each pair of ranks. */
static inline int hx_coll_has_pairs(enum hx_coll coll)
{
    return hx_coll_gives(coll) == HX_HOLDS_PAIRS;
}

/* The first block in rank's IN, where IN does not begin with the first of all. */
static inline uint64_t hx_coll_in_block(enum hx_coll coll, int p, int rank)
{
    return hx_coll_has_pairs(coll) ? (uint64_t)rank * (uint64_t)p : hx_coll_gives(coll) == HX_HOLDS_OWN ? (uint64_t)rank : 0;
}

/* A rank's vector has a block for each rank, of the call's count elements; else count is the length of the vector. */
static inline int hx_coll_has_blocks(enum hx_coll coll)
{
    return hx_coll_gives(coll) == HX_HOLDS_OWN || hx_coll_gets(coll) == HX_HOLDS_OWN || hx_coll_has_pairs(coll);
}
