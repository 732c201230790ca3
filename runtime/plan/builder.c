/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan builder: turns an algorithm's calls into steps. Errors are sticky, so algorithms need no error ladders. */
#include "runtime/base/error.h"
#include "runtime/plan/plan.h"
#include <stdlib.h>
#include <string.h>

static void builder_fault(struct hx_builder *b, const char *what)
{
    if (b->status == HX_SUCCESS)
        b->status = hx_fail(HX_ERR_INTERNAL, "building %s for %d members, member %d: %s", b->stage->algorithm, b->p, b->me,
                            what);
}

/* The array of n items with room for one more, or NULL. It doubles. */
static void *room_make(struct hx_builder *b, void *items, uint32_t n, uint32_t *capacity, size_t item_bytes, const char *what)
{
    uint32_t wanted = *capacity ? 2 * *capacity : 16;

    if (n < *capacity)
        return items;
    if (!(items = realloc(items, wanted * item_bytes)) && b->status == HX_SUCCESS)
        b->status = hx_fail(HX_ERR_NOMEM, "no memory for a plan of %u %s", wanted, what);
    *capacity = items ? wanted : *capacity;
    return items;
}

static struct hx_step *step_append(struct hx_builder *b, enum hx_opcode op)
{
    struct hx_stage *stage = b->stage;
    struct hx_step *steps = room_make(b, stage->steps, stage->nsteps, &b->capacity, sizeof(*steps), "steps");

    if (!steps)
        return &b->discarded;
    stage->steps = steps;
    steps[stage->nsteps] = (struct hx_step){.op = (uint8_t)op};
    return &steps[stage->nsteps++];
}

/* Wrap an index that an algorithm wrote as arithmetic on ranks (r - i, r + 1) into 0 .. n-1. */
static uint32_t wrap(uint32_t index, uint32_t n)
{
    int64_t i = (int32_t)index % (int64_t)n;
    return (uint32_t)(i < 0 ? i + (int64_t)n : i);
}

static int is_picked(const struct hx_builder *b, struct hx_ref ref)
{
    return b->stage->npicks && (int32_t)ref.block >= (int32_t)b->stage->nblocks;
}

static uint32_t first_block(const struct hx_builder *b, struct hx_ref ref)
{
    return is_picked(b, ref) ? ref.block : wrap(ref.block, b->stage->nblocks);
}

static void range_set(struct hx_builder *b, struct hx_step *step, struct hx_ref ref)
{
    uint32_t most = is_picked(b, ref) ? b->stage->nblocks + b->stage->npicks - ref.block : hx_stage_columns(b->stage);

    if (ref.nblocks == 0 || ref.nblocks > most)
        builder_fault(b, "a range of 0 blocks, or of more blocks than there are");
    step->block = first_block(b, ref);
    step->nblocks = ref.nblocks;
}

static void rows_use(struct hx_builder *b, uint32_t end)
{
    if (end > b->stage->scratch_rows)
        b->stage->scratch_rows = end;
}

static void operand_use(struct hx_builder *b, enum hx_space space, uint32_t end_row)
{
    if (space == HX_SCRATCH)
        rows_use(b, end_row);
    if (space == HX_SLOT)
        b->stage->uses_slot = 1;
}

static int same_range(const struct hx_builder *b, struct hx_ref x, struct hx_ref y)
{
    return x.nblocks == y.nblocks && first_block(b, x) == first_block(b, y);
}

static uint32_t member_wrap(const struct hx_builder *b, int member)
{
    return wrap((uint32_t)member, (uint32_t)b->p);
}

/* ---- codes of a wire format ------------------------------------------------------------------------------------

 * An algorithm sends and receives blocks. In a stage with a wire format the builder lets the same messages carry codes: it encodes before a
 * send, and decodes after the join of a receive. Codes of data in OUT are kept, and the next send of that data moves them unchanged. */

struct hx_coded { /* rows of CODES: those of one range */
    struct hx_ref of;
    uint32_t row, handle; /* handle: of the transfer */
    int moves;            /* its transfer is under way */
    int arrives;          /* it is a receive */
    int kept;             /* the codes are still those of the data in `of` */
    int lasts;            /* they were kept: many transfers may use them */
};

static int ranges_overlap(const struct hx_builder *b, struct hx_ref x, struct hx_ref y)
{
    uint32_t n = b->stage->nblocks, first = first_block(b, x), second = first_block(b, y);

    return (second + n - first) % n < x.nblocks || (first + n - second) % n < y.nblocks;
}

/* The range is written: codes of what was there are of no more use. */
static void codes_forget(struct hx_builder *b, struct hx_ref ref)
{
    for (uint32_t i = 0; i < b->ncoded; i++)
        if (b->coded[i].kept && b->coded[i].of.space == ref.space && ranges_overlap(b, b->coded[i].of, ref))
            b->coded[i].kept = 0;
}

/* Rows of CODES for a range: free ones, or new ones. */
static struct hx_coded *codes_new(struct hx_builder *b, struct hx_ref ref)
{
    static _Thread_local struct hx_coded none;
    struct hx_coded *coded;

    for (coded = b->coded; coded < b->coded + b->ncoded; coded++)
        if (!coded->moves && !coded->lasts && coded->of.nblocks == ref.nblocks)
            break;
    if (coded == b->coded + b->ncoded) {
        if (!(coded = room_make(b, b->coded, b->ncoded, &b->coded_capacity, sizeof(*coded), "rows of codes")))
            return &none;
        b->coded = coded;
        coded += b->ncoded++;
        coded->row = b->stage->code_rows;
        b->stage->code_rows += ref.nblocks;
    }
    if (is_picked(b, ref) || b->limit)
        builder_fault(b, "codes of picks, or with a limit of transfers");
    *coded = (struct hx_coded){.of = ref, .row = coded->row};
    return coded;
}

/* ENCODE or DECODE: between a range and its rows of CODES. */
static void code_append(struct hx_builder *b, enum hx_opcode op, const struct hx_coded *coded)
{
    struct hx_step *step = step_append(b, op);
    int encodes = op == HX_OP_ENCODE;

    range_set(b, step, coded->of);
    step->dst = (uint8_t)(encodes ? HX_CODES : coded->of.space);
    step->src = (uint8_t)(encodes ? coded->of.space : HX_CODES);
    step->peer = (uint32_t)b->me;
    step->row = encodes ? coded->of.row : coded->row;
    step->dst_row = encodes ? coded->row : coded->of.row;
}

/* The codes that a transfer of the range moves. */
static struct hx_coded *codes_move(struct hx_builder *b, enum hx_opcode op, struct hx_ref ref, uint32_t handle)
{
    struct hx_coded *coded = b->coded, *end = b->coded + b->ncoded;

    while (op == HX_OP_SEND && coded < end && !(coded->kept && coded->of.space == ref.space && same_range(b, coded->of, ref)))
        coded++;
    if (op == HX_OP_RECV || coded == end) {
        coded = codes_new(b, ref);
        if (op == HX_OP_SEND)
            code_append(b, HX_OP_ENCODE, coded);
    }
    coded->moves = 1;
    coded->arrives = op == HX_OP_RECV;
    coded->handle = handle;
    return coded;
}

/* These transfers are complete. */
static void codes_arrive(struct hx_builder *b, uint32_t first, uint32_t n)
{
    for (uint32_t i = 0; i < b->ncoded; i++) {
        struct hx_coded *coded = &b->coded[i];
        if (!coded->moves || coded->handle < first || coded->handle >= first + n)
            continue;
        if (coded->arrives)
            code_append(b, HX_OP_DECODE, coded);
        if (coded->arrives && coded->of.space != HX_SCRATCH)
            coded->kept = coded->lasts = 1;
        coded->moves = coded->arrives = 0;
    }
}

void hx_settle(struct hx_builder *b, struct hx_ref ref)
{
    struct hx_coded *coded;

    if (!b->stage->wire || b->p == 1)
        return;
    coded = codes_new(b, ref);
    code_append(b, HX_OP_ENCODE, coded);
    code_append(b, HX_OP_DECODE, coded);
    coded->kept = coded->lasts = 1;
}

void hx_split(struct hx_builder *b, int nblocks)
{
    b->stage->split = 1;
    b->stage->nblocks = (uint32_t)nblocks;
}

int hx_block_is_empty(const struct hx_builder *b, int block)
{
    const struct hx_stage *stage = b->stage;
    uint32_t i = wrap((uint32_t)block, stage->nblocks), columns = hx_stage_columns(stage);
    uint32_t column = i % columns, row = i / columns;

    if (stage->listed) /* the blocks of other rows count too */
        return 0;
    if (stage->row_start && stage->row_start[row] == stage->row_start[row + 1])
        return 1;
    return !stage->split && stage->list_start && stage->list_start[column] == stage->list_start[column + 1];
}

struct hx_ref hx_pair(const struct hx_builder *b, enum hx_space space, int i, int j, int nblocks)
{
    uint32_t columns = hx_stage_columns(b->stage), rows = b->stage->nblocks / columns;

    return hx_at(space, (int)(wrap((uint32_t)i, rows) * columns + wrap((uint32_t)j, columns)), nblocks);
}

int hx_pick(struct hx_builder *b, int i, int j, int row)
{
    struct hx_stage *stage = b->stage;
    struct hx_pick *picks = room_make(b, stage->picks, stage->npicks, &b->picks_capacity, sizeof(*picks), "picks");

    if (!picks)
        return 0;
    stage->picks = picks;
    picks[stage->npicks] = (struct hx_pick){hx_pair(b, HX_SCRATCH, i, j, 1).block, (uint32_t)row};
    operand_use(b, HX_SCRATCH, (uint32_t)row + 1);
    return (int)stage->npicks++;
}

struct hx_ref hx_picked(const struct hx_builder *b, enum hx_space space, int first, int n)
{
    return hx_at(space, (int)b->stage->nblocks + first, n);
}

/* A step that fills a range. Its source, if that is in SCRATCH, has the same rows. */
static struct hx_step *data_append(struct hx_builder *b, enum hx_opcode op, struct hx_ref dst, enum hx_space src, int member)
{
    struct hx_step *step = step_append(b, op);

    range_set(b, step, dst);
    step->dst = (uint8_t)dst.space;
    step->src = (uint8_t)src;
    step->peer = member_wrap(b, member);
    step->row = dst.row;
    operand_use(b, dst.space, dst.row + dst.nblocks);
    operand_use(b, src, dst.row + dst.nblocks);
    codes_forget(b, dst);
    return step;
}

void hx_copy(struct hx_builder *b, struct hx_ref dst, struct hx_ref src)
{
    if (dst.space == src.space && dst.space != HX_SCRATCH)
        return; /* in place: it is there already */
    if (b->p == 1 && dst.space == HX_SLOT)
        return; /* no other member reads it */
    if (dst.space != HX_SCRATCH)
        dst.row = src.row;
    data_append(b, HX_OP_COPY, dst, src.space, b->me);
    if (!same_range(b, dst, src))
        builder_fault(b, "a copy between different blocks");
}

int hx_alone(struct hx_builder *b)
{
    int blocks = (int)b->stage->nblocks;

    if (b->p > 1)
        return 0;
    hx_copy(b, hx_at(b->out, 0, blocks), hx_at(b->in, 0, blocks));
    return 1;
}

void hx_copy_from_slot(struct hx_builder *b, struct hx_ref dst, int member)
{
    data_append(b, HX_OP_COPY, dst, HX_SLOT, member);
}

void hx_take(struct hx_builder *b, int flag, struct hx_ref dst, int member)
{
    hx_await(b, flag, member);
    hx_copy_from_slot(b, dst, member);
}

void hx_fetch(struct hx_builder *b, int flag, struct hx_ref dst, enum hx_space src, int member)
{
    hx_await(b, flag, member);
    struct hx_step *step = data_append(b, HX_OP_FETCH, dst, src, member);

    if (src != HX_IN && src != HX_OUT)
        builder_fault(b, "a fetch from memory other than in and out");
    if (step->peer == (uint32_t)b->me)
        builder_fault(b, "a fetch from itself");
}

/* A reduction of nothing but own. */
static int own_alone(struct hx_builder *b, struct hx_ref dst, int n, enum hx_space own)
{
    if (n != 1 || own == HX_NOWHERE)
        return 0;
    hx_copy(b, dst, hx_at(own, (int)dst.block, (int)dst.nblocks));
    return 1;
}

/* Reduce n sources: rows of SCRATCH from first_row on, or the slots. own replaces number own_position. */
static struct hx_step *reduce_append(struct hx_builder *b, struct hx_ref dst, enum hx_space src, int first_row, int n, enum hx_space own,
                                     int own_position)
{
    struct hx_step *step = data_append(b, HX_OP_REDUCE, dst, src, b->me);

    step->own = (uint8_t)own;
    step->dst_row = dst.row;
    step->row = (uint32_t)first_row;
    step->n = (uint32_t)n;
    step->tag = (uint32_t)own_position;
    return step;
}

void hx_reduce_row(struct hx_builder *b, struct hx_ref dst, struct hx_ref src, struct hx_ref own)
{
    struct hx_step *step = reduce_append(b, dst, src.space, (int)src.row, 2, own.space, 1);

    rows_use(b, src.row + src.nblocks);
    if (own.space == HX_SCRATCH)
        step->dst_row = own.row;
    operand_use(b, own.space, own.row + own.nblocks);
    if (src.space != HX_SCRATCH)
        builder_fault(b, "a reduce whose source is not in scratch");
    if (dst.space == HX_SCRATCH && own.space == HX_SCRATCH && dst.row != own.row)
        builder_fault(b, "a reduce of two scratch rows into a third");
    if (!same_range(b, dst, src) || !same_range(b, dst, own))
        builder_fault(b, "a reduce of different blocks");
}

void hx_reduce_first_slots(struct hx_builder *b, struct hx_ref dst, int n, enum hx_space own, int own_position)
{
    if (own_alone(b, dst, n, own))
        return;
    reduce_append(b, dst, HX_SLOT, 0, n, own, own_position);
    if (n < 2 || n > b->p || own_position < 0 || (own != HX_NOWHERE && own_position >= n))
        builder_fault(b, "a reduce of fewer than two slots, of more than there are, or with its own contribution outside of them");
}

void hx_reduce_slots(struct hx_builder *b, struct hx_ref dst, enum hx_space own)
{
    hx_reduce_first_slots(b, dst, b->p, own == HX_SLOT ? HX_NOWHERE : own, b->me);
}

void hx_reduce_slots_into(struct hx_builder *b, int member, int block, int nblocks)
{
    uint32_t at = b->stage->nsteps;

    hx_reduce_slots(b, hx_at(HX_SLOT, block, nblocks), HX_SLOT);
    if (at < b->stage->nsteps)
        b->stage->steps[at].peer = member_wrap(b, member);
}

void hx_reduce_rows(struct hx_builder *b, struct hx_ref dst, int first_row, int n, enum hx_space own, int own_position)
{
    if (own_alone(b, dst, n, own))
        return;
    reduce_append(b, dst, HX_SCRATCH, first_row, n, own, own_position);
    rows_use(b, (uint32_t)first_row + (uint32_t)(n - (own != HX_NOWHERE)) * dst.nblocks);
    if (n < 2 || own_position < 0 || own_position >= n)
        builder_fault(b, "a reduce of fewer than two sources, or with its own contribution outside of them");
}

/* Transfers are numbered from 0; with a limit their handles begin at 0 again after so many. */
static void join_append(struct hx_builder *b, uint32_t first, uint32_t n)
{
    uint32_t handle = b->limit ? first % b->limit : first;

    if (n == 0)
        return;
    if (b->limit && handle + n > b->limit) { /* all of them: those already joined do no harm */
        handle = 0;
        n = b->limit;
    }
    struct hx_step *step = step_append(b, HX_OP_JOIN);
    step->handle = handle;
    step->n = n;
    if (first <= b->joined && first + n > b->joined)
        b->joined = first + n < b->started ? first + n : b->started;
    if (handle + n > b->stage->ntransfers)
        builder_fault(b, "a join of a transfer that was not started");
    codes_arrive(b, handle, n);
}

static int transfer_append(struct hx_builder *b, enum hx_opcode op, int round, int member, struct hx_ref ref)
{
    uint32_t handle = b->limit ? b->started % b->limit : b->started;
    if (b->limit && b->started >= b->joined + b->limit)
        join_append(b, b->joined, 2);
    if (op == HX_OP_RECV)
        codes_forget(b, ref);
    if (b->stage->wire) {
        operand_use(b, ref.space, ref.row + ref.nblocks);
        ref = (struct hx_ref){HX_CODES, ref.block, ref.nblocks, codes_move(b, op, ref, handle)->row};
    }
    struct hx_step *step = step_append(b, op);
    range_set(b, step, ref);
    b->started++;
    if (handle == b->stage->ntransfers)
        b->stage->ntransfers++;
    if (op == HX_OP_SEND)
        step->src = (uint8_t)ref.space;
    else
        step->dst = (uint8_t)ref.space;
    step->peer = member_wrap(b, member);
    step->row = ref.row;
    step->tag = (uint32_t)round;
    step->handle = handle;
    operand_use(b, ref.space, ref.row + ref.nblocks);
    if (step->peer == (uint32_t)b->me)
        builder_fault(b, "a transfer to itself");
    if (ref.space == HX_SLOT)
        builder_fault(b, "a transfer from or to a slot");
    return (int)step->handle;
}

int hx_send_to(struct hx_builder *b, int round, int member, struct hx_ref src)
{
    return transfer_append(b, HX_OP_SEND, round, member, src);
}

int hx_recv_from(struct hx_builder *b, int round, int member, struct hx_ref dst)
{
    return transfer_append(b, HX_OP_RECV, round, member, dst);
}

void hx_join_one(struct hx_builder *b, int handle)
{
    if (b->limit)
        builder_fault(b, "a join of one transfer in a stage that limits its transfers");
    join_append(b, (uint32_t)handle, 1);
}

void hx_limit(struct hx_builder *b, int n)
{
    b->limit = 2 * (uint32_t)n;
}

void hx_join_all(struct hx_builder *b)
{
    join_append(b, b->joined, b->started - b->joined);
}

static struct hx_step *flag_append(struct hx_builder *b, enum hx_opcode op, int flag, uint32_t first, uint32_t n)
{
    if (b->p == 1)
        return &b->discarded;
    struct hx_step *step = step_append(b, op);
    step->tag = (uint32_t)flag;
    step->peer = first;
    step->n = n;
    if (flag < 0 || flag >= HX_MAX_FLAGS)
        builder_fault(b, "a flag beyond the flags of a stage");
    else if ((uint32_t)flag >= b->stage->nflags)
        b->stage->nflags = (uint32_t)flag + 1;
    return step;
}

void hx_publish_for(struct hx_builder *b, int flag, int member)
{
    flag_append(b, HX_OP_PUBLISH, flag, 0, (uint32_t)b->p)->handle = member_wrap(b, member);
}

void hx_publish(struct hx_builder *b, int flag)
{
    hx_publish_for(b, flag, b->me);
}

void hx_offer(struct hx_builder *b, int flag)
{
    b->stage->offers = b->p > 1;
    hx_publish(b, flag);
}

void hx_publish_read(struct hx_builder *b, int flag)
{
    struct hx_step *step = flag_append(b, HX_OP_PUBLISH, flag, 0, (uint32_t)b->p);
    step->handle = (uint32_t)b->me;
    step->own = 1;
}

void hx_elect(struct hx_builder *b, int flag)
{
    flag_append(b, HX_OP_ELECT, flag, 0, (uint32_t)b->p);
    b->stage->elects = 1;
    b->elect = b->stage->nsteps;
}

void hx_elected_end(struct hx_builder *b)
{
    struct hx_stage *stage = b->stage;

    if (b->elect == 0)
        builder_fault(b, "the end of an election that was not begun");
    for (uint32_t i = b->elect; i < stage->nsteps; i++) /* the next slice could overtake one that waits; bind must not split any */
        if (stage->steps[i].op != HX_OP_REDUCE && (stage->steps[i].op != HX_OP_PUBLISH || stage->steps[i].own))
            builder_fault(b, "a step for the elected that is neither a reduce nor raises a flag");
    if (b->elect && b->elect <= stage->nsteps)
        stage->steps[b->elect - 1].handle = stage->nsteps - b->elect;
    b->elect = 0;
}

void hx_await(struct hx_builder *b, int flag, int member)
{
    flag_append(b, HX_OP_AWAIT, flag, member_wrap(b, member), 1);
}

void hx_await_all(struct hx_builder *b, int flag)
{
    flag_append(b, HX_OP_AWAIT, flag, 0, (uint32_t)b->p);
}

void hx_await_first(struct hx_builder *b, int flag, int n)
{
    hx_await_run(b, flag, 0, n);
}

void hx_await_run(struct hx_builder *b, int flag, int member, int n)
{
    flag_append(b, HX_OP_AWAIT, flag, member_wrap(b, member), (uint32_t)n);
}

void hx_await_lag(struct hx_builder *b, int flag, int member, int n)
{
    flag_append(b, HX_OP_AWAIT, flag, member_wrap(b, member), (uint32_t)n)->own = 1;
}

void hx_learn(struct hx_builder *b)
{
    step_append(b, HX_OP_LEARN);
}

hx_status_t hx_stage_run(struct hx_stage *stage, const struct hx_algorithm *algorithm)
{
    struct hx_builder b = {.p = stage->n, .me = stage->me, .root = stage->root, .in = stage->in, .out = stage->out,
                           .stage = stage, .radix = algorithm->radix};

    stage->algorithm = algorithm->name;
    algorithm->build(&b);
    if (b.status == HX_SUCCESS)
        hx_join_all(&b); /* a slice is done when all of its transfers are */
    free(b.coded);
    return b.status;
}

hx_status_t hx_stage_build(struct hx_stage *stage, const char *name, void (*build)(struct hx_builder *))
{
    return hx_stage_run(stage, &(struct hx_algorithm){.name = name, .build = build});
}
