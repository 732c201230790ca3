/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Domains: members of a stage that share a cache, a NUMA node or a socket. They stand domain by domain, and each has
 * charge of a run of blocks (hier/compose/levels.c). Each member has one deputy in every other domain, the one at the same
 * place if they are equally large: what its domain gets of that one's, it gets there. So each byte crosses between two
 * domains once, and not once per member. In the innermost domains each member is a domain, and its own deputy for all.
 *
 *   domains of 3 and 2:  0 1 2 | 3 4     deputies of 0 1 2: 3 3 4     of 3 4: 0 1
 */
#pragma once

#include "runtime/plan/plan.h"

static inline int hx_domains(const struct hx_builder *b)
{
    return b->stage->domain_start ? b->stage->ndomains : b->p;
}

/* The first member of a domain; of the one after the last: the number of members. */
static inline int hx_domain_start(const struct hx_builder *b, int domain)
{
    return b->stage->domain_start ? b->stage->domain_start[domain] : domain;
}

/* The domain that a member is in. */
static inline int hx_domain_of(const struct hx_builder *b, int member)
{
    int domain = 0;

    while (hx_domain_start(b, domain + 1) <= member)
        domain++;
    return domain;
}

/* The deputy of the member at `place` among n, in a group that starts at `start` and ends before `end`. */
static inline int hx_deputy(int start, int end, int place, int n)
{
    return start + (int)((int64_t)place * (end - start) / n);
}

/* The deputy in domain `there` of member m of domain `here`. */
static inline int hx_domain_deputy(const struct hx_builder *b, int there, int here, int m)
{
    int start = hx_domain_start(b, here);
    return hx_deputy(hx_domain_start(b, there), hx_domain_start(b, there + 1), m - start, hx_domain_start(b, here + 1) - start);
}

/* All that a member has charge of; and whether that is anything. */
static inline struct hx_ref hx_charge(const struct hx_builder *b, enum hx_space space, int member)
{
    const int *start = b->stage->charge_start + member;
    return hx_at(space, start[0], start[1] - start[0]);
}

static inline int hx_has_charge(const struct hx_builder *b, int member)
{
    for (int block = b->stage->charge_start[member]; block < b->stage->charge_start[member + 1]; block++)
        if (!hx_block_is_empty(b, block))
            return 1;
    return 0;
}

/* The next member after `last` that has charge of something and whose deputy I am, of domain `mine`; -1: there are no more.
 * `last` is -1 at first. Members come in order, around all other domains, from the one after mine on. */
static inline int hx_served_next(const struct hx_builder *b, int mine, int last)
{
    int q = (last < 0 ? hx_domain_start(b, mine + 1) : last + 1) % b->p;

    for (; q != hx_domain_start(b, mine); q = (q + 1) % b->p)
        if (hx_has_charge(b, q) && hx_domain_deputy(b, mine, hx_domain_of(b, q), q) == b->me)
            return q;
    return -1;
}

/* out = what all domains contribute to my charge, own from in; they have put it in their slots, and said so by flag. */
static inline void hx_domains_reduce(struct hx_builder *b, int mine, int flag)
{
    struct hx_ref own = hx_charge(b, b->in, b->me), sum = hx_charge(b, b->out, b->me);
    int n = hx_domains(b), row = 0;

    if (n == 1) {
        hx_copy(b, sum, own);
        return;
    }
    if (!b->stage->domain_start) {
        hx_await_all(b, flag);
        hx_reduce_slots(b, sum, b->in);
        return;
    }
    for (int domain = 0; domain < n; domain++) {
        if (domain == mine)
            continue;
        int deputy = hx_domain_deputy(b, domain, mine, b->me);
        hx_await(b, flag, deputy);
        hx_copy_from_slot(b, hx_row(row, (int)own.block, (int)own.nblocks), deputy);
        row += (int)own.nblocks;
    }
    hx_reduce_rows(b, sum, 0, n, b->in, mine);
}
