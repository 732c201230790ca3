/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether jobs can use what a table says: the planner is asked, as in a job of the entry's shape, what plans there are. */
#include "tools/tune/coll_tune.h"
#include "hier/planner.h"
#include "tools/common/options.h"
#include <stdlib.h>
#include <string.h>

#define RANKS_MOST (1 << 20)        /* of a shape that is tried */
#define BYTES_MOST ((uint64_t)1 << 40)

/* The plans that a job of this shape has for an entry, of all sizes that it holds for. */
struct choices {
    struct hx_planner planner;
    struct hx_candidate *candidates;
    char (*names)[HX_CANDIDATE_NAME_BYTES];
    int n;
};

static struct hx_shape *shape_of(const struct hx_table_entry *e)
{
    char text[128], error[HX_TOPO_ERROR_BYTES];
    const char *placement = e->in_order ? "" : ":cyclic", *levels = strstr(e->plan, "_levels") ? "/2" : "";
    struct hx_shape *shape;

    if (e->nnodes == 1 || e->min_local == e->max_local)
        snprintf(text, sizeof(text), "%dx%d%s%s", e->nnodes, e->max_local, levels, placement);
    else
        snprintf(text, sizeof(text), "1x%d%s,%dx%d%s%s", e->max_local, levels, e->nnodes - 1, e->min_local, levels, placement);
    shape = hx_shape_parse(text, error);
    if (shape && shape->min_local == e->min_local && hx_shape_is_in_order(shape) == e->in_order)
        return shape;
    hx_shape_free(shape);
    return NULL;
}

/* Is the entry's plan one of those for a vector of so many bytes? Keeps the names of all, if there is room. */
static int is_choice(struct choices *c, const struct hx_table_entry *e, uint64_t bytes)
{
    const char *fallback;
    enum hx_folding folding = e->ordered                            ? HX_FOLDS_IN_ORDER
                              : e->numbers == HX_NUMBERS_INTEGER ? HX_FOLDS_EXACTLY
                                                                    : HX_FOLDS_ALIKE;
    int n = hx_planner_candidates(&c->planner, e->coll, 0, folding, (double)bytes, c->candidates, &fallback);
    struct hx_candidate found;

    if (hx_candidate_find(c->candidates, n, e->plan, c->planner.shape, 1, &found) >= 0)
        return 1;
    for (int i = 0; i < n; i++) {
        char name[HX_CANDIDATE_NAME_BYTES];
        int known = 0;
        hx_candidate_name(&c->candidates[i], name);
        for (int k = 0; k < c->n && !known; k++)
            known = !strcmp(c->names[k], name);
        if (!known && c->n < HX_MAX_CANDIDATES)
            memcpy(c->names[c->n++], name, sizeof(name));
    }
    return 0;
}

static int is_choice_somewhere(struct choices *c, const struct hx_table_entry *e)
{
    uint64_t most = e->to_bytes < BYTES_MOST ? e->to_bytes : BYTES_MOST;

    if (e->measured_bytes >= 0 && is_choice(c, e, (uint64_t)e->measured_bytes))
        return 1;
    for (uint64_t bytes = e->from_bytes; bytes < most; bytes = bytes ? 2 * bytes : 1)
        if (is_choice(c, e, bytes))
            return 1;
    return is_choice(c, e, most);
}

static void refusal_tell(const struct choices *c, const struct hx_table_entry *e, char text[OPTION_TEXT_BYTES])
{
    const char *names[HX_MAX_CANDIDATES + 1] = {NULL};

    for (int i = 0; i < c->n; i++)
        names[i] = c->names[i];
    if (hx_candidate_name_is_known(e->plan))
        snprintf(text, OPTION_TEXT_BYTES, "%s cannot serve %s on %d nodes of %d to %d ranks at these sizes", e->plan, hx_coll_name(e->coll),
                 e->nnodes, e->min_local, e->max_local);
    else
        option_choose("plan", e->plan, names, text);
}

int tune_entry_check(const struct hx_table_entry *e, char text[OPTION_TEXT_BYTES])
{
    struct choices c = {.candidates = malloc(HX_MAX_CANDIDATES * sizeof(*c.candidates)), .names = malloc(HX_MAX_CANDIDATES * sizeof(*c.names))};
    const struct hx_env none = {0};
    const struct hx_job job = {.llc_bytes = 32 << 20, .single_copy = 1, .max_local = e->max_local};
    struct hx_shape *shape = NULL;
    int status = -1;

    if (!c.candidates || !c.names)
        snprintf(text, OPTION_TEXT_BYTES, "no memory");
    else if ((int64_t)e->nnodes * e->max_local > RANKS_MOST)
        status = 0; /* nobody can tell here */
    else if (!(shape = shape_of(e)))
        snprintf(text, OPTION_TEXT_BYTES, "no job has %d nodes, %d to %d ranks on each and this placement", e->nnodes, e->min_local, e->max_local);
    else if (hx_planner_init(&c.planner, &none, shape, 0, &job, NULL) != HX_SUCCESS)
        snprintf(text, OPTION_TEXT_BYTES, "no plans for this shape");
    else if (is_choice_somewhere(&c, e))
        status = 0;
    else
        refusal_tell(&c, e, text);
    hx_shape_free(shape);
    free(c.candidates);
    free(c.names);
    return status;
}
