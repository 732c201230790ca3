/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_store: serve a lobby (runtime/bootstrap/lobby.h) until a signal ends it. One thread, one poll loop. */
#include "runtime/base/streams.h"
#include "runtime/base/version.h"
#include "runtime/bootstrap/lobby.h"
#include "tools/common/options.h"
#include "tools/common/screen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define EXIT_USAGE 2
#define NAMES_MAX 256
#define LISTEN_DEFAULT "127.0.0.1:0"

struct options {
    const char *listen;
    char **names;
    int n;
};
#define OPTIONS struct options

static const struct option_row rows[] = {
    {"listen", 0, "HOST:PORT", "Listen at this address. An empty HOST means all addresses of this machine, PORT 0 any free port. "
     "(default " LISTEN_DEFAULT ")", 0, 0, IS_TEXT(listen)},
    {0}};

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void say(const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "coll_store: %s\n", text);
}

/* One name, which a slash separates from the address in HX_STORE. */
static int name_take(void *given, char **words, char error[OPTION_TEXT_BYTES])
{
    struct options *options = given;
    const char *name = words[0];

    if (!*name || strlen(name) > HX_LOBBY_NAME_MAX || strpbrk(name, "/ \t\n=,\"")) {
        snprintf(error, OPTION_TEXT_BYTES, "name \"%s\" is not valid: expected 1 to %d characters without white space, / = , and \"", name,
                 HX_LOBBY_NAME_MAX);
        return -1;
    }
    for (int i = 0; i < options->n; i++)
        if (!strcmp(options->names[i], name)) {
            snprintf(error, OPTION_TEXT_BYTES, "name \"%s\" is given twice", name);
            return -1;
        }
    if (options->n == NAMES_MAX) {
        snprintf(error, OPTION_TEXT_BYTES, "too many names: expected 1 to %d", NAMES_MAX);
        return -1;
    }
    options->names[options->n++] = words[0];
    return 1;
}

/* ---- where ------------------------------------------------------------------------------------------------------- */

/* Split HOST:PORT, with brackets around a host that has colons. 0, or -1 after a message. */
static int address_split(const char *text, char host[256], char port[8])
{
    const char *colon = strrchr(text, ':');
    size_t bytes = colon ? (size_t)(colon - text) : 0;

    if (!colon || bytes > 255 || strspn(colon + 1, "0123456789") != strlen(colon + 1) || !colon[1] || strlen(colon + 1) > 5 ||
        atoi(colon + 1) > 65535) {
        say("--listen %s: expected HOST:PORT, with a port from 0 to 65535 (see coll_store --help)", text);
        return -1;
    }
    if (bytes > 2 && text[0] == '[' && colon[-1] == ']') {
        text++;
        bytes -= 2;
    }
    memcpy(host, text, bytes);
    host[bytes] = '\0';
    memcpy(port, colon + 1, strlen(colon + 1) + 1);
    return 0;
}

/* A socket that listens there; -1 and errno. */
static int listen_at(const struct addrinfo *address)
{
    const int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int error;

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)); /* a store that has just ended leaves connections behind */
    if (address->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){0}, sizeof(int));
    if (bind(fd, address->ai_addr, address->ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0)
        return fd;
    error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* The same, at the first address of HOST:PORT that works. -1 after a message. */
static int store_listen(const char *text)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    char host[256], port[8];
    struct addrinfo *addresses;
    int fd = -1, rc;

    if (address_split(text, host, port) < 0)
        return -1;
    if ((rc = getaddrinfo(*host ? host : NULL, port, &hints, &addresses)) != 0) {
        say("--listen %s: host %s cannot be resolved: %s", text, host, gai_strerror(rc));
        return -1;
    }
    for (int family = AF_INET6; fd < 0 && family; family = family == AF_INET6 ? AF_INET : 0) /* all addresses of both kinds, if any */
        for (const struct addrinfo *address = addresses; address && fd < 0; address = address->ai_next)
            if (address->ai_family == family)
                fd = listen_at(address);
    freeaddrinfo(addresses);
    if (fd < 0)
        say("cannot listen at %s: %s", text, strerror(errno));
    return fd;
}

/* Standard output has the address, for scripts. */
static int address_print(int fd)
{
    struct sockaddr_storage at;
    socklen_t bytes = sizeof at;
    char host[256], port[8];

    if (getsockname(fd, (struct sockaddr *)&at, &bytes) < 0 ||
        getnameinfo((struct sockaddr *)&at, bytes, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return -1;
    printf(strchr(host, ':') ? "[%s]:%s\n" : "%s:%s\n", host, port);
    return fflush(stdout);
}

/* ---- serving ----------------------------------------------------------------------------------------------------- */

/* A copy of HX_SECRET. Its bytes in the environment are overwritten, so that /proc does not show them. */
static char *secret_take(void)
{
    char *text = getenv("HX_SECRET"), *copy = strdup(text ? text : "");

    if (copy && text)
        memset(text, '*', strlen(text));
    return copy;
}

/* 0: go on. */
static int signals_serve(int signal_fd, const struct hx_lobby *lobby)
{
    struct signalfd_siginfo info;

    while (read(signal_fd, &info, sizeof info) == sizeof info) {
        if (info.ssi_signo != SIGUSR1)
            return 1;
        hx_lobby_list(lobby, stderr);
    }
    return 0;
}

static void serve(struct hx_lobby *lobby, int signal_fd)
{
    struct pollfd fds[] = {{.fd = signal_fd, .events = POLLIN}, {.fd = hx_lobby_fd(lobby), .events = POLLIN}};

    while (!signals_serve(signal_fd, lobby)) {
        const char *warning = hx_lobby_serve(lobby);
        if (warning)
            say("%s", warning);
        if (poll(fds, 2, hx_lobby_wait_ms(lobby)) < 0 && errno != EINTR)
            return;
    }
}

/* Each process that waits takes a descriptor. */
static void files_allow(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static int run(const struct options *options)
{
    char *secret = secret_take();
    struct hx_lobby *lobby;
    sigset_t set;
    int fd, signal_fd;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    files_allow();
    if (!secret || (fd = store_listen(options->listen)) < 0) {
        free(secret);
        return 1;
    }
    signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signal_fd < 0 || hx_lobby_open(fd, secret, options->names, options->n, &lobby) < 0) {
        say("cannot serve the store: %s", strerror(errno));
        free(secret);
        return 1;
    }
    if (!*secret)
        say("HX_SECRET is not set: any process of this machine can join, and none of another machine");
    free(secret);
    if (address_print(fd) == 0)
        serve(lobby, signal_fd);
    else
        say("cannot write the address to standard output: %s", strerror(errno));
    hx_lobby_close(lobby);
    close(signal_fd);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct option_tool tool = {
        "NAME...",
        "Serve a store that outlives the ranks of jobs. Processes that call hx_join wait here until the job of that name admits them by "
        "hx_comm_grow. Jobs find the store by HX_STORE=HOST:PORT/NAME.\v"
        "All processes need the same HX_SECRET as coll_store. Without HX_SECRET only processes of this machine can use the store. The "
        "first line of standard output is the address. If coll_store ends, running jobs go on; start it again with the same address and "
        "names before they grow again. SIGUSR1 lists the names and the processes that wait. SIGTERM ends coll_store.",
        rows, name_take};
    char error[OPTION_TEXT_BYTES];
    struct options options = {.listen = LISTEN_DEFAULT, .names = calloc(NAMES_MAX, sizeof *options.names)};
    int status;

    hx_streams_hold(O_CLOEXEC);
    screen_open();
    const enum option_end end = options.names ? option_parse(&tool, argc, argv, &options, NULL, error) : OPTION_WRONG;
    if (end >= OPTION_HELP) {
        status = option_answer(&tool, end, "coll_store", HX_VERSION_TEXT);
    } else if (end == OPTION_WRONG || !options.n) {
        say("%s (see coll_store --help)", end == OPTION_WRONG ? options.names ? error : "no memory" : "a name is missing: coll_store NAME");
        status = EXIT_USAGE;
    } else {
        status = run(&options);
    }
    free(options.names);
    return status;
}
