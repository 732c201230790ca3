/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank of a job of single-rank nodes: what the transport counted in one call is what the plan says, to the byte.
 * usage: live_counters COLLECTIVE ALGORITHM (as forced by the environment) */
#include "runtime/api/comm.h"
#include "runtime/plan/print.h"
#include "tools/common/bench_backend.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 60000 };

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
    bytes = coll == HX_COLL_BARRIER ? 1 : sizeof(int32_t);
    size_t counts[16], displs[16], p = (size_t)comm->members.size;
    struct bench_call call = {.collective = (enum hx_function)coll, .in = calloc(p * COUNT, sizeof(int32_t)), .out = calloc(p * COUNT, sizeof(int32_t)),
                              .count = COUNT, .counts = counts, .displs = displs, .dtype = HX_INT32, .op = HX_SUM};
    for (size_t r = 0; r < p; r++) {
        counts[r] = COUNT;
        displs[r] = r * COUNT;
    }
    hx_registry.net->counters(comm->world->process.net, &before);
    bench_backend_use(comm);
    if (!call.in || !call.out || bench_backend_call(&call))
        return 1;
    hx_registry.net->counters(comm->world->process.net, &after); 
    if (hx_registry.planner->choose(comm->members.planner, coll, 0, hx_traits_of(HX_INT32), count, bytes, &choice) != HX_SUCCESS)
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
    free((void *)(uintptr_t)call.in);
    free(call.out);
    return hx_finalize() != HX_SUCCESS || wrong;
}
