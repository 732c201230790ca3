/* SPDX-License-Identifier: BSD-3-Clause */
/* The host of a node: admits the guests, creates the segment and passes it to them. The head of join.c shows the whole
 * handshake. */
#include "intra/segment/segment.h"
#include "runtime/base/files.h"
#include "runtime/base/log.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define NO_WAIT (-1.0) /* the message was sent before the fence, so it has arrived */

struct guest {
    struct hx_hello hello;
    int socket, wake_fd; /* wake_fd -1: this process may open no more files */
    int challenged; /* our number was sent to it, and its proof must cover that number */
    struct hx_meeting meeting;
};

static int by_rank(const void *a, const void *b)
{
    return ((const struct guest *)a)->hello.rank - ((const struct guest *)b)->hello.rank;
}

/* Read the hello of a new connection. Nonzero if it is from a rank of this job. */
static int hello_receive(int s, const unsigned char *secret, struct guest *guest)
{
    struct hx_hello *hello = &guest->hello;
    int nfds = 1;
    ssize_t got;

    *guest = (struct guest){.socket = s, .wake_fd = -1};
    got = hx_socket_same_user(s) ? hx_socket_receive(s, hello, sizeof(*hello), &guest->wake_fd, &nfds, NO_WAIT) : -1;
    if (got == sizeof(*hello) && (nfds == 1 || errno == EMFILE) && hello->magic == HX_HELLO_MAGIC) {
        guest->meeting.rank = hello->rank;
        memcpy(guest->meeting.guest_nonce, hello->nonce, HX_NONCE_BYTES);
        if (hx_meeting_is_proved(secret, "hello", &guest->meeting, hello->proof))
            return 1;
    }
    if (guest->wake_fd >= 0)
        close(guest->wake_fd);
    return 0;
}

static hx_status_t challenge_send(struct guest *guest)
{
    struct hx_challenge challenge = {.magic = HX_HELLO_MAGIC};
    hx_status_t status = hx_nonce_draw(challenge.nonce);

    memcpy(guest->meeting.host_nonce, challenge.nonce, HX_NONCE_BYTES);
    guest->challenged = status == HX_SUCCESS && hx_socket_send(guest->socket, &challenge, sizeof(challenge), NULL, 0) == 0;
    return status;
}

/* Accept every guest that has connected before the fence; refuse strangers. guests[0] is the host itself, *count their number.
 * After a failure others may still be in the queue. */
static hx_status_t guests_accept(struct hx_acceptor *acceptor, int listener, const unsigned char *secret, int size, struct guest *guests,
                                 int *count)
{
    hx_status_t status = HX_SUCCESS;
    int n = 1, refused = 0, s;

    while (n < size && status == HX_SUCCESS) {
        hx_files_allow(hx_files_needed(n + 1));
        if ((s = hx_acceptor_next(acceptor, listener)) < 0) {
            if (errno != EAGAIN)
                status = hx_files_fail(n + 1, errno);
            break;
        }
        if (!hello_receive(s, secret, &guests[n])) {
            close(s);
            refused++;
            continue;
        }
        status = challenge_send(&guests[n]);
        if (guests[n++].wake_fd < 0)
            status = hx_files_fail(n, EMFILE);
    }
    if (refused)
        hx_warn("refused %d connections of processes outside the job at the node's socket", refused);
    qsort(guests, (size_t)n, sizeof(*guests), by_rank);
    *count = n;
    return status;
}

/* Untouched pages cost nothing, so the segment has room for all contexts. */
static hx_status_t segment_create(struct hx_shared *shared)
{
    struct rlimit limit;
    void *base;

    if ((shared->memory = memfd_create("hierax", MFD_CLOEXEC | MFD_ALLOW_SEALING)) < 0)
        return hx_fail(HX_ERR_NOMEM, "memfd_create is refused (%s), but Hierax needs it to share memory inside a node",
                       strerror(errno));
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < shared->bytes) /* else ftruncate raises a signal */
        return hx_fail(HX_ERR_NOMEM,
                       "the shared segment spans %zu bytes, but the file size limit (ulimit -f) is %llu bytes",
                       shared->bytes, (unsigned long long)limit.rlim_cur);
    if (ftruncate(shared->memory, (off_t)shared->bytes) < 0 ||
        fcntl(shared->memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0 ||
        (base = mmap(NULL, shared->head_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, shared->memory, 0)) == MAP_FAILED)
        return hx_fail(HX_ERR_NOMEM, "cannot create a shared segment that spans %zu bytes: %s", shared->bytes,
                       strerror(errno));
    hx_shared_map(shared, base);
    shared->header->magic = HX_HELLO_MAGIC;
    return HX_SUCCESS;
}

/* Does the guest prove the secret over this host's nonce? A recording cannot. */
static int guest_proves(const struct guest *guest, const unsigned char *secret, double timeout)
{
    unsigned char proof[HX_GUEST_PROOF_BYTES];

    return guest->challenged && hx_socket_receive(guest->socket, proof, sizeof(proof), NULL, NULL, timeout) == sizeof(proof) &&
           hx_meeting_is_proved(secret, "guest", &guest->meeting, proof);
}

static int welcome_send(const struct guest *guest, const struct hx_welcome *welcome, int memory, const int *wake_fds)
{
    size_t bytes = sizeof(*welcome) + (size_t)welcome->n * sizeof(int32_t);
    int created = welcome->failure.status == HX_SUCCESS;

    if (hx_socket_send(guest->socket, welcome, bytes, &memory, created) < 0)
        return -1;
    for (int i = 0; created && i < welcome->n; i += HX_SOCKET_FDS) {
        int count = welcome->n - i < HX_SOCKET_FDS ? welcome->n - i : HX_SOCKET_FDS;
        if (hx_socket_send(guest->socket, &i, sizeof(i), wake_fds + i, count) < 0)
            return -1;
    }
    return 0;
}

/* Pass the segment, or the reason why there is none, to every guest, and receive whether the guest could map it. A guest that could
 * not counts as arrived, so the others do not wait for it, and read the reason. Guests are served one after the other, because
 * the kernel limits a user's descriptors that are sent and not yet received (ETOOMANYREFS). */
static void guests_welcome(const struct guest *guests, struct hx_welcome *welcome, const unsigned char *secret, double timeout,
                           struct hx_shared *shared)
{
    for (welcome->me = 0; welcome->me < shared->n; welcome->me++) {
        const struct guest *guest = &guests[welcome->me];
        struct hx_failure answer = {0};
        int sent = -1, proves;
        if (guest->socket < 0)
            continue;
        proves = guest_proves(guest, secret, timeout); /* without a segment too: else the guest sees a reset */
        hx_meeting_prove(secret, "host", &guest->meeting, welcome->proof);
        if (proves || welcome->failure.status != HX_SUCCESS)
            sent = welcome_send(guest, welcome, shared->memory, shared->wake_fds);
        if (welcome->failure.status != HX_SUCCESS) /* a guest without a segment sends no answer */
            continue;
        if (sent < 0 || hx_socket_receive(guest->socket, &answer, sizeof(answer), NULL, NULL, timeout) != sizeof(answer)) {
            answer = (struct hx_failure){.status = HX_ERR_BOOTSTRAP, .rank = guest->hello.rank};
            snprintf(answer.text, sizeof(answer.text), "it ended while the node's segment was shared: %s",
                     sent < 0 ? strerror(errno) : "no answer");
        }
        if (answer.status == HX_SUCCESS)
            continue;
        hx_node_fail(shared, &answer);
        if (welcome->me == 0) /* the leader, from which the others would wait for the table of ranks */
            atomic_store_explicit(&shared->header->table_state, -1, memory_order_release);
        /* pair with the acquires in runtime/start/exchange.c */
        atomic_fetch_add_explicit(&shared->header->placed, 1, memory_order_release);
        atomic_fetch_add_explicit(&shared->header->arrived, 1, memory_order_release);
    }
}

/* Tell guests that are still in the queue why there is no segment. Receive their hellos first: if data is unread at close, the
 * guest sees a reset before the answer. */
static void others_refuse(struct hx_acceptor *acceptor, int listener, const unsigned char *secret, const struct hx_welcome *none)
{
    struct guest guest;
    int s;

    while ((s = hx_acceptor_next(acceptor, listener)) >= 0) {
        if (hello_receive(s, secret, &guest)) {
            hx_socket_send(s, none, sizeof(*none), NULL, 0);
            if (guest.wake_fd >= 0)
                close(guest.wake_fd);
        }
        close(s);
    }
}

hx_status_t hx_node_host(struct hx_acceptor *acceptor, int listener, int wake_fd, const unsigned char *secret,
                         const struct hx_job *job, int rank, int size, double timeout, void (*has)(struct hx_shared *),
                         struct hx_shared *shared)
{
    struct guest *guests = calloc((size_t)size, sizeof(*guests));
    struct hx_welcome *welcome = calloc(1, sizeof(*welcome) + (size_t)size * sizeof(int32_t)), none = {.magic = HX_HELLO_MAGIC};
    int n = 1, spare = fcntl(listener, F_DUPFD_CLOEXEC, 0); /* keeps a descriptor free to refuse guests */
    hx_status_t status = HX_SUCCESS;

    shared->ranks = malloc((size_t)size * sizeof(int));
    shared->wake_fds = malloc((size_t)size * sizeof(int));
    if (!guests || !welcome || !shared->ranks || !shared->wake_fds) {
        status = hx_fail(HX_ERR_NOMEM, "no memory for the ranks of this node");
        goto out;
    }
    guests[0] = (struct guest){
        .hello = {.rank = rank, .pid = getpid(), .pid_space = hx_pid_space()}, .socket = -1, .wake_fd = wake_fd};
    status = guests_accept(acceptor, listener, secret, size, guests, &n);
    hx_shared_dimension(shared, n, size, job->llc_bytes);
    *welcome = (struct hx_welcome){.magic = HX_HELLO_MAGIC, .n = n, .bytes = shared->bytes};
    for (int i = 0; i < n; i++) {
        shared->wake_fds[i] = guests[i].wake_fd;
        welcome->ranks[i] = shared->ranks[i] = guests[i].hello.rank;
        if (guests[i].hello.rank == rank)
            shared->me = i;
    }
    if (status == HX_SUCCESS)
        status = segment_create(shared);
    for (int i = 0; i < n && status == HX_SUCCESS; i++) {
        shared->doorbells[i].pid = guests[i].hello.pid;
        shared->doorbells[i].pid_space = guests[i].hello.pid_space;
    }
    if (status == HX_SUCCESS) /* from now on every rank with the segment can notice this rank's death */
        has(shared);
    hx_failure_keep(&welcome->failure, rank, status);
    guests_welcome(guests, welcome, secret, timeout, shared);
    for (int i = 0; i < n; i++)
        if (guests[i].socket >= 0)
            close(guests[i].socket);
out:
    if (spare >= 0)
        close(spare);
    if (status != HX_SUCCESS) {
        hx_failure_keep(&none.failure, rank, status);
        others_refuse(acceptor, listener, secret, &none);
    }
    free(guests);
    free(welcome);
    return status;
}
