/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank of a job of single-rank nodes: what the transport counted in one call is what the plan says, to the byte.
 * usage: live_counters COLLECTIVE ALGORITHM (as forced by the environment) */
#include "runtime/api/comm.h"
#include "runtime/plan/explain.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 60000 };

static size_t counts[16], displs[16];

static hx_status_t call(enum hx_coll coll, const float *in, float *out, hx_comm_t *comm)
{
    if (coll == HX_COLL_ALLREDUCE)
        return hx_allreduce(in, out, COUNT, HX_FLOAT32, HX_SUM, comm);
    if (coll == HX_COLL_REDUCE_SCATTER)
        return hx_reduce_scatter_block(in, out, COUNT, HX_FLOAT32, HX_SUM, comm);
    if (coll == HX_COLL_BCAST)
        return hx_bcast(out, COUNT, HX_FLOAT32, 0, comm);
    if (coll == HX_COLL_REDUCE)
        return hx_reduce(in, out, COUNT, HX_FLOAT32, HX_SUM, 0, comm);
    if (coll == HX_COLL_GATHER)
        return hx_gather(in, out, COUNT, HX_FLOAT32, 0, comm);
    if (coll == HX_COLL_SCATTER)
        return hx_scatter(in, out, COUNT, HX_FLOAT32, 0, comm);
    if (coll == HX_COLL_ALLTOALL)
        return hx_alltoall(in, out, COUNT, HX_FLOAT32, comm);
    if (coll == HX_COLL_ALLTOALLV)
        return hx_alltoallv(in, counts, displs, out, counts, displs, HX_FLOAT32, comm);
    if (coll == HX_COLL_BARRIER)
        return hx_barrier(comm);
    if (coll == HX_COLL_SCAN)
        return hx_scan(in, out, COUNT, HX_FLOAT32, HX_SUM, comm);
    if (coll == HX_COLL_EXSCAN)
        return hx_exscan(in, out, COUNT, HX_FLOAT32, HX_SUM, comm);
    return hx_allgather(in, out, COUNT, HX_FLOAT32, comm);
}

int main(int argc, char **argv)
{
    struct hx_net_counters before, after;
    struct hx_choice choice;
    struct hx_plan_stats stats;
    enum hx_coll coll;
    hx_comm_t *comm;
    uint64_t count;
    uint32_t bytes;
    int wrong;

    if (argc != 3 || hx_coll_parse(argv[1], &coll) < 0 || hx_init(&comm) != HX_SUCCESS)
        return 2;
    count = coll == HX_COLL_BARRIER ? 1 : COUNT; /* a token */
    bytes = coll == HX_COLL_BARRIER ? 1 : sizeof(float);
    float *in = calloc((size_t)comm->members.size * COUNT, sizeof(float)), *out = calloc((size_t)comm->members.size * COUNT, sizeof(float));
    for (size_t r = 0; r < (size_t)comm->members.size; r++) {
        counts[r] = COUNT;
        displs[r] = r * COUNT;
    }
    hx_registry.net->counters(comm->world->process.net, &before);
    if (!in || !out || call(coll, in, out, comm) != HX_SUCCESS)
        return 1;
    hx_registry.net->counters(comm->world->process.net, &after); 
    if (hx_registry.planner->choose(comm->members.planner, coll, 0, (struct hx_traits){0}, count, bytes, &choice) != HX_SUCCESS)
        return 1;
    struct hx_sizes sizes = {.count = count, .elem_bytes = bytes, .fine_slices = choice.fine_slices,
                             .coarse_slices = choice.coarse_slices, .limit = choice.limit};
    if (hx_coll_has_pair_counts(coll)) /* one message whatever the length */
        sizes.fine_slices = sizes.coarse_slices = 1;
    hx_plan_count(choice.plan, comm->members.shape, &sizes, &stats);
    wrong = after.messages_sent - before.messages_sent != stats.inter_messages ||
            after.bytes_sent - before.bytes_sent != stats.inter_bytes_sent || !strstr(choice.plan->name, argv[2]);
    if (comm->members.rank == 0 || wrong)
        printf("%s %s %s: %u rounds; messages %llu planned, %llu sent; bytes %llu planned, %llu sent\n", wrong ? "FAILED" : "ok",
               argv[1], choice.plan->name, stats.rounds, (unsigned long long)stats.inter_messages,
               (unsigned long long)(after.messages_sent - before.messages_sent), (unsigned long long)stats.inter_bytes_sent,
               (unsigned long long)(after.bytes_sent - before.bytes_sent));
    hx_plan_release(choice.plan);
    free(in);
    free(out);
    return hx_finalize() != HX_SUCCESS || wrong;
}
