/* SPDX-License-Identifier: BSD-3-Clause */
/* The EXAMPLES of the man pages: what stands between a line that names functions and "end". tests/tools/man.sh compiles them. */
#include <hierax.h>
#include <poll.h>
#include <semaphore.h>
#include <stdio.h>

void examples(hx_comm_t *world, float *in, float *out, float *sums, size_t n, size_t *counts, size_t *displs, int color,
              hx_reduce_fn_t *multiply, const hx_bootstrap_t *callbacks);

void examples(hx_comm_t *world, float *in, float *out, float *sums, size_t n, size_t *counts, size_t *displs, int color,
              hx_reduce_fn_t *multiply, const hx_bootstrap_t *callbacks)
{
    hx_comm_t *half, *copy, *group;
    hx_request_t *request, *other;
    hx_status_t status;
    hx_op_t product;
    hx_dtype_t quaternion;
    hx_plan_info_t info;
    hx_prediction_t prediction;
    void *memory;
    int done = 0, left = 0, right = 0;
    sem_t reached;
    extern void wake(hx_status_t status, void *ctx);
    extern void mpi_progress(void *ctx);
    extern int mpi_test(void);

    {
/* hx_init hx_finalize hx_error_detail */
hx_comm_t *world;

if (hx_init(&world) != HX_SUCCESS)
    fprintf(stderr, "%s\n", hx_error_detail(NULL));
else
    hx_finalize();
/* end */
    }
/* hx_init_with */
hx_config_t config = {.bootstrap = callbacks};

status = hx_init_with(&config, &world);
/* end */
/* hx_rank hx_size hx_version */
printf("rank %d of %d, Hierax %s\n", hx_rank(world), hx_size(world),
       hx_version());
/* end */
/* hx_strerror */
status = hx_barrier(world);
if (status != HX_SUCCESS)
    fprintf(stderr, "%s: %s\n", hx_strerror(status),
            hx_error_detail(world));
/* end */
/* hx_comm_split hx_comm_free */
status = hx_comm_split(world, color, hx_rank(world), &half);
status = hx_barrier(half);
hx_comm_free(half);
/* end */
/* hx_comm_split_node */
hx_comm_t *node;

status = hx_comm_split_node(world, &node);
printf("local rank %d of %d\n", hx_rank(node), hx_size(node));
/* end */
/* hx_send hx_recv */
if (hx_rank(world) == 0)
    status = hx_send(in, n, HX_FLOAT32, 1, 7, world); /* tag 7 */
if (hx_rank(world) == 1)
    status = hx_recv(out, n, HX_FLOAT32, 0, 7, world);
/* end */
/* hx_isend hx_irecv hx_send_init hx_recv_init */
status = hx_irecv(out, n, HX_FLOAT32, left, 0, world, &request);
status = hx_send(in, n, HX_FLOAT32, right, 0, world);
status = hx_wait(request);
/* end */
/* hx_iprobe */
size_t bytes;

status = hx_iprobe(left, 0, world, &done, &bytes);
if (done)
    printf("a message of %zu bytes\n", bytes);
/* end */
/* hx_comm_revoke hx_comm_failed */
int dead[8], ndead;

if (hx_barrier(world) == HX_ERR_PEER_DEAD) {
    hx_comm_revoke(world); /* so that all ranks leave its calls */
    status = hx_comm_failed(world, dead, 8, &ndead);
}
/* end */
/* hx_comm_set_timeout */
hx_comm_set_timeout(world, 30);

/* hx_comm_set_atomic */
hx_comm_set_atomic(world, 1);
/* end */
/* hx_comm_reorder */
status = hx_comm_reorder(world); /* as all ranks do */
/* end */
/* hx_comm_set_wire */
hx_comm_set_wire(world, "bf16"); /* as all ranks do */
/* end */
/* hx_state_sync */
uint64_t step = 0;
float weights[1000] = {0};
hx_state_entry_t both[2] = {{"weights", weights, sizeof(weights)},
                            {"step", &step, sizeof(step)}};
hx_state_report_t report;

status = hx_state_sync(world, both, 2, step, HX_STATE_MAJORITY, &report);
if (status == HX_SUCCESS)
    printf("%zu entries received\n", report.entries_received);
/* end */
/* hx_comm_agree hx_comm_shrink */
hx_comm_t *survivors;
int fine;

status = hx_allreduce(in, out, n, HX_FLOAT32, HX_SUM, half);
fine = status == HX_SUCCESS;
if (!fine)
    hx_comm_revoke(half); /* so that all ranks leave its calls */
status = hx_comm_agree(half, &fine, NULL);
if (!fine) { /* on any rank */
    status = hx_comm_shrink(half, &survivors);
    hx_comm_free(half);
    half = survivors; /* with which all ranks repeat the call */
}
/* end */
/* hx_comm_dup */
status = hx_comm_dup(world, &copy);
/* end */
/* hx_comm_group */
int ranks[2] = {0, 1};

if (hx_rank(world) < 2)
    status = hx_comm_group(world, ranks, 2, &group);
/* end */
/* hx_barrier */
status = hx_barrier(world);
/* end */
/* hx_allreduce */
status = hx_allreduce(in, out, n, HX_FLOAT32, HX_SUM, world);
status = hx_allreduce(HX_IN_PLACE, out, n, HX_FLOAT32, HX_MAX, world);
/* end */
/* hx_reduce_scatter_block */
status = hx_reduce_scatter_block(in, out, n, HX_FLOAT32, HX_SUM, world);
/* end */
/* hx_reduce_scatter */
status = hx_reduce_scatter(in, out, counts, HX_FLOAT32, HX_SUM, world);
/* end */
/* hx_allgather */
status = hx_allgather(in, out, n, HX_FLOAT32, world);
/* end */
/* hx_allgatherv */
status = hx_allgatherv(in, counts[hx_rank(world)], out, counts, NULL,
                       HX_FLOAT32, world);
/* end */
/* hx_bcast */
status = hx_bcast(out, n, HX_FLOAT32, 0, world);
/* end */
/* hx_reduce */
status = hx_reduce(in, out, n, HX_FLOAT32, HX_SUM, 0, world);
/* end */
/* hx_gather */
status = hx_gather(in, out, n, HX_FLOAT32, 0, world);
/* end */
/* hx_scatter */
status = hx_scatter(in, out, n, HX_FLOAT32, 0, world);
/* end */
/* hx_gatherv */
status = hx_gatherv(in, n, out, counts, displs, HX_FLOAT32, 0, world);
/* end */
/* hx_scatterv */
status = hx_scatterv(in, counts, displs, out, n, HX_FLOAT32, 0, world);
/* end */
/* hx_alltoall */
status = hx_alltoall(in, out, n, HX_FLOAT32, world);
/* end */
/* hx_alltoallv */
status = hx_alltoallv(in, counts, displs, out, counts, displs,
                      HX_FLOAT32, world);
/* end */
/* hx_alltoallw */
hx_dtype_t types[2] = {HX_FLOAT32, HX_INT64};
size_t places[2] = {0, 1024};

status = hx_alltoallw(in, counts, places, types, out, counts, places,
                      types, world);
/* end */
/* hx_comm_graph hx_neighbor_allgather hx_neighbor_allgatherv hx_neighbor_alltoall hx_neighbor_alltoallv */
int me = hx_rank(world), last = hx_size(world) - 1;
int ring[2] = {me ? me - 1 : last, me < last ? me + 1 : 0};
hx_comm_t *graph;

status = hx_comm_graph(world, 2, ring, 2, ring, &graph);
status = hx_neighbor_allgather(in, out, n, HX_FLOAT32, graph);
hx_comm_free(graph);
/* end */
/* hx_scan */
status = hx_scan(in, sums, n, HX_FLOAT32, HX_SUM, world);
/* end */
/* hx_exscan */
status = hx_exscan(in, sums, n, HX_FLOAT32, HX_SUM, world);
/* end */
/* hx_op_create hx_op_free hx_dtype_contiguous hx_dtype_free */
status = hx_dtype_contiguous(4 * sizeof(float), &quaternion);
status = hx_op_create(multiply, 0, NULL, &product);
status = hx_scan(in, out, n, quaternion, product, world);
hx_op_free(product);
hx_dtype_free(quaternion);
/* end */
/* hx_alloc hx_free */
status = hx_alloc(world, n * sizeof(float), &memory);
status = hx_allreduce(HX_IN_PLACE, memory, n, HX_FLOAT32, HX_SUM,
                      world);
hx_free(world, memory);
/* end */
/* hx_plan_info */
status = hx_plan_info(world, "allreduce", n, HX_FLOAT32, HX_SUM, 0,
                      &info);
printf("%s: %zu bytes to other nodes\n", info.plan, info.network_bytes);
/* end */
/* hx_plan_predict */
status = hx_plan_predict(world, "allreduce", n, HX_FLOAT32, HX_SUM, 0,
                         &prediction);
printf("%.1f us predicted (network: %s)\n", prediction.us,
       prediction.network);
/* end */
/* hx_start hx_request_free */
status = hx_allreduce_init(in, out, n, HX_FLOAT32, HX_SUM, world,
                           &request);
for (int step = 0; step < 10; step++) {
    status = hx_start(request);
    status = hx_wait(request);
}
hx_request_free(request);
/* end */
/* hx_test hx_wait */
status = hx_iallreduce(in, out, n, HX_FLOAT32, HX_SUM, world, &request);
while (!done && hx_test(request, &done) == HX_SUCCESS)
    ; /* compute something */
/* end */
/* hx_waitall */
status = hx_ibarrier(world, &request);
status = hx_ibcast(out, n, HX_FLOAT32, 0, world, &other);
status = hx_waitall(2, (hx_request_t *[]){request, other});
/* end */
/* hx_waitany */
hx_request_t *any[2] = {request, other};
int index = 0;

while (hx_waitany(2, any, &index) == HX_SUCCESS && index != HX_UNDEFINED)
    printf("call %d is complete\n", index);
/* end */
/* hx_testall */
hx_request_t *all[2] = {request, other};

while (!done && hx_testall(2, all, &done) == HX_SUCCESS)
    ; /* compute something */
/* end */
/* hx_group_begin hx_group_end */
status = hx_group_begin(world);
for (size_t i = 0; i < n; i++)
    status = hx_allreduce(&in[i], &out[i], 1, HX_FLOAT32, HX_SUM, world);
status = hx_group_end(world, NULL); /* one call of n elements */
/* end */
/* hx_request_notify */
status = hx_iallreduce(in, out, n, HX_FLOAT32, HX_SUM, world, &request);
status = hx_request_notify(request, wake, &reached); /* sem_post(ctx) */
sem_wait(&reached); /* or compute; with HX_PROGRESS_THREAD=1 */
status = hx_wait(request);
/* end */
/* hx_request_fd */
struct pollfd ready = {.events = POLLIN};

status = hx_iallreduce(in, out, n, HX_FLOAT32, HX_SUM, world, &request);
status = hx_request_fd(request, &ready.fd);
poll(&ready, 1, -1); /* with HX_PROGRESS_THREAD=1 */
status = hx_wait(request);
/* end */
/* hx_on_idle */
hx_on_idle(mpi_progress, NULL); /* it calls MPI_Iprobe */
/* end */
/* hx_progress */
int mpi_is_done = 0;

while (!mpi_is_done) {
    hx_progress();
    mpi_is_done = mpi_test(); /* it calls MPI_Test */
}
/* end */
/* hx_comm_grow hx_comm_wait_size */
int size = 0;
hx_comm_t *bigger = NULL;

status = hx_comm_wait_size(world, 8, 0, &size); /* HX_STORE is set */
if (status == HX_SUCCESS && size > hx_size(world))
    status = hx_comm_grow(world, 4, 1.0, &bigger);
if (status == HX_SUCCESS && bigger) {
    status = hx_comm_free(world); /* all its ranks do so */
    world = bigger;
}
/* end */
/* hx_join */
status = hx_join("node0:7000/train", &world); /* instead of hx_init */
/* end */
/* hx_abort */
status = hx_barrier(world);
if (status != HX_SUCCESS)
    hx_abort(world, 3, hx_error_detail(world));
/* end */
}
