/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers of communicators: which are free on this process. A communicator's number names its channels of the node's segment and a part
 * of its match ids; a new one gets a number that is free on all of its members (comm_create.c).
 *
 *   taken     a communicator of this process has it
 *   parting   it is freed here, but other members on this node still have it: they may read what this rank has written into its channels.
 *             Each member tells in the segment that it has freed it (closed); this rank looks when it makes another
 *   resting   the communicator had failed, and messages of it may be under way still. They cannot be taken for another one's, since they
 *             bring along its generation; but the number is given out last
 *   free
 *
 * The lowest number is taken first, so that few channels are touched and a freed one's memory is used again.
 */
#ifndef HX_NUMBER_H
#define HX_NUMBER_H
#include "comm.h"

#define HX_NUMBER_WORDS (HX_COMM_NUMBERS / 64)
#define HX_COMM_NUMBERS_RESTING 64
#define HX_NUMBER_WORLD 0  /* the world's */
#define HX_NUMBER_GROUPS 1 /* in which groups are created */

struct hx_parting;

struct hx_comm_numbers {
    uint32_t count; /* of numbers that match ids tell apart */
    uint64_t taken[HX_NUMBER_WORDS], resting[HX_NUMBER_WORDS]; /* a bit each; parting ones are taken, resting ones are not */
    uint64_t calls[HX_COMM_NUMBERS];       /* the last call that this process has made in communicators of that number */
    uint32_t generations[HX_COMM_NUMBERS]; /* of the last communicator of that number that it was in */
    struct hx_comm *comms[HX_COMM_NUMBERS];
    struct hx_parting *first, *last;
    uint32_t rested[HX_COMM_NUMBERS_RESTING]; /* a ring */
    uint64_t nrested;
};

/* The world has its segment, and its network if there is one. Errors: HX_ERR_NOMEM. */
hx_status_t hx_comm_numbers_open(struct hx_world *world);
void hx_comm_numbers_close(struct hx_world *world);

/* The lowest free number that does not rest; HX_COMM_NUMBERS: none. */
uint32_t hx_number_lowest(struct hx_world *world);
/* A bit for each number that is not free; one that rests is. */
void hx_comm_numbers_taken(struct hx_world *world, uint64_t taken[HX_NUMBER_WORDS]);
/* Take it. Returns 0 if it is not free. */
int hx_number_take(struct hx_comm_numbers *numbers, uint32_t number);
/* Nobody has used it. */
void hx_number_give_back(struct hx_comm_numbers *numbers, uint32_t number);
/* comm is released, its last call was this. */
void hx_number_leave(struct hx_comm *comm, uint64_t last_call, int failed);

#endif
