/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The constants of the network. Rank 0 and the first rank of the second node measure them in a communicator of these two ranks, in some
 * milliseconds. Then rank 0 broadcasts them to all ranks.
 *
 *   latency         barriers in a row: each sends one message each way
 *   CPU time of     several all-reduces started together, compared with one
 *   a message
 *   rates           a vector one way, and vectors both ways at once
 *
 * The shortest of several times counts, because interrupts only make times longer. The values never change the bits of a result, as those of
 * the node do not. If HX_CONSTANTS is set, the network is not measured.
 */
#include "runtime/api/call.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/start/startup.h"
#include <math.h>
#include <stdlib.h>

#define IN_A_ROW 8    /* barriers; calls started together */
#define TRIES 4
#define SHORT_BYTES ((size_t)64 << 10)
#define LONG_BYTES ((size_t)256 << 10) /* used if the short vector takes less than SLOW_US */
#define SLOW_US 1000
#define LEAST_US 0.05 /* the clock does not resolve less */
#define LEAST_PART 0.25 /* least part of a vector's time that counts for its bytes: limits the error if a rank is late */

struct pair { /* of the two ranks that measure */
    hx_comm_t *comm;
    unsigned char *vector; /* [2 LONG_BYTES] */
    hx_status_t status;    /* the first error */
};

static double now_us(void)
{
    return 1e6 * hx_now_s();
}

static void keep(struct pair *p, hx_status_t status)
{
    if (p->status == HX_SUCCESS)
        p->status = status;
}

/* The time of one barrier, from several in a row. */
static double row_us(struct pair *p)
{
    const double start = now_us();

    for (int i = 0; i < IN_A_ROW && p->status == HX_SUCCESS; i++)
        keep(p, hx_barrier(p->comm));
    return (now_us() - start) / IN_A_ROW;
}

/* The time of n calls of 8 bytes that start together. */
static double together_us(struct pair *p, int n)
{
    hx_request_t *requests[IN_A_ROW];
    double in[IN_A_ROW] = {0}, out[IN_A_ROW];
    int started = 0;

    if (p->status == HX_SUCCESS)
        keep(p, hx_barrier(p->comm));
    const double start = now_us();
    for (; started < n && p->status == HX_SUCCESS; started++) {
        hx_status_t status = hx_iallreduce(&in[started], &out[started], 1, HX_FLOAT64, HX_MAX, p->comm, &requests[started]);
        keep(p, status);
        if (status != HX_SUCCESS)
            break;
    }
    for (int i = 0; i < started; i++)
        keep(p, hx_wait(requests[i]));
    return now_us() - start;
}

/* The time of a vector from rank 0, and of a short answer. */
static double one_way_us(struct pair *p, size_t bytes)
{
    if (p->status == HX_SUCCESS)
        keep(p, hx_barrier(p->comm));
    const double start = now_us();
    if (p->status == HX_SUCCESS)
        keep(p, hx_bcast(p->vector, bytes, HX_BYTE, 0, p->comm));
    if (p->status == HX_SUCCESS)
        keep(p, hx_barrier(p->comm));
    return now_us() - start;
}

static double both_ways_us(struct pair *p, size_t bytes)
{
    if (p->status == HX_SUCCESS)
        keep(p, hx_barrier(p->comm));
    const double start = now_us();
    if (p->status == HX_SUCCESS)
        keep(p, hx_allgather(HX_IN_PLACE, p->vector, bytes, HX_BYTE, p->comm));
    return now_us() - start;
}

/* Rank 0 chooses the vector's bytes for both ranks. */
static size_t bytes_choose(struct pair *p)
{
    both_ways_us(p, SHORT_BYTES); /* the first call connects, and touches the memory */
    uint64_t bytes = both_ways_us(p, SHORT_BYTES) < SLOW_US ? LONG_BYTES : SHORT_BYTES;
    if (p->status == HX_SUCCESS)
        keep(p, hx_bcast(&bytes, sizeof(bytes), HX_BYTE, 0, p->comm));
    return p->status == HX_SUCCESS ? (size_t)bytes : 0;
}

/* net: in: the defaults of the provider; out: with the measured values. */
static void pair_run(struct pair *p, int emulated, struct hx_net_profile *net)
{
    const size_t bytes = bytes_choose(p);
    double row = INFINITY, one = INFINITY, several = INFINITY, way = INFINITY, ways = INFINITY;

    row_us(p);
    for (int i = 0; i < TRIES && p->status == HX_SUCCESS; i++) {
        row = fmin(row, fmin(row_us(p), row_us(p)));
        one = fmin(one, together_us(p, 1));
        several = fmin(several, together_us(p, IN_A_ROW));
        way = fmin(way, one_way_us(p, bytes));
        ways = fmin(ways, both_ways_us(p, bytes));
    }
    if (p->status != HX_SUCCESS)
        return;
    net->alpha_us = fmax(row, LEAST_US);
    net->message_us = fmax((several - one) / (IN_A_ROW - 1), LEAST_US);
    net->stream_gb_s = (double)bytes * 1e-3 / fmax(way - 2 * row, LEAST_PART * way);
    if (net->core_gb_s < HX_CORE_SPARED_GB_S)
        net->core_gb_s = 2 * (double)bytes * 1e-3 / fmax(ways - row, LEAST_PART * ways);
    if (emulated) /* there is no link: only the cores limit the rate */
        net->gb_s = HX_CORE_SPARED_GB_S;
    else if (net->gb_s < net->stream_gb_s)
        net->gb_s = net->stream_gb_s;
}

static hx_status_t pair_measure(struct hx_world *world, int partner, struct hx_net_profile *net)
{
    const int ranks[2] = {0, partner};
    struct pair p = {.vector = calloc(2, LONG_BYTES)};

    p.status = hx_comm_group(world->comms, ranks, 2, &p.comm);
    if (p.status == HX_SUCCESS) {
        int32_t lacks = !p.vector;
        keep(&p, hx_allreduce(HX_IN_PLACE, &lacks, 1, HX_INT32, HX_MAX, p.comm));
        if (p.status == HX_SUCCESS && lacks)
            keep(&p, hx_fail(HX_ERR_NOMEM, "a rank has no memory to measure the network"));
        if (p.status == HX_SUCCESS)
            pair_run(&p, world->process.env->nodes != NULL, net);
        hx_comm_free(p.comm);
    }
    free(p.vector);
    return p.status;
}

hx_status_t hx_net_constants_share(struct hx_world *world)
{
    struct hx_comm *comm = world->comms;
    const struct hx_shape *shape = comm->members.shape;
    const int partner = shape->nnodes > 1 ? hx_shape_member(shape, 1, 0) : -1, me = comm->members.rank;
    const double start = now_us();
    struct hx_net_profile net;
    hx_status_t status = HX_SUCCESS, shared;

    if (!world->process.net || partner < 0 || world->process.env->constants)
        return HX_SUCCESS;
    hx_world_profile(world, &net);
    if (me == 0 || me == partner)
        status = pair_measure(world, partner, &net);
    double values[] = {net.alpha_us, net.gb_s, net.stream_gb_s, net.core_gb_s, net.message_us, status};
    if ((shared = hx_bcast(values, sizeof(values) / sizeof(*values), HX_FLOAT64, 0, comm)) != HX_SUCCESS)
        return shared;
    if (status != HX_SUCCESS)
        return status;
    if (values[5] != HX_SUCCESS)
        return hx_fail((hx_status_t)values[5], "rank 0 could not measure the network");
    world->process.job.net = (struct hx_net_profile){.alpha_us = values[0], .gb_s = values[1], .stream_gb_s = values[2], .core_gb_s = values[3],
                                                     .message_us = values[4]};
    if (me == 0)
        hx_debug("the constants of the network took %.2f ms: %.2f us, %.2f us for each further message, %.2f GB/s", 1e-3 * (now_us() - start),
                 values[0], values[4], values[2]);
    return hx_comm_replan(comm);
}
