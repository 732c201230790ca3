/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_plan: what its commands share. */
#ifndef HX_COLL_PLAN_H
#define HX_COLL_PLAN_H
#include "hier/planner.h"
#include "runtime/explain.h"
#include "runtime/reduce.h"

#define PLAN_NAMES_MAX 256

struct plan_options {
    const char *command;
    enum hx_coll colls[HX_COLL_COUNT];
    int ncolls;
    const char **shapes; /* NULL-terminated */
    int nshapes;
    const char **settings; /* "HX_NAME=value", NULL-terminated */
    int nsettings;
    const char *algorithm; /* verify: only candidates that use it */
    uint64_t bytes, llc_bytes, max_ranks, rank, root;
    double cpus; /* of a node; 0: one per rank */
    hx_dtype_t dtype;
    int all_ranks, all, ordered;
};

/* A choice as a job of this shape would make it. */
struct plan_job {
    const struct plan_options *options;
    struct hx_env env;
    struct hx_shape *shape;
    struct hx_planner planner;
    enum hx_coll coll;
    struct hx_candidate candidates[HX_MAX_CANDIDATES];
    const char *fallback; /* NULL, or why these */
    int ncandidates, best;
    double bytes; /* of the whole vector */
    struct hx_sizes sizes;
    unsigned window_fine, window_coarse;
};

/* Each returns the exit status: 0, or 1 when something is not as it must be. */
int plan_explain(const struct plan_options *options);
int plan_big(const struct plan_options *options);
int plan_verify(const struct plan_options *options);

void plan_options_parse(struct plan_options *options, int argc, char **argv);
void plan_options_release(struct plan_options *options);
/* A message, and the end with status 2. */
void plan_refuse(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* The index of text among the names, which end with NULL, or the end with a message that lists them. */
int plan_name_choose(const char *what, const char *text, const char *const *names);
struct hx_shape *plan_shape_parse(const char *text);
void *plan_memory(void *pointer); /* the pointer, or the end when it is NULL */

struct hx_plan *plan_compose(const struct hx_shape *shape, int rank, const struct hx_candidate *candidate);
void plan_job_open(struct plan_job *job, const struct plan_options *options, const char *shape, enum hx_coll coll);
struct hx_plan *plan_job_compose(const struct plan_job *job, int rank);
void plan_job_close(struct plan_job *job);

#endif
