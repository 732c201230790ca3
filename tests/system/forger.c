/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process of another user that sends to a rank's port what only ranks may say. usage: forger PROVIDER PID RANKS [garbage]
 *
 * Over an endpoint of the rank's own provider it forges words, in the name of each of the job's ranks: that all have died, that
 * communicators have failed, that it waits in calls that are unlike; and credits, invitations and messages with the tags of many calls.
 * garbage: raw connections instead, some idle, some with half a message, some with lengths and codes that do not exist.
 */
#include "inter/fabric/fabric.h"
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NOBODY 65534
#define PORTS_MAX 8

static struct sockaddr_in ports[PORTS_MAX];
static int nports;

static int die(const char *what, int rc)
{
    fprintf(stderr, "forger: %s: %s\n", what, fi_strerror(-rc));
    exit(1);
}

/* ---- where the rank listens */

static int has_inode(const char *pid, unsigned long inode)
{
    char path[300], link[64], wanted[64];
    struct dirent *entry;
    DIR *folder;
    int found = 0;

    snprintf(path, sizeof(path), "/proc/%s/fd", pid);
    snprintf(wanted, sizeof(wanted), "socket:[%lu]", inode);
    folder = opendir(path);
    while (folder && !found && (entry = readdir(folder))) {
        ssize_t n;
        snprintf(path, sizeof(path), "/proc/%s/fd/%s", pid, entry->d_name);
        n = readlink(path, link, sizeof(link) - 1);
        link[n > 0 ? n : 0] = '\0';
        found = strcmp(link, wanted) == 0;
    }
    if (folder)
        closedir(folder);
    return found;
}

static void ports_find(const char *pid)
{
    char path[64], line[256];
    unsigned address, port, state;
    unsigned long inode;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%s/net/tcp", pid);
    file = fopen(path, "r");
    while (file && nports < PORTS_MAX && fgets(line, sizeof(line), file))
        if (sscanf(line, " %*d: %x:%x %*x:%*x %x %*s %*s %*s %*d %*d %lu", &address, &port, &state, &inode) == 4 && state == 10 &&
            has_inode(pid, inode))
            ports[nports++] = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                                                   .sin_addr.s_addr = address ? address : htonl(INADDR_LOOPBACK)};
    if (file)
        fclose(file);
}

/* ---- over an endpoint */

static struct fid_ep *ep;
static struct fid_cq *cq;
static struct fid_av *av;
static int is_untagged; /* control messages have no tag: see control_message.c */

static void endpoint_open(const char *provider) /* native TCP is net in libfabric 1.17, tcp later */
{
    struct fi_info *hints = fi_dupinfo(NULL), *info;
    struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_TAGGED, .size = 4096};
    struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
    char address[INET_ADDRSTRLEN];
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    int rc;

    hints->fabric_attr->prov_name = strdup(provider);
    hints->ep_attr->type = FI_EP_RDM;
    hints->caps = FI_MSG | FI_TAGGED;
    hints->addr_format = FI_SOCKADDR_IN;
    inet_ntop(AF_INET, &ports[0].sin_addr, address, sizeof(address));
    rc = fi_getinfo(FI_VERSION(1, 17), address, NULL, FI_SOURCE, hints, &info);
    if (rc == -FI_ENODATA && strcmp(provider, "net") == 0) {
        strcpy(hints->fabric_attr->prov_name, "tcp");
        rc = fi_getinfo(FI_VERSION(1, 17), address, NULL, FI_SOURCE, hints, &info);
    }
    if (rc != 0 || (rc = fi_fabric(info->fabric_attr, &fabric, NULL)) != 0 || (rc = fi_domain(fabric, info, &domain, NULL)) != 0 ||
        (rc = fi_cq_open(domain, &cq_attr, &cq, NULL)) != 0 || (rc = fi_av_open(domain, &av_attr, &av, NULL)) != 0 ||
        (rc = fi_endpoint(domain, info, &ep, NULL)) != 0 || (rc = fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV)) != 0 ||
        (rc = fi_ep_bind(ep, &av->fid, 0)) != 0 || (rc = fi_enable(ep)) != 0)
        die(provider, rc);
    is_untagged = strcmp(provider, "net") == 0 && FI_VERSION_LT(fi_version(), FI_VERSION(1, 18));
}

static int completions(void)
{
    struct fi_cq_tagged_entry entries[16];
    struct fi_cq_err_entry error = {0};
    ssize_t n = fi_cq_read(cq, entries, 16);

    if (n == -FI_EAVAIL)
        fi_cq_readerr(cq, &error, 0);
    return n > 0 ? (int)n : 0;
}

/* Send one message, and give it a moment to leave: the receiver may take no more. Returns whether it has gone. */
static int say(fi_addr_t to, const void *message, size_t bytes, uint64_t tag)
{
    static struct fi_context2 contexts[4096];
    static char copies[4096][512];
    static int n;
    struct timespec nap = {.tv_nsec = 1000000};
    ssize_t rc;

    memcpy(copies[n], message, bytes);
    for (int i = 0; (rc = is_untagged && tag == hx_control_tag(HX_CONTROL_MESSAGE)
                              ? fi_send(ep, copies[n], bytes, NULL, to, &contexts[n])
                              : fi_tsenddata(ep, copies[n], bytes, NULL, 0x12345678, to, tag, &contexts[n])) == -FI_EAGAIN && i < 300; i++) {
        completions();
        nanosleep(&nap, NULL);
    }
    n = (n + 1) % 4096;
    for (int i = 0; rc == 0 && i < 50; i++) {
        if (completions())
            return 1;
        nanosleep(&nap, NULL);
    }
    return 0;
}

/* As they are sent now, or as they were when nothing had to be proved. */
static int word_say(fi_addr_t to, int from, int me, const struct hx_control_message *message, int as_before)
{
    struct {
        struct hx_proof proof;
        struct hx_control_message message;
    } now = {{.mac = 0x1234567890abcdef, .number = (uint64_t)HX_CONTROL_MESSAGE << 56 | 1000, .from = from, .to = me}, *message};
    struct {
        int64_t from;
        struct hx_control_message message;
    } before = {from, *message};

    if (as_before)
        return say(to, &before, sizeof(before), hx_control_tag(HX_CONTROL_MESSAGE));
    return say(to, &now, sizeof(now), hx_control_tag(HX_CONTROL_MESSAGE));
}

static int words(fi_addr_t to, int ranks, int as_before)
{
    int gone = 0;

    for (int from = 0; from < ranks; from++) {
        struct hx_control_message dead = {.kind = HX_MESSAGE_DEAD}, failed = {.kind = HX_MESSAGE_FAILED, .status = HX_ERR_TIMEOUT, .text = "forged"};
        struct hx_control_message asks = {.kind = HX_MESSAGE_ASKS, .signature = {.count = 77}};
        for (int i = 0; i < ranks; i++)
            dead.dead[dead.ndead++] = i;
        for (int me = 0; me < ranks; me++) /* it does not know whose port this is */
            gone += word_say(to, from, me, &dead, as_before);
        for (failed.context = 0; failed.context < 4; failed.context++)
            gone += word_say(to, from, 0, &failed, as_before);
        for (asks.call = 1; asks.call < 5; asks.call++)
            gone += word_say(to, from, 0, &asks, as_before);
    }
    return gone;
}

static void others(fi_addr_t to)
{
    struct hx_packet credit = {.credit = {.flow = 0, .sum = 1 << 30}};
    char message[64] = {0};

    say(to, &credit, hx_control_bytes(HX_CONTROL_CREDIT), hx_control_tag(HX_CONTROL_CREDIT));
    say(to, message, sizeof(message), hx_control_tag(HX_CONTROL_INVITE));
    for (uint64_t match = 0; match < 16; match++)
        say(to, message, sizeof(message), match << HX_CHUNK_BITS);
}

/* ---- raw connections */

static int tcp_connect(const struct sockaddr_in *to, const void *first, size_t bytes)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (fd < 0 || connect(fd, (const struct sockaddr *)to, sizeof(*to)) != 0 || send(fd, first, bytes, MSG_NOSIGNAL) != (ssize_t)bytes)
        fprintf(stderr, "forger: a connection: %s\n", strerror(errno));
    return fd;
}

/* Native tcp's of libfabric 1.17: a request, and the head of a message. */
struct request {
    uint8_t version, type;
    uint16_t bytes;
    uint32_t number;
    uint64_t connection, message, data;
    uint8_t rdm_version, reserved;
    uint16_t port;
    uint32_t pid;
};
struct head {
    uint8_t version, op;
    uint16_t flags;
    uint8_t op_data, places, head_bytes, unused;
    uint64_t bytes, tag, more[8];
};

static void garbage(const struct sockaddr_in *to)
{
    enum { MSG, TAGGED, READ, ANSWER, WRITE };
    const uint64_t message = hx_control_tag(HX_CONTROL_MESSAGE);
    const struct head heads[] = {
        {.version = 3, .op = TAGGED, .flags = 1 << 7, .head_bytes = 24, .bytes = UINT64_C(1) << 60, .tag = message},
        {.version = 3, .op = TAGGED, .flags = 1 << 7, .head_bytes = 24, .bytes = 3, .tag = message},
        {.version = 3, .op = TAGGED, .flags = 1 << 7, .head_bytes = 24, .bytes = UINT64_C(1) << 60, .tag = 64},
        {.version = 3, .op = TAGGED, .flags = 1 << 7, .head_bytes = 255, .bytes = 100, .tag = message},
        {.version = 3, .op = MSG, .head_bytes = 16, .bytes = UINT64_MAX},
        {.version = 3, .op = 99, .head_bytes = 24, .bytes = 100},
        {.version = 3, .op = READ, .places = 1, .head_bytes = 40, .bytes = 40, .more = {4096, 0}},
        {.version = 3, .op = WRITE, .flags = 1, .places = 1, .head_bytes = 48, .bytes = 4144, .more = {4096, 0}},
        {.version = 3, .op = ANSWER, .head_bytes = 16, .bytes = 4096},
    };
    const size_t kinds = sizeof(heads) / sizeof(heads[0]);
    int fds[64];

    for (size_t i = 0; i < 64; i++) {
        struct request request = {.version = 3, .bytes = htons(8), .data = 1, .port = htons((uint16_t)(100 + i)), .pid = htonl(4711)};
        size_t whole = sizeof(request);
        if (i % 8 == 0)
            whole = i; /* half, or nothing */
        if (i % 8 == 1)
            memset(&request, 0xff, sizeof(request));
        fds[i] = tcp_connect(to, &request, whole);
        if (i % 8 > 1) {
            usleep(20000);
            send(fds[i], &heads[i % kinds], heads[i % kinds].head_bytes <= sizeof(heads[0]) ? heads[i % kinds].head_bytes : sizeof(heads[0]),
                 MSG_NOSIGNAL);
        }
    }
    usleep(500000);
    for (size_t i = 0; i < 64; i++)
        close(fds[i]);
    usleep(200000);
}

int main(int argc, char **argv)
{
    fi_addr_t to;
    int gone = 0;

    if (argc < 4)
        return 2;
    ports_find(argv[2]);
    if (nports == 0) {
        fprintf(stderr, "forger: process %s listens nowhere\n", argv[2]);
        return 1;
    }
    if (getuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
        return 1;
    if (argc == 4)
        endpoint_open(argv[1]);
    for (int i = 0; i < nports; i++) {
        if (argc > 4) {
            garbage(&ports[i]);
            continue;
        }
        if (fi_av_insert(av, &ports[i], 1, &to, 0, NULL) != 1)
            return 1;
        gone += words(to, atoi(argv[3]), 1) + words(to, atoi(argv[3]), 0);
        others(to);
    }
    printf("%d words have gone to %d ports of process %s\n", gone, nports, argv[2]);
    return 0;
}
