/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_tune: what its parts share. Measuring needs a job, and internals of the library; the files are handled offline. */
#pragma once

#include "tools/common/bench_loop.h"
#include "hier/planner.h"
#include "runtime/api/comm.h"
#include "tools/tune/tune_race.h"
#include <math.h>

#define TUNE_COSTLY 4.0               /* times the best prediction: not tried */
#define TUNE_JUDGED 12.0              /* the same for judge */
#define TUNE_SIZES 84                 /* of a collective, 2^0 to 2^40 and between them */
/* A plan must be faster than the default by so much: where a rank has a core of its own, and where ranks share cores. There one launch
 * has its ranks on the cores in another way than the next: gains of less than a sixth come and go with it. */
#define TUNE_GAIN 0.03
#define TUNE_GAIN_SHARED 0.15
#define TUNE_SLICED_BYTES (256 << 10) /* vectors from here on are tried with other slices */

/* A candidate, as its race told; or, without rounds, one that did not run. */
struct tune_way {
    char name[HX_CANDIDATE_NAME_BYTES + 32]; /* plan, or slice */
    double predicted_us;                     /* 0: there is no prediction */
    struct tune_lap lap;
};

/* How a point was found, for the report. */
struct tune_story {
    struct tune_way ways[TUNE_WAYS], slices[TUNE_WAYS];
    int nways, nslices;
    int winner;                /* of the ways; the default's is 0 */
    struct tune_interval gain; /* of the chosen plan's ratio to the default, without slices */
    struct tune_way *pruned;   /* slower in the qualifying, then predicted to be costly; freed with the story */
    int npruned;
    int rounds, spoiled; /* all measured, all dropped */
    double seconds, bound_us;
};

enum tune_command {
    TUNE_RUN, TUNE_CHECK, TUNE_MERGE, TUNE_DIFF, TUNE_JUDGE, TUNE_MODEL, TUNE_CONFIRM, TUNE_SCHEMA, TUNE_HELP, TUNE_VERSION
};

#define TUNE_OUTPUT "hierax_table.json" /* where no other is named */

struct tune_options {
    enum tune_command command;
    struct bench_options bench; /* sizes, dtype, op, collectives */
    const char *output;         /* as given, or NULL */
    int resume, schema;
    uint64_t gain_percent; /* UINT64_MAX: not given */
    int refine; /* measure between sizes whose plans differ, too */
    double budget_s;
    double least_gain; /* of a plan over the default: 0.03 is 3 % faster; below 0 until the job is known: by TUNE_GAIN */
    const char **files; /* of a command */
    int nfiles;
    char error[OPTION_TEXT_BYTES];
};

/* Half-way between two sizes, geometrically. */
static inline uint64_t tune_middle(uint64_t a, uint64_t b)
{
    return (uint64_t)sqrt((double)a * (double)b);
}

/* Does the command measure? */
static inline int tune_is_job(const struct tune_options *o)
{
    return o->command == TUNE_RUN || o->command == TUNE_CONFIRM || ((o->command == TUNE_JUDGE || o->command == TUNE_MODEL) && o->nfiles == 0);
}

/* A collective and size: what is to be measured, and what was found. */
struct tune_point {
    enum hx_function collective;
    enum hx_coll coll;
    uint64_t bytes;
    size_t count;
    int known, measured; /* from the file; in this run */
    int between;         /* two whose plans differ */
    int open;            /* its race: see struct tune_race */
    int again;           /* to be measured with more time than before */
    double seconds;      /* that it had */
    /* candidates: in the race; left out by prediction; slower in the qualifying; for which that had no time */
    int raced, costly, behind, untried;
    struct hx_table_entry entry;
};

/* tune_options.c: silent; a fault goes to o->error */
void tune_options_parse(struct tune_options *o, int argc, char **argv);
int tune_options_answer(const struct tune_options *o); /* --help, --version; the exit status */

/* tune_files.c: the commands that need no job. The exit status. */
int tune_files(const struct tune_options *o);

/* tune_check.c: can the planner choose what an entry says, in a job of its shape? 0, or -1 and why not. */
int tune_entry_check(const struct hx_table_entry *entry, char text[OPTION_TEXT_BYTES]);

/* tune_measure.c */
struct tuner;
struct tune_survey;
struct tuner *tuner_open(const struct tune_options *o, const struct bench_job *job); /* NULL after printing why */
void tuner_close(struct tuner *tuner); /* all ranks */
/* What plans are chosen by, of the calls that are measured. */
struct hx_traits tuner_traits(const struct tuner *tuner);
/* The point's entry but for what is to be found. */
void tuner_key(const struct tuner *tuner, struct tune_point *point);
/* Measure for about so many seconds, by the plans of survey, which is overwritten; before: the plan of the size before, or "". */
enum tune_outcome tuner_point(struct tuner *tuner, struct tune_point *point, const char *before, double seconds,
                              struct tune_survey *survey, struct tune_story *story);
/* Has anybody been told to stop? Sets *elapsed to the greatest of all ranks. 0, or -1 when the library failed. */
int tuner_agree(double *elapsed, int *stop);
void tuner_watch_signals(void);

/* A plan, and what is known of its time. */
struct tune_plan {
    char name[HX_CANDIDATE_NAME_BYTES];
    uint64_t slice_bytes;    /* 0: as the planner cuts */
    double predicted_us, us; /* us 0: not measured */
};
/* Race plans at a point for so many seconds, and so many rounds at least, the first as the default; nothing is made of who wins. */
enum tune_outcome tuner_plans_race(struct tuner *tuner, const struct tune_point *point, const struct tune_plan *plans,
                                   int n, int least_rounds, double seconds, struct tune_race *race);

/* tune_survey.c: the planner's choice, which is the first, and all other candidates, in the order of predictions. */
struct tune_survey {
    int n, costly; /* to measure; and, after those, with predictions too far off for that */
    struct tune_plan plans[HX_MAX_CANDIDATES];
};
/* by_table: the choice is the table's, where it has one, not the model's. costly: times the best prediction. 0, or -1 after
 * printing why. */
int tune_survey_find(const struct tuner *tuner, const struct tune_point *point, int by_table, double costly, struct tune_survey *survey);
/* Measure what was found, each for a like part of the time; when that is used up the last stay unmeasured, unless all are to be. final: then
 * those that were the fastest run once more, side by side. */
enum tune_outcome tuner_survey(struct tuner *tuner, const struct tune_point *point, double seconds, int all, int final,
                               struct tune_survey *survey);

/* Behind the first by their times, alike on all ranks. 0, or -1: the library failed. */
int tune_survey_sort(struct tune_survey *survey);

/* tune_confirm.c: the choices of table for this job that are not the default's, as points, on rank 0; survey is overwritten. Returns how
 * many, at most so many, or -1 after printing why. What cannot be raced is told. */
int tune_confirm_points(const struct tuner *tuner, const struct tune_options *o, const struct bench_job *job, const struct hx_table *table,
                        struct tune_survey *survey, struct tune_point *points, int most);
/* Race one against the default; where it is not faster by the least gain here too, the entry becomes the default's.
 * *ratio: of its time to the default's. SPOILED: time was too short to tell. */
enum tune_outcome tune_confirm_point(struct tuner *tuner, struct tune_point *point, double seconds, double *ratio);

/* tune_judge.c: on rank 0, a document of what was measured, a point more, and its end: the figure, and the file, if path
 * names one. New: NULL after printing why it could not be written, or not be judged. */
struct json_object;
struct json_object *tune_judge_new(const char *path, struct hx_traits traits);
void tune_judge_point(struct json_object *doc, const struct tune_point *point, const struct tune_survey *survey);
int tune_judge_end(struct json_object *doc, const char *path); /* 0, or -1 after printing why */
/* The figure of such files, by the planner as it is. The exit status. */
int tune_judge(const struct tune_options *o);
/* A job as such a file tells it: its shape, and a planner without settings. 0, or -1 after printing why; to be closed
 * either way. */
struct tune_judged {
    struct hx_shape *shape;
    struct hx_planner planner;
    struct hx_env env;
    struct hx_table_machine machine; /* that was measured */
    struct hx_traits traits;         /* with which calls */
    void *tuning;
    struct hx_candidate candidates[HX_MAX_CANDIDATES];
};
/* Open it, zeroed before, from a file, and show every point to visit. 0, or -1 after printing why; to be freed either
 * way. */
int tune_judgement_read(const char *path, struct tune_judged *j,
                        int (*visit)(void *ctx, struct tune_judged *j, struct json_object *point), void *ctx);
void tune_judged_free(struct tune_judged *j);
/* What was measured at a point. The number of plans, or -1: it is none. */
int tune_point_plans(struct json_object *point, enum hx_coll *coll, double *bytes,
                     struct tune_plan plans[HX_MAX_CANDIDATES]);

/* tune_model.c: the cost model's parameters, from measured plans. On rank 0, or without a job. */
/* A plan's measured time. */
struct tune_observed {
    const struct hx_shape *shape;
    struct hx_candidate candidate;
    double bytes, us, oversubscription;
    int point; /* those measured side by side have the same, and follow each other */
};

struct tune_fitting {
    struct tune_observed *plans;
    int n, points;
};
/* The plans of a point, by a planner of its shape, which stays until the fit. 0, or -1 after printing why. */
int tune_fitting_add(struct tune_fitting *f, const struct hx_planner *planner, enum hx_coll coll, struct hx_traits traits, double bytes,
                     const struct tune_plan *plans, int n);
/* Fit, beginning with what the planner goes by, or the table if it has a model; put the result into the table and print
 * it. Of no points nothing, and what was fitted to more points than these stays unless always. 0, or -1 after printing why. */
int tune_fitting_end(struct tune_fitting *f, const struct hx_planner *planner, int always, struct hx_table *table,
                     FILE *out);
/* The command, of files. The exit status. */
int tune_model(const struct tune_options *o);

/* coll_tune.c: a run of the job. */
struct tune_run {
    const struct tune_options *o;
    struct bench_job job;
    struct tuner *tuner;
    const char *output;
    struct hx_table *table; /* on rank 0 */
    struct tune_point *points;
    struct tune_story *stories; /* of the points */
    struct tune_survey *survey; /* of the point under way */
    struct tune_fitting fitting; /* on rank 0 */
    struct json_object *judgement; /* judge: on rank 0 */
    struct report report;          /* on rank 0 */
    int npoints;
    double begin_ns, told_ns;
    char begun[BENCH_TEXT_BYTES];
};

/* The greatest time of any rank since begin_ns; *stop: the signal that one of them got, or 0. */
double tune_elapsed_s(const struct tune_run *run, int *stop);

/* tune_points.c. Make: 0, or -1 after printing why; those of confirm are the table's. */
int tune_points_make(struct tune_run *run);
size_t tune_points_most(const struct tune_run *run); /* that there may ever be */
int tune_points_left(const struct tune_run *run, int from); /* neither known nor measured, or to be measured again */
/* What seemed to be faster and had too little time to show it has another go, if the time left gives it much more. Returns how many. */
int tune_points_again(struct tune_run *run);
/* Where the choices at two sizes differ, which are more than twice apart, a point between them tells where the one ends and the other
 * begins. Not where a table that is resumed has something between, and no more than there is time for. Returns how many were added. */
int tune_points_refine(struct tune_run *run);

/* tune_ranges.c, on rank 0: what is known already where a table is resumed, and for which sizes each point's entry will hold: sizes that the
 * table has and this run does not measure keep their entries. */
void tune_ranges_settle(struct tune_run *run);
const struct hx_table_entry *tune_entry_of(const struct tune_run *run, const struct tune_point *point); /* the table's; NULL: none */

/* tune_report.c, on rank 0 only */
void tune_progress(const struct tune_point *points, int n, int at, double elapsed_s, double budget_s);
void tune_told(const struct tune_point *points, int n, int at);
void tune_summary(const struct tune_options *o, const struct tune_point *points, int n);
/* confirm: a choice that took so many times as long as the default; and what came of all. */
void tune_taken_back(const struct tune_point *point, const char *chosen, double ratio);
void tune_confirm_summary(const char *output, const struct tune_point *points, int n, int stopped);
/* "flat(nary) slice 131072" */
const char *tune_choice_text(const struct hx_table_entry *entry, char text[HX_CANDIDATE_NAME_BYTES + 32]);
int tune_is_default(const struct hx_table_entry *entry);

/* tune_table.c: NULL, or not 0, after printing why */
struct hx_table *tune_table_read(const char *path);
int tune_table_write(const struct hx_table *table, const char *path); /* as a whole: see whole_file.h */

/* tune_json.c, on rank 0 only: the report, for coll_report. complete: the run is over, and no point is missing. */
struct json_object *tune_json(const struct tune_run *run, int complete);
