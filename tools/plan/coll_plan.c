/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coll_plan: plans without a job. It shows the library's plan for a shape and a size, the reason, the cost, and the proof
 * that the plan is right. Everything here asks the planner, the composer and the checker of the library itself.
 */
#include "tools/plan/coll_plan.h"
#include "runtime/base/error.h"
#include "runtime/base/streams.h"
#include "tools/common/json.h"
#include "tools/common/screen.h"
#include "tools/common/whole_file.h"
#include "topo/node_groups.h"
#include "topo/ring_order.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a job that is not there ---- */

struct hx_shape *plan_shape_parse(const char *text)
{
    char error[HX_TOPO_ERROR_BYTES];
    struct hx_shape *shape = hx_shape_parse(text, error);

    if (!shape)
        plan_refuse("%s", error);
    return shape;
}

static void model_set(struct hx_cost_params *params, const struct plan_options *options)
{
    const struct hx_cost_params before = *params;

    for (int i = 0; i < HX_COST_PARAMETERS; i++)
        if (options->model[i] > 0)
            *hx_cost_parameter(params, i) = options->model[i];
    if (params->message_us != before.message_us || params->stream_gb_s != before.stream_gb_s || params->core_gb_s != before.core_gb_s)
        hx_cost_cut(params);
    if (params->core_gb_s != before.core_gb_s)
        params->copies = params->core_gb_s < HX_CORE_SPARED_GB_S;
}

int plan_has(const struct hx_candidate *candidate, const char *name)
{
    const struct hx_algorithm *parts[] = {candidate->flat, candidate->first, candidate->inter, candidate->last};
    char own[HX_CANDIDATE_NAME_BYTES];

    hx_candidate_name(candidate, own);
    for (int i = 0; i < 4; i++)
        if (parts[i] && hx_algorithm_has_name(parts[i], name))
            return 1;
    return !strcmp(own, name);
}

int plan_uses(const struct plan_options *options, const struct hx_candidate *candidate)
{
    for (int a = 0; a < options->nalgorithms; a++)
        if (plan_has(candidate, options->algorithms[a]))
            return 1;
    return options->nalgorithms == 0;
}

int plan_name_add(const char **names, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(names[i], name))
            return n;
    names[n] = name;
    return n + 1;
}

void plan_ring_set(struct hx_shape *shape, const char *text, const char *order)
{
    int *nodes;
    char error[256];

    if (!order || !strcmp(order, "rank"))
        return;
    if (!strcmp(order, "auto"))
        plan_refuse("ring order auto is possible only in a job, which measures it (coll_info shows it); name the order, as in --ring-order 0,2,1,3");
    nodes = plan_memory(malloc((size_t)shape->nnodes * sizeof(*nodes)));
    if (hx_ring_order_parse(order, shape->nnodes, nodes, error, sizeof(error)) < 0)
        plan_refuse("ring order %s for --shape %s: %s", order, text, error);
    if (hx_shape_set_ring(shape, nodes) < 0)
        plan_memory(NULL);
    free(nodes);
}

int plan_named(const struct plan_job *job, const char *name, struct hx_candidate *found)
{
    return hx_candidate_find(job->candidates, job->ncandidates, name, job->shape, 1, found) >= 0;
}

/* Those that the command line lets through. */
static void candidates_keep(struct plan_job *job, const char *shape)
{
    const char *names[HX_MAX_CANDIDATES + 1] = {NULL};
    static char texts[HX_MAX_CANDIDATES][HX_CANDIDATE_NAME_BYTES];
    int n = 0;

    for (int i = 0; i < job->ncandidates; i++) {
        hx_candidate_name(&job->candidates[i], texts[i]);
        names[i] = texts[i];
    }
    for (int i = 0; i < job->ncandidates; i++)
        if (plan_uses(job->options, &job->candidates[i]))
            job->candidates[n++] = job->candidates[i];
    if (n == 0 && job->options->nalgorithms && plan_named(job, job->options->algorithms[0], &job->candidates[0]))
        n = 1;
    if (n == 0 && job->ncandidates && strchr(job->options->algorithms[0], '('))
        plan_name_choose("plan here", job->options->algorithms[0], names);
    if (n == 0 && job->ncandidates)
        plan_refuse("no plan for %s on %s uses %s", hx_coll_name(job->coll), shape, job->options->algorithms[0]);
    job->ncandidates = n;
}

/* Use the entries and models of HX_TABLE for such a job: the same for all of a command line. */
static void table_use(struct plan_job *job)
{
    static size_t bytes;
    static void *tuning;
    static int is_read;

    if (!job->options->by_model || !job->env.table)
        return;
    if (!is_read && hx_tuning_read(&job->env, job->options->provider, &tuning, &bytes) != HX_SUCCESS) {
        if (job->env.table_strict)
            plan_refuse("HX_TABLE: %s", hx_last_detail());
        fprintf(stderr, "coll_plan: HX_TABLE: %s: Hierax ignores this table\n", hx_last_detail());
    }
    is_read = 1;
    if (tuning)
        hx_tuning_use(&job->planner, tuning, bytes);
    if (!job->options->by_table)
        hx_planner_use_table(&job->planner, NULL, 0);
}

/* By the table, else by the model. Returns the bytes of a slice, 0: as the planner cuts. */
static uint64_t job_choose(struct plan_job *job)
{
    int tuned = -1;

    job->tuned = hx_planner_tuned(&job->planner, job->coll, job->traits, job->bytes, job->candidates,
                                  job->ncandidates, &tuned);
    int best = tuned >= 0 ? tuned : hx_planner_best(&job->planner, job->candidates, job->ncandidates, job->bytes);
    if (best < 0) /* of other collectives and smaller shapes there is always one: no setting is kept that leaves none */
        plan_refuse("no plan for %s exists for --shape %s: every plan needs a block per pair of ranks, and at most %d ranks are possible",
                    hx_coll_name(job->coll), job->shape_text, HX_MATRIX_MEMBERS);
    job->best = &job->candidates[best];
    hx_candidate_name(job->best, job->name);
    return tuned >= 0 ? job->tuned->slice_bytes : 0;
}

static void rank_check(const char *option, uint64_t rank, const struct plan_job *job)
{
    if (rank >= (uint64_t)job->shape->nranks)
        plan_refuse("--%s=%llu is out of range: the last rank of --shape %s is %d", option, (unsigned long long)rank,
                    job->shape_text, job->shape->nranks - 1);
}

/* The defaults for the provider, as a job would use them. */
static struct hx_net_profile profile_of(const struct plan_options *options, const struct hx_env *env)
{
    struct hx_net_profile profile;

    hx_registry.net->assume(options->provider, (int)env->rails, &profile); /* provider_take has checked the name */
    if (env->nodes)
        hx_profile_emulate(&profile);
    return profile;
}

/* The constants of the node: of --constants, else of the file that HX_CONSTANTS names, as a job would use it. */
static struct hx_constants constants_of(const struct plan_options *options, const struct hx_env *env)
{
    char machine[HX_CONSTANTS_MACHINE_BYTES];
    struct hx_constants found = {0};

    if (options->constants_path || !env->constants || !strcmp(env->constants, "none"))
        return options->constants;
    const hx_status_t status = hx_constants_read(env->constants, &found, machine);
    if (status == HX_SUCCESS)
        return found;
    fprintf(stderr, "coll_plan: HX_CONSTANTS: %s: a job would measure\n", status == HX_ERR_STATE ? env->constants : hx_last_detail());
    return options->constants;
}

static void groups_set(struct plan_job *job)
{
    const char *groups = job->env.node_groups;
    char error[256];

    if (groups && hx_node_groups_set(job->shape, groups, error, sizeof(error)) < 0)
        plan_refuse("HX_NODE_GROUPS=%s for --shape %s: %s", groups, job->shape_text, error);
}

struct plan_job *plan_job_open(const struct plan_options *options, const char *shape, enum hx_coll coll, uint64_t bytes)
{
    struct plan_job *job = plan_memory(calloc(1, sizeof(*job)));
    struct hx_job facts = {.llc_bytes = options->llc_bytes};

    job->options = options;
    job->coll = coll;
    job->shape_text = shape;
    job->shape = plan_shape_parse(shape);
    if (hx_env_load(&job->env, options->settings) != HX_SUCCESS)
        exit(2); /* hx_env_load has reported why */
    plan_ring_set(job->shape, shape, options->ring_order ? options->ring_order : job->env.ring_order);
    groups_set(job);
    rank_check("root", options->root, job);
    rank_check("rank", options->rank, job);
    facts.single_copy = (int)job->env.single_copy;
    if (facts.single_copy) /* as in a job */
        facts.constants = constants_of(options, &job->env);
    const int sharers = job->env.nodes ? job->shape->nranks : job->shape->max_local; /* emulated nodes have the same cores */
    const struct hx_net_profile profile = profile_of(options, &job->env);
    facts.cpus_per_node = options->cpus > 0 ? options->cpus : sharers;
    facts.ranks_per_cpu = sharers / facts.cpus_per_node;
    if (hx_planner_init(&job->planner, &job->env, job->shape, 0, &facts, &profile) != HX_SUCCESS)
        exit(2);

    uint32_t elem_bytes = (uint32_t)hx_dtype_bytes(options->dtype);
    uint64_t parts = hx_coll_has_blocks(coll) ? (uint64_t)job->shape->nranks : 1;
    int root = hx_coll_is_rooted(coll) ? (int)options->root : 0;
    uint64_t count = (bytes + parts * elem_bytes - 1) / (parts * elem_bytes);
    struct hx_choice choice = {0};

    job->traits = options->ordered ? (struct hx_traits){.folding = HX_FOLDS_IN_ORDER, .numbers = HX_NUMBERS_OWN} : hx_traits_of(options->dtype);
    job->traits.shared_alloc = options->alloc && facts.single_copy;
    if (!options->ordered && hx_coll_reduces(coll)) { /* a sum */
        job->traits.exact_because = job->env.wire ? hx_wire_lack(options->dtype, HX_SUM) : NULL;
        job->traits.wire = job->traits.exact_because ? NULL : hx_wire_chosen(job->env.wire);
        job->traits.wire_elem_bytes = elem_bytes;
    }
    hx_planner_traits(&job->planner, job->traits);
    if (coll == HX_COLL_BARRIER) /* a token */
        count = elem_bytes = 1;
    job->bytes = hx_planner_vector_bytes(&job->planner, coll, count, elem_bytes);
    job->ncandidates = hx_planner_candidates(&job->planner, coll, root, job->traits.folding, job->bytes, job->candidates, &job->fallback);
    candidates_keep(job, shape);
    table_use(job);
    model_set(&job->planner.cost, options);
    job->planner.cost.shared_alloc = job->traits.shared_alloc;
    uint64_t slice_bytes = job_choose(job);
    struct hx_plan *plan = plan_job_compose(job, 0);
    if (hx_planner_slices(&job->planner, job->best, plan, count, elem_bytes, slice_bytes, &choice) != HX_SUCCESS)
        exit(1);
    hx_plan_release(plan);
    job->sizes = (struct hx_sizes){.count = count, .elem_bytes = elem_bytes, .fine_slices = choice.fine_slices,
                                   .coarse_slices = choice.coarse_slices, .limit = choice.limit};
    job->window_fine = choice.window_fine;
    job->window_coarse = choice.window_coarse;
    return job;
}

struct hx_plan *plan_compose(const struct hx_shape *shape, int rank, const struct hx_candidate *candidate)
{
    struct hx_plan *plan = hx_compose(shape, rank, candidate);

    if (!plan)
        exit(1); /* hx_compose has reported why */
    return plan;
}

struct hx_plan *plan_job_compose(const struct plan_job *job, int rank)
{
    return plan_compose(job->shape, rank, job->best);
}

struct hx_plan **plans_compose(const struct hx_shape *shape, const struct hx_candidate *candidate)
{
    struct hx_plan **plans = plan_memory(calloc((size_t)shape->nranks, sizeof(*plans)));

    for (int r = 0; r < shape->nranks; r++)
        plans[r] = plan_compose(shape, r, candidate);
    return plans;
}

void plans_release(struct hx_plan **plans, int n)
{
    for (int r = 0; r < n; r++)
        hx_plan_release(plans[r]);
    free(plans);
}

uint64_t plan_step_bytes(const struct hx_layout *layout, const struct hx_step *step, uint64_t *messages)
{
    uint64_t all = 0, bytes;

    for (uint64_t slice = 0; step->nblocks && slice < layout->nslices; slice++) {
        all += bytes = hx_layout_moved(layout, step, slice);
        if (messages)
            *messages += bytes > 0;
    }
    return all;
}

int plan_document_write(struct json_object *document, const struct report_files *files)
{
    char error[OPTION_TEXT_BYTES];
    struct report report;
    int failed = 0;

    if (!files) {
        json_print(document);
    } else {
        fflush(stdout); /* before coll_report writes there */
        if (report_open(&report, files, "coll_plan", error))
            plan_refuse("%s", error);
        report_update(&report, document);
        if ((failed = report_close(&report, error)))
            fprintf(stderr, "coll_plan: %s\n", error);
    }
    json_object_put(document);
    return failed ? 1 : 0;
}

void plan_job_close(struct plan_job *job)
{
    hx_planner_release(&job->planner);
    hx_env_release(&job->env);
    hx_shape_free(job->shape);
    free(job);
}

int main(int argc, char **argv)
{
    static struct plan_options options;

    hx_streams_hold(O_CLOEXEC);
    screen_open();
    plan_options_parse(&options, argc, argv);
    const int status = plan_commands[options.command].run(&options);
    return standard_output_check("coll_plan") ? 1 : status;
}
