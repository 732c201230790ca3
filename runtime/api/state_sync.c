/* SPDX-License-Identifier: BSD-3-Clause */
/* hx_state_sync: see state.h. */
#include "runtime/api/state.h"
#include "runtime/api/call.h"
#include "runtime/api/lock.h"
#include "runtime/base/clock.h"
#include <stdlib.h>
#include <string.h>

/* ---- collectives ---------------------------------------------------------------------------------------------- */

static struct hx_call_key key_of(enum hx_coll coll, size_t bytes, int root)
{
    return hx_call_key_for(HX_FOR_STATE_SYNC, 0, hx_call_key_of(coll, HX_BYTE, HX_SUM, root, bytes));
}

hx_status_t hx_state_allgather(struct hx_comm *comm, const void *in, void *out, size_t bytes)
{
    return hx_call_inner("hx_state_sync", comm, key_of(HX_COLL_ALLGATHER, bytes, 0), in, out);
}

hx_status_t hx_state_bcast(struct hx_comm *comm, void *buffer, size_t bytes, int root)
{
    return hx_call_inner("hx_state_sync", comm, key_of(HX_COLL_BCAST, bytes, root), buffer, buffer);
}

hx_status_t hx_state_no_memory(struct hx_comm *comm, const char *what)
{
    return hx_comm_break(comm, hx_fail(HX_ERR_NOMEM, "hx_state_sync: no memory for %s", what));
}

/* ---- arguments ------------------------------------------------------------------------------------------------ */

static hx_status_t entry_check(const hx_state_entry_t *entry, size_t i)
{
    if (!entry->name || !entry->name[0] || strlen(entry->name) > HX_STATE_NAME_BYTES)
        return hx_fail(HX_ERR_ARG, "hx_state_sync: the name of entry %zu is %s; choose 1 to %d bytes", i,
                       !entry->name ? "NULL" : entry->name[0] ? "too long" : "empty", HX_STATE_NAME_BYTES);
    if (entry->bytes && !entry->address)
        return hx_fail(HX_ERR_ARG, "hx_state_sync: the address of entry \"%s\" is NULL and it has %zu bytes", entry->name, entry->bytes);
    if (entry->bytes > PTRDIFF_MAX / 2)
        return hx_fail(HX_ERR_ARG, "hx_state_sync: %zu bytes of entry \"%s\" are more than an address space holds", entry->bytes,
                       entry->name);
    return HX_SUCCESS;
}

static hx_status_t arguments_check(struct hx_comm *comm, const hx_state_entry_t *entries, size_t n, hx_state_mode_t mode)
{
    hx_status_t status = HX_SUCCESS;

    HX_ENTER();
    if ((status = hx_comm_check(comm, "hx_state_sync")) != HX_SUCCESS || (status = hx_notice_refuse("hx_state_sync")) != HX_SUCCESS ||
        (status = hx_group_refuse(comm, "hx_state_sync")) != HX_SUCCESS)
        return status;
    if (mode != HX_STATE_MAJORITY && mode != HX_STATE_SEND_ONLY && mode != HX_STATE_RECEIVE_ONLY)
        status = hx_fail(HX_ERR_ARG, "hx_state_sync: mode %d; choose HX_STATE_MAJORITY, HX_STATE_SEND_ONLY or HX_STATE_RECEIVE_ONLY",
                         (int)mode);
    else if (n && !entries)
        status = hx_fail(HX_ERR_ARG, "hx_state_sync: entries is NULL and n is %zu", n);
    for (size_t i = 0; i < n && status == HX_SUCCESS; i++)
        status = entry_check(&entries[i], i);
    return status == HX_SUCCESS ? status : hx_comm_fail(comm, status);
}

static int names_compare(const void *a, const void *b)
{
    return strcmp((*(const hx_state_entry_t *const *)a)->name, (*(const hx_state_entry_t *const *)b)->name);
}

/* All that the call needs. Entries are ordered by name, so ranks may list them in any order. */
static hx_status_t state_open(struct hx_state *state, const hx_state_entry_t *entries)
{
    const size_t size = (size_t)state->comm->members.size;

    state->entries = calloc(state->n + 1, sizeof(*state->entries));
    state->hashes = calloc(state->n + 1, sizeof(*state->hashes));
    state->elected = calloc(state->n + 1, sizeof(*state->elected));
    state->all = calloc(size, sizeof(*state->all));
    state->holds = calloc(size, hx_state_mask_bytes(state) + 1);
    for (size_t i = 0; i < state->n; i++)
        state->table_bytes += sizeof(uint64_t) + strlen(entries[i].name) + 1;
    state->table = malloc(state->table_bytes + 1);
    if (!state->entries || !state->hashes || !state->elected || !state->all || !state->holds || !state->table)
        return HX_ERR_NOMEM;
    for (size_t i = 0; i < state->n; i++)
        state->entries[i] = &entries[i];
    qsort(state->entries, state->n, sizeof(*state->entries), names_compare);
    return HX_SUCCESS;
}

static void state_close(struct hx_state *state)
{
    free(state->entries);
    free(state->hashes);
    free(state->elected);
    free(state->all);
    free(state->holds);
    free(state->table);
}

/* Write the table as other ranks read it. */
static hx_status_t table_write(struct hx_state *state)
{
    char *to = state->table;

    for (size_t e = 0; e < state->n; e++) {
        const uint64_t bytes = state->entries[e]->bytes;
        const size_t length = strlen(state->entries[e]->name) + 1;
        if (e && !names_compare(&state->entries[e - 1], &state->entries[e]))
            return hx_fail(HX_ERR_ARG, "hx_state_sync: two entries have the name \"%s\"", state->entries[e]->name);
        memcpy(to, &bytes, sizeof(bytes));
        memcpy(to + sizeof(bytes), state->entries[e]->name, length);
        to += sizeof(bytes) + length;
    }
    return HX_SUCCESS;
}

/* ---- the steps ------------------------------------------------------------------------------------------------ */

/* The lock is not held: other threads may go on meanwhile. */
static int entries_hash(struct hx_state *state, int rank, struct hx_state_hash *hashes)
{
    const double start = hx_now_s();
    const int done = hx_state_hash_entries(state, rank, hx_state_threads(&state->comm->world->process), hashes);

    state->report.hash_seconds += hx_now_s() - start;
    return done;
}

static int contents_are_equal(const struct hx_state *state)
{
    for (int rank = 1; rank < state->comm->members.size; rank++)
        if (memcmp(&state->all[rank].contents, &state->all[0].contents, sizeof(state->all[0].contents)))
            return 0;
    return 1;
}

/* Each rank learns which entries each rank holds as they are elected. */
static hx_status_t holders_find(struct hx_state *state)
{
    const size_t bytes = hx_state_mask_bytes(state);
    const int me = state->comm->members.rank;
    unsigned char *mine = calloc(bytes + 1, 1);
    hx_status_t status;

    if (!mine)
        return hx_state_no_memory(state->comm, "the list of entries that differ");
    if (me == state->rank)
        memcpy(state->elected, state->hashes, state->n * sizeof(*state->elected));
    status = hx_state_bcast(state->comm, state->elected, state->n * sizeof(*state->elected), state->rank);
    for (size_t e = 0; e < state->n; e++)
        if (memcmp(&state->hashes[e], &state->elected[e], sizeof(state->hashes[e])) == 0)
            mine[e / 8] |= (unsigned char)(1 << e % 8);
    if (status == HX_SUCCESS)
        status = hx_state_allgather(state->comm, mine, state->holds, bytes);
    free(mine);
    return status;
}

/* Compare with the other ranks, and receive what differs. *moved: entries have moved. */
static hx_status_t state_exchange(struct hx_state *state, const struct hx_state_summary *mine, int hashed, int *moved)
{
    const double start = hx_now_s();
    hx_status_t status;

    HX_ENTER();
    if (!hashed)
        return hx_state_no_memory(state->comm, "the hashes of the entries");
    if ((status = hx_state_allgather(state->comm, mine, state->all, sizeof(*mine))) != HX_SUCCESS ||
        (status = hx_state_tables_compare(state)) != HX_SUCCESS)
        return status;
    if ((status = hx_state_elect(state->all, state->comm->members.size, &state->rank)) != HX_SUCCESS)
        return hx_comm_fail(state->comm, status);
    state->report.revision = state->all[state->rank].revision;
    *moved = !contents_are_equal(state);
    if (*moved && (status = holders_find(state)) == HX_SUCCESS)
        status = hx_state_transfer(state);
    state->report.transfer_seconds = hx_now_s() - start;
    return status;
}

/* Does every rank hold the elected state now? The entries that it has received were hashed again. */
static hx_status_t result_compare(struct hx_state *state, int hashed)
{
    const size_t size = (size_t)state->comm->members.size;
    uint64_t wrong = 0, *all;
    hx_status_t status;

    HX_ENTER();
    if (!hashed || !(all = calloc(size, sizeof(*all))))
        return hx_state_no_memory(state->comm, "the hashes of the entries");
    for (size_t e = state->n; e-- > 0;)
        if (memcmp(&state->hashes[e], &state->elected[e], sizeof(state->hashes[e])))
            wrong = e + 1;
    status = hx_state_allgather(state->comm, &wrong, all, sizeof(wrong));
    for (size_t rank = 0; rank < size && status == HX_SUCCESS; rank++)
        if (all[rank])
            status = hx_comm_fail(state->comm, hx_fail(HX_ERR_MISMATCH, "hx_state_sync: entry \"%s\" that rank %zu has received is not that of "
                                                       "rank %d: a program has changed the entry during the call",
                                                       state->entries[all[rank] - 1]->name, rank, state->rank));
    free(all);
    return status;
}

static hx_status_t state_run(struct hx_state *state, uint64_t revision, hx_state_mode_t mode)
{
    struct hx_state_summary mine = {.revision = revision, .mode = (uint64_t)mode, .entries = state->n, .table_bytes = state->table_bytes};
    const int hashed = entries_hash(state, -1, state->hashes);
    hx_status_t status;
    int moved = 0;

    mine.table = hx_state_hash_bytes(state->table, state->table_bytes);
    mine.contents = hx_state_hash_bytes(state->hashes, state->n * sizeof(*state->hashes));
    if ((status = state_exchange(state, &mine, hashed, &moved)) != HX_SUCCESS || !moved)
        return status;
    return result_compare(state, entries_hash(state, state->comm->members.rank, state->hashes));
}

/* An error before the first collective. */
static hx_status_t refuse(struct hx_comm *comm, hx_status_t status)
{
    HX_ENTER();
    return status == HX_ERR_NOMEM ? hx_state_no_memory(comm, "the list of entries") : hx_comm_fail(comm, status);
}

hx_status_t hx_state_sync(hx_comm_t *comm, const hx_state_entry_t *entries, size_t n, uint64_t revision, hx_state_mode_t mode,
                          hx_state_report_t *report)
{
    struct hx_state state = {.comm = comm, .n = n};
    hx_status_t status = arguments_check(comm, entries, n, mode);

    if (status != HX_SUCCESS)
        return status;
    if ((status = state_open(&state, entries)) == HX_SUCCESS)
        status = table_write(&state);
    status = status == HX_SUCCESS ? state_run(&state, revision, mode) : refuse(comm, status);
    if (status == HX_SUCCESS && report)
        *report = state.report;
    state_close(&state);
    return status;
}
