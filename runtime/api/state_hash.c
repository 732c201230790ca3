/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hashes of the entries of a state. An entry of up to CHUNK_BYTES has the hash of its bytes. A longer one is cut into chunks, and has the hash
 * of the hashes of its chunks. So several threads can hash one long entry, and the result does not depend on their number.
 */
#include "runtime/api/state.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <xxhash.h>

#define CHUNK_BYTES ((size_t)1 << 20) /* changing it changes the hashes */
#define THREADS_MAX 64
#define THREAD_BYTES ((size_t)4 << 20) /* a thread is started only for so many bytes: starting takes the time to hash a part of them */

struct work {
    const hx_state_entry_t **entries; /* [n] */
    size_t n;
    const size_t *first; /* [n + 1] number of the entry's first chunk */
    struct hx_state_hash *chunks;
    _Atomic size_t next; /* relaxed: each thread takes a chunk of its own; pthread_join orders the results */
};

struct hx_state_hash hx_state_hash_bytes(const void *bytes, size_t n)
{
    XXH128_canonical_t canonical;
    struct hx_state_hash hash;

    _Static_assert(sizeof(canonical.digest) == sizeof(hash.bytes), "both are 128 bits");
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes, n));
    for (int i = 0; i < HX_STATE_HASH_BYTES; i++)
        hash.bytes[i] = canonical.digest[i];
    return hash;
}

static size_t chunks_of(const hx_state_entry_t *entry)
{
    return entry->bytes ? (entry->bytes - 1) / CHUNK_BYTES + 1 : 1;
}

/* The last entry whose first chunk is not behind this one. */
static size_t entry_of(const struct work *work, size_t chunk)
{
    size_t low = 0, high = work->n;

    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (work->first[middle] <= chunk)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void *work_do(void *arg)
{
    struct work *work = arg;
    const size_t chunks = work->first[work->n];

    for (size_t chunk; (chunk = atomic_fetch_add_explicit(&work->next, 1, memory_order_relaxed)) < chunks;) {
        const size_t e = entry_of(work, chunk), offset = (chunk - work->first[e]) * CHUNK_BYTES;
        const hx_state_entry_t *entry = work->entries[e];
        const size_t rest = entry->bytes - offset;
        work->chunks[chunk] = rest ? hx_state_hash_bytes((const char *)entry->address + offset, rest < CHUNK_BYTES ? rest : CHUNK_BYTES)
                                   : hx_state_hash_bytes("", 0);
    }
    return NULL;
}

/* With this thread and others. If the system refuses threads, fewer do the work. */
static void work_share(struct work *work, int threads)
{
    pthread_t others[THREADS_MAX];
    sigset_t all, old;
    int n = 0;

    sigfillset(&all); /* signals are for the program's own threads */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    while (n < threads - 1 && !pthread_create(&others[n], NULL, work_do, work))
        n++;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    work_do(work);
    while (n > 0)
        pthread_join(others[--n], NULL);
}

int hx_state_threads(const struct hx_process *process)
{
    const int per_rank = process->shared->header->milli_per_cpu > 0 ? 1000 / process->shared->header->milli_per_cpu : 1;
    int threads = THREADS_MAX;
    cpu_set_t bound;

    if (process->env->state_threads)
        return process->env->state_threads;
    if (sched_getaffinity(0, sizeof(bound), &bound) == 0 && CPU_COUNT(&bound) < threads)
        threads = CPU_COUNT(&bound);
    if (threads > per_rank)
        threads = per_rank;
    return threads < 1 ? 1 : threads;
}

int hx_state_hash_entries(const struct hx_state *state, int rank, int threads, struct hx_state_hash *hashes)
{
    size_t *first = calloc(state->n + 1, sizeof(*first)), bytes = 0;
    size_t *which = calloc(state->n + 1, sizeof(*which));
    struct work work = {.entries = calloc(state->n + 1, sizeof(*work.entries)), .first = first};
    int done;

    for (size_t e = 0; first && which && work.entries && e < state->n; e++) {
        if (rank >= 0 && hx_state_holds(state, rank, e))
            continue;
        which[work.n] = e;
        work.entries[work.n] = state->entries[e];
        bytes += state->entries[e]->bytes;
        first[work.n + 1] = first[work.n] + chunks_of(state->entries[e]);
        work.n++;
    }
    if (first && which && work.entries)
        work.chunks = calloc(first[work.n] + 1, sizeof(*work.chunks));
    if (work.chunks) {
        work_share(&work, bytes / THREAD_BYTES < (size_t)threads ? (int)(bytes / THREAD_BYTES) : threads);
        for (size_t i = 0; i < work.n; i++) {
            const size_t chunks = first[i + 1] - first[i];
            hashes[which[i]] = chunks == 1 ? work.chunks[first[i]]
                                           : hx_state_hash_bytes(&work.chunks[first[i]], chunks * sizeof(*work.chunks));
        }
    }
    done = work.chunks != NULL;
    free(first);
    free(which);
    free(work.entries);
    free(work.chunks);
    return done;
}
