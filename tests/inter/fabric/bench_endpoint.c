/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two processes over one endpoint each: half round-trip time and bandwidth of hx_net_fabric, and of bare libfabric
 * beside it (--raw). usage: bench_endpoint [--provider P] [--interface I] [--chunk BYTES] [--block] [--raw]
 * [--bounce] [--netns A,B] [--max BYTES]
 */
#include "inter/fabric/fabric.h"
#include "runtime/base/error.h"
#include "runtime/base/clock.h"
#include <getopt.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct hx_net_ops *const ops = &hx_net_fabric;
static int block, raw;

static void die(const char *what)
{
    fprintf(stderr, "bench_endpoint: %s: %s\n", what, hx_last_detail());
    exit(1);
}

static void wait_for(struct hx_net *net, struct hx_net_op *op)
{
    while (op->done == 0) {
        int n = ops->progress(net);
        if (n < 0)
            die("progress");
        if (block && n == 0 && op->done == 0 && ops->arm(net) == 0) {
            struct pollfd fd = {.fd = ops->wait_fd(net), .events = POLLIN};
            poll(&fd, 1, 1000);
        }
    }
    if (op->done < 0)
        die("message");
}

static void start(struct hx_net *net, struct hx_net_op *op, enum hx_net_direction direction, int peer, uint64_t match,
                  struct hx_segment *segment)
{
    *op = (struct hx_net_op){.direction = direction, .peer = peer, .match = match, .segments = segment, .nsegments = 1};
    ops->post(net, op);
}

static void raw_wait(struct hx_net *net, int *sent, int *came, int sends, int recvs)
{
    struct fi_cq_tagged_entry entry[16];
    while (*sent < sends || *came < recvs) {
        ssize_t n = fi_cq_read(net->rails[0].cq, entry, 16);
        for (ssize_t i = 0; i < n; i++)
            *(entry[i].flags & FI_SEND ? sent : came) += 1;
    }
}

static void raw_send(struct hx_net *net, struct hx_segment *s, int peer, struct fi_context2 *context, int *sent,
                     int *came)
{
    ssize_t rc;
    do {
        rc = s->bytes <= net->inject_bytes
                 ? fi_tinject(net->rails[0].ep, s->base, s->bytes, net->edges[peer]->paths[0].addr, 7)
                 : fi_tsend(net->rails[0].ep, s->base, s->bytes, NULL, net->edges[peer]->paths[0].addr, 7, context);
        if (rc == -FI_EAGAIN)
            raw_wait(net, sent, came, 0, 0), fi_cq_read(net->rails[0].cq, NULL, 0);
    } while (rc == -FI_EAGAIN);
    *sent += s->bytes <= net->inject_bytes;
}

/* Half the round trip in seconds, the best of several batches. */
static double ping_pong(struct hx_net *net, int me, struct hx_segment *out, struct hx_segment *in, int both, int n)
{
    static uint64_t match;
    struct hx_net_op send, recv;
    double best = 1e9;

    for (int batch = 0; batch < 8; batch++) {
        double begin = hx_now_s();
        for (int i = 0; i < n; i++, match++) {
            struct fi_context2 a, b;
            int sent = 0, came = 0;
            if (raw) {
                if (fi_trecv(net->rails[0].ep, in->base, in->bytes, NULL, net->edges[!me]->paths[0].addr, 7, 0, &a) != 0)
                    die("fi_trecv");
                if (me == 0 || both)
                    raw_send(net, out, !me, &b, &sent, &came);
                raw_wait(net, &sent, &came, me == 0 || both, 1);
                if (me == 1 && !both) {
                    raw_send(net, out, !me, &b, &sent, &came);
                    raw_wait(net, &sent, &came, 1, 1);
                }
                continue;
            }
            start(net, &recv, HX_NET_RECV, !me, match & 0xffff, in);
            if (me == 0 || both)
                start(net, &send, HX_NET_SEND, !me, match & 0xffff, out);
            wait_for(net, &recv);
            if (me == 1 && !both)
                start(net, &send, HX_NET_SEND, !me, match & 0xffff, out);
            wait_for(net, &send);
        }
        double each = (hx_now_s() - begin) / n / (both ? 1 : 2);
        best = each < best ? each : best;
    }
    return best;
}

static void run(const struct hx_env *env, int me, int fd, size_t max, const char *netns)
{
    struct hx_net *net;
    char blob[2048], foreign[2048];
    size_t bytes = sizeof(blob);
    struct hx_segment out, in;

    if (netns) {
        char path[256];
        int ns;
        snprintf(path, sizeof(path), "/run/netns/%s", netns);
        ns = open(path, O_RDONLY);
        if (ns < 0 || setns(ns, CLONE_NEWNET) != 0) {
            perror(path);
            exit(1);
        }
    }
    if (ops->open(env, me, 2, &(struct hx_net_seat){0, 1, 0, 1}, (unsigned char[HX_NET_KEY_BYTES]){0}, &(struct hx_net_refusals){0}, &net) != HX_SUCCESS || ops->address(net, blob, &bytes) != HX_SUCCESS)
        die("open");
    if (write(fd, blob, sizeof(blob)) != sizeof(blob) ||
        recv(fd, foreign, sizeof(foreign), MSG_WAITALL) != sizeof(foreign))
        die("exchange");
    if (ops->connect(net, !me, foreign, bytes) != HX_SUCCESS)
        die("connect");
    if (me == 0) {
        double begin = hx_now_s();
        for (int i = 0; i < 100000; i++)
            ops->progress(net);
        printf("%s\nempty progress %.0f ns\n%10s %12s %12s %12s\n", ops->describe(net), (hx_now_s() - begin) * 1e4, "bytes",
               "one-way us", "both-ways us", "both GB/s");
        fflush(stdout);
    }
    for (size_t size = 8; size <= max; size *= size < 64 ? 8 : 4) {
        int n = size <= 4096 ? 2000 : size <= 65536 ? 500 : 60;
        double one, two;
        out = (struct hx_segment){malloc(size), size};
        in = (struct hx_segment){malloc(size), size};
        memset(out.base, me, size);
        memset(in.base, 0, size);
        one = ping_pong(net, me, &out, &in, 0, n);
        two = ping_pong(net, me, &out, &in, 1, n);
        if (me == 0)
            printf("%10zu %12.2f %12.2f %12.2f\n", size, one * 1e6, two * 1e6, 2e-9 * (double)size / two);
        fflush(stdout);
        free(out.base);
        free(in.base);
    }
    if (me == 0) {
        struct hx_net_counters c;
        ops->counters(net, &c);
        printf("messages %llu chunks %llu credits %llu again %llu bounced %llu MB\n",
               (unsigned long long)c.messages_sent, (unsigned long long)c.chunks_sent,
               (unsigned long long)c.credits_sent, (unsigned long long)c.again,
               (unsigned long long)c.bounced_bytes >> 20);
    }
    ops->close(net, 1);
    exit(0);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"provider", 1, 0, 'p'}, {"interface", 1, 0, 'i'}, {"chunk", 1, 0, 'c'},
                                            {"block", 0, 0, 'b'},    {"raw", 0, 0, 'r'},       {"bounce", 0, 0, 'o'},
                                            {"netns", 1, 0, 'n'},    {"max", 1, 0, 'm'},       {0, 0, 0, 0}};
    struct hx_env env = {0};
    char *netns[2] = {NULL, NULL};
    size_t max = 4 << 20;
    int pair[2], status, failed = 0, option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 'p': env.provider = optarg; break;
        case 'i': env.nic = optarg; break;
        case 'c': env.chunk = atoll(optarg); break;
        case 'b': block = 1; break;
        case 'r': raw = 1; break;
        case 'o': hx_fabric_test.register_local = 1; break;
        case 'n':
            netns[0] = strtok(optarg, ",");
            netns[1] = strtok(NULL, ",");
            break;
        case 'm': max = (size_t)atoll(optarg); break;
        default: return 2;
        }
    }
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        return 1;
    for (int me = 0; me < 2; me++)
        if (fork() == 0)
            run(&env, me, pair[me], max, netns[me]);
    while (wait(&status) > 0)
        failed |= status;
    return failed != 0;
}
