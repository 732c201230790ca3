/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Joining the node: ranks that can share memory find each other and share one segment.
 *
 *   every rank     bind an abstract Unix socket named after the job (this rank is the host), or connect to the host (a guest)
 *   guest          send a hello: rank, pid, an eventfd, a fresh number, proof of the secret
 *   all ranks      fence: now every hello of this node has arrived at the host
 *   host           check credentials and proof of each guest, send a fresh number; create and seal the memfd
 *   each guest     prove the secret again, over both numbers
 *   host           to one guest after the other: send the memfd, the list of ranks and eventfds, and proof of the secret
 *   this guest     answer whether it could map the memfd
 *
 * The secret itself never crosses the socket. No process can join with a recorded hello. The acceptor keeps connections until the
 * fence. Then the host looks at each connection once: a process that has not sent its hello by then is a stranger.
 *
 * A rank that fails still goes to the fence. The host sends the reason to the other ranks of its node.
 *
 * A node is what one socket and one memfd connect, whatever its host name. Abstract sockets and memfds have no file, so
 * nothing is left behind however the job ends, and the size of /dev/shm does not matter.
 */
#include "intra/segment/segment.h"
#include "runtime/base/clock.h"
#include "runtime/base/files.h"
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define MEET_SECONDS 10.0 /* how long a rank tries to send its hello */
#define MEET_AGAIN_NS 20000000

/* use: which of the exchange's proofs it is. */
void hx_meeting_prove(const unsigned char *secret, const char *use, const struct hx_meeting *meeting,
                      unsigned char proof[HX_GUEST_PROOF_BYTES])
{
    crypto_generichash_state state;

    crypto_generichash_init(&state, secret, HX_SECRET_BYTES, HX_GUEST_PROOF_BYTES);
    crypto_generichash_update(&state, (const unsigned char *)use, strlen(use) + 1);
    crypto_generichash_update(&state, (const unsigned char *)meeting, sizeof(*meeting));
    crypto_generichash_final(&state, proof, HX_GUEST_PROOF_BYTES);
}

int hx_meeting_is_proved(const unsigned char *secret, const char *use, const struct hx_meeting *meeting,
                         const unsigned char proof[HX_GUEST_PROOF_BYTES])
{
    unsigned char right[HX_GUEST_PROOF_BYTES];

    hx_meeting_prove(secret, use, meeting, right);
    return sodium_memcmp(right, proof, HX_GUEST_PROOF_BYTES) == 0;
}

hx_status_t hx_nonce_draw(unsigned char nonce[HX_NONCE_BYTES])
{
    if (getrandom(nonce, HX_NONCE_BYTES, 0) == HX_NONCE_BYTES)
        return HX_SUCCESS;
    return hx_fail(HX_ERR_NOMEM, "no random bytes from the kernel to connect to the ranks of this node: %s", strerror(errno));
}

uint64_t hx_pid_space(void)
{
    struct stat space;

    return stat("/proc/self/ns/pid", &space) == 0 ? (uint64_t)space.st_ino : 0;
}

/* Become the host, or send the host a hello. A crowded host may take a slow rank for a stranger and hang up: then try again. */
static hx_status_t node_meet(const unsigned char *secret, int emulated, double timeout, int wake_fd, struct hx_meeting *meeting, int *s,
                             int *hosting)
{
    struct hx_hello hello = {.magic = HX_HELLO_MAGIC, .rank = meeting->rank, .pid = getpid(), .pid_space = hx_pid_space()};
    const double deadline = hx_deadline(MEET_SECONDS);
    hx_status_t status = hx_nonce_draw(meeting->guest_nonce);

    if (status != HX_SUCCESS)
        return status;
    memcpy(hello.nonce, meeting->guest_nonce, HX_NONCE_BYTES);
    hx_meeting_prove(secret, "hello", meeting, hello.proof);
    while ((*s = hx_socket_meet(secret, emulated, timeout, hosting)) >= 0 && !*hosting) {
        if (!hx_socket_same_user(*s))
            return hx_fail(HX_ERR_BOOTSTRAP, "this rank runs as user %u, but the process that hosts this node's segment does not: "
                           "start all ranks of a node as one user", (unsigned)geteuid());
        if (hx_socket_send(*s, &hello, sizeof(hello), &wake_fd, 1) == 0)
            return HX_SUCCESS;
        if (hx_deadline_passed(deadline))
            return hx_fail(HX_ERR_BOOTSTRAP, "the process that hosts this node's segment has refused this rank for %g s: %s. Maybe other "
                           "processes fill its queue", MEET_SECONDS, strerror(errno));
        close(*s);
        nanosleep(&(struct timespec){.tv_nsec = MEET_AGAIN_NS}, NULL);
    }
    return *s < 0 ? HX_ERR_NOMEM : HX_SUCCESS;
}

/* Receive the host's number, answer it, and receive the host's welcome. A host that fails sends its welcome at once, with the
 * reason. Returns as hx_socket_receive does. */
static ssize_t handshake(int s, const unsigned char *secret, struct hx_meeting *meeting, void *reply, size_t capacity, int *memory, int *nfds,
                          double timeout)
{
    const struct hx_challenge *challenge = reply;
    unsigned char proof[HX_GUEST_PROOF_BYTES];
    int room = *nfds;
    ssize_t got = hx_socket_receive(s, reply, capacity, memory, nfds, timeout);

    if (got != sizeof(*challenge) || challenge->magic != HX_HELLO_MAGIC)
        return got;
    memcpy(meeting->host_nonce, challenge->nonce, HX_NONCE_BYTES);
    hx_meeting_prove(secret, "guest", meeting, proof);
    hx_socket_send(s, proof, sizeof(proof), NULL, 0); /* if the host has ended, the receive below fails */
    *nfds = room;
    return hx_socket_receive(s, reply, capacity, memory, nfds, timeout);
}

static hx_status_t wake_fds_receive(int s, double timeout, struct hx_shared *shared)
{
    hx_files_allow(hx_files_needed(shared->n));
    for (int i = 0, start, count; i < shared->n; i += count) {
        count = shared->n - i;
        if (hx_socket_receive(s, &start, sizeof(start), shared->wake_fds + i, &count, timeout) >= 0 && count > 0 && errno != EMFILE)
            continue;
        hx_status_t status = errno == EMFILE ? hx_files_fail(shared->n, errno)
                                             : hx_fail(HX_ERR_BOOTSTRAP, "the process that hosts this node's segment has ended: %s",
                                                       strerror(errno));
        shared->n = i + count; /* node_leave closes these */
        return status;
    }
    return HX_SUCCESS;
}

/* Prepare for the ranks of the node. shared->n stays 0 on failure, so node_leave closes no descriptors. */
static hx_status_t ranks_take(const struct hx_welcome *welcome, int size, const struct hx_job *job, struct hx_shared *shared)
{
    hx_shared_dimension(shared, welcome->n, size, job->llc_bytes);
    shared->n = 0;
    shared->me = welcome->me;
    shared->ranks = malloc((size_t)welcome->n * sizeof(int));
    shared->wake_fds = malloc((size_t)welcome->n * sizeof(int));
    if (shared->bytes != welcome->bytes)
        return hx_fail(HX_ERR_INTERNAL, "this node's segment has %llu bytes, %zu were expected", (unsigned long long)welcome->bytes,
                       shared->bytes);
    if (!shared->ranks || !shared->wake_fds)
        return hx_fail(HX_ERR_NOMEM, "no memory for the ranks of this node");
    memcpy(shared->ranks, welcome->ranks, (size_t)welcome->n * sizeof(int));
    shared->n = welcome->n;
    return HX_SUCCESS;
}

/* Receive the welcome, and the descriptors that follow it. */
static hx_status_t welcome_receive(int s, int size, double timeout, const struct hx_job *job, const unsigned char *secret,
                                   struct hx_meeting *meeting, struct hx_shared *shared, struct hx_failure *failure)
{
    size_t capacity = sizeof(struct hx_welcome) + (size_t)size * sizeof(int32_t);
    struct hx_welcome *welcome = malloc(capacity);
    int nfds = 1;
    hx_status_t status = HX_SUCCESS;
    ssize_t got = welcome ? handshake(s, secret, meeting, welcome, capacity, &shared->memory, &nfds, timeout) : -1;

    if (!welcome)
        return hx_fail(HX_ERR_NOMEM, "no memory to join this node");
    if (got < (ssize_t)sizeof(*welcome) || welcome->magic != HX_HELLO_MAGIC ||
        (nfds != 1 && welcome->failure.status == HX_SUCCESS)) {
        status = hx_fail(HX_ERR_BOOTSTRAP, "the process that hosts this node's segment does not answer: %s", strerror(errno));
    } else if (welcome->failure.status != HX_SUCCESS) {
        *failure = welcome->failure;
        status = (hx_status_t)failure->status;
    } else if (!hx_meeting_is_proved(secret, "host", meeting, welcome->proof) || welcome->n < 1 || welcome->n > size ||
               welcome->me < 0 || welcome->me >= welcome->n ||
               got != (ssize_t)(sizeof(*welcome) + (size_t)welcome->n * sizeof(int32_t))) {
        status = hx_fail(HX_ERR_BOOTSTRAP, "the process that hosts this node's segment is not of this job");
    } else if ((status = ranks_take(welcome, size, job, shared)) == HX_SUCCESS) {
        status = wake_fds_receive(s, timeout, shared);
    }
    free(welcome);
    return status;
}

static hx_status_t guest_node(int s, struct hx_meeting *meeting, int size, double timeout, const struct hx_job *job,
                              const unsigned char *secret, void (*has)(struct hx_shared *), struct hx_shared *shared,
                              struct hx_failure *failure)
{
    hx_status_t status = welcome_receive(s, size, timeout, job, secret, meeting, shared, failure);

    if (status == HX_SUCCESS) {
        void *base = mmap(NULL, shared->head_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, shared->memory, 0);
        if (base == MAP_FAILED)
            status = hx_fail(HX_ERR_NOMEM, "cannot map %zu bytes of the shared segment: %s", shared->head_bytes,
                             strerror(errno));
        else
            hx_shared_map(shared, base);
    }
    if (status == HX_SUCCESS) /* before the answer: until then the host waits for it */
        has(shared);
    hx_failure_keep(failure, meeting->rank, status);
    hx_socket_send(s, failure, sizeof(*failure), NULL, 0); /* a host without a segment does not read it */
    return status;
}

static void node_leave(struct hx_shared *shared)
{
    if (!shared)
        return;
    for (int i = 0; shared->wake_fds && i < shared->n; i++)
        close(shared->wake_fds[i]);
    for (int i = 0; shared->contexts && i < HX_CONTEXTS; i++)
        if (shared->contexts[i])
            munmap(shared->contexts[i], shared->context_bytes);
    if (shared->base)
        munmap(shared->base, shared->head_bytes);
    if (shared->memory >= 0)
        close(shared->memory);
    free(shared->contexts);
    free(shared->ranks);
    free(shared->wake_fds);
    free(shared);
}

static struct hx_shared *node_join(struct hx_boot *boot, const struct hx_env *env, const struct hx_job *job,
                                   int emulated, const unsigned char secret[HX_SECRET_BYTES], void (*has)(struct hx_shared *),
                                   struct hx_failure *failure)
{
    int rank = hx_boot_rank(boot), size = hx_boot_size(boot), hosting = 0;
    struct hx_shared *shared = malloc(sizeof(*shared));
    struct hx_meeting meeting = {.rank = rank};
    struct hx_acceptor *acceptor = NULL;
    int wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), s = -1;
    hx_status_t status = HX_SUCCESS, fenced;

    if (shared)
        *shared = (struct hx_shared){.memory = -1, .contexts = calloc(HX_CONTEXTS, sizeof(*shared->contexts))};
    if (!shared || !shared->contexts)
        status = hx_fail(HX_ERR_NOMEM, "no memory to join this node");
    else if (wake_fd < 0)
        status = hx_fail(HX_ERR_NOMEM, "cannot create an eventfd: %s", strerror(errno));
    if (status == HX_SUCCESS)
        status = node_meet(secret, emulated, env->timeout, wake_fd, &meeting, &s, &hosting);
    if (status == HX_SUCCESS && hosting)
        acceptor = hx_acceptor_open(s, size);
    fenced = hx_boot_fence(boot); /* even after an error: the others are waiting in it */
    hx_boot_on_wait(-1, NULL, NULL); /* the acceptor accepts no more */
    if (status == HX_SUCCESS)
        status = fenced;
    if (status == HX_SUCCESS)
        status = hosting ? hx_node_host(acceptor, s, wake_fd, secret, job, rank, size, env->timeout, has, shared)
                         : guest_node(s, &meeting, size, env->timeout, job, secret, has, shared, failure);
    hx_failure_keep(failure, rank, status);
    hx_acceptor_close(acceptor);
    if (s >= 0)
        close(s);
    if (wake_fd >= 0 && !(hosting && shared && shared->n > 0))
        close(wake_fd); /* the host's own is in its list; a guest got a duplicate back */
    if (status == HX_SUCCESS)
        return shared;
    node_leave(shared);
    return NULL;
}

const struct hx_node_ops hx_node_segment = {.join = node_join, .leave = node_leave};
