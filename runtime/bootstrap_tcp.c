/* SPDX-License-Identifier: BSD-3-Clause */
/* Client of the TCP store (bootstrap_store.h has the protocol): one blocking connection, one request at a time. */
#include "bootstrap_kind.h"
#include "bootstrap_serve.h"
#include "bootstrap_store.h"
#include "error.h"
#include "log.h"
#include "sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define REFUSED_SECONDS 10.0 /* how long a store may be late */
#define CONNECT_SECONDS 60.0 /* how long it may take to answer at all */
#define ATTEMPT_SECONDS 5.0  /* for one of several addresses, before the next is tried */
#define LATE_SECONDS 5.0     /* for the answer after a time-out */

struct tcp {
    struct hx_boot boot;
    int fd;
    int broken; /* the connection is out of step: no further requests */
    struct hx_root root;
    struct hx_serve *serve; /* rank 0, where no launcher serves */
};

struct answer {
    uint32_t op, status;
    size_t bytes;
    char *value; /* malloc'ed, NUL behind it */
};

int hx_boot_tcp_present(const struct hx_env *env)
{
    const int have_rank = env->rank >= 0, have_size = env->size >= 0;

    if (!env->root && !have_rank && !have_size)
        return 0;
    if (!env->root || !have_rank || !have_size)
        hx_fail(HX_ERR_ENV, "the TCP store needs HX_ROOT, HX_RANK and HX_SIZE; missing here:%s%s%s",
                env->root ? "" : " HX_ROOT", have_rank ? "" : " HX_RANK", have_size ? "" : " HX_SIZE");
    else if (env->rank >= env->size)
        hx_fail(HX_ERR_ENV, "HX_RANK=%lld, but HX_SIZE=%lld; ranks are 0 to size - 1", (long long)env->rank,
                (long long)env->size);
    else
        return 1;
    return -1;
}

/* errno as the call left it, 0 for end of file. */
static hx_status_t lost(struct tcp *tcp, const char *doing)
{
    const int error = errno;

    tcp->broken = 1;
    return hx_fail(HX_ERR_BOOTSTRAP, "the connection to the store at %s:%s broke while %s: %s", tcp->root.host,
                   tcp->root.port, doing, error ? strerror(error) : "closed by the store (has its process ended?)");
}

/* HX_SUCCESS, HX_ERR_TIMEOUT without a text, or an error. */
static hx_status_t receive(struct tcp *tcp, void *to, size_t bytes, double deadline)
{
    for (size_t got = 0; got < bytes;) {
        const int ready = hx_boot_wait_fd(tcp->fd, POLLIN, deadline);

        if (ready == 0)
            return HX_ERR_TIMEOUT;
        errno = 0;
        const ssize_t n = ready < 0 ? -1 : recv(tcp->fd, (char *)to + got, bytes - got, MSG_DONTWAIT);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n <= 0)
            return lost(tcp, "reading");
        got += (size_t)n;
    }
    return HX_SUCCESS;
}

static hx_status_t receive_answer(struct tcp *tcp, struct answer *answer, double deadline)
{
    struct hx_store_frame head;
    hx_status_t status = receive(tcp, &head, sizeof head, deadline);

    if (status)
        return status;
    const uint32_t magic = ntohl(head.magic), bytes = ntohl(head.value_bytes);
    if ((magic & 0xffff0000u) != HX_STORE_MAGIC || bytes > HX_STORE_VALUE_MAX_BYTES) {
        tcp->broken = 1;
        return hx_fail(HX_ERR_BOOTSTRAP, "what answers at HX_ROOT=%s:%s is not a Hierax store", tcp->root.host,
                       tcp->root.port);
    }
    *answer = (struct answer){ntohl(head.op), ntohl(head.status), bytes, malloc((size_t)bytes + 1)};
    if (!answer->value) {
        tcp->broken = 1;
        return hx_fail(HX_ERR_NOMEM, "no memory for %u bytes from the store", bytes);
    }
    status = receive(tcp, answer->value, bytes, deadline);
    if (status) {
        free(answer->value);
        answer->value = NULL;
        return status;
    }
    answer->value[bytes] = '\0';
    return HX_SUCCESS;
}

static hx_status_t send_request(struct tcp *tcp, enum hx_store_op op, const void *key, size_t key_bytes,
                                const void *value, size_t bytes)
{
    struct hx_store_frame head = {htonl(HX_STORE_MAGIC | HX_STORE_VERSION), htonl(op), 0, htonl((uint32_t)key_bytes),
                                  htonl((uint32_t)bytes)};
    struct iovec parts[] = {{&head, sizeof head}, {(void *)key, key_bytes}, {(void *)value, bytes}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 3};
    const double deadline = hx_deadline(tcp->boot.timeout);

    for (size_t left = sizeof head + key_bytes + bytes; left > 0;) {
        errno = 0;
        ssize_t n = hx_boot_wait_fd(tcp->fd, POLLOUT, deadline) > 0
                        ? sendmsg(tcp->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT)
                        : -1;
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n < 0) {
            errno = errno ? errno : ETIMEDOUT;
            return lost(tcp, "writing");
        }
        left -= (size_t)n;
        for (int i = 0; i < 3; i++) { /* drop what was sent */
            const size_t part = (size_t)n < parts[i].iov_len ? (size_t)n : parts[i].iov_len;

            parts[i].iov_base = (char *)parts[i].iov_base + part;
            parts[i].iov_len -= part;
            n -= (ssize_t)part;
        }
    }
    return HX_SUCCESS;
}

/* The fence was not reached in time: give up, and be told for whom it waits. The answer may be success after all. */
static hx_status_t give_up_fence(struct tcp *tcp, struct answer *answer)
{
    char seconds[32];

    snprintf(seconds, sizeof seconds, "%g", tcp->boot.timeout);
    const hx_status_t status = send_request(tcp, HX_STORE_LATE, NULL, 0, seconds, strlen(seconds));
    return status ? status : receive_answer(tcp, answer, hx_deadline(LATE_SECONDS));
}

/* Send a request and wait for its answer; an answer that is an error becomes ours. The caller frees answer->value. */
static hx_status_t request(struct tcp *tcp, enum hx_store_op op, const void *key, size_t key_bytes, const void *value,
                           size_t bytes, struct answer *answer)
{
    *answer = (struct answer){.value = NULL};
    if (tcp->broken)
        return hx_fail(HX_ERR_BOOTSTRAP, "the connection to the store at %s:%s has failed before", tcp->root.host,
                       tcp->root.port);
    hx_status_t status = send_request(tcp, op, key, key_bytes, value, bytes);
    if (!status)
        status = receive_answer(tcp, answer, hx_deadline(tcp->boot.timeout));
    if (status == HX_ERR_TIMEOUT && op == HX_STORE_FENCE)
        status = give_up_fence(tcp, answer);
    if (status == HX_ERR_TIMEOUT) {
        tcp->broken = 1;
        return hx_fail(HX_ERR_TIMEOUT, "the store at %s:%s has not answered within %g s (HX_TIMEOUT)", tcp->root.host,
                       tcp->root.port, tcp->boot.timeout);
    }
    if (status)
        return status;
    if (answer->status != HX_SUCCESS && answer->status != HX_STORE_ABSENT) {
        status = hx_fail((hx_status_t)answer->status, "%s", answer->value);
        free(answer->value);
        answer->value = NULL;
    }
    return status;
}

static hx_status_t tcp_put(struct hx_boot *boot, const char *key, const void *value, size_t bytes)
{
    struct answer answer;
    const hx_status_t status = request((struct tcp *)boot, HX_STORE_PUT, key, strlen(key), value, bytes, &answer);

    free(answer.value);
    return status;
}

static hx_status_t tcp_fence(struct hx_boot *boot)
{
    struct answer answer;
    const hx_status_t status = request((struct tcp *)boot, HX_STORE_FENCE, NULL, 0, NULL, 0, &answer);

    free(answer.value);
    return status;
}

static hx_status_t tcp_get(struct hx_boot *boot, int owner, const char *key, void **value, size_t *bytes)
{
    struct answer answer;

    (void)owner;
    const hx_status_t status = request((struct tcp *)boot, HX_STORE_GET, key, strlen(key), NULL, 0, &answer);

    if (status || answer.status == HX_STORE_ABSENT) {
        free(answer.value);
        return status;
    }
    *value = answer.value;
    *bytes = answer.bytes;
    return HX_SUCCESS;
}

static void tcp_abort(struct hx_boot *boot, const char *why)
{
    const size_t bytes = strnlen(why, 400);

    if (!((struct tcp *)boot)->broken)
        send_request((struct tcp *)boot, HX_STORE_ABORT, NULL, 0, why, bytes);
}

static void tcp_close(struct hx_boot *boot, int finalize)
{
    struct tcp *tcp = (struct tcp *)boot;

    if (finalize && !tcp->broken)
        send_request(tcp, HX_STORE_BYE, NULL, 0, NULL, 0);
    if (tcp->fd >= 0)
        close(tcp->fd);
    hx_serve_stop(tcp->serve, finalize);
    if (tcp->root.addresses)
        freeaddrinfo(tcp->root.addresses);
    free(tcp);
}

/* The listener, or the connection of a rank. */
static int is_of_store(const void *ctx, const struct sockaddr_storage *local, const struct sockaddr_storage *peer)
{
    (void)peer;
    return hx_socket_port(local) == *(const uint16_t *)ctx;
}

static void tcp_leave_child(const struct hx_boot *boot)
{
    const struct tcp *tcp = (const struct tcp *)boot;
    const uint16_t port = htons((uint16_t)atoi(tcp->root.port));

    if (tcp->fd >= 0)
        close(tcp->fd);
    if (tcp->serve)
        hx_sockets_visit(is_of_store, &port, hx_socket_close);
}

static const struct hx_boot_ops tcp_ops = {"tcp", 0, tcp_put, tcp_fence, tcp_get, tcp_abort, tcp_close, tcp_leave_child};

/* While nobody listens at an address of this machine, the kernel may give the port to the very socket that asks for it: then it is
 * connected, to itself. */
static int is_own_echo(int fd)
{
    struct sockaddr_storage mine = {.ss_family = AF_UNSPEC}, theirs = {.ss_family = AF_UNSPEC};
    socklen_t mine_bytes = sizeof mine, their_bytes = sizeof theirs;

    return getsockname(fd, (struct sockaddr *)&mine, &mine_bytes) == 0 && getpeername(fd, (struct sockaddr *)&theirs, &their_bytes) == 0 &&
           mine_bytes == their_bytes && memcmp(&mine, &theirs, mine_bytes) == 0;
}

/* A connected socket, or -1 and errno. */
static int connect_once(const struct addrinfo *address, double deadline)
{
    const int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int error = 0;
    socklen_t bytes = sizeof error;

    if (fd < 0)
        return -1;
    if (connect(fd, address->ai_addr, address->ai_addrlen) < 0) {
        error = errno;
        if (error == EINPROGRESS) {
            error = ETIMEDOUT;
            if (hx_boot_wait_fd(fd, POLLOUT, deadline) > 0)
                getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes);
        }
    }
    if (error == 0 && !is_own_echo(fd))
        return fd;
    close(fd);
    errno = error ? error : ECONNREFUSED;
    return -1;
}

/* The store may start after us, so a refusal is not final at once. It is rank 0's, which may be late: the others wait until HX_TIMEOUT. Rank 0
 * itself asks where it cannot listen, for there a launcher serves, and has done so since before its ranks were there. */
static hx_status_t connect_root(struct tcp *tcp)
{
    const int waits = tcp->boot.rank != 0;
    const double timeout = tcp->boot.timeout > 0 ? tcp->boot.timeout : waits ? HUGE_VAL : CONNECT_SECONDS;
    const double limit = !waits && timeout > CONNECT_SECONDS ? CONNECT_SECONDS : timeout;
    const double start = hx_clock_awake(), deadline = start + limit, told = start + REFUSED_SECONDS;
    const double late = waits || limit < REFUSED_SECONDS ? deadline : told;
    const double attempt = tcp->root.addresses->ai_next ? ATTEMPT_SECONDS : CONNECT_SECONDS;
    int silent = 1;
    struct timespec pause = {.tv_nsec = 10000000};
    const int on = 1;

    for (;;) {
        int error = 0;

        for (const struct addrinfo *address = tcp->root.addresses; address; address = address->ai_next) {
            tcp->fd = connect_once(address, fmin(hx_clock_awake() + attempt, deadline));
            if (tcp->fd >= 0) {
                setsockopt(tcp->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
                setsockopt(tcp->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
                return HX_SUCCESS;
            }
            error = errno;
        }
        if (hx_clock_awake() >= (error == ETIMEDOUT ? deadline : late))
            return hx_fail(HX_ERR_BOOTSTRAP, "no store answers at HX_ROOT=%s:%s (tried for %.0f s): %s%s%s", tcp->root.host, tcp->root.port,
                           hx_clock_awake() - start, strerror(error), tcp->root.unserved ? "; rank 0 cannot listen there itself: " : "",
                           tcp->root.unserved ? strerror(tcp->root.unserved) : "");
        if (silent && hx_clock_awake() >= told)
            hx_warn("waiting for rank 0, which serves the store at HX_ROOT=%s:%s: %s", tcp->root.host, tcp->root.port, strerror(error));
        silent = silent && hx_clock_awake() < told;
        nanosleep(&pause, NULL);
        pause.tv_nsec = pause.tv_nsec < 200000000 ? pause.tv_nsec * 2 : pause.tv_nsec;
    }
}

hx_status_t hx_boot_tcp_open(const struct hx_env *env, struct hx_boot **boot)
{
    const char *secret = env->secret ? env->secret : "";
    const uint32_t numbers[] = {htonl((uint32_t)env->rank), htonl((uint32_t)env->size)};
    struct answer answer;
    struct tcp *tcp = calloc(1, sizeof *tcp);

    if (!tcp)
        return hx_fail(HX_ERR_NOMEM, "no memory for the bootstrap");
    tcp->boot = (struct hx_boot){.ops = &tcp_ops,
                                 .rank = (int)env->rank,
                                 .size = (int)env->size,
                                 .piece_bytes = SIZE_MAX,
                                 .timeout = env->timeout};
    tcp->fd = -1;
    hx_status_t status = HX_SUCCESS;
    if (strlen(secret) > HX_STORE_KEY_MAX_BYTES)
        status = hx_fail(HX_ERR_ENV, "HX_SECRET has %zu bytes, more than %u", strlen(secret), HX_STORE_KEY_MAX_BYTES);
    if (!status)
        status = hx_root_resolve(env->root, &tcp->root);
    if (!status && env->rank == 0)
        status = hx_serve_start(&tcp->root, (int)env->size, secret, &tcp->serve);
    if (!status)
        status = connect_root(tcp);
    if (!status) {
        const double timeout = tcp->boot.timeout;

        tcp->boot.timeout = timeout > 0 && timeout < CONNECT_SECONDS ? timeout : CONNECT_SECONDS;
        status = request(tcp, HX_STORE_HELLO, secret, strlen(secret), numbers, sizeof numbers, &answer);
        free(answer.value);
        tcp->boot.timeout = timeout;
    }
    if (status) {
        tcp_close(&tcp->boot, 0);
        return status;
    }
    *boot = &tcp->boot;
    return HX_SUCCESS;
}
