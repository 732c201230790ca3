/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_info --algorithms: the registry, and what each algorithm does on p ranks, counted in its plans: on p nodes of
 * one rank, or on one node where it needs shared memory. */
#include "tools/info/coll_info.h"
#include "hier/planner.h"
#include "runtime/plan/print.h"
#include <stdlib.h>

#define SHARE_BYTES 32768 /* of the vector, per rank: any part that an algorithm cuts is whole */

struct most { /* that any rank does */
    uint32_t rounds;
    uint64_t messages, out, in; /* bytes that it sends, or writes for others; that it receives, or reads from others */
    uint64_t steps, plan_bytes; /* of its plan */
};

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* ---- rounds of flags ---- */

/* How many hops, flags that follow from one another, a rank has waited for: when it publishes each flag of its own,
 * and, returned, in all. *sum += all of these. */
static uint32_t flags_follow(const struct hx_stage *stage, uint32_t (*published)[HX_MAX_FLAGS], uint64_t *sum)
{
    uint32_t hops = 0;

    for (uint32_t i = 0; i < stage->nsteps; i++) {
        const struct hx_step *step = &stage->steps[i];
        if (step->op == HX_OP_PUBLISH)
            *sum += published[step->handle][step->tag] = (uint32_t)larger(hops, published[step->handle][step->tag]);
        if (step->op == HX_OP_ELECT) /* any member may be elected, and has then waited for the others */
            *sum += published[stage->me][step->tag] = hops;
        for (uint32_t k = 0; (step->op == HX_OP_ELECT || step->op == HX_OP_AWAIT) && !step->own && k < step->n; k++) {
            uint32_t member = (step->peer + k) % (uint32_t)stage->n;
            if (member != (uint32_t)stage->me)
                hops = (uint32_t)larger(hops, published[member][step->tag] + 1);
        }
    }
    *sum += hops;
    return hops;
}

/* The longest chain of flags through the plans of all ranks, which have one stage; -1 without memory. Each pass over
 * the ranks follows every chain by a hop at least, so the sum grows until all is known. */
static int64_t hops_count(struct hx_plan **plans, int p)
{
    uint32_t (*published)[HX_MAX_FLAGS] = calloc((size_t)p, sizeof(*published)), most;
    uint64_t sum = 0, before;

    if (!published)
        return -1;
    do {
        before = sum;
        sum = most = 0;
        for (int rank = 0; rank < p; rank++)
            most = (uint32_t)larger(most, flags_follow(&plans[rank]->stages[0], published, &sum));
    } while (sum > before);
    free(published);
    return most;
}

/* ---- counting ---- */

static void rank_count(const struct hx_plan *plan, const struct hx_shape *shape, const struct hx_sizes *sizes,
                       struct most *most)
{
    struct hx_plan_stats stats;

    hx_plan_count(plan, shape, sizes, &stats);
    most->rounds = (uint32_t)larger(most->rounds, stats.last_round);
    most->messages = larger(most->messages, larger(stats.messages, stats.receives));
    most->out = larger(most->out, stats.bytes_sent + stats.slot_bytes_written);
    most->in = larger(most->in, stats.bytes_received + stats.slot_bytes_read + stats.bytes_fetched);
    most->steps = larger(most->steps, plan->stages[0].nsteps);
    most->plan_bytes = larger(most->plan_bytes, hx_plan_bytes(plan));
}

/* 0, or -1 after an error. */
static int algorithm_count(const struct hx_algorithm *a, int p, struct most *most)
{
    struct hx_candidate candidate = {.coll = a->coll, .flat = a};
    struct hx_sizes sizes = {.count = (uint64_t)SHARE_BYTES * (uint64_t)(hx_coll_has_blocks(a->coll) ? 1 : p),
                             .elem_bytes = 1, .fine_slices = 1, .coarse_slices = 1};
    struct hx_plan **plans = calloc((size_t)p, sizeof(*plans));
    char text[32], error[HX_TOPO_ERROR_BYTES];
    int built = 0;

    snprintf(text, sizeof(text), a->needs & HX_NEEDS_LEVELS && p > 2 ? "%d/2" : a->needs & HX_NEEDS_SHARED_MEMORY ? "%d" : "%dx1", p);
    struct hx_shape *shape = hx_shape_parse(text, error);
    *most = (struct most){0};
    while (shape && plans && built < p && (plans[built] = hx_compose(shape, built, &candidate)))
        rank_count(plans[built++], shape, &sizes, most);
    int64_t hops = built == p ? hops_count(plans, p) : -1;
    most->rounds += hops > 0 ? (uint32_t)hops : 0;
    while (built > 0)
        hx_plan_release(plans[--built]);
    free(plans);
    hx_shape_free(shape);
    return hops < 0 ? -1 : 0;
}

static struct json_object *names_of(unsigned bits, const char *const *names)
{
    struct json_object *list = json_object_new_array();

    for (int i = 0; names[i]; i++)
        if (bits & (1u << i))
            json_object_array_add(list, json_object_new_string(names[i]));
    return list;
}

static struct json_object *algorithm_row(const struct hx_algorithm *a, int p)
{
    static const char *const scopes[] = {"intra", "inter", "flat", NULL};
    static const char *const needs[] = {"shared memory", "commutative", "exact", "single copy", "levels", NULL}; /* as in enum hx_needs */
    const double vector = (double)SHARE_BYTES * p;
    const int is_token = a->coll == HX_COLL_BARRIER;
    struct most most;

    if (algorithm_count(a, p, &most) < 0)
        return NULL;
    return info_new("collective=%s algorithm=%s where=%p needs=%p rounds=%d messages=%lu sent=%p received=%p steps=%lu plan=%lu "
                    "about=%s source=%s",
                    hx_coll_name(a->coll), a->name, names_of(hx_algorithm_scopes(a), scopes), names_of(a->needs, needs),
                    (int)most.rounds, most.messages, is_token ? NULL : json_real_new("%.6g", (double)most.out / vector),
                    is_token ? NULL : json_real_new("%.6g", (double)most.in / vector), most.steps, most.plan_bytes, a->about,
                    a->source);
}

/* Add those of one collective. 0, or -1 after an error. */
static int collective_add(struct json_object *rows, enum hx_coll coll, int p)
{
    const struct hx_algorithm *a;
    int idx = 0;

    while ((a = hx_algorithm_next(coll, HX_SCOPE_INTRA | HX_SCOPE_INTER | HX_SCOPE_FLAT, &idx))) {
        if (!hx_algorithm_radix_pays(a, p))
            continue;
        struct json_object *row = algorithm_row(a, p);
        if (!row)
            return -1;
        json_object_array_add(rows, row);
    }
    return 0;
}

int info_algorithms(const struct info_options *options)
{
    struct json_object *list = json_object_new_array(), *all = info_new("ranks=%d", (int)options->ranks);
    int status = 0;

    json_add_text(all, "units",
                  "sent and received: by the busiest rank, in multiples of the whole vector; plan: bytes (see --help)");
    if (!options->json)
        info_print(all, 0, stdout);
    json_object_object_add(all, "algorithms", list);
    for (int c = 0; c < options->ncolls && !status && !fflush(stdout); c++) { /* the caller tells a fault of stdout */
        struct json_object *part = json_object_new_object();
        struct json_object *rows = options->json ? json_object_get(list) : json_object_new_array();

        status = collective_add(rows, options->colls[c], (int)options->ranks);
        json_object_object_add(part, hx_coll_name(options->colls[c]), rows);
        if (!options->json && !status) {
            putchar('\n');
            info_print(part, 0, stdout);
        }
        json_object_put(part);
    }
    if (options->json && !status)
        json_print(all);
    json_object_put(all);
    return status;
}
