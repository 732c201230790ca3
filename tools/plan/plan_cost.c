/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coll_plan cost: what the model predicts for every candidate, what its parts are, and why it is slower.
 *
 * The model is asked, not taken apart: a term is what the time falls by when its parameters cost nothing, one kind
 * after the other. So the terms add up to the time whatever the model's formulas are; what is left when all is free is
 * the rest.
 */
#include "tools/plan/coll_plan.h"
#include "runtime/base/clock.h"
#include "runtime/base/size.h"
#include "tools/common/median.h"
#include "tools/common/screen.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PLANNINGS 9    /* their median counts */
#define SHOWN_US 0.005 /* a column of less is left out */

const char *const plan_term_names[PLAN_TERMS] = {"latency", "uplinks", "wire", "messages", "flags", "memory", "switches", "rest"};

/* Small and large, not 0 and infinity: the model divides by them. */
static void make_free(struct hx_cost_params *params, enum plan_term term)
{
    const double nothing = 1e-30, endless = 1e30;

    switch (term) {
    case PLAN_LATENCY: params->net_alpha_us = nothing; break;
    case PLAN_UPLINKS: params->uplink_taper = nothing; break;
    case PLAN_WIRE: params->net_gb_s = params->stream_gb_s = params->core_gb_s = endless; break;
    case PLAN_MESSAGES: params->message_us = nothing; break;
    case PLAN_FLAGS: params->intra_alpha_us = nothing; break;
    case PLAN_MEMORY: params->intra_gb_s = params->reduce_gb_s = params->fetch_gb_s = params->far_gb_s = endless, params->fetch_us = nothing; break;
    case PLAN_SWITCHES: params->switch_us = nothing; break;
    default: break;
    }
}

static void line_fill(const struct plan_job *job, struct plan_line *line)
{
    struct hx_cost_params params = hx_planner_params(&job->planner);
    double before;

    line->cost = hx_cost_of(&params, job->shape, line->candidate, job->bytes);
    hx_candidate_name(line->candidate, line->name);
    before = line->cost.total_us;
    for (int t = 0; t < PLAN_REST; t++) {
        make_free(&params, (enum plan_term)t);
        double after = hx_cost_of(&params, job->shape, line->candidate, job->bytes).total_us;
        line->us[t] = before - after > 1e-9 * before ? before - after : 0; /* else it is rounding */
        before = after;
    }
    line->us[PLAN_REST] = before > 1e-9 ? before : 0;
}

static int line_compare(const void *a, const void *b)
{
    const struct plan_line *x = a, *y = b;

    if (x->cost.total_us != y->cost.total_us)
        return x->cost.total_us < y->cost.total_us ? -1 : 1;
    return x->candidate < y->candidate ? -1 : 1; /* as the planner has it, which keeps the first */
}

/* The term by which a plan loses most, and what makes it larger. */
static void why_write(const struct plan_line *line, const struct plan_line *best, char *why, size_t capacity)
{
    double rounds = line->cost.rounds, bytes = line->cost.net_bytes / best->cost.net_bytes, more;
    int most = 0, n = snprintf(why, capacity, "%.*f x: ", line->ratio < 10 ? 2 : 0, line->ratio);

    for (int t = 1; t < PLAN_TERMS; t++)
        if (line->us[t] - best->us[t] > line->us[most] - best->us[most])
            most = t;
    more = line->us[most] - best->us[most];
    why += n;
    capacity -= (size_t)n;
    if (more < SHOWN_US)
        snprintf(why, capacity, "as good");
    else if (most == PLAN_LATENCY && rounds > best->cost.rounds)
        snprintf(why, capacity, "%.0f rounds between nodes against %.0f", rounds, best->cost.rounds);
    else if (most == PLAN_WIRE && best->cost.net_bytes > 0 && bytes > 1.005)
        snprintf(why, capacity, "%.*f x the bytes between nodes", bytes < 10 ? 2 : 0, bytes);
    else if (most == PLAN_UPLINKS && best->cost.uplink_bytes > 0 && line->cost.uplink_bytes > 1.005 * best->cost.uplink_bytes)
        snprintf(why, capacity, "%.2f x the bytes over an uplink", line->cost.uplink_bytes / best->cost.uplink_bytes);
    else if (most == PLAN_WIRE && line->candidate->lanes < best->candidate->lanes)
        snprintf(why, capacity, "%d lane%s do%s not fill the link", line->candidate->lanes,
                 line->candidate->lanes == 1 ? "" : "s", line->candidate->lanes == 1 ? "es" : "");
    else if (most == PLAN_MEMORY && line->candidate->lanes && line->candidate->lanes < best->candidate->lanes)
        snprintf(why, capacity, "%d rank%s of a node work%s, against %d", line->candidate->lanes,
                 line->candidate->lanes == 1 ? "" : "s", line->candidate->lanes == 1 ? "s" : "",
                 best->candidate->lanes);
    else if (line->us[most] < 100 * best->us[most])
        snprintf(why, capacity, "%.*f x the %s", line->us[most] < 10 * best->us[most] ? 2 : 0,
                 line->us[most] / best->us[most], plan_term_names[most]);
    else
        snprintf(why, capacity, "%.1f us of %s", more, plan_term_names[most]);
}

int plan_lines(const struct plan_job *job, struct plan_line *lines)
{
    int n = job->ncandidates;

    for (int i = 0; i < n; i++) {
        lines[i].candidate = &job->candidates[i];
        line_fill(job, &lines[i]);
    }
    qsort(lines, (size_t)n, sizeof(*lines), line_compare);
    for (int i = 0; i < n; i++) {
        lines[i].ratio = lines[0].cost.total_us > 0 ? lines[i].cost.total_us / lines[0].cost.total_us : 1;
        lines[i].why[0] = 0;
        if (i)
            why_write(&lines[i], &lines[0], lines[i].why, sizeof(lines[i].why));
    }
    return n;
}

/* ---- plans that are not candidates ---- */

static int serves(const struct plan_job *job, const struct hx_algorithm *a)
{
    for (const struct hx_candidate *c = job->candidates; c < job->candidates + job->ncandidates; c++)
        if (c->flat == a || c->first == a || c->inter == a || c->last == a)
            return 1;
    return 0;
}

/* Why an algorithm is part of no candidate. */
static void lack_write(const struct plan_job *job, const struct hx_algorithm *a, char *why, size_t capacity)
{
    const struct hx_shape *shape = job->shape;
    enum hx_coll coll = job->coll;
    int two = shape->nnodes > 1 && shape->max_local > 1,
        members = two && hx_algorithm_scopes(a) & HX_SCOPE_INTER ? shape->nnodes : shape->nranks;
    unsigned here = shape->nnodes == 1 ? HX_SCOPE_INTRA
        : shape->max_local == 1        ? HX_SCOPE_INTER
                                       : HX_SCOPE_INTER | HX_SCOPE_FLAT;

    if (two && (a->coll == hx_candidate_first(coll, 1) || a->coll == hx_candidate_last(coll, 1)))
        here |= HX_SCOPE_INTRA;
    if (a->needs & HX_NEEDS_EXACT && job->traits.folding != HX_FOLDS_EXACTLY)
        snprintf(why, capacity,
                 "needs an exact operation, because ranks reduce in different orders: all are exact on integers (--dtype int32)");
    else if (a->needs & HX_NEEDS_COMMUTATIVE && job->candidates[0].ordered)
        snprintf(why, capacity, "needs a commutative operation (--ordered says it is not)");
    else if (!(hx_algorithm_scopes(a) & here))
        snprintf(why, capacity, "works only %s%s", hx_algorithm_scopes(a) & HX_SCOPE_INTER ? "between nodes" : "inside a node",
                 two                      ? ", and no composed plan uses it"
                     : shape->nnodes == 1 ? "; there is one node"
                                          : "; every node has one rank");
    else if (a->needs & HX_NEEDS_LEVELS && !shape->nlevels)
        snprintf(why, capacity, "needs levels inside a node, and the shape has none (--shape 96/2/6: two domains of six)");
    else if (hx_coll_has_pairs(coll) && members > HX_MATRIX_MEMBERS)
        snprintf(why, capacity, "needs a block per pair of members, and at most %d members are possible", HX_MATRIX_MEMBERS);
    else if (a->needs & HX_PASSES_RING && shape->nnodes > 1 && members > HX_MATCH_ROUNDS + 1)
        snprintf(why, capacity, "a ring can have at most %d members, because a match id has no room for more rounds; here are %d",
                 HX_MATCH_ROUNDS + 1, members);
    else if (two && a->needs & HX_NEEDS_SINGLE_COPY && hx_candidate_unreadable(coll))
        snprintf(why, capacity, "%s", hx_candidate_unreadable(coll));
    else if (a->needs & HX_NEEDS_SINGLE_COPY && !job->planner.single_copy)
        snprintf(why, capacity, "ranks may not read each other's memory (HX_SINGLE_COPY=0)");
    else
        snprintf(why, capacity, "the HX_* settings name another algorithm");
}

int plan_lacks(const struct plan_job *job, struct plan_lack *lacks)
{
    enum hx_coll colls[] = {job->coll, hx_candidate_between(job->coll)};
    const struct hx_algorithm *a;
    int n = 0;

    for (int c = 0; c < (colls[0] == colls[1] || job->shape->nnodes == 1 ? 1 : 2); c++)
        for (int idx = 0; n < PLAN_NAMES_MAX && (a = hx_algorithm_next(colls[c], ~0u, &idx));) {
            if (serves(job, a) || !hx_algorithm_is_usual(a) || (c == 1 && !(hx_algorithm_scopes(a) & HX_SCOPE_INTER)))
                continue;
            lacks[n].algorithm = a;
            lack_write(job, a, lacks[n].why, sizeof(lacks[n].why));
            n++;
        }
    return n;
}

/* ---- the planner's time ---- */

double plan_time_us(const struct plan_job *job)
{
    struct hx_job facts = {.llc_bytes = job->options->llc_bytes, .single_copy = (int)job->env.single_copy, .constants = job->options->constants};
    int root = hx_coll_is_rooted(job->coll) ? (int)job->options->root : 0;
    double us[PLANNINGS];

    for (int i = 0; i < PLANNINGS; i++) { /* each with an empty cache */
        struct hx_planner *planner;
        struct hx_choice choice = {0};
        if (hx_planner_hier.open(&job->env, job->shape, 0, &facts, NULL, &planner) != HX_SUCCESS)
            exit(1);
        planner->cost = job->planner.cost;
        planner->cost.uplinks = planner->uplinks;
        double start = 1e6 * hx_now_s();
        if (hx_planner_hier.choose(planner, job->coll, root, job->traits, job->sizes.count, job->sizes.elem_bytes, &choice) != HX_SUCCESS)
            exit(1);
        us[i] = 1e6 * hx_now_s() - start;
        hx_plan_release(choice.plan);
        hx_planner_hier.close(planner);
    }
    return median(us, PLANNINGS);
}

/* ---- as text ---- */

/* grouped: show what passes the uplink of a group of nodes. */
static void lines_print(const struct plan_line *lines, int n, int grouped)
{
    int shown[PLAN_TERMS] = {0}, wide[PLAN_TERMS], width = 21, length, digits = lines[0].cost.total_us < 100 ? 2 : 1;

    for (int i = 0; i < n; i++) {
        for (int t = 0; t < PLAN_TERMS; t++)
            shown[t] |= fabs(lines[i].us[t]) > SHOWN_US;
        length = (int)strlen(lines[i].name);
        width = length > width ? length : width;
    }
    printf("\n  %-*s %8s =" FOLD, width, "plan, fastest first", "us");
    for (int t = 0; t < PLAN_TERMS; t++) {
        length = (int)strlen(plan_term_names[t]);
        wide[t] = length > 7 ? length : 7;
        if (shown[t])
            printf(" %*s" FOLD, wide[t], plan_term_names[t]);
    }
    printf(grouped ? FOLD "   uplink bytes\n" : "\n");
    for (int i = 0; i < n; i++) {
        char size[HX_SIZE_BYTES];
        printf("%s %-*s %8.*f  " FOLD, i ? " " : "*", width, lines[i].name, digits, lines[i].cost.total_us);
        for (int t = 0; t < PLAN_TERMS; t++)
            if (shown[t])
                printf(" %*.*f" FOLD, wide[t], digits, lines[i].us[t]);
        if (grouped)
            printf(FOLD " %14s", hx_size_format((uint64_t)(lines[i].cost.uplink_bytes + 0.5), size));
        printf("  %s\n", i ? lines[i].why : "fastest");
    }
}

static void lacks_print(const struct plan_lack *lacks, int n)
{
    int width = 0, length;

    for (int i = 0; i < n; i++) {
        length = (int)strlen(lacks[i].algorithm->name);
        width = length > width ? length : width;
    }
    if (n)
        printf("\nnot usable here:\n");
    for (int i = 0; i < n; i++)
        printf("  %-*s  %s\n", width, lacks[i].algorithm->name, lacks[i].why);
}

void plan_candidates_print(const struct plan_job *job)
{
    static struct plan_line lines[HX_MAX_CANDIDATES];

    if (job->fallback)
        printf("\n%s\n", job->fallback);
    lines_print(lines, plan_lines(job, lines), job->planner.uplinks != NULL);
}

static void point_print(const struct plan_job *job)
{
    struct plan_lack lacks[PLAN_NAMES_MAX];

    plan_head_print(job);
    plan_candidates_print(job);
    if (!job->options->nalgorithms)
        lacks_print(lacks, plan_lacks(job, lacks));
    if (job->options->time)
        printf("\nplanned in %.1f us (median of %d, nothing cached)\n", plan_time_us(job), PLANNINGS);
}

/* ---- as a table ---- */

struct row {
    struct plan_job *job;
    struct plan_line lines[HX_MAX_CANDIDATES];
    int n;
};

static const struct plan_line *line_find(const struct row *row, const char *name)
{
    for (int i = 0; i < row->n; i++)
        if (!strcmp(row->lines[i].name, name))
            return &row->lines[i];
    return NULL;
}

/* A column's head and its width: the plan's name, or its number if all names together are wider than the screen. */
static int head_write(char head[HX_CANDIDATE_NAME_BYTES], const char *name, int number)
{
    if (number)
        snprintf(head, HX_CANDIDATE_NAME_BYTES, "[%d]", number);
    else
        snprintf(head, HX_CANDIDATE_NAME_BYTES, "%s", name);
    return strlen(head) < 9 ? 9 : (int)strlen(head);
}

/* Columns: the plans that any row has, in the order of the registry; "-": not one of that row's candidates. */
static void table_print(const struct row *rows, int n)
{
    char head[HX_CANDIDATE_NAME_BYTES];
    const char **names = plan_memory(calloc((size_t)n * HX_MAX_CANDIDATES, sizeof(*names)));
    int nnames = 0;

    for (int r = 0; r < n; r++)
        for (int c = 0; c < rows[r].n; c++)
            for (int i = 0; i < rows[r].n; i++)
                if (rows[r].lines[i].candidate == &rows[r].job->candidates[c])
                    nnames = plan_name_add(names, nnames, rows[r].lines[i].name);
    int width = 25, numbered;
    for (int i = 0; i < nnames; i++)
        width += 2 + head_write(head, names[i], 0);
    numbered = width > screen_columns();
    for (int i = 0; numbered && i < nnames; i++)
        printf("  [%d]%*s%s\n", i + 1, i < 9 ? 3 : 2, "", names[i]);
    printf("%-14s %10s", "us; shape", "size");
    for (int i = 0; i < nnames; i++) {
        width = head_write(head, names[i], numbered ? i + 1 : 0);
        printf(FOLD "  %*s", width, head);
    }
    printf("\n");
    for (int r = 0; r < n; r++) {
        char size[HX_SIZE_BYTES];
        printf("%-14s %10s", rows[r].job->shape_text, hx_size_format((uint64_t)rows[r].job->bytes, size));
        for (int i = 0; i < nnames; i++) {
            const struct plan_line *line = line_find(&rows[r], names[i]);
            char text[32] = "-";
            if (line)
                snprintf(text, sizeof(text), "%s%.1f", line == &rows[r].lines[0] ? "*" : "", line->cost.total_us);
            printf(FOLD "  %*s", head_write(head, names[i], numbered ? i + 1 : 0), text);
        }
        printf("\n");
    }
    free(names);
}

int plan_cost(const struct plan_options *options)
{
    int n = options->nshapes * options->nsizes;
    struct row *rows = plan_memory(calloc((size_t)n, sizeof(*rows)));
    struct json_object *points = options->json ? plan_memory(json_object_new_array()) : NULL;

    for (int i = 0; i < n; i++) {
        struct plan_job *job = plan_job_open(options, options->shapes[i / options->nsizes], options->colls[0],
                                             options->sizes[i % options->nsizes]);
        rows[i].job = job;
        rows[i].n = plan_lines(job, rows[i].lines);
        if (options->json)
            plan_point_add(points, job, rows[i].lines, rows[i].n);
        else if (!options->table) {
            if (i)
                printf("\n");
            point_print(job);
        }
    }
    if (options->json)
        plan_document_write(plan_cost_json(rows[0].job, points), NULL);
    if (options->table) {
        table_print(rows, n);
        plan_sources_print(rows[0].job);
    }
    for (int i = 0; i < n; i++)
        plan_job_close(rows[i].job);
    free(rows);
    return 0;
}
