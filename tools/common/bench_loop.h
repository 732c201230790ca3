/* SPDX-License-Identifier: BSD-3-Clause */
/* The timed loop, which coll_bench and coll_tune share so that both measure alike: the buffers of a row, a call, and
 * one repetition. The method is described in coll_bench --help. All ranks take part in each function that does not say
 * otherwise. */
#pragma once

#include "tools/common/bench.h"

struct bench_loop {
    const struct bench_options *o;
    const struct bench_job *job;
    struct bench_row *row;
    enum bench_loop_kind kind; /* at first that of the options */
    size_t in_count, out_count; /* elements */
    int in_place;               /* as asked for, or the collective has one buffer only */
    int apart;                  /* each call is timed by itself */
    size_t in_bytes, out_bytes, pair_bytes;
    /* counts: of all ranks' blocks, then where the blocks stand (all-to-all). first: where this rank's block starts. NULL: the
     * collective has none */
    size_t *counts, first;
    char *arena;
    uint32_t call; /* number of the next call in this row. It selects the pair and the input, so all warm calls have the same number */
    double rewriting_ns; /* inside a batch, per call */
};

enum bench_action { CALL_LIBRARY, CALL_FLOOR, CALL_NOTHING };

/* Buffers for a row, whose collective, bytes and count are set; sets its pairs and, unless the options do, its
 * iterations. 0, or -1 after printing why. To be closed either way. */
int bench_loop_open(struct bench_loop *l, const struct bench_options *o, const struct bench_job *job,
                    struct bench_row *row);
void bench_loop_close(struct bench_loop *l); /* on this rank alone */
/* The bytes of a row's buffers on job->rank; on this rank alone. */
uint64_t bench_loop_bytes(const struct bench_options *o, const struct bench_job *job, const struct bench_row *row);

/* From now on calls are of this kind, cold or warm. A row that was opened for cold calls has buffers for both kinds; on this rank alone. */
void bench_loop_use(struct bench_loop *l, enum bench_loop_kind kind);
/* Write the input, and make the warm-up calls. 0, or -1 when the backend failed. */
int bench_loop_warm_up(struct bench_loop *l);
/* One repetition: *ns per call on this rank, without the rewriting. -1 when the backend failed. */
int bench_loop_time(struct bench_loop *l, enum bench_action action, double *ns);
/* Clear the output, write the input again, and make one call. 0, or -1 when the backend failed. */
int bench_loop_repeat(struct bench_loop *l);
/* The input and the result of a call; they remain until its pair of buffers is used again; on this rank alone. */
char *bench_loop_in(const struct bench_loop *l, uint32_t call);
char *bench_loop_out(const struct bench_loop *l, uint32_t call);
int bench_loop_has_input(const struct bench_loop *l);
int bench_loop_has_result(const struct bench_loop *l);

/* The row's count and its exact bytes from a wanted size: whole elements, the same number for each rank; on this rank
 * alone. */
void bench_row_size(const struct bench_options *o, const struct bench_job *job, uint64_t want, struct bench_row *row);
