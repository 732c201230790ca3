/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank of three that makes a known number of calls of every form, so that HX_STATS can be compared with it. */
#include <hierax.h>
#include <stdio.h>
#include <stdlib.h>

static float in[1024], out[1024];
static hx_comm_t *world;

static void check(hx_status_t status, const char *what)
{
    if (status == HX_SUCCESS)
        return;
    fprintf(stderr, "counted: %s: %s\n", what, hx_error_detail(world));
    exit(1);
}

/* argument: call also in a communicator that goes before the end */
int main(int argc, char **argv)
{
    size_t counts[3] = {1, 2, 3}, ones[3] = {1, 1, 1}, places[3] = {0, 1, 2};
    hx_request_t *request;
    hx_comm_t *other;

    check(hx_init(&world), "hx_init");
    for (int i = 0; i < 10; i++)
        check(hx_allreduce(in, out, 100, HX_FLOAT32, HX_SUM, world), "hx_allreduce");
    check(hx_allreduce(in, out, 0, HX_FLOAT32, HX_SUM, world), "hx_allreduce of nothing");
    other = world;
    (void)argv;
    if (argc > 1)
        check(hx_comm_dup(world, &other), "hx_comm_dup");
    for (int i = 0; i < 5; i++)
        check(hx_allgather(in, out, 10, HX_FLOAT32, other), "hx_allgather");
    if (argc > 1)
        check(hx_comm_free(other), "hx_comm_free");
    check(hx_bcast(in, 8, HX_BYTE, 1, world), "hx_bcast");
    check(hx_reduce_scatter(in, out, counts, HX_FLOAT32, HX_SUM, world), "hx_reduce_scatter");
    check(hx_gatherv(in, 2, out, (size_t[]){2, 2, 2}, NULL, HX_FLOAT32, 0, world), "hx_gatherv");
    check(hx_alltoallv(in, ones, places, out, ones, places, HX_FLOAT32, world), "hx_alltoallv");
    check(hx_ibcast(in, 16, HX_BYTE, 0, world, &request), "hx_ibcast");
    check(hx_wait(request), "hx_wait");
    check(hx_scan_init(in, out, 4, HX_FLOAT32, HX_SUM, world, &request), "hx_scan_init");
    for (int i = 0; i < 2; i++) {
        check(hx_start(request), "hx_start");
        check(hx_wait(request), "hx_wait");
    }
    check(hx_request_free(request), "hx_request_free");
    check(hx_finalize(), "hx_finalize");
    return 0;
}
