/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which ranks of this node have died: see liveness.h. For ranks of other nodes: inter/fabric/dead_peer.c.
 *
 * Each rank holds a record lock (fcntl, F_SETLK) on one byte of the segment's file. A rank that waits asks the kernel whether the lock is
 * still held (F_GETLK). The kernel releases a process's record locks when the process ends, however it ends. Record locks need only the
 * segment's descriptor. They need no /proc and no pid that both sides know, so each rank may be in a pid namespace of its own. A child does
 * not inherit them, whether it comes from fork, vfork, clone or posix_spawn. They also end when the process executes another program,
 * because exec closes the segment's descriptor.
 *
 * Record locks also end when the process closes any descriptor of this file. So Hierax keeps one descriptor for as long as it runs and
 * opens no second one; a program that closes Hierax's descriptors counts as dead. One death is not seen: that of a rank that shares its
 * descriptor table (clone with CLONE_FILES) with a process that outlives it.
 */
#include "runtime/engine/liveness.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/ports/ports.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define LOOK_NS 10000000
#define LOOK_RANKS 16 /* ranks checked in one look; each takes a system call */

static struct flock lock_of(int row)
{
    return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = row, .l_len = 1};
}

void hx_watch_enter(struct hx_shared *shared)
{
    struct flock lock = lock_of(shared->me);

    if (fcntl(shared->memory, F_SETLK, &lock) == 0) /* the release pairs with the acquire in life_of */
        atomic_store_explicit(&shared->doorbells[shared->me].life, HX_LIFE_HERE, memory_order_release);
    else
        hx_warn("other ranks of this node cannot detect the death of this rank: cannot lock a byte of the shared segment: %s", strerror(errno));
    shared->watched = shared->me;
}

static uint32_t life_of(const struct hx_shared *shared, int row)
{
    return atomic_load_explicit(&shared->doorbells[row].life, memory_order_acquire);
}

void hx_watch_set(struct hx_shared *shared, enum hx_life life)
{
    struct hx_doorbell *mine = &shared->doorbells[shared->me];

    if (atomic_load_explicit(&mine->life, memory_order_relaxed) != HX_LIFE_UNKNOWN)
        atomic_store_explicit(&mine->life, life, memory_order_release); /* pairs with the acquire in life_of */
}

int hx_watch_has_finished(const struct hx_shared *shared, int row)
{
    return life_of(shared, row) >= HX_LIFE_LEAVING;
}

static int is_watched(const struct hx_shared *shared, int row)
{
    return life_of(shared, row) == HX_LIFE_HERE || life_of(shared, row) == HX_LIFE_LEAVING;
}

static int has_ended(const struct hx_shared *shared, int row)
{
    struct flock lock = lock_of(row);

    if (!is_watched(shared, row) || fcntl(shared->memory, F_GETLK, &lock) < 0 || lock.l_type != F_UNLCK)
        return 0;
    return is_watched(shared, row); /* checked again: a rank that leaves in order says so before its lock ends */
}

static void row_look(struct hx_shared *shared, int row)
{
    int known = atomic_load_explicit(&shared->table[shared->ranks[row]].dead, memory_order_relaxed);

    if (row != shared->me && !known && has_ended(shared, row))
        hx_watch_tell(shared, shared->ranks[row], 1);
}

void hx_watch_look_at(struct hx_shared *shared, int rank)
{
    for (int row = 0; row < shared->n; row++)
        if (shared->ranks[row] == rank)
            row_look(shared, row);
}

void hx_watch_look(struct hx_shared *shared)
{
    const uint64_t now = hx_clock_ns(CLOCK_MONOTONIC_COARSE);

    if (now - shared->watched_at < LOOK_NS)
        return;
    shared->watched_at = now;
    for (int i = 0; i < LOOK_RANKS && i < shared->n; i++)
        row_look(shared, shared->watched = (shared->watched + 1) % shared->n);
}

void hx_watch_tell(struct hx_shared *shared, int rank, int has_ended)
{
    const uint32_t before = atomic_load_explicit(&shared->header->deaths, memory_order_relaxed);
    uint16_t known = 0;

    if (has_ended) /* before dead: a rank that has ended never counts as unreachable in between */
        atomic_store_explicit(&shared->table[rank].ended, 1, memory_order_release); /* pairs with the acquire in hx_agree_is_over */

    /* release: who sees dead (acquire in hx_agree_is_gone) also sees ended */
    if (!atomic_compare_exchange_strong_explicit(&shared->table[rank].dead, &known, before < UINT16_MAX ? (uint16_t)(before + 1) : UINT16_MAX,
                                                 memory_order_release, memory_order_relaxed) &&
        before >= known) /* the rank is marked, and its death is counted: else the rank that marked it may have died before it counted */
        return;
    /* pairs with the acquire in hx_watch_dead */
    atomic_fetch_add_explicit(&shared->header->deaths, 1, memory_order_release);
}

void hx_watch_tell_gone(struct hx_shared *shared, const struct hx_net *net, int rank)
{
    hx_watch_tell(shared, rank, hx_registry.net->has_ended(net, rank));
}

void hx_watch_tell_abort(struct hx_shared *shared, int rank, const char *text)
{
    for (struct hx_last_words *words = shared->header->last_words; words < shared->header->last_words + HX_LAST_WORDS; words++) {
        int32_t taken = 0;
        if (atomic_compare_exchange_strong_explicit(&words->rank, &taken, -(1 + rank), memory_order_relaxed, memory_order_relaxed)) {
            snprintf(words->text, sizeof(words->text), "%s", text);
            /* pairs with the acquire in hx_watch_last_words */
            atomic_store_explicit(&words->rank, 1 + rank, memory_order_release);
            break;
        }
        if (taken == 1 + rank)
            break;
        if (taken == -(1 + rank)) /* another rank of this node is about to do the same */
            return;
    }
    hx_watch_tell(shared, rank, 1);
}

const char *hx_watch_last_words(const struct hx_shared *shared, int rank)
{
    const struct hx_last_words *words = shared->header->last_words;

    for (int i = 0; i < HX_LAST_WORDS; i++) /* acquire pairs with the release in hx_watch_tell_abort */
        if (atomic_load_explicit(&words[i].rank, memory_order_acquire) == 1 + rank)
            return words[i].text;
    return NULL;
}

const char *hx_watch_end(const struct hx_shared *shared, int rank, char text[HX_END_BYTES])
{
    const char *words = hx_watch_last_words(shared, rank);

    if (words)
        snprintf(text, HX_END_BYTES, "has called hx_abort%s%s", *words ? ": " : "", words);
    else
        strcpy(text, atomic_load_explicit(&shared->table[rank].finished, memory_order_relaxed) ? HX_HAS_FINISHED : "has died");
    return text;
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
