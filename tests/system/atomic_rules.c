/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hx_comm_set_atomic without deaths: a call that one rank alone cannot complete. That is a gather for which the root expects another count.
 * Elsewhere the other ranks complete it. With an atomic communicator no rank completes it, and what is in place is restored.
 */
#include <hierax.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANKS_MOST 16
#define WORDS 1000

static int me, size;

#define CHECK(condition)                                                                       \
    do {                                                                                       \
        if (!(condition)) {                                                                    \
            fprintf(stderr, "rank %d, line %d: not true: %s\n", me, __LINE__, #condition); \
            exit(1);                                                                           \
        }                                                                                      \
    } while (0)
#define OK(call) CHECK((call) == HX_SUCCESS)

static int64_t all[WORDS], blocks[RANKS_MOST * 4], block[4];
static size_t counts[RANKS_MOST]; /* as the root expects them */

static void fill(int64_t *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        words[i] = me * 100 + (int64_t)i;
}

static int is_as_filled(const int64_t *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (words[i] != me * 100 + (int64_t)i)
            return 0;
    return 1;
}

static void counts_fill(size_t of_last)
{
    for (int r = 0; r < size; r++)
        counts[r] = r == size - 1 ? of_last : 3;
    fill(block, 3);
}

static hx_status_t gather(hx_comm_t *comm)
{
    return hx_gatherv(block, 3, blocks, counts, NULL, HX_INT64, 0, comm);
}

static hx_status_t igather(hx_comm_t *comm, hx_request_t **request)
{
    return hx_igatherv(block, 3, blocks, counts, NULL, HX_INT64, 0, comm, request);
}

/* With another count: only the root fails, or all fail. comm stays usable. */
static void blocking(hx_comm_t *comm, int is_atomic)
{
    hx_status_t status;

    counts_fill(2);
    status = gather(comm);
    CHECK(status == (me == 0 || is_atomic ? HX_ERR_ARG : HX_SUCCESS));
    if (me == 0)
        CHECK(strstr(hx_error_detail(comm), "gives 3 elements"));
    else if (is_atomic)
        CHECK(strstr(hx_error_detail(comm), "hx_gatherv: undone (HX_ATOMIC), because it has failed on rank 0"));
    counts_fill(3);
    OK(gather(comm));
}

static void told(hx_status_t status, void *ctx)
{
    *(int *)ctx = status == HX_SUCCESS ? 1 : 2;
}

/* Calls commit in order, and each by itself. The second one fails. They are waited for in the other order. */
static void started(hx_comm_t *comm)
{
    static int64_t sums[3][WORDS];
    hx_request_t *requests[4];
    int said[4] = {0}, fd;

    counts_fill(2);
    for (int i = 0; i < 3; i++)
        fill(sums[i], WORDS);
    OK(hx_iallreduce(HX_IN_PLACE, sums[0], WORDS, HX_INT64, HX_SUM, comm, &requests[0]));
    OK(igather(comm, &requests[1]));
    OK(hx_iallreduce(HX_IN_PLACE, sums[1], WORDS, HX_INT64, HX_SUM, comm, &requests[2]));
    OK(hx_ibarrier(comm, &requests[3]));
    for (int i = 0; i < 4; i++)
        OK(hx_request_notify(requests[i], told, &said[i]));
    OK(hx_request_fd(requests[3], &fd));
    OK(hx_allreduce(HX_IN_PLACE, sums[2], WORDS, HX_INT64, HX_SUM, comm)); /* all before it have ended */
    CHECK(!is_as_filled(sums[0], WORDS) && !is_as_filled(sums[1], WORDS) && sums[2][0] == sums[0][0]);
    OK(hx_wait(requests[3]));
    OK(hx_wait(requests[2]));
    CHECK(hx_wait(requests[1]) == HX_ERR_ARG);
    OK(hx_wait(requests[0]));
    CHECK(said[0] == 1 && said[1] == 2 && said[2] == 1 && said[3] == 1);
}

static void prepared(hx_comm_t *comm)
{
    static int64_t vector[WORDS];
    hx_request_t *request, *sum;

    counts_fill(2);
    OK(hx_gatherv_init(block, 3, blocks, counts, NULL, HX_INT64, 0, comm, &request));
    OK(hx_allreduce_init(HX_IN_PLACE, vector, WORDS, HX_INT64, HX_SUM, comm, &sum));
    for (int i = 0; i < 3; i++) {
        fill(vector, WORDS);
        OK(hx_start(request));
        OK(hx_start(sum));
        CHECK(hx_wait(request) == HX_ERR_ARG);
        OK(hx_wait(sum));
        CHECK(vector[1] == (int64_t)size * (size - 1) / 2 * 100 + size);
    }
    OK(hx_request_free(request));
    OK(hx_request_free(sum));
}

/* A group fails as a whole: packed calls, and one that stands alone. Then the same without the fault. */
static void group(hx_comm_t *comm, size_t of_last)
{
    static int64_t packed[3][8], lone[WORDS], out[8];
    const hx_status_t expected = of_last == 3 ? HX_SUCCESS : HX_ERR_ARG;

    counts_fill(of_last);
    fill(lone, WORDS);
    memset(out, 0x55, sizeof(out));
    OK(hx_group_begin(comm));
    CHECK(hx_comm_set_atomic(comm, 0) == HX_ERR_STATE);
    for (int i = 0; i < 3; i++) {
        fill(packed[i], 8);
        OK(hx_allreduce(HX_IN_PLACE, packed[i], 8, HX_INT64, HX_SUM, comm));
    }
    OK(hx_allreduce(packed[0], out, 8, HX_INT64, HX_SUM, comm)); /* packed too; its input is that of another call: it is only read here */
    OK(hx_scan(HX_IN_PLACE, lone, WORDS, HX_INT64, HX_MAX, comm));
    OK(gather(comm));
    CHECK(hx_group_end(comm, NULL) == expected);
    for (int i = 0; i < 3 && expected != HX_SUCCESS; i++)
        CHECK(is_as_filled(packed[i], 8));
    if (expected != HX_SUCCESS)
        CHECK(is_as_filled(lone, WORDS) && out[0] == INT64_C(0x5555555555555555));
    else
        CHECK(packed[2][1] == (int64_t)size * (size - 1) / 2 * 100 + size && lone[2] == me * 100 + 2);
}

/* Communicators made from comm inherit its choice. */
static void inherited(hx_comm_t *comm, int is_atomic)
{
    hx_comm_t *made[5];
    int ranks[RANKS_MOST];

    for (int r = 0; r < size; r++)
        ranks[r] = r;
    OK(hx_comm_dup(comm, &made[0]));
    OK(hx_comm_split(comm, 0, me, &made[1]));
    OK(hx_comm_group(comm, ranks, size, &made[2]));
    OK(hx_comm_shrink(comm, &made[3]));
    OK(hx_comm_dup(made[3], &made[4]));
    for (int i = 0; i < 5; i++) {
        blocking(made[i], is_atomic);
        OK(hx_comm_free(made[i]));
    }
}

/* A revoked communicator: what it has started ends, and what is prepared can be released while it is active. */
static void revoked(hx_comm_t *world, hx_comm_t *comm)
{
    static int64_t kept[WORDS], sum[WORDS];
    hx_request_t *request, *held;
    hx_status_t status;

    fill(kept, WORDS);
    fill(sum, WORDS);
    OK(hx_allreduce_init(HX_IN_PLACE, kept, WORDS, HX_INT64, HX_SUM, comm, &held));
    OK(hx_barrier(world));
    if (me == 0) {
        OK(hx_comm_revoke(comm));
        CHECK(hx_iallreduce(HX_IN_PLACE, sum, WORDS, HX_INT64, HX_SUM, comm, &request) == HX_ERR_REVOKED && !request);
    } else if ((status = hx_iallreduce(HX_IN_PLACE, sum, WORDS, HX_INT64, HX_SUM, comm, &request)) != HX_SUCCESS) {
        CHECK(status == HX_ERR_REVOKED);
        request = NULL;
    }
    if (me == size - 1 && hx_start(held) == HX_SUCCESS) {
        hx_comm_revoke(comm);
        OK(hx_request_free(held));
    } else {
        OK(hx_request_free(held));
    }
    if (me == 0)
        OK(hx_comm_free(comm)); /* the others find it gone */
    if (request)
        CHECK(hx_wait(request) != HX_SUCCESS);
    CHECK(is_as_filled(sum, WORDS) && is_as_filled(kept, WORDS));
    if (me != 0)
        OK(hx_comm_free(comm));
}

int main(void)
{
    hx_comm_t *world, *comm, *last;

    OK(hx_init(&world));
    me = hx_rank(world);
    size = hx_size(world);
    CHECK(size > 1 && size <= RANKS_MOST);
    OK(hx_comm_dup(world, &comm));
    OK(hx_comm_dup(world, &last));
    CHECK(hx_comm_set_atomic(comm, 2) == HX_ERR_ARG && strstr(hx_error_detail(comm), "on is 2; choose 0 or 1"));
    blocking(comm, 0);
    inherited(comm, 0);
    OK(hx_comm_set_atomic(comm, 1));
    OK(hx_comm_set_atomic(last, 1));
    blocking(comm, 1);
    started(comm);
    prepared(comm);
    group(comm, 2);
    group(comm, 3);
    inherited(comm, 1);
    OK(hx_comm_set_atomic(comm, 0));
    blocking(comm, 0);
    OK(hx_comm_set_atomic(comm, 1));
    OK(hx_comm_free(comm));
    revoked(world, last);
    OK(hx_allreduce(HX_IN_PLACE, all, 1, HX_INT64, HX_SUM, world));
    OK(hx_finalize());
    if (me == 0)
        printf("all is well\n");
    return 0;
}
