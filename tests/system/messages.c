/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between two ranks, for messages.sh and revoked.sh, and time-outs of communicators: each mode is a function below. Exits with 0 if all is right. */
#include <hierax.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int rank, size;
static hx_comm_t *world;

#define CHECK(condition)                                                                                                \
    do {                                                                                                                \
        if (!(condition)) {                                                                                             \
            fprintf(stderr, "rank %d, line %d: not true: %s; %s\n", rank, __LINE__, #condition, hx_error_detail(world)); \
            _exit(1);                                                                                                   \
        }                                                                                                               \
    } while (0)
#define OK(call) CHECK((call) == HX_SUCCESS)

static unsigned char byte_at(size_t i, int seed)
{
    return (unsigned char)(i * 31 + (i >> 8) * 7 + (size_t)seed);
}

static unsigned char *made(size_t bytes, int seed)
{
    unsigned char *data = malloc(bytes + 1);

    CHECK(data);
    for (size_t i = 0; i <= bytes; i++)
        data[i] = i < bytes ? byte_at(i, seed) : 0xa5;
    return data;
}

/* Does data hold what made(bytes, seed) has, and nothing behind it? Frees it. */
static void judge(unsigned char *data, size_t bytes, int seed)
{
    size_t i = 0;

    while (i < bytes && data[i] == byte_at(i, seed))
        i++;
    CHECK(i == bytes && data[bytes] == 0xa5);
    free(data);
}

static void receive(size_t bytes, int source, int tag, int seed)
{
    unsigned char *data = made(bytes, ~seed);

    OK(hx_recv(data, bytes, HX_BYTE, source, tag, world));
    judge(data, bytes, seed);
}

/* Sizes beside each limit: control message, eager, records of a ring, single copy. */
static const size_t sizes[] = {0, 1, 8, 303, 304, 305, 320, 321, 4096, 16319, 16320, 16321, 16384, 16385, 65535, 65536, 65537, 500000, (1 << 20) - 1,
                               1 << 20, (1 << 20) + 1, 3000000};
#define SIZES ((int)(sizeof(sizes) / sizeof(sizes[0])))

static void pairs(void)
{
    for (int from = 0; from < size; from++)
        for (int to = 0; to < size; to++)
            for (int i = 0; i < SIZES && (rank == from || rank == to); i++) {
                const int seed = 7 * from + to + i;
                unsigned char *data = rank == from ? made(sizes[i], seed) : NULL;
                hx_request_t *request = NULL;
                if (rank == from)
                    OK(hx_isend(data, sizes[i], HX_BYTE, to, i, world, &request));
                if (rank == to)
                    receive(sizes[i], from, i, seed);
                if (rank == from)
                    OK(hx_wait(request));
                free(data);
            }
}

/* Many messages that no rank expects, received in the opposite order, with collectives between them. */
static void tags(void)
{
    enum { MANY = 1200, LONGEST = 700 };
    hx_request_t *requests[MANY];
    unsigned char *data[MANY];
    const int right = (rank + 1) % size, left = (rank + size - 1) % size;

    for (int i = 0; i < MANY; i++) {
        data[i] = made((size_t)(i % LONGEST), i);
        OK(hx_isend(data[i], (size_t)(i % LONGEST), HX_BYTE, right, i, world, &requests[i]));
    }
    for (int i = MANY - 1; i >= 0; i--) {
        int sum = 1;
        if (i % 100 == 0) {
            OK(hx_allreduce(HX_IN_PLACE, &sum, 1, HX_INT32, HX_SUM, world));
            CHECK(sum == size);
        }
        receive((size_t)(i % LONGEST), left, i, i);
    }
    OK(hx_waitall(MANY, requests));
    for (int i = 0; i < MANY; i++)
        free(data[i]);
    for (int i = 0; i < 400; i++) { /* the same tag: in order */
        OK(hx_isend(&i, 1, HX_INT32, right, 5, world, &requests[0]));
        OK(hx_wait(requests[0]));
        if (i % 2 == 0)
            continue;
        for (int k = i - 1, got = -1; k <= i; k++) {
            OK(hx_recv(&got, 1, HX_INT32, left, 5, world));
            CHECK(got == k);
        }
    }
}

/* One rank is ahead, then the other one. Lengths beside the limits of a ring's record, so that parts of messages begin everywhere in the ring. */
static void stream(void)
{
    enum { MANY = 20000, LONGEST = 40000 };
    static const size_t limits[] = {0, 8, 15, 16, 17, 63, 64, 65, 1000, 16000};
    unsigned char *data = malloc(LONGEST + 1);
    const int left = (rank + size - 1) % size, right = (rank + 1) % size;

    CHECK(data);
    for (int i = 0; i < MANY; i++) {
        const size_t bytes = i % 500 == 499 ? LONGEST - (size_t)i % 7 : limits[i % 10] / (size_t)(1 + i % 3);
        if (i % 4000 == rank * 1000) /* the others go on: until the ring is full, or they look in vain */
            nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        if (rank % 2 == 0) {
            memset(data, i, bytes);
            OK(hx_send(data, bytes, HX_BYTE, right, 1, world));
        } else {
            data[bytes] = 0xa5;
            OK(hx_recv(data, bytes, HX_BYTE, left, 1, world));
            for (size_t k = 0; k < bytes; k += k < 80 || bytes - k < 80 ? 1 : 64)
                CHECK(data[k] == (unsigned char)i);
            CHECK(data[bytes] == 0xa5);
        }
    }
    free(data);
}

/* Each rank first sends more messages than may be under way, then receives. The first rank begins late: nobody takes its messages meanwhile. */
static void ahead(void)
{
    enum { MANY = 300 };
    const int left = (rank + size - 1) % size, right = (rank + 1) % size;

    if (rank == 0)
        nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    for (int i = 0; i < MANY; i++) {
        unsigned char *data = made((size_t)i, i);
        OK(hx_send(data, (size_t)i, HX_BYTE, right, i % 3, world));
        free(data);
    }
    for (int tag = 0; tag < 3; tag++)
        for (int i = tag; i < MANY; i += 3)
            receive((size_t)i, left, tag, i);
}

static void persistent(void)
{
    const int right = (rank + 1) % size, left = (rank + size - 1) % size;
    const size_t count = 100000;
    int *in = calloc(count, sizeof(*in)), *out = calloc(count, sizeof(*out)), found = 0;
    hx_request_t *requests[2];
    size_t bytes = 1;

    CHECK(in && out);
    OK(hx_iprobe(left, 9, world, &found, &bytes));
    CHECK(!found && bytes == 0);
    OK(hx_recv_init(out, count, HX_INT32, left, 3, world, &requests[0]));
    OK(hx_send_init(in, count, HX_INT32, right, 3, world, &requests[1]));
    for (int round = 0; round < 20; round++) {
        int done = 0;
        in[0] = in[count - 1] = round;
        OK(hx_start(requests[round % 2]));
        OK(hx_start(requests[1 - round % 2]));
        while (round % 3 == 0 && !done)
            OK(hx_testall(2, requests, &done));
        OK(hx_waitall(2, requests));
        CHECK(out[0] == round && out[count - 1] == round);
    }
    OK(hx_request_free(requests[0]));
    OK(hx_request_free(requests[1]));
    OK(hx_isend(in, 3, HX_INT32, right, 9, world, &requests[0]));
    while (!found)
        OK(hx_iprobe(left, 9, world, &found, &bytes));
    CHECK(bytes == 12);
    OK(hx_recv(out, 3, HX_INT32, left, 9, world));
    OK(hx_iprobe(left, 9, world, &found, &bytes));
    CHECK(!found);
    OK(hx_wait(requests[0]));
    OK(hx_barrier(world)); /* until then no rank is in hx_finalize, which a probe would report */
    free(in);
    free(out);
}

static void mismatch(void)
{
    for (int i = 0; i < SIZES && rank < 2; i++) {
        unsigned char *data = made(sizes[i] + 1, i);
        if (rank == 0) {
            OK(hx_send(data, sizes[i] + 1, HX_BYTE, 1, 1, world));
        } else {
            char text[80];
            CHECK(hx_recv(data, sizes[i], HX_BYTE, 0, 1, world) == HX_ERR_MISMATCH);
            snprintf(text, sizeof(text), "has %zu bytes of byte, but this receive is for %zu bytes", sizes[i] + 1, sizes[i]);
            CHECK(strstr(hx_error_detail(world), text));
        }
        free(data);
    }
    if (rank == 0)
        OK(hx_send(&(int){7}, 1, HX_INT32, 1, 1, world));
    if (rank == 1)
        CHECK(hx_recv(&(float){0}, 1, HX_FLOAT32, 0, 1, world) == HX_ERR_MISMATCH && strstr(hx_error_detail(world), "int32"));
    for (int i = 0; i < SIZES && rank < 2; i++) { /* nothing is out of order */
        unsigned char *data = made(sizes[i], i);
        if (rank == 0)
            OK(hx_send(data, sizes[i], HX_BYTE, 1, 1, world));
        else
            receive(sizes[i], 0, 1, i);
        free(data);
    }
    CHECK(hx_send(NULL, 1, HX_BYTE, 0, 0, world) == HX_ERR_ARG && hx_send("", 1, HX_BYTE, size, 0, world) == HX_ERR_ARG);
    CHECK(hx_send("", 1, HX_BYTE, 0, -1, world) == HX_ERR_ARG && strstr(hx_error_detail(world), "tag -1"));
}

/* ---- threads -------------------------------------------------------------------------------------------------- */

static void *echo(void *comm)
{
    for (int i = 0; i < 200; i++) {
        int value = -1;
        OK(hx_recv(&value, 1, HX_INT32, (rank + size - 1) % size, 1, comm));
        CHECK(value == i);
    }
    return NULL;
}

/* A thread receives while another one is in collectives of the same communicator, and sends. */
static void threads(void)
{
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, echo, world) == 0);
    for (int i = 0; i < 200; i++) {
        int sum = rank;
        OK(hx_allreduce(HX_IN_PLACE, &sum, 1, HX_INT32, HX_SUM, world));
        CHECK(sum == size * (size - 1) / 2);
        OK(hx_send(&i, 1, HX_INT32, (rank + 1) % size, 1, world));
    }
    pthread_join(thread, NULL);
}

static void *waits(void *comm)
{
    int value = 0;

    OK(hx_recv(&value, 1, HX_INT32, (rank + size - 1) % size, 1, comm));
    CHECK(value == 42);
    return NULL;
}

/* A communicator on which a thread waits is not freed. */
static void freed(void)
{
    hx_comm_t *copy;
    pthread_t thread;

    OK(hx_comm_dup(world, &copy));
    CHECK(pthread_create(&thread, NULL, waits, copy) == 0);
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    OK(hx_barrier(world));
    if (hx_comm_free(copy) != HX_ERR_STATE)
        _exit(3); /* the thread was late: see messages.sh */
    OK(hx_barrier(world));
    OK(hx_send(&(int){42}, 1, HX_INT32, (rank + 1) % size, 1, copy));
    pthread_join(thread, NULL);
    OK(hx_comm_free(copy));
}

/* ---- what ends a wait ----------------------------------------------------------------------------------------- */

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The last rank dies; rank 0 waits to receive from it, rank 1 to send to it. */
static void death(void)
{
    unsigned char *data = made(1 << 21, 0);
    hx_status_t status;

    if (rank == size - 1) {
        nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
        kill(getpid(), SIGKILL);
    }
    status = rank == 0 ? hx_recv(data, 8, HX_BYTE, size - 1, 7, world) : hx_send(data, 1 << 21, HX_BYTE, size - 1, 8, world);
    fprintf(stderr, "rank %d: %s: %s\n", rank, hx_strerror(status), hx_error_detail(world));
    CHECK(status == HX_ERR_PEER_DEAD);
    _exit(0);
}

/* The last rank dies or finishes, as `how` says, after it has sent a message with tag 1; the others probe for that, then for another one. */
static void probes(const char *how)
{
    int found = 0, value = 0;
    hx_status_t status;

    if (rank == size - 1) {
        for (int to = 0; to < rank; to++)
            OK(hx_send(&to, 1, HX_INT32, to, 1, world));
        if (!strcmp(how, "death"))
            kill(getpid(), SIGKILL);
        else
            (void)!hx_finalize();
        _exit(0);
    }
    nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
    while (!strcmp(how, "finish") && !found) /* after a death it may be lost */
        OK(hx_iprobe(size - 1, 1, world, &found, NULL));
    if (found)
        OK(hx_recv(&value, 1, HX_INT32, size - 1, 1, world));
    CHECK(!found || value == rank);
    while (rank > 0 && (status = hx_iprobe(size - 1, 2, world, &found, NULL)) == HX_SUCCESS)
        CHECK(!found);
    if (rank == 0)
        status = hx_recv(&value, 1, HX_INT32, size - 1, 2, world);
    fprintf(stderr, "rank %d: %s: %s\n", rank, hx_strerror(status), hx_error_detail(world));
    CHECK(status == HX_ERR_PEER_DEAD);
    _exit(0);
}

/* Two ranks send to each other before they receive. */
static void crossed(void)
{
    unsigned char *data = made(1 << 21, 0);
    const hx_status_t status = hx_send(data, 1 << 21, HX_BYTE, 1 - rank, 10 + rank, world);

    printf("rank %d: %s\n", rank, hx_error_detail(world));
    CHECK(status == HX_ERR_TIMEOUT || (status == HX_ERR_PEER_DEAD)); /* of two that time out, one may see the other's failure first */
    fflush(stdout);
    _exit(status != HX_ERR_TIMEOUT);
}

static void leaves(void)
{
    hx_comm_t *copy;
    int value = 0;

    OK(hx_comm_dup(world, &copy));
    if (rank == 0) {
        CHECK(hx_recv(&value, 1, HX_INT32, 1, 1, copy) == HX_ERR_MISMATCH);
        CHECK(strstr(hx_error_detail(copy), "has freed this communicator"));
    } else if (rank == 1) {
        OK(hx_send(&value, 1, HX_INT32, 0, 2, copy)); /* another tag */
    }
    OK(hx_comm_free(copy));
    OK(hx_barrier(world));
}

/* ---- revoke --------------------------------------------------------------------------------------------------- */

static void *barrier(void *comm)
{
    CHECK(hx_barrier(comm) == HX_ERR_REVOKED);
    return NULL;
}

/* Each rank waits in another way, rank 0 revokes. dies: the last rank dies first. */
static void revokes(int dies)
{
    hx_request_t *request;
    pthread_t thread;
    int value = 0, dead[4] = {-1}, count = -1;
    hx_comm_t *copy;
    double start;

    OK(hx_comm_dup(world, &copy));
    if (dies && rank == size - 1)
        kill(getpid(), SIGKILL);
    if (dies && rank == 0) {
        CHECK(hx_recv(&value, 1, HX_INT32, size - 1, 1, copy) == HX_ERR_PEER_DEAD);
        CHECK(hx_barrier(copy) == HX_ERR_PEER_DEAD);
    } else if (rank == 0) {
        nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
    }
    start = seconds();
    if (rank == 0) {
        OK(hx_comm_revoke(copy));
        OK(hx_comm_revoke(copy));
        CHECK(hx_send(&value, 1, HX_INT32, 1, 1, copy) == HX_ERR_REVOKED);
    } else if (dies) { /* other errors may come first; after a revocation there is no other */
        while (hx_recv(&value, 1, HX_INT32, rank, 1, copy) != HX_ERR_REVOKED)
            CHECK(seconds() - start < 20);
    } else if (rank == 1) {
        CHECK(hx_recv(&value, 1, HX_INT32, rank, 1, copy) == HX_ERR_REVOKED); /* from itself */
    } else if (rank == 2) {
        CHECK(pthread_create(&thread, NULL, barrier, copy) == 0);
        OK(hx_irecv(&value, 1, HX_INT32, 1, 1, copy, &request));
        CHECK(hx_wait(request) == HX_ERR_REVOKED);
        pthread_join(thread, NULL);
    } else {
        CHECK(hx_barrier(copy) == HX_ERR_REVOKED);
    }
    CHECK(hx_barrier(copy) == HX_ERR_REVOKED && hx_iprobe(0, 1, copy, &value, NULL) == HX_ERR_REVOKED);
    CHECK(strstr(hx_error_detail(copy), rank == 0 ? "this rank has revoked" : "rank 0 has revoked"));
    OK(hx_comm_failed(copy, dead, 4, &count));
    CHECK(count <= 3 * dies && (!dies || rank > 0 || (count > 0 && dead[count - 1] == size - 1))); /* ranks that ended after that count too */
    OK(hx_comm_free(copy));
    if (dies) {
        printf("rank %d saw it\n", rank);
        fflush(stdout);
        _exit(0);
    }
    OK(hx_barrier(world));
}

/* ---- time-outs of communicators: shorter than HX_TIMEOUT, which is 2 s here, and longer ----------------------------- */

static int says(const hx_comm_t *comm, const char *text)
{
    return strstr(hx_error_detail(comm), text) != NULL;
}

static void patience(void)
{
    hx_comm_t *brief, *briefly, *patient;
    char byte;

    OK(hx_comm_dup(world, &brief));
    OK(hx_comm_dup(world, &briefly));
    OK(hx_comm_dup(world, &patient));
    OK(hx_barrier(brief));
    CHECK(hx_comm_set_timeout(brief, -1) == HX_ERR_ARG && says(brief, "-1 seconds: expected 0 to 1e9"));
    OK(hx_comm_set_timeout(brief, 0.25));
    OK(hx_comm_set_timeout(briefly, 0.25));
    OK(hx_comm_set_timeout(patient, 60));
    if (rank == 0) {
        CHECK(hx_barrier(brief) == HX_ERR_TIMEOUT && says(brief, "waited 0.25 s (hx_comm_set_timeout)"));
        CHECK(hx_recv(&byte, 1, HX_BYTE, 1, 0, briefly) == HX_ERR_TIMEOUT && says(briefly, "waited 0.25 s (hx_comm_set_timeout); rank 1"));
        sleep(3);
        OK(hx_send(&byte, 1, HX_BYTE, 1, 0, patient));
    } else if (rank == 1) {
        OK(hx_recv(&byte, 1, HX_BYTE, 0, 0, patient));
    }
    OK(hx_barrier(patient));
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";

    if (hx_init(&world) != HX_SUCCESS)
        return 1;
    rank = hx_rank(world);
    size = hx_size(world);
    if (!strcmp(mode, "pairs"))
        pairs();
    else if (!strcmp(mode, "tags"))
        tags();
    else if (!strcmp(mode, "ahead"))
        ahead();
    else if (!strcmp(mode, "stream"))
        stream();
    else if (!strcmp(mode, "persistent"))
        persistent();
    else if (!strcmp(mode, "mismatch"))
        mismatch();
    else if (!strcmp(mode, "threads"))
        threads();
    else if (!strcmp(mode, "freed"))
        freed();
    else if (!strcmp(mode, "death"))
        death();
    else if (!strcmp(mode, "probes"))
        probes(argc > 2 ? argv[2] : "");
    else if (!strcmp(mode, "crossed"))
        crossed();
    else if (!strcmp(mode, "leaves"))
        leaves();
    else if (!strcmp(mode, "revoke"))
        revokes(0);
    else if (!strcmp(mode, "revoke_dead"))
        revokes(1);
    else if (!strcmp(mode, "patience"))
        patience();
    else
        CHECK(!"a mode");
    OK(hx_finalize());
    return 0;
}
