/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_plan explain and big: the choice for one call, and what follows from it. */
#include "tools/plan/coll_plan.h"
#include "runtime/base/size.h"
#include "runtime/plan/check.h"
#include "tools/common/screen.h"
#include <stdlib.h>
#include <string.h>

#define ROUNDINGS_RANKS 256     /* explain: counted for no more */
#define MESSAGE_MIN_BYTES 16384 /* big: between nodes */

/* ---- explain ---- */

size_t plan_live_slots(const struct plan_job *job, const struct hx_plan *plan)
{
    return hx_planner_live_slots(plan, &job->sizes, job->window_fine, job->window_coarse);
}

static void counts_print(const char *name, const struct hx_plan_stats *s)
{
    char sent[HX_SIZE_BYTES], between[HX_SIZE_BYTES];

    printf("    %-36s %6u %6u %9llu %10s" FOLD " %9llu %10s\n", name, s->rounds, s->steps,
           (unsigned long long)s->messages, hx_size_format(s->bytes_sent, sent), (unsigned long long)s->inter_messages,
           hx_size_format(s->inter_bytes_sent, between));
}

static void rank_print(const struct plan_job *job, int rank)
{
    struct hx_plan *plan = plan_job_compose(job, rank);
    struct hx_plan_stats stats;
    char name[64], size[5][HX_SIZE_BYTES];

    printf("\n");
    hx_explain_plan(plan, stdout);
    printf("    %-36s %6s %6s %9s %10s" FOLD " %9s %10s\n", "", "rounds", "steps", "messages", "sent", "to nodes", "sent");
    for (int s = 0; s < plan->nstages; s++) {
        hx_stage_count(plan, s, job->shape, &job->sizes, &stats);
        snprintf(name, sizeof(name), "stage %d (%s)", s, plan->stages[s].algorithm);
        counts_print(name, &stats);
    }
    hx_plan_count(plan, job->shape, &job->sizes, &stats);
    counts_print("the plan", &stats);
    printf("    live slots %s; slots written %s, read %s, fetched %s; the plan itself %s\n",
           hx_size_format(plan_live_slots(job, plan), size[0]), hx_size_format(stats.slot_bytes_written, size[1]),
           hx_size_format(stats.slot_bytes_read, size[2]), hx_size_format(stats.bytes_fetched, size[3]),
           hx_size_format(stats.plan_bytes, size[4]));
    hx_plan_release(plan);
}

/* For example "constants of the network: defaults for provider tcp; from --model: net_gb_s, message_us". */
void plan_source_write(const struct plan_job *job, int net, char text[HX_SOURCE_BYTES])
{
    hx_planner_source(&job->planner, net, text);
    if (!net && job->options->constants_path && !job->planner.node_points)
        snprintf(text + strlen(text), HX_SOURCE_BYTES - strlen(text), " (%s)", job->options->constants_path);
    for (int k = 0, n = 0; k < HX_COST_PARAMETERS; k++) {
        const size_t used = strlen(text);
        if (job->options->model[k] > 0 && hx_cost_parameters[k].net == net)
            snprintf(text + used, HX_SOURCE_BYTES - used, "%s%s", n++ ? ", " : "; from --model: ", hx_cost_parameters[k].name);
    }
}

void plan_sources_print(const struct plan_job *job)
{
    char text[HX_SOURCE_BYTES];

    for (int net = 0; net < 2; net++)
        if (hx_planner_uses(&job->planner, net)) {
            plan_source_write(job, net, text);
            printf("%s\n", text);
        }
    if (job->planner.uplinks) {
        hx_planner_groups(&job->planner, text);
        printf("%s\n", text);
    }
}

void plan_head_print(const struct plan_job *job)
{
    const struct hx_sizes *sizes = &job->sizes;

    char size[HX_SIZE_BYTES], cache[HX_SIZE_BYTES];
    printf("%s of %s (%llu x %s%s) on %s: %d rank%s, %d node%s; last-level cache %s, %.2f ranks per core\n",
           hx_coll_name(job->coll), hx_size_format((uint64_t)job->bytes, size), (unsigned long long)sizes->count, hx_dtype_name(job->options->dtype),
           hx_coll_has_blocks(job->coll) ? " of each rank" : "", job->shape_text, job->shape->nranks,
           job->shape->nranks == 1 ? "" : "s", job->shape->nnodes, job->shape->nnodes == 1 ? "" : "s",
           hx_size_format(job->options->llc_bytes, cache), job->planner.cost.oversubscription);
    plan_sources_print(job);
}

static unsigned at_most(unsigned window, uint64_t slices)
{
    return slices < window ? (unsigned)slices : window;
}

/* Is a faster plan predicted, but not chosen because its results have other bits? See hx_planner_best. */
static int by_bits(const struct plan_job *job)
{
    const struct hx_cost_params params = hx_planner_params(&job->planner);
    const double us = hx_cost_of(&params, job->shape, job->best, job->bytes).total_us;

    for (int i = 0; i < job->ncandidates && !job->tuned; i++)
        if (hx_cost_of(&params, job->shape, &job->candidates[i], job->bytes).total_us < us)
            return 1;
    return 0;
}

static void slices_print(const struct plan_job *job)
{
    const struct hx_table_entry *tuned = job->tuned;

    printf("\nchosen: %s\n", job->name);
    if (tuned && !strcmp(tuned->plan, job->name))
        printf("from the table: measured %.1f us; the default %s took %.1f us\n", tuned->us, tuned->default_plan,
               tuned->default_us);
    else if (tuned)
        printf("the table says %s, which this job cannot use\n", tuned->plan);
    if (by_bits(job))
        printf("a plan that is predicted to be faster would change the bits of the result: measured constants never do that\n");
    printf("slices: %llu in shared memory, %u in flight at once", (unsigned long long)job->sizes.fine_slices,
           at_most(job->window_fine, job->sizes.fine_slices));
    if (job->shape->nnodes > 1)
        printf("; %llu between nodes, %u in flight", (unsigned long long)job->sizes.coarse_slices,
               at_most(job->window_coarse, job->sizes.coarse_slices));
    printf("\n");
}

/* How often what a rank contributes is rounded, where reduce steps round: as the checker counts it on one slice. */
int plan_roundings(const struct plan_job *job, int *codings)
{
    int p = job->shape->nranks, roundings = 0;
    struct hx_plan **plans;
    char report[512];

    *codings = 0;
    if (!hx_coll_reduces(job->coll) || hx_dtype_is_exact(job->options->dtype) || p > ROUNDINGS_RANKS)
        return -1;
    plans = plans_compose(job->shape, job->best);
    struct hx_check_call call = {.plans = plans,
                                 .window_fine = HX_FINE_WINDOW,
                                 .window_coarse = HX_COARSE_WINDOW,
                                 .roundings = &roundings,
                                 .codings = codings};
    hx_check_sizes(plans, p, HX_FINE_WINDOW, HX_COARSE_WINDOW, 0, &call.sizes);
    call.sizes.count = call.sizes.count / call.sizes.fine_slices + 1;
    call.sizes.fine_slices = call.sizes.coarse_slices = 1;
    if (hx_check(job->shape, &call, 1, report, sizeof(report)) != HX_SUCCESS)
        plan_refuse("%s", report);
    plans_release(plans, p);
    return roundings;
}

/* The wire format of the plan, and the error that it may cause. */
static void wire_print(const struct plan_job *job, int codings)
{
    const struct hx_wire *wire = job->best->wire;

    if (!wire && (job->traits.wire || job->traits.exact_because))
        printf("between nodes: exact, because %s\n",
               job->traits.wire ? hx_planner_exact_because(&job->planner, job->coll) : job->traits.exact_because);
    if (!wire)
        return;
    printf("between nodes: %s, %s; a scale for each %d elements: %.0f %% of the bytes\n", wire->name, wire->about, wire->block,
           100 * job->best->wire_part);
    if (codings)
        printf("error of a sum: at most %.4g x L, beside the roundings; encoded %d times, one after the other. L: add up over all\n"
               "    ranks the largest finite number that the rank gives among the %d elements that share a scale with it\n",
               hx_wire_sum_bound(wire, codings), codings, wire->block);
    else
        printf("error of a sum: not counted for more than %d ranks\n", ROUNDINGS_RANKS);
}

static void roundings_print(const struct plan_job *job)
{
    int codings, roundings = plan_roundings(job, &codings);

    if (roundings >= 0)
        printf("roundings: at most %d, one after the other (one in each reduce step)\n", roundings);
    else if (hx_coll_reduces(job->coll) && !hx_dtype_is_exact(job->options->dtype))
        printf("roundings: not counted for more than %d ranks\n", ROUNDINGS_RANKS);
    wire_print(job, codings);
}

int plan_explain(const struct plan_options *options)
{
    struct plan_job *job = plan_job_open(options, options->shapes[0], options->colls[0], options->sizes[0]);
    int first = options->all_ranks ? 0 : (int)options->rank, end = options->all_ranks ? job->shape->nranks : first + 1;

    if (options->json) {
        plan_document_write(plan_explain_json(job, first, end), NULL);
    } else {
        plan_head_print(job);
        plan_candidates_print(job);
        slices_print(job);
        roundings_print(job);
        for (int rank = first; rank < end; rank++)
            rank_print(job, rank);
    }
    plan_job_close(job);
    return 0;
}

/* ---- big ---- */

struct extremes {
    size_t least_message, most_message, node_slots, rank_slots, most_steps, most_plan;
    double steps, plan_bytes;
    int ranks;
};

static void stage_messages(const struct plan_job *job, const struct hx_plan *plan, int s, struct extremes *e)
{
    const struct hx_stage *stage = &plan->stages[s];
    struct hx_layout layout;

    hx_layout_init(&layout, plan, stage, &job->sizes);
    for (uint32_t i = 0; i < stage->nsteps; i++) {
        const struct hx_step *step = &stage->steps[i];
        if (step->op != HX_OP_SEND ||
            job->shape->node_of[stage->members[step->peer]] == job->shape->node_of[plan->rank])
            continue;
        for (uint64_t slice = 0; slice < layout.nslices; slice++) { /* pieces are cut evenly: all slices are full */
            size_t bytes = hx_layout_moved(&layout, step, slice);
            e->least_message = bytes && bytes < e->least_message ? bytes : e->least_message;
            e->most_message = bytes > e->most_message ? bytes : e->most_message;
        }
    }
}

/* All ranks of one node. */
static void node_measure(const struct plan_job *job, int node, struct extremes *e)
{
    size_t slots = 0;

    for (int local = 0; local < hx_shape_node_size(job->shape, node); local++) {
        struct hx_plan *plan = plan_job_compose(job, hx_shape_member(job->shape, node, local));
        size_t steps = 0, bytes = hx_plan_bytes(plan);
        for (int s = 0; s < plan->nstages; s++) {
            steps += plan->stages[s].nsteps;
            stage_messages(job, plan, s, e);
        }
        size_t live = plan_live_slots(job, plan);
        slots += live;
        e->rank_slots = live > e->rank_slots ? live : e->rank_slots;
        e->most_steps = steps > e->most_steps ? steps : e->most_steps;
        e->most_plan = bytes > e->most_plan ? bytes : e->most_plan;
        e->steps += (double)steps;
        e->plan_bytes += (double)bytes;
        e->ranks++;
        hx_plan_release(plan);
    }
    e->node_slots = slots > e->node_slots ? slots : e->node_slots;
}

/* The least bytes that a message between nodes should hold. A barrier's messages are tokens, and a flat all-to-all's are the
 * blocks, however short. */
static size_t message_floor(const struct plan_job *job)
{
    double block = job->bytes / job->shape->nranks;

    if (job->coll == HX_COLL_BARRIER)
        return 0;
    if (hx_coll_has_pairs(job->coll) && job->best->lanes == 0 && block < MESSAGE_MIN_BYTES)
        return (size_t)block;
    return MESSAGE_MIN_BYTES;
}

/* The first node, the last, and the fullest: lanes and blocks of the others are cut alike. */
static int big_check(const struct plan_job *job, const char *shape)
{
    struct extremes e = {.least_message = SIZE_MAX};
    int nodes = job->shape->nnodes, fullest = 0, sends, small, large;

    while (hx_shape_node_size(job->shape, fullest) < job->shape->max_local)
        fullest++;
    node_measure(job, 0, &e);
    if (nodes > 1)
        node_measure(job, nodes - 1, &e);
    if (fullest > 0 && fullest < nodes - 1)
        node_measure(job, fullest, &e);
    sends = e.most_message > 0;
    small = sends && e.least_message < message_floor(job);
    /* bind refuses slots that exceed the bank */
    large = e.node_slots > job->options->llc_bytes / 2 || e.rank_slots > job->planner.bank_bytes;
    char least[HX_SIZE_BYTES], most[HX_SIZE_BYTES], slots[HX_SIZE_BYTES];
    printf("%-10s %-21s %-30s" FOLD " %5llu/%-3llu", shape, hx_coll_name(job->coll), job->name,
           (unsigned long long)job->sizes.fine_slices, (unsigned long long)job->sizes.coarse_slices);
    printf(FOLD " %9s..%-9s%s", hx_size_format(sends ? e.least_message : 0, least), hx_size_format(e.most_message, most),
           small ? " TOO SMALL" : "");
    printf(FOLD " %9s%s" FOLD " %7.0f %6zu" FOLD " %9.0f %8zu\n", hx_size_format(e.node_slots, slots), large ? " TOO LARGE" : "",
           e.steps / e.ranks, e.most_steps, e.plan_bytes / e.ranks, e.most_plan);
    return small || large;
}

int plan_big(const struct plan_options *options)
{
    static const char *const named[] = {"4x96", "16x96", "64x192"};
    int n = options->nshapes ? options->nshapes : 3, checked = 0, failed = 0;

    char size[4][HX_SIZE_BYTES];
    printf("%s, last-level cache %s; wanted: messages between nodes >= %s, a node's live slots <= %s\n",
           hx_size_format(options->sizes[0], size[0]), hx_size_format(options->llc_bytes, size[1]),
           hx_size_format(MESSAGE_MIN_BYTES, size[2]), hx_size_format(options->llc_bytes / 2, size[3]));
    printf("%-10s %-21s %-30s" FOLD " %9s" FOLD " %20s" FOLD " %9s" FOLD " %14s" FOLD " %18s\n", "shape", "collective", "plan", "slices", "messages",
           "slots", "steps mean/max", "plan bytes");
    for (int i = 0; i < n; i++)
        for (int c = 0; c < options->ncolls; c++) {
            const char *shape = options->nshapes ? options->shapes[i] : named[i];
            struct hx_shape *parsed = plan_shape_parse(shape);
            int ranks = parsed->nranks;
            hx_shape_free(parsed);
            if (options->colls[c] == HX_COLL_BARRIER) /* a token, however large the job */
                continue;
            if (hx_coll_has_pair_counts(options->colls[c]) && ranks > HX_MATRIX_MEMBERS) {
                printf("%-10s %-21s none: it needs a block per pair of ranks, and at most %d ranks are possible\n", shape, hx_coll_name(options->colls[c]),
                       HX_MATRIX_MEMBERS);
                continue;
            }
            checked++;
            struct plan_job *job = plan_job_open(options, shape, options->colls[c], options->sizes[0]);
            failed += big_check(job, shape);
            plan_job_close(job);
        }
    printf("%d passed, %d failed\n", checked - failed, failed);
    return failed ? 1 : 0;
}
