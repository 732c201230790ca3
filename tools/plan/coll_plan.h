/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_plan: what its commands share. */
#pragma once

#include "hier/planner.h"
#include "tools/common/options.h"
#include "runtime/plan/print.h"
#include "runtime/base/reduce.h"
#include "tools/common/report.h"
#include <json.h>

#define PLAN_NAMES_MAX 256
#define PLAN_COMMANDS_MAX 8
#define PLAN_OPTIONS_MAX 32

struct plan_options {
    int command;              /* its row of plan_commands; -1: none */
    int colls[HX_COLL_COUNT]; /* enum hx_coll */
    int ncolls;
    const char **shapes; /* NULL-terminated */
    int nshapes;
    const char **settings; /* "HX_NAME=value", NULL-terminated */
    int nsettings;
    const char **algorithms; /* only candidates that use one of them, or have this name; none: all */
    int nalgorithms;
    const char *ring_order; /* NULL: as HX_RING_ORDER says; verify: by rank */
    uint64_t *sizes;
    int nsizes;
    double model[HX_COST_PARAMETERS]; /* 0: as it is by default */
    struct hx_constants constants; /* of --constants */
    const char *constants_path;    /* NULL: none */
    uint64_t llc_bytes, max_ranks, rank, root;
    double cpus; /* of a node; 0: one per rank */
    hx_dtype_t dtype;
    int all_ranks, all, ordered, alloc, json, table, time, one_rank;
    const char *output; /* NULL: standard output */
    const char *svg;    /* NULL: none */
    const char *provider; /* of the entries and the cost model of HX_TABLE that hold */
    int by_table;         /* may entries hold, */
    int by_model;         /* and the cost model */
    const char *sides[2];
    int nsides;
};

/* run returns the exit status: 0, or 1 if something is not as it must be. */
struct plan_command {
    const char *name;
    int (*run)(const struct plan_options *options);
    const char *args, *about, *teaches;
};
extern const struct plan_command plan_commands[]; /* the last has no name */

/* A choice as a job of this shape would make it. */
struct plan_job {
    const struct plan_options *options;
    struct hx_env env;
    const char *shape_text; /* as given */
    struct hx_shape *shape;
    struct hx_planner planner;
    enum hx_coll coll;
    struct hx_traits traits;
    struct hx_candidate candidates[HX_MAX_CANDIDATES];
    const char *fallback; /* NULL, or why these */
    int ncandidates;
    const struct hx_candidate *best; /* of these */
    char name[HX_CANDIDATE_NAME_BYTES]; /* of the best */
    const struct hx_table_entry *tuned; /* for this call; NULL: nothing */
    double bytes; /* of the whole vector */
    struct hx_sizes sizes;
    unsigned window_fine, window_coarse;
};

int plan_explain(const struct plan_options *options);
int plan_cost(const struct plan_options *options);
int plan_steps(const struct plan_options *options);
int plan_big(const struct plan_options *options);
int plan_draw(const struct plan_options *options);
int plan_compare(const struct plan_options *options);
int plan_verify(const struct plan_options *options);

void plan_options_parse(struct plan_options *options, int argc, char **argv);
/* --help of a command, by its number, or of all: -1. The exit status. */
int plan_help(int command, const struct option_row *options);
/* A message, and the end with status 2. */
void plan_refuse(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* The index of text among the names, which end with NULL, or the end with a message that lists them. */
int plan_name_choose(const char *what, const char *text, const char *const *names);
struct hx_shape *plan_shape_parse(const char *text);
/* Let rings pass the nodes of this shape, which text names, in this order, or end with a message. */
void plan_ring_set(struct hx_shape *shape, const char *text, const char *order);
void *plan_memory(void *pointer); /* the pointer, or the end when it is NULL */

/* Is this the candidate's name, or that of an algorithm in it? */
int plan_has(const struct hx_candidate *candidate, const char *name);
/* Does the command line let a candidate be looked at? */
int plan_uses(const struct plan_options *options, const struct hx_candidate *candidate);
/* The number of names, with this one if it is not among them. */
int plan_name_add(const char **names, int n, const char *name);

/* The plan of this name, be it one of the job's candidates or, of levels, one with so many lanes as the planner does not think of here;
 * 0: there is none. */
int plan_named(const struct plan_job *job, const char *name, struct hx_candidate *found);

/* Let coll_report draw a document, or print it if files is NULL, and release it. A wrong file name ends the program. Returns the
 * exit status. */
int plan_document_write(struct json_object *document, const struct report_files *files);

struct hx_plan *plan_compose(const struct hx_shape *shape, int rank, const struct hx_candidate *candidate);
/* Those of all ranks. */
struct hx_plan **plans_compose(const struct hx_shape *shape, const struct hx_candidate *candidate);
void plans_release(struct hx_plan **plans, int n);
struct plan_job *plan_job_open(const struct plan_options *options, const char *shape, enum hx_coll coll, uint64_t bytes);
struct hx_plan *plan_job_compose(const struct plan_job *job, int rank);
/* The bytes of all slices. *messages, unless it is NULL: how many slices are not empty. */
uint64_t plan_step_bytes(const struct hx_layout *layout, const struct hx_step *step, uint64_t *messages);
size_t plan_live_slots(const struct plan_job *job, const struct hx_plan *plan);
/* How often what a rank contributes is rounded; -1: never, or not counted for so many ranks. *codings: how often it is encoded in a wire
 * format, one after the other. */
int plan_roundings(const struct plan_job *job, int *codings);
/* The source of the model's parameters: see hx_planner_source. plan_sources_print prints those that the shape uses. */
void plan_source_write(const struct plan_job *job, int net, char text[HX_SOURCE_BYTES]);
void plan_sources_print(const struct plan_job *job);
/* The collective, its size, the shape, and the sources. */
void plan_head_print(const struct plan_job *job);
void plan_job_close(struct plan_job *job);

/* ---- predicted times, taken apart, and what of plans becomes JSON */

/* The parts of a predicted time. */
enum plan_term { PLAN_LATENCY, PLAN_UPLINKS, PLAN_WIRE, PLAN_MESSAGES, PLAN_FLAGS, PLAN_MEMORY, PLAN_SWITCHES, PLAN_REST, PLAN_TERMS };
extern const char *const plan_term_names[PLAN_TERMS];

/* A candidate of a job. */
struct plan_line {
    const struct hx_candidate *candidate;
    char name[HX_CANDIDATE_NAME_BYTES];
    struct hx_cost cost;
    double us[PLAN_TERMS]; /* in all cost.total_us */
    double ratio;          /* to the fastest */
    char why[128];         /* it loses; "" of the fastest */
};

/* An algorithm that is part of no candidate. */
struct plan_lack {
    const struct hx_algorithm *algorithm;
    char why[160];
};

/* The job's candidates, fastest first; their number. lines: HX_MAX_CANDIDATES. */
int plan_lines(const struct plan_job *job, struct plan_line *lines);
/* The same as text. */
void plan_candidates_print(const struct plan_job *job);
/* Their number. lacks: PLAN_NAMES_MAX. */
int plan_lacks(const struct plan_job *job, struct plan_lack *lacks);
/* The planner's time for the first such call of a job, median of several. */
double plan_time_us(const struct plan_job *job);

/* Add a point; make the document, which takes over the points. */
void plan_point_add(struct json_object *points, const struct plan_job *job, const struct plan_line *lines, int n);
struct json_object *plan_cost_json(struct plan_job *job, struct json_object *points);
struct json_object *plan_explain_json(const struct plan_job *job, int first, int end);
