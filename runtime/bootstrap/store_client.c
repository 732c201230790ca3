/* SPDX-License-Identifier: BSD-3-Clause */
/* Client of the TCP store (store.h has the protocol): one blocking connection, one request at a time. */
#include "runtime/bootstrap/store_client.h"
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
#define AGAIN_SECONDS 5.0    /* how long rank 0 may be late to leave an earlier world */
#define CLEAR_MAX_BYTES 4096 /* frames that are not sealed are short */

/* coll_run removes the variables of outer launchers. So variables of another launcher are from an inner one, such as an mpirun that
 * coll_run has started. */
static int has_nearer_launcher(const struct hx_env *env)
{
    return env->bootstrap == 0 && env->launcher > 0 && (hx_env_launcher("PMI_FD") || hx_env_launcher("PMIX_NAMESPACE"));
}

static int tcp_present(const struct hx_env *env)
{
    const int have_rank = env->rank >= 0, have_size = env->size >= 0;

    if (has_nearer_launcher(env))
        return 0;
    if (!env->root && !have_rank && !have_size)
        return 0;
    if (!env->root || !have_rank || !have_size)
        hx_fail(HX_ERR_ENV, "the TCP store needs HX_ROOT, HX_RANK and HX_SIZE; set the missing ones:%s%s%s",
                env->root ? "" : " HX_ROOT", have_rank ? "" : " HX_RANK", have_size ? "" : " HX_SIZE");
    else if (env->rank >= env->size)
        hx_fail(HX_ERR_ENV, "HX_RANK=%lld, but HX_SIZE=%lld; ranks are 0 to size - 1", (long long)env->rank,
                (long long)env->size);
    else
        return 1;
    return -1;
}

/* Keeps the text of the last error. */
static hx_status_t connection_break(struct hx_tcp *tcp, hx_status_t status)
{
    tcp->broken = status;
    hx_detail_keep(tcp->why);
    return status;
}

/* The connection broke. errno: as the call left it, 0: end of file. A rank that serves the store leaves last, so it has died. (If
 * the job fails, the store sends the reason first.) */
static hx_status_t connection_lost(struct hx_tcp *tcp, const char *doing)
{
    const char *why = errno ? strerror(errno) : "closed by the store (has its process ended?)";

    if (tcp->state != JOINED) {
        tcp->hung_up = 1;
        return HX_ERR_BOOTSTRAP; /* hx_tcp_join gives the text */
    }
    if (tcp->server != HX_STORE_LAUNCHER)
        return connection_break(tcp, hx_fail(HX_ERR_PEER_DEAD, "rank %u has died: it served the store at %s:%s, and the connection broke while %s: %s",
                                      tcp->server, tcp->root.host, tcp->root.port, doing, why));
    return connection_break(tcp, hx_fail(HX_ERR_BOOTSTRAP, "the connection to the store at %s:%s broke while %s: %s", tcp->root.host,
                                  tcp->root.port, doing, why));
}

/* HX_SUCCESS, HX_ERR_TIMEOUT without a text, or an error. */
static hx_status_t receive(struct hx_tcp *tcp, void *to, size_t bytes, double deadline)
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
static int is_sealed(const struct hx_tcp *tcp, const struct hx_store_frame *head)
{
    return tcp->state == JOINED || (tcp->state == PROVING && head->op != HX_STORE_REFUSE);
}

static hx_status_t not_a_store(struct hx_tcp *tcp)
{
    return connection_break(tcp, hx_fail(HX_ERR_BOOTSTRAP, "the program that answers at %s%s:%s is not a Hierax store",
                                         tcp->root.label, tcp->root.host, tcp->root.port));
}

/* Read an answer into tcp->answer. */
static hx_status_t receive_answer(struct hx_tcp *tcp, double deadline)
{
    struct hx_store_frame wire;
    hx_status_t status = receive(tcp, &wire, sizeof wire, deadline);

    if (status)
        return status;
    const struct hx_store_frame head = hx_store_frame_swap(&wire);
    const int sealed = is_sealed(tcp, &head);
    const size_t bytes = head.value_bytes;
    if ((head.magic & 0xffff0000u) != HX_STORE_MAGIC || bytes > (sealed ? HX_STORE_VALUE_MAX_BYTES : CLEAR_MAX_BYTES) ||
        (!sealed && head.op != HX_STORE_HELLO && head.op != HX_STORE_REFUSE))
        return not_a_store(tcp);
    free(tcp->answer.value);
    tcp->answer = (struct hx_answer){head.op, head.status, bytes, malloc(bytes + HX_STORE_SEAL_BYTES + 1)};
    if (!tcp->answer.value)
        return connection_break(tcp, hx_fail(HX_ERR_NOMEM, "no memory for %zu bytes from the store", bytes));
    status = receive(tcp, tcp->answer.value, bytes + (sealed ? HX_STORE_SEAL_BYTES : 0), deadline);
    if (!status && sealed && hx_store_unseal(&tcp->keys.from_store, &wire, tcp->answer.value, bytes) < 0)
        status = connection_break(tcp, hx_fail(HX_ERR_BOOTSTRAP, "the program that answers at %s%s:%s does not know HX_SECRET, or "
                                                          "its answer was changed on the way", tcp->root.label, tcp->root.host, tcp->root.port));
    tcp->answer.value[bytes] = '\0';
    return status;
}

static hx_status_t send_all(struct hx_tcp *tcp, const unsigned char *bytes, size_t count)
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

/* key: NULL: none. */
static hx_status_t send_request(struct hx_tcp *tcp, enum hx_store_op op, const char *key, const void *value, size_t bytes)
{
    const size_t key_bytes = key ? strlen(key) : 0, most = sizeof(struct hx_store_frame) + key_bytes + bytes + HX_STORE_SEAL_BYTES;
    unsigned char *whole = malloc(most);

    if (!whole)
        return hx_fail(HX_ERR_NOMEM, "no memory for %zu bytes to the store", most);
    struct hx_store_seal *seal = tcp->state == JOINED ? &tcp->keys.from_client : NULL;
    const size_t count = hx_store_frame_write(whole, seal, op, 0, key, key_bytes, value, bytes);
    const hx_status_t status = send_all(tcp, whole, count);
    free(whole);
    return status;
}

/* How long a request may take, and whose choice that is. */
static void limit_tell(const struct hx_tcp *tcp, char text[48])
{
    snprintf(text, 48, "%g s%s", tcp->boot.timeout, tcp->own_limit ? "" : " (HX_TIMEOUT)");
}

static hx_status_t no_answer(struct hx_tcp *tcp)
{
    const char *setting = hx_root_setting(&tcp->root);
    char limit[48];

    limit_tell(tcp, limit);
    return connection_break(tcp, hx_fail(HX_ERR_TIMEOUT, "the store at %s:%s has not answered within %s; if another program has this port, %s %s",
                                         tcp->root.host, tcp->root.port, limit, tcp->root.lobby ? "correct" : "choose a free one for", setting));
}

/* The fence took too long: ask the store which ranks are missing. The answer may still be success. */
static hx_status_t fence_time_out(struct hx_tcp *tcp)
{
    char limit[48];

    limit_tell(tcp, limit);
    const hx_status_t status = send_request(tcp, HX_STORE_LATE, NULL, limit, strlen(limit));
    return status ? status : receive_answer(tcp, hx_deadline(LATE_SECONDS));
}

/* Wait for the answer to op, in tcp->answer. If the answer is an error, this call fails with it. */
static hx_status_t receive_reply(struct hx_tcp *tcp, enum hx_store_op op)
{
    const struct hx_answer *answer = &tcp->answer;
    hx_status_t status = receive_answer(tcp, hx_deadline(tcp->boot.timeout));

    if (status == HX_ERR_TIMEOUT && op == HX_STORE_FENCE)
        status = fence_time_out(tcp);
    if (status == HX_ERR_TIMEOUT)
        return no_answer(tcp);
    if (status)
        return status;
    if (answer->op == HX_STORE_REFUSE)
        return connection_break(tcp, hx_fail(HX_ERR_BOOTSTRAP, "%s", answer->value));
    if (answer->status != HX_SUCCESS && answer->status != HX_STORE_ABSENT)
        return hx_fail((hx_status_t)answer->status, "%s", answer->value);
    return HX_SUCCESS;
}

hx_status_t hx_tcp_request(struct hx_tcp *tcp, enum hx_store_op op, const char *key, const void *value, size_t bytes)
{
    if (tcp->broken) {
        hx_recall(tcp->why);
        return tcp->broken;
    }
    const hx_status_t status = send_request(tcp, op, key, value, bytes);
    return status ? status : receive_reply(tcp, op);
}

static hx_status_t tcp_put(struct hx_boot *boot, const char *key, const void *value, size_t bytes)
{
    return hx_tcp_request((struct hx_tcp *)boot, HX_STORE_PUT, key, value, bytes);
}

static hx_status_t tcp_fence(struct hx_boot *boot)
{
    return hx_tcp_request((struct hx_tcp *)boot, HX_STORE_FENCE, NULL, NULL, 0);
}

static hx_status_t tcp_get(struct hx_boot *boot, int owner, const char *key, void **value, size_t *bytes)
{
    struct hx_answer *answer = &((struct hx_tcp *)boot)->answer;
    const hx_status_t status = hx_tcp_request((struct hx_tcp *)boot, HX_STORE_GET, key, NULL, 0);

    (void)owner;
    if (status || answer->status == HX_STORE_ABSENT)
        return status;
    *value = answer->value;
    *bytes = answer->bytes;
    answer->value = NULL;
    return HX_SUCCESS;
}

static void tcp_abort(struct hx_boot *boot, const char *why)
{
    if (!((struct hx_tcp *)boot)->broken)
        send_request((struct hx_tcp *)boot, HX_STORE_ABORT, NULL, why, strnlen(why, 400));
}

static void tcp_vanish(const struct hx_boot *boot)
{
    shutdown(((const struct hx_tcp *)boot)->fd, SHUT_RDWR);
}

/* The connection to coll_run's store, which outlives a world. coll_run starts a rank once, so its process cannot join a second time. */
static struct hx_tcp kept = {.fd = -1}; /* kept.fd -1: none */

static _Atomic int was_here; /* in an orderly world whose store rank 0 served */

static void kept_forget(void)
{
    if (kept.fd >= 0)
        close(kept.fd);
    kept.fd = -1;
}

static int keeps(const struct hx_tcp *tcp)
{
    return tcp->launched && tcp->server == HX_STORE_LAUNCHER && tcp->state == JOINED;
}

static void tcp_close(struct hx_boot *boot, int finalize)
{
    struct hx_tcp *tcp = (struct hx_tcp *)boot;
    const int left = finalize && !tcp->broken && send_request(tcp, HX_STORE_BYE, NULL, NULL, 0) == HX_SUCCESS;

    was_here |= left && tcp->server != HX_STORE_LAUNCHER;
    if (left && keeps(tcp)) {
        kept_forget();
        kept = *tcp;
        kept.root.addresses = NULL;
        kept.answer.value = NULL;
    } else if (tcp->fd >= 0) {
        close(tcp->fd);
    }
    hx_store_thread_stop(tcp->thread, finalize);
    if (tcp->root.addresses)
        freeaddrinfo(tcp->root.addresses);
    free(tcp->answer.value);
}

/* Is it the listener, or the connection of a rank? */
static int is_of_store(const void *port, int fd)
{
    struct sockaddr_storage local, peer;

    return hx_socket_names(fd, &local, &peer) && hx_socket_port(&local) == *(const uint16_t *)port;
}

static void tcp_close_in_child(const struct hx_boot *boot)
{
    const struct hx_tcp *tcp = (const struct hx_tcp *)boot;
    const uint16_t port = htons((uint16_t)atoi(tcp->root.port));

    if (tcp->fd >= 0)
        close(tcp->fd);
    if (tcp->thread)
        hx_files_visit(is_of_store, &port, hx_file_close);
}

/* Is the kept connection for the same job? Then continue with it. */
static int kept_take(struct hx_tcp *tcp, const struct hx_env *env)
{
    const struct hx_boot boot = tcp->boot;

    if (kept.fd < 0 || !env->launcher || boot.rank != kept.boot.rank || boot.size != kept.boot.size || strcmp(kept.at, env->root) != 0)
        return 0;
    *tcp = kept;
    kept.fd = -1;
    tcp->boot.timeout = boot.timeout;
    return 1;
}

/* Both sides prove that they know the secret. */
static hx_status_t handshake(struct hx_tcp *tcp, const char *secret)
{
    struct hx_store_greeting *greeting = &tcp->greeting;
    unsigned char hello[2 * sizeof(uint32_t) + HX_STORE_NONCE_BYTES];
    hx_status_t status;

    *greeting = (struct hx_store_greeting){
        .version = htonl(HX_STORE_VERSION), .rank = htonl((uint32_t)tcp->boot.rank), .size = htonl((uint32_t)tcp->boot.size)};
    if (hx_store_nonce(greeting->client_nonce) < 0)
        return hx_fail(HX_ERR_NOMEM, "no random bytes from the kernel: %s", strerror(errno));
    memcpy(hello, &greeting->rank, sizeof greeting->rank);
    memcpy(hello + sizeof greeting->rank, &greeting->size, sizeof greeting->size);
    memcpy(hello + 2 * sizeof(uint32_t), greeting->client_nonce, HX_STORE_NONCE_BYTES);
    if ((status = hx_tcp_request(tcp, HX_STORE_HELLO, NULL, hello, sizeof hello)) != HX_SUCCESS)
        return status;
    if (tcp->answer.op != HX_STORE_HELLO || tcp->answer.bytes != sizeof greeting->server + HX_STORE_NONCE_BYTES)
        return not_a_store(tcp);
    memcpy(&greeting->server, tcp->answer.value, sizeof greeting->server);
    memcpy(greeting->store_nonce, tcp->answer.value + sizeof greeting->server, HX_STORE_NONCE_BYTES);
    tcp->server = ntohl(greeting->server);
    hx_store_keys_open(&tcp->keys, secret, greeting);
    if ((status = send_request(tcp, HX_STORE_JOIN, NULL, tcp->keys.proof, sizeof tcp->keys.proof)) != HX_SUCCESS)
        return status;
    tcp->state = PROVING;
    if ((status = receive_reply(tcp, HX_STORE_JOIN)) == HX_SUCCESS)
        tcp->state = tcp->answer.status == HX_STORE_ABSENT ? EARLY : JOINED;
    return status;
}

/* Connect, and greet the store. If it hangs up meanwhile, because strangers crowd it or because it has just ended, try again. */
hx_status_t hx_tcp_join(struct hx_tcp *tcp, const char *secret)
{
    const double timeout = tcp->boot.timeout, deadline = hx_deadline(timeout > 0 && timeout < GREET_SECONDS ? timeout : GREET_SECONDS);
    struct timespec pause = {.tv_nsec = 1000000};
    const int own_limit = tcp->own_limit;
    double again = 0;
    hx_status_t status;

    for (;;) {
        if ((status = hx_root_connect(&tcp->root, tcp->boot.rank, tcp->boot.timeout, &tcp->fd)) != HX_SUCCESS)
            return status;
        if (!(timeout > 0 && timeout < HX_CONNECT_SECONDS)) {
            tcp->boot.timeout = HX_CONNECT_SECONDS;
            tcp->own_limit = 1;
        }
        status = handshake(tcp, secret);
        tcp->boot.timeout = timeout;
        tcp->own_limit = own_limit;
        if (status == HX_SUCCESS && tcp->state == EARLY) {
            again = again > 0 ? again : hx_deadline(AGAIN_SECONDS);
            if (hx_deadline_passed(again))
                return hx_fail(HX_ERR_BOOTSTRAP, "the store at %s%s:%s refuses rank %d: another process was rank %d before; no rank can "
                                                 "join its job twice", tcp->root.label, tcp->root.host, tcp->root.port, tcp->boot.rank, tcp->boot.rank);
        } else if (!tcp->hung_up) {
            return status;
        } else if (hx_deadline_passed(deadline)) {
            return hx_fail(HX_ERR_BOOTSTRAP, "the program at %s%s:%s closes every connection at once: it is not a Hierax "
                                             "store, or other processes use up its connections",
                           tcp->root.label, tcp->root.host, tcp->root.port);
        }
        close(tcp->fd);
        tcp->fd = -1;
        tcp->hung_up = 0;
        tcp->root.has_listened &= !was_here; /* rank 0 may be busy between two worlds */
        tcp->state = STRANGER;
        nanosleep(&pause, NULL);
        pause.tv_nsec = pause.tv_nsec < 20000000 ? 2 * pause.tv_nsec : pause.tv_nsec;
    }
}

static hx_status_t tcp_open(struct hx_boot *boot, const struct hx_env *env)
{
    const char *secret = env->secret ? env->secret : "";
    struct hx_tcp *tcp = (struct hx_tcp *)boot;
    hx_status_t status;

    boot->rank = (int)env->rank;
    boot->size = (int)env->size;
    boot->piece_bytes = SIZE_MAX;
    tcp->fd = -1;
    tcp->server = HX_STORE_LAUNCHER;
    if (kept_take(tcp, env))
        return hx_tcp_request(tcp, HX_STORE_BACK, NULL, NULL, 0);
    kept_forget();
    tcp->launched = env->launcher > 0;
    snprintf(tcp->at, sizeof tcp->at, "%s", env->root);
    if (hx_secret_is_hidden(secret))
        return hx_fail(HX_ERR_ENV, "HX_SECRET is overwritten: this process has the environment of a rank that has read it. The "
                                   "child of a rank cannot join the job. For a job of its own, set new HX_ROOT, HX_RANK, "
                                   "HX_SIZE and HX_SECRET");
    status = hx_root_resolve("HX_ROOT=", env->root, &tcp->root);
    if (!status && env->rank == 0)
        status = hx_store_thread_start(&tcp->root, (int)env->size, secret, &tcp->thread);
    return status ? status : hx_tcp_join(tcp, secret);
}

const struct hx_boot_kind hx_boot_tcp = {
    .name = "tcp", .needs = "HX_ROOT, HX_RANK and HX_SIZE", .bytes = sizeof(struct hx_tcp), .present = tcp_present, .open = tcp_open,
    .put = tcp_put, .fence = tcp_fence, .get = tcp_get, .abort_job = tcp_abort, .vanish = tcp_vanish,
    .close = tcp_close, .close_in_child = tcp_close_in_child, .forget_in_child = kept_forget};
