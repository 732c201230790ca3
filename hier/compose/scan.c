/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Composition of scans. A node's last rank has the sum of the node; between the nodes these are scanned exclusively, and
 * what comes out, the sum of all lower nodes, is put before what each rank has of its own node:
 *
 *   ranks                  0 1 2        3 4          5 6
 *   intra scan             0 01 012     3 34         5 56         in -> out
 *   inter exclusive scan         -        012          01234      the last ranks, out -> work
 *   apply                  0 01 012     0123 01234   ...          out = work of the last rank op out
 *
 * So a node must hold a run of ranks. In an exclusive scan the last rank's result misses its own part: before the inter
 * scan it is added ("total") to what was put aside of the input ("keep").
 */
#include "hier/compose/composer.h"
#include "intra/algorithms/algorithms.h"

/* The last stage of a scan. The first node has nothing to apply. */
static void apply_stage(struct composer *c, int level)
{
    int exclusive = hx_coll_is_exclusive(c->plan->coll);
    struct hx_stage *stage;

    for (int i = 0; i < c->n; i++)
        c->members[i] = hx_composer_node(c)[(c->n - 1 + i) % c->n]; /* the carrier first */
    if (!(stage = hx_composer_stage(c, level, HX_SCOPE_INTRA, c->members, c->n, (c->local + 1) % c->n, HX_WORK, HX_OUT)))
        return;
    hx_composer_alike(stage);
    hx_composer_build(c, stage, "apply",
                      c->node == 0 ? hx_prefix_apply_nothing : exclusive ? hx_prefix_apply_exclusive : hx_prefix_apply);
}

/* A stage of this rank alone. */
static void own_part(struct composer *c, int level, const char *name, void (*build)(struct hx_builder *),
                     enum hx_space in, enum hx_space out)
{
    struct hx_stage *stage = hx_composer_stage(c, level, HX_SCOPE_INTRA, &c->rank, 1, 0, in, out);
    hx_composer_build(c, stage, name, build);
}

static void scan_stage(struct composer *c, int level)
{
    struct hx_stage *stage = hx_composer_stage(c, level, HX_SCOPE_INTRA, hx_composer_node(c), c->n, c->local, HX_IN,
                                               HX_OUT);
    hx_composer_run(c, stage, c->candidate->first);
}

/* A carrier has the sum of the lower nodes, or of its own, in WORK: the vector is block 0. */
static int carrier_prepare(struct composer *c)
{
    int carries = c->local == hx_composer_carrier(c, 0, c->node);
    struct hx_lists l;

    if (carries) {
        hx_lists_open(&l, 1);
        hx_lists_item(&l, 0);
        hx_composer_work_take(c, &l);
    }
    return carries;
}

void hx_compose_scan(struct composer *c)
{
    carrier_prepare(c);
    scan_stage(c, 0);
    hx_composer_lanes(c, 1, HX_OUT, HX_WORK);
    apply_stage(c, 2);
}

/* The carriers make the sums of their nodes in WORK: what they have got from their node misses their own part. */
void hx_compose_exscan(struct composer *c)
{
    int carries = carrier_prepare(c);

    if (carries)
        own_part(c, 0, "keep", hx_prefix_keep, HX_IN, HX_WORK);
    scan_stage(c, 1);
    if (carries && c->n > 1)
        own_part(c, 2, "total", hx_prefix_total, HX_OUT, HX_WORK);
    hx_composer_lanes(c, 3, HX_WORK, HX_WORK);
    apply_stage(c, 4);
}
