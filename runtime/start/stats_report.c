/* SPDX-License-Identifier: BSD-3-Clause */
/* HX_STATS: print the counters at the end. */
#include "runtime/api/lock.h"
#include "runtime/start/startup.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print(const struct hx_stats *stats, const char *whose)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes); /* so that the lines of a rank stay together */
    int rows = 0;

    for (int i = 0; out && i < HX_COLL_COUNT; i++) {
        const struct hx_coll_stats *c = &stats->colls[i];
        if (c->calls + c->started == 0)
            continue;
        if (rows++ == 0)
            fprintf(out, "hierax stats: %s: %-21s %8s %7s %12s %10s %9s\n", whose, "collective", "calls", "started", "bytes", "ms",
                    "longest");
        fprintf(out, "hierax stats: %s: %-21s %8" PRIu64 " %7" PRIu64 " %12" PRIu64 " %10.3f %9.3f\n", whose,
                hx_coll_name((enum hx_coll)i), c->calls, c->started, c->bytes, (double)c->ns * 1e-6, (double)c->longest_ns * 1e-6);
    }
    for (const struct hx_counter_row *row = hx_counter_rows; out && row->name; row++) {
        uint64_t value;
        memcpy(&value, (const char *)&stats->counters + row->offset, sizeof(value));
        if (value)
            fprintf(out, "hierax stats: %s: %-21s %8" PRIu64 " %s\n", whose, row->name, value, row->help);
    }
    if (out && fclose(out) == 0)
        fputs(text, stderr);
    free(text);
}

_Static_assert(sizeof(struct hx_stats) % sizeof(uint64_t) == 0, "sums of numbers of 64 bits");

/* The sums over all ranks, but the longest of the longest. */
static hx_status_t sum(struct hx_comm *comm, const struct hx_stats *mine, struct hx_stats *all)
{
    uint64_t longest[HX_COLL_COUNT];
    hx_status_t status;

    for (int i = 0; i < HX_COLL_COUNT; i++)
        longest[i] = mine->colls[i].longest_ns;
    status = hx_allreduce(mine, all, sizeof(*mine) / sizeof(uint64_t), HX_UINT64, HX_SUM, comm);
    if (status == HX_SUCCESS)
        status = hx_allreduce(HX_IN_PLACE, longest, HX_COLL_COUNT, HX_UINT64, HX_MAX, comm);
    for (int i = 0; i < HX_COLL_COUNT; i++)
        all->colls[i].longest_ns = longest[i];
    return status;
}

void hx_stats_tell(struct hx_world *world, int failed)
{
    struct hx_stats mine = world->stats, all;
    char whose[64];

    hx_lock(); /* a progress thread counts as well */
    hx_counters_read(world, &mine.counters);
    hx_unlock();
    if (world->process.env->stats > 1 || (failed && world->process.rank == 0)) {
        snprintf(whose, sizeof(whose), "rank %d", world->process.rank);
        print(&mine, whose);
    }
    if (failed || sum(world->comms, &mine, &all) != HX_SUCCESS || world->process.rank != 0)
        return;
    snprintf(whose, sizeof(whose), "all %d ranks", world->process.size);
    print(&all, whose);
}
