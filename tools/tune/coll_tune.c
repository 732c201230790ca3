/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_tune finds the fastest plans for the shape of a job, and writes a table of them. Rank 0 has the table; all ranks measure. */
#include "tools/tune/coll_tune.h"
#include "tools/common/bench_backend.h"
#include "tools/common/whole_file.h"
#include "runtime/base/streams.h"
#include <fcntl.h>
#include <json.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* ---- the table, on rank 0 -------------------------------------------------------------------------------------------- */

/* Between reading the file and writing it no other run does either: of its folder, since the file becomes another one. A file system that
 * has no such locks goes without. */
static int table_lock(const struct tune_run *run)
{
    char folder[PATH_MAX];
    int lock;

    snprintf(folder, sizeof(folder), "%s", run->output);
    lock = open(dirname(folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock >= 0)
        flock(lock, LOCK_EX);
    return lock;
}

static void table_unlock(int lock)
{
    if (lock >= 0)
        close(lock);
}

/* Read what is there and write it back, so that a file that cannot be written is found now. What this run finds anew stays until then:
 * hx_table_add cuts it out. 0, or the exit status after printing why. */
static int table_open_locked(struct tune_run *run)
{
    char text[256];
    int there = access(run->output, F_OK) == 0;

    if (there && !(run->table = tune_table_read(run->output))) {
        fprintf(stderr, "coll_tune: --output=%s: the file exists and is not a table\n", run->output);
        return 2;
    }
    if (there && hx_table_foreign(run->table, text)) {
        fprintf(stderr, "coll_tune: %s: %s%s\n", run->output, text, run->o->command == TUNE_CONFIRM ? "" : "; choose another --output");
        return 2;
    }
    if (!there && run->o->command == TUNE_CONFIRM) {
        fprintf(stderr, "coll_tune: --output=%s: there is no table to confirm\n", run->output);
        return 2;
    }
    if (!there && !(run->table = hx_table_new())) {
        fprintf(stderr, "coll_tune: no memory\n");
        return 1;
    }
    if (run->o->command == TUNE_RUN)
        tune_ranges_settle(run);
    if (run->o->command == TUNE_CONFIRM)
        run->npoints = tune_confirm_points(run->tuner, run->o, &run->job, run->table, run->survey, run->points, (int)tune_points_most(run));
    if (run->npoints < 0)
        return 1;
    return tune_table_write(run->table, run->output) ? 2 : 0;
}

static int table_open(struct tune_run *run)
{
    int lock = table_lock(run), status = table_open_locked(run);

    table_unlock(lock);
    return status;
}

/* What there is so far, or all, for the report. */
static void report_tell(struct tune_run *run, int at_end)
{
    struct json_object *document;

    if (!report_wanted(&run->o->bench.report) || (!at_end && 1e9 * hx_now_s() - run->told_ns < 1e9))
        return;
    run->told_ns = 1e9 * hx_now_s();
    document = tune_json(run, at_end && tune_points_left(run, 0) == 0);
    report_update(&run->report, document);
    json_object_put(document);
}

/* What the file has now: another run may have added entries. On rank 0. */
static void table_reread(struct tune_run *run)
{
    struct hx_table *now = NULL;
    char text[256];

    if (!whole_file_is_regular(run->output) || hx_table_read(run->output, &now) != HX_SUCCESS)
        return;
    if (hx_table_foreign(now, text)) {
        hx_table_free(now);
        return;
    }
    hx_table_free(run->table);
    run->table = now;
}

static void point_tell(struct tune_run *run, int at)
{
    int lock = table_lock(run);

    table_reread(run);
    if (hx_table_add(run->table, &run->points[at].entry) != HX_SUCCESS || tune_table_write(run->table, run->output))
        bench_backend_abort(1); /* they have told why */
    table_unlock(lock);
    tune_told(run->points, run->npoints, at);
    report_tell(run, 0);
}

/* ---- the run --------------------------------------------------------------------------------------------------------- */

/* What was chosen at the size before, if it was not the default there. */
static const char *chosen_before(const struct tune_run *run, int at)
{
    const struct tune_point *before = at > 0 ? &run->points[at - 1] : NULL;

    if (!before || before->collective != run->points[at].collective || !(before->known || before->measured) ||
        !strcmp(before->entry.plan, before->entry.default_plan))
        return "";
    return before->entry.plan;
}

double tune_elapsed_s(const struct tune_run *run, int *stop)
{
    double elapsed = (1e9 * hx_now_s() - run->begin_ns) / 1e9;

    if (tuner_agree(&elapsed, stop))
        bench_backend_abort(1);
    return elapsed;
}

/* What is known of the survey's plans when the race is over, which is better than what the survey had; those of which nothing is, are gone. */
static void survey_take(struct tune_survey *survey, const struct tune_story *story, double default_us)
{
    int n = 0;

    for (int i = 0; i < survey->n; i++) {
        struct tune_plan plan = survey->plans[i];
        for (int w = 0; w < story->nways; w++)
            if (!strcmp(story->ways[w].name, plan.name) && story->ways[w].lap.rounds >= 2)
                plan.us = story->ways[w].lap.ratio.median * default_us;
        if (plan.us > 0)
            survey->plans[n++] = plan;
    }
    survey->n = n;
}

/* Of 16-bit floats and of memory of hx_alloc the model has no parameters. */
static int fitting_take(struct tune_run *run, int at, const struct tune_plan *plans, int n)
{
    const struct tune_point *point = &run->points[at];
    const struct hx_traits traits = tuner_traits(run->tuner);

    if (traits.shared_alloc || traits.numbers == HX_NUMBERS_HALF)
        return 0;
    return tune_fitting_add(&run->fitting, hx_world->comms->members.planner, point->coll, traits,
                            point->coll == HX_COLL_BARRIER ? 1 : (double)point->bytes, plans, n);
}

/* Measure one. On rank 0 what was found is told, and kept. */
static enum tune_outcome point_run(struct tune_run *run, int at, double seconds)
{
    struct tune_point *point = &run->points[at];
    enum tune_outcome outcome;
    int failed = 0, again = point->again;

    point->seconds = seconds;
    free(run->stories[at].pruned);
    run->stories[at] = (struct tune_story){0};
    if (run->o->command == TUNE_RUN)
        outcome = tuner_point(run->tuner, point, chosen_before(run, at), seconds, run->survey, &run->stories[at]);
    else if (tune_survey_find(run->tuner, point, 1, TUNE_JUDGED, run->survey))
        outcome = TUNE_FAILED;
    else
        outcome = tuner_survey(run->tuner, point, seconds, 1, run->o->command == TUNE_JUDGE, run->survey);
    point->measured = outcome == TUNE_MEASURED;
    point->again = 0;
    if (!point->measured || run->job.rank != 0)
        return outcome;
    if (run->o->command == TUNE_RUN) {
        point_tell(run, at);
        survey_take(run->survey, &run->stories[at], point->entry.default_us);
    }
    if (run->o->command == TUNE_JUDGE)
        tune_judge_point(run->judgement, point, run->survey);
    else if (!again)
        failed = fitting_take(run, at, run->survey->plans, run->survey->n);
    if (failed)
        bench_backend_abort(1);
    return outcome;
}

/* The same of a choice that the table has. */
static enum tune_outcome point_confirm(struct tune_run *run, int at, double seconds)
{
    struct tune_point *point = &run->points[at];
    char chosen[HX_CANDIDATE_NAME_BYTES + 32];
    double ratio = 1;

    tune_choice_text(&point->entry, chosen);
    enum tune_outcome outcome = tune_confirm_point(run->tuner, point, seconds, &ratio);
    point->measured = outcome == TUNE_MEASURED;
    if (!point->measured || run->job.rank != 0)
        return outcome;
    if (tune_is_default(&point->entry))
        tune_taken_back(point, chosen, ratio);
    point_tell(run, at);
    return outcome;
}

/* All points that are not known yet, while time is left. Returns 0, or the signal that stopped it. */
static int points_run(struct tune_run *run)
{
    double elapsed;
    int stop = 0;

    for (int i = 0; i < run->npoints && !stop; i++) {
        if (!run->points[i].again && (run->points[i].known || run->points[i].measured))
            continue;
        if ((elapsed = tune_elapsed_s(run, &stop)) >= run->o->budget_s || stop)
            break;
        if (run->job.rank == 0)
            tune_progress(run->points, run->npoints, i, elapsed, run->o->budget_s);
        double seconds = (run->o->budget_s - elapsed) / tune_points_left(run, i);
        enum tune_outcome outcome = run->o->command == TUNE_CONFIRM ? point_confirm(run, i, seconds) : point_run(run, i, seconds);
        if (outcome == TUNE_FAILED)
            bench_backend_abort(1);
        if (outcome == TUNE_STOPPED)
            tune_elapsed_s(run, &stop);
    }
    return stop;
}

/* On rank 0: the parameters that fit what was measured go into the table. 0, or -1 after printing why. */
static int model_end(struct tune_run *run)
{
    const char *page = run->o->bench.report.html;
    int lock = table_lock(run), failed, always = run->o->command == TUNE_MODEL && tune_points_left(run, 0) == 0;

    table_reread(run);
    failed = tune_fitting_end(&run->fitting, hx_world->comms->members.planner, always, run->table,
                              page && !strcmp(page, "-") ? stderr : stdout) ||
             tune_table_write(run->table, run->output);
    table_unlock(lock);
    return failed ? -1 : 0;
}

static const char *end_reason(int stopped)
{
    return stopped ? "stopped" : "the budget is used up";
}

/* judge, model */
static void part_tell(const struct tune_run *run, int stopped)
{
    int left = tune_points_left(run, 0);

    if (left)
        fprintf(stderr, "coll_tune: %s: this holds %d of %d points\n", end_reason(stopped), run->npoints - left, run->npoints);
}

/* On rank 0. 0, or -1: the table is not as it should be. */
static int end_tell(struct tune_run *run, int stopped)
{
    int left = tune_points_left(run, 0), kept = 0;
    const char *why = end_reason(stopped);

    tune_summary(run->o, run->points, run->npoints);
    for (int i = 0; i < run->npoints; i++)
        kept += !run->points[i].known && !run->points[i].measured && !run->points[i].between && tune_entry_of(run, &run->points[i]);
    if (kept)
        fprintf(stderr, "coll_tune: %s: %s has %d of %d points, and for %d more what it had before, which --resume would keep\n", why,
                run->output, run->npoints - left, run->npoints, kept);
    else if (left)
        fprintf(stderr, "coll_tune: %s: %s has %d of %d points; to go on, start the same command with --resume\n", why, run->output,
                run->npoints - left, run->npoints);
    report_tell(run, 1);
    return model_end(run);
}

/* Plans that a setting forces would be told as what the cost model chooses, and jobs without it would go by them. */
static int is_forced(const struct tune_run *run)
{
    char text[64];
    const char *setting = hx_forced_setting(hx_world->comms->members.planner, text);

    if (setting && run->job.rank == 0)
        fprintf(stderr, "coll_tune: unset %s: it forces the choice that coll_tune measures\n", setting);
    return setting != NULL;
}

static int is_pointless(const struct tune_run *run)
{
    const char *why = NULL;

    if (run->job.size == 1)
        why = "this is a job of one rank, which has nothing to choose: start it as the jobs that are to be fast (coll_run, srun, mpirun)";
    else if (run->o->bench.alloc && !tuner_traits(run->tuner).shared_alloc)
        why = "--alloc: no rank can read another's memory here, so plans are the same as for other memory: tune without";
    if (why && run->job.rank == 0)
        fprintf(stderr, "coll_tune: %s\n", why);
    return why != NULL;
}

/* As bench_memory_check, of the points to measure: a race of a run has buffers twice, to exchange them. */
static int check_memory(const struct tune_run *run)
{
    struct bench_row *rows = calloc((size_t)run->npoints + 1, sizeof(*rows));
    int status, n = 0;

    for (int i = 0; rows && i < run->npoints; i++)
        if (!run->points[i].known)
            rows[n++] = (struct bench_row){.collective = run->points[i].collective, .bytes = run->points[i].bytes, .count = run->points[i].count};
    if (!rows || (status = bench_memory_check(&run->o->bench, &run->job, rows, n, run->o->command == TUNE_RUN ? 2 : 1)) < 0)
        bench_backend_abort(1);
    free(rows);
    return status;
}

/* 0, or the exit status. */
static int run_all(struct tune_run *run)
{
    int32_t bad = 0, any = 0;
    int signal_number, lacking, failed = 0, by_table = run->o->command == TUNE_CONFIRM || run->o->resume; /* what is to be measured */

    bench_date(run->begun);
    run->output = run->o->output ? run->o->output : TUNE_OUTPUT;
    if (bench_job_open(&run->job) || !(run->tuner = tuner_open(run->o, &run->job)) || tune_points_make(run))
        bench_backend_abort(1);
    bench_data_open(run->o->bench.dtype, run->o->bench.op, run->job.size);
    if (is_forced(run) || is_pointless(run))
        return 2;
    if (run->npoints == 0 && run->o->command != TUNE_CONFIRM) {
        if (run->job.rank == 0)
            fprintf(stderr, "coll_tune: none of the sizes 8, 1K, 64K, 1M and 16M is within --min=%llu and --max=%llu\n",
                    (unsigned long long)run->o->bench.min_bytes, (unsigned long long)run->o->bench.max_bytes);
        return 2;
    }
    if (!by_table && (lacking = check_memory(run)))
        return lacking;
    if (run->job.rank == 0 && run->o->command == TUNE_JUDGE)
        bad = (run->judgement = tune_judge_new(run->o->output, tuner_traits(run->tuner))) ? 0 : 2;
    else if (run->job.rank == 0)
        bad = table_open(run);
    if (bench_allreduce(&bad, &any, 1, HX_INT32, HX_MAX))
        bench_backend_abort(1);
    if (any)
        return any;
    if (bench_bcast(&run->npoints, sizeof(run->npoints), HX_BYTE, 0) ||
        bench_bcast(run->points, (size_t)run->npoints * sizeof(*run->points), HX_BYTE, 0))
        bench_backend_abort(1);
    if (by_table && (lacking = check_memory(run)))
        return lacking;
    tuner_watch_signals();
    run->begin_ns = 1e9 * hx_now_s();
    do
        signal_number = points_run(run);
    while (!signal_number && run->o->command == TUNE_RUN && tune_points_left(run, 0) == 0 &&
           (tune_points_refine(run) || tune_points_again(run)));
    if (run->job.rank == 0 && (run->o->command == TUNE_JUDGE || run->o->command == TUNE_MODEL))
        part_tell(run, signal_number);
    if (run->job.rank == 0 && run->o->command == TUNE_CONFIRM)
        tune_confirm_summary(run->output, run->points, run->npoints, signal_number);
    else if (run->job.rank == 0)
        failed = run->judgement                    ? tune_judge_end(run->judgement, run->o->output)
                 : run->o->command == TUNE_MODEL ? model_end(run)
                                                 : end_tell(run, signal_number);
    return signal_number ? 128 + signal_number : failed ? 1 : 0;
}

static int finish(struct tune_run *run, int status)
{
    char error[OPTION_TEXT_BYTES];

    if (run->tuner)
        tuner_close(run->tuner);
    hx_table_free(run->table);
    for (int i = 0; i < run->npoints; i++)
        free(run->stories[i].pruned);
    free(run->stories);
    free(run->survey);
    free(run->fitting.plans);
    json_object_put(run->judgement);
    free(run->points);
    bench_job_close();
    if (fflush(stdout) || ferror(stdout)) {
        perror("coll_tune: standard output");
        status = status ? status : 1;
    }
    if (bench_backend_finalize() && status == 0)
        status = 1;
    if (report_close(&run->report, error) == 0)
        return status;
    fprintf(stderr, "coll_tune: %s\n", error);
    return status ? status : 1;
}

static int run_job(struct tune_options *o)
{
    struct tune_run run = {.o = o, .report = {.to = -1}};
    int32_t bad, any = 0;
    int status = bench_backend_init(NULL, NULL, &run.job.rank, &run.job.size);

    if (status)
        return status;
    if (!o->error[0] && !bench_backend_supports(o->bench.dtype, o->bench.op))
        snprintf(o->error, sizeof(o->error), "%s does not define --op=%s for --dtype=%s", bench_backend_name(),
                 bench_op_names[o->bench.op], bench_dtype_names[o->bench.dtype]);
    if (!o->error[0] && run.job.rank == 0 && o->bench.report.html && whole_file_is_same(o->bench.report.html, o->output ? o->output : TUNE_OUTPUT))
        snprintf(o->error, sizeof(o->error), "--output and --html both write to \"%.1000s\"", o->bench.report.html);
    if (!o->error[0] && run.job.rank == 0)
        report_open(&run.report, &o->bench.report, "coll_tune", o->error);
    bad = o->error[0] != 0;
    if (bench_allreduce(&bad, &any, 1, HX_INT32, HX_MAX))
        bench_backend_abort(1);
    if (any && run.job.rank == 0)
        fprintf(stderr, "coll_tune: %s\n", o->error[0] ? o->error : "another rank's arguments are bad");
    if (o->least_gain < 0) /* judge and model tell times: they choose nothing */
        o->least_gain = (o->command == TUNE_RUN || o->command == TUNE_CONFIRM) && hx_world->comms->members.planner->cost.oversubscription > 1
                            ? TUNE_GAIN_SHARED : TUNE_GAIN;
    return finish(&run, any ? 2 : run_all(&run));
}

int main(int argc, char **argv)
{
    struct tune_options o;
    int status;

    hx_streams_hold(O_CLOEXEC);
    bench_backend_tool = "coll_tune";
    tune_options_parse(&o, argc, argv);
    status = o.error[0] || tune_is_job(&o) ? run_job(&o) : tune_files(&o);
    free(o.files);
    return status;
}
