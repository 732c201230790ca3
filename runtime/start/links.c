/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The leaders of the nodes exchange messages in pairs, all pairs of a round at once:
 *
 *   4 nodes, 3 rounds:   0-3 1-2     1-3 2-0     2-3 0-1
 *
 * A pair takes longer messages only until one takes 20 ms, so a round takes some tenths of a second, and no more than
 * its slowest link needs for 64 KiB four times. (Each way: eight times.) Both leaders of a pair use the longer of their two
 * times. Every leader makes the same calls, for any partner and any speed. A pair that has measured enough continues with
 * messages of 0 bytes.
 */
#include "runtime/start/links.h"
#include "runtime/api/call.h"
#include "runtime/base/clock.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LATENCY_TRIES 8
#define RATE_TRIES 2
#define RATE_MORE 6 /* times so many tries of the longest message each way, if it takes less than: */
#define ENOUGH_US 20000
static const size_t rate_bytes[] = {64 << 10, 512 << 10, 4 << 20};
#define RATE_SIZES (sizeof(rate_bytes) / sizeof(rate_bytes[0]))
#define BYTES_MAX (4 << 20)

struct found { /* of one leader in one round, for rank 0 */
    double partner; /* itself: none */
    struct hx_link link; /* its messages to the partner */
};

struct meter { /* of one leader */
    struct hx_comm *leaders;
    enum hx_link_use use;
    int n, me, partner;   /* nodes; partner me: none */
    size_t *counts;       /* [n] counts that an all-to-all sends, [n] that it receives: zeros but for the partner's; [n] zeros */
    unsigned char *sent;  /* [BYTES_MAX], and then what is received */
    struct found *found;  /* [n] on rank 0 */
    hx_status_t status;   /* the first error */
};

static int meter_open(struct meter *m, enum hx_link_use use, int n, int me)
{
    *m = (struct meter){.use = use, .n = n, .me = me, .counts = calloc(3 * (size_t)n, sizeof(size_t)), .sent = calloc(2, BYTES_MAX),
                        .found = calloc((size_t)n, sizeof(*m->found))};
    return m->counts && m->sent && m->found;
}

static void meter_close(struct meter *m)
{
    if (m->leaders)
        hx_comm_free(m->leaders);
    free(m->counts);
    free(m->sent);
    free(m->found);
}

/* So many bytes to and from the partner. Returns the microseconds. */
static double exchange(struct meter *m, size_t give, size_t take)
{
    size_t *gives = m->counts, *takes = gives + m->n;
    const size_t *at = takes + m->n;
    double start = 1e6 * hx_now_s();

    if (m->partner != m->me) {
        gives[m->partner] = give;
        takes[m->partner] = take;
    }
    if (m->status == HX_SUCCESS)
        m->status = hx_alltoallv(m->sent, gives, at, m->sent + BYTES_MAX, takes, at, HX_BYTE, m->leaders);
    gives[m->partner] = takes[m->partner] = 0;
    return 1e6 * hx_now_s() - start;
}

/* The longer of both partners' times. Neither begins the next try before both have ended this one. */
static double agree(struct meter *m, double us)
{
    double theirs = us;

    memcpy(m->sent, &us, sizeof(us));
    exchange(m, sizeof(us), sizeof(us));
    if (m->partner != m->me)
        memcpy(&theirs, m->sent + BYTES_MAX, sizeof(theirs));
    return us > theirs ? us : theirs;
}

static double shortest(struct meter *m, size_t give, size_t take, int tries)
{
    double us = INFINITY;

    for (int i = 0; i < tries; i++) {
        double took = agree(m, exchange(m, give, take));
        us = took < us ? took : us;
    }
    return us;
}

/* In GB/s. gives, takes: does this leader send, receive? */
static double rate_measure(struct meter *m, int gives, int takes)
{
    const size_t more = m->use == HX_LINK_EACH_WAY ? RATE_MORE : 0;
    double us = 0, gb_s = 0;

    for (size_t i = 0; i < RATE_SIZES + more; i++) {
        size_t bytes = us >= ENOUGH_US ? 0 : rate_bytes[i < RATE_SIZES ? i : RATE_SIZES - 1];
        double took = shortest(m, gives ? bytes : 0, takes ? bytes : 0, RATE_TRIES);
        us = bytes && (i < RATE_SIZES || took < us) ? took : us;
        gb_s = bytes ? (double)bytes * 1e-3 / us : gb_s;
    }
    return gb_s;
}

static struct hx_link link_measure(struct meter *m)
{
    struct hx_link link;

    if (m->status == HX_SUCCESS)
        m->status = hx_barrier(m->leaders);
    link.latency_us = shortest(m, sizeof(double), sizeof(double), LATENCY_TRIES);
    if (m->use == HX_LINK_BOTH_WAYS) {
        link.gb_s = rate_measure(m, 1, 1);
    } else {
        const int low = m->me < m->partner;
        const double up = rate_measure(m, low, !low), down = rate_measure(m, !low, low);
        link.gb_s = low ? up : down;
    }
    return link;
}

/* The leaders' communicator, by each of them. */
static hx_status_t leaders_meet(struct meter *m, struct hx_comm *comm)
{
    int *leaders = malloc((size_t)m->n * sizeof(*leaders));

    if (!leaders)
        return hx_fail(HX_ERR_NOMEM, "no memory for %d nodes", m->n);
    for (int node = 0; node < m->n; node++)
        leaders[node] = hx_shape_member(comm->members.shape, node, 0);
    m->status = hx_comm_group(comm, leaders, m->n, &m->leaders);
    free(leaders);
    return m->status;
}

/* One leader's part of a round. Rank 0 keeps the best of each link. */
static hx_status_t round_run(struct meter *m, int round, struct hx_link *matrix)
{
    struct found own;

    m->partner = hx_pair_partner(m->me, round, m->n);
    own = (struct found){m->partner, link_measure(m)};
    if (m->status == HX_SUCCESS)
        m->status = hx_gather(&own, m->found, sizeof(own) / sizeof(double), HX_FLOAT64, 0, m->leaders);
    for (int node = 0; m->status == HX_SUCCESS && matrix && node < m->n; node++) {
        const struct found *found = &m->found[node];
        struct hx_link *link = &matrix[(size_t)node * (size_t)m->n + (size_t)found->partner];
        if ((int)found->partner == node)
            continue;
        if (link->gb_s == 0 || found->link.latency_us < link->latency_us)
            link->latency_us = found->link.latency_us;
        if (found->link.gb_s > link->gb_s)
            link->gb_s = found->link.gb_s;
    }
    return m->status;
}

hx_status_t hx_links_measure(struct hx_comm *comm, const struct hx_links *links)
{
    const int leads = comm->members.local_me == 0, n = comm->members.shape->nnodes, rank = comm->members.rank;
    hx_status_t status, failed = HX_SUCCESS;
    struct meter meter = {0};
    int32_t round = 0, lacks = leads && !meter_open(&meter, links->use, n, comm->members.shape->node_of[rank]);

    if (rank == 0 && links->matrix)
        memset(links->matrix, 0, (size_t)n * (size_t)n * sizeof(*links->matrix));
    lacks |= rank == 0 && !links->matrix;
    if ((status = hx_allreduce(HX_IN_PLACE, &lacks, 1, HX_INT32, HX_MAX, comm)) == HX_SUCCESS && lacks)
        status = hx_fail(HX_ERR_NOMEM, "some rank has no memory to measure the links of %d nodes", n);
    if (status == HX_SUCCESS && leads)
        failed = leaders_meet(&meter, comm);
    /* all ranks meet before each round: so HX_TIMEOUT bounds each, not all of them together */
    while (status == HX_SUCCESS && round >= 0) {
        if (rank == 0)
            round = failed == HX_SUCCESS ? links->next(links->arg, links->matrix) : -1 - (int32_t)failed;
        status = hx_bcast(&round, 1, HX_INT32, 0, comm);
        if (status == HX_SUCCESS && round >= 0 && leads && failed == HX_SUCCESS)
            failed = round_run(&meter, round, rank == 0 ? links->matrix : NULL);
    }
    meter_close(&meter);
    if (status == HX_SUCCESS && round < -1 && rank > 0)
        status = hx_fail((hx_status_t)(-1 - round), "the links between the nodes could not be measured");
    return status == HX_SUCCESS ? failed : status;
}
