/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of communicators: see number.h. */
#include "runtime/api/number.h"
#include <stdlib.h>
#include <string.h>

#define LOOKS 8 /* parting numbers checked for each communicator that is made: more than one, so the list does not grow */

struct hx_parting {
    STAILQ_ENTRY(hx_parting) next;
    uint64_t first_call;
    uint32_t number;
    int failed, n;
    int rows[]; /* of the segment: members on this node */
};

hx_status_t hx_comm_numbers_open(struct hx_world *world)
{
    struct hx_comm_numbers *numbers = world->numbers = calloc(1, sizeof(*numbers));
    unsigned bits = world->process.net ? hx_registry.net->match_bits(world->process.net) - HX_UNUSED_MATCH_BITS : HX_CONTEXT_BITS;

    if (!numbers)
        return hx_fail(HX_ERR_NOMEM, "no memory for the numbers of communicators");
    numbers->count = (UINT32_C(1) << (bits < HX_CONTEXT_BITS ? bits : HX_CONTEXT_BITS)) / HX_COMM_CONTEXTS;
    numbers->states[HX_NUMBER_WORLD] = numbers->states[HX_NUMBER_GROUPS] = HX_NUMBER_TAKEN;
    STAILQ_INIT(&numbers->parting);
    return HX_SUCCESS;
}

void hx_comm_numbers_close(struct hx_world *world)
{
    for (struct hx_parting *parting; world->numbers && (parting = STAILQ_FIRST(&world->numbers->parting));) {
        STAILQ_REMOVE_HEAD(&world->numbers->parting, next);
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

    numbers->states[number] = HX_NUMBER_FREE;
    if (failed && world->process.net) {
        uint32_t *oldest = &numbers->rested[numbers->nrested++ % HX_COMM_NUMBERS_RESTING];
        if (numbers->nrested > HX_COMM_NUMBERS_RESTING && numbers->states[*oldest] == HX_NUMBER_RESTING)
            numbers->states[*oldest] = HX_NUMBER_FREE;
        *oldest = number;
        numbers->states[number] = HX_NUMBER_RESTING;
    }
}

/* Check at most so many parting numbers, the oldest first: free those that all members have freed. */
static void look(struct hx_world *world, uint64_t most)
{
    struct hx_comm_numbers *numbers = world->numbers;
    struct hx_parting *parting, *stop = NULL; /* the first that was put back */

    while (most-- > 0 && (parting = STAILQ_FIRST(&numbers->parting)) && parting != stop) {
        STAILQ_REMOVE_HEAD(&numbers->parting, next);
        if (all_have_closed(world->process.shared, parting->rows, parting->n, parting->number, parting->first_call)) {
            number_free(world, parting->number, parting->failed);
            free(parting);
            continue;
        }
        STAILQ_INSERT_TAIL(&numbers->parting, parting, next);
        stop = stop ? stop : parting;
    }
}

uint32_t hx_number_lowest(struct hx_world *world)
{
    const struct hx_comm_numbers *numbers = world->numbers;

    look(world, LOOKS);
    const unsigned char *lowest = memchr(numbers->states, HX_NUMBER_FREE, numbers->count);
    return lowest ? (uint32_t)(lowest - numbers->states) : HX_COMM_NUMBERS;
}

uint32_t hx_number_next(struct hx_world *world, uint32_t from)
{
    const struct hx_comm_numbers *numbers = world->numbers;

    look(world, UINT64_MAX);
    while (from < numbers->count && numbers->states[from] == HX_NUMBER_TAKEN)
        from++;
    return from < numbers->count ? from : HX_COMM_NUMBERS;
}

void hx_comm_numbers_taken(struct hx_world *world, uint64_t taken[HX_NUMBER_WORDS])
{
    look(world, UINT64_MAX);
    memset(taken, 0, HX_NUMBER_WORDS * sizeof(*taken));
    for (uint32_t number = 0; number < HX_COMM_NUMBERS; number++)
        taken[number / 64] |= (uint64_t)(world->numbers->states[number] == HX_NUMBER_TAKEN) << (number % 64);
}

int hx_number_take(struct hx_comm_numbers *numbers, uint32_t number)
{
    if (numbers->states[number] == HX_NUMBER_TAKEN)
        return 0;
    numbers->states[number] = HX_NUMBER_TAKEN;
    return 1;
}

void hx_number_give_back(struct hx_comm_numbers *numbers, uint32_t number)
{
    numbers->states[number] = HX_NUMBER_FREE;
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
    STAILQ_INSERT_TAIL(&numbers->parting, parting, next);
}
