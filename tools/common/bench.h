/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_bench: what its parts share. The parts know no library; bench_backend.h is the only way to one. */
#pragma once

#include "tools/common/options.h"
#include "tools/common/report.h"
#include "runtime/base/coll.h"
#include "runtime/hierax.h"
#include "runtime/base/clock.h"
#include "runtime/base/dtype.h"
#include <stdint.h>
#include <stdio.h>

#define BENCH_TEXT_BYTES 512
#define BENCH_SIZES_MOST 64
#define BENCH_BATCH_BYTES 1024 /* vectors up to this size are timed in batches */

/* One rank gives or gets all. */
static inline int bench_is_rooted(enum hx_function collective)
{
    return hx_coll_is_rooted(hx_function_coll(collective));
}

/* The whole vector goes from one node to another. */
static inline int bench_is_whole(enum hx_function collective)
{
    const enum hx_coll coll = hx_function_coll(collective);

    return (hx_coll_is_rooted(coll) || hx_coll_is_scan(coll)) && !hx_coll_has_blocks(coll);
}

/* Elements of the ranks are combined. */
static inline int bench_reduces(enum hx_function collective)
{
    return hx_coll_reduces(hx_function_coll(collective));
}

/* The vector has a block for each rank, as even as can be: the call's count is that of all. */
static inline int bench_has_counts(enum hx_function collective)
{
    return (int)collective >= (int)HX_COLL_COUNT;
}

/* The vector has a block for each rank, of the call's count elements. */
static inline int bench_has_blocks(enum hx_function collective)
{
    return !bench_has_counts(collective) && hx_coll_has_blocks(hx_function_coll(collective));
}

/* Is a rank's input, or output, its block of the vector? */
static inline int bench_gathers(enum hx_function collective)
{
    return hx_coll_gives(hx_function_coll(collective)) == HX_HOLDS_OWN;
}

static inline int bench_scatters(enum hx_function collective)
{
    return hx_coll_gets(hx_function_coll(collective)) == HX_HOLDS_OWN;
}

/* It gathers blocks of such counts. */
static inline int bench_joins_counts(enum hx_function collective)
{
    return bench_has_counts(collective) && bench_gathers(collective);
}

/* Does a call in place overwrite its input with other values? */
static inline int bench_replaces_input(enum hx_function collective)
{
    return bench_reduces(collective) || hx_coll_has_pairs(hx_function_coll(collective));
}

/* The start of rank's block then; rank may be the number of ranks. */
static inline size_t bench_block_start(size_t count, int rank, int nranks)
{
    return (size_t)((unsigned __int128)count * (unsigned)rank / (unsigned)nranks);
}

/* How calls follow each other. COLD: buffers in turn, and new input before each call. WARM: the same buffers and the same input. AHEAD:
 * as WARM, but ranks start together only before the first call of a row. */
enum bench_loop_kind { BENCH_COLD, BENCH_WARM, BENCH_AHEAD, BENCH_LOOP_KINDS };

struct bench_options {
    int collectives[HX_FUNCTION_COUNT]; /* in the order given */
    int ncollectives;
    uint64_t min_bytes, max_bytes, factor;
    uint64_t sizes[BENCH_SIZES_MOST]; /* if nsizes > 0, only these sizes; in any order */
    int nsizes;
    uint64_t iterations, repetitions; /* 0: chosen by size */
    uint64_t warmup, root;
    hx_dtype_t dtype;
    hx_op_t op;
    int in_place, alloc, check;
    enum bench_loop_kind loop;
    enum option_end end;
    const char *json, *csv;                /* "-": standard output, without the table; NULL: not wanted */
    struct report_files report;            /* html likewise */
    char command[OPTION_TEXT_BYTES];       /* as a shell would take it */
    size_t name_bytes;                     /* of its first word, which may be a path */
    double alpha_us, node_gbps;            /* of the network, as the user knows them; 0: unknown */
    char error[OPTION_TEXT_BYTES];         /* not empty: the command line is wrong */
};

/* Read-only facts of this run. */
struct bench_job {
    int rank, size;
    int machines, local_rank, local_size; /* by host name; ranks on mine */
    int nodes, max_local;                 /* nodes as the library sees them; ranks on the fullest */
    int machine, node;                    /* mine: the lowest rank there; of emulated nodes which */
    uint64_t kernel;                      /* which machines in name only have in common */
    int cpus, sharing;                    /* CPUs that the ranks under my kernel may use together; these ranks */
    int oversubscribed;                   /* on any machine */
    double clock_ns;                      /* one reading of the clock, subtracted from each sample */
    double hop_ns, dirty_gbps;            /* between two ranks of a machine; 0: not measured */
    char network[96];                     /* between nodes; "": none, or not known */
    hx_prediction_t constants;            /* only the sources of the cost model's constants */
    /* between nodes, by bench_wire.c: a message; GB/s that a node sends while it receives as many; and that one sends to one. 0: not measured */
    double wire_us, wire_gbps, wire_one_way_gbps;
};

/* One line of the result. */
struct bench_row {
    enum hx_function collective;
    uint64_t bytes; /* of the whole vector (all-gather: of the whole output) */
    size_t count;   /* the call's count argument */
    uint64_t pairs, iterations, repetitions;
    double min_us, median_us, p99_us, bus_gbps;
    double bound_us; /* 0: no term is known */
    const char *bound_term;
    /* if the library reports plans: rank 0's, and the most rounds and the most bytes that any rank gives to others */
    char plan[96];
    uint64_t rounds, sent_bytes;
    double predicted_us; /* by the cost model, for that plan; 0: unknown */
};

/* names.c */
extern const char *const bench_collective_names[HX_FUNCTION_COUNT + 1];
extern const char *const bench_dtype_names[HX_DTYPE_COUNT + 1]; /* end with NULL */
extern const char *const bench_op_names[HX_OP_COUNT + 1];
extern const char *const bench_loop_names[BENCH_LOOP_KINDS + 1];

/* bench_options.c */
void bench_options_parse(struct bench_options *o, int argc, char **argv); /* a fault goes to o->error */
int bench_sizes_check(const struct bench_options *o, char error[OPTION_TEXT_BYTES]); /* 0, or -1 */
int bench_op_check(const struct bench_options *o, char error[OPTION_TEXT_BYTES]); /* is the operation defined for the type? 0, or -1 */
int bench_options_answer(const struct bench_options *o); /* --help, --version; the exit status */

/* bench_data.c: inputs are a pure function of (rank, index, call), so every rank knows everybody's. */
static inline int bench_op_defined(hx_dtype_t dtype, hx_op_t op)
{
    return (hx_dtype_rows[dtype].class & hx_op_rows[op].classes) != 0;
}

void bench_data_open(hx_dtype_t dtype, hx_op_t op, int nranks);
void bench_data_fill(void *buf, size_t count, int rank, uint32_t call);
/* Compare the result of a call on this rank with the reference; the number of wrong elements, the first one in text. */
uint64_t bench_data_check(enum hx_function collective, const void *out, size_t count, int rank, int root,
                          uint32_t call, char text[BENCH_TEXT_BYTES]);
/* The same for an input, which no call may change. */
uint64_t bench_data_check_input(const void *in, size_t count, int rank, uint32_t call, char text[BENCH_TEXT_BYTES]);

/* bench_sync.c: who is where, a start at the same moment, and the hand-off between two ranks. */
int bench_job_open(struct bench_job *job); /* 0, or -1 when the backend failed */
/* Returns the moment, in ns: the same for all ranks, read off this one's clock. */
double bench_start_together(const struct bench_job *job);
/* For several machines, or without a shared page: compare clocks (all ranks; 0 or -1), and agree on a moment. */
int bench_clock_open(const struct bench_job *job);
double bench_clock_start(const struct bench_job *job);
void bench_job_close(void);

/* bench_wire.c: sets wire_us and the others where the network is TCP. Ends the job where the backend fails. */
void bench_wire_measure(struct bench_job *job);

/* bench_memory.c: whether every kernel has the memory for its ranks' buffers, so many times, in each of these rows; all ranks take part, with
 * the same rows. 0; -1 when the backend failed; else the exit status, after telling which row has not enough where. */
int bench_memory_check(const struct bench_options *o, const struct bench_job *job, const struct bench_row *rows, int n, int times);

struct bench_checked { /* elements of results, with --check */
    uint64_t elements, wrong;
};

/* bench_run.c: 0, or -1 when the backend failed; *wrong counts what --check found on this rank. */
int bench_row_run(const struct bench_options *o, const struct bench_job *job, struct bench_row *row,
                  struct bench_checked *checked);

/* bench_bound.c: floor_us is the measured memory floor. */
void bench_bound_set(const struct bench_options *o, const struct bench_job *job, double floor_us,
                     struct bench_row *row);
/* GB/s of a node in the network's term; 0: not known. */
double bench_bound_gbps(const struct bench_options *o, const struct bench_job *job, enum hx_function collective);

/* bench_report.c, on rank 0 only: what the run is, as JSON. */
struct json_object *bench_facts_json(const struct bench_options *o, const struct bench_job *job);
/* 0, or -1 with the reason in text. */
int bench_report_open(const struct bench_options *o, char text[OPTION_TEXT_BYTES]);
void bench_report_begin(const struct bench_options *o, const struct bench_job *job);
void bench_report_before(const struct bench_options *o, const struct bench_row *row); /* is measured: what is known by then is written */
void bench_report_row(const struct bench_options *o, const struct bench_row *row);
void bench_report_predicted(void); /* how far the predictions are off */
/* 0, or -1 with "--option=path: reason" in error: a file could not be written in full. */
void bench_report_checked(const struct bench_checked *checked, int sizes, int ranks); /* of all ranks; none is wrong */
int bench_report_close(const struct bench_options *o, int complete, char error[OPTION_TEXT_BYTES]);
/* The same for the output of coll_report. This waits for coll_report: call it when no rank waits for this one. */
int bench_report_end(char error[OPTION_TEXT_BYTES]);

/* bench_here.c */
/* The machine's kind: processor, processing units, kernel. */
const char *bench_machine(char text[BENCH_TEXT_BYTES]);
const char *bench_date(char text[BENCH_TEXT_BYTES]); /* now, in UTC */
/* The next setting of Hierax in the environment, without those by which ranks find each other; NULL: no more. *at is 0
 * at first. */
const char *bench_setting(int *at);
