/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HX_RING_ORDER: the order in which rings pass the nodes, given by the user or measured. To measure, the leaders of the nodes
 * exchange messages in pairs, all pairs of a round at once, as a ring would use the links. Rank 0 computes the order
 * (topo/ring_order.h) and sends it to all ranks.
 *
 *   4 nodes, 3 rounds:   0-3 1-2     1-3 2-0     2-3 0-1
 *
 * A pair takes longer messages only until one takes 20 ms, so a round takes some tenths of a second, and no more than
 * its slowest link needs for 64 KiB four times. Both leaders of a pair use the longer of their two times. Every leader makes
 * the same calls, for any partner and any speed. A pair that has measured enough continues with messages of 0 bytes.
 */
#include "runtime/api/call.h"
#include "runtime/base/log.h"
#include "runtime/start/startup.h"
#include "runtime/base/clock.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NODES_MAX 1024      /* measured; the time and rank 0's memory grow with their square */
#define MARGIN 0.1          /* by which another order than that of ranks must be better */
#define LATENCY_TRIES 8
#define RATE_TRIES 2
#define ENOUGH_US 20000
static const size_t rate_bytes[] = {64 << 10, 512 << 10, 4 << 20};
#define RATE_SIZES (sizeof(rate_bytes) / sizeof(rate_bytes[0]))
#define BYTES_MAX (4 << 20)

struct meter { /* of one leader */
    struct hx_comm *leaders;
    int n, me, partner;    /* nodes; partner me: none */
    size_t *counts;        /* [n] counts of an all-to-all, zeros but for the partner's; [n] displacements: zeros */
    unsigned char *sent;   /* [BYTES_MAX], and then what is received */
    struct hx_link *row;   /* [n] */
    hx_status_t status;    /* the first error */
};

static int meter_open(struct meter *m, int n, int me)
{
    *m = (struct meter){.n = n, .me = me, .counts = calloc(2 * (size_t)n, sizeof(size_t)), .sent = calloc(2, BYTES_MAX),
                        .row = calloc((size_t)n, sizeof(struct hx_link))};
    return m->counts && m->sent && m->row;
}

static void meter_close(struct meter *m)
{
    free(m->counts);
    free(m->sent);
    free(m->row);
}

/* So many bytes both ways with the partner. Returns the microseconds. */
static double exchange(struct meter *m, size_t bytes)
{
    const size_t *at = m->counts + m->n;
    double start = 1e6 * hx_now_s();

    m->counts[m->partner] = m->partner == m->me ? 0 : bytes;
    if (m->status == HX_SUCCESS)
        m->status = hx_alltoallv(m->sent, m->counts, at, m->sent + BYTES_MAX, m->counts, at, HX_BYTE, m->leaders);
    m->counts[m->partner] = 0;
    return 1e6 * hx_now_s() - start;
}

static double shortest(struct meter *m, size_t bytes, int tries)
{
    double us = INFINITY;

    for (int i = 0; i < tries; i++) {
        double took = exchange(m, bytes);
        us = took < us ? took : us;
    }
    return us;
}

/* The longer of both partners' times. */
static double agree(struct meter *m, double us)
{
    double theirs = us;

    memcpy(m->sent, &us, sizeof(us));
    exchange(m, sizeof(us));
    if (m->partner != m->me)
        memcpy(&theirs, m->sent + BYTES_MAX, sizeof(theirs));
    return us > theirs ? us : theirs;
}

static struct hx_link link_measure(struct meter *m)
{
    struct hx_link link;
    double us = 0;

    if (m->status == HX_SUCCESS)
        m->status = hx_barrier(m->leaders);
    link.latency_us = agree(m, shortest(m, sizeof(us), LATENCY_TRIES));
    for (size_t i = 0; i < RATE_SIZES; i++) {
        int enough = us >= ENOUGH_US;
        double took = agree(m, shortest(m, enough ? 0 : rate_bytes[i], RATE_TRIES));
        us = enough ? us : took;
        link.gb_s = enough ? link.gb_s : (double)rate_bytes[i] * 1e-3 / us;
    }
    return link;
}

/* The leaders' communicator, by each of them. */
static hx_status_t leaders_meet(struct meter *m, const struct hx_world *world)
{
    int *leaders = malloc((size_t)m->n * sizeof(*leaders));

    if (!leaders)
        return hx_fail(HX_ERR_NOMEM, "no memory for %d nodes", m->n);
    for (int node = 0; node < m->n; node++)
        leaders[node] = hx_shape_member(world->comms->members.shape, node, 0);
    m->status = hx_comm_group(world->comms, leaders, m->n, &m->leaders);
    free(leaders);
    return m->status;
}

/* All ranks meet after each round: so HX_TIMEOUT bounds each, not all of them together. */
static hx_status_t rounds_run(struct meter *m, struct hx_comm *comm, int leads)
{
    hx_status_t status = HX_SUCCESS;

    for (int round = 0; status == HX_SUCCESS && round < hx_pair_rounds(comm->members.shape->nnodes); round++) {
        if (leads) {
            m->partner = hx_pair_partner(m->me, round, m->n);
            m->row[m->partner] = link_measure(m);
        }
        status = hx_barrier(comm);
    }
    return status;
}

/* The rows of all leaders; matrix is rank 0's. */
static hx_status_t links_gather(struct meter *m, struct hx_link *matrix)
{
    if (m->status == HX_SUCCESS)
        m->status = hx_gather(m->row, matrix, 2 * (size_t)m->n, HX_FLOAT64, 0, m->leaders);
    if (m->leaders)
        hx_comm_free(m->leaders);
    return m->status;
}

static void links_log(const struct hx_link *links, int n, const int *order)
{
    struct hx_link slowest = links[(size_t)order[0] * (size_t)n + (size_t)order[1]];
    char text[256];

    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++)
            hx_debug("link between the nodes %d and %d: %.1f us, %.4f GB/s", i, j, links[i * n + j].latency_us,
                     links[i * n + j].gb_s);
    for (int i = 1; i < n; i++) {
        struct hx_link link = links[(size_t)order[i] * (size_t)n + (size_t)order[(i + 1) % n]];
        slowest = hx_link_us(link) > hx_link_us(slowest) ? link : slowest;
    }
    hx_ring_order_format(order, n, text, sizeof(text));
    hx_info("HX_RING_ORDER=auto: rings pass the nodes in the order %s, slowest link %.1f us, %.4f GB/s", text,
            slowest.latency_us, slowest.gb_s);
}

static hx_status_t order_solve(const struct hx_link *links, int n, int *order)
{
    double *us = malloc((size_t)n * (size_t)n * sizeof(*us));
    int status = -1;

    for (size_t i = 0; us && i < (size_t)n * (size_t)n; i++)
        us[i] = hx_link_us(links[i]);
    if (us)
        status = hx_ring_order_solve(us, n, MARGIN, order);
    free(us);
    if (status < 0)
        return hx_fail(HX_ERR_NOMEM, "no memory to order %d nodes", n);
    links_log(links, n, order);
    return HX_SUCCESS;
}

/* Order: [n], then the status of rank 0. */
static hx_status_t order_measure(struct hx_world *world, int n, int *order)
{
    struct hx_comm *comm = world->comms;
    int leads = comm->members.local_me == 0;
    struct meter meter = {0};
    hx_status_t status;
    int32_t lacks;

    if (comm->members.rank == 0)
        world->links = malloc((size_t)n * (size_t)n * sizeof(*world->links));
    lacks = (leads && !meter_open(&meter, n, comm->members.shape->node_of[comm->members.rank])) || (comm->members.rank == 0 && !world->links);
    if ((status = hx_allreduce(HX_IN_PLACE, &lacks, 1, HX_INT32, HX_MAX, comm)) == HX_SUCCESS && lacks)
        status =
            hx_fail(HX_ERR_NOMEM, "HX_RING_ORDER=auto: some rank has no memory to measure the links of %d nodes", n);
    if (status == HX_SUCCESS && leads)
        meter.status = leaders_meet(&meter, world);
    if (status == HX_SUCCESS)
        status = rounds_run(&meter, comm, leads);
    if (status == HX_SUCCESS && leads)
        order[n] = (int)links_gather(&meter, world->links);
    meter_close(&meter);
    if (status == HX_SUCCESS && comm->members.rank == 0 && order[n] == HX_SUCCESS)
        order[n] = (int)order_solve(world->links, n, order);
    if (status == HX_SUCCESS)
        status = hx_bcast(order, (size_t)n + 1, HX_INT32, 0, comm);
    if (status == HX_SUCCESS && order[n] != HX_SUCCESS)
        return hx_fail((hx_status_t)order[n], "HX_RING_ORDER=auto: the links between the nodes could not be measured");
    return status;
}

static hx_status_t order_find(struct hx_world *world, const char *text, int n, int *order)
{
    char error[256];

    if (!strcmp(text, "auto"))
        return order_measure(world, n, order);
    if (hx_ring_order_parse(text, n, order, error, sizeof(error)) < 0) {
        hx_fail_hold();
        hx_fail(HX_ERR_ENV, "HX_RING_ORDER=%s: %s", text, error);
        hx_alike_tell(world);
        return HX_ERR_ENV;
    }
    return HX_SUCCESS;
}

hx_status_t hx_ring_order_share(struct hx_world *world)
{
    const char *text = world->process.env->ring_order;
    struct hx_comm *comm = world->comms;
    int n = comm->members.shape->nnodes, *order, is_auto = text && !strcmp(text, "auto");
    hx_status_t status;

    if (!text || !strcmp(text, "rank") || (is_auto && n < 4)) /* all orders of three nodes are one ring */
        return HX_SUCCESS;
    if (is_auto && n > NODES_MAX) {
        if (comm->members.rank == 0)
            hx_warn("HX_RING_ORDER=auto: this job has %d nodes, and Hierax measures the links of at most %d. Rings keep the rank "
                    "order. To change it, set HX_RING_ORDER to a list of nodes",
                    n, NODES_MAX);
        return HX_SUCCESS;
    }
    if (!(order = malloc(((size_t)n + 1) * sizeof(*order))))
        return hx_fail(HX_ERR_NOMEM, "no memory for the order of %d nodes", n);
    status = order_find(world, text, n, order);
    if (status == HX_SUCCESS && hx_shape_set_ring(comm->members.shape, order) < 0)
        status = hx_fail(HX_ERR_NOMEM, "no memory for the order of %d nodes", n);
    free(order);
    return status == HX_SUCCESS ? hx_comm_replan(comm) : status;
}
