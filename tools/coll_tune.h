/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_tune: what its parts share. Measuring needs a job, and internals of the library; the files are handled offline. */
#ifndef HX_COLL_TUNE_H
#define HX_COLL_TUNE_H
#include "bench_loop.h"
#include "hier/table.h"
#include "tune_race.h"

#define TUNE_COSTLY 4.0               /* times the best prediction: not tried */
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
    struct tune_way *pruned;   /* by the order of the planner; freed with the story */
    int npruned;
    int rounds, spoiled; /* all measured, all dropped */
    double seconds, bound_us;
};

enum tune_command { TUNE_RUN, TUNE_CHECK, TUNE_MERGE, TUNE_DIFF, TUNE_SCHEMA, TUNE_HELP, TUNE_VERSION };

#define TUNE_OUTPUT "hierax_table.json" /* where no other is named */

struct tune_options {
    enum tune_command command;
    struct bench_options bench; /* sizes, dtype, op, collectives */
    const char *output;         /* as given, or NULL */
    int resume;
    double budget_s;
    const char **files; /* of a command */
    int nfiles;
    char error[OPTION_TEXT_BYTES];
};

/* A collective and size: what is to be measured, and what was found. */
struct tune_point {
    enum bench_collective collective;
    enum hx_coll coll;
    uint64_t bytes;
    size_t count;
    int known, measured; /* from the file; in this run */
    int tried, costly, beyond; /* candidates: measured; left out by prediction; left out by number */
    struct hx_table_entry entry;
};

/* tune_options.c: silent; a fault goes to o->error */
void tune_options_parse(struct tune_options *o, int argc, char **argv);
void tune_options_help(void);

/* tune_files.c: the commands that need no job. The exit status. */
int tune_files(const struct tune_options *o);

/* tune_check.c: can the planner choose what an entry says, in a job of its shape? 0, or -1 and why not. */
int tune_entry_check(const struct hx_table_entry *entry, char text[OPTION_TEXT_BYTES]);

/* tune_measure.c */
struct tuner;
struct tuner *tuner_open(const struct tune_options *o, const struct bench_job *job); /* NULL after printing why */
void tuner_close(struct tuner *tuner); /* all ranks */
/* The point's entry but for what is to be found. */
void tuner_key(const struct tuner *tuner, struct tune_point *point);
/* Measure for about so many seconds; before: the plan of the size before, or "". */
enum tune_outcome tuner_point(struct tuner *tuner, struct tune_point *point, const char *before, double seconds, struct tune_story *story);
/* Has anybody been told to stop? Sets *elapsed to the greatest of all ranks. 0, or -1 when the library failed. */
int tuner_agree(double *elapsed, int *stop);
void tuner_watch_signals(void);

/* tune_report.c, on rank 0 only */
void tune_progress(const struct tune_point *points, int n, int at, double elapsed_s, double budget_s);
void tune_told(const struct tune_point *points, int n, int at);
void tune_summary(const struct tune_options *o, const struct tune_point *points, int n);
/* "flat(nary) slice 131072" */
const char *tune_choice_text(const struct hx_table_entry *entry, char text[HX_CANDIDATE_NAME_BYTES + 32]);
int tune_is_default(const struct hx_table_entry *entry);

/* tune_html.c, on rank 0 only */
struct tune_book {
    const struct tune_options *o;
    const struct bench_job *job;
    const char *output, *begun; /* the table; when the run began */
    const struct tune_point *points;
    const struct tune_story *stories;
    int n;
    double elapsed_s;
    int complete; /* the run is over, and no point is missing */
};
int tune_html_write(const struct tune_book *book); /* 0, or -1: not written in full */

#endif
