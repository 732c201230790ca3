/* SPDX-License-Identifier: BSD-3-Clause */
/* Which members of an agreement are gone, over and here, and whether those that are here may agree (A6): see agree_state.h. */
#include "runtime/engine/agree_state.h"
#include "runtime/engine/liveness.h"

enum quorum { QUORUM_MAJORITY, QUORUM_ANY }; /* as HX_QUORUM names them */

/* Has a member of this node freed the communicator? */
static int has_closed(const struct hx_agree *a, int near)
{
    const struct hx_comm_id *id = &a->members->id;

    /* acquire pairs with the release in hx_number_leave */
    return atomic_load_explicit(hx_shared_closed(a->process->shared, a->members->rows[near], id->number), memory_order_acquire) > id->first_call;
}

int hx_agree_is_over(const struct hx_agree *a, int rank)
{
    const struct hx_shared *shared = a->process->shared;
    const struct hx_job_entry *entry = &shared->table[a->members->ranks[rank]];
    const int near = near_of(a->members, rank);

    if (rank == a->members->rank)
        return 0;
    /* acquire pairs with the release in hx_watch_tell */
    if (atomic_load_explicit(&entry->ended, memory_order_acquire) || atomic_load_explicit(&entry->finished, memory_order_relaxed))
        return 1;
    if (near < 0)
        return a->parts[rank].part.promise == LEFT;
    return hx_watch_has_finished(shared, a->members->rows[near]) ||
           (has_closed(a, near) &&
            atomic_load_explicit(&hx_agree_line_of(a, rank)->generation, memory_order_acquire) <= UINT64_C(1) + a->members->id.generation);
}

int hx_agree_is_gone(const struct hx_agree *a, int rank)
{
    const struct hx_job_entry *entry = &a->process->shared->table[a->members->ranks[rank]];
    const int near = near_of(a->members, rank);
    uint64_t promise;

    if (rank == a->members->rank)
        return 0;
    /* acquire pairs with the release in hx_watch_tell */
    if (atomic_load_explicit(&entry->dead, memory_order_acquire) || hx_agree_is_over(a, rank) || (near >= 0 && has_closed(a, near)))
        return 1;
    promise = hx_agree_part_of(a, rank).promise;
    return promise >= LEFT_UNKNOWN || (number_of(promise) == a->number && rank_of(promise) > a->members->rank); /* this rank is gone for it */
}

struct census hx_agree_census(const struct hx_agree *a)
{
    struct census census = {0, 0};

    for (int rank = 0; rank < a->members->size; rank++) {
        const int gone = hx_agree_is_gone(a, rank); /* read once: a rank that ends now counts as here or as over, not as both */
        census.here += !gone;
        census.over += gone && hx_agree_is_over(a, rank);
    }
    return census;
}

int hx_agree_is_ignorant(const struct hx_agree *a, int rank, uint32_t over)
{
    return near_of(a->members, rank) < 0 && !hx_agree_is_gone(a, rank) && a->parts[rank].over < over;
}

int hx_agree_quorum(struct hx_agree *a)
{
    const int size = a->members->size;
    const struct census census = hx_agree_census(a);

    a->needs_over = 0;
    if (census.here == size || 2 * census.here > size || (2 * census.here == size && !hx_agree_is_gone(a, 0)) ||
        a->process->env->quorum == QUORUM_ANY)
        return 1;
    if (census.here + (int)census.over < size)
        return MINORITY;
    for (int rank = 0; rank < size; rank++)
        if (hx_agree_is_ignorant(a, rank, census.over)) {
            a->needs_over = census.over;
            return 0;
        }
    return 1;
}
