/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans as text and as numbers. */
#include "runtime/plan/print.h"
#include <string.h>

#define OPERAND_BYTES 96

static const char *const space_names[HX_SPACE_COUNT] = {"nowhere", "in", "out", "work", "scratch", "slot", "counts", "heard", "codes"};

static const char *const op_names[HX_OPCODE_COUNT] = {
#define HX_OPCODE(name, text, writes, async, synopsis) text,
#include "runtime/plan/op.def"
#undef HX_OPCODE
};

static const char *name_of(const char *const *names, unsigned i, unsigned n)
{
    return i < n ? names[i] : "?";
}

const char *hx_space_name(unsigned space)
{
    return name_of(space_names, space, HX_SPACE_COUNT);
}

const char *hx_opcode_name(unsigned op)
{
    return name_of(op_names, op, HX_OPCODE_COUNT);
}

/* "2", of a matrix "0>2". */
static int block_name(const struct hx_stage *stage, uint32_t block, char *text, size_t capacity)
{
    uint32_t columns = hx_stage_columns(stage);

    if (!stage->nrows || !columns)
        return snprintf(text, capacity, "%u", block);
    return snprintf(text, capacity, "%u>%u", block / columns, block % columns);
}

/* "scratch 3[0>2] 5[1>3] ...": picks, each after its row. */
static const char *picks_name(const struct hx_stage *stage, const struct hx_step *step, unsigned space, char text[OPERAND_BYTES])
{
    int n = snprintf(text, OPERAND_BYTES, "%s", hx_space_name(space));

    for (uint32_t i = 0; i < step->nblocks; i++) {
        uint32_t pick = step->block - stage->nblocks + i;
        char block[32];
        if (pick >= stage->npicks)
            break;
        if (n > OPERAND_BYTES - 36) {
            snprintf(text + n, OPERAND_BYTES - (size_t)n, " ...");
            break;
        }
        block_name(stage, stage->picks[pick].block, block, sizeof block);
        n += space == HX_SCRATCH ? snprintf(text + n, OPERAND_BYTES - (size_t)n, " %u[%s]", stage->picks[pick].row, block)
                                 : snprintf(text + n, OPERAND_BYTES - (size_t)n, " [%s]", block);
    }
    return text;
}

/* "out[2]", "out[6..1]" (wrapping), "in[1>0..2]" (of a matrix), "scratch 3[2]" (row 3). */
static const char *operand(const struct hx_stage *stage, const struct hx_step *step, unsigned space, uint32_t row,
                           char text[OPERAND_BYTES])
{
    const char *name = hx_space_name(space);
    uint32_t columns = hx_stage_columns(stage);
    char first[32];
    int n;

    if (step->block >= stage->nblocks)
        return picks_name(stage, step, space, text);
    n = space == HX_SCRATCH || space == HX_CODES ? snprintf(text, OPERAND_BYTES, "%s %u", name, row) : snprintf(text, OPERAND_BYTES, "%s", name);
    block_name(stage, step->block, first, sizeof first);
    if (step->nblocks == 1)
        snprintf(text + n, OPERAND_BYTES - (size_t)n, "[%s]", first);
    else
        snprintf(text + n, OPERAND_BYTES - (size_t)n, "[%s..%u]", first,
                 columns ? hx_layout_block(stage, step->block, step->nblocks - 1) % columns : 0);
    return text;
}

static const char *run_of(uint32_t first, uint32_t n, char text[OPERAND_BYTES])
{
    if (n == 1)
        snprintf(text, OPERAND_BYTES, "%u", first);
    else
        snprintf(text, OPERAND_BYTES, "%u..%u", first, first + n - 1);
    return text;
}

int hx_explain_step(const struct hx_stage *stage, const struct hx_step *step, char *text, size_t capacity)
{
    const char *op = hx_opcode_name(step->op);
    char dst[OPERAND_BYTES], src[OPERAND_BYTES], members[OPERAND_BYTES], own[64] = "";

    switch ((enum hx_opcode)step->op) {
    case HX_OP_COPY:
        operand(stage, step, step->dst, step->row, dst);
        if (step->src == HX_SLOT)
            return snprintf(text, capacity, "%s %s <- slot of %u", op, dst, step->peer);
        return snprintf(text, capacity, "%s %s <- %s", op, dst, operand(stage, step, step->src, step->row, src));
    case HX_OP_ENCODE:
    case HX_OP_DECODE:
        return snprintf(text, capacity, "%s %s <- %s", op, operand(stage, step, step->dst, step->dst_row, dst),
                        operand(stage, step, step->src, step->row, src));
    case HX_OP_FETCH:
        return snprintf(text, capacity, "%s %s <- %s of %u", op, operand(stage, step, step->dst, step->row, dst),
                        hx_space_name(step->src), step->peer);
    case HX_OP_REDUCE:
        operand(stage, step, step->dst, step->dst_row, dst);
        if (step->own == HX_SCRATCH)
            snprintf(own, sizeof own, ", own scratch %u as %u", step->dst_row, step->tag);
        else if (step->own != HX_NOWHERE)
            snprintf(own, sizeof own, ", own %s as %u", hx_space_name(step->own), step->tag);
        if (step->dst == HX_SLOT && step->peer != (uint32_t)stage->me)
            snprintf(own, sizeof own, ", into that of %u", step->peer);
        if (step->src == HX_SLOT)
            return snprintf(text, capacity, "%s %s <- slots of %s%s", op, dst, run_of(0, step->n, members), own);
        return snprintf(text, capacity, "%s %s <- %u from scratch %u%s", op, dst, step->n - (step->own != HX_NOWHERE),
                        step->row, own);
    case HX_OP_SEND:
        return snprintf(text, capacity, "%s %s to %u, round %u", op, operand(stage, step, step->src, step->row, src),
                        step->peer, step->tag);
    case HX_OP_RECV:
        return snprintf(text, capacity, "%s %s from %u, round %u", op, operand(stage, step, step->dst, step->row, dst),
                        step->peer, step->tag);
    case HX_OP_JOIN:
        return snprintf(text, capacity, "%s transfer %s", op, run_of(step->handle, step->n, members));
    case HX_OP_PUBLISH:
        if (step->handle != (uint32_t)stage->me)
            return snprintf(text, capacity, "%s flag %u of %u", op, step->tag, step->handle);
        return snprintf(text, capacity, "%s flag %u%s", op, step->tag, step->own ? ", for one window later" : "");
    case HX_OP_ELECT:
        return snprintf(text, capacity, "%s by flag %u; the others skip %u steps", op, step->tag, step->handle);
    case HX_OP_AWAIT:
        return snprintf(text, capacity, "%s flag %u of %s%s", op, step->tag, run_of(step->peer, step->n, members),
                        step->own ? ", one window before" : "");
    case HX_OP_LEARN:
        return snprintf(text, capacity, "%s the lengths of blocks", op);
    case HX_OPCODE_COUNT:
        break;
    }
    return snprintf(text, capacity, "opcode %u", step->op);
}

/* " 0{4 5} 1{6}": lists; without start each of one number, its own. */
static void lists_explain(const uint32_t *start, const uint32_t *items, uint32_t n, FILE *file)
{
    for (uint32_t b = 0; b < n; b++) {
        uint32_t first = start ? start[b] : b, end = start ? start[b + 1] : b + 1;
        fprintf(file, " %u{", b);
        for (uint32_t i = first; i < end; i++)
            fprintf(file, "%s%u", i > first ? " " : "", items ? items[i] : i);
        fprintf(file, "}");
    }
    fprintf(file, "\n");
}

static void blocks_explain(const struct hx_stage *stage, FILE *file)
{
    if (stage->split) {
        fprintf(file, "    blocks: %u part%s of plan block %u\n", stage->nblocks, stage->nblocks == 1 ? "" : "s",
                stage->list ? stage->list[0] : 0);
    } else if (stage->listed) {
        fprintf(file, "    blocks, row by row:");
        lists_explain(stage->list_start, stage->list, stage->nblocks, file);
    } else if (stage->nrows && !stage->list_start && !stage->row_start) {
        fprintf(file, "    blocks: from each of the %u ranks to each\n", stage->nrows);
    } else if (stage->nrows) {
        fprintf(file, "    blocks from ranks:");
        lists_explain(stage->row_start, stage->rows, stage->nrows, file);
        fprintf(file, "    blocks to ranks:");
        lists_explain(stage->list_start, stage->list, hx_stage_columns(stage), file);
    } else if (!stage->list_start) {
        fprintf(file, "    blocks: the %u plan blocks\n", stage->nblocks);
    } else {
        fprintf(file, "    blocks:");
        lists_explain(stage->list_start, stage->list, stage->nblocks, file);
    }
}

/* Which blocks each member has charge of, the domains apart. */
static void charges_explain(const struct hx_stage *stage, FILE *file)
{
    if (!stage->charge_start)
        return;
    fprintf(file, "    in charge:");
    for (int i = 0, domain = 0; i < stage->n; i++) {
        int starts = i > 0 && (!stage->domain_start || i == stage->domain_start[domain + 1]);
        domain += starts;
        fprintf(file, "%s %d of %d..%d", starts ? " |" : "", i, stage->charge_start[i], stage->charge_start[i + 1] - 1);
    }
    fprintf(file, "\n");
}

void hx_explain_plan(const struct hx_plan *plan, FILE *file)
{
    static const char *const scopes[] = {"?", "intra", "inter", "?", "flat"};
    char text[256];

    fprintf(file, "%s %s, rank %d of %d", hx_coll_name(plan->coll), plan->name, plan->rank, plan->p);
    if (hx_coll_is_rooted(plan->coll))
        fprintf(file, ", root %d", plan->root);
    fprintf(file, ": %llu block%s, %d lane%s, %d stage%s\n", (unsigned long long)plan->nblocks, plan->nblocks == 1 ? "" : "s",
            plan->nlanes, plan->nlanes == 1 ? "" : "s", plan->nstages, plan->nstages == 1 ? "" : "s");
    for (int s = 0; s < plan->nstages; s++) {
        const struct hx_stage *stage = &plan->stages[s];
        fprintf(file, "  stage %d: level %d, %s %s, member %d of %d (ranks", s, stage->level,
                (unsigned)stage->scope < 5 ? scopes[stage->scope] : "?", stage->algorithm, stage->me, stage->n);
        for (int i = 0; i < stage->n; i++)
            fprintf(file, " %d", stage->members[i]);
        fprintf(file, "), %s -> %s%s%s%s%s\n", hx_space_name(stage->in),
                hx_space_name(stage->out), stage->coarse ? ", coarse slices" : "", stage->wire ? ", messages in " : "",
                stage->wire ? stage->wire->name : "",
                stage->share == HX_SHARE_SHORT ? ", short blocks" : stage->share == HX_SHARE_LONG ? ", long blocks" : "");
        blocks_explain(stage, file);
        charges_explain(stage, file);
        for (uint32_t i = 0; i < stage->nsteps; i++) {
            hx_explain_step(stage, &stage->steps[i], text, sizeof text);
            fprintf(file, "    %3u  %s\n", i, text);
        }
    }
}

/* ---- numbers */

static int is_transfer(const struct hx_step *step)
{
    return step->op == HX_OP_SEND || step->op == HX_OP_RECV;
}

/* Rounds are match ids: how many different ones this member's transfers have. They mostly ascend, so looking back is
 * short. */
static uint32_t rounds_count(const struct hx_stage *stage, uint32_t *last_round)
{
    uint32_t rounds = 0, beyond = 0;

    for (uint32_t i = 0; i < stage->nsteps; i++) {
        uint32_t tag = stage->steps[i].tag;
        int seen = 0;
        if (!is_transfer(&stage->steps[i]))
            continue;
        for (uint32_t j = i; tag < beyond && !seen && j-- > 0;)
            seen = is_transfer(&stage->steps[j]) && stage->steps[j].tag == tag;
        rounds += !seen;
        beyond = tag >= beyond ? tag + 1 : beyond;
    }
    *last_round = beyond;
    return rounds;
}

static void step_count(const struct hx_layout *layout, const struct hx_step *step, uint64_t slice, int crosses,
                       struct hx_plan_stats *stats)
{
    uint64_t bytes = hx_layout_moved(layout, step, slice);

    if (step->op == HX_OP_SEND && bytes) {
        stats->messages++;
        stats->bytes_sent += bytes;
        stats->inter_messages += (uint64_t)crosses;
        stats->inter_bytes_sent += crosses ? bytes : 0;
    }
    if (step->op == HX_OP_RECV && bytes) {
        stats->receives++;
        stats->bytes_received += bytes;
    }
    if (step->op == HX_OP_FETCH)
        stats->bytes_fetched += bytes;
    if (step->dst == HX_SLOT)
        stats->slot_bytes_written += bytes;
    if (step->src == HX_SLOT)
        stats->slot_bytes_read += bytes * (step->op == HX_OP_REDUCE ? step->n - (step->own != HX_NOWHERE) : 1);
}

/* Add what the rank does in one stage. */
static void stage_add(const struct hx_plan *plan, const struct hx_stage *stage, const struct hx_shape *shape, const struct hx_sizes *sizes,
                      struct hx_plan_stats *stats)
{
    uint32_t last_round;
    struct hx_layout layout;

    stats->steps += stage->nsteps;
    stats->rounds += rounds_count(stage, &last_round);
    stats->last_round += last_round;
    hx_layout_init(&layout, plan, stage, sizes);
    for (uint32_t i = 0; i < stage->nsteps; i++) {
        const struct hx_step *step = &stage->steps[i];
        stats->awaits += step->op == HX_OP_AWAIT && !step->own;
        int crosses =
            step->op == HX_OP_SEND && shape->node_of[stage->members[step->peer]] != shape->node_of[plan->rank];
        for (uint64_t slice = 0; step->nblocks && slice < layout.nslices; slice++)
            step_count(&layout, step, slice, crosses, stats);
    }
}

void hx_stage_count(const struct hx_plan *plan, int idx, const struct hx_shape *shape, const struct hx_sizes *sizes,
                    struct hx_plan_stats *stats)
{
    *stats = (struct hx_plan_stats){0};
    stage_add(plan, &plan->stages[idx], shape, sizes, stats);
}

/* Keep the most that a stage has added to a sum; *sum is as it was before. */
static void longest_keep(uint32_t *longest, uint32_t *sum, uint32_t before)
{
    *longest = *sum > *longest ? *sum : *longest;
    *sum = before;
}

void hx_plan_count(const struct hx_plan *plan, const struct hx_shape *shape, const struct hx_sizes *sizes,
                   struct hx_plan_stats *stats)
{
    *stats = (struct hx_plan_stats){.plan_bytes = hx_plan_bytes(plan)};
    for (int level = 0; level < plan->nlevels; level++) {
        const struct hx_plan_stats before = *stats;
        struct hx_plan_stats longest = before;
        for (int s = 0; s < plan->nstages; s++) {
            if (plan->stages[s].level != level)
                continue;
            stage_add(plan, &plan->stages[s], shape, sizes, stats);
            longest_keep(&longest.rounds, &stats->rounds, before.rounds);
            longest_keep(&longest.awaits, &stats->awaits, before.awaits);
            longest_keep(&longest.last_round, &stats->last_round, before.last_round);
        }
        stats->rounds = longest.rounds;
        stats->awaits = longest.awaits;
        stats->last_round = longest.last_round;
    }
}
