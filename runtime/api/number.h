/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers of communicators. A number selects the communicator's contexts in the node's segment, and is a part of its match ids. A new
 * communicator gets a number that is free on all of its members (comm_create.c). On one process a number is
 *
 *   taken     an open communicator of this process has it.
 *   parting   this rank has freed the communicator, but other members on this node have not: they may still read what this rank has written
 *             into its contexts. Each member records in the segment that it has freed the communicator (closed). This rank looks there
 *             when it makes another communicator.
 *   resting   the communicator had failed, and its messages may still be under way. No rank takes them for messages of a new
 *             communicator, because they carry a generation. Yet resting numbers are used last.
 *   free      none of these.
 *
 * The lowest number is taken first, so that few contexts are touched and memory of freed contexts is used again.
 */
#pragma once

#include "runtime/api/comm.h"
#include <sys/queue.h>

#define HX_NUMBER_WORDS (HX_COMM_NUMBERS / 64)
#define HX_COMM_NUMBERS_RESTING 64
#define HX_NUMBER_WORLD 0  /* of the world communicator */
#define HX_NUMBER_GROUPS 1 /* of the internal communicator in which groups are created */

enum { HX_NUMBER_FREE, HX_NUMBER_RESTING, HX_NUMBER_TAKEN };
struct hx_parting;

struct hx_comm_numbers {
    uint32_t count; /* how many numbers a match id can tell apart */
    unsigned char states[HX_COMM_NUMBERS]; /* of those below count; a parting number counts as taken */
    uint64_t calls[HX_COMM_NUMBERS];       /* the last call that this process has made in communicators of that number */
    uint32_t generations[HX_COMM_NUMBERS]; /* of the last communicator of that number that this process was in */
    uint64_t agreed[HX_COMM_NUMBERS];      /* its last decision there, once it has freed that: hx_agree_last */
    struct hx_comm *comms[HX_COMM_NUMBERS];
    STAILQ_HEAD(, hx_parting) parting; /* the oldest first */
    uint32_t rested[HX_COMM_NUMBERS_RESTING]; /* a ring */
    uint64_t nrested;
};

/* Call it when world has its segment, and its network if there is one. Errors: HX_ERR_NOMEM. */
hx_status_t hx_comm_numbers_open(struct hx_world *world);
void hx_comm_numbers_close(struct hx_world *world);

/* The lowest number that is free and not resting; HX_COMM_NUMBERS: there is none. */
uint32_t hx_number_lowest(struct hx_world *world);
/* The lowest number from this one on that can be taken, resting or not; HX_COMM_NUMBERS: there is none. */
uint32_t hx_number_next(struct hx_world *world, uint32_t from);
/* A bit for each number that cannot be used. Resting numbers can. */
void hx_comm_numbers_taken(struct hx_world *world, uint64_t taken[HX_NUMBER_WORDS]);
/* Take a number. Returns 0 if it is taken already. */
int hx_number_take(struct hx_comm_numbers *numbers, uint32_t number);
/* Return a taken number that no communicator has used. */
void hx_number_give_back(struct hx_comm_numbers *numbers, uint32_t number);
/* comm is about to be released, and gives up its number. */
void hx_number_leave(struct hx_comm *comm, uint64_t last_call, int failed);
