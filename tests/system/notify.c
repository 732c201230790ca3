/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One rank of a job whose calls tell by callback or descriptor that they are complete. usage: notify CASE
 *
 * each     the callback runs once, before the call counts as complete, however the program waits
 * alone    no other call is made meanwhile (HX_PROGRESS_THREAD=1): callback, descriptor, a chain of calls that callbacks start; and a callback
 *          takes a lock that a thread holds while it starts calls
 * threads  several threads start and wait, each on a communicator of its own
 * refused  what a callback must not call, and wrong arguments
 * released a request is released once, not in its own callback, and not while another call waits for it
 * dead     rank 1 dies; the callback of rank 0 gets to know
 * looks    hx_progress completes calls and runs callbacks, and returns 0 when nothing is left
 * late     rank 1 does not come within HX_TIMEOUT; nor does rank 0 wait in Hierax
 */
#include "runtime/base/clock.h"
#include <hierax.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CALLS = 7, ROUNDS = 40, CHAIN = 20, LOCKED = 300, THREADS = 3 };

static hx_comm_t *world;
static int rank;

#define CHECK(right) check(!!(right), #right, __LINE__)

static void check(int right, const char *what, int line)
{
    if (right)
        return;
    fprintf(stderr, "notify: rank %d, line %d: not %s; %s %s\n", rank, line, what, hx_error_detail(world), hx_error_detail(NULL));
    exit(1);
}

struct told {
    atomic_int times;
    _Atomic hx_status_t status;
    sem_t posted;
};

static void tell(hx_status_t status, void *ctx)
{
    struct told *told = ctx;

    told->status = status;
    usleep(told->times % 2 ? 0 : 50); /* who does not wait for it comes too soon */
    told->times++;
    sem_post(&told->posted);
}

static int looks; /* this program calls hx_progress: there is no progress thread */

static void await(struct told *told)
{
    while (looks ? hx_progress() < 0 || sem_trywait(&told->posted) : sem_wait(&told->posted))
        ;
}

/* ---- each -------------------------------------------------------------------------------------------------------- */

static void wait_for(int how, hx_request_t **list)
{
    int done = 0, index;

    switch (how) {
    case 0:
        for (int i = CALLS - 1; i >= 0; i--)
            CHECK(hx_wait(list[i]) == HX_SUCCESS);
        break;
    case 1:
        for (int i = 0; i < CALLS; i++, done = 0)
            while (!done)
                CHECK(hx_test(list[i], &done) == HX_SUCCESS);
        break;
    case 2:
        CHECK(hx_waitall(CALLS, list) == HX_SUCCESS);
        break;
    case 3:
        while (!done)
            CHECK(hx_testall(CALLS, list, &done) == HX_SUCCESS);
        break;
    default:
        for (int i = 0; i < CALLS; i++)
            CHECK(hx_waitany(CALLS, list, &index) == HX_SUCCESS && index >= 0 && !list[index]);
    }
}

static void each_round(int round, hx_comm_t *comm)
{
    const size_t count = round % 2 ? 1 : 30000;
    hx_request_t *list[CALLS];
    static float in[30000], out[CALLS][30000];
    struct told told[CALLS];

    for (int i = 0; i < CALLS; i++) {
        sem_init(&told[i].posted, 0, 0);
        told[i].times = 0;
        CHECK(hx_iallreduce(in, out[i], count, HX_FLOAT32, HX_SUM, comm, &list[i]) == HX_SUCCESS);
        if (round % 3)
            CHECK(hx_request_notify(list[i], tell, &told[i]) == HX_SUCCESS);
    }
    CHECK(hx_barrier(comm) == HX_SUCCESS); /* which may complete some */
    for (int i = 0; i < CALLS && round % 3 == 0; i++)
        CHECK(hx_request_notify(list[i], tell, &told[i]) == HX_SUCCESS);
    wait_for(round % 5, list);
    for (int i = 0; i < CALLS; i++) {
        CHECK(told[i].times == 1 && told[i].status == HX_SUCCESS);
        sem_destroy(&told[i].posted);
    }
}

static void each(void)
{
    struct told told = {.times = 0};
    hx_request_t *request;
    hx_comm_t *self;

    sem_init(&told.posted, 0, 0);
    for (int round = 0; round < ROUNDS; round++)
        each_round(round, world);
    CHECK(hx_barrier_init(world, &request) == HX_SUCCESS); /* once for each start */
    for (int round = 1; round <= ROUNDS; round++) {
        CHECK(hx_start(request) == HX_SUCCESS && hx_request_notify(request, tell, &told) == HX_SUCCESS);
        CHECK(hx_wait(request) == HX_SUCCESS && told.times == round);
    }
    CHECK(hx_request_free(request) == HX_SUCCESS);
    CHECK(hx_comm_split(world, rank, 0, &self) == HX_SUCCESS); /* complete at once */
    CHECK(hx_ibarrier(self, &request) == HX_SUCCESS && hx_request_notify(request, tell, &told) == HX_SUCCESS);
    CHECK(hx_wait(request) == HX_SUCCESS && told.times == ROUNDS + 1 && hx_comm_free(self) == HX_SUCCESS);
}

/* ---- alone ------------------------------------------------------------------------------------------------------- */

struct chain {
    hx_comm_t *comm;
    hx_request_t *request;
    int left;
    int64_t in, out;
    sem_t ended;
};

static void chain_next(hx_status_t status, void *ctx)
{
    struct chain *chain = ctx;

    CHECK(status == HX_SUCCESS);
    if (chain->request)
        CHECK(hx_wait(chain->request) == HX_SUCCESS && chain->out == hx_size(chain->comm) * (int64_t)(chain->left + 1));
    if (chain->left-- == 0) {
        sem_post(&chain->ended);
        return;
    }
    chain->in = chain->left + 1;
    CHECK(hx_iallreduce(&chain->in, &chain->out, 1, HX_INT64, HX_SUM, chain->comm, &chain->request) == HX_SUCCESS);
    CHECK(hx_request_notify(chain->request, chain_next, chain) == HX_SUCCESS);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void locked_tell(hx_status_t status, void *ctx)
{
    pthread_mutex_lock(&lock);
    tell(status, ctx);
    pthread_mutex_unlock(&lock);
}

/* As an interpreter's lock is held: by threads that call Hierax and by callbacks. */
static void locked(struct told *told)
{
    hx_request_t *request;
    int done;

    for (int i = 0; i < LOCKED; i++) {
        pthread_mutex_lock(&lock);
        CHECK(hx_ibarrier(world, &request) == HX_SUCCESS && hx_request_notify(request, locked_tell, told) == HX_SUCCESS);
        pthread_mutex_unlock(&lock);
        await(told);
        do
            CHECK(hx_test(request, &done) == HX_SUCCESS);
        while (!done);
    }
}

static void descriptor(hx_request_t *request, struct told *told)
{
    struct pollfd at = {.events = POLLIN};
    int again;

    if (told) /* before this has returned it is not readable */
        CHECK(hx_request_notify(request, tell, told) == HX_SUCCESS);
    CHECK(hx_request_fd(request, &at.fd) == HX_SUCCESS && hx_request_fd(request, &again) == HX_SUCCESS && at.fd == again);
    CHECK(poll(&at, 1, 60000) == 1 && at.revents == POLLIN && (!told || told->times == 1));
}

static void alone(void)
{
    struct told told = {.times = 0}, second = {.times = 0};
    struct chain chain = {.left = CHAIN};
    hx_request_t *request;
    struct pollfd at = {.events = POLLIN};
    int fd;

    sem_init(&told.posted, 0, 0);
    sem_init(&second.posted, 0, 0);
    sem_init(&chain.ended, 0, 0);
    usleep((unsigned)rank * 20000); /* others find a thread that sleeps */
    CHECK(hx_ibarrier(world, &request) == HX_SUCCESS && hx_request_notify(request, tell, &told) == HX_SUCCESS);
    await(&told);
    CHECK(hx_wait(request) == HX_SUCCESS && told.times == 1);
    CHECK(hx_ibarrier(world, &request) == HX_SUCCESS);
    descriptor(request, &second);
    CHECK(hx_wait(request) == HX_SUCCESS);
    CHECK(hx_barrier_init(world, &request) == HX_SUCCESS && hx_request_fd(request, &at.fd) == HX_SUCCESS);
    for (int i = 0; i < CHAIN; i++) {
        CHECK(poll(&at, 1, 0) == 0 || i > 0); /* not started */
        CHECK(hx_start(request) == HX_SUCCESS);
        descriptor(request, NULL);
        CHECK(hx_wait(request) == HX_SUCCESS);
    }
    fd = at.fd;
    CHECK(hx_request_free(request) == HX_SUCCESS && write(fd, "", 1) < 0);
    CHECK(hx_comm_dup(world, &chain.comm) == HX_SUCCESS);
    chain_next(HX_SUCCESS, &chain);
    CHECK(sem_wait(&chain.ended) == 0 && hx_comm_free(chain.comm) == HX_SUCCESS);
    locked(&told);
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

static void *thread_main(void *comm)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct told told[CALLS];
        hx_request_t *list[CALLS];
        for (int i = 0; i < CALLS; i++) {
            sem_init(&told[i].posted, 0, 0);
            told[i].times = 0;
            CHECK(hx_ibarrier(comm, &list[i]) == HX_SUCCESS && hx_request_notify(list[i], tell, &told[i]) == HX_SUCCESS);
        }
        wait_for(round % 5, list);
        for (int i = 0; i < CALLS; i++)
            CHECK(told[i].times == 1 && told[i].status == HX_SUCCESS);
    }
    return NULL;
}

static void threads(void)
{
    pthread_t ids[THREADS];
    hx_comm_t *comms[THREADS];

    for (int i = 0; i < THREADS; i++)
        CHECK(hx_comm_dup(world, &comms[i]) == HX_SUCCESS);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&ids[i], NULL, thread_main, comms[i]) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(ids[i], NULL) == 0 && hx_comm_free(comms[i]) == HX_SUCCESS);
}

/* ---- refused ----------------------------------------------------------------------------------------------------- */

struct tries {
    hx_request_t *own, *other;
    atomic_int times;
};

static void try(hx_status_t status, void *ctx)
{
    struct tries *tries = ctx;
    hx_request_t *list[] = {tries->other};
    int value = 1, index, done;
    hx_comm_t *copy;
    void *memory;

    CHECK(status == HX_SUCCESS && tries->times == 0);
    CHECK(hx_barrier(world) == HX_ERR_STATE && strstr(hx_error_detail(world), "hx_barrier: called from a callback"));
    CHECK(hx_allreduce(HX_IN_PLACE, &value, 1, HX_INT32, HX_SUM, world) == HX_ERR_STATE && value == 1);
    CHECK(hx_recv(&value, 1, HX_INT32, rank, 0, world) == HX_ERR_STATE && hx_send(&value, 1, HX_INT32, rank, 0, world) == HX_ERR_STATE);
    CHECK(hx_comm_dup(world, &copy) == HX_ERR_STATE && hx_comm_split(world, 0, 0, &copy) == HX_ERR_STATE);
    CHECK(hx_comm_group(world, &rank, 1, &copy) == HX_ERR_STATE && hx_alloc(world, 1, &memory) == HX_ERR_STATE);
    CHECK(hx_wait(tries->other) == HX_ERR_STATE && hx_waitall(1, list) == HX_ERR_STATE && list[0]);
    CHECK(hx_waitany(1, list, &index) == HX_ERR_STATE && hx_finalize() == HX_ERR_STATE);
    CHECK(hx_test(tries->other, &done) == HX_SUCCESS && hx_rank(world) == rank);
    CHECK(!done && hx_test(tries->own, &done) == HX_SUCCESS && done); /* releases it */
    tries->times++;
}

static void refused(void)
{
    struct tries tries = {.times = 0};
    struct told told = {.times = 0};
    hx_comm_t *later, *self = NULL;
    hx_request_t *request;
    int fd, value = 1;

    CHECK(hx_comm_dup(world, &later) == HX_SUCCESS && hx_comm_split(world, rank, 0, &self) == HX_SUCCESS);
    CHECK(hx_allreduce(HX_IN_PLACE, &value, 1, HX_INT32, HX_SUM, world) == HX_SUCCESS && value == hx_size(world)); /* bound now */
    sem_init(&told.posted, 0, 0);
    CHECK(hx_request_notify(NULL, tell, NULL) == HX_ERR_ARG && hx_request_fd(NULL, &fd) == HX_ERR_ARG);
    if (rank == 0) {
        CHECK(hx_ibarrier(later, &tries.other) == HX_SUCCESS); /* which the others start later */
        CHECK(hx_request_notify(tries.other, NULL, NULL) == HX_ERR_ARG && strstr(hx_error_detail(later), "fn is NULL"));
        CHECK(hx_request_fd(tries.other, NULL) == HX_ERR_ARG && strstr(hx_error_detail(later), "fd is NULL"));
        CHECK(hx_barrier_init(later, &request) == HX_SUCCESS && hx_request_notify(request, tell, &told) == HX_ERR_STATE);
        CHECK(strstr(hx_error_detail(later), "has not been started") && hx_request_free(request) == HX_SUCCESS);
        CHECK(hx_request_notify(tries.other, tell, &told) == HX_SUCCESS && hx_request_notify(tries.other, tell, &told) == HX_ERR_STATE);
        CHECK(strstr(hx_error_detail(later), "has a callback already"));
    }
    CHECK(hx_ibarrier(self, &tries.own) == HX_SUCCESS);
    if (rank == 0)
        CHECK(hx_request_notify(tries.own, try, &tries) == HX_SUCCESS);
    else
        CHECK(hx_wait(tries.own) == HX_SUCCESS);
    while (rank == 0 && !tries.times)
        usleep(100); /* the progress thread calls it */
    CHECK(hx_barrier(world) == HX_SUCCESS);
    if (rank != 0)
        CHECK(hx_ibarrier(later, &tries.other) == HX_SUCCESS);
    CHECK(hx_wait(tries.other) == HX_SUCCESS && told.times == (rank == 0));
    CHECK(hx_comm_free(later) == HX_SUCCESS && hx_comm_free(self) == HX_SUCCESS);
}

/* ---- looks ------------------------------------------------------------------------------------------------------- */

static void looks_for_progress(void)
{
    enum { LONG = 100000 };
    static float in[LONG], out[CALLS][LONG];
    struct told told[CALLS];
    hx_request_t *list[CALLS];
    hx_comm_t *node;
    int done, has_net;

    CHECK(hx_comm_split_node(world, &node) == HX_SUCCESS);
    has_net = hx_size(node) < hx_size(world);
    CHECK(hx_comm_free(node) == HX_SUCCESS && hx_progress() == has_net);
    for (int round = 0; round < ROUNDS; round++) {
        const size_t count = round % 2 ? 1 : LONG;
        for (int i = 0; i < CALLS; i++) {
            sem_init(&told[i].posted, 0, 0);
            told[i].times = 0;
            CHECK(hx_iallreduce(in, out[i], count, HX_FLOAT32, HX_SUM, world, &list[i]) == HX_SUCCESS);
            if (i % 2) /* else hx_test finds what hx_progress has completed */
                CHECK(hx_request_notify(list[i], tell, &told[i]) == HX_SUCCESS);
        }
        if (rank == round % hx_size(world))
            usleep(1000);
        CHECK(told[CALLS - 2].times || hx_progress() >= 0);
        await(&told[CALLS - 2]);
        while (!has_net && hx_progress())
            ;
        for (int i = 0; i < CALLS; i++) {
            CHECK(hx_test(list[i], &done) == HX_SUCCESS && (done || has_net));
            CHECK(done || hx_wait(list[i]) == HX_SUCCESS);
            CHECK(told[i].times == i % 2);
        }
        CHECK(hx_progress() == has_net);
    }
    CHECK(hx_barrier(world) == HX_SUCCESS);
}

/* ---- released ---------------------------------------------------------------------------------------------------- */

struct releases {
    hx_request_t *request;
    int is_awaited; /* hx_wait waits for it, and has called the callback */
    atomic_int times;
};

static void release_here(hx_status_t status, void *ctx)
{
    struct releases *releases = ctx;
    int done;

    CHECK(status == HX_SUCCESS && hx_request_free(releases->request) == HX_ERR_STATE);
    if (releases->is_awaited) {
        CHECK(hx_test(releases->request, &done) == HX_ERR_STATE && hx_wait(releases->request) == HX_ERR_STATE);
        CHECK(hx_testall(1, &releases->request, &done) == HX_ERR_STATE && releases->request);
    }
    releases->times++;
}

/* The other ranks start only after rank 0 has set its callback. So without a progress thread only hx_wait can call it. */
static void release_while_awaited(hx_comm_t *comm)
{
    const char *thread = getenv("HX_PROGRESS_THREAD");
    struct releases releases = {.is_awaited = !thread || !strcmp(thread, "0")};
    int go = 1;

    if (rank != 0)
        CHECK(hx_recv(&go, 1, HX_INT32, 0, 5, world) == HX_SUCCESS);
    CHECK(hx_ibarrier(comm, &releases.request) == HX_SUCCESS);
    if (rank == 0)
        CHECK(hx_request_notify(releases.request, release_here, &releases) == HX_SUCCESS && releases.times == 0);
    for (int other = 1; rank == 0 && other < hx_size(world); other++)
        CHECK(hx_send(&go, 1, HX_INT32, other, 5, world) == HX_SUCCESS);
    CHECK(hx_wait(releases.request) == HX_SUCCESS && releases.times == (rank == 0));
    CHECK(hx_wait(releases.request) == HX_ERR_STATE && strstr(hx_error_detail(NULL), "has been released: its call is complete"));
}

static void released(void)
{
    struct releases releases = {.times = 0};
    hx_request_t *list[2];
    hx_comm_t *comm, *self;

    CHECK(hx_comm_dup(world, &comm) == HX_SUCCESS && hx_comm_split(world, rank, 0, &self) == HX_SUCCESS);
    for (int i = 0; i < ROUNDS; i++)
        release_while_awaited(comm);
    CHECK(hx_barrier_init(self, &releases.request) == HX_SUCCESS);
    for (int i = 1; i <= ROUNDS; i++) {
        CHECK(hx_start(releases.request) == HX_SUCCESS && hx_request_notify(releases.request, release_here, &releases) == HX_SUCCESS);
        CHECK(hx_wait(releases.request) == HX_SUCCESS && releases.times == i);
    }
    CHECK(hx_request_free(releases.request) == HX_SUCCESS);
    CHECK(hx_request_free(releases.request) == HX_ERR_STATE && strstr(hx_error_detail(NULL), "has been released by hx_request_free"));
    CHECK(hx_start(releases.request) == HX_ERR_STATE);
    CHECK(hx_ibarrier(self, &list[0]) == HX_SUCCESS);
    list[1] = list[0];
    CHECK(hx_waitall(2, list) == HX_ERR_STATE && strstr(hx_error_detail(NULL), "hx_waitall: this request of hx_ibarrier"));
    CHECK(hx_comm_free(comm) == HX_SUCCESS && hx_comm_free(self) == HX_SUCCESS);
}

/* ---- messages ----------------------------------------------------------------------------------------------------- */

static void messages(void) /* around the ring, by the progress thread alone */
{
    static const size_t sizes[] = {0, 8, 100000, 3 << 20};
    const int size = hx_size(world);

    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        struct told told[2] = {{.times = 0}, {.times = 0}};
        hx_request_t *requests[2];
        char *out = malloc(sizes[i] + 1), *in = malloc(sizes[i] + 1);
        CHECK(out && in);
        memset(out, 1 + rank, sizes[i] + 1);
        CHECK(hx_irecv(in, sizes[i], HX_BYTE, (rank + size - 1) % size, 3, world, &requests[0]) == HX_SUCCESS);
        CHECK(hx_isend(out, sizes[i], HX_BYTE, (rank + 1) % size, 3, world, &requests[1]) == HX_SUCCESS);
        for (int j = 0; j < 2; j++) {
            sem_init(&told[j].posted, 0, 0);
            CHECK(hx_request_notify(requests[j], tell, &told[j]) == HX_SUCCESS);
        }
        for (int j = 0; j < 2; j++) {
            await(&told[j]);
            CHECK(hx_wait(requests[j]) == HX_SUCCESS && told[j].status == HX_SUCCESS && told[j].times == 1);
        }
        for (size_t at = 0; at < sizes[i]; at++)
            CHECK(in[at] == 1 + (rank + size - 1) % size);
        free(in);
        free(out);
    }
}

/* ---- dead, late --------------------------------------------------------------------------------------------------- */

static hx_status_t begin(int message, hx_request_t **request)
{
    static int value;

    return message ? hx_irecv(&value, 1, HX_INT32, 1, 7, world, request) : hx_ibarrier(world, request);
}

static void fails_with(hx_status_t expected, int dies, int message)
{
    struct told told = {.times = 0};
    hx_request_t *request;
    double since;

    sem_init(&told.posted, 0, 0);
    CHECK(hx_barrier(world) == HX_SUCCESS);
    if (rank == 1) {
        usleep(300000);
        if (dies)
            raise(SIGKILL);
        sleep(600); /* coll_run ends it */
    }
    signal(SIGTERM, SIG_IGN); /* of coll_run, when rank 1 has died */
    since = hx_now_s();
    CHECK(begin(message, &request) == HX_SUCCESS && hx_request_notify(request, tell, &told) == HX_SUCCESS);
    await(&told);
    CHECK(told.status == expected && strstr(hx_error_detail(world), "rank 1"));
    CHECK(hx_wait(request) == expected && told.times == 1);
    printf("rank %d: %s after %.2f s\n", rank, hx_strerror(expected), hx_now_s() - since);
    fflush(stdout);
    _exit(3);
}

int main(int argc, char **argv)
{
    const char *which = argc == 2 ? argv[1] : "";

    looks = getenv("NOTIFY_LOOKS") != NULL;
    if (hx_progress() != 0)
        return 1;
    if (hx_init(&world) != HX_SUCCESS)
        return 1;
    rank = hx_rank(world);
    if (!strcmp(which, "each"))
        each();
    else if (!strcmp(which, "alone"))
        alone();
    else if (!strcmp(which, "threads"))
        threads();
    else if (!strcmp(which, "refused"))
        refused();
    else if (!strcmp(which, "released"))
        released();
    else if (!strcmp(which, "dead"))
        fails_with(HX_ERR_PEER_DEAD, 1, 0);
    else if (!strcmp(which, "dead_message"))
        fails_with(HX_ERR_PEER_DEAD, 1, 1);
    else if (!strcmp(which, "late_message"))
        fails_with(HX_ERR_TIMEOUT, 0, 1);
    else if (!strcmp(which, "messages"))
        messages();
    else if (!strcmp(which, "looks"))
        looks_for_progress();
    else if (!strcmp(which, "late"))
        fails_with(HX_ERR_TIMEOUT, 0, 0);
    else
        return 2;
    return hx_finalize() != HX_SUCCESS || hx_progress() != 0;
}
