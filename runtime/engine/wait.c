/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting: spin, yield, block. See wait.h for the protocol. */
#include "runtime/engine/wait.h"
#include "runtime/engine/liveness.h"
#include "runtime/engine/process.h"
#include "runtime/base/clock.h"
#include "runtime/base/probe.h"
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SPIN_MAX 4000           /* looks: about 50 us */
#define SPIN_MIN 5              /* looks at the least: a rank on another core may be just a moment late */
#define SPIN_MIN_RANKS 2        /* per core; with more ranks it is better to yield the core at once */
#define SPIN_ELSEWHERE 100      /* looks while the mate waits as well */
#define SPIN_PER_NET_LOOK 200   /* a look at the network costs system calls */
#define YIELD_FREE_NS 1500      /* a yield that took longer let another process run */
#define YIELD_LONG_NS 1000000   /* for each rank of a core: a yield that took longer met a process that uses up its time slices */
#define LONG_MIN_NS 10000000    /* if such yields take half of a time of at least this, */
#define LONG_MAX_NS 200000000   /* and at most this, waits block at once: the kernel runs a woken process at once */
#define BLOCKS_MIN 16           /* so many of them, and twice as many each time that this happens again soon, */
#define BLOCKS_MAX 1024         /* up to here */
#define SOON 64                 /* waits that ended by a yield in between */
#define YIELD_PHASE_NS 200000   /* then block */
#define YIELD_WALL_NS 20000000  /* and in any case then: only asleep does a rank look for the dead and the time limit */
#define SPIN_CLOCK 4096         /* looks of a long spin from one reading of the clock to the next */
#define SLEEP_STEP_NS 100000000 /* look at the clock this often while blocked, */
#define FIRST_STEP_NS 20000000  /* and until then this often for deaths: ranks that wait for a rank that dies mostly wait since its death */
#define NAP_NS 1000000          /* if no process rings */
#define IDLE_NAP_NS 200000      /* if the program has something to do meanwhile */
#define POLL_STEP_MIN_NS 20000  /* without a descriptor: sleep in growing steps */
#define POLL_STEP_MAX_NS 1000000

static int mate_of(const struct hx_shared *shared)
{
    const struct hx_doorbell *ranks = shared->doorbells;
    int mate = -1;

    for (int i = 0; i < shared->n; i++) {
        int others = 0;
        for (int k = 0; k < shared->n; k++)
            others += k != i && ranks[k].cpu == ranks[i].cpu;
        if (ranks[i].cpu < 0 || others > 1)
            return -1;
        if (i != shared->me && ranks[i].cpu == ranks[shared->me].cpu)
            mate = i;
    }
    return mate;
}

void hx_waiter_init(struct hx_waiter *w, struct hx_shared *shared, double ranks_per_cpu, int looks)
{
    *w = (struct hx_waiter){.shared = shared};
    w->spin_min = looks >= 0 ? looks : ranks_per_cpu <= SPIN_MIN_RANKS ? SPIN_MIN : 0;
    w->spin_max = looks >= 0 ? looks : ranks_per_cpu <= 1.0 ? SPIN_MAX : w->spin_min;
    w->spin = w->spin_max;
    shared->mate = looks < 0 && ranks_per_cpu <= SPIN_MIN_RANKS ? mate_of(shared) : -1; /* more by a quota: then looking costs time */
    w->long_ns = (uint64_t)(YIELD_LONG_NS * (ranks_per_cpu < 1 ? 1 : ranks_per_cpu));
    w->got = SOON;
    w->inside = &w->own;
    pthread_mutex_init(&w->own.mutex, NULL);
}

void hx_waiter_join(struct hx_waiter *w, struct hx_inside *inside)
{
    w->inside = inside;
    w->next = inside->waiters;
    inside->waiters = w;
}

void hx_waiter_part(struct hx_waiter *w)
{
    struct hx_waiter **link = w->inside ? &w->inside->waiters : NULL; /* NULL: never made */

    while (link && *link && *link != w)
        link = &(*link)->next;
    if (link && *link)
        *link = w->next;
}

static void bell_ring(struct hx_doorbell *bell)
{
    atomic_fetch_add_explicit(&bell->bell, 1, memory_order_release);
    syscall(SYS_futex, &bell->bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void hx_inside_lock(struct hx_inside *inside)
{
    if (pthread_mutex_trylock(&inside->mutex)) {
        atomic_fetch_add_explicit(&inside->wanted, 1, memory_order_relaxed);
        pthread_mutex_lock(&inside->mutex);
        atomic_fetch_sub_explicit(&inside->wanted, 1, memory_order_relaxed);
    }
    inside->locked = 1;
}

int hx_inside_try(struct hx_inside *inside)
{
    if (pthread_mutex_trylock(&inside->mutex))
        return 0;
    inside->locked = 1;
    return 1;
}

static int can_poll(const struct hx_waiter *w)
{
    return w->net && w->shared->wake_fds;
}

static void news_tell(struct hx_waiter *w, int other_polls)
{
    struct hx_doorbell *me = &w->shared->doorbells[w->shared->me];

    if (w->news && other_polls)
        hx_wake_sleeper(w->shared, me);
    if (w->sleepers > w->polling && (w->news || (can_poll(w) && !w->polling)))
        bell_ring(me);
    w->news = 0;
}

/* The sleepers of `skipped` have been woken already. */
static void inside_leave(struct hx_inside *inside, const struct hx_waiter *skipped)
{
    for (struct hx_waiter *w = inside->waiters; w; w = w->next)
        if (w != skipped)
            news_tell(w, w->polling);
    inside->locked = 0;
    pthread_mutex_unlock(&inside->mutex);
}

void hx_inside_unlock(struct hx_inside *inside)
{
    inside_leave(inside, NULL);
}

static void let_go(struct hx_waiter *w, int other_polls)
{
    news_tell(w, other_polls);
    inside_leave(w->inside, w);
}

/* Let other threads in, if they want, and those that sleep, if there is news for them. */
static inline void give_way(struct hx_waiter *w)
{
    struct hx_inside *inside = w->inside;

    if (inside->locked && (atomic_load_explicit(&inside->wanted, memory_order_relaxed) || (w->news && w->sleepers))) {
        let_go(w, w->polling);
        sched_yield();
        hx_inside_lock(inside);
    }
}

/* The program's function: other libraries make progress in it while a thread waits here. */
static hx_idle_fn_t *idle_fn;
static void *idle_ctx;

void hx_idle_set(hx_idle_fn_t *fn, void *ctx)
{
    idle_fn = fn;
    idle_ctx = ctx;
}

static void idle(struct hx_waiter *w, hx_idle_fn_t *fn)
{
    int locked = w->inside->locked;

    if (locked)
        let_go(w, w->polling);
    fn(idle_ctx);
    if (locked)
        hx_inside_lock(w->inside);
}

static void yield(struct hx_waiter *w)
{
    int locked = w->inside->locked;

    if (locked)
        let_go(w, w->polling);
    sched_yield();
    if (locked)
        hx_inside_lock(w->inside);
}

void hx_wake_sleeper(const struct hx_shared *shared, struct hx_doorbell *bell)
{
    uint32_t how = atomic_load_explicit(&bell->sleeping, memory_order_relaxed);

    if (how == HX_AWAKE)
        return;
    if (how == HX_IN_FUTEX) {
        bell_ring(bell);
    } else {
        const uint64_t one = 1;
        atomic_fetch_add_explicit(&bell->bell, 1, memory_order_release);
        ssize_t written = write(shared->wake_fds[bell - shared->doorbells], &one, sizeof(one));
        (void)written; /* EAGAIN: the counter is full, so its owner wakes anyway */
    }
}

static void block_in_futex(struct hx_doorbell *me, uint32_t rings, uint64_t ns)
{
    struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
    syscall(SYS_futex, &me->bell, FUTEX_WAIT, rings, &t, NULL, 0);
}

/* Returns whether the bell was rung. */
static int block_in_poll(struct hx_waiter *w, int net_fd, uint64_t ns)
{
    struct pollfd fds[2] = {{.fd = w->shared->wake_fds[w->shared->me], .events = POLLIN},
                            {.fd = net_fd, .events = POLLIN}};
    struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
    uint64_t rings;

    return ppoll(fds, net_fd >= 0 ? 2 : 1, &t, NULL) > 0 && (fds[0].revents & POLLIN) &&
           read(fds[0].fd, &rings, sizeof(rings)) > 0; /* an eventfd: cannot be short */
}

/* Sleep, and let other threads in meanwhile. Only one of them polls, since a descriptor wakes one reader at most once: the
 * others sleep on the bell. If a ring ends the poll, the poller rings for the others, since the message may be theirs. It also
 * rings when it goes to do other things, so that another thread polls. */
static void block(struct hx_waiter *w, int polls, int net_fd, uint32_t rings, uint64_t ns)
{
    int locked = w->inside->locked, other_polls = w->polling, is_poller = polls && !other_polls, rung = 0;

    w->sleeps++;
    w->sleepers++;
    w->polling |= is_poller;
    if (locked)
        let_go(w, other_polls);
    if (is_poller)
        rung = block_in_poll(w, net_fd, ns);
    else
        block_in_futex(&w->shared->doorbells[w->shared->me], rings, ns);
    if (locked)
        hx_inside_lock(w->inside);
    if (is_poller)
        w->polling = 0;
    if (--w->sleepers && rung)
        bell_ring(&w->shared->doorbells[w->shared->me]);
}

/* One sleep by the protocol of wait.h. Returns nonzero when the second look found what was waited for. */
static int sleep_once(struct hx_waiter *w, int (*look)(void *), void *ctx, uint64_t ns)
{
    struct hx_doorbell *me = &w->shared->doorbells[w->shared->me];
    const int polls = can_poll(w), net_fd = polls ? w->net_ops->wait_fd(w->net) : -1;
    int found;
    uint32_t rings = atomic_load_explicit(&me->bell, memory_order_acquire);

    atomic_store_explicit(&me->sleeping, polls ? HX_IN_POLL : HX_IN_FUTEX, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst); /* F2, pairs with F1 in hx_wake_fence */
    found = look(ctx);
    /* if that look has opened the endpoint, nothing would wake the sleep that was prepared */
    if (!found && polls == can_poll(w) && !(polls && net_fd >= 0 && w->net_ops->arm(w->net) != 0))
        block(w, polls, net_fd, rings, ns);
    else if (!found) /* not if look succeeded: its result must still hold when the caller goes on */
        give_way(w);
    if (w->sleepers == 0)
        atomic_store_explicit(&me->sleeping, HX_AWAKE, memory_order_relaxed);
    return found;
}

/* HX_SPIN may be large: but only asleep does a rank look for the dead and the time limit. */
static int spun_for_long(uint64_t *start)
{
    uint64_t now = hx_now_ns();

    if (*start == 0)
        *start = now;
    return now - *start > YIELD_WALL_NS;
}

/* Look with pauses. If looks are in vain the budget shrinks, so that ranks that share cores stop burning them. A rank with a
 * mate knows better (w->awaited). */
static int spin_phase(struct hx_waiter *w, int (*look)(void *), void *ctx, int looks)
{
    uint64_t start = 0;

    if (w->net)
        looks /= SPIN_PER_NET_LOOK;
    else if (w->awaited == HX_AWAITED_ELSEWHERE && looks < SPIN_ELSEWHERE)
        looks = SPIN_ELSEWHERE;
    for (int i = 0; i < looks && w->awaited != HX_AWAITED_MATE; i++) {
        hx_pause();
        if (look(ctx))
            return 1;
        give_way(w);
        if (i % SPIN_CLOCK == SPIN_CLOCK - 1 && spun_for_long(&start))
            break;
    }
    return 0;
}

/* A yield until now took long. Returns whether to block instead. Programs of other users may never yield the core. Then ranks
 * that wait for each other by yields make only one step in each time slice of such a program. */
static int yields_in_vain(struct hx_waiter *w, uint64_t now, uint64_t gone)
{
    w->lost += gone;
    if (now - w->since > LONG_MAX_NS) {
        w->since = now;
        w->lost = 0;
        w->got = SOON;
    }
    if (now - w->since < LONG_MIN_NS || 2 * w->lost < now - w->since)
        return 0;
    w->blocks_next = w->got >= SOON ? BLOCKS_MIN : w->blocks_next < BLOCKS_MAX ? 2 * w->blocks_next : BLOCKS_MAX;
    w->blocks = w->blocks_next;
    w->since = w->lost = 0;
    w->got = 0;
    return 1;
}

/* Time in which another process runs on the core does not count. If something has moved, the time counts from then on, because more may soon move. The kernel wakes a rank on the core of the process that wakes
 * it, so ranks that share one core would never get to another. */
static int yield_phase(struct hx_waiter *w, int (*look)(void *), void *ctx)
{
    uint64_t start = hx_now_ns(), before = start, spent = 0, signs = w->signs, after, gone;
    int contended = 0;

    if (w->since == 0)
        w->since = start;
    do {
        if (idle_fn) { /* its time is not that of another process */
            idle(w, idle_fn);
            before = hx_now_ns();
        }
        yield(w);
        w->yields++;
        after = hx_now_ns();
        gone = after - before;
        contended |= gone > YIELD_FREE_NS;
        if (gone > w->long_ns && yields_in_vain(w, after, gone))
            return look(ctx);
        if (look(ctx) || spin_phase(w, look, ctx, 0)) {
            w->got++;
            /* another process wants this core: yield sooner the next time; else looking costs nothing */
            if (contended)
                w->spin = w->spin / 2 > w->spin_min ? w->spin / 2 : w->spin_min;
            else
                w->spin = 2 * w->spin + 64 < w->spin_max ? 2 * w->spin + 64 : w->spin_max;
            return 1;
        }
        before = hx_now_ns();
        spent = w->signs == signs ? spent + before - after + (gone > YIELD_FREE_NS ? 0 : gone) : 0;
        signs = w->signs;
    } while (spent < YIELD_PHASE_NS && before - start < YIELD_WALL_NS);
    return 0;
}

hx_status_t hx_wait_check(const struct hx_wait *wait)
{
    struct hx_wait_clock *wait_clock = wait->wait_clock;

    wait_clock->waited += hx_clock_counted(&wait_clock->last, hx_clock_ns(CLOCK_MONOTONIC_COARSE));
    if (wait->slow && wait_clock->waited - wait_clock->told >= SLEEP_STEP_NS) {
        wait_clock->told = wait_clock->waited;
        wait->slow(wait->ctx); /* which may see signs, and renew it */
    }
    return wait->timeout_s > 0 && (double)wait_clock->waited >= wait->timeout_s * 1e9 ? HX_ERR_TIMEOUT : HX_SUCCESS;
}

/* If there is nothing to sleep on, sleep in growing steps. step: the last one. Returns 0 if there is something; the endpoint may open during
 * a wait. */
static uint64_t step_next(const struct hx_waiter *w, uint64_t step)
{
    if (!w->net || w->net_ops->wait_fd(w->net) >= 0)
        return 0;
    return step == 0 ? POLL_STEP_MIN_NS : 2 * step < POLL_STEP_MAX_NS ? 2 * step : POLL_STEP_MAX_NS;
}

/* How long to sleep at most. step: as step_next has returned it. */
static uint64_t sleep_ns(const struct hx_waiter *w, const struct hx_wait *wait, uint64_t step)
{
    uint64_t ns = step ? step : wait->wait_clock->naps || w->naps ? NAP_NS : wait->wait_clock->waited < SLEEP_STEP_NS ? FIRST_STEP_NS : SLEEP_STEP_NS;
    double left = wait->timeout_s * 1e9 - (double)wait->wait_clock->waited;

    return wait->timeout_s > 0 && left < (double)ns ? (uint64_t)(left > NAP_NS ? left : NAP_NS) : ns;
}

/* Has a process of this node died since the last look? *known: deaths that were known then. */
static int death_look(struct hx_shared *shared, uint32_t *known)
{
    const uint32_t before = *known;

    hx_watch_look(shared);
    *known = atomic_load_explicit(&shared->header->deaths, memory_order_relaxed);
    return *known != before;
}

/* fn: NULL in a thread of Hierax. */
static hx_status_t sleep_until(struct hx_waiter *w, const struct hx_wait *wait, hx_idle_fn_t *fn)
{
    uint64_t step = 0, ns;
    uint32_t deaths = 0;
    hx_status_t status = hx_wait_check(wait);

    while (status == HX_SUCCESS) {
        step = step_next(w, step);
        ns = sleep_ns(w, wait, step);
        if (sleep_once(w, wait->look, wait->ctx, fn && ns > IDLE_NAP_NS ? IDLE_NAP_NS : ns) || wait->look(wait->ctx))
            return HX_SUCCESS;
        if (fn)
            idle(w, fn);
        if (wait->slow && death_look(w->shared, &deaths)) {
            wait->wait_clock->told = wait->wait_clock->waited; /* its next call is not at once */
            wait->slow(wait->ctx);
        }
        status = hx_wait_check(wait);
    }
    return status;
}

hx_status_t hx_sleep_until(struct hx_waiter *w, const struct hx_wait *wait)
{
    return sleep_until(w, wait, NULL);
}

hx_status_t hx_wait_until(struct hx_waiter *w, const struct hx_wait *wait)
{
    int (*look)(void *) = wait->look;
    void *ctx = wait->ctx;
    hx_status_t status = HX_SUCCESS;
    uint64_t since = 0;

    w->awaited = HX_AWAITED_ANY;
    if (look(ctx))
        return HX_SUCCESS;
    HX_PROBE_WAIT_BEGIN(ctx, since);
    if (spin_phase(w, look, ctx, w->spin)) {
        w->spun++;
    } else if (w->blocks == 0 && yield_phase(w, look, ctx)) {
        w->yielded++;
    } else {
        w->blocks -= w->blocks > 0;
        w->blocked++;
        status = sleep_until(w, wait, idle_fn);
    }
    HX_PROBE_WAIT_END(hx_process_of(w)->trace, ctx, since, status);
    return status;
}
