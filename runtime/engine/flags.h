/* SPDX-License-Identifier: BSD-3-Clause */
/* The flags of a stage, as its steps use them: raised, awaited, and seen by the one member that is elected. Inline, since a small call is
 * little else. For run.c. */
#pragma once

#include "runtime/engine/engine.h"
#include "runtime/engine/shm_write.h"
#include "runtime/engine/signature.h"

static inline _Atomic uint64_t *hx_flag_epoch(const struct hx_run *run, struct hx_control *control, const struct hx_bound_step *step)
{
    return (_Atomic uint64_t *)(void *)((unsigned char *)control + step->flag_offset + run->flag_turn);
}

/* The epoch of the slice that an AWAIT is for. */
static inline uint64_t hx_flag_awaited(const struct hx_run *run, const struct hx_instance *instance, const struct hx_bound_step *step)
{
    return run->epoch + instance->slice + 1 - (step->lags ? instance->stage->window : 0);
}

/* Was this member's flag raised in a different call than this? Then run->status is HX_ERR_MISMATCH. */
static inline int hx_flag_mismatches(struct hx_run *run, const struct hx_bound_stage *bs, uint32_t member, _Atomic uint64_t *flag)
{
    uint64_t stamp = atomic_load_explicit(&hx_flag_of(flag)->stamp, memory_order_relaxed);

    return __builtin_expect(stamp != run->stamp, 0) && hx_stamp_is_refused(run, bs->stage->members[member], stamp);
}

/* This member's flag is not raised yet. Fetch the lines that the next step reads: a hint, which needs no order. */
static __attribute__((noinline)) void hx_slot_touch(const struct hx_run *run, const struct hx_bound_stage *bs,
                                                    const struct hx_bound_step *step, uint32_t member)
{
    const struct hx_bound_step *reads = step + 1;
    const unsigned char *at = hx_operand_at(run, &reads->src) + (reads->op == HX_OP_REDUCE ? bs->slot_offsets[member] : 0);

    for (uint32_t line = 0; line < step->touches; line++)
        __builtin_prefetch(at + line * (size_t)HX_LINE);
}

/* Have members [cursor, end) of an AWAIT all reached the epoch? 0 also when run->status has become an error. */
static inline int hx_flags_reached(struct hx_run *run, struct hx_instance *instance, const struct hx_bound_step *step)
{
    const struct hx_bound_stage *bs = instance->stage;
    uint64_t epoch = hx_flag_awaited(run, instance, step);

    if (step->lags && instance->slice < bs->window)
        return 1;
    for (uint32_t i = instance->cursor; i < step->n; i++) {
        uint32_t member = step->peer + i;
        if (member == step->self)
            continue;
        _Atomic uint64_t *flag = hx_flag_epoch(run, bs->controls[member], step);
        /* acquire pairs with the release in hx_flag_publish: the member's slot is as it was published */
        if (atomic_load_explicit(flag, memory_order_acquire) < epoch) {
            instance->cursor = i;
            if (step->touches)
                hx_slot_touch(run, bs, step, member);
            return 0;
        }
        if (hx_flag_mismatches(run, bs, member, flag))
            return 0;
    }
    instance->cursor = 0;
    return 1;
}

static __attribute__((noinline)) void hx_members_wake(const struct hx_shared *shared, struct hx_doorbell **bell,
                                                             struct hx_doorbell **end)
{
    for (; bell < end; bell++)
        hx_wake(shared, *bell);
}

static inline void hx_flag_publish(const struct hx_run *run, const struct hx_instance *instance, const struct hx_bound_step *step)
{
    const struct hx_bound_stage *bs = instance->stage;
    struct hx_doorbell **bell = bs->doorbells + step->peer, **end = bell + step->n;
    _Atomic uint64_t *flag = hx_flag_epoch(run, bs->controls[step->handle], step);

    atomic_store_explicit(&hx_flag_of(flag)->stamp, run->stamp, memory_order_relaxed);
    /* release pairs with the acquire in hx_flags_reached */
    atomic_store_explicit(flag, run->epoch + instance->slice + 1, memory_order_release);
    hx_wake_fence();
    for (; bell < end; bell++) {
        if (hx_sleeps(*bell)) {
            hx_members_wake(run->engine->node.shared, bell, end);
            return;
        }
    }
}

/* Raise the own flag, then look at all flags. These stores and loads are sequentially consistent, so the member that stored last finds all
 * flags raised. Others may find the same. Exactly one of these moves `elected` from an earlier epoch to this one and is elected
 * (tests/model/election.pml). If a member has raised its flag in a different call, no member is elected, and run->status is
 * HX_ERR_MISMATCH. */
static __attribute__((noinline)) int hx_is_elected(struct hx_run *run, const struct hx_instance *instance, const struct hx_bound_step *step)
{
    const struct hx_bound_stage *bs = instance->stage;
    uint64_t epoch = run->epoch + instance->slice + 1, before;
    _Atomic uint64_t *elected = &hx_flag_of(hx_flag_epoch(run, bs->controls[0], step))->elected;
    _Atomic uint64_t *mine = hx_flag_epoch(run, bs->controls[bs->me], step);

    atomic_store_explicit(&hx_flag_of(mine)->stamp, run->stamp, memory_order_relaxed);
    atomic_store_explicit(mine, epoch, memory_order_seq_cst);
    for (uint32_t i = 0; i < step->n; i++)
        if (atomic_load_explicit(hx_flag_epoch(run, bs->controls[step->peer + i], step), memory_order_seq_cst) < epoch)
            return 0;
    for (uint32_t i = 0; i < step->n; i++)
        if (hx_flag_mismatches(run, bs, step->peer + i, hx_flag_epoch(run, bs->controls[step->peer + i], step)))
            return 0;
    before = atomic_load_explicit(elected, memory_order_relaxed);
    return before < epoch && atomic_compare_exchange_strong_explicit(elected, &before, epoch, memory_order_relaxed, memory_order_relaxed);
}

static inline int hx_flag_reached(const struct hx_run *run, const struct hx_instance *instance, const struct hx_bound_step *step,
                                  uint32_t member)
{
    return atomic_load_explicit(hx_flag_epoch(run, instance->stage->controls[member], step), memory_order_relaxed) >=
           hx_flag_awaited(run, instance, step);
}

/* Is the mate behind: in an earlier call, or before a flag that this rank has set or awaits from it? (If one is elected, any
 * member may set the flag. If only some members set a flag, the others count as behind too: they only get the core too often.) */
static inline enum hx_awaited hx_mate_awaited(const struct hx_run *run, const struct hx_instance *instance, const struct hx_bound_step *step)
{
    const struct hx_bound_stage *bs = instance->stage;
    uint64_t entered = atomic_load_explicit(&bs->controls[bs->mate]->entered, memory_order_relaxed);
    int counts = !bs->stage->elects && (bs->mate - step->peer < step->n || hx_flag_reached(run, instance, step, bs->me));

    if (entered < run->epoch || (counts && !hx_flag_reached(run, instance, step, bs->mate)))
        return HX_AWAITED_MATE;
    return HX_AWAITED_ELSEWHERE;
}
