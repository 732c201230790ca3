/* SPDX-License-Identifier: BSD-3-Clause */
/* Comparisons of hx_state_sync: the tables of entries of all ranks, and the election of the state that all ranks get. */
#include "runtime/api/state.h"
#include "runtime/base/error.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- tables of entries ---------------------------------------------------------------------------------------- */

/* An entry of a table as it travels: 8 bytes of size, then the name with its NUL. */
struct row {
    uint64_t bytes;
    const char *name;
};

/* The row at *at, which then moves on. Returns 0 behind the last one. */
static int row_next(const char **at, const char *end, struct row *row)
{
    if (*at >= end)
        return 0;
    memcpy(&row->bytes, *at, sizeof(row->bytes));
    row->name = *at + sizeof(row->bytes);
    *at = row->name + strlen(row->name) + 1;
    return 1;
}

/* The first difference between this rank's table and that of rank 0; "" if there is none. Both are ordered by name. */
static void difference_tell(const struct hx_state *state, const char *theirs, size_t theirs_bytes, char *text, size_t capacity)
{
    const char *a = state->table, *a_end = a + state->table_bytes, *b = theirs, *b_end = b + theirs_bytes;
    const int me = state->comm->members.rank;
    struct row mine, other;

    for (text[0] = '\0'; !text[0];) {
        const int have = row_next(&a, a_end, &mine), has = row_next(&b, b_end, &other);
        const int order = !have ? 1 : !has ? -1 : strcmp(mine.name, other.name);
        if (!have && !has)
            return;
        if (order)
            snprintf(text, capacity, "rank %d has an entry \"%s\" of %llu bytes, and rank %d has none of that name", order < 0 ? me : 0,
                     order < 0 ? mine.name : other.name, (unsigned long long)(order < 0 ? mine.bytes : other.bytes), order < 0 ? 0 : me);
        else if (mine.bytes != other.bytes)
            snprintf(text, capacity, "entry \"%s\" has %llu bytes on rank %d and %llu bytes on rank 0", mine.name,
                     (unsigned long long)mine.bytes, me, (unsigned long long)other.bytes);
    }
}

/* All ranks read the table of rank 0. Each one tells its first difference, and the lowest rank with one is named. */
static hx_status_t difference_find(struct hx_state *state)
{
    enum { TEXT = HX_STATE_NAME_BYTES + 160 };
    struct hx_comm *comm = state->comm;
    const size_t size = (size_t)comm->members.size, bytes = (size_t)state->all[0].table_bytes;
    char *theirs = malloc(bytes + 1), *texts = calloc(size, TEXT), mine[TEXT] = "";
    hx_status_t status = HX_SUCCESS;
    size_t rank = 0;

    if (!theirs || !texts) {
        status = hx_state_no_memory(comm, "the tables of entries");
    } else {
        if (comm->members.rank == 0)
            memcpy(theirs, state->table, bytes);
        if (bytes)
            status = hx_state_bcast(comm, theirs, bytes, 0);
        if (status == HX_SUCCESS) {
            difference_tell(state, theirs, bytes, mine, sizeof(mine));
            status = hx_state_allgather(comm, mine, texts, sizeof(mine));
        }
        while (status == HX_SUCCESS && rank + 1 < size && !texts[rank * TEXT])
            rank++;
        if (status == HX_SUCCESS)
            status = hx_comm_fail(comm, hx_fail(HX_ERR_MISMATCH, "hx_state_sync: %s", texts + rank * TEXT));
    }
    free(theirs);
    free(texts);
    return status;
}

hx_status_t hx_state_tables_compare(struct hx_state *state)
{
    for (int rank = 1; rank < state->comm->members.size; rank++)
        if (memcmp(&state->all[rank].table, &state->all[0].table, sizeof(state->all[0].table)) ||
            state->all[rank].entries != state->all[0].entries || state->all[rank].table_bytes != state->all[0].table_bytes)
            return difference_find(state);
    return HX_SUCCESS;
}

/* ---- election ------------------------------------------------------------------------------------------------- */

static int equal(const struct hx_state_summary *a, const struct hx_state_summary *b)
{
    return a->revision == b->revision && memcmp(&a->contents, &b->contents, sizeof(a->contents)) == 0;
}

/* Only send-only ranks vote, if there are any. Receive-only ranks never do. */
static int votes(const struct hx_state_summary *rank, int senders)
{
    return rank->mode == HX_STATE_SEND_ONLY || (!senders && rank->mode == HX_STATE_MAJORITY);
}

/* The lowest rank whose state most voters hold. Among states with as many votes the highest revision counts, then the lowest rank. */
static int winner(const struct hx_state_summary *all, int size, int senders)
{
    int best = -1, best_votes = 0;

    for (int rank = 0; rank < size; rank++) {
        int n = 0;
        if (best >= 0 && equal(&all[rank], &all[best]))
            continue;
        for (int other = 0; other < size && votes(&all[rank], senders); other++)
            n += votes(&all[other], senders) && equal(&all[rank], &all[other]);
        if (n > best_votes || (n && n == best_votes && all[rank].revision > all[best].revision)) {
            best = rank;
            best_votes = n;
        }
    }
    return best;
}

/* A rank that would lose steps, or may not receive, and does not hold the elected state. */
static hx_status_t loser_refuse(const struct hx_state_summary *all, int rank, int elected)
{
    const unsigned long long revision = all[rank].revision, theirs = all[elected].revision;

    if (all[rank].mode == HX_STATE_RECEIVE_ONLY || equal(&all[rank], &all[elected]))
        return HX_SUCCESS;
    if (revision > theirs)
        return hx_fail(HX_ERR_MISMATCH, "hx_state_sync: rank %d has revision %llu, but the elected state, that of rank %d, has revision "
                       "%llu. If rank %d may lose its state, pass HX_STATE_RECEIVE_ONLY there", rank, revision, elected, theirs, rank);
    if (all[rank].mode == HX_STATE_SEND_ONLY)
        return hx_fail(HX_ERR_MISMATCH, "hx_state_sync: ranks %d and %d have HX_STATE_SEND_ONLY, but different states, of revisions %llu "
                       "and %llu", elected, rank, theirs, revision);
    return HX_SUCCESS;
}

hx_status_t hx_state_elect(const struct hx_state_summary *all, int size, int *elected)
{
    hx_status_t status = HX_SUCCESS;
    int senders = 0;

    for (int rank = 0; rank < size; rank++)
        senders += all[rank].mode == HX_STATE_SEND_ONLY;
    *elected = winner(all, size, senders);
    if (*elected < 0)
        return hx_fail(HX_ERR_ARG, "hx_state_sync: no rank has a state to send: all ranks, 0 to %d, have HX_STATE_RECEIVE_ONLY", size - 1);
    for (int rank = 0; rank < size && status == HX_SUCCESS; rank++)
        status = loser_refuse(all, rank, *elected);
    return status;
}
