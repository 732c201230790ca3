/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messages over the uplinks of groups of nodes: see cost.h. They are counted in the plans of all members, round by round.
 *
 *   8 nodes in groups of 4, round of distance 4:   0 1 2 3 | 4 5 6 7      all four send to the other group: 1 vector per node
 *                             of distance 3:       0>3 1>4 2>5 3>6        three of them do:               3/4
 *
 * A round takes the time of its busiest node or that of its busiest uplink, whichever is longer.
 */
#include "hier/cost/cost.h"
#include "runtime/base/error.h"
#include <stdlib.h>
#include <string.h>

#define ENTRIES_MAX 256

struct entry {
    const struct hx_algorithm *algorithm;
    int composed, ordered, root; /* how its members stand, and which one is the root */
    struct hx_uplink uplink;
};

struct hx_uplinks {
    struct entry entries[ENTRIES_MAX];
    int n, lack_memory;
};

struct hx_uplinks *hx_uplinks_new(void)
{
    struct hx_uplinks *uplinks = calloc(1, sizeof(*uplinks));

    if (!uplinks)
        hx_fail(HX_ERR_NOMEM, "no memory to count the bytes between groups of nodes");
    return uplinks;
}

static void forget(struct hx_uplinks *uplinks)
{
    while (uplinks->n)
        free(uplinks->entries[--uplinks->n].uplink.member);
}

void hx_uplinks_free(struct hx_uplinks *uplinks)
{
    if (uplinks)
        forget(uplinks);
    free(uplinks);
}

int hx_uplinks_lack_memory(const struct hx_uplinks *uplinks)
{
    return uplinks && uplinks->lack_memory;
}

/* ---- one algorithm ------------------------------------------------------------------------------------------------ */

struct walk {
    const struct hx_algorithm *algorithm;
    int p, root, ngroups, nrounds;
    int *group_of;       /* [p] of each member */
    double *nodes;       /* [ngroups] in each group */
    double *out, *in;    /* [ngroups][nrounds] vectors that leave and enter a group */
    double *sent, *received; /* [nrounds] of one member */
    struct hx_counts counts;
};

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* The plan of one member: only its messages count. */
static struct hx_plan *member_plan(const struct walk *w, int me)
{
    struct hx_plan *plan = hx_plan_new(w->algorithm->coll, w->p, me, 1);
    struct hx_stage *stage = plan ? hx_plan_add_stage(plan, 0, HX_SCOPE_INTER, w->group_of, w->p, me) : NULL;
    hx_status_t status = HX_ERR_NOMEM;

    if (stage) {
        if (hx_coll_has_pairs(plan->coll)) {
            stage->nrows = (uint32_t)w->p;
            stage->nblocks = (uint32_t)w->p * (uint32_t)w->p;
        }
        stage->root = w->root;
        stage->in = hx_coll_has_one_buffer(plan->coll) ? HX_OUT : HX_IN;
        stage->out = HX_OUT;
        status = hx_stage_run(stage, w->algorithm);
    }
    if (plan && status != HX_SUCCESS) {
        hx_plan_release(plan);
        plan = NULL;
    }
    return plan;
}

static int member_walk(const struct walk *w, int me, struct hx_uplink *u)
{
    struct hx_plan *plan = member_plan(w, me);
    const struct hx_stage *stage = plan ? plan->stages : NULL;

    memset(w->sent, 0, 2 * (size_t)w->nrounds * sizeof(double)); /* received too */
    for (uint32_t i = 0; plan && i < stage->nsteps; i++) {
        const struct hx_step *step = &stage->steps[i];
        const int round = (int)step->tag < w->nrounds ? (int)step->tag : w->nrounds - 1, mine = w->group_of[me], other = w->group_of[step->peer];
        const double vectors = (double)step->nblocks / hx_stage_columns(stage);
        if (step->op == HX_OP_SEND) {
            w->sent[round] += vectors;
            if (mine != other) {
                w->out[mine * w->nrounds + round] += vectors;
                w->in[other * w->nrounds + round] += vectors;
            }
        } else if (step->op == HX_OP_RECV) {
            w->received[round] += vectors;
        }
    }
    for (int r = 0; r < w->nrounds; r++)
        u->member[r] = larger(u->member[r], larger(w->sent[r], w->received[r]));
    hx_plan_release(plan);
    return plan ? 0 : -1;
}

static void groups_compare(const struct walk *w, struct hx_uplink *u)
{
    for (int g = 0; g < w->ngroups; g++) {
        double out = 0, in = 0;
        for (int r = 0; r < w->nrounds; r++) {
            const double leave = w->out[g * w->nrounds + r], enter = w->in[g * w->nrounds + r];
            out += leave;
            in += enter;
            if (w->nodes[g] > 0)
                u->group[r] = larger(u->group[r], larger(leave, enter) / w->nodes[g]);
        }
        u->most = larger(u->most, larger(out, in));
    }
}

/* Too many messages to build: members of a group send to the next one, which for some of them is outside, or anywhere. */
static void estimate(const struct walk *w, struct hx_uplink *u)
{
    const double each = w->counts.all_vectors / w->p;

    for (int i = 0; i < w->p; i++) {
        const int g = w->group_of[i];
        if (!w->counts.neighbours)
            w->in[g]++; /* members, for now */
        else if (w->group_of[(i + 1) % w->p] != g)
            w->out[g] += each;
    }
    for (int g = 0; g < w->ngroups; g++) {
        if (!w->counts.neighbours)
            w->out[g] = w->in[g] * each * (w->p - w->in[g]) / (w->p - 1);
        w->in[g] = 0;
    }
    u->member[0] = w->counts.vectors;
    groups_compare(w, u);
}

static int uplink_count(struct walk *w, struct hx_uplink *u)
{
    const double cells = w->counts.rounds * w->p;
    const int is_built = w->counts.all_messages <= HX_UPLINK_MESSAGES && cells <= HX_UPLINK_MESSAGES;
    int status = 0;

    w->nrounds = u->nrounds = is_built && !w->counts.pipelined && w->counts.rounds > 1 ? (int)w->counts.rounds : 1;
    const size_t n = (size_t)w->nrounds, groups = (size_t)w->ngroups;
    u->member = calloc(2 * n, sizeof(double));
    w->out = calloc(2 * (groups + 1) * n, sizeof(double));
    if (u->member && w->out) {
        u->group = u->member + n;
        w->in = w->out + groups * n;
        w->sent = w->in + groups * n;
        w->received = w->sent + n;
        for (int me = 0; is_built && me < w->p && status == 0; me++)
            status = member_walk(w, me, u);
        (is_built ? groups_compare : estimate)(w, u);
    } else {
        hx_fail(HX_ERR_NOMEM, "no memory to count the bytes between groups of nodes");
        status = -1;
    }
    for (int r = 0; status == 0 && r < u->nrounds; r++)
        u->members += u->member[r];
    free(w->out);
    return status;
}

/* ---- all of them -------------------------------------------------------------------------------------------------- */

static const struct hx_uplink *entry_add(struct hx_uplinks *uplinks, const struct hx_shape *shape, const struct entry *key, struct walk *w)
{
    struct entry *entry;

    if (uplinks->n == ENTRIES_MAX)
        forget(uplinks);
    entry = &uplinks->entries[uplinks->n];
    *entry = *key;
    hx_cost_counts(w->algorithm, w->p, &w->counts);
    for (int node = 0; node < shape->nnodes; node++)
        w->nodes[shape->group_of[node]]++;
    for (int i = 0; i < w->p; i++)
        w->group_of[i] = shape->group_of[w->group_of[i]];
    if (uplink_count(w, &entry->uplink) < 0) {
        free(entry->uplink.member);
        return NULL;
    }
    uplinks->n++;
    return &entry->uplink;
}

const struct hx_uplink *hx_uplinks_of(const struct hx_cost_params *params, const struct hx_shape *shape, const struct hx_candidate *candidate)
{
    struct hx_uplinks *uplinks = params->uplinks;
    struct walk w = {.ngroups = shape->ngroups};
    const struct hx_uplink *found = NULL;

    if (!uplinks || uplinks->lack_memory)
        return NULL;
    w.algorithm = hx_candidate_sender(candidate, shape, &w.p);
    w.group_of = malloc((size_t)w.p * sizeof(int));
    w.nodes = calloc((size_t)w.ngroups, sizeof(double));
    if (w.group_of && w.nodes) {
        w.root = hx_candidate_member_nodes(candidate, shape, w.group_of);
        struct entry key = {w.algorithm, candidate->lanes > 0, candidate->ordered, w.root, {0}};
        for (int i = 0; i < uplinks->n && !found; i++) {
            const struct entry *e = &uplinks->entries[i];
            if (e->algorithm == key.algorithm && e->composed == key.composed && e->ordered == key.ordered && e->root == key.root)
                found = &e->uplink;
        }
        if (!found)
            found = entry_add(uplinks, shape, &key, &w);
    } else {
        hx_fail(HX_ERR_NOMEM, "no memory to count the bytes between groups of nodes");
    }
    uplinks->lack_memory |= !found;
    free(w.group_of);
    free(w.nodes);
    return found;
}

double hx_uplink_ns(const struct hx_uplink *u, double wire_ns, double vector_ns)
{
    double ns = 0;

    for (int r = 0; u && r < u->nrounds; r++)
        ns += larger(u->group[r] * vector_ns - (u->members > 0 ? wire_ns * u->member[r] / u->members : 0), 0);
    return ns;
}
