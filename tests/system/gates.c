/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One rank of 5, on two nodes. Only the first rank of each node opens endpoints at start (HX_ENDPOINTS=1). usage: gates CASE
 *
 *   late     ranks 0 1 | 2 3 4. Rank 0 waits for a message of rank 3, which computes and has no endpoint. Rank 2 is killed: now its node has
 *            no endpoint. One second later rank 4 calls Hierax and opens one. So rank 3 is alive, and its message arrives
 *   silent   the same, but rank 4 does not call Hierax: rank 3 counts as dead when HX_SILENT seconds have passed since the death of rank 2
 *   leaves   ranks 0 | 1 2 3 4. Ranks 2 to 4 call hx_finalize and leave without an endpoint. Ranks 0 and 1 agree, because all others have
 *            certainly ended, and rank 0 learns that rank 2 has not died
 *   computes ranks 0 1 | 2 3 4. Ranks 1 and 3 send each other a message, while the others compute. They do not find each other before rank 0 or
 *            2 calls Hierax. The warning of each says so
 *
 * Times in milliseconds are counted from the end of hx_init.
 */
#include "runtime/base/clock.h"
#include <hierax.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { DEATH_MS = 4000, SUBSTITUTE_MS = 5000, SEND_MS = 7000, SILENT_MS = 17000 };

static hx_comm_t *world;
static uint64_t begin;
static int rank;

static int ms(void)
{
    return (int)((hx_now_ns() - begin) / 1000000);
}

static void compute(int until_ms)
{
    while (ms() < until_ms)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void tell(const char *what, hx_status_t status, const hx_comm_t *comm)
{
    printf("rank %d %s status %d at %d ms%s%s\n", rank, what, (int)status, ms(), status == HX_SUCCESS ? "" : ": ",
           status == HX_SUCCESS ? "" : hx_error_detail(comm));
    fflush(stdout);
}

static void gate_dies(int silent)
{
    int value = rank;

    switch (rank) {
    case 0:
        tell("receives", hx_recv(&value, 1, HX_INT32, 3, 0, world), world);
        break;
    case 2:
        compute(DEATH_MS);
        raise(SIGKILL);
        break;
    case 3:
        compute(silent ? SILENT_MS : SEND_MS);
        if (!silent)
            tell("sends", hx_send(&value, 1, HX_INT32, 0, 0, world), world);
        tell("sends", hx_send(&value, 1, HX_INT32, 4, 1, world), world);
        break;
    case 4:
        compute(silent ? SILENT_MS : SUBSTITUTE_MS);
        tell("receives", hx_recv(&value, 1, HX_INT32, 3, 1, world), world);
        break;
    default: /* hx_finalize would fail because of rank 2, and so end the wait of rank 0 */
        compute(SILENT_MS);
    }
}

static void ranks_leave(void)
{
    uint64_t completed;
    hx_comm_t *other;
    int flags = 1, value;

    if (hx_comm_dup(world, &other) != HX_SUCCESS)
        return;
    if (rank >= 2) {
        tell("waits", hx_barrier(world), world);
        return;
    }
    if (rank == 1) {
        compute(500);
        hx_comm_revoke(world);
    }
    compute(2000);
    tell("agrees", hx_comm_agree(world, &flags, &completed), world);
    if (rank == 0)
        tell("receives", hx_recv(&value, 1, HX_INT32, 2, 0, other), other);
}

static void gates_compute(void)
{
    int value = rank;

    if (rank == 1)
        tell("sends", hx_send(&value, 1, HX_INT32, 3, 0, world), world);
    else if (rank == 3)
        tell("receives", hx_recv(&value, 1, HX_INT32, 1, 0, world), world);
    else
        compute(SEND_MS);
    tell("meets", hx_barrier(world), world);
}

int main(int argc, char **argv)
{
    if (argc != 2 || hx_init(&world) != HX_SUCCESS)
        return 2;
    begin = hx_now_ns();
    rank = hx_rank(world);
    if (!strcmp(argv[1], "leaves"))
        ranks_leave();
    else if (!strcmp(argv[1], "computes"))
        gates_compute();
    else
        gate_dies(!strcmp(argv[1], "silent"));
    hx_finalize();
    return 0;
}
