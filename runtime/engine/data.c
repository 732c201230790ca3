/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data of a plan: its COPY and REDUCE steps. A step names its operands by space and blocks. If each operand is one span, bind
 * has computed an offset, and the step is one memcpy or one call of a kernel over all sources. If blocks are scattered (they wrap
 * around, or are several pieces of the vector), the step walks the spans of all operands side by side.
 */
#include "runtime/base/memcpy.h"
#include "runtime/base/stream.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/shm_write.h"
#include <string.h>

_Atomic uintptr_t hx_folder;

#define NUMBER_MIN_BYTES 4
#define NUMBER_MAX_BYTES 16

/* A number or two, so that the shortest calls need no function for it. */
static inline void number_copy(unsigned char *dst, const unsigned char *src, size_t bytes)
{
#define ENDS_COPY(part_type) /* they may overlap */                      \
    do {                                                                 \
        part_type first, last;                                           \
        memcpy(&first, src, sizeof(first));                              \
        memcpy(&last, src + bytes - sizeof(last), sizeof(last));         \
        memcpy(dst, &first, sizeof(first));                              \
        memcpy(dst + bytes - sizeof(last), &last, sizeof(last));         \
    } while (0)
    if (bytes >= sizeof(uint64_t))
        ENDS_COPY(uint64_t);
    else
        ENDS_COPY(uint32_t);
#undef ENDS_COPY
}

static inline void piece_copy(const struct hx_run *run, const struct hx_bound_step *step, unsigned char *dst, const unsigned char *src,
                              size_t bytes)
{
    if (bytes - NUMBER_MIN_BYTES <= NUMBER_MAX_BYTES - NUMBER_MIN_BYTES)
        number_copy(dst, src, bytes);
    else if (step->streams && bytes && dst != src && !hx_reduces_in_place(run))
        run->engine->streamed_bytes += hx_stream(dst, src, bytes);
    else if (bytes >= HX_SHARE_LEAST && step->dst.space == HX_SLOT)
        hx_share(run->engine, dst, src, bytes);
    else if (bytes && dst != src)
        hx_memcpy(dst, src, bytes);
}

/* The sources of a reduce, from src on: a slot of every member, or rows. own has no row. */
static const void **sources_collect(const struct hx_run *run, const struct hx_bound_stage *bs,
                                    const struct hx_bound_step *step, const unsigned char *src, int own)
{
    size_t row_bytes = step->plan_step->nblocks * bs->layout.row_bytes;
    const void **sources = run->engine->sources;
    int is_slot = step->src.space == HX_SLOT || step->src.space == HX_TINY_SLOT;

    for (uint32_t i = 0; i < step->n; i++)
        sources[i] = src + (is_slot ? bs->slot_offsets[i] : (own && i > step->tag ? i - 1 : i) * row_bytes);
    return sources;
}

/* Fold by the program's own operation, as many elements at a time as stay in the cache. Its result must not overlap
 * what it reads, so it goes to one of two places in turn, and at last to dst, unless that is what it reads. */
static void user_reduce(const struct hx_run *run, const struct hx_instance *instance, const struct hx_bound_step *step,
                        unsigned char *dst, const unsigned char *src, const unsigned char *own, size_t elements)
{
    const struct hx_bound *bound = run->bound;
    const void **sources = sources_collect(run, instance->stage, step, src, own != NULL);
    size_t most = bound->fold_bytes / bound->elem_bytes, count;
    unsigned char *places = run->base[HX_SCRATCH] + bound->scratch_bytes;

    if (own)
        sources[step->tag] = own;
    atomic_store_explicit(&hx_folder, (uintptr_t)pthread_self(), memory_order_relaxed);
    for (size_t at = 0; elements; at += count * bound->elem_bytes, elements -= count) {
        const unsigned char *left = (const unsigned char *)sources[0] + at;
        count = elements < most ? elements : most;
        for (uint32_t i = 1; i < step->n; i++) {
            const unsigned char *right = (const unsigned char *)sources[i] + at;
            int last = i == step->n - 1 && left != dst + at && right != dst + at;
            unsigned char *result = last ? dst + at : places + i % 2 * bound->fold_bytes;
            bound->user.fn(left, right, result, count, bound->key.dtype, bound->user.ctx);
            left = result;
        }
        if (left != dst + at)
            hx_memcpy(dst + at, left, count * bound->elem_bytes);
    }
    atomic_store_explicit(&hx_folder, 0, memory_order_relaxed);
}

/* A piece that is one span of every operand. */
static inline void piece_reduce(const struct hx_run *run, const struct hx_instance *instance,
                                const struct hx_bound_step *step, unsigned char *dst, const unsigned char *src,
                                const unsigned char *own, size_t elements)
{
    const void **sources = step->sources ? step->sources + run->turn * step->n
                                         : sources_collect(run, instance->stage, step, src, own != NULL);

    if (own)
        sources[step->tag] = own;
    run->bound->kernel(dst, sources, (int)step->n, elements);
}

static struct hx_walk walk_start(struct hx_run *run, const struct hx_instance *instance, const struct hx_bound_step *step,
                              enum hx_space space, uint32_t row, int store)
{
    struct hx_engine *engine = run->engine;
    struct hx_walk w = {.spans = engine->spans[store]};

    w.n = hx_layout_spans(&instance->stage->layout, space == HX_TINY_SLOT ? HX_SLOT : space, step->plan_step->block,
                          step->plan_step->nblocks, row, instance->slice, engine->spans[store], engine->span_capacity);
    return w;
}

/* COPY or REDUCE piece by piece, along the spans of all operands; every REDUCE by the program's own operation, which so
 * costs no other call an instruction. */
static void data_scattered(struct hx_run *run, const struct hx_instance *instance, const struct hx_bound_step *step)
{
    unsigned char *dst = hx_operand_at(run, &step->dst);
    const unsigned char *src = hx_operand_at(run, &step->src);
    const unsigned char *own = step->own.space ? hx_operand_at(run, &step->own) : NULL;
    uint32_t dst_row = hx_step_dst_row(step->plan_step), row = step->plan_step->row;
    struct hx_walk to = walk_start(run, instance, step, step->dst.space, dst_row, 0);
    struct hx_walk from = walk_start(run, instance, step, step->src.space, row, 1);
    struct hx_walk with = own ? walk_start(run, instance, step, step->own.space, dst_row, 2) : from;

    while (to.i < to.n) {
        size_t bytes = hx_walk_left(&to) < hx_walk_left(&from) ? hx_walk_left(&to) : hx_walk_left(&from);
        if (own && hx_walk_left(&with) < bytes)
            bytes = hx_walk_left(&with);
        if (step->op == HX_OP_REDUCE)
            (run->bound->user.fn ? user_reduce : piece_reduce)(run, instance, step, dst + hx_walk_at(&to),
                                                               src + hx_walk_at(&from), own ? own + hx_walk_at(&with) : NULL,
                                                               bytes / run->bound->elem_bytes);
        else
            piece_copy(run, step, dst + hx_walk_at(&to), src + hx_walk_at(&from), bytes);
        hx_walk_advance(&to, bytes);
        hx_walk_advance(&from, bytes);
        if (own)
            hx_walk_advance(&with, bytes);
    }
}

/* Numbers that do not stand in one span are coded block by block of the wire format, through a block that does: codes do not depend on where
 * numbers stand. */
static void code_scattered(struct hx_run *run, const struct hx_instance *instance, const struct hx_bound_step *step, int encodes)
{
    const struct hx_bound_stage *bs = instance->stage;
    const struct hx_wire *wire = bs->stage->wire;
    unsigned char block[HX_WIRE_BLOCK_MOST * sizeof(double)], *codes, *numbers;
    const size_t elem = run->bound->elem_bytes, most = (size_t)wire->block * elem;
    const uint32_t row = encodes ? step->plan_step->row : hx_step_dst_row(step->plan_step);
    struct hx_walk walk = walk_start(run, instance, step, encodes ? step->src.space : step->dst.space, row, 0);
    struct hx_span span = {0, 0};

    hx_layout_spans(&bs->layout, HX_CODES, step->plan_step->block, step->plan_step->nblocks,
                    encodes ? hx_step_dst_row(step->plan_step) : step->plan_step->row, instance->slice, &span, 1);
    codes = hx_operand_at(run, encodes ? &step->dst : &step->src) + span.offset;
    numbers = hx_operand_at(run, encodes ? &step->src : &step->dst);
    for (size_t left = step->bytes, n; left; left -= n) {
        n = left < most ? left : most;
        if (!encodes)
            bs->decode(block, codes, n / elem);
        for (size_t at = 0, part; at < n; at += part) {
            part = hx_walk_left(&walk) < n - at ? hx_walk_left(&walk) : n - at;
            if (encodes)
                memcpy(block + at, numbers + hx_walk_at(&walk), part);
            else
                memcpy(numbers + hx_walk_at(&walk), block + at, part);
            hx_walk_advance(&walk, part);
        }
        if (encodes)
            bs->encode(codes, block, n / elem);
        codes += hx_wire_bytes(wire, n / elem);
    }
}

void hx_data_code(struct hx_run *run, const struct hx_instance *instance, const struct hx_bound_step *step)
{
    int encodes = step->op == HX_OP_ENCODE;

    if (!step->contiguous)
        code_scattered(run, instance, step, encodes);
    else
        (encodes ? instance->stage->encode : instance->stage->decode)(hx_operand_at(run, &step->dst), hx_operand_at(run, &step->src),
                                                                      step->elements);
}

void hx_data_copy(struct hx_run *run, const struct hx_instance *instance, const struct hx_bound_step *step)
{
    if (step->contiguous)
        piece_copy(run, step, hx_operand_at(run, &step->dst), hx_operand_at(run, &step->src), step->bytes);
    else
        data_scattered(run, instance, step);
}

void hx_data_reduce(struct hx_run *run, const struct hx_instance *instance, const struct hx_bound_step *step)
{
    if (step->contiguous && step->elements)
        piece_reduce(run, instance, step, hx_operand_at(run, &step->dst), hx_operand_at(run, &step->src),
                     step->own.space ? hx_operand_at(run, &step->own) : NULL, step->elements);
    else if (!step->contiguous)
        data_scattered(run, instance, step);
}
