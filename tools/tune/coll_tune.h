/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_tune: what its parts share. Measuring needs a job, and internals of the library; the files are handled offline. */
#pragma once

#include "tools/common/bench_loop.h"
#include "tools/common/json.h"
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
#define TUNE_OUTPUT "hierax_table.json" /* if no other is named */

enum tune_command { TUNE_RUN, TUNE_CHECK, TUNE_MERGE, TUNE_DIFF, TUNE_JUDGE, TUNE_MODEL, TUNE_CONFIRM };

struct tune_options {
    enum tune_command command;
    struct bench_options bench; /* sizes, dtype, op, collectives */
    const char *output;         /* as given, or TUNE_OUTPUT; NULL for judge and merge */
    int resume, schema, force;
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

/* The bytes that the planner plans a call for: a barrier has a token. */
static inline double tune_vector_bytes(enum hx_coll coll, double bytes)
{
    return coll == HX_COLL_BARRIER ? 1 : bytes;
}

/* Does the command measure? */
static inline int tune_is_job(const struct tune_options *o)
{
    return o->bench.end == OPTION_GO_ON && !o->schema &&
           (o->command == TUNE_RUN || o->command == TUNE_CONFIRM || ((o->command == TUNE_JUDGE || o->command == TUNE_MODEL) && o->nfiles == 0));
}

/* A collective and size: what to measure, and the result. */
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
    struct json_object *report; /* on rank 0, of one that was measured */
};

/* A candidate, and what is known of its time. */
struct tune_plan {
    char name[HX_CANDIDATE_NAME_BYTES];
    uint64_t slice_bytes;    /* 0: as the planner cuts */
    double predicted_us, us; /* us 0: not measured */
    struct tune_lap lap;     /* of its last race; without rounds: of none */
};

/* The candidates of the point under way: first the planner's choice, the default; last those that are predicted to be too costly. */
struct tune_survey {
    int n, costly; /* without the costly ones; these */
    struct tune_plan plans[HX_MAX_CANDIDATES];
    int qualified; /* there were more than can race */
    int raced;     /* the first so many */
    int winner;
    struct tune_interval gain; /* of the winner's ratio to the default */
    int nslices;               /* then the winner raced in other slices than the planner's, which are the first */
    struct tune_plan slices[3];
    int rounds, spoiled; /* all measured, all dropped */
    double seconds;
};

struct tune_fitting {
    struct tune_observed *plans;
    int n, points;
};

/* A run of the job. */
struct tune_run {
    const struct tune_options *o;
    struct bench_job job;
    struct tuner *tuner;
    struct hx_table *table; /* on rank 0 */
    struct tune_point *points;
    int npoints;
    struct tune_survey survey;   /* of the point under way */
    struct tune_fitting fitting; /* on rank 0 */
    struct report report;        /* on rank 0 */
    double begin_s, told_s;
    char begun[BENCH_TEXT_BYTES];
};

/* tune_options.c: silent; a fault goes to o->error */
void tune_options_parse(struct tune_options *o, int argc, char **argv);
int tune_options_answer(const struct tune_options *o); /* --help, --version; the exit status */

/* tune_files.c: the commands that need no job. The exit status. */
int tune_files(const struct tune_options *o);
struct hx_table *tune_table_read(const char *path); /* NULL after printing why */
/* As a whole: see whole_file.h. 0, or -1 after printing why. */
int tune_table_write(const struct hx_table *table, const char *path);
int tune_machines_differ(const struct hx_table_machine *a, const struct hx_table_machine *b);

/* tune_measure.c: all ranks call these */
struct tuner {
    const struct tune_options *o;
    const struct bench_job *job;
    hx_comm_t *comms[TUNE_WAYS];
    struct hx_table_entry entries[TUNE_WAYS]; /* the entry that each of them runs */
    /* the race under way */
    struct bench_loop loop;
    double begin_s, seconds;
    int repetitions, measured, spoiled;
};

struct tuner *tuner_open(const struct tune_options *o, const struct bench_job *job); /* ends the job after printing why not */
void tuner_close(struct tuner *tuner);
struct hx_traits tuner_traits(const struct tuner *tuner);                /* of the calls that are measured */
void tuner_key(const struct tuner *tuner, struct tune_point *point);     /* its entry's key */
void tuner_watch_signals(void);
/* The greatest time of any rank since begin_s; *stop: the signal that one of them got, or 0. Ends the job if the library fails. */
double tuner_elapsed_s(double begin_s, int *stop);
/* Race plans at a point for so many seconds, 0: for what the race before has left; the first is the default. before, least_rounds,
 * until and end of the race are set; each plan gets its lap. */
enum tune_outcome tuner_race(struct tuner *tuner, const struct tune_point *point, struct tune_plan *plans, int n, double seconds,
                             struct tune_race *race);
/* In how many slices a plan cuts the point's vector; 0 after an error. */
uint64_t tuner_slices(struct tuner *tuner, const struct tune_point *point, const struct tune_plan *plan);

/* tune_survey.c: the choice and all other candidates, in the order of predictions. by_table: the choice is the table's, where it
 * has one, not the model's. costly: times the best prediction. */
void tune_survey_find(const struct tuner *tuner, const struct tune_point *point, int by_table, double costly, struct tune_survey *survey);
/* Which of the first n has this name, or -1. */
int tune_plan_find(const struct tune_survey *survey, int n, const char *name);
/* In about so many seconds find the point's fastest plan and slices; before: the plan of the size before, or "". For judge and
 * model: the times of the table's choice and all other candidates, however long they take. */
enum tune_outcome tuner_point(struct tuner *tuner, struct tune_point *point, const char *before, double seconds, struct tune_survey *survey);

/* tune_confirm.c: the choices of the table for this job that are not the default's become the points, on rank 0. It prints the
 * choices that cannot be raced. */
void tune_confirm_points(struct tune_run *run);
/* Race one against the default. If it is not faster by the least gain here too, the entry becomes the default's. SPOILED: time
 * was too short to tell. */
enum tune_outcome tune_confirm_point(struct tune_run *run, struct tune_point *point, double seconds);
void tune_confirm_summary(const struct tune_run *run, int stopped);

/* tune_judge.c, on rank 0 of a job. check: 0, or -1 after printing why the file at path (or NULL) cannot be written or the job
 * cannot be judged. point: the measurements at a point. end: the figure and the file; 0, or -1 after printing why. */
int tune_judge_check(const char *path);
struct json_object *tune_judge_point(const struct tune_point *point, const struct tune_survey *survey);
int tune_judge_end(const struct tune_run *run);
/* The figure of such files, by the planner as it is. The exit status. */
int tune_judge(const struct tune_options *o);
/* A job as such a file tells it: its shape, and a planner without settings. */
struct tune_judged {
    struct hx_shape *shape;
    struct hx_planner planner;
    struct hx_env env;
    struct hx_table_machine machine; /* that was measured */
    struct hx_traits traits;         /* with which calls */
    void *tuning;
};
/* The plans that were measured at a point. 0, or -1: the point is not valid. */
typedef int tune_visit_fn(void *ctx, struct tune_judged *j, enum hx_coll coll, double bytes, const struct tune_plan *plans, int n);
/* Open a job from a file, and show every point to visit. NULL after printing why. */
struct tune_judged *tune_judgement_read(const char *path, tune_visit_fn *visit, void *ctx);
void tune_judged_free(struct tune_judged *j);

/* tune_model.c: the cost model's parameters, from measured plans. On rank 0, or without a job. */
/* The plans of a point, unless the model has no parameters for such calls, by a planner of its shape, which stays until the fit. 0,
 * or -1 after printing why. */
int tune_fitting_add(struct tune_fitting *f, const struct hx_planner *planner, enum hx_coll coll, struct hx_traits traits, double bytes,
                     const struct tune_plan *plans, int n);
/* Fit, beginning with the planner's parameters, or with the table's if it has a model. Put the result into the table and print
 * it. Without points, do nothing. A model that was fitted to more points than these stays, unless always. Returns 0. Returns 1
 * after a warning that there are too few points, or that they are too noisy: only with force the table then gets the model. Returns -1 after
 * printing an error. */
int tune_fitting_end(struct tune_fitting *f, const struct hx_planner *planner, int always, int force, struct hx_table *table,
                     FILE *out);
/* The command, of files. The exit status. */
int tune_model(const struct tune_options *o);

/* tune_points.c. Of: with nothing found, and for all sizes. Make: those of confirm are the table's: they are made later. */
struct tune_point tune_point_of(const struct tune_run *run, int collective, uint64_t want);
void tune_points_make(struct tune_run *run);
int tune_points_most(const struct tune_run *run); /* that there may ever be */
int tune_points_left(const struct tune_run *run, int from); /* neither known nor measured, or to be measured again */
/* Points whose plan seemed faster, but had too little time to show it, race again if the time left gives them much more. Returns
 * how many. */
int tune_points_again(struct tune_run *run);
/* If the choices differ at two sizes more than twice apart, a point between shows where one ends and the other begins. Not if a
 * table that is resumed has something between, and no more than there is time for. Returns how many were added. */
int tune_points_refine(struct tune_run *run);
/* On rank 0: what is known already where a table is resumed, and for which sizes each point's entry will hold: sizes that the table
 * has and this run does not measure keep their entries. */
void tune_ranges_settle(struct tune_run *run);
const struct hx_table_entry *tune_entry_of(const struct tune_run *run, const struct tune_point *point); /* the table's; NULL: none */

/* tune_report.c, on rank 0 only */
FILE *tune_out(const struct tune_options *o); /* standard output, unless that is the page's */
void tune_progress(const struct tune_run *run, int at, double elapsed_s);
void tune_told(const struct tune_run *run, const struct tune_point *point);
void tune_rows_print(FILE *out, const struct tune_run *run); /* of each point that is known */
void tune_summary(const struct tune_run *run);
/* "flat(nary) slice 131072" */
const char *tune_clear(void); /* in front of a line that replaces the line of progress; "": no terminal */
const char *tune_choice_text(const struct hx_table_entry *entry, char text[HX_CANDIDATE_NAME_BYTES + 32]);
int tune_is_default(const struct hx_table_entry *entry);
/* For coll_report: a point that was measured, by its survey, or known; and all. complete: the run is over, and no point is missing. */
struct json_object *tune_point_json(const struct tune_run *run, const struct tune_point *point);
struct json_object *tune_json(const struct tune_run *run, int complete);
