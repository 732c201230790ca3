/* SPDX-License-Identifier: BSD-3-Clause */
/* Who has died: see watch.h. */
#include "watch.h"
#include "comm.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS 50000000
#define LOOK_RANKS 16 /* three system calls each */

void hx_watch_enter(struct hx_shared *shared)
{
    struct hx_doorbell *mine = &shared->doorbells[shared->me];
    struct stat space;

    mine->pid_space = stat("/proc/self/ns/pid", &space) == 0 ? (uint64_t)space.st_ino : 0;
    atomic_store_explicit(&mine->pid, getpid(), memory_order_relaxed); /* placed publishes both */
    shared->watched = shared->me;
}

void hx_watch_leave(struct hx_shared *shared)
{
    atomic_store_explicit(&shared->doorbells[shared->me].pid, 0, memory_order_relaxed);
}

/* Descriptors are not kept: nodes have many ranks, and the program needs its own. Until a dead process's pid is used anew its end can be
 * seen; an end that is not seen ends the wait by HX_TIMEOUT. Where pidfd_open is not allowed, or no descriptor is left, it has ended when its
 * parent has waited for it. */
static int has_ended(const struct hx_doorbell *whose)
{
    struct pollfd process = {.events = POLLIN};
    int pid = atomic_load_explicit(&whose->pid, memory_order_relaxed), ended;

    if (pid == 0)
        return 0;
    process.fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (process.fd >= 0) {
        ended = poll(&process, 1, 0) > 0;
        close(process.fd);
    } else {
        ended = kill(pid, 0) < 0 && errno == ESRCH;
    }
    /* look again: it may have left, and then ended. The system calls order the two looks, as its end comes after what it wrote */
    return ended && atomic_load_explicit(&whose->pid, memory_order_relaxed) != 0;
}

void hx_watch_look(struct hx_shared *shared)
{
    const struct hx_doorbell *mine = &shared->doorbells[shared->me];
    struct timespec t;
    uint64_t now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    if (mine->pid_space == 0 || now - shared->watched_at < LOOK_NS)
        return;
    shared->watched_at = now;
    for (int i = 0; i < LOOK_RANKS && i < shared->n; i++) {
        int row = shared->watched = (shared->watched + 1) % shared->n;
        const struct hx_doorbell *whose = &shared->doorbells[row];
        int known = atomic_load_explicit(&shared->table[shared->ranks[row]].dead, memory_order_relaxed);
        if (row != shared->me && !known && whose->pid_space == mine->pid_space && has_ended(whose))
            hx_watch_tell(shared, shared->ranks[row]);
    }
}

void hx_watch_tell(struct hx_shared *shared, int rank)
{
    uint32_t before = atomic_load_explicit(&shared->header->deaths, memory_order_relaxed);
    uint16_t unknown = 0;

    atomic_compare_exchange_strong_explicit(&shared->table[rank].dead, &unknown, before < UINT16_MAX ? (uint16_t)(before + 1) : UINT16_MAX,
                                            memory_order_relaxed, memory_order_relaxed);
    /* pairs with the acquire in hx_watch_dead */
    atomic_fetch_add_explicit(&shared->header->deaths, 1, memory_order_release);
}

int hx_watch_dead(const struct hx_shared *shared, const int *ranks, int n)
{
    int first = -1, earliest = UINT16_MAX + 1;

    if (atomic_load_explicit(&shared->header->deaths, memory_order_acquire) == 0)
        return -1;
    for (int i = 0; i < n; i++) {
        int dead = atomic_load_explicit(&shared->table[ranks[i]].dead, memory_order_relaxed);
        if (dead && dead < earliest) {
            earliest = dead;
            first = i;
        }
    }
    return first;
}
