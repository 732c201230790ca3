/* SPDX-License-Identifier: BSD-3-Clause */
/* Predicted times taken apart, and what of plans becomes JSON. */
#pragma once

#include "tools/plan/coll_plan.h"
#include <json.h>

/* What a predicted time is made of. */
enum plan_term {
    PLAN_LATENCY,
    PLAN_WIRE,
    PLAN_MESSAGES,
    PLAN_FLAGS,
    PLAN_MEMORY,
    PLAN_SWITCHES,
    PLAN_REST,
    PLAN_TERMS
};
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
/* Of the first such call of a job, median of several. */
double plan_time_us(const struct plan_job *job);

/* Add a point; make the document, which takes over the points. */
void plan_point_add(struct json_object *points, const struct plan_job *job, const struct plan_line *lines, int n);
struct json_object *plan_cost_json(struct plan_job *job, struct json_object *points);
struct json_object *plan_explain_json(const struct plan_job *job, int first, int end);
void plan_json_print(struct json_object *document);
