/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages, reads and flags between the ranks of a plan, in the order of rounds: for drawing. */
#pragma once

#include "tools/plan/coll_plan.h"

enum plan_arrow_kind { PLAN_BETWEEN, PLAN_INSIDE, PLAN_READ, PLAN_FLAG, PLAN_ARROW_KINDS };

struct plan_arrow {
    int from, to; /* ranks */
    int column, level;
    /* within its level: the round of a message; how many flags one after the other a read has waited for */
    uint32_t order;
    enum plan_arrow_kind kind;
    uint64_t bytes, messages; /* of all slices; as many messages as slices that are not empty */
};

struct plan_rounds {
    struct plan_arrow *arrows; /* by column */
    size_t narrows, capacity;
    int ncolumns, nlevels;
    int *column_level; /* [ncolumns] */
    struct {
        const char *where; /* "inside nodes" */
        char name[64];     /* its algorithms */
    } *levels; /* [nlevels] */
};

/* Messages, reads of other ranks' slots, and flags that no read follows, of all ranks. */
void plan_rounds_open(struct plan_rounds *rounds, const struct plan_job *job);
