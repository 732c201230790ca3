/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups (hx_group_begin, hx_group_end): calls on a communicator that are recorded, and started as one.
 *
 *   calls     allreduce 1 sum     allreduce 2 sum     bcast 5 from 0     allreduce 1 sum
 *   parts     allreduce 1 + 2 + 1 sum                 bcast 5 from 0
 *
 * Calls that differ only in counts and buffers are packed into one: their blocks stand one behind the other in memory of its own. All ranks
 * pack alike, from what is the same on all. The group's request is done when all of its parts are.
 */
#include "runtime/api/call.h"
#include "runtime/api/commit.h"
#include "runtime/api/lock.h"
#include "runtime/base/memcpy.h"
#include "runtime/base/user_table.h"
#include <stdlib.h>
#include <string.h>

/* A call that others are packed into, or one that stands alone. */
struct hx_pack {
    struct hx_call call;
    size_t block_bytes;         /* of all of its calls */
    size_t in_blocks, out_blocks;
    size_t n;                   /* calls */
    struct hx_call *calls;      /* NULL while there is only one */
    struct hx_pack *next;
};

struct hx_recording {
    struct hx_pack *first, **end;
};

/* ---- recording --------------------------------------------------------------------------------------------------- */

static struct hx_pack *pack_new(const struct hx_call *call)
{
    const enum hx_coll coll = call->key.coll;
    const size_t blocks = hx_coll_has_blocks(coll) ? (size_t)call->comm->members.size : 1;
    struct hx_pack *pack = calloc(1, sizeof(*pack));

    if (!pack)
        return NULL;
    pack->call = *call;
    pack->n = 1;
    pack->block_bytes = call->key.count * hx_dtype_bytes(call->key.dtype);
    pack->in_blocks = hx_coll_gives(coll) == HX_HOLDS_OWN ? 1 : blocks;
    pack->out_blocks = hx_coll_gets(coll) == HX_HOLDS_OWN ? 1 : blocks;
    return pack;
}

static void pack_free(struct hx_pack *pack)
{
    free(pack->calls);
    free(pack);
}

/* Can others be packed with this call? Not with arrays of counts, which only some of the ranks know. */
static int can_pack(const struct hx_call *call)
{
    return !call->root_knows && !call->key.blocks.counts && !hx_coll_has_pair_counts(call->key.coll) &&
           hx_coll_gets(call->key.coll) != HX_HOLDS_NOTHING;
}

static int fits(const struct hx_pack *pack, const struct hx_call *call)
{
    const struct hx_call_key *a = &pack->call.key, *b = &call->key;
    const size_t blocks = pack->in_blocks > pack->out_blocks ? pack->in_blocks : pack->out_blocks;
    const uint64_t most = (uint64_t)call->comm->world->process.env->group_bytes / blocks, bytes = b->count * hx_dtype_bytes(b->dtype);

    return can_pack(&pack->call) && a->coll == b->coll && a->dtype == b->dtype && a->op == b->op && a->root == b->root && bytes <= most &&
           pack->block_bytes <= most - bytes;
}

/* Returns 0 if there is no memory. */
static int pack_add(struct hx_pack *pack, const struct hx_call *call)
{
    struct hx_call *more = NULL;

    if ((pack->n & (pack->n - 1)) == 0 && !(more = realloc(pack->calls, 2 * pack->n * sizeof(*more))))
        return 0;
    if (more)
        pack->calls = more;
    if (pack->n == 1)
        pack->calls[0] = pack->call;
    pack->calls[pack->n++] = *call;
    pack->block_bytes += call->key.count * hx_dtype_bytes(call->key.dtype);
    return 1;
}

/* The types may be freed before the group is started. */
static void types_hold(const struct hx_call *call, void (*how)(unsigned))
{
    how((unsigned)call->key.dtype);
    how((unsigned)call->key.op);
}

hx_status_t hx_group_record(const struct hx_call *call, enum hx_mode mode)
{
    struct hx_recording *group = call->comm->group;
    struct hx_pack *pack = NULL;

    if (mode == HX_NONBLOCKING)
        return hx_comm_fail(call->comm, hx_fail(HX_ERR_STATE, "%s: the communicator has a group open; make the call without the i: it is "
                                                              "recorded, and started by hx_group_end", call->name));
    if (call->key.count == 0)
        return HX_SUCCESS;
    for (pack = can_pack(call) ? group->first : NULL; pack && !fits(pack, call); pack = pack->next)
        ;
    if (pack ? pack_add(pack, call) : (pack = pack_new(call)) != NULL) {
        if (pack->n == 1) {
            *group->end = pack;
            group->end = &pack->next;
        }
        types_hold(call, hx_user_hold);
        return HX_SUCCESS;
    }
    hx_fail(HX_ERR_NOMEM, "%s: no memory to record a call in a group", call->name);
    return hx_comm_break(call->comm, HX_ERR_NOMEM); /* the other ranks make it */
}

hx_status_t hx_group_refuse(struct hx_comm *comm, const char *name)
{
    return comm->group ? hx_comm_fail(comm, hx_fail(HX_ERR_STATE, "%s: the communicator has a group open; call hx_group_end first", name))
                       : HX_SUCCESS;
}

void hx_group_drop(struct hx_comm *comm)
{
    struct hx_pack *pack, *next;

    for (pack = comm->group ? comm->group->first : NULL; pack; pack = next) {
        next = pack->next;
        for (size_t i = 0; i < pack->n; i++)
            types_hold(pack->calls ? &pack->calls[i] : &pack->call, hx_user_let_go);
        pack_free(pack);
    }
    free(comm->group);
    comm->group = NULL;
    comm->detours = comm->atomic;
}

/* ---- packing ----------------------------------------------------------------------------------------------------- */

/* Between the blocks of a packed call and those of its calls. mine: where a call's blocks are, NULL: nowhere. */
static void blocks_move(const struct hx_pack *pack, unsigned char *all, size_t blocks, int packs, void *(*mine)(const struct hx_call *))
{
    size_t at = 0;

    for (size_t i = 0; i < pack->n; i++) {
        const size_t bytes = pack->calls[i].key.count * hx_dtype_bytes(pack->call.key.dtype);
        unsigned char *block = mine(&pack->calls[i]);
        for (size_t b = 0; block && b < blocks; b++, block += bytes)
            hx_memcpy(packs ? all + b * pack->block_bytes + at : block, packs ? block : all + b * pack->block_bytes + at, bytes);
        at += bytes;
    }
}

static void *in_of(const struct hx_call *call)
{
    const int has = hx_coll_gives(call->key.coll) != HX_HOLDS_ROOT || call->comm->members.rank == call->key.root;

    return !has ? NULL : call->inplace_copy == HX_INPLACE_COPY_IN ? call->inplace_copy_at : (void *)(uintptr_t)call->in;
}

/* Rank 0 has no result of an exclusive scan, and a broadcast's root has it already. */
static void *out_of(const struct hx_call *call)
{
    const enum hx_coll coll = call->key.coll;
    const int rank = call->comm->members.rank, is_root = rank == call->key.root;
    const int has = (hx_coll_gets(coll) != HX_HOLDS_ROOT || is_root) && !(hx_coll_is_exclusive(coll) && rank == 0) &&
                    !(hx_coll_has_one_buffer(coll) && is_root);

    return !has ? NULL : call->inplace_copy == HX_INPLACE_COPY_OUT ? call->inplace_copy_at : call->out;
}

static uint64_t counts_hash(const struct hx_pack *pack)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

    for (size_t i = 0; i < pack->n; i++)
        hash = (hash ^ pack->calls[i].key.count) * UINT64_C(0x100000001b3);
    return hash | 1;
}

/* Make the call that stands for all. A broadcast has one buffer. */
static hx_status_t pack_close(struct hx_pack *pack)
{
    struct hx_call *call = &pack->call;
    const size_t in_bytes = pack->in_blocks * pack->block_bytes, out_bytes = pack->out_blocks * pack->block_bytes;
    const size_t out_at = hx_coll_has_one_buffer(call->key.coll) ? 0 : (in_bytes + 63) & ~(size_t)63;
    unsigned char *memory;

    if (!pack->calls)
        return HX_SUCCESS;
    if (!(memory = hx_inplace_copy_new(out_at + out_bytes)))
        return hx_fail(HX_ERR_NOMEM, "hx_group_end: no memory for %zu bytes of packed calls", out_at + out_bytes);
    blocks_move(pack, memory, pack->in_blocks, 1, in_of);
    call->in = memory;
    call->out = memory + out_at;
    call->inplace_copy = HX_INPLACE_COPY_NOTHING;
    call->inplace_copy_bytes = 0;
    call->said_count = pack->block_bytes / hx_dtype_bytes(call->key.dtype);
    call->key = hx_call_key_for(HX_FOR_PACK, counts_hash(pack), hx_call_key_of(call->key.coll, call->key.dtype, call->key.op, call->key.root,
                                                                            call->said_count));
    return HX_SUCCESS;
}

static void pack_open(const struct hx_pack *pack, hx_status_t status)
{
    if (status == HX_SUCCESS)
        blocks_move(pack, pack->call.out, pack->out_blocks, 0, out_of);
    free((void *)(uintptr_t)pack->call.in);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

/* One of the parts has ended, or all have been started. */
static void part_end(hx_request_t *group, hx_status_t status)
{
    if (group->status == HX_SUCCESS)
        group->status = status;
    if (--group->parts)
        return;
    if (group->commit)
        hx_commit_ran(group, group->status);
    else
        hx_request_settle(group, group->status);
}

static void part_release(hx_request_t *part, hx_status_t status)
{
    if (part->pack->calls)
        pack_open(part->pack, status);
    pack_free(part->pack);
    hx_request_release(part);
}

void hx_group_part_end(hx_request_t *part, hx_status_t status)
{
    hx_request_t *group = part->group;

    group->engine = part->engine;
    if (group->commit) {
        part->next = group->ended;
        group->ended = part;
    } else {
        part_release(part, status);
    }
    part_end(group, status);
}

void hx_group_settle(hx_request_t *group, hx_status_t status)
{
    hx_request_t *part;

    while ((part = group->ended)) {
        group->ended = part->next;
        if (status != HX_SUCCESS)
            hx_undo_restore(&part->undo, &part->call);
        part_release(part, status);
    }
}

/* An engine that has a part of it under way: the group is waited for as this part. */
struct hx_engine *hx_group_engine(const hx_request_t *group)
{
    for (int i = 0; i < HX_CONCURRENT; i++) {
        struct hx_engine *engine = group->call.comm->others[i];
        for (const struct hx_request *request = engine ? engine->first : NULL; request; request = request->next)
            if (request->group == group)
                return engine;
    }
    return group->engine;
}

static hx_status_t part_start(hx_request_t *group, struct hx_pack *pack)
{
    hx_request_t *part = NULL;
    hx_status_t status = pack_close(pack);

    if (status != HX_SUCCESS)
        return hx_comm_break(pack->call.comm, status);
    if ((status = hx_request_new(&pack->call, 1, &part)) != HX_SUCCESS)
        return status;
    part->persistent = 0;
    part->group = group;
    part->pack = pack;
    group->parts++;
    if (group->commit && !pack->calls && (status = hx_undo_keep(&part->undo, &part->call)) != HX_SUCCESS)
        hx_comm_break(part->call.comm, status);
    if (status != HX_SUCCESS || (status = hx_request_start(part)) != HX_SUCCESS)
        hx_group_part_end(part, status);
    else if (part->state == HX_REQUEST_DONE) /* at once: of one rank */
        hx_group_part_end(part, part->status);
    return status;
}

/* The parts of the group, in order. If one cannot be started, the communicator has failed, and so do those that have. */
static void parts_start(hx_request_t *request, struct hx_comm *comm)
{
    struct hx_recording *group = comm->group;
    hx_status_t status = HX_SUCCESS;
    struct hx_pack *pack;
    struct hx_call types;
    size_t calls;

    while (status == HX_SUCCESS && (pack = group->first)) {
        group->first = pack->next;
        types = (struct hx_call){.key = pack->call.key};
        calls = pack->n;
        status = part_start(request, pack);
        while (calls--) /* the part has held them for itself */
            types_hold(&types, hx_user_let_go);
    }
    hx_group_drop(comm);
    part_end(request, status);
}

hx_status_t hx_group_begin(hx_comm_t *comm)
{
    hx_status_t status;

    HX_ENTER();
    if ((status = hx_comm_check(comm, "hx_group_begin")) != HX_SUCCESS || (status = hx_group_refuse(comm, "hx_group_begin")) != HX_SUCCESS)
        return status;
    if (!(comm->group = calloc(1, sizeof(*comm->group))))
        return hx_comm_fail(comm, hx_fail(HX_ERR_NOMEM, "hx_group_begin: no memory for a group"));
    comm->group->end = &comm->group->first;
    comm->detours = 1;
    return HX_SUCCESS;
}

hx_status_t hx_group_end(hx_comm_t *comm, hx_request_t **request)
{
    hx_request_t *group;
    hx_status_t status;

    HX_ENTER();
    if (request)
        *request = NULL;
    if ((status = hx_comm_check(comm, "hx_group_end")) != HX_SUCCESS || (!request && (status = hx_notice_refuse("hx_group_end")) != HX_SUCCESS))
        return status;
    if (!comm->group)
        return hx_comm_fail(comm, hx_fail(HX_ERR_STATE, "hx_group_end: the communicator has no group open; call hx_group_begin first"));
    if ((status = hx_request_new(&(struct hx_call){.name = "hx_group_end", .comm = comm, .key = hx_call_key_barrier(HX_FOR_PACK)}, 1, &group)) !=
        HX_SUCCESS)
        return status;
    group->persistent = 0;
    group->state = HX_REQUEST_ACTIVE;
    group->parts = 1;
    if (comm->atomic && comm->group->first)
        hx_commit_enter(group); /* its parts keep their input */
    parts_start(group, comm);
    if (!request)
        return hx_request_wait(group);
    *request = group;
    return HX_SUCCESS;
}
