/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tree barrier in shared memory: a member raises its flag when its children have raised theirs. When member 0 has seen
 * its children's flags, it raises its second flag. A member that sees its parent's second flag raises its own. Member v
 * has the children 8 v + 1 .. 8 v + 8, so no member reads more than nine cache lines.
 *
 *   await HERE of my children;  publish HERE;  await GO of my parent;  publish GO
 *
 * Cost: 2 log8 p alpha. Any p. For many members.
 * Source: the tree barrier of Mellor-Crummey and Scott, ACM TOCS 9 (1991).
 */
#include "runtime/plan/plan.h"

enum { HERE, GO };
#define CHILDREN 8

static void build(struct hx_builder *b)
{
    int first = CHILDREN * b->me + 1;

    hx_split(b, 1);
    for (int child = first; child < first + CHILDREN && child < b->p; child++)
        hx_await(b, HERE, child);
    if (b->me > 0) {
        hx_publish(b, HERE);
        hx_await(b, GO, (b->me - 1) / CHILDREN);
    }
    hx_publish(b, GO);
}

static struct hx_counts counts(struct hx_group g)
{
    int levels = 0;

    for (int64_t reach = 1; reach < g.p; reach *= CHILDREN)
        levels++;
    return (struct hx_counts){.hops = 2 * levels, .flags = g.p - 1 < CHILDREN ? g.p - 1 : CHILDREN};
}

const struct hx_algorithm hx_barrier_flag_tree = {
    .name = "flag_tree", .coll = HX_COLL_BARRIER, .build = build, .counts = counts, .needs = HX_NEEDS_SHARED_MEMORY,
    .about = "2 log8 p hops, nobody looks at more than 9 flags: many members", .source = "Mellor-Crummey, Scott 1991"};
