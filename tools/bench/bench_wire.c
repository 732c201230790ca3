/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What plain TCP carries between the nodes of this job, without the library under test: what a library that goes over TCP can do at best.
 *
 *     latency   8 bytes to and fro between the first ranks of nodes 0 and 1
 *     ring      each node sends to the next and receives from the one before, all at once
 *     one way   node 0 sends to node 1
 *
 * Ring and one way go by 1, 2, 4, ... streams from node to node, up to as many as the smallest node has ranks, of 256 KiB to 4 MiB; the best round
 * counts. So where single connections are slowed, as some clouds do, a library that opens more of them may do better: bench_bound.c leaves out
 * collectives whose nodes talk to several at once.
 */
#include "tools/bench/bench_wire.h"
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define STREAM_LEAST ((size_t)256 << 10)
#define STREAM_MOST ((size_t)4 << 20)
#define WINDOW_BYTES ((size_t)256 << 10) /* of memory each way, used again and again: many ranks may share a machine */
#define ROUNDS_NS 50e6 /* no further rounds or pings after so long */
#define ROUNDS 8
#define PINGS 1000
#define FAILED 1e18 /* us or ns */

/* Send or receive some of what is left. 0, or -1: the other has gone. */
static int move(int s, int sending, char *memory, size_t bytes, size_t *left)
{
    size_t at = (bytes - *left) % WINDOW_BYTES, most = *left < WINDOW_BYTES - at ? *left : WINDOW_BYTES - at;
    ssize_t n = most == 0 ? 0 : sending ? send(s, memory + at, most, MSG_NOSIGNAL) : recv(s, memory + at, most, 0);

    if (n < 0 ? errno != EAGAIN && errno != EINTR : n == 0 && most > 0)
        return -1;
    *left -= n > 0 ? (size_t)n : 0;
    return 0;
}

/* Eight bytes, for which this rank sleeps or keeps looking. 0, or -1: the other has gone, or it is too long since that moment. */
static int pass(const struct wire *w, int s, int sending, char byte8[8], int sleeps, double since)
{
    unsigned looks = 0;

    for (size_t left = 8; left;) {
        if (move(s, sending, byte8, 8, &left))
            return -1;
        if (left && ++looks % (sleeps ? 1 : w->job->oversubscribed ? 64 : 65536) == 0 && wire_wait(s, sending ? POLLOUT : POLLIN, since))
            return -1;
        if (left && w->job->oversubscribed)
            sched_yield();
    }
    return 0;
}

/* Send and receive so much at once, and hear that it has come; either socket may be -1. 0, or -1 when it takes too long: the others wait. */
static int stream(const struct wire *w, int out, int in, size_t bytes, char *memory)
{
    size_t to_send = out < 0 ? 0 : bytes, to_come = in < 0 ? 0 : bytes;
    const double since = 1e9 * hx_now_s();

    while (to_send || to_come) {
        size_t before = to_send + to_come;
        if (move(out, 1, memory, bytes, &to_send) || move(in, 0, memory + WINDOW_BYTES, bytes, &to_come))
            return -1;
        if (to_send + to_come == before && wire_wait(to_come ? in : out, to_come ? POLLIN : POLLOUT, since))
            return -1;
    }
    return (in >= 0 && pass(w, in, 1, memory, 0, since)) || (out >= 0 && pass(w, out, 0, memory, 0, since)) ? -1 : 0;
}

/* ---- all ranks call these; what fails in the backend fails again in the next call ------------------------------------------- */

/* One way, in us, the best of many; only two ranks have something to do, and one of them tells. The first says which one is the last. */
static double latency(const struct wire *w)
{
    const int first = w->node == 0, s = first ? w->to_next : w->from_before;
    double best = FAILED, since = 1e9 * hx_now_s();
    char byte8[8] = "latency";

    if (w->local != 0 || w->node > 1)
        return 0;
    for (int ping = 1; byte8[0]; ping++) {
        double begin = 1e9 * hx_now_s(), us;
        if (first && (ping == PINGS || begin - since > ROUNDS_NS))
            byte8[0] = 0;
        int sleeps = ping <= PINGS / 2 && begin - since < ROUNDS_NS / 2; /* first: who has not given the core away is let in when woken */
        if (pass(w, s, first, byte8, sleeps, since) || pass(w, s, !first, byte8, sleeps, since))
            return FAILED;
        us = (1e9 * hx_now_s() - begin) / 2e3;
        best = us < best ? us : best;
    }
    return first ? best : 0;
}

/* So many streams of so much: ns of the best round, or FAILED; then there may be no sockets any more. *gbps: of a node, raised to what a
 * round carries. *us: what the answer takes, lowered where it and what it answers have taken less than twice as long: on busy cores no ping may
 * have been quick. So what is told is up to twice too much there. */
static double best_round(struct wire *w, int streams, size_t bytes, int one_way, double *us, char *memory, double *gbps)
{
    const int out = w->local < streams && (!one_way || w->node == 0) ? w->to_next : -1;
    const int in = w->local < streams && (!one_way || w->node == 1) ? w->from_before : -1;
    double best = FAILED, since = 1e9 * hx_now_s(), gone = 0;

    for (int round = 0; round < ROUNDS && gone < ROUNDS_NS; round++) {
        double begin, ns = 0;
        if (bench_barrier())
            return FAILED;
        begin = 1e9 * hx_now_s();
        if ((out >= 0 || in >= 0) && (!memory || stream(w, out, in, bytes, memory)))
            ns = FAILED;
        else if (out >= 0) /* who only receives may have begun late */
            ns = 1e9 * hx_now_s() - begin;
        if (ns >= FAILED)
            wire_part(w); /* what is left is not to be in the way of telling so */
        ns = wire_most(ns);
        if (ns <= 0 || ns >= FAILED)
            return FAILED;
        *us = ns / 2e3 < *us ? ns / 2e3 : *us;
        ns -= *us * 1e3;
        best = ns < best ? ns : best;
        *gbps = streams * (double)bytes / ns > *gbps ? streams * (double)bytes / ns : *gbps;
        gone = wire_most(1e9 * hx_now_s() - since);
    }
    return best;
}

/* Of all numbers of streams and bytes, up to those that take long. 0, or -1 when one failed. */
static int best_rate(struct wire *w, int one_way, double *us, char *memory, double *gbps)
{
    for (size_t bytes = STREAM_LEAST; bytes <= STREAM_MOST; bytes *= 4)
        for (int streams = 1; streams; streams = streams == w->streams ? 0 : 2 * streams < w->streams ? 2 * streams : w->streams) {
            double ns = best_round(w, streams, bytes, one_way, us, memory, gbps);
            if (ns > ROUNDS_NS)
                return ns < FAILED ? 0 : -1;
        }
    return 0;
}

/* What is better than in job goes there; of rates that could not all be tried, nothing. */
static void measure(struct wire *w, struct bench_job *job)
{
    char *memory = w->local < w->streams ? malloc(2 * WINDOW_BYTES) : NULL;
    double us = bench_barrier() ? 0 : wire_most(latency(w)), gbps = job->wire_gbps, one_way = job->wire_one_way_gbps;

    if (memory)
        memset(memory, 1, 2 * WINDOW_BYTES);
    if (us > 0 && us < FAILED) {
        if (best_rate(w, 0, &us, memory, &gbps) == 0) {
            job->wire_gbps = gbps;
            if (best_rate(w, 1, &us, memory, &one_way) == 0)
                job->wire_one_way_gbps = one_way;
        }
        if (job->wire_one_way_gbps > 0 && job->wire_one_way_gbps < job->wire_gbps) /* who only sends or only receives has less to do */
            job->wire_one_way_gbps = job->wire_gbps;
        job->wire_us = job->wire_us > 0 && job->wire_us < us ? job->wire_us : us;
    }
    free(memory);
}

/* Whether any rank's connections go by another congestion control than reno. */
static int others_than_reno(const struct wire *w)
{
    char name[16] = "";
    socklen_t length = sizeof(name) - 1;

    return wire_most(w->to_next >= 0 && getsockopt(w->to_next, IPPROTO_TCP, TCP_CONGESTION, name, &length) == 0 && strcmp(name, "reno") != 0) > 0;
}

/* By the machine's congestion control, then by the one that every kernel has and lets every user take: what spaces packets out by timers, as bbr
 * does, is some 2 times slower in one run than in the next. */
int bench_wire_measure(struct bench_job *job)
{
    static const char *const controls[] = {NULL, "reno"};
    int lacks = 0, more = 1;

    for (int i = 0; i < 2 && job->nodes > 1 && lacks == 0 && more; i++) {
        struct wire w;
        if ((lacks = wire_join(&w, job, controls[i])) == 0) {
            more = others_than_reno(&w);
            measure(&w, job);
        }
        wire_part(&w);
    }
    return lacks < 0 ? -1 : 0;
}
