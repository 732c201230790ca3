/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Joining the node: ranks that can share memory find each other and share one segment.
 *
 *   every rank     bind an abstract Unix socket named after the job, or connect to whoever has bound it      (the host)
 *                  hello: rank, secret, an eventfd
 *   all ranks      fence: now every hello of this node lies in the host's queue
 *   host           check credentials and secret, create and seal the memfd; to one guest after the other:
 *                  pass it with the list of ranks and eventfds
 *   this guest     answer whether it could map it
 *
 * Whoever fails goes on to the fence, and all that would have shared with it are told why.
 *
 * A node is what one socket and one memfd connect, whatever its host name. Abstract sockets and memfds have no file, so
 * nothing is left behind however the job ends, and the size of /dev/shm does not matter.
 */
#include "runtime/files.h"
#include "runtime/comm.h"
#include "runtime/log.h"
#include "socket.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define HELLO_MAGIC 0x48786a31u /* "Hxj1" */
#define KNOCK_SECONDS 1.0 /* for a hello that should lie there */

struct hello {
    uint32_t magic;
    int32_t rank;
    unsigned char secret[HX_SECRET_BYTES - HX_PUBLIC_BYTES];
};

struct welcome {
    uint32_t magic;
    int32_t n, me;
    uint64_t bytes;
    struct hx_failure failure; /* why the host could not create the segment */
    int32_t ranks[];           /* [n] */
};

struct guest {
    int rank, socket, wake_fd;
};

static int secrets_equal(const unsigned char *a, const unsigned char *b, size_t n)
{
    unsigned char difference = 0;
    for (size_t i = 0; i < n; i++)
        difference |= a[i] ^ b[i];
    return difference == 0;
}

/* ---- the host's side --------------------------------------------------------------------------------------------- */

static int by_rank(const void *a, const void *b)
{
    return ((const struct guest *)a)->rank - ((const struct guest *)b)->rank;
}

/* Take what whoever has connected says. Nonzero where that is a rank of this job; *wake_fd = -1 where this process may open no more files. */
static int hello_receive(int s, const unsigned char *secret, struct hello *hello, int *wake_fd)
{
    int nfds = 1;
    ssize_t got = hx_socket_same_user(s) ? hx_socket_receive(s, hello, sizeof(*hello), wake_fd, &nfds, KNOCK_SECONDS) : -1;
    int is_full = got == sizeof(*hello) && nfds != 1 && errno == EMFILE;

    if (nfds != 1 || got < 0) /* of another user nothing is received */
        *wake_fd = -1;
    if (got == sizeof(*hello) && (nfds == 1 || is_full) && hello->magic == HELLO_MAGIC &&
        secrets_equal(hello->secret, secret + HX_PUBLIC_BYTES, sizeof(hello->secret)))
        return 1;
    hx_warn("refused a process that is not of this job at the node's socket");
    if (*wake_fd >= 0)
        close(*wake_fd);
    return 0;
}

/* Accept every guest that has knocked before the fence; refuse strangers. guests[0] is the host itself, *count their number. After a
 * failure others may wait in the queue still. */
static hx_status_t guests_accept(int listener, const unsigned char *secret, int size, struct guest *guests, int *count)
{
    hx_status_t status = HX_SUCCESS;
    int n = 1, s;

    while (n < size && status == HX_SUCCESS) {
        struct hello hello;
        int fd;
        hx_files_allow(hx_files_needed(n + 1));
        if ((s = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) < 0) {
            if (errno != EAGAIN)
                status = hx_files_fail(n + 1, errno);
            break;
        }
        if (!hello_receive(s, secret, &hello, &fd)) {
            close(s);
            continue;
        }
        if (fd < 0)
            status = hx_files_fail(n + 1, EMFILE);
        guests[n++] = (struct guest){hello.rank, s, fd};
    }
    qsort(guests, (size_t)n, sizeof(*guests), by_rank);
    *count = n;
    return status;
}

/* Every page that is never touched is free, so it has room for all contexts. */
static hx_status_t segment_create(struct hx_shared *shared, int size)
{
    struct rlimit limit;
    void *base;

    if ((shared->memory = memfd_create("hierax", MFD_CLOEXEC | MFD_ALLOW_SEALING)) < 0)
        return hx_fail(HX_ERR_NOMEM, "memfd_create is refused here (%s): Hierax needs it to share memory within a node",
                       strerror(errno));
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < shared->bytes) /* else a signal would tell */
        return hx_fail(HX_ERR_NOMEM,
                       "the shared segment spans %zu bytes, and the file size limit (ulimit -f) is %llu bytes",
                       shared->bytes, (unsigned long long)limit.rlim_cur);
    if (ftruncate(shared->memory, (off_t)shared->bytes) < 0 ||
        fcntl(shared->memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0 ||
        (base = mmap(NULL, shared->head_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, shared->memory, 0)) == MAP_FAILED)
        return hx_fail(HX_ERR_NOMEM, "cannot create a shared segment that spans %zu bytes: %s", shared->bytes,
                       strerror(errno));
    hx_shared_map(shared, base, size);
    shared->header->magic = HELLO_MAGIC;
    return HX_SUCCESS;
}

static int welcome_send(const struct guest *guest, const struct welcome *welcome, int memory, const int *wake_fds)
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

/* Pass the segment, or why there is none, to every guest, and hear whether it could map it. One that could not has arrived too: the others
 * wait for it no longer, and read why. One after the other: of descriptors sent and not yet received the kernel lets a user have as many
 * as one process may open (ETOOMANYREFS). */
static void guests_welcome(const struct guest *guests, struct welcome *welcome, double timeout,
                           struct hx_shared *shared)
{
    for (welcome->me = 0; welcome->me < shared->n; welcome->me++) {
        const struct guest *guest = &guests[welcome->me];
        struct hx_failure answer = {0};
        int nfds = 0, sent;
        if (guest->socket < 0)
            continue;
        sent = welcome_send(guest, welcome, shared->memory, shared->wake_fds);
        if (welcome->failure.status != HX_SUCCESS) /* nobody answers */
            continue;
        if (sent < 0 || hx_socket_receive(guest->socket, &answer, sizeof(answer), NULL, &nfds, timeout) != sizeof(answer)) {
            answer = (struct hx_failure){.status = HX_ERR_BOOTSTRAP, .rank = guest->rank};
            snprintf(answer.text, sizeof(answer.text), "it went away while the node's segment was shared: %s",
                     sent < 0 ? strerror(errno) : "no answer");
        }
        if (answer.status == HX_SUCCESS)
            continue;
        hx_node_fail(shared, &answer);
        /* pair with the acquires in startup_exchange.c */
        atomic_fetch_add_explicit(&shared->header->placed, 1, memory_order_release);
        atomic_fetch_add_explicit(&shared->header->arrived, 1, memory_order_release);
    }
}

/* Those who wait in the queue still hear why there is no segment. Their hellos are taken first: what lies unread when a socket closes
 * comes before what was sent. */
static void others_refuse(int listener, const unsigned char *secret, const struct welcome *none)
{
    struct hello hello;
    int s, fd;

    while ((s = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        if (hello_receive(s, secret, &hello, &fd)) {
            hx_socket_send(s, none, sizeof(*none), NULL, 0);
            if (fd >= 0)
                close(fd);
        }
        close(s);
    }
}

static hx_status_t host_node(int listener, int wake_fd, const unsigned char *secret, const struct hx_job *job, int rank,
                             int size, double timeout, struct hx_shared *shared)
{
    struct guest *guests = calloc((size_t)size, sizeof(*guests));
    struct welcome none = {.magic = HELLO_MAGIC};
    int n = guests ? 1 : 0, spare = fcntl(listener, F_DUPFD_CLOEXEC, 0); /* by which to refuse, when there is no other left */
    hx_status_t status = HX_SUCCESS;

    fcntl(listener, F_SETFL, O_NONBLOCK);
    if (guests) {
        guests[0] = (struct guest){rank, -1, wake_fd};
        status = guests_accept(listener, secret, size, guests, &n);
    }
    hx_shared_dimension(shared, n ? n : 1, size, job->llc_bytes);
    struct welcome *welcome = calloc(1, sizeof(*welcome) + (size_t)n * sizeof(int32_t));
    shared->ranks = malloc((size_t)shared->n * sizeof(int));
    shared->wake_fds = guests ? malloc((size_t)n * sizeof(int)) : NULL;
    for (int i = 0; i < n && shared->wake_fds; i++)
        shared->wake_fds[i] = guests[i].wake_fd;
    if (!welcome || !shared->ranks || !shared->wake_fds) {
        status = hx_fail(HX_ERR_NOMEM, "no memory for the ranks of this node");
        hx_failure_keep(&none.failure, rank, status);
        if (guests)
            guests_welcome(guests, &none, timeout, shared);
        goto out;
    }
    for (int i = 0; i < n; i++) {
        welcome->ranks[i] = shared->ranks[i] = guests[i].rank;
        if (guests[i].rank == rank)
            shared->me = i;
    }
    if (status == HX_SUCCESS)
        status = segment_create(shared, size);
    *welcome = (struct welcome){.magic = HELLO_MAGIC, .n = n, .bytes = shared->bytes};
    hx_failure_keep(&welcome->failure, rank, status);
    guests_welcome(guests, welcome, timeout, shared);
out:
    for (int i = 0; i < n; i++)
        if (guests[i].socket >= 0)
            close(guests[i].socket);
    if (spare >= 0)
        close(spare);
    if (status != HX_SUCCESS) {
        hx_failure_keep(&none.failure, rank, status);
        others_refuse(listener, secret, &none);
    }
    free(guests);
    free(welcome);
    return status;
}

/* ---- the guest's side -------------------------------------------------------------------------------------------- */

static hx_status_t knock(int s, int wake_fd, const unsigned char *secret, int rank)
{
    struct hello hello = {.magic = HELLO_MAGIC, .rank = rank};

    memcpy(hello.secret, secret + HX_PUBLIC_BYTES, sizeof(hello.secret));
    if (!hx_socket_same_user(s))
        return hx_fail(HX_ERR_BOOTSTRAP, "the process that hosts this node's segment runs under another user");
    if (hx_socket_send(s, &hello, sizeof(hello), &wake_fd, 1) < 0)
        return hx_fail(HX_ERR_BOOTSTRAP, "the process that hosts this node's segment went away: %s", strerror(errno));
    return HX_SUCCESS;
}

/* What the welcome says, and the descriptors that follow it. */
static hx_status_t welcome_receive(int s, int size, double timeout, const struct hx_job *job, struct hx_shared *shared,
                                   struct hx_failure *failure)
{
    size_t capacity = sizeof(struct welcome) + (size_t)size * sizeof(int32_t);
    struct welcome *welcome = malloc(capacity);
    int nfds = 1;
    hx_status_t status = HX_SUCCESS;
    ssize_t got = welcome ? hx_socket_receive(s, welcome, capacity, &shared->memory, &nfds, timeout) : -1;

    if (!welcome) {
        status = hx_fail(HX_ERR_NOMEM, "no memory to join this node");
        goto out;
    }
    if (got < (ssize_t)sizeof(*welcome) || welcome->magic != HELLO_MAGIC ||
        (nfds != 1 && welcome->failure.status == HX_SUCCESS)) {
        status = hx_fail(HX_ERR_BOOTSTRAP, "the process that hosts this node's segment does not answer: %s",
                         strerror(errno));
        goto out;
    }
    if (welcome->failure.status != HX_SUCCESS) {
        *failure = welcome->failure;
        status = (hx_status_t)failure->status;
        goto out;
    }
    hx_shared_dimension(shared, welcome->n, size, job->llc_bytes);
    shared->me = welcome->me;
    shared->ranks = malloc((size_t)shared->n * sizeof(int));
    shared->wake_fds = malloc((size_t)shared->n * sizeof(int));
    if (shared->bytes != welcome->bytes)
        status = hx_fail(HX_ERR_INTERNAL, "this node's segment has %llu bytes, %zu were expected",
                         (unsigned long long)welcome->bytes, shared->bytes);
    else if (!shared->ranks || !shared->wake_fds)
        status = hx_fail(HX_ERR_NOMEM, "no memory for the ranks of this node");
    if (status != HX_SUCCESS) {
        shared->n = 0; /* what leave() closes */
        goto out;
    }
    memcpy(shared->ranks, welcome->ranks, (size_t)shared->n * sizeof(int));
    hx_files_allow(hx_files_needed(shared->n));
    for (int i = 0; i < shared->n;) {
        int start, count = shared->n - i;
        if (hx_socket_receive(s, &start, sizeof(start), shared->wake_fds + i, &count, timeout) < 0 || count <= 0 || errno == EMFILE) {
            status = errno == EMFILE ? hx_files_fail(shared->n, errno)
                                     : hx_fail(HX_ERR_BOOTSTRAP, "the process that hosts this node's segment went away: %s", strerror(errno));
            for (int k = 0; k < count; k++)
                close(shared->wake_fds[i + k]);
            shared->n = i;
            goto out;
        }
        i += count;
    }
out:
    free(welcome);
    return status;
}

static hx_status_t guest_node(int s, int rank, int size, double timeout, const struct hx_job *job,
                              struct hx_shared *shared, struct hx_failure *failure)
{
    hx_status_t status = welcome_receive(s, size, timeout, job, shared, failure);

    if (status == HX_SUCCESS) {
        void *base = mmap(NULL, shared->head_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, shared->memory, 0);
        if (base == MAP_FAILED)
            status = hx_fail(HX_ERR_NOMEM, "cannot map %zu bytes of the shared segment: %s", shared->head_bytes,
                             strerror(errno));
        else
            hx_shared_map(shared, base, size);
    }
    hx_failure_keep(failure, rank, status);
    hx_socket_send(s, failure, sizeof(*failure), NULL, 0); /* a host without a segment does not listen */
    return status;
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

static void node_leave(struct hx_shared *shared)
{
    if (!shared)
        return;
    for (int i = 0; shared->wake_fds && i < shared->n; i++)
        close(shared->wake_fds[i]);
    for (int i = 0; shared->channels && i < HX_CONTEXTS; i++)
        if (shared->channels[i])
            munmap(shared->channels[i], shared->channel_bytes);
    if (shared->base)
        munmap(shared->base, shared->head_bytes);
    if (shared->memory >= 0)
        close(shared->memory);
    free(shared->channels);
    free(shared->ranks);
    free(shared->wake_fds);
    free(shared);
}

static struct hx_shared *node_join(struct hx_boot *boot, const struct hx_env *env, const struct hx_job *job,
                                   int emulated, const unsigned char secret[HX_SECRET_BYTES],
                                   struct hx_failure *failure)
{
    int rank = hx_boot_rank(boot), size = hx_boot_size(boot), hosting = 0;
    struct hx_shared *shared = malloc(sizeof(*shared));
    int wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), s = -1;
    hx_status_t status = HX_SUCCESS, fenced;

    if (shared)
        *shared = (struct hx_shared){.memory = -1, .channels = calloc(HX_CONTEXTS, sizeof(*shared->channels))};
    if (!shared || !shared->channels)
        status = hx_fail(HX_ERR_NOMEM, "no memory to join this node");
    else if (wake_fd < 0)
        status = hx_fail(HX_ERR_NOMEM, "cannot create an eventfd: %s", strerror(errno));
    if (status == HX_SUCCESS && (s = hx_socket_meet(secret, emulated, &hosting)) < 0)
        status = HX_ERR_NOMEM;
    if (status == HX_SUCCESS && !hosting)
        status = knock(s, wake_fd, secret, rank);
    fenced = hx_boot_fence(boot); /* even after an error: the others are waiting in it */
    if (status == HX_SUCCESS)
        status = fenced;
    if (status == HX_SUCCESS)
        status = hosting ? host_node(s, wake_fd, secret, job, rank, size, env->timeout, shared)
                         : guest_node(s, rank, size, env->timeout, job, shared, failure);
    hx_failure_keep(failure, rank, status);
    if (s >= 0)
        close(s);
    if (wake_fd >= 0 && !(hosting && shared && shared->wake_fds))
        close(wake_fd); /* the host's own is in its list; a guest got a duplicate back */
    if (status == HX_SUCCESS)
        return shared;
    node_leave(shared);
    return NULL;
}

const struct hx_node_ops hx_node_segment = {.join = node_join, .leave = node_leave};
