/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_bench measures collectives, and with --check verifies them. Two programs from one source: coll_bench over Hierax
 * and coll_bench_mpi over MPI. */
#include "tools/common/bench_backend.h"
#include "tools/common/bench_loop.h"
#include "tools/common/screen.h"
#include "tools/common/whole_file.h"
#include "runtime/base/streams.h"

static int finish(int status)
{
    char error[OPTION_TEXT_BYTES];

    bench_job_close();
    if (bench_backend_finalize() && status == 0)
        status = 1;
    if (bench_report_end(error) == 0)
        return status;
    fprintf(stderr, "%s: %s\n", bench_backend_tool, error);
    return status ? status : 1;
}

/* Faults that only this run can show. */
static void check_run(struct bench_options *o, int rank, int size)
{
    if (!o->error[0] && !bench_backend_supports(o->dtype, o->op))
        snprintf(o->error, sizeof(o->error), "%s does not define --op=%s for --dtype=%s", bench_backend_name(),
                 bench_op_names[o->op], bench_dtype_names[o->dtype]);
    if (!o->error[0] && o->root >= (uint64_t)size)
        snprintf(o->error, sizeof(o->error), "--root=%llu is out of range: the last rank of this job is %d",
                 (unsigned long long)o->root, size - 1);
    if (!o->error[0] && rank == 0)
        bench_report_open(o, o->error);
}

static uint64_t size_after(const struct bench_options *o, uint64_t want)
{
    uint64_t next = UINT64_MAX;

    if (o->nsizes == 0)
        return want ? want * o->factor : 1;
    for (int i = 0; i < o->nsizes; i++)
        next = o->sizes[i] > want && o->sizes[i] < next ? o->sizes[i] : next;
    return next;
}

/* As bench_memory_check, of the largest size of each collective. */
static int check_memory(const struct bench_options *o, const struct bench_job *job)
{
    struct bench_row rows[HX_FUNCTION_COUNT];
    uint64_t most = o->min_bytes;

    while (size_after(o, most) <= o->max_bytes)
        most = size_after(o, most);
    for (int i = 0; i < o->ncollectives; i++) {
        rows[i] = (struct bench_row){.collective = (enum hx_function)o->collectives[i]};
        bench_row_size(o, job, most, &rows[i]);
    }
    return bench_memory_check(o, job, rows, o->ncollectives, 1);
}

/* All sizes of one collective: 0, or the exit status. */
static int run_collective(const struct bench_options *o, const struct bench_job *job, int collective, struct bench_checked *checked, int *rows)
{
    uint64_t last = UINT64_MAX;

    for (uint64_t want = o->min_bytes; want <= o->max_bytes; want = size_after(o, want)) {
        struct bench_row row = {.collective = (enum hx_function)collective};
        bench_row_size(o, job, want, &row);
        if (row.bytes == last)
            continue; /* two small sizes were raised to the same one */
        last = row.bytes;
        if (job->rank == 0)
            bench_report_before(o, &row);
        if (bench_row_run(o, job, &row, checked))
            bench_backend_abort(1);
        if (job->rank == 0)
            bench_report_row(o, &row);
        if (o->check && bench_worst(checked->wrong != 0))
            return 1;
        ++*rows;
    }
    return 0;
}

static int run(const struct bench_options *o, struct bench_job *job)
{
    char error[OPTION_TEXT_BYTES];
    struct bench_checked checked = {0}, all;
    int lacking = -1, status = 0, rows = 0;

    if (bench_job_open(job) || (lacking = check_memory(o, job)) < 0)
        bench_backend_abort(1);
    if (lacking)
        return lacking;
    if (o->alpha_us <= 0 && o->node_gbps <= 0)
        bench_wire_measure(job);
    if (job->rank == 0)
        bench_report_begin(o, job);
    bench_data_open(o->dtype, o->op, job->size);
    for (int i = 0; i < o->ncollectives && status == 0; i++)
        status = run_collective(o, job, o->collectives[i], &checked, &rows);
    if (o->check && !status && bench_allreduce(&checked, &all, 2, HX_UINT64, HX_SUM))
        bench_backend_abort(1);
    if (job->rank != 0)
        return status;
    if (o->check && !status)
        bench_report_checked(&all, rows, job->size);
    if (!status)
        bench_report_predicted();
    if (bench_report_close(o, status == 0, error) == 0)
        return standard_output_check(bench_backend_tool) ? 1 : status;
    fprintf(stderr, "%s: %s\n", bench_backend_tool, error);
    return 1;
}

int main(int argc, char **argv)
{
    struct bench_options o;
    struct bench_job job = {0};

    hx_streams_hold(O_CLOEXEC);
    screen_open();
    bench_options_parse(&o, argc, argv);
    int status = bench_backend_init(&argc, &argv, &job.rank, &job.size);
    /* a job prints it once; if no job can start, it is printed all the same */
    if (status)
        return o.end >= OPTION_HELP && !o.error[0] ? bench_options_answer(&o) : status;
    if (o.end < OPTION_HELP)
        check_run(&o, job.rank, job.size);
    if (bench_worst(o.error[0] != 0)) {
        if (job.rank == 0)
            fprintf(stderr, "%s: %s\n", bench_backend_tool, o.error[0] ? o.error : "another rank's arguments are bad");
        return finish(2);
    }
    if (o.end >= OPTION_HELP)
        return finish(job.rank == 0 ? bench_options_answer(&o) : 0);
    return finish(run(&o, &job));
}
