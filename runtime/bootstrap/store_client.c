/* SPDX-License-Identifier: BSD-3-Clause */
/* Client of the TCP store (store.h has the protocol): one blocking connection, one request at a time. */
#include "runtime/bootstrap/store_keys.h"
#include "runtime/bootstrap/launcher.h"
#include "runtime/bootstrap/root.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LATE_SECONDS 5.0     /* for the answer after a time-out */
#define GREET_SECONDS 10.0   /* how long to try again if the store closes the connection during the handshake */
#define CLEAR_MAX_BYTES 4096 /* frames that are not sealed are short */

struct tcp {
    struct hx_boot boot;
    int fd;
    hx_status_t broken;        /* why no further requests are possible */
    char why[HX_DETAIL_BYTES]; /* the text of that error */
    int hung_up; /* the connection broke before the store knew this rank */
    enum { STRANGER, PROVING, JOINED } state;
    uint32_t server; /* the rank that serves the store; HX_STORE_LAUNCHER: none, or unknown yet */
    struct hx_store_greeting greeting;
    struct hx_store_keys keys;
    struct hx_root root;
    struct hx_store_thread *thread; /* rank 0, where no launcher serves */
};

struct answer {
    uint32_t op, status;
    size_t bytes;
    char *value; /* malloc'ed, NUL behind it */
};

/* coll_run removes the variables of outer launchers. So variables of another launcher are from an inner one, such as an mpirun that
 * coll_run has started. */
static int has_nearer_launcher(const struct hx_env *env)
{
    return env->bootstrap == 0 && env->launcher > 0 && (hx_env_launcher("PMI_FD") || hx_env_launcher("PMIX_NAMESPACE"));
}

int hx_boot_tcp_present(const struct hx_env *env)
{
    const int have_rank = env->rank >= 0, have_size = env->size >= 0;

    if (has_nearer_launcher(env))
        return 0;
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

/* Keeps the text of the last error. */
static hx_status_t connection_break(struct tcp *tcp, hx_status_t status)
{
    tcp->broken = status;
    hx_detail_keep(tcp->why);
    return status;
}

/* The connection broke. errno: as the call left it, 0: end of file. A rank that serves the store leaves last, so it has died. (If
 * the job fails, the store sends the reason first.) */
static hx_status_t connection_lost(struct tcp *tcp, const char *doing)
{
    const char *why = errno ? strerror(errno) : "closed by the store (has its process ended?)";

    if (tcp->state != JOINED) {
        tcp->hung_up = 1;
        return HX_ERR_BOOTSTRAP; /* store_join gives the text */
    }
    if (tcp->server != HX_STORE_LAUNCHER)
        return connection_break(tcp, hx_fail(HX_ERR_PEER_DEAD, "rank %u has died: it served the store at %s:%s, and the connection broke while %s: %s",
                                      tcp->server, tcp->root.host, tcp->root.port, doing, why));
    return connection_break(tcp, hx_fail(HX_ERR_BOOTSTRAP, "the connection to the store at %s:%s broke while %s: %s", tcp->root.host,
                                  tcp->root.port, doing, why));
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
            return connection_lost(tcp, "reading");
        got += (size_t)n;
    }
    return HX_SUCCESS;
}

/* Any process may have sent a frame that is not sealed. Only the answer to HELLO and a refusal may come unsealed. */
static int is_sealed(const struct tcp *tcp, const struct hx_store_frame *head)
{
    return tcp->state == JOINED || (tcp->state == PROVING && head->op != HX_STORE_REFUSE);
}

static hx_status_t receive_answer(struct tcp *tcp, struct answer *answer, double deadline)
{
    struct hx_store_frame wire;
    hx_status_t status = receive(tcp, &wire, sizeof wire, deadline);

    if (status)
        return status;
    const struct hx_store_frame head = hx_store_frame_swap(&wire);
    const int sealed = is_sealed(tcp, &head);
    const size_t bytes = head.value_bytes;
    if ((head.magic & 0xffff0000u) != HX_STORE_MAGIC || bytes > (sealed ? HX_STORE_VALUE_MAX_BYTES : CLEAR_MAX_BYTES) ||
        (!sealed && head.op != HX_STORE_HELLO && head.op != HX_STORE_REFUSE)) {
        return connection_break(tcp, hx_fail(HX_ERR_BOOTSTRAP, "the program that answers at HX_ROOT=%s:%s is not a Hierax "
                                                        "store", tcp->root.host,
                                      tcp->root.port));
    }
    *answer = (struct answer){head.op, head.status, bytes, malloc(bytes + HX_STORE_SEAL_BYTES + 1)};
    if (!answer->value)
        return connection_break(tcp, hx_fail(HX_ERR_NOMEM, "no memory for %zu bytes from the store", bytes));
    status = receive(tcp, answer->value, bytes + (sealed ? HX_STORE_SEAL_BYTES : 0), deadline);
    if (!status && sealed && hx_store_unseal(&tcp->keys.from_store, &wire, answer->value, bytes) < 0)
        status = connection_break(tcp, hx_fail(HX_ERR_BOOTSTRAP, "the program that answers at HX_ROOT=%s:%s does not know HX_SECRET, or "
                                                          "its answer was changed on the way", tcp->root.host, tcp->root.port));
    if (status) {
        free(answer->value);
        answer->value = NULL;
        return status;
    }
    answer->value[bytes] = '\0';
    return HX_SUCCESS;
}

static hx_status_t send_all(struct tcp *tcp, const unsigned char *bytes, size_t count)
{
    const double deadline = hx_deadline(tcp->boot.timeout);

    for (size_t sent = 0; sent < count;) {
        errno = 0;
        const ssize_t n = hx_boot_wait_fd(tcp->fd, POLLOUT, deadline) > 0
                              ? send(tcp->fd, bytes + sent, count - sent, MSG_NOSIGNAL | MSG_DONTWAIT)
                              : -1;
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n < 0) {
            errno = errno ? errno : ETIMEDOUT;
            return connection_lost(tcp, "writing");
        }
        sent += (size_t)n;
    }
    return HX_SUCCESS;
}

static hx_status_t send_request(struct tcp *tcp, enum hx_store_op op, const void *key, size_t key_bytes,
                                const void *value, size_t bytes)
{
    const struct hx_store_frame in_order = {HX_STORE_MAGIC | HX_STORE_VERSION, op, 0, (uint32_t)key_bytes, (uint32_t)bytes};
    const struct hx_store_frame head = hx_store_frame_swap(&in_order);
    const size_t body = key_bytes + bytes;
    unsigned char *whole = malloc(sizeof head + body + HX_STORE_SEAL_BYTES);

    if (!whole)
        return hx_fail(HX_ERR_NOMEM, "no memory for %zu bytes to the store", body);
    memcpy(whole, &head, sizeof head);
    if (key_bytes)
        memcpy(whole + sizeof head, key, key_bytes);
    if (bytes)
        memcpy(whole + sizeof head + key_bytes, value, bytes);
    if (tcp->state == JOINED)
        hx_store_seal(&tcp->keys.from_client, &head, whole + sizeof head, body);
    const hx_status_t status = send_all(tcp, whole, sizeof head + body + (tcp->state == JOINED ? HX_STORE_SEAL_BYTES : 0));
    free(whole);
    return status;
}

/* The fence took too long: ask the store which ranks are missing. The answer may still be success. */
static hx_status_t fence_time_out(struct tcp *tcp, struct answer *answer)
{
    char seconds[32];

    snprintf(seconds, sizeof seconds, "%g", tcp->boot.timeout);
    const hx_status_t status = send_request(tcp, HX_STORE_LATE, NULL, 0, seconds, strlen(seconds));
    return status ? status : receive_answer(tcp, answer, hx_deadline(LATE_SECONDS));
}

/* Wait for the answer to op. If the answer is an error, this call fails with it. The caller frees answer->value. */
static hx_status_t receive_reply(struct tcp *tcp, enum hx_store_op op, struct answer *answer)
{
    hx_status_t status;

    *answer = (struct answer){.value = NULL};
    status = receive_answer(tcp, answer, hx_deadline(tcp->boot.timeout));
    if (status == HX_ERR_TIMEOUT && op == HX_STORE_FENCE)
        status = fence_time_out(tcp, answer);
    if (status == HX_ERR_TIMEOUT)
        return connection_break(tcp, hx_fail(HX_ERR_TIMEOUT, "the store at %s:%s has not answered within %g s (HX_TIMEOUT); if another program has this "
                                      "port, choose a free one for HX_ROOT", tcp->root.host, tcp->root.port, tcp->boot.timeout));
    if (status)
        return status;
    if (answer->op == HX_STORE_REFUSE) {
        for (char *c = answer->value; *c; c++) /* any process may have sent it */
            *c = (unsigned char)*c < ' ' ? ' ' : *c;
        status = connection_break(tcp, hx_fail(HX_ERR_BOOTSTRAP, "%s", answer->value));
    } else if (answer->status != HX_SUCCESS && answer->status != HX_STORE_ABSENT) {
        status = hx_fail((hx_status_t)answer->status, "%s", answer->value);
    }
    if (status) {
        free(answer->value);
        answer->value = NULL;
    }
    return status;
}

static hx_status_t request(struct tcp *tcp, enum hx_store_op op, const void *key, size_t key_bytes, const void *value,
                           size_t bytes, struct answer *answer)
{
    *answer = (struct answer){.value = NULL};
    if (tcp->broken) {
        hx_recall(tcp->why);
        return tcp->broken;
    }
    const hx_status_t status = send_request(tcp, op, key, key_bytes, value, bytes);
    return status ? status : receive_reply(tcp, op, answer);
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
    hx_store_thread_stop(tcp->thread, finalize);
    if (tcp->root.addresses)
        freeaddrinfo(tcp->root.addresses);
    free(tcp);
}

/* Is it the listener, or the connection of a rank? */
static int is_of_store(const void *port, int fd)
{
    struct sockaddr_storage local, peer;

    return hx_socket_names(fd, &local, &peer) && hx_socket_port(&local) == *(const uint16_t *)port;
}

static void tcp_close_in_child(const struct hx_boot *boot)
{
    const struct tcp *tcp = (const struct tcp *)boot;
    const uint16_t port = htons((uint16_t)atoi(tcp->root.port));

    if (tcp->fd >= 0)
        close(tcp->fd);
    if (tcp->thread)
        hx_files_visit(is_of_store, &port, hx_file_close);
}

static const struct hx_boot_ops tcp_ops = {"tcp", 0, tcp_put, tcp_fence, tcp_get, tcp_abort, tcp_close, tcp_close_in_child};

/* Both sides prove that they know the secret. */
static hx_status_t handshake(struct tcp *tcp, const char *secret)
{
    struct hx_store_greeting *greeting = &tcp->greeting;
    unsigned char hello[2 * sizeof(uint32_t) + HX_STORE_NONCE_BYTES];
    const size_t answer_bytes = sizeof greeting->server + HX_STORE_NONCE_BYTES;
    struct answer answer;
    hx_status_t status;

    *greeting = (struct hx_store_greeting){
        .version = htonl(HX_STORE_VERSION), .rank = htonl((uint32_t)tcp->boot.rank), .size = htonl((uint32_t)tcp->boot.size)};
    if (hx_store_nonce(greeting->client_nonce) < 0)
        return hx_fail(HX_ERR_NOMEM, "the kernel gives no random bytes: %s", strerror(errno));
    memcpy(hello, &greeting->rank, sizeof greeting->rank);
    memcpy(hello + sizeof greeting->rank, &greeting->size, sizeof greeting->size);
    memcpy(hello + 2 * sizeof(uint32_t), greeting->client_nonce, HX_STORE_NONCE_BYTES);
    if ((status = request(tcp, HX_STORE_HELLO, NULL, 0, hello, sizeof hello, &answer)) != HX_SUCCESS)
        return status;
    const int is_whole = answer.op == HX_STORE_HELLO && answer.bytes == answer_bytes;
    if (is_whole) {
        memcpy(&greeting->server, answer.value, sizeof greeting->server);
        memcpy(greeting->store_nonce, answer.value + sizeof greeting->server, HX_STORE_NONCE_BYTES);
    }
    free(answer.value);
    if (!is_whole)
        return hx_fail(HX_ERR_BOOTSTRAP, "the program that answers at HX_ROOT=%s:%s is not a Hierax "
                                         "store", tcp->root.host, tcp->root.port);
    tcp->server = ntohl(greeting->server);
    hx_store_keys_open(&tcp->keys, secret, greeting);
    if ((status = send_request(tcp, HX_STORE_JOIN, NULL, 0, tcp->keys.proof, sizeof tcp->keys.proof)) != HX_SUCCESS)
        return status;
    tcp->state = PROVING;
    status = receive_reply(tcp, HX_STORE_JOIN, &answer);
    free(answer.value);
    tcp->state = status ? tcp->state : JOINED;
    return status;
}

/* Connect, and greet the store. If it hangs up meanwhile, because strangers crowd it or because it has just ended, try again. */
static hx_status_t store_join(struct tcp *tcp, const char *secret)
{
    const double timeout = tcp->boot.timeout, deadline = hx_deadline(GREET_SECONDS);
    const struct timespec pause = {.tv_nsec = 20000000};
    hx_status_t status;

    for (;;) {
        if ((status = hx_root_connect(&tcp->root, tcp->boot.rank, tcp->boot.timeout, &tcp->fd)) != HX_SUCCESS)
            return status;
        tcp->boot.timeout = timeout > 0 && timeout < HX_CONNECT_SECONDS ? timeout : HX_CONNECT_SECONDS;
        status = handshake(tcp, secret);
        tcp->boot.timeout = timeout;
        if (!tcp->hung_up)
            return status;
        if (hx_deadline_passed(deadline))
            return hx_fail(HX_ERR_BOOTSTRAP, "the program at HX_ROOT=%s:%s closes every connection at once: it is not a Hierax "
                                             "store, or processes of no job crowd it",
                           tcp->root.host, tcp->root.port);
        close(tcp->fd);
        tcp->fd = -1;
        tcp->hung_up = 0;
        tcp->state = STRANGER;
        nanosleep(&pause, NULL);
    }
}

hx_status_t hx_boot_tcp_open(const struct hx_env *env, struct hx_boot **boot)
{
    const char *secret = env->secret ? env->secret : "";
    struct tcp *tcp = calloc(1, sizeof *tcp);

    if (!tcp)
        return hx_fail(HX_ERR_NOMEM, "no memory for the bootstrap");
    tcp->boot = (struct hx_boot){.ops = &tcp_ops,
                                 .rank = (int)env->rank,
                                 .size = (int)env->size,
                                 .piece_bytes = SIZE_MAX,
                                 .timeout = env->timeout};
    tcp->fd = -1;
    tcp->server = HX_STORE_LAUNCHER;
    hx_status_t status = HX_SUCCESS;
    if (hx_secret_is_hidden(secret))
        status = hx_fail(HX_ERR_ENV, "HX_SECRET is overwritten: this process has the environment of a rank that has read it. The "
                                     "child of a rank cannot join the job. For a job of its own, set HX_ROOT, HX_RANK, HX_SIZE "
                                     "and HX_SECRET anew");
    if (!status)
        status = hx_root_resolve(env->root, &tcp->root);
    if (!status && env->rank == 0)
        status = hx_store_thread_start(&tcp->root, (int)env->size, secret, &tcp->thread);
    if (!status)
        status = store_join(tcp, secret);
    if (status) {
        tcp_close(&tcp->boot, 0);
        return status;
    }
    *boot = &tcp->boot;
    return HX_SUCCESS;
}
