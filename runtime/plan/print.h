/* SPDX-License-Identifier: BSD-3-Clause */
/* A plan, for people: the text of its steps, and its rounds, messages and bytes. */
#pragma once

#include "runtime/plan/layout.h"
#include <stdio.h>

/* "in", "slot"; "reduce", "send"; "?": there is none. */
const char *hx_space_name(unsigned space);
const char *hx_opcode_name(unsigned op);

/* "reduce out[2] <- slots of 0..3, own in as 1": one step of a stage. Returns as snprintf. */
int hx_explain_step(const struct hx_stage *stage, const struct hx_step *step, char *text, size_t capacity_bytes);

/* The whole plan of one rank: stages, members, blocks, steps. */
void hx_explain_plan(const struct hx_plan *plan, FILE *file);

/* The work of one rank in one stage, or in all. */
struct hx_plan_stats {
    uint32_t rounds; /* of transfers: one after the other (stages of one level count once, as the longest) */
    uint32_t awaits; /* of flags, likewise; but those that only keep slots from being written too early */
    uint32_t last_round; /* one more than the last that this rank takes part in; of all ranks: how many there are */
    uint32_t steps;
    uint64_t messages, bytes_sent;             /* all slices; empty ones are not sent */
    uint64_t receives, bytes_received;
    uint64_t inter_messages, inter_bytes_sent; /* of these, to other nodes */
    uint64_t slot_bytes_written, slot_bytes_read, bytes_fetched;
    size_t plan_bytes; /* of the plan, 0 for a stage */
};

void hx_stage_count(const struct hx_plan *plan, int stage, const struct hx_shape *shape, const struct hx_sizes *sizes,
                    struct hx_plan_stats *stats);
void hx_plan_count(const struct hx_plan *plan, const struct hx_shape *shape, const struct hx_sizes *sizes,
                   struct hx_plan_stats *stats);
