/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_tune finds the fastest plans for the shape of a job, and writes a table of them. Rank 0 has the table; all ranks measure. */
#include "tools/tune/coll_tune.h"
#include "tools/common/bench_backend.h"
#include "tools/common/screen.h"
#include "tools/common/whole_file.h"
#include "runtime/base/streams.h"
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* ---- the table, on rank 0 -------------------------------------------------------------------------------------------- */

/* Between reading the file and writing it no other run does either: of its folder, since the file becomes another one. A file system that
 * has no such locks goes without. Closing the lock gives it back. */
static int table_lock(const struct tune_run *run)
{
    char folder[PATH_MAX];
    int lock;

    snprintf(folder, sizeof(folder), "%s", run->o->output);
    lock = open(dirname(folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock >= 0)
        flock(lock, LOCK_EX);
    return lock;
}

/* Read the file and write it back, so that a file that cannot be written is found now. Entries that this run measures again stay
 * until then: hx_table_add cuts them out. 0, or the exit status after printing why. */
static int table_open(struct tune_run *run)
{
    const char *output = run->o->output;
    const int confirms = run->o->command == TUNE_CONFIRM, there = access(output, F_OK) == 0;
    char text[256];

    if (!there && confirms) {
        fprintf(stderr, "coll_tune: --output=%s: there is no table to confirm\n", output);
        return 2;
    }
    if (!(run->table = there ? tune_table_read(output) : hx_table_new())) {
        fprintf(stderr, there ? "coll_tune: --output=%s: the file exists and is not a table\n" : "coll_tune: no memory for %s\n", output);
        return there ? 2 : 1;
    }
    if (there && hx_table_foreign(run->table, text)) {
        fprintf(stderr, "coll_tune: %s: %s%s\n", output, text, confirms ? "" : "; choose another --output");
        return 2;
    }
    if (run->o->command == TUNE_RUN)
        tune_ranges_settle(run);
    if (confirms)
        tune_confirm_points(run);
    return tune_table_write(run->table, output) ? 2 : 0;
}

/* Write the file with the entries that it has now, since another run may have added some, and with the point's. Without a point:
 * with the parameters that fit the measurements. 0, or -1 after printing why. */
static int table_update(struct tune_run *run, const struct tune_point *point, int always)
{
    const int lock = table_lock(run);
    struct hx_table *now = NULL;
    char text[256];
    int failed, poor = 0;

    if (whole_file_is_regular(run->o->output) && hx_table_read(run->o->output, &now) == HX_SUCCESS && !hx_table_foreign(now, text)) {
        hx_table_free(run->table);
        run->table = now;
    } else {
        hx_table_free(now);
    }
    if (point)
        failed = hx_table_add(run->table, &point->entry) != HX_SUCCESS;
    else
        failed = (poor = tune_fitting_end(&run->fitting, hx_world->comms->members.planner, always, run->o->force, run->table, tune_out(run->o))) < 0;
    failed = failed || tune_table_write(run->table, run->o->output);
    close(lock);
    return failed || (poor && run->o->command == TUNE_MODEL) ? -1 : 0;
}

/* Send the results so far, or all, to the report. */
static void report_tell(struct tune_run *run, int at_end)
{
    struct json_object *document;

    if (!report_wanted(&run->o->bench.report) || (!at_end && hx_now_s() - run->told_s < 1))
        return;
    run->told_s = hx_now_s();
    document = tune_json(run, at_end && tune_points_left(run, 0) == 0);
    report_update(&run->report, document);
    json_object_put(document);
}

/* ---- the run --------------------------------------------------------------------------------------------------------- */

/* The plan chosen at the size before, if it was not the default there. */
static const char *chosen_before(const struct tune_run *run, int at)
{
    const struct tune_point *before = at > 0 ? &run->points[at - 1] : NULL;

    if (!before || before->collective != run->points[at].collective || !(before->known || before->measured) ||
        !strcmp(before->entry.plan, before->entry.default_plan))
        return "";
    return before->entry.plan;
}

/* On rank 0: print and keep what was found. again: it was measured before. */
static void point_take(struct tune_run *run, struct tune_point *point, int again)
{
    const enum tune_command command = run->o->command;

    if (command == TUNE_RUN || command == TUNE_JUDGE) {
        json_object_put(point->report);
        point->report = command == TUNE_RUN ? tune_point_json(run, point) : tune_judge_point(point, &run->survey);
    }
    if (command == TUNE_RUN || command == TUNE_CONFIRM) {
        if (table_update(run, point, 0))
            bench_backend_abort(1);
        tune_told(run, point);
        report_tell(run, 0);
    }
    if ((command == TUNE_RUN || command == TUNE_MODEL) && !again &&
        tune_fitting_add(&run->fitting, hx_world->comms->members.planner, point->coll, tuner_traits(run->tuner), (double)point->bytes,
                         run->survey.plans, run->survey.n))
        bench_backend_abort(1);
}

/* All points that are not known yet, while time is left. Returns 0, or the signal that stopped it. */
static int points_run(struct tune_run *run)
{
    int stop = 0;

    for (int i = 0; i < run->npoints && !stop; i++) {
        struct tune_point *point = &run->points[i];
        const int again = point->again;
        if (!again && (point->known || point->measured))
            continue;
        const double elapsed = tuner_elapsed_s(run->begin_s, &stop);
        if (elapsed >= run->o->budget_s || stop)
            break;
        if (run->job.rank == 0)
            tune_progress(run, i, elapsed);
        point->seconds = (run->o->budget_s - elapsed) / tune_points_left(run, i);
        enum tune_outcome outcome = run->o->command == TUNE_CONFIRM
                                        ? tune_confirm_point(run, point, point->seconds)
                                        : tuner_point(run->tuner, point, chosen_before(run, i), point->seconds, &run->survey);
        point->measured = outcome == TUNE_MEASURED;
        point->again = 0;
        if (point->measured && run->job.rank == 0)
            point_take(run, point, again);
        if (outcome == TUNE_FAILED)
            bench_backend_abort(1);
        if (outcome == TUNE_STOPPED)
            tuner_elapsed_s(run->begin_s, &stop);
    }
    return stop;
}

/* run, judge and model, on rank 0: report that there is less than was asked for. */
static void missing_tell(const struct tune_run *run, int stopped)
{
    const int left = tune_points_left(run, 0), there = run->npoints - left;
    const char *why = stopped ? "stopped" : "the budget is used up";
    int kept = 0;

    for (const struct tune_point *p = run->points; p < run->points + run->npoints && run->o->command == TUNE_RUN; p++)
        kept += !p->known && !p->measured && !p->between && tune_entry_of(run, p);
    if (left && run->o->command != TUNE_RUN)
        fprintf(stderr, "coll_tune: %s: the result has %d of %d points\n", why, there, run->npoints);
    else if (kept)
        fprintf(stderr, "coll_tune: %s: %s has %d of %d points from this run, and %d entries from before. To keep these and measure "
                        "the other points, start again with --resume\n", why, run->o->output, there, run->npoints, kept);
    else if (left)
        fprintf(stderr, "coll_tune: %s: %s has %d of %d points; to continue, start the same command with --resume\n", why, run->o->output, there,
                run->npoints);
}

/* On rank 0. 0, or -1: a file is not as it should be. */
static int end_tell(struct tune_run *run, int stopped)
{
    const enum tune_command command = run->o->command;

    if (command == TUNE_CONFIRM) {
        tune_confirm_summary(run, stopped);
        return 0;
    }
    if (command == TUNE_RUN)
        tune_summary(run);
    missing_tell(run, stopped);
    if (command == TUNE_RUN)
        report_tell(run, 1);
    return command == TUNE_JUDGE ? tune_judge_end(run)
                                 : table_update(run, NULL, command == TUNE_MODEL && tune_points_left(run, 0) == 0);
}

/* Is there nothing to choose and measure? A plan that a setting forces would enter the table as the cost model's choice, and jobs
 * without the setting would use it. Rank 0 prints the reason. */
static int is_pointless(const struct tune_run *run)
{
    const struct bench_options *b = &run->o->bench;
    char setting[64], text[256] = "";

    if (hx_forced_setting(hx_world->comms->members.planner, setting))
        snprintf(text, sizeof(text), "unset %s: it forces the choice that coll_tune measures", setting);
    else if (run->job.size == 1)
        snprintf(text, sizeof(text), "this job has one rank, so there is nothing to tune. Start coll_tune with the launcher and the ranks "
                 "of your jobs (coll_run, srun, mpirun)");
    else if (b->alloc && !tuner_traits(run->tuner).shared_alloc)
        snprintf(text, sizeof(text), "no rank can read another rank's memory here, so --alloc gives the same plans: run without --alloc");
    else if (run->npoints == 0 && run->o->command != TUNE_CONFIRM)
        snprintf(text, sizeof(text), "none of the sizes 8, 1K, 64K, 1M and 16M is within --min=%llu and --max=%llu",
                 (unsigned long long)b->min_bytes, (unsigned long long)b->max_bytes);
    if (text[0] && run->job.rank == 0)
        fprintf(stderr, "coll_tune: %s\n", text);
    return text[0] != 0;
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

/* The file to write, and by it the points. 0, or the exit status on all ranks. */
static int output_open(struct tune_run *run)
{
    int bad = 0;

    if (run->job.rank == 0 && run->o->command == TUNE_JUDGE) {
        bad = tune_judge_check(run->o->output) || !(run->table = hx_table_new()) ? 2 : 0;
    } else if (run->job.rank == 0) {
        const int lock = table_lock(run);
        bad = table_open(run);
        close(lock);
    }
    bad = bench_worst(bad);
    if (!bad && (bench_bcast(&run->npoints, sizeof(run->npoints), HX_BYTE, 0) ||
                 bench_bcast(run->points, (size_t)run->npoints * sizeof(*run->points), HX_BYTE, 0)))
        bench_backend_abort(1);
    return bad;
}

/* 0, or the exit status. */
static int run_all(struct tune_run *run)
{
    const int by_table = run->o->command == TUNE_CONFIRM || run->o->resume; /* the table decides what to measure */
    int signal_number, bad;

    bench_date(run->begun);
    if (bench_job_open(&run->job))
        bench_backend_abort(1);
    run->tuner = tuner_open(run->o, &run->job);
    tune_points_make(run);
    bench_data_open(run->o->bench.dtype, run->o->bench.op, run->job.size);
    if (is_pointless(run))
        return 2;
    if ((!by_table && (bad = check_memory(run))) || (bad = output_open(run)) || (by_table && (bad = check_memory(run))))
        return bad;
    tuner_watch_signals();
    run->begin_s = hx_now_s();
    do
        signal_number = points_run(run);
    while (!signal_number && run->o->command == TUNE_RUN && tune_points_left(run, 0) == 0 &&
           (tune_points_refine(run) || tune_points_again(run)));
    const int failed = run->job.rank == 0 && end_tell(run, signal_number);
    return signal_number ? 128 + signal_number : failed;
}

static int finish(struct tune_run *run, int status)
{
    char error[OPTION_TEXT_BYTES];

    if (run->tuner)
        tuner_close(run->tuner);
    hx_table_free(run->table);
    for (int i = 0; i < run->npoints; i++)
        json_object_put(run->points[i].report);
    free(run->fitting.plans);
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
    static struct tune_run run;
    const char *html = o->bench.report.html;
    int status = bench_backend_init(NULL, NULL, &run.job.rank, &run.job.size);

    if (status)
        return status;
    run.o = o;
    run.report.to = -1;
    if (!o->error[0] && !bench_backend_supports(o->bench.dtype, o->bench.op))
        snprintf(o->error, sizeof(o->error), "%s does not define --op=%s for --dtype=%s", bench_backend_name(),
                 bench_op_names[o->bench.op], bench_dtype_names[o->bench.dtype]);
    if (!o->error[0] && run.job.rank == 0 && html && whole_file_is_same(html, o->output))
        snprintf(o->error, sizeof(o->error), "--output and --html both write to \"%.1000s\"", html);
    if (!o->error[0] && run.job.rank == 0)
        report_open(&run.report, &o->bench.report, "coll_tune", o->error);
    const int any = bench_worst(o->error[0] != 0);
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
    screen_open();
    bench_backend_tool = "coll_tune";
    tune_options_parse(&o, argc, argv);
    status = o.error[0] || tune_is_job(&o) ? run_job(&o) : tune_files(&o);
    free(o.files);
    return status;
}
