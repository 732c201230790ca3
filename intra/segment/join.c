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
 * The secret itself never crosses the socket, and a recorded hello admits nobody. A porter keeps connections until the fence. Then the host
 * looks at each connection once: a process that has not sent its hello by then is a stranger.
 *
 * A rank that fails still goes to the fence. The other ranks of its node are told why it has failed.
 *
 * A node is what one socket and one memfd connect, whatever its host name. Abstract sockets and memfds have no file, so
 * nothing is left behind however the job ends, and the size of /dev/shm does not matter.
 */
#include "intra/segment/porter.h"
#include "runtime/base/clock.h"
#include "runtime/base/files.h"
#include "runtime/base/log.h"
#include "runtime/bootstrap/bootstrap.h"
#include "runtime/ports/ports.h"
#include "intra/segment/socket.h"
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define HELLO_MAGIC 0x48786a32u /* "Hxj2" */
#define NONCE_BYTES 16
#define PROOF_BYTES 16
#define MEET_SECONDS 10.0 /* how long a rank tries to send its hello */
#define MEET_AGAIN_NS 20000000
#define LIES_THERE (-1.0) /* do not wait: the message was sent before the fence */

/* The input of the proofs of a guest and its host, once each has sent the other its fresh number. */
struct meeting {
    int32_t rank; /* the guest's */
    unsigned char guest_nonce[NONCE_BYTES], host_nonce[NONCE_BYTES];
};

struct hello {
    uint32_t magic;
    int32_t rank, pid, unused;
    uint64_t pid_space;
    unsigned char nonce[NONCE_BYTES], proof[PROOF_BYTES]; /* the proof covers a meeting in which the host's number is still 0 */
};

struct challenge {
    uint32_t magic;
    unsigned char nonce[NONCE_BYTES];
};

struct welcome {
    uint32_t magic;
    int32_t n, me;
    uint64_t bytes;
    unsigned char proof[PROOF_BYTES];
    struct hx_failure failure; /* why the host could not create the segment */
    int32_t ranks[];           /* [n] */
};

struct guest {
    int rank, socket, wake_fd, pid;
    uint64_t pid_space;
    int challenged; /* our number was sent to it, and its proof must cover that number */
    struct meeting meeting;
};

/* use: which of the exchange's proofs it is. */
static void prove(const unsigned char *secret, const char *use, const struct meeting *meeting, unsigned char proof[PROOF_BYTES])
{
    crypto_generichash_state state;

    crypto_generichash_init(&state, secret, HX_SECRET_BYTES, PROOF_BYTES);
    crypto_generichash_update(&state, (const unsigned char *)use, strlen(use) + 1);
    crypto_generichash_update(&state, (const unsigned char *)meeting, sizeof(*meeting));
    crypto_generichash_final(&state, proof, PROOF_BYTES);
}

static int is_proved(const unsigned char *secret, const char *use, const struct meeting *meeting, const unsigned char proof[PROOF_BYTES])
{
    unsigned char right[PROOF_BYTES];

    prove(secret, use, meeting, right);
    return sodium_memcmp(right, proof, PROOF_BYTES) == 0;
}

static hx_status_t nonce_draw(unsigned char nonce[NONCE_BYTES])
{
    if (getrandom(nonce, NONCE_BYTES, 0) == NONCE_BYTES)
        return HX_SUCCESS;
    return hx_fail(HX_ERR_NOMEM, "the kernel gives no random bytes to meet the ranks of this node: %s", strerror(errno));
}

/* The pid namespace of this process; 0: not known. */
static uint64_t pid_space(void)
{
    struct stat space;

    return stat("/proc/self/ns/pid", &space) == 0 ? (uint64_t)space.st_ino : 0;
}

/* ---- the host's side --------------------------------------------------------------------------------------------- */

static int by_rank(const void *a, const void *b)
{
    return ((const struct guest *)a)->rank - ((const struct guest *)b)->rank;
}

/* Read the hello of a new connection. Nonzero if it is from a rank of this job; guest->wake_fd = -1 where this process may open no more
 * files. */
static int hello_receive(int s, const unsigned char *secret, struct guest *guest)
{
    struct hello hello;
    int nfds = 1, wake_fd = -1;
    ssize_t got = hx_socket_same_user(s) ? hx_socket_receive(s, &hello, sizeof(hello), &wake_fd, &nfds, LIES_THERE) : -1;
    int is_full = got == sizeof(hello) && nfds != 1 && errno == EMFILE;

    if (nfds != 1 || got < 0) /* of another user nothing is received */
        wake_fd = -1;
    *guest = (struct guest){.socket = s, .wake_fd = wake_fd};
    if (got == sizeof(hello) && (nfds == 1 || is_full) && hello.magic == HELLO_MAGIC) {
        guest->rank = guest->meeting.rank = hello.rank;
        guest->pid = hello.pid;
        guest->pid_space = hello.pid_space;
        memcpy(guest->meeting.guest_nonce, hello.nonce, NONCE_BYTES);
        if (is_proved(secret, "hello", &guest->meeting, hello.proof))
            return 1;
    }
    if (wake_fd >= 0)
        close(wake_fd);
    return 0;
}

static hx_status_t challenge_send(struct guest *guest)
{
    struct challenge challenge = {.magic = HELLO_MAGIC};
    hx_status_t status = nonce_draw(challenge.nonce);

    if (status != HX_SUCCESS)
        return status;
    memcpy(guest->meeting.host_nonce, challenge.nonce, NONCE_BYTES);
    guest->challenged = hx_socket_send(guest->socket, &challenge, sizeof(challenge), NULL, 0) == 0;
    return HX_SUCCESS;
}

/* Accept every guest that has sent a hello before the fence; refuse strangers. guests[0] is the host itself, *count their number. After a
 * failure others may wait in the queue still. */
static hx_status_t guests_accept(struct hx_porter *porter, int listener, const unsigned char *secret, int size, struct guest *guests, int *count)
{
    hx_status_t status = HX_SUCCESS;
    int n = 1, refused = 0, s;

    while (n < size && status == HX_SUCCESS) {
        hx_files_allow(hx_files_needed(n + 1));
        if ((s = hx_porter_next(porter, listener)) < 0) {
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
        hx_warn("refused %d connections that are not of this job at the node's socket", refused);
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

/* Does the guest prove the secret over our fresh number? A recording cannot. */
static int guest_proves(const struct guest *guest, const unsigned char *secret, double timeout)
{
    unsigned char proof[PROOF_BYTES];
    int nfds = 0;

    return guest->challenged && hx_socket_receive(guest->socket, proof, sizeof(proof), NULL, &nfds, timeout) == sizeof(proof) &&
           is_proved(secret, "guest", &guest->meeting, proof);
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
static void guests_welcome(const struct guest *guests, struct welcome *welcome, const unsigned char *secret, double timeout,
                           struct hx_shared *shared)
{
    for (welcome->me = 0; welcome->me < shared->n; welcome->me++) {
        const struct guest *guest = &guests[welcome->me];
        struct hx_failure answer = {0};
        int nfds = 0, sent = -1, proves;
        if (guest->socket < 0)
            continue;
        proves = guest_proves(guest, secret, timeout); /* also if there is no segment: data left unread at close would reach the guest as a
                                                        * reset, before our answer */
        prove(secret, "host", &guest->meeting, welcome->proof);
        if (proves || welcome->failure.status != HX_SUCCESS)
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
        /* pair with the acquires in runtime/start/exchange.c */
        atomic_fetch_add_explicit(&shared->header->placed, 1, memory_order_release);
        atomic_fetch_add_explicit(&shared->header->arrived, 1, memory_order_release);
    }
}

/* Those who wait in the queue still hear why there is no segment. Their hellos are taken first: what lies unread when a socket closes
 * comes before what was sent. */
static void others_refuse(struct hx_porter *porter, int listener, const unsigned char *secret, const struct welcome *none)
{
    struct guest guest;
    int s;

    while ((s = hx_porter_next(porter, listener)) >= 0) {
        if (hello_receive(s, secret, &guest)) {
            hx_socket_send(s, none, sizeof(*none), NULL, 0);
            if (guest.wake_fd >= 0)
                close(guest.wake_fd);
        }
        close(s);
    }
}

static hx_status_t host_node(struct hx_porter *porter, int listener, int wake_fd, const unsigned char *secret, const struct hx_job *job, int rank,
                             int size, double timeout, void (*has)(struct hx_shared *), struct hx_shared *shared)
{
    struct guest *guests = calloc((size_t)size, sizeof(*guests));
    struct welcome none = {.magic = HELLO_MAGIC};
    int n = guests ? 1 : 0, spare = fcntl(listener, F_DUPFD_CLOEXEC, 0); /* by which to refuse, when there is no other left */
    hx_status_t status = HX_SUCCESS;

    if (guests) {
        guests[0] = (struct guest){.rank = rank, .socket = -1, .wake_fd = wake_fd, .pid = getpid(), .pid_space = pid_space()};
        status = guests_accept(porter, listener, secret, size, guests, &n);
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
            guests_welcome(guests, &none, secret, timeout, shared);
        goto out;
    }
    for (int i = 0; i < n; i++) {
        welcome->ranks[i] = shared->ranks[i] = guests[i].rank;
        if (guests[i].rank == rank)
            shared->me = i;
    }
    if (status == HX_SUCCESS)
        status = segment_create(shared, size);
    for (int i = 0; i < n && status == HX_SUCCESS; i++) {
        shared->doorbells[i].pid = guests[i].pid;
        shared->doorbells[i].pid_space = guests[i].pid_space;
    }
    if (status == HX_SUCCESS) /* from now on every rank that has the segment sees this rank's death */
        has(shared);
    *welcome = (struct welcome){.magic = HELLO_MAGIC, .n = n, .bytes = shared->bytes};
    hx_failure_keep(&welcome->failure, rank, status);
    guests_welcome(guests, welcome, secret, timeout, shared);
out:
    for (int i = 0; i < n; i++)
        if (guests[i].socket >= 0)
            close(guests[i].socket);
    if (spare >= 0)
        close(spare);
    if (status != HX_SUCCESS) {
        hx_failure_keep(&none.failure, rank, status);
        others_refuse(porter, listener, secret, &none);
    }
    free(guests);
    free(welcome);
    return status;
}

/* ---- the guest's side -------------------------------------------------------------------------------------------- */

/* Become the host, or send the host a hello. A crowded host may take a slow rank for a stranger and hang up: then try again. */
static hx_status_t node_meet(const unsigned char *secret, int emulated, double timeout, int wake_fd, struct meeting *meeting, int *s,
                             int *hosting)
{
    struct hello hello = {.magic = HELLO_MAGIC, .rank = meeting->rank, .pid = getpid(), .pid_space = pid_space()};
    const double deadline = hx_deadline(MEET_SECONDS);
    hx_status_t status = nonce_draw(meeting->guest_nonce);

    if (status != HX_SUCCESS)
        return status;
    memcpy(hello.nonce, meeting->guest_nonce, NONCE_BYTES);
    prove(secret, "hello", meeting, hello.proof);
    while ((*s = hx_socket_meet(secret, emulated, timeout, hosting)) >= 0 && !*hosting) {
        if (!hx_socket_same_user(*s))
            return hx_fail(HX_ERR_BOOTSTRAP, "the process that hosts this node's segment runs under another user");
        if (hx_socket_send(*s, &hello, sizeof(hello), &wake_fd, 1) == 0)
            return HX_SUCCESS;
        if (hx_deadline_passed(deadline))
            return hx_fail(HX_ERR_BOOTSTRAP, "the process that hosts this node's segment has refused this rank for %g s, as if strangers "
                           "crowd it: %s", MEET_SECONDS, strerror(errno));
        close(*s);
        nanosleep(&(struct timespec){.tv_nsec = MEET_AGAIN_NS}, NULL);
    }
    return *s < 0 ? HX_ERR_NOMEM : HX_SUCCESS;
}

/* Receive the host's number, answer it, and receive the host's welcome. A host that fails sends its welcome at once, with the reason.
 * Returns as hx_socket_receive does. */
static ssize_t first_word(int s, const unsigned char *secret, struct meeting *meeting, void *word, size_t capacity, int *memory, int *nfds,
                          double timeout)
{
    const struct challenge *challenge = word;
    unsigned char proof[PROOF_BYTES];
    int room = *nfds;
    ssize_t got = hx_socket_receive(s, word, capacity, memory, nfds, timeout);

    if (got != sizeof(*challenge) || challenge->magic != HELLO_MAGIC)
        return got;
    memcpy(meeting->host_nonce, challenge->nonce, NONCE_BYTES);
    prove(secret, "guest", meeting, proof);
    hx_socket_send(s, proof, sizeof(proof), NULL, 0); /* a host that went away says no more */
    *nfds = room;
    return hx_socket_receive(s, word, capacity, memory, nfds, timeout);
}

/* What the welcome says, and the descriptors that follow it. */
static hx_status_t welcome_receive(int s, int size, double timeout, const struct hx_job *job, const unsigned char *secret,
                                   struct meeting *meeting, struct hx_shared *shared, struct hx_failure *failure)
{
    size_t capacity = sizeof(struct welcome) + (size_t)size * sizeof(int32_t);
    struct welcome *welcome = malloc(capacity);
    int nfds = 1;
    hx_status_t status = HX_SUCCESS;
    ssize_t got = welcome ? first_word(s, secret, meeting, welcome, capacity, &shared->memory, &nfds, timeout) : -1;

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
    if (!is_proved(secret, "host", meeting, welcome->proof) || welcome->n < 1 || welcome->n > size || welcome->me < 0 ||
        welcome->me >= welcome->n || got != (ssize_t)(sizeof(*welcome) + (size_t)welcome->n * sizeof(int32_t))) {
        status = hx_fail(HX_ERR_BOOTSTRAP, "the process that hosts this node's segment is not of this job");
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

static hx_status_t guest_node(int s, struct meeting *meeting, int size, double timeout, const struct hx_job *job,
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
            hx_shared_map(shared, base, size);
    }
    if (status == HX_SUCCESS) /* before the answer: until then the host waits for it */
        has(shared);
    hx_failure_keep(failure, meeting->rank, status);
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
    struct meeting meeting = {.rank = rank};
    struct hx_porter *porter = NULL;
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
        porter = hx_porter_start(s, size);
    fenced = hx_boot_fence(boot); /* even after an error: the others are waiting in it */
    hx_porter_stop();
    if (status == HX_SUCCESS)
        status = fenced;
    if (status == HX_SUCCESS)
        status = hosting ? host_node(porter, s, wake_fd, secret, job, rank, size, env->timeout, has, shared)
                         : guest_node(s, &meeting, size, env->timeout, job, secret, has, shared, failure);
    hx_failure_keep(failure, rank, status);
    hx_porter_release(porter);
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
