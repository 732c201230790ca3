/* SPDX-License-Identifier: BSD-3-Clause */
/* HXMPI_STATS=1: how many calls Hierax has served, why it has not served the others, and how long the blocking ones took. */
#include "hxmpi.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BLOCKS(name, starts) "MPI_" #name,
#define STARTS(name, starts) "MPI_" #starts,
#define PERSISTENT(name, starts) "MPI_" #name "_init",
static const char *const names[] = {HXMPI_COLLECTIVES(BLOCKS) HXMPI_COLLECTIVES(STARTS) HXMPI_COLLECTIVES(PERSISTENT)};
#define TEXT(name, text) text,
static const char *const texts[] = {HXMPI_CAUSES(TEXT)};

static unsigned long counts[HXMPI_FORMS * HXMPI_NCOLLECTIVES][HXMPI_NCAUSES];
static unsigned long blocked_ns;
int hxmpi_stats_wanted;

void hxmpi_stats_begin(void)
{
    const char *wish = getenv("HXMPI_STATS");

    hxmpi_stats_wanted = wish && !strcmp(wish, "1");
    if (wish && *wish && strcmp(wish, "1") != 0 && strcmp(wish, "0") != 0)
        hxmpi_say("HXMPI_STATS=%.60s is unknown; choices: 0 1. Nothing is counted", wish);
}

void hxmpi_stats_add(int what, enum hxmpi_cause cause)
{
    __atomic_fetch_add(&counts[what][cause], 1, __ATOMIC_RELAXED);
}

unsigned long hxmpi_stats_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1000000000UL * (unsigned long)now.tv_sec + (unsigned long)now.tv_nsec;
}

void hxmpi_stats_blocked(unsigned long since)
{
    if (since)
        __atomic_fetch_add(&blocked_ns, hxmpi_stats_clock() - since, __ATOMIC_RELAXED);
}

void hxmpi_stats_print(int rank)
{
    unsigned long calls = 0, served = 0;

    if (!hxmpi_stats_wanted)
        return;
    for (int c = 0; c < HXMPI_FORMS * HXMPI_NCOLLECTIVES; c++)
        for (int cause = 0; cause < HXMPI_NCAUSES; cause++) {
            calls += counts[c][cause];
            served += cause == HXMPI_CAUSE_SERVED ? counts[c][cause] : 0;
            if (counts[c][cause])
                fprintf(stderr, "hierax-mpi: rank %d: %-29s %10lu  %s\n", rank, names[c], counts[c][cause], texts[cause]);
        }
    fprintf(stderr, "hierax-mpi: rank %d: %lu of %lu collective calls served, %.6f s in blocking ones\n", rank, served, calls,
            1e-9 * (double)blocked_ns);
}
