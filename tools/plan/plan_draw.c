/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coll_plan draw: the rounds of a plan as SVG. A row is a rank, rows stand by nodes; a column is a round, columns stand
 * by levels.
 *
 *                       inside nodes: nary    between nodes: mesh
 *                            round 1               round 1
 *    node 0   rank 0       o -------- o           o --_  _--> o
 *             rank 1       o -------> o                 \/
 *    node 1   rank 2       o          o           o ----/\--> o
 */
#include "tools/plan/plan_cost.h"
#include "tools/plan/plan_rounds.h"
#include "tools/report/svg_plot.h"
#include <stdlib.h>
#include <string.h>

enum { RANKS_MAX = 64, COLUMNS_MAX = 64, ARROWS_MAX = 4096 };
enum { LEFT = 128, TOP = 120, COLUMN = 118, GAP = 18, NODE_GAP = 8, LEGEND_LINE = 17 }; /* pixels */

static const struct {
    const char *name, *colour, *dash;
} kinds[PLAN_ARROW_KINDS] = {
    [PLAN_BETWEEN] = {"message between nodes", "#d55e00", ""},
    [PLAN_INSIDE] = {"message inside a node", "#0072b2", ""},
    [PLAN_READ] = {"read of another rank's memory", "#009e73", ""},
    [PLAN_FLAG] = {"flag: waits for that rank, reads nothing", "#777777", "4 3"},
};

struct canvas {
    FILE *out;
    const struct plan_job *job;
    const struct plan_rounds *rounds;
    int row_height, width, height, legend_y;
    size_t counts[PLAN_ARROW_KINDS];
    int *row_y; /* [ranks] */
    uint64_t most_bytes;
};

static int column_x(const struct canvas *c, int column)
{
    return LEFT + column * (COLUMN + GAP) + c->rounds->column_level[column] * GAP;
}

static void text_put(const struct canvas *c, int x, int y, const char *more, const char *text)
{
    fprintf(c->out, "<text x=\"%d\" y=\"%d\"%s>", x, y, more);
    svg_text(c->out, text);
    fprintf(c->out, "</text>\n");
}

/* ---- rows ---- */

static void rows_place(struct canvas *c)
{
    const struct hx_shape *shape = c->job->shape;
    int y = TOP;

    c->row_height = shape->nranks <= 16 ? 26 : shape->nranks <= 32 ? 20 : 15;
    c->row_y = plan_memory(calloc((size_t)shape->nranks, sizeof(*c->row_y)));
    for (int node = 0; node < shape->nnodes; node++) {
        for (int local = 0; local < hx_shape_node_size(shape, node); local++) {
            c->row_y[hx_shape_member(shape, node, local)] = y + c->row_height / 2;
            y += c->row_height;
        }
        y += NODE_GAP;
    }
    c->width = c->rounds->ncolumns ? column_x(c, c->rounds->ncolumns - 1) + COLUMN + GAP : LEFT + COLUMN;
    c->width = c->width < 640 ? 640 : c->width;
    c->legend_y = y + NODE_GAP;
    for (int k = 0; k < PLAN_ARROW_KINDS; k++)
        y += c->counts[k] ? LEGEND_LINE : 0;
    c->height = y + NODE_GAP + 2 * LEGEND_LINE + (c->job->sizes.fine_slices > 1 ? LEGEND_LINE : 0);
}

static void rows_draw(const struct canvas *c)
{
    const struct hx_shape *shape = c->job->shape;
    char text[64];

    for (int node = 0; node < shape->nnodes; node++) {
        int n = hx_shape_node_size(shape, node), y = c->row_y[hx_shape_member(shape, node, 0)] - c->row_height / 2;
        fprintf(c->out,
                "<rect class=\"node\" x=\"8\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\" fill=\"#f0f2f5\"/>\n", y,
                c->width - 16, n * c->row_height);
        snprintf(text, sizeof(text), "node %d", node);
        text_put(c, 16, y + n * c->row_height / 2 + 4, " font-weight=\"bold\"", text);
    }
    for (int rank = 0; rank < shape->nranks; rank++) {
        snprintf(text, sizeof(text), "rank %d", rank);
        text_put(c, LEFT - 14, c->row_y[rank] + 4, " text-anchor=\"end\"", text);
    }
}

/* ---- columns ---- */

/* "64 KiB", "1 KiB to 2 KiB"; "" of flags alone. */
static void bytes_tell(const struct plan_arrow *arrows, size_t n, char *text, size_t capacity)
{
    uint64_t least = UINT64_MAX, most = 0;
    char from[SVG_TEXT_BYTES], to[SVG_TEXT_BYTES];

    for (size_t i = 0; i < n; i++)
        if (arrows[i].kind != PLAN_FLAG) {
            least = arrows[i].bytes < least ? arrows[i].bytes : least;
            most = arrows[i].bytes > most ? arrows[i].bytes : most;
        }
    text[0] = 0;
    svg_value(SVG_BYTES, (double)least, from);
    svg_value(SVG_BYTES, (double)most, to);
    if (most && !strcmp(from, to))
        snprintf(text, capacity, "%s", to);
    else if (most)
        snprintf(text, capacity, "%s to %s", from, to);
}

static void columns_draw(const struct canvas *c)
{
    const struct plan_rounds *r = c->rounds;
    int end_y = c->legend_y - 2 * NODE_GAP, in_level = 0;
    size_t i = 0, first;
    char text[128];

    for (int column = 0; column < r->ncolumns; column++) {
        int x = column_x(c, column), level = r->column_level[column];
        in_level = column && r->column_level[column - 1] == level ? in_level + 1 : 1;
        for (first = i; i < r->narrows && r->arrows[i].column == column;)
            i++;
        if (in_level == 1) {
            text_put(c, x, TOP - 58, "", r->level_where[level]);
            text_put(c, x, TOP - 42, " class=\"level\" font-weight=\"bold\"", r->level_name[level]);
            if (column)
                fprintf(c->out,
                        "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"#999\" stroke-dasharray=\"2 4\"/>\n",
                        x - GAP, TOP - 68, x - GAP, end_y);
        }
        snprintf(text, sizeof(text), "round %d: %zu arrow%s", in_level, i - first, i - first == 1 ? "" : "s");
        text_put(c, x + COLUMN / 2, TOP - 24, " text-anchor=\"middle\"", text);
        bytes_tell(r->arrows + first, i - first, text, sizeof(text));
        if (text[0])
            text_put(c, x + COLUMN / 2, TOP - 9, " class=\"bytes\" text-anchor=\"middle\" font-size=\"10\"", text);
        for (int rank = 0; rank < c->job->shape->nranks; rank++)
            fprintf(c->out,
                    "<circle cx=\"%d\" cy=\"%d\" r=\"2\" fill=\"#555\"/><circle cx=\"%d\" cy=\"%d\" r=\"2\" "
                    "fill=\"#555\"/>\n",
                    x, c->row_y[rank], x + COLUMN, c->row_y[rank]);
    }
}

/* ---- arrows ---- */

/* Pixels, by bytes. Many ranks have many arrows. */
static double stroke_width(const struct canvas *c, uint64_t bytes)
{
    return c->most_bytes ? 1 + (c->job->shape->nranks <= 8 ? 2.5 : 1) * (double)bytes / (double)c->most_bytes : 1;
}

static void arrow_draw(const struct canvas *c, const struct plan_arrow *a)
{
    int x = column_x(c, a->column);
    char bytes[SVG_TEXT_BYTES], round[32] = "";

    fprintf(c->out,
            "<line class=\"arrow k%d\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"%s\" stroke-width=\"%.1f\" "
            "marker-end=\"url(#k%d)\"",
            (int)a->kind, x + 3, c->row_y[a->from], x + COLUMN - 3, c->row_y[a->to], kinds[a->kind].colour,
            stroke_width(c, a->bytes), (int)a->kind);
    if (kinds[a->kind].dash[0])
        fprintf(c->out, " stroke-dasharray=\"%s\"", kinds[a->kind].dash);
    if (a->kind == PLAN_BETWEEN || a->kind == PLAN_INSIDE)
        snprintf(round, sizeof(round), ", round %u", a->order);
    fprintf(c->out, "><title>%s: rank %d to rank %d%s", kinds[a->kind].name, a->from, a->to, round);
    if (a->bytes)
        fprintf(c->out, ", %s", svg_value(SVG_BYTES, (double)a->bytes, bytes));
    if (a->messages > 1)
        fprintf(c->out, " in %llu slices", (unsigned long long)a->messages);
    fprintf(c->out, "</title></line>\n");
}

static void legend_draw(const struct canvas *c)
{
    int y = c->legend_y + 6;
    char text[128];

    for (int k = 0; k < PLAN_ARROW_KINDS; k++) {
        if (!c->counts[k])
            continue;
        fprintf(c->out,
                "<line class=\"legend\" x1=\"16\" y1=\"%d\" x2=\"56\" y2=\"%d\" stroke=\"%s\" stroke-width=\"2\" "
                "marker-end=\"url(#k%d)\"",
                y - 4, y - 4, kinds[k].colour, k);
        if (kinds[k].dash[0])
            fprintf(c->out, " stroke-dasharray=\"%s\"", kinds[k].dash);
        fprintf(c->out, "/>\n");
        snprintf(text, sizeof(text), "%s (%zu)", kinds[k].name, c->counts[k]);
        text_put(c, 66, y, "", text);
        y += LEGEND_LINE;
    }
    text_put(c, 16, y + 2, " fill=\"#555\"",
             "In each round a rank has a dot at the left, where arrows leave, and one at the right, where they "
             "arrive.");
    text_put(c, 16, y + 2 + LEGEND_LINE, " fill=\"#555\"",
             "A thicker arrow has more bytes. Point at one for its numbers.");
    if (c->job->sizes.fine_slices > 1)
        text_put(c, 16, y + 2 + 2 * LEGEND_LINE, " fill=\"#555\"",
                 "Bytes are of all slices, which follow one another through the rounds.");
}

/* ---- the picture ---- */

static void head_draw(const struct canvas *c)
{
    const struct plan_job *job = c->job;
    char text[256], bytes[SVG_TEXT_BYTES], us[SVG_TEXT_BYTES], name[HX_CANDIDATE_NAME_BYTES];
    struct hx_cost cost = hx_cost_of(&job->planner.cost, job->shape, &job->candidates[job->best], job->bytes);

    hx_candidate_name(&job->candidates[job->best], name);
    fprintf(c->out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    fprintf(c->out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" "
            "font-size=\"12\" fill=\"#222\">\n",
            c->width, c->height, c->width, c->height);
    snprintf(text, sizeof(text), "%s of %s on %s: %s", hx_coll_name(job->coll), svg_value(SVG_BYTES, job->bytes, bytes),
             job->shape_text, name);
    fprintf(c->out, "<title>");
    svg_text(c->out, text);
    fprintf(c->out, "</title>\n<defs>\n");
    for (int k = 0; k < PLAN_ARROW_KINDS; k++)
        fprintf(c->out,
                "<marker id=\"k%d\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerUnits=\"userSpaceOnUse\" "
                "markerWidth=\"9\" "
                "markerHeight=\"9\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"%s\"/></marker>\n",
                k, kinds[k].colour);
    fprintf(c->out, "</defs>\n<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", c->width, c->height);
    text_put(c, 16, 24, " font-size=\"15\" font-weight=\"bold\"", text);
    snprintf(text, sizeof(text), "%d rank%s, %d node%s; predicted %s; %llu slice%s in shared memory",
             job->shape->nranks, job->shape->nranks == 1 ? "" : "s", job->shape->nnodes,
             job->shape->nnodes == 1 ? "" : "s", svg_value(SVG_US, cost.total_us, us),
             (unsigned long long)job->sizes.fine_slices, job->sizes.fine_slices == 1 ? "" : "s");
    if (job->shape->nnodes > 1)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), ", %llu between nodes",
                 (unsigned long long)job->sizes.coarse_slices);
    text_put(c, 16, 42, " fill=\"#555\"", text);
}

static void picture_draw(FILE *out, const struct plan_job *job, const struct plan_rounds *rounds)
{
    struct canvas c = {.out = out, .job = job, .rounds = rounds};

    for (size_t i = 0; i < rounds->narrows; i++) {
        c.most_bytes = rounds->arrows[i].bytes > c.most_bytes ? rounds->arrows[i].bytes : c.most_bytes;
        c.counts[rounds->arrows[i].kind]++;
    }
    rows_place(&c);
    head_draw(&c);
    rows_draw(&c);
    columns_draw(&c);
    for (size_t i = 0; i < rounds->narrows; i++)
        arrow_draw(&c, &rounds->arrows[i]);
    legend_draw(&c);
    fprintf(out, "</svg>\n");
    free(c.row_y);
}

/* Only what this rank sends, reads or waits for, or others from it. */
static void rank_keep(struct plan_rounds *rounds, int rank)
{
    size_t n = 0;

    for (size_t i = 0; i < rounds->narrows; i++)
        if (rounds->arrows[i].from == rank || rounds->arrows[i].to == rank)
            rounds->arrows[n++] = rounds->arrows[i];
    rounds->narrows = n;
}

static void size_check(const struct plan_job *job, const struct plan_rounds *rounds)
{
    char name[HX_CANDIDATE_NAME_BYTES];

    hx_candidate_name(&job->candidates[job->best], name);
    if (rounds->ncolumns > COLUMNS_MAX)
        plan_refuse("%s on %s has %d rounds, too many to draw (at most %d): take fewer nodes, or an --algorithm of fewer rounds "
                    "(see coll_plan cost)",
                    name, job->shape_text, rounds->ncolumns, COLUMNS_MAX);
    if (rounds->narrows > ARROWS_MAX)
        plan_refuse("%s on %s has %zu arrows, too many to draw (at most %d): take fewer ranks, or --rank R for those "
                    "of one rank",
                    name, job->shape_text, rounds->narrows, ARROWS_MAX);
}

int plan_draw(const struct plan_options *options)
{
    struct plan_job *job = plan_memory(malloc(sizeof(*job)));
    struct plan_rounds rounds;
    struct whole_file file;

    plan_job_open(job, options, options->shapes[0], options->colls[0], options->sizes[0]);
    if (job->shape->nranks > RANKS_MAX)
        plan_refuse("%s has %d ranks, too many to draw (at most %d): take a smaller shape of the same kind, for "
                    "example --shape %dx%d",
                    options->shapes[0], job->shape->nranks, RANKS_MAX, job->shape->nnodes < 4 ? job->shape->nnodes : 4,
                    job->shape->max_local < 4 ? job->shape->max_local : 4);
    plan_rounds_open(&rounds, job);
    if (options->one_rank)
        rank_keep(&rounds, (int)options->rank);
    size_check(job, &rounds);
    picture_draw(plan_output_open(&file, options->output), job, &rounds);
    plan_rounds_close(&rounds);
    plan_job_close(job);
    free(job);
    return plan_output_close(&file, options->output);
}
