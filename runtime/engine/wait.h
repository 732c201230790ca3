/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting: the one place that decides how. Look with pauses for a budget, then yield the core, then block.
 *
 *   producer                         sleeper
 *   store data, epoch (release)      read bell -> b
 *   full fence            F1         store sleeping
 *   read sleeping                    full fence            F2
 *   if set: bell += 1, wake          look again; if there: awake
 *                                    sleep while bell == b (futex), or until the eventfd is written (poll)
 *
 * F1 and F2 make it impossible that the producer misses `sleeping` and the sleeper misses the epoch
 * (tests/model/doorbell.pml).
 * A rank that waits for network completions polls the queue's descriptor together with an eventfd of its own.
 */
#pragma once

#include "runtime/ports/node.h"
#include "runtime/ports/transport.h"
#include <hierax.h>
#include <pthread.h>

/* The rank that the last look awaited in vain. If a rank's mate has something to do, the rank yields their processing unit at
 * once. Otherwise it first looks for a while, so that the flag or message that both await has time to arrive. */
enum hx_awaited { HX_AWAITED_ANY, HX_AWAITED_MATE, HX_AWAITED_ELSEWHERE };

/* How long something has been waited for without a sign of it, however often other things ended a wait or came between. */
struct hx_wait_clock {
    uint64_t last;       /* ns: when it was looked at; 0: never */
    uint64_t waited;     /* ns until then. If no look happened for a time, only a part of it counts: the program was busy */
    uint64_t told;       /* of these, when slow was called last */
    int naps;            /* no process rings for it: look soon again */
};

/* One thread at a time is inside Hierax: see lock.h. All worlds of a process share it. */
struct hx_inside {
    pthread_mutex_t mutex;
    _Atomic int wanted; /* threads that wait for the mutex */
    int locked;         /* it is held; written by its holder alone */
    struct hx_waiter *waiters; /* those that share it. The holder wakes their sleepers when it leaves */
};

struct hx_waiter {
    struct hx_shared *shared;
    const struct hx_net_ops *net_ops;
    struct hx_net *net; /* NULL: no endpoint */
    int spin, spin_min, spin_max; /* looks before the rank yields the core; adapts between the two */
    enum hx_awaited awaited;      /* set by the last look, if ranks are on one node and have a mate */
    uint64_t long_ns;             /* a yield that took longer met a process that uses up its time slice */
    uint64_t since, lost, got;    /* since then (0: the next yield): ns in such yields, waits that ended by a yield */
    int blocks, blocks_next;      /* so many waits more block at once; so many it were the last time */
    uint64_t yields, sleeps;
    uint64_t spun, yielded, blocked; /* waits, by how they ended */
    /* threads */
    struct hx_inside *inside, own; /* inside: own, until hx_waiter_join */
    struct hx_waiter *next;        /* of inside->waiters */
    int sleepers;                  /* threads asleep on this process's doorbell */
    int polling;                   /* one of them polls */
    int news;                      /* something has moved that they may wait for */
    int naps;                      /* calls of another world are under way, which this doorbell does not ring for: look soon again */
    uint64_t signs;                /* how often something has moved */
};

/* Something has moved that another thread may wait for. */
static inline void hx_notify(struct hx_waiter *w)
{
    w->news = 1;
    w->signs++;
}

/* looks: HX_SPIN, -1 for adaptive. The waiter must not move afterwards. */
void hx_waiter_init(struct hx_waiter *w, struct hx_shared *shared, double ranks_per_cpu, int looks);

/* One thread at a time. Letting go wakes the other threads' sleepers when there are news. */
void hx_inside_lock(struct hx_inside *inside);
int hx_inside_try(struct hx_inside *inside); /* returns 0 if another thread has the lock */
void hx_inside_unlock(struct hx_inside *inside);
/* Share inside with other waiters, and part from them again. The caller holds the lock, if the process has several threads. */
void hx_waiter_join(struct hx_waiter *w, struct hx_inside *inside);
void hx_waiter_part(struct hx_waiter *w);

/* See hx_on_idle. */
void hx_idle_set(hx_idle_fn_t *fn, void *ctx);

/* A wait: its condition and its limits. */
struct hx_wait {
    int (*look)(void *ctx);  /* nonzero: the wait ends */
    void (*slow)(void *ctx); /* called about ten times a second when it lasts long, and when a process of the node has died; or NULL */
    void *ctx;
    double timeout_s;        /* 0: for ever */
    struct hx_wait_clock *wait_clock;
};

/* Call look until it returns nonzero. HX_ERR_TIMEOUT is returned without recording a detail. */
hx_status_t hx_wait_until(struct hx_waiter *w, const struct hx_wait *wait);
/* The same, but it soon sleeps: for a caller that must not take time from a thread that works. */
hx_status_t hx_sleep_until(struct hx_waiter *w, const struct hx_wait *wait);
/* The look that ended the wait, or the one in between, was in vain: has it lasted too long? HX_SUCCESS or HX_ERR_TIMEOUT. */
hx_status_t hx_wait_check(const struct hx_wait *wait);
/* There was a sign of it. */
static inline void hx_wait_clock_renew(struct hx_wait_clock *wait_clock)
{
    wait_clock->waited = wait_clock->told = 0;
}

/* The slow part of hx_wake. */
void hx_wake_sleeper(const struct hx_shared *shared, struct hx_doorbell *bell);

static inline void hx_wake_fence(void)
{
    atomic_thread_fence(memory_order_seq_cst); /* F1, pairs with F2 in sleep_once */
}

static inline int hx_sleeps(const struct hx_doorbell *bell)
{
    return atomic_load_explicit(&bell->sleeping, memory_order_relaxed) != HX_AWAKE;
}

/* Wake the owner of bell if it sleeps. The caller has issued hx_wake_fence() after its last store. */
static inline void hx_wake(const struct hx_shared *shared, struct hx_doorbell *bell)
{
    if (hx_sleeps(bell))
        hx_wake_sleeper(shared, bell);
}

static inline void hx_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}
