/* SPDX-License-Identifier: BSD-3-Clause */
/* The lobby's server: see lobby.h. Its clients are those of a store of another kind; each session is a store of a job. */
#include "runtime/bootstrap/lobby.h"
#include "runtime/base/error.h"
#include "runtime/bootstrap/store_server.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define SESSION_SECONDS 60.0 /* a session in which no process is after that time is closed */
#define FAILED_SECONDS 20.0  /* one that has failed tells each of its processes why, also those that come later */
#define LOOK_MS 1000         /* how often sessions are looked at */
#define SILENT_SECONDS 60.0  /* without a warning */
#define CLIENTS 1024         /* so many may come at once */
#define TEXT_BYTES 4096
#define MEMBERS_MAX 1000000

struct session { /* the start of one generation */
    struct session *next;
    struct hx_store *store;
    double until;
    int failed;
};

struct seat { /* a process that waits, or is admitted */
    int name;
    int waits;
    uint64_t order;          /* of arrival */
    struct session *session; /* NULL: not admitted, or the session has ended */
    int rank;                /* there */
    char who[128];
};

struct name {
    char *text;
    int members;         /* of the newest generation that the lobby knows; 0: none yet */
    uint64_t generation;
    int has_admitted;    /* a process */
};

struct hx_lobby {
    struct hx_store *store;
    int epoll_fd; /* of the store and all sessions */
    char *secret;
    struct name *names;
    int n;
    uint64_t came; /* processes that have waited */
    struct session *sessions;
    char warning[256];
    double silent_until; /* when it may warn again that it is full; 0: now */
};

/* ---- sessions ---------------------------------------------------------------------------------------------------- */

/* A socket that listens at the lobby's address, at a free port. -1 and errno. */
static int listen_beside(const struct hx_lobby *lobby, int *port)
{
    struct sockaddr_storage at;
    socklen_t bytes = sizeof at;
    in_port_t *place;
    int fd;

    if (getsockname(lobby->store->listen_fd, (struct sockaddr *)&at, &bytes) < 0)
        return -1;
    place = at.ss_family == AF_INET6 ? &((struct sockaddr_in6 *)&at)->sin6_port : &((struct sockaddr_in *)&at)->sin_port;
    *place = 0;
    if ((fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) < 0)
        return -1;
    if (at.ss_family == AF_INET6) /* as the lobby's own: IPv4 too */
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){0}, sizeof(int));
    if (bind(fd, (struct sockaddr *)&at, bytes) < 0 || listen(fd, SOMAXCONN) < 0 || getsockname(fd, (struct sockaddr *)&at, &bytes) < 0) {
        close(fd);
        return -1;
    }
    *port = ntohs(*place);
    return fd;
}

/* NULL: no memory, descriptors or ports. */
static struct session *session_open(struct hx_lobby *lobby, int size, int *port, uint64_t *id)
{
    struct session *session = calloc(1, sizeof *session);
    const size_t bytes = strlen(lobby->secret) + sizeof HX_LOBBY_SESSION_SEPARATOR + 16;
    char *secret = malloc(bytes);
    struct epoll_event event = {.events = EPOLLIN};
    int fd = session && secret ? listen_beside(lobby, port) : -1;

    if (fd >= 0 && getrandom(id, sizeof *id, 0) == sizeof *id) {
        snprintf(secret, bytes, "%s" HX_LOBBY_SESSION_SEPARATOR "%016" PRIx64, lobby->secret, *id);
        if (hx_store_open(fd, size, secret, HX_STORE_LAUNCHER, &session->store) == 0)
            fd = -1; /* the store has it */
    }
    free(secret);
    if (fd >= 0)
        close(fd);
    if (!session || !session->store ||
        epoll_ctl(lobby->epoll_fd, EPOLL_CTL_ADD, hx_store_fd(session->store), &event) < 0) {
        if (session && session->store)
            hx_store_close(session->store);
        free(session);
        return NULL;
    }
    session->until = hx_deadline(SESSION_SECONDS);
    session->next = lobby->sessions;
    lobby->sessions = session;
    return session;
}

static void session_close(struct hx_lobby *lobby, struct session *session)
{
    for (struct hx_store_client *client = lobby->store->clients; client; client = client->next) {
        struct seat *seat = client->seat;
        if (seat && seat->session == session)
            seat->session = NULL;
    }
    hx_store_close(session->store);
    free(session);
}

static void sessions_serve(struct hx_lobby *lobby)
{
    for (struct session **link = &lobby->sessions, *session; (session = *link);) {
        hx_store_serve(session->store);
        if (*session->store->failure && !session->failed) {
            session->failed = 1;
            session->until = hx_deadline(FAILED_SECONDS);
        }
        if (session->store->joined == 0 && (session->store->left == session->store->size || hx_deadline_passed(session->until))) {
            *link = session->next;
            session_close(lobby, session);
        } else {
            link = &session->next;
        }
    }
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static void answer_text(struct hx_store_client *client, const char *text)
{
    hx_store_client_answer(client, client->head.op, HX_SUCCESS, text, strlen(text));
}

static void answer_error(struct hx_store_client *client, const char *text)
{
    hx_store_client_answer(client, client->head.op, HX_ERR_BOOTSTRAP, text, strlen(text));
}

/* The name of a request; -1: the client has got an error that lists the names. */
static int name_of(const struct hx_lobby *lobby, struct hx_store_client *client)
{
    char text[TEXT_BYTES];
    int used;

    for (int i = 0; i < lobby->n; i++)
        if (strlen(lobby->names[i].text) == client->head.key_bytes && !memcmp(lobby->names[i].text, client->body, client->head.key_bytes))
            return i;
    used = snprintf(text, sizeof text, "the store has no name \"%.*s\"; its names are:", (int)client->head.key_bytes, client->body);
    for (int i = 0; i < lobby->n && used < (int)sizeof text; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s %s", i ? "," : "", lobby->names[i].text);
    answer_error(client, text);
    return -1;
}

/* A request's value as a text that ends with NUL, without characters that would disturb a list. */
static void value_text(const struct hx_store_client *client, char *text, size_t bytes)
{
    const size_t n = client->head.value_bytes < bytes - 1 ? client->head.value_bytes : bytes - 1;

    memcpy(text, client->body + client->head.key_bytes, n);
    text[n] = '\0';
    hx_one_line(text);
}

static int waiting(const struct hx_lobby *lobby, int name)
{
    int n = 0;

    for (const struct hx_store_client *client = lobby->store->clients; client; client = client->next) {
        const struct seat *seat = client->seat;
        n += seat && seat->waits && seat->name == name && !client->dead;
    }
    return n;
}

/* The one that has waited longest, or NULL. */
static struct hx_store_client *first_waiting(const struct hx_lobby *lobby, int name)
{
    struct hx_store_client *first = NULL;

    for (struct hx_store_client *client = lobby->store->clients; client; client = client->next) {
        const struct seat *seat = client->seat;
        if (seat && seat->waits && seat->name == name && !client->dead && (!first || seat->order < ((struct seat *)first->seat)->order))
            first = client;
    }
    return first;
}

static void serve_wait(struct hx_lobby *lobby, struct hx_store_client *client)
{
    const int name = name_of(lobby, client);
    struct seat *seat = client->seat;

    if (name < 0)
        return;
    if (!seat && !(seat = client->seat = calloc(1, sizeof *seat))) {
        answer_error(client, "the store has no memory for another process that waits");
        return;
    }
    *seat = (struct seat){.name = name, .waits = 1, .order = lobby->came++};
    value_text(client, seat->who, sizeof seat->who);
}

/* Members have sent their number and generation. */
static void job_note(struct name *name, int members, uint64_t generation)
{
    if (generation < name->generation)
        return;
    name->generation = generation;
    name->members = members;
}

static void serve_count(struct hx_lobby *lobby, struct hx_store_client *client)
{
    const int name = name_of(lobby, client);
    char text[64];
    uint64_t generation;
    int members;

    if (name < 0)
        return;
    value_text(client, text, sizeof text);
    if (sscanf(text, "%d %" SCNu64, &members, &generation) == 2)
        job_note(&lobby->names[name], members, generation);
    snprintf(text, sizeof text, "%d", waiting(lobby, name));
    answer_text(client, text);
}

/* Admit those that have waited longest. */
static void serve_admit(struct hx_lobby *lobby, struct hx_store_client *client)
{
    const int name = name_of(lobby, client);
    struct session *session = NULL;
    char text[128];
    uint64_t generation, id = 0;
    int most, members, nodes, port = 0, count;

    if (name < 0)
        return;
    value_text(client, text, sizeof text);
    if (sscanf(text, "%d %d %" SCNu64 " %d", &most, &members, &generation, &nodes) != 4 || most < 1 || members < 1 || members > MEMBERS_MAX) {
        answer_error(client, "the store cannot read the members' request: use the same version of Hierax everywhere");
        return;
    }
    job_note(&lobby->names[name], members, generation);
    generation = lobby->names[name].generation + 1;
    count = waiting(lobby, name);
    count = count < most ? count : most;
    if (count > 0 && !(session = session_open(lobby, members + count, &port, &id))) {
        answer_error(client, "the store has no memory, descriptor or port for another session");
        return;
    }
    for (int i = 0; i < count; i++) {
        struct hx_store_client *newcomer = first_waiting(lobby, name);
        struct seat *seat = newcomer->seat;
        lobby->names[name].has_admitted = 1;
        seat->waits = 0;
        seat->session = session;
        seat->rank = members + i;
        snprintf(text, sizeof text, "%d %d %d %016" PRIx64 " %" PRIu64 " %d", seat->rank, members + count, port, id, generation,
                 nodes > 0 ? seat->rank % nodes : 0);
        hx_store_client_answer(newcomer, HX_STORE_WAIT, HX_SUCCESS, text, strlen(text));
    }
    snprintf(text, sizeof text, "%d %d %016" PRIx64 " %" PRIu64, count, port, id, generation);
    answer_text(client, text);
}

void hx_lobby_list(const struct hx_lobby *lobby, FILE *out)
{
    for (int i = 0; i < lobby->n; i++) {
        const struct name *name = &lobby->names[i];
        fprintf(out, "%s: generation %" PRIu64 ", %d members, %d waiting\n", name->text, name->generation, name->members, waiting(lobby, i));
        for (const struct hx_store_client *client = lobby->store->clients; client; client = client->next) {
            const struct seat *seat = client->seat;
            if (seat && seat->waits && seat->name == i)
                fprintf(out, "    %s\n", seat->who);
        }
    }
}

/* ---- a kind of store --------------------------------------------------------------------------------------------- */

static void lobby_join(struct hx_store *store, struct hx_store_client *client)
{
    if (client->greeting.size != 0) {
        hx_store_client_refuse(client, "this is coll_store, where processes wait to join a job: its address belongs in HX_STORE, not in HX_ROOT");
        return;
    }
    hx_store_client_accept(store, client, 0);
    hx_store_client_answer(client, HX_STORE_JOIN, HX_SUCCESS, NULL, 0);
}

static void lobby_request(struct hx_store *store, struct hx_store_client *client)
{
    struct hx_lobby *lobby = store->owner;
    const struct seat *seat = client->seat;

    if (seat && seat->waits)
        hx_store_client_refuse(client, "a process that waits sent request %d", (int)client->head.op);
    else if (client->head.op == HX_STORE_WAIT)
        serve_wait(lobby, client);
    else if (client->head.op == HX_STORE_COUNT)
        serve_count(lobby, client);
    else if (client->head.op == HX_STORE_ADMIT)
        serve_admit(lobby, client);
    else
        hx_store_client_refuse(client, "the store does not know request %d", (int)client->head.op);
}

static void lobby_died(struct hx_store *store, const struct hx_store_client *client)
{
    (void)store, (void)client;
}

/* A newcomer that has not joined its session never will. */
static void lobby_release(struct hx_store *store, struct hx_store_client *client)
{
    const struct seat *seat = client->seat;

    (void)store;
    if (seat && seat->session)
        hx_store_rank_ended(seat->session->store, seat->rank);
    free(client->seat);
    client->seat = NULL;
}

/* Those that cannot connect now try again. */
static void lobby_full(struct hx_store *store, int has_evicted, const char *why)
{
    struct hx_lobby *lobby = store->owner;
    int n = 0;

    (void)has_evicted;
    for (const struct hx_store_client *client = store->clients; client; client = client->next)
        n++;
    if (lobby->silent_until == 0 || hx_deadline_passed(lobby->silent_until))
        snprintf(lobby->warning, sizeof lobby->warning, "the store has %d connections and cannot accept another one now: %s; raise the limit "
                 "of open files (ulimit -n)", n, why);
    lobby->silent_until = hx_deadline(SILENT_SECONDS);
}

static const struct hx_store_kind lobby_kind = {
    .join = lobby_join, .request = lobby_request, .died = lobby_died, .release = lobby_release, .full = lobby_full};

/* ---- the lobby --------------------------------------------------------------------------------------------------- */

static void lobby_free(struct hx_lobby *lobby)
{
    for (int i = 0; lobby->names && i < lobby->n; i++)
        free(lobby->names[i].text);
    free(lobby->names);
    free(lobby->secret);
    if (lobby->epoll_fd >= 0)
        close(lobby->epoll_fd);
    free(lobby);
}

int hx_lobby_open(int listen_fd, const char *secret, char *const *names, int n, struct hx_lobby **out)
{
    struct hx_lobby *lobby = calloc(1, sizeof *lobby);
    struct epoll_event event = {.events = EPOLLIN};
    int complete;

    if (!lobby)
        return -1;
    lobby->n = n;
    lobby->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    lobby->secret = strdup(secret);
    lobby->names = calloc((size_t)n, sizeof *lobby->names);
    complete = lobby->epoll_fd >= 0 && lobby->secret && lobby->names;
    for (int i = 0; i < n && complete; i++)
        complete = (lobby->names[i].text = strdup(names[i])) != NULL;
    if (!complete || hx_store_open(listen_fd, CLIENTS, secret, HX_STORE_LAUNCHER, &lobby->store) < 0) {
        lobby_free(lobby);
        return -1;
    }
    lobby->store->kind = &lobby_kind;
    lobby->store->owner = lobby;
    epoll_ctl(lobby->epoll_fd, EPOLL_CTL_ADD, hx_store_fd(lobby->store), &event);
    *out = lobby;
    return 0;
}

int hx_lobby_fd(const struct hx_lobby *lobby)
{
    return lobby->epoll_fd;
}

int hx_lobby_wait_ms(const struct hx_lobby *lobby)
{
    return lobby->sessions || lobby->store->is_full ? LOOK_MS : -1;
}

const char *hx_lobby_serve(struct hx_lobby *lobby)
{
    lobby->warning[0] = '\0';
    hx_store_serve(lobby->store);
    sessions_serve(lobby);
    return lobby->warning[0] ? lobby->warning : NULL;
}

int hx_lobby_waiting(const struct hx_lobby *lobby, int name)
{
    return waiting(lobby, name);
}

int hx_lobby_has_admitted(const struct hx_lobby *lobby, int name)
{
    return lobby->names[name].has_admitted;
}

void hx_lobby_close(struct hx_lobby *lobby)
{
    for (struct session *session; (session = lobby->sessions);) {
        lobby->sessions = session->next;
        session_close(lobby, session);
    }
    for (struct hx_store_client *client = lobby->store->clients; client; client = client->next) {
        free(client->seat);
        client->seat = NULL;
    }
    hx_store_close(lobby->store);
    lobby_free(lobby);
}
