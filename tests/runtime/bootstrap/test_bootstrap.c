/* SPDX-License-Identifier: BSD-3-Clause */
/* Bootstrap: values through every kind that needs no launcher, the TCP store with real client processes, and what
 * goes wrong. A store is a forked process, and so is every client but those that are meant to fail in this one. */
#include "runtime/bootstrap/launcher.h"
#include "runtime/bootstrap/lobby_client.h"
#include "runtime/bootstrap/store_server.h"
#include "runtime/base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECRET "0123456789abcdef"

static char root[32]; /* of the store under test */
static pid_t store_pid;

static int listen_somewhere(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 1000), 0);
    getsockname(fd, (struct sockaddr *)&address, &bytes);
    snprintf(root, sizeof root, "127.0.0.1:%d", ntohs(address.sin_port));
    return fd;
}

static void start_store_of(int size, uint32_t server)
{
    const int fd = listen_somewhere();

    store_pid = fork();
    if (store_pid == 0) {
        struct hx_store *store;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (hx_store_open(fd, size, SECRET, server, &store) < 0)
            _exit(1);
        for (struct pollfd ready = {.fd = hx_store_fd(store), .events = POLLIN};;) {
            poll(&ready, 1, -1);
            hx_store_serve(store);
        }
    }
    close(fd);
}

static void start_store(int size)
{
    start_store_of(size, HX_STORE_LAUNCHER);
}

static void stop_store(void)
{
    kill(store_pid, SIGKILL);
    assert_int_equal(waitpid(store_pid, NULL, 0), store_pid);
}

static struct hx_env make_env(int rank, int size)
{
    struct hx_env env = {.bootstrap = 1, .root = root, .rank = rank, .size = size, .secret = SECRET, .timeout = 20};

    return env;
}

/* Run body as rank first .. last-1 of size, each in a process; 1 if all returned 0. */
static int run_clients(int first, int last, int size, double timeout, int (*body)(struct hx_boot *))
{
    pid_t pids[512];
    int good = 1, status;

    for (int rank = first; rank < last; rank++) {
        pids[rank] = fork();
        if (pids[rank] == 0) {
            struct hx_env env = make_env(rank, size);
            struct hx_boot *boot;

            alarm(60);
            env.timeout = timeout;
            if (hx_boot_open(&env, NULL, &boot))
                _exit(100);
            const int rc = body(boot);
            hx_boot_close(boot, rc == 0);
            _exit(rc);
        }
    }
    for (int rank = first; rank < last; rank++) {
        good &= waitpid(pids[rank], &status, 0) == pids[rank] && status == 0;
        if (status)
            print_message("rank %d: wait status %#x\n", rank, (unsigned)status);
    }
    return good;
}

static void assert_detail(const char *part)
{
    if (!strstr(hx_last_detail(), part))
        fail_msg("detail \"%s\" does not have \"%s\"", hx_last_detail(), part);
}

/* ---- values */

static void fill(unsigned char *bytes, size_t count, unsigned seed)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = (unsigned char)(i * 31 + (i >> 8) + seed);
}

/* Put and get back one value as this rank; 0 if it is the same. */
static int round_trip(struct hx_boot *boot, size_t count, unsigned seed)
{
    unsigned char *bytes = malloc(count + 1);
    size_t got_bytes;
    char key[32];
    void *got;

    snprintf(key, sizeof key, "value.%d", hx_boot_rank(boot));
    fill(bytes, count, seed);
    int wrong =
        hx_boot_put(boot, key, bytes, count) || hx_boot_fence(boot) || hx_boot_get(boot, key, &got, &got_bytes);
    if (!wrong) {
        wrong = got_bytes != count || memcmp(got, bytes, count) != 0;
        free(got);
    }
    free(bytes);
    return wrong;
}

static const size_t lengths[] = {0, 1, 7, 8, 491, 492, 493, 500, 992, 8192, 1000003, 1 << 20};

static int round_trips(struct hx_boot *boot)
{
    for (unsigned i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        if (round_trip(boot, lengths[i], i))
            return 1;
    return 0;
}

/* The contract of put, fence and get that holds for every kind. */
static int contract(struct hx_boot *boot)
{
    const int rank = hx_boot_rank(boot);
    char mine[32];
    void *value;
    size_t bytes;

    snprintf(mine, sizeof mine, "k.%d", rank);
    if (hx_boot_put(boot, mine, "old", 3) || hx_boot_fence(boot))
        return 1;
    if (hx_boot_get(boot, mine, &value, &bytes) || bytes != 3 || memcmp(value, "old", 3) != 0)
        return 2;
    free(value);
    if (hx_boot_put(boot, mine, "newer", 5) || hx_boot_get(boot, mine, &value, &bytes) || bytes != 3)
        return 3; /* not fenced yet: still the old one */
    free(value);
    if (hx_boot_fence(boot) || hx_boot_get(boot, mine, &value, &bytes) || bytes != 5 ||
        memcmp(value, "newer", 5) != 0)
        return 4;
    free(value);
    if (hx_boot_fence(boot) || hx_boot_get(boot, mine, &value, &bytes) != HX_ERR_BOOTSTRAP)
        return 8; /* older than the last two fences */
    if (hx_boot_get(boot, "never.0", &value, &bytes) != HX_ERR_BOOTSTRAP || !strstr(hx_last_detail(), "never.0"))
        return 5;
    if (hx_boot_put(boot, "k.999", "x", 1) != HX_ERR_INTERNAL || hx_boot_put(boot, "a b", "x", 1) != HX_ERR_INTERNAL)
        return 6; /* another rank's; white space */
    if (rank != 0 && hx_boot_put(boot, "k", "x", 1) != HX_ERR_INTERNAL)
        return 7; /* rank 0's */
    return 0;
}

static void single_keeps_values(void **state)
{
    struct hx_env env = {.bootstrap = 4, .rank = -1, .size = -1};
    struct hx_boot *boot;

    (void)state;
    assert_int_equal(hx_boot_open(&env, NULL, &boot), HX_SUCCESS);
    assert_string_equal(hx_boot_name(boot), "single");
    assert_int_equal(hx_boot_size(boot), 1);
    assert_int_equal(round_trips(boot), 0);
    assert_int_equal(contract(boot), 0);
    hx_boot_close(boot, 1);
}

/* A caller's store, as strict as the documentation lets it be: no key twice, text only. */
static struct {
    char *keys[8192], *values[8192];
    int count, fail;
} dictionary;

static int dictionary_put(void *ctx, const char *key, const char *value)
{
    (void)ctx;
    if (dictionary.fail || strpbrk(key, " \n") || strpbrk(value, " \n") || dictionary.count == 8192)
        return 5;
    for (int i = 0; i < dictionary.count; i++)
        if (strcmp(dictionary.keys[i], key) == 0)
            return 6;
    dictionary.keys[dictionary.count] = strdup(key);
    dictionary.values[dictionary.count++] = strdup(value);
    return 0;
}

static int dictionary_fence(void *ctx)
{
    (void)ctx;
    return dictionary.fail;
}

static int dictionary_get(void *ctx, const char *key, char *value, size_t capacity)
{
    (void)ctx;
    for (int i = dictionary.count - 1; i >= 0; i--)
        if (strcmp(dictionary.keys[i], key) == 0)
            return (size_t)snprintf(value, capacity, "%s", dictionary.values[i]) >= capacity;
    return 1;
}

static void callbacks_keep_values(void **state)
{
    hx_bootstrap_t calls = {
        .rank = 0, .size = 1, .put = dictionary_put, .fence = dictionary_fence, .get = dictionary_get};
    struct hx_env env = {.timeout = 5};
    struct hx_boot *boot;

    (void)state;
    assert_int_equal(hx_boot_open(&env, &calls, &boot), HX_SUCCESS);
    assert_string_equal(hx_boot_name(boot), "user");
    assert_int_equal(round_trips(boot), 0);
    assert_int_equal(contract(boot), 0);
    dictionary.fail = 9;
    assert_int_equal(hx_boot_fence(boot), HX_ERR_BOOTSTRAP);
    assert_detail("returned 9");
    assert_int_equal(hx_boot_put(boot, "x", "y", 1), HX_ERR_BOOTSTRAP);
    assert_detail("returned 5");
    hx_boot_close(boot, 1);
    for (int i = 0; i < dictionary.count; i++) {
        free(dictionary.keys[i]);
        free(dictionary.values[i]);
    }

    calls.rank = 1;
    assert_int_equal(hx_boot_open(&env, &calls, &boot), HX_ERR_ARG);
    assert_detail("rank 1 of 1");
    calls.rank = 0;
    calls.get = NULL;
    assert_int_equal(hx_boot_open(&env, &calls, &boot), HX_ERR_ARG);
    assert_detail("get callback");
}

/* ---- the TCP store */

static int values_and_contract(struct hx_boot *boot)
{
    const int wrong = round_trips(boot);

    return wrong ? wrong : contract(boot);
}

static void tcp_keeps_values(void **state)
{
    (void)state;
    start_store(3);
    assert_true(run_clients(0, 3, 3, 20, values_and_contract));
    stop_store();
}

static int exchange_all(struct hx_boot *boot)
{
    char key[32];
    int wrong = 0;

    snprintf(key, sizeof key, "r.%d", hx_boot_rank(boot));
    if (hx_boot_put(boot, key, key, strlen(key) + 1) || hx_boot_fence(boot))
        return 1;
    for (int i = 0; i < 10; i++) { /* a few neighbours, as leaders do */
        void *value;
        size_t bytes;

        snprintf(key, sizeof key, "r.%d", (hx_boot_rank(boot) + 17 * i) % hx_boot_size(boot));
        if (hx_boot_get(boot, key, &value, &bytes))
            return 2;
        wrong |= strcmp(value, key) != 0;
        free(value);
    }
    return hx_boot_fence(boot) ? 3 : wrong;
}

static void tcp_serves_200_clients(void **state)
{
    (void)state;
    start_store(200);
    assert_true(run_clients(0, 200, 200, 50, exchange_all));
    stop_store();
}

static void tcp_rank_0_serves(void **state)
{
    (void)state;
    close(listen_somewhere()); /* a port that is free now */
    assert_true(run_clients(0, 4, 4, 20, values_and_contract));
}

static hx_status_t open_as(int rank, int size, const char *secret, double timeout, struct hx_boot **boot)
{
    struct hx_env env = make_env(rank, size);

    env.secret = secret;
    env.timeout = timeout;
    return hx_boot_open(&env, NULL, boot);
}

static void tcp_refuses_strangers(void **state)
{
    struct hx_boot *boot;

    (void)state;
    start_store(3);
    assert_int_equal(open_as(1, 3, "0123456789abcdeX", 10, &boot), HX_ERR_BOOTSTRAP);
    assert_detail("HX_SECRET");
    assert_int_equal(open_as(1, 3, "0123456789abcde", 10, &boot), HX_ERR_BOOTSTRAP);
    assert_int_equal(open_as(1, 3, NULL, 10, &boot), HX_ERR_BOOTSTRAP);
    assert_detail("HX_SECRET");
    assert_int_equal(open_as(1, 3, "********", 10, &boot), HX_ERR_ENV); /* a child of a rank, or that rank after exec */
    assert_detail("The child of a rank cannot join the job");
    assert_int_equal(open_as(1, 3, SECRET, 1, &boot), HX_SUCCESS); /* they harm nobody */
    assert_int_equal(hx_boot_fence(boot), HX_ERR_TIMEOUT);
    assert_detail("1 ever connected; refused for a wrong HX_SECRET: 3)"); /* so the missing ranks may be among these */
    hx_boot_close(boot, 1);
    stop_store();
}

/* A rank that the store refuses fails the job, and the others are told. */
static void tcp_refuses_ranks(void **state)
{
    struct hx_boot *boot, *other;

    (void)state;
    for (int twice = 0; twice < 2; twice++) {
        start_store(3);
        assert_int_equal(open_as(1, 3, SECRET, 10, &boot), HX_SUCCESS);
        assert_int_equal(open_as(twice ? 1 : 2, twice ? 3 : 4, SECRET, 10, &other), HX_ERR_BOOTSTRAP);
        assert_detail(twice ? "HX_RANK=1 already" : "HX_SIZE=4, but this job has 3 ranks");
        assert_int_equal(hx_boot_fence(boot), HX_ERR_BOOTSTRAP);
        assert_detail(twice ? "HX_RANK=1 already" : "HX_SIZE=4, but this job has 3 ranks");
        hx_boot_close(boot, 0);
        stop_store();
    }
}

/* Three ranks run this; rank 2 dies in it. */
static void rank_2_of_3_dies(int (*run)(struct hx_boot *))
{
    pid_t pid;
    int status;

    start_store(3);
    pid = fork();
    if (pid == 0)
        _exit(run_clients(2, 3, 3, 20, run));
    assert_true(run_clients(0, 2, 3, 20, run));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    stop_store();
}

static int fence_then_learn_of_2(struct hx_boot *boot)
{
    if (hx_boot_rank(boot) == 2) {
        usleep(200000);
        kill(getpid(), SIGKILL);
    }
    if (hx_boot_fence(boot) != HX_ERR_PEER_DEAD || !strstr(hx_last_detail(), "rank 2 has died"))
        return 1;
    return hx_boot_put(boot, hx_boot_rank(boot) ? "a.1" : "a", "", 0) != HX_ERR_PEER_DEAD; /* and for ever */
}

static void tcp_names_dead_rank(void **state)
{
    (void)state;
    rank_2_of_3_dies(fence_then_learn_of_2);
}

/* A rank that has passed the fence can get the others' values, even those of a rank that has died meanwhile. */
static int read_after_death(struct hx_boot *boot)
{
    const int rank = hx_boot_rank(boot);
    char mine[16];
    size_t bytes;
    void *value;

    snprintf(mine, sizeof mine, "a.%d", rank);
    if (hx_boot_put(boot, mine, mine, strlen(mine)) || hx_boot_fence(boot))
        return 1;
    if (rank == 2)
        kill(getpid(), SIGKILL);
    while (hx_boot_put(boot, mine, "", 0) != HX_ERR_PEER_DEAD)
        usleep(1000);
    if (hx_boot_get(boot, "a.2", &value, &bytes) || bytes != 3 || memcmp(value, "a.2", 3) != 0)
        return 2;
    free(value);
    return hx_boot_get(boot, "never.0", &value, &bytes) != HX_ERR_PEER_DEAD || hx_boot_fence(boot) != HX_ERR_PEER_DEAD;
}

static void tcp_keeps_values_after_death(void **state)
{
    (void)state;
    rank_2_of_3_dies(read_after_death);
}

/* Until the store's connection to the rank has a request (POLLIN) or is closed (POLLRDHUP). The store does not look meanwhile. */
static void wait_for_rank(const struct hx_store *store, int rank, short what)
{
    assert_int_equal(poll(&(struct pollfd){.fd = store->by_rank[rank]->fd, .events = what}, 1, 20000), 1);
}

/* Ranks that end by another's death are not named in its place, though the store sees all ends at once. In every second round, each rank
 * but the one that dies first has sent a request, which the store has not yet seen. */
static void tcp_names_the_first_of_several(void **state)
{
    enum { RANKS = 5 };
    static const int orders[][RANKS] = {{0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {2, 4, 0, 3, 1}};

    (void)state;
    for (unsigned round = 0; round < 2 * sizeof orders / sizeof *orders; round++) {
        const unsigned o = round / 2;
        struct hx_store *store;
        pid_t pids[RANKS];
        int joined[2], asked[2], aborted, dead;
        char byte;

        assert_int_equal(hx_store_open(listen_somewhere(), RANKS, SECRET, HX_STORE_LAUNCHER, &store), 0);
        assert_int_equal(pipe2(joined, O_NONBLOCK), 0);
        assert_int_equal(pipe(asked), 0);
        for (int rank = 0; rank < RANKS; rank++)
            if ((pids[rank] = fork()) == 0) {
                struct hx_env env = make_env(rank, RANKS);
                struct hx_boot *boot;
                char key[8];

                alarm(60);
                if (hx_boot_open(&env, NULL, &boot) || write(joined[1], "", 1) != 1)
                    _exit(1);
                snprintf(key, sizeof key, "a.%d", rank);
                if (round % 2 && rank != orders[o][0] && read(asked[0], &byte, 1) == 1)
                    hx_boot_put(boot, key, "", 0);
                for (;;)
                    pause();
            }
        for (int n = 0; n < RANKS; n += read(joined[0], &byte, 1) == 1) {
            poll(&(struct pollfd){.fd = hx_store_fd(store), .events = POLLIN}, 1, 10);
            hx_store_serve(store);
        }
        assert_int_equal(write(asked[1], "1234", RANKS - 1), RANKS - 1);
        for (int i = 1; round % 2 && i < RANKS; i++)
            wait_for_rank(store, orders[o][i], POLLIN);
        for (int i = 0; i < RANKS; i++) {
            kill(pids[orders[o][i]], SIGKILL);
            assert_int_equal(waitpid(pids[orders[o][i]], NULL, 0), pids[orders[o][i]]);
            wait_for_rank(store, orders[o][i], POLLRDHUP);
        }
        hx_store_serve(store);
        assert_non_null(hx_store_failure(store, &aborted, &dead));
        assert_int_equal(dead, orders[o][0]);
        hx_store_close(store);
        close(joined[0]);
        close(joined[1]);
        close(asked[0]);
        close(asked[1]);
    }
}

static int fence_times_out(struct hx_boot *boot)
{
    const double start = hx_clock_awake();
    const hx_status_t status = hx_boot_fence(boot);

    return status != HX_ERR_TIMEOUT || !strstr(hx_last_detail(), "ranks 2, 4-6 (3 of 7 have arrived") ||
           hx_clock_awake() - start > 15;
}

static void tcp_names_missing_ranks(void **state)
{
    struct hx_boot *boot;

    (void)state;
    start_store(7);
    assert_int_equal(open_as(3, 7, SECRET, 4, &boot), HX_SUCCESS); /* arrives by hand, in a third process */
    const pid_t pid = fork();
    if (pid == 0)
        _exit(fence_times_out(boot));
    assert_true(run_clients(0, 2, 7, 4, fence_times_out));
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    hx_boot_close(boot, 0);
    stop_store();
}

static void tcp_names_leaver_and_aborter(void **state)
{
    struct hx_boot *stays, *leaves;

    (void)state;
    start_store(2);
    assert_int_equal(open_as(0, 2, SECRET, 10, &stays), HX_SUCCESS);
    assert_int_equal(open_as(1, 2, SECRET, 10, &leaves), HX_SUCCESS);
    hx_boot_close(leaves, 1); /* nobody answers that, so the store may hear of the fence first */
    usleep(100000);
    assert_int_equal(hx_boot_fence(stays), HX_ERR_PEER_DEAD);
    if (!strstr(hx_last_detail(), "rank 1 has ended while 1 ranks wait"))
        assert_detail("rank 1 has ended (1 of the 2 ranks have ended already)");
    hx_boot_close(stays, 0);
    stop_store();

    start_store(2);
    assert_int_equal(open_as(0, 2, SECRET, 10, &stays), HX_SUCCESS);
    assert_int_equal(open_as(1, 2, SECRET, 10, &leaves), HX_SUCCESS);
    hx_boot_abort(leaves, "no more\nink");
    usleep(100000);
    assert_int_equal(hx_boot_fence(stays), HX_ERR_PEER_DEAD);
    assert_detail("rank 1 has aborted the job: no more ink"); /* on one line */
    hx_boot_close(leaves, 0);
    hx_boot_close(stays, 0);
    stop_store();
}

/* Bytes that no client of ours sends; the store must live on. Returns what comes back. */
static ssize_t poke(const void *bytes, size_t count, char *reply, size_t capacity)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval limit = {.tv_sec = 2};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);

    address.sin_port = htons((uint16_t)atoi(strchr(root, ':') + 1));
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    assert_int_equal(send(fd, bytes, count, MSG_NOSIGNAL), count);
    const ssize_t n = recv(fd, reply, capacity, MSG_WAITALL);
    close(fd);
    return n;
}

static void tcp_survives_garbage(void **state)
{
    const uint32_t huge_hello[] = {htonl(HX_STORE_MAGIC | HX_STORE_VERSION), htonl(HX_STORE_HELLO), 0, htonl(4), ~0u};
    const uint32_t early_put[] = {htonl(HX_STORE_MAGIC | HX_STORE_VERSION), htonl(HX_STORE_PUT), 0, 0, 0};
    const uint32_t version_9[] = {htonl(HX_STORE_MAGIC | 9), htonl(HX_STORE_HELLO), 0, 0, 0};
    char reply[400] = "";

    (void)state;
    start_store(1);
    assert_true(poke("GET / HTTP/1.0\r\n\r\n____", 22, reply, sizeof reply - 1) <= 0);
    assert_true(poke(huge_hello, sizeof huge_hello, reply, sizeof reply - 1) > 20);
    assert_non_null(strstr(reply + 20, "refuses a request"));
    assert_true(poke(early_put, sizeof early_put, reply, sizeof reply - 1) > 20);
    assert_non_null(strstr(reply + 20, "greeting"));
    assert_true(poke(version_9, sizeof version_9, reply, sizeof reply - 1) > 20);
    assert_non_null(strstr(reply + 20, "protocol version 2, this process 9"));
    poke("HX", 2, reply, sizeof reply - 1); /* hangs up in mid-header */
    assert_true(run_clients(0, 1, 1, 20, values_and_contract));
    stop_store();
}

static void tcp_gives_up_on_silence(void **state)
{
    struct hx_boot *boot;
    const double start = hx_clock_awake();

    (void)state;
    const int fd = listen_somewhere(); /* connects, never answers */
    assert_int_equal(open_as(1, 2, SECRET, 1, &boot), HX_ERR_TIMEOUT);
    assert_detail(root);
    close(fd); /* refuses */
    assert_int_equal(open_as(1, 2, SECRET, 1, &boot), HX_ERR_BOOTSTRAP);
    assert_detail(root);
    assert_detail("refused");
    assert_true(hx_clock_awake() - start < 15);
}

/* ---- strangers at the store's port, and at ours */

static int connect_raw(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);

    address.sin_port = htons((uint16_t)atoi(strchr(root, ':') + 1));
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

/* Does the other end close the connection within so many seconds? */
static int is_closed(int fd, double seconds)
{
    char byte;

    return hx_boot_wait_fd(fd, POLLIN, hx_deadline(seconds)) == 1 && recv(fd, &byte, 1, MSG_DONTWAIT) <= 0;
}

static int files_of(pid_t pid)
{
    char path[64];
    int count = 0;

    for (int fd = 0; fd < 1000; fd++) {
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
        count += access(path, F_OK) == 0;
    }
    return count;
}

/* Many connections that say nothing, or half of a greeting: the oldest leave for others, and all of them after a while. Ranks get in. */
static void tcp_bounds_strangers(void **state)
{
    enum { STRANGERS = 300, SIZE = 2 };
    const uint32_t half = htonl(HX_STORE_MAGIC | HX_STORE_VERSION);
    int fds[STRANGERS], before;

    (void)state;
    start_store(SIZE);
    close(connect_raw());
    before = files_of(getpid());
    for (int i = 0; i < STRANGERS; i++) {
        fds[i] = connect_raw();
        if (i % 2)
            assert_int_equal(send(fds[i], &half, sizeof half, MSG_NOSIGNAL), sizeof half);
    }
    const double start = hx_clock_awake();
    assert_true(run_clients(0, SIZE, SIZE, 20, exchange_all));
    assert_true(hx_clock_awake() - start < 4); /* sooner than strangers leave by themselves */
    assert_true(is_closed(fds[0], 2));
    assert_true(files_of(store_pid) <= before + 2 * SIZE + 64 + 8);
    assert_true(is_closed(fds[STRANGERS - 1], 8)); /* their time is over */
    for (int i = 0; i < STRANGERS; i++)
        close(fds[i]);
    stop_store();
}

#define TOLD "a value that nobody else is to read"

static int tell(struct hx_boot *boot)
{
    void *value;
    size_t bytes;

    if (hx_boot_put(boot, "told", TOLD, sizeof TOLD) || hx_boot_fence(boot) || hx_boot_get(boot, "told", &value, &bytes))
        return 1;
    free(value);
    return 0;
}

static void assert_hides(const char *bytes, size_t count)
{
    assert_null(memmem(bytes, count, SECRET, strlen(SECRET)));
    assert_null(memmem(bytes, count, TOLD, strlen(TOLD)));
}

/* A process that replays a recorded exchange of a rank with the store does not get in. */
static void tcp_recording_opens_nothing(void **state)
{
    char recorded[4096], store_root[sizeof root], said[4096];
    size_t count = 0, heard = 0;
    ssize_t n = 1;

    (void)state;
    start_store(1);
    memcpy(store_root, root, sizeof root);
    const int listen_fd = listen_somewhere();
    const pid_t pid = fork();
    if (pid == 0)
        _exit(!run_clients(0, 1, 1, 10, tell)); /* rank 0 cannot listen there, so it takes this for its launcher's */
    assert_int_equal(hx_boot_wait_fd(listen_fd, POLLIN, hx_deadline(10)), 1);
    const int client = accept(listen_fd, NULL, NULL);
    memcpy(root, store_root, sizeof root);
    const int store = connect_raw();
    struct pollfd ends[] = {{.fd = client, .events = POLLIN}, {.fd = store, .events = POLLIN}};
    while (n > 0 && poll(ends, 2, 10000) > 0) {
        if (ends[0].revents) {
            n = recv(client, recorded + count, sizeof recorded - count, 0);
            count += n > 0 ? (size_t)n : 0;
            if (n > 0)
                assert_int_equal(send(store, recorded + count - n, (size_t)n, MSG_NOSIGNAL), n);
        }
        if (n > 0 && ends[1].revents) {
            n = recv(store, said + heard, sizeof said - heard, 0);
            heard += n > 0 ? (size_t)n : 0;
            if (n > 0)
                assert_int_equal(send(client, said + heard - n, (size_t)n, MSG_NOSIGNAL), n);
        }
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    close(client);
    close(store);
    close(listen_fd);
    assert_true(count > 100 && heard > 100);
    assert_hides(recorded, count);
    assert_hides(said, heard);
    stop_store();

    start_store(1); /* of the same secret: none of its ranks has come */
    memset(said, 0, sizeof said);
    assert_true(poke(recorded, count, said, sizeof said - 1) > 0);
    assert_non_null(memmem(said, sizeof said, "wrong HX_SECRET", 15));
    assert_true(run_clients(0, 1, 1, 20, values_and_contract)); /* rank 0 is still to come */
    stop_store();
}

/* A process has taken the store's port. It answers as a store does, except that it does not know the secret. It learns nothing useful. */
static void tcp_unmasks_a_false_store(void **state)
{
    const uint32_t refusal[] = {htonl(HX_STORE_MAGIC | HX_STORE_VERSION), htonl(HX_STORE_REFUSE), 0, 0, htonl(4), 0x1b1b1b1b};
    static const char *const texts[] = {"does not know HX_SECRET", "is not a Hierax store", "    "};
    struct hx_boot *boot;

    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        const int listen_fd = listen_somewhere();
        const pid_t pid = fork();
        if (pid == 0) {
            unsigned char got[1024] = {0}, answer[20 + 36] = {0}, welcome[20 + HX_STORE_SEAL_BYTES] = {0};
            const struct hx_store_frame heads[] = {
                {htonl(HX_STORE_MAGIC | HX_STORE_VERSION), htonl(HX_STORE_HELLO), 0, 0, htonl(36)},
                {htonl(HX_STORE_MAGIC | HX_STORE_VERSION), htonl(kind == 0 ? HX_STORE_JOIN : HX_STORE_FENCE), 0, 0, 0}};
            ssize_t n, count;

            alarm(20);
            while (poll(&(struct pollfd){.fd = listen_fd, .events = POLLIN}, 1, 10000) < 1)
                ;
            const int fd = accept(listen_fd, NULL, NULL);
            memcpy(answer, &heads[0], sizeof heads[0]);
            memcpy(welcome, &heads[1], sizeof heads[1]);
            count = recv(fd, got, sizeof got, 0);
            if (kind == 0)
                send(fd, answer, sizeof answer, MSG_NOSIGNAL);
            else if (kind == 1)
                send(fd, welcome, sizeof welcome, MSG_NOSIGNAL); /* of what is to be sealed, in clear */
            else
                send(fd, refusal, sizeof refusal, MSG_NOSIGNAL);
            if (kind == 0) {
                n = recv(fd, got + count, sizeof got - (size_t)count, 0);
                count += n > 0 ? n : 0;
                send(fd, welcome, sizeof welcome, MSG_NOSIGNAL);
            }
            while ((n = recv(fd, got + count, sizeof got - (size_t)count, 0)) > 0)
                count += n;
            _exit(memmem(got, (size_t)count, SECRET, strlen(SECRET)) != NULL);
        }
        close(listen_fd);
        assert_int_equal(open_as(1, 2, SECRET, 10, &boot), HX_ERR_BOOTSTRAP);
        assert_detail(texts[kind]); /* escape sequences are not passed on */
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
}

/* The store of a session ends after it has told the session's port. Its refusal tells this at once, no limit does. */
static void session_names_a_dead_store(void **state)
{
    struct hx_session session = {.size = 2, .id = 1, .generation = 1};
    struct hx_lobby_place place;
    struct hx_boot *boot;

    (void)state;
    close(listen_somewhere());
    session.port = atoi(strrchr(root, ':') + 1);
    assert_int_equal(hx_lobby_place_parse("", "127.0.0.1:1/job", &place), HX_SUCCESS);
    for (session.rank = 0; session.rank < 2; session.rank++) {
        const double start = hx_clock_awake();
        assert_int_equal(hx_boot_open_session(&place, SECRET, &session, 60, &boot), HX_ERR_BOOTSTRAP);
        assert_detail("Connection refused");
        assert_true(hx_clock_awake() - start < 5);
    }
}

/* Rank 0 serves the store and is killed: ranks at the fence report its death at once. A rank that comes later cannot tell whether rank 0 is
 * dead or late. */
static void tcp_names_a_dead_server(void **state)
{
    struct hx_boot *boot;
    double start;

    (void)state;
    start_store_of(3, 0);
    assert_int_equal(open_as(1, 3, SECRET, 60, &boot), HX_SUCCESS);
    const pid_t pid = fork();
    if (pid == 0) {
        usleep(300000);
        _exit(kill(store_pid, SIGKILL));
    }
    start = hx_clock_awake();
    assert_int_equal(hx_boot_fence(boot), HX_ERR_PEER_DEAD);
    assert_detail("rank 0 has died");
    assert_true(hx_clock_awake() - start < 5);
    hx_boot_close(boot, 0);
    waitpid(pid, NULL, 0);
    waitpid(store_pid, NULL, 0);
    assert_int_equal(open_as(1, 3, SECRET, 1, &boot), HX_ERR_BOOTSTRAP);
    assert_detail("Rank 0 (or the launcher) serves the store. It has not started, or it has ended");

    start_store_of(3, HX_STORE_LAUNCHER);
    assert_int_equal(open_as(1, 3, SECRET, 60, &boot), HX_SUCCESS);
    stop_store();
    assert_int_equal(hx_boot_fence(boot), HX_ERR_BOOTSTRAP);
    assert_detail("closed by the store");
    hx_boot_close(boot, 0);
}

/* ---- the environment */

static void half_set_environments_are_errors(void **state)
{
    static const struct {
        const char *root;
        int rank, size;
        const char *text;
    } rows[] = {
        {"h:1", -1, -1, "set the missing ones: HX_RANK HX_SIZE"},
        {"h:1", 0, -1, "set the missing ones: HX_SIZE"},
        {NULL, 0, 1, "set the missing ones: HX_ROOT"},
        {"h:1", 4, 4, "HX_RANK=4, but HX_SIZE=4"},
        {"nocolon", 1, 4, "HX_ROOT=nocolon"},
        {":5", 1, 4, "HX_ROOT=:5"},
        {"h:0", 1, 4, "HX_ROOT=h:0"},
        {"h:70000", 1, 4, "HX_ROOT=h:70000"},
        {"h:+5", 1, 4, "HX_ROOT=h:+5"},
    };
    struct hx_boot *boot;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct hx_env env = {.root = rows[i].root, .rank = rows[i].rank, .size = rows[i].size, .timeout = 1};

        assert_int_equal(hx_boot_open(&env, NULL, &boot), HX_ERR_ENV);
        assert_detail(rows[i].text);
    }
    for (int kind = 1; kind <= 3; kind++) { /* forced, but not there */
        const struct hx_env env = {.bootstrap = kind, .rank = -1, .size = -1};

        assert_int_equal(hx_boot_open(&env, NULL, &boot), HX_ERR_ENV);
        assert_detail(hx_boot_kinds[kind - 1]->name);
        assert_detail(hx_boot_kinds[kind - 1]->needs);
    }
}

static void launcher_variables_are_checked(void **state)
{
    const struct hx_env env = {.rank = -1, .size = -1, .timeout = 2};
    struct hx_boot *boot;

    (void)state;
    setenv("PMI_FD", "seven", 1);
    assert_int_equal(hx_boot_open(&env, NULL, &boot), HX_ERR_ENV);
    assert_detail("PMI_FD=seven");
    setenv("PMI_FD", "777", 1);
    assert_int_equal(hx_boot_open(&env, NULL, &boot), HX_ERR_ENV);
    assert_detail("not an open descriptor");
    setenv("PMI_FD", "2", 1);
    assert_int_equal(hx_boot_open(&env, NULL, &boot), HX_ERR_ENV);
    assert_detail("PMI_RANK is missing");
    unsetenv("PMI_FD");
    setenv("PMIX_RANK", "0", 1);
    assert_int_equal(hx_boot_open(&env, NULL, &boot), HX_ERR_ENV);
    assert_detail("PMIX_NAMESPACE is not");
    unsetenv("PMIX_RANK");
}

/* HX_BOOTSTRAP's choices are an index into hx_boot_kinds. */
static void kinds_match_choices(void **state)
{
    (void)state;
    for (int i = 0; hx_boot_kinds[i]; i++) {
        char setting[64];
        const char *const overrides[] = {setting, NULL};
        struct hx_env env;

        snprintf(setting, sizeof setting, "HX_BOOTSTRAP=%s", hx_boot_kinds[i]->name);
        assert_int_equal(hx_env_load(&env, overrides), HX_SUCCESS);
        assert_int_equal(env.bootstrap, i + 1);
        hx_env_release(&env);
    }
}

/* A launcher that answers every line with the same text; NULL: hangs up. */
static hx_status_t open_pmi1_with(const char *reply)
{
    const struct hx_env env = {.rank = -1, .size = -1, .timeout = 2};
    struct hx_boot *boot;
    char number[16], line[512];
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        close(ends[1]);
        while (read(ends[0], line, sizeof line) > 0 && reply)
            if (write(ends[0], reply, strlen(reply)) < 0)
                break;
        _exit(0);
    }
    close(ends[0]);
    snprintf(number, sizeof number, "%d", ends[1]);
    setenv("PMI_FD", number, 1);
    setenv("PMI_RANK", "0", 1);
    setenv("PMI_SIZE", "2", 1);
    const hx_status_t status = hx_boot_open(&env, NULL, &boot);
    unsetenv("PMI_FD");
    unsetenv("PMI_RANK");
    unsetenv("PMI_SIZE");
    close(ends[1]);
    waitpid(pid, NULL, 0);
    return status;
}

static void pmi1_reports_bad_launchers(void **state)
{
    char *endless = malloc(6000);

    (void)state;
    assert_int_equal(open_pmi1_with(NULL), HX_ERR_BOOTSTRAP);
    assert_int_equal(open_pmi1_with("what?\n"), HX_ERR_BOOTSTRAP);
    assert_detail("what?");
    assert_int_equal(open_pmi1_with("cmd=response_to_init rc=-1 msg=old\n"), HX_ERR_BOOTSTRAP);
    assert_detail("version 1");
    assert_int_equal(open_pmi1_with("cmd=response_to_init rc=0\n"), HX_ERR_BOOTSTRAP); /* also to get_maxes */
    assert_detail("cmd=maxes");
    assert_int_equal(open_pmi1_with("cmd=response_to_init"), HX_ERR_TIMEOUT); /* no end of line */
    memset(endless, 'x', 5999);
    endless[5999] = '\0';
    assert_int_equal(open_pmi1_with(endless), HX_ERR_BOOTSTRAP);
    assert_detail("longer than");
    free(endless);
}

int main(void)
{
    static const char *const launchers[] = {
        "PMI_FD",  "PMI_RANK", "PMI_SIZE",  "PMIX_RANK",    "PMIX_NAMESPACE",      "HX_ROOT",
        "HX_RANK", "HX_SIZE",  "HX_SECRET", "HX_BOOTSTRAP", "SLURM_STEP_NUM_TASKS"};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_keeps_values),
        cmocka_unit_test(callbacks_keep_values),
        cmocka_unit_test(tcp_keeps_values),
        cmocka_unit_test(tcp_serves_200_clients),
        cmocka_unit_test(tcp_rank_0_serves),
        cmocka_unit_test(tcp_refuses_strangers),
        cmocka_unit_test(tcp_refuses_ranks),
        cmocka_unit_test(tcp_names_dead_rank),
        cmocka_unit_test(tcp_names_the_first_of_several),
        cmocka_unit_test(tcp_keeps_values_after_death),
        cmocka_unit_test(tcp_names_missing_ranks),
        cmocka_unit_test(tcp_names_leaver_and_aborter),
        cmocka_unit_test(tcp_survives_garbage),
        cmocka_unit_test(tcp_gives_up_on_silence),
        cmocka_unit_test(tcp_bounds_strangers),
        cmocka_unit_test(tcp_recording_opens_nothing),
        cmocka_unit_test(tcp_unmasks_a_false_store),
        cmocka_unit_test(tcp_names_a_dead_server),
        cmocka_unit_test(session_names_a_dead_store),
        cmocka_unit_test(half_set_environments_are_errors),
        cmocka_unit_test(launcher_variables_are_checked),
        cmocka_unit_test(kinds_match_choices),
        cmocka_unit_test(pmi1_reports_bad_launchers),
    };

    for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++)
        unsetenv(launchers[i]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
