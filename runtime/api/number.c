/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of communicators: see number.h. */
#include "runtime/api/number.h"
#include <stdlib.h>
#include <string.h>

#define LOOKS 8 /* parting numbers checked for each communicator that is made: more than one, so the list does not grow */

struct hx_parting {
    struct hx_parting *next;
    uint64_t first_call;
    uint32_t number;
    int failed, n;
    int rows[]; /* of the segment: members on this node */
};

static int bit_of(const uint64_t *bits, uint32_t number)
{
    return (int)(bits[number / 64] >> (number % 64) & 1);
}

static void bit_set(uint64_t *bits, uint32_t number)
{
    bits[number / 64] |= UINT64_C(1) << (number % 64);
}

static void bit_clear(uint64_t *bits, uint32_t number)
{
    bits[number / 64] &= ~(UINT64_C(1) << (number % 64));
}

hx_status_t hx_comm_numbers_open(struct hx_world *world)
{
    struct hx_comm_numbers *numbers = world->numbers = calloc(1, sizeof(*numbers));
    unsigned bits = world->process.net ? hx_registry.net->match_bits(world->process.net) - HX_UNUSED_MATCH_BITS : HX_CONTEXT_BITS;

    if (!numbers)
        return hx_fail(HX_ERR_NOMEM, "no memory for the numbers of communicators");
    numbers->count = (UINT32_C(1) << (bits < HX_CONTEXT_BITS ? bits : HX_CONTEXT_BITS)) / HX_COMM_CONTEXTS;
    for (uint32_t number = numbers->count; number < HX_COMM_NUMBERS; number++)
        bit_set(numbers->taken, number);
    bit_set(numbers->taken, HX_NUMBER_WORLD);
    bit_set(numbers->taken, HX_NUMBER_GROUPS);
    return HX_SUCCESS;
}

void hx_comm_numbers_close(struct hx_world *world)
{
    for (struct hx_parting *parting; world->numbers && (parting = world->numbers->first);) {
        world->numbers->first = parting->next;
        free(parting);
    }
    free(world->numbers);
    world->numbers = NULL;
}

/* Have all other members on this node freed the communicator, or died? */
static int all_have_closed(const struct hx_shared *shared, const int *rows, int n, uint32_t number, uint64_t first_call)
{
    for (int i = 0; i < n; i++) {
        /* acquire pairs with the release in hx_number_leave: that rank no longer reads what this one has written */
        uint64_t closed = atomic_load_explicit(hx_shared_closed(shared, rows[i], number), memory_order_acquire);
        if (closed <= first_call && rows[i] != shared->me &&
            !atomic_load_explicit(&shared->table[shared->ranks[rows[i]]].dead, memory_order_relaxed))
            return 0;
    }
    return 1;
}

/* Every member on this node has freed the communicator: free its number. */
static void number_free(struct hx_world *world, uint32_t number, int failed)
{
    struct hx_comm_numbers *numbers = world->numbers;

    if (failed && world->process.net) {
        uint32_t *oldest = &numbers->rested[numbers->nrested++ % HX_COMM_NUMBERS_RESTING];
        if (numbers->nrested > HX_COMM_NUMBERS_RESTING)
            bit_clear(numbers->resting, *oldest);
        *oldest = number;
        bit_set(numbers->resting, number);
    }
    bit_clear(numbers->taken, number);
}

/* Check at most so many parting numbers, the oldest first: free those that all members have freed. */
static void look(struct hx_world *world, uint64_t most)
{
    struct hx_comm_numbers *numbers = world->numbers;
    struct hx_parting *parting, *stop = NULL; /* the first that was put back */

    while (most-- > 0 && (parting = numbers->first) && parting != stop) {
        numbers->first = parting->next;
        if (!numbers->first)
            numbers->last = NULL;
        if (all_have_closed(world->process.shared, parting->rows, parting->n, parting->number, parting->first_call)) {
            number_free(world, parting->number, parting->failed);
            free(parting);
            continue;
        }
        parting->next = NULL;
        if (numbers->last)
            numbers->last->next = parting;
        else
            numbers->first = parting;
        numbers->last = parting;
        stop = stop ? stop : parting;
    }
}

uint32_t hx_number_lowest(struct hx_world *world)
{
    const struct hx_comm_numbers *numbers = world->numbers;

    look(world, LOOKS);
    for (uint32_t word = 0; word < HX_NUMBER_WORDS; word++) {
        uint64_t open = ~(numbers->taken[word] | numbers->resting[word]);
        if (open)
            return word * 64 + (uint32_t)__builtin_ctzll(open);
    }
    return HX_COMM_NUMBERS;
}

void hx_comm_numbers_taken(struct hx_world *world, uint64_t taken[HX_NUMBER_WORDS])
{
    look(world, UINT64_MAX);
    memcpy(taken, world->numbers->taken, sizeof(world->numbers->taken));
}

int hx_number_take(struct hx_comm_numbers *numbers, uint32_t number)
{
    if (bit_of(numbers->taken, number))
        return 0;
    bit_set(numbers->taken, number);
    bit_clear(numbers->resting, number);
    return 1;
}

void hx_number_give_back(struct hx_comm_numbers *numbers, uint32_t number)
{
    bit_clear(numbers->taken, number);
}

void hx_number_leave(struct hx_comm *comm, uint64_t last_call, int failed)
{
    struct hx_world *world = comm->world;
    struct hx_comm_numbers *numbers = world->numbers;
    struct hx_shared *shared = world->process.shared;
    uint32_t number = comm->members.id.number;
    struct hx_parting *parting;

    numbers->calls[number] = last_call;
    /* release pairs with the acquire in all_have_closed, and in is_freed_by of stall.c */
    atomic_store_explicit(hx_shared_closed(shared, shared->me, number), last_call + 1, memory_order_release);
    if (all_have_closed(shared, comm->members.rows, comm->members.local_n, number, comm->members.id.first_call)) {
        number_free(world, number, failed);
        return;
    }
    if (!(parting = malloc(sizeof(*parting) + (size_t)comm->members.local_n * sizeof(int))))
        return; /* without memory the number stays taken */
    *parting = (struct hx_parting){.first_call = comm->members.id.first_call, .number = number, .failed = failed, .n = comm->members.local_n};
    memcpy(parting->rows, comm->members.rows, (size_t)comm->members.local_n * sizeof(int));
    if (numbers->last)
        numbers->last->next = parting;
    else
        numbers->first = parting;
    numbers->last = parting;
}
