/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HX_RING_ORDER and hx_comm_reorder: the order in which rings pass the nodes, given by the user or measured. To measure, the leaders of the
 * nodes exchange messages in pairs (links.h), as a ring would use the links. Rank 0 computes the order (topo/ring_order.h) and sends it to
 * all ranks.
 */
#include "runtime/api/call.h"
#include "runtime/api/failed.h"
#include "runtime/api/lock.h"
#include "runtime/base/log.h"
#include "runtime/start/links.h"
#include "runtime/start/startup.h"
#include <stdlib.h>
#include <string.h>

#define NODES_MAX 1024 /* measured; the time and rank 0's memory grow with their square */
#define MARGIN 0.1     /* by which another order than that of ranks must be better */

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
    hx_info("rings pass the nodes in the order %s, slowest link %.1f us, %.4f GB/s", text, slowest.latency_us, slowest.gb_s);
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

static int round_next(void *arg, const struct hx_link *matrix)
{
    int *left = arg;

    (void)matrix;
    return --*left;
}

/* The world keeps the links between all its nodes, for coll_info. */
static void links_keep(struct hx_comm *comm, struct hx_link *links)
{
    struct hx_link **kept = &comm->world->links;

    if (comm != comm->world->comms) {
        free(links);
        return;
    }
    free(*kept);
    *kept = links;
}

/* Order: [n], then the status of rank 0. */
static hx_status_t order_measure(struct hx_comm *comm, int n, int *order)
{
    int left = hx_pair_rounds(n);
    struct hx_links links = {HX_LINK_BOTH_WAYS, round_next, &left, NULL};
    hx_status_t status;

    if (comm->members.rank == 0)
        links.matrix = malloc((size_t)n * (size_t)n * sizeof(*links.matrix));
    if ((status = hx_links_measure(comm, &links)) == HX_SUCCESS) {
        order[n] = comm->members.rank == 0 ? (int)order_solve(links.matrix, n, order) : HX_SUCCESS;
        status = hx_bcast(order, (size_t)n + 1, HX_INT32, 0, comm);
    }
    links_keep(comm, links.matrix);
    return status == HX_SUCCESS && order[n] != HX_SUCCESS ? hx_fail((hx_status_t)order[n], "no memory to order %d nodes", n) : status;
}

static hx_status_t order_find(struct hx_world *world, const char *text, int n, int *order)
{
    char error[256];

    if (!strcmp(text, "auto"))
        return order_measure(world->comms, n, order);
    if (hx_ring_order_parse(text, n, order, error, sizeof(error)) < 0) {
        hx_fail_hold();
        hx_fail(HX_ERR_ENV, "HX_RING_ORDER=%s: %s", text, error);
        hx_alike_tell(world);
        return HX_ERR_ENV;
    }
    return HX_SUCCESS;
}

static hx_status_t order_use(struct hx_comm *comm, const int *order)
{
    if (hx_shape_set_ring(comm->members.shape, order) < 0)
        return hx_fail(HX_ERR_NOMEM, "no memory for the order of %d nodes", comm->members.shape->nnodes);
    return hx_comm_replan(comm);
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
    if (status == HX_SUCCESS)
        status = order_use(comm, order);
    free(order);
    return status;
}

/* ---- again, in a communicator that is in use --------------------------------------------------------------------- */

/* Can all ranks take part? Each tells the others what hinders it. */
static hx_status_t reorder_agree(struct hx_comm *comm, int has_memory)
{
    struct hx_call_key kind = hx_call_key_of(HX_COLL_ALLREDUCE, HX_INT32, HX_MAX, 0, 2);
    int32_t by[2] = {comm->requests ? comm->members.rank + 1 : 0, has_memory ? 0 : comm->members.rank + 1};
    hx_status_t status = hx_call_inner("hx_comm_reorder", comm, hx_call_key_for(HX_FOR_REORDER, 0, kind), by, by);

    if (status != HX_SUCCESS)
        return status;
    if (by[0])
        return hx_comm_fail(comm, hx_fail(HX_ERR_STATE, "hx_comm_reorder: rank %d has requests of this communicator, prepared or started; free "
                                                        "them first", by[0] - 1));
    if (by[1])
        return hx_comm_fail(comm, hx_fail(HX_ERR_NOMEM, "hx_comm_reorder: rank %d has no memory for the order of %d nodes", by[1] - 1,
                                          comm->members.shape->nnodes));
    return HX_SUCCESS;
}

static hx_status_t reorder(struct hx_comm *comm, int *order)
{
    const int n = comm->members.shape->nnodes;
    hx_status_t status = reorder_agree(comm, order != NULL);

    if (status != HX_SUCCESS || n < 4)
        return status;
    if (n > NODES_MAX)
        return hx_comm_fail(comm, hx_fail(HX_ERR_ARG, "hx_comm_reorder: the communicator has %d nodes; choose one of at most %d", n, NODES_MAX));
    hx_unlock(); /* these are calls of public functions */
    status = order_measure(comm, n, order);
    hx_lock();
    if (status == HX_SUCCESS && (status = order_use(comm, order)) != HX_SUCCESS)
        hx_comm_break(comm, status); /* other ranks have another order */
    return status == HX_SUCCESS || comm->members.failed ? status : hx_comm_fail(comm, status);
}

hx_status_t hx_comm_reorder(hx_comm_t *comm)
{
    hx_status_t status;
    int *order;

    HX_ENTER();
    if ((status = hx_comm_check(comm, "hx_comm_reorder")) != HX_SUCCESS || (status = hx_notice_refuse("hx_comm_reorder")) != HX_SUCCESS ||
        (status = hx_group_refuse(comm, "hx_comm_reorder")) != HX_SUCCESS)
        return status;
    order = malloc(((size_t)comm->members.shape->nnodes + 1) * sizeof(*order));
    status = reorder(comm, order);
    free(order);
    return status;
}
