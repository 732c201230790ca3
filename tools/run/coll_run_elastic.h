/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_run --elastic: see coll_run_elastic.c. */
#pragma once

#include "runtime/bootstrap/lobby.h"
#include <signal.h>

struct options;

struct elastic {
    struct hx_lobby *lobby;
    double *start_at; /* by place: when to start a process that joins; 0: not planned */
    char *joins;      /* by place: its process joins; else it is a rank of the start */
    int first_ranks;  /* ranks of the start that run */
    int restarts;     /* how many more may be started in place of others */
    int well;         /* processes that have ended with status 0 */
    int status;       /* of the last one that has failed */
    int late;         /* the same, if it has failed after another one had ended well */
};

/* Serve the store, and set HX_STORE for the ranks. 0, or -1 and errno. */
int elastic_open(struct elastic *elastic, const struct options *options, const char *secret);
void elastic_close(struct elastic *elastic);
/* The process of a place has ended. */
void elastic_ended(struct elastic *elastic, int place, const siginfo_t *info);
/* When the next process is due; NEVER. */
double elastic_until(const struct elastic *elastic, int places);
/* The place of a process to start now; -1: none. */
int elastic_due(struct elastic *elastic, int places);
/* Processes that run and are ranks, as far as the store knows: a process that has not come to hx_join yet counts, unless no rank is left that
 * could admit it. */
int elastic_members(const struct elastic *elastic, int running);
