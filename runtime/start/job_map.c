/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each rank tells where it runs; rank 0 puts ranks of a node that are alike into one row:
 *
 *   ranks  node  host  cores           NUMA  peers
 *   0-3    0     n17   0-3 (one each)  0     0-3: shm+CMA; others: efa on rdmap16s27
 *
 * Rank 0's HX_LOG decides for all whether there is a map: it is one of the facts of the job (job_facts.c).
 */
#include "runtime/start/job_map.h"
#include "runtime/base/log.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_LOGGED 32

struct seat { /* that a rank tells */
    int32_t node, numa;
    int32_t core; /* the only processing unit that it may use, or -1: cores has them */
    char host[64], cores[64], network[64];
};

/* Append "first" or "first-last". Returns the length. */
static int range_add(char *text, int n, int capacity, int first, int last)
{
    const int room = capacity - n;
    const int added = snprintf(text + n, (size_t)room, last > first ? "%s%d-%d" : "%s%d", n ? "," : "", first, last);

    if (added < room - 4) /* so that there is room for this */
        return n + added;
    snprintf(text + n, (size_t)room, ",...");
    return capacity;
}

/* Ascending numbers as "0-3,8". */
static void list_format(const int *numbers, int n, char *text, int capacity)
{
    int used = 0;

    text[0] = '\0';
    for (int i = 0, last; i < n && used < capacity; i = last + 1) {
        for (last = i; last + 1 < n && numbers[last + 1] == numbers[last] + 1; last++)
            ;
        used = range_add(text, used, capacity, numbers[i], numbers[last]);
    }
}

static int ints_compare(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;

    return (x > y) - (x < y);
}

static void cores_find(struct seat *seat, const struct hx_place *place)
{
    int cores[64 * HX_PLACE_MASK_WORDS], n = 0;

    for (int i = 0; i < 64 * HX_PLACE_MASK_WORDS; i++)
        if (place->bound_mask[i / 64] >> i % 64 & 1)
            cores[n++] = i;
    seat->core = n == 1 ? cores[0] : -1;
    if (n != 1)
        list_format(cores, n, seat->cores, sizeof(seat->cores));
}

/* "net 117.0 on eth0" of "libfabric 1.17 provider net 117.0 on eth0: chunks ...". */
static void network_find(struct seat *seat, const struct hx_world *world)
{
    const char *text = world->process.net ? hx_registry.net->describe(world->process.net) : "-";
    const char *provider = strstr(text, "provider ");

    text = provider ? provider + strlen("provider ") : text;
    snprintf(seat->network, sizeof(seat->network), "%.*s", (int)strcspn(text, ":"), text);
}

static void seat_find(struct seat *seat, const struct hx_world *world)
{
    char error[HX_TOPO_ERROR_BYTES];
    struct hx_topo *topo;
    struct hx_place place = {.numa = -1};

    if (hx_topo_open(NULL, NULL, 0, &topo, error) == 0) {
        hx_topo_place(topo, &place);
        hx_topo_close(topo);
    }
    seat->node = world->comms->members.shape->node_of[world->process.rank];
    seat->numa = place.numa;
    snprintf(seat->host, sizeof(seat->host), "%.63s", place.hostname);
    cores_find(seat, &place);
    network_find(seat, world);
}

static int are_alike(const struct seat *a, const struct seat *b)
{
    return a->node == b->node && a->numa == b->numa && (a->core < 0) == (b->core < 0) && !strcmp(a->host, b->host) &&
           !strcmp(a->cores, b->cores) && !strcmp(a->network, b->network);
}

/* Put the ranks that are like `first` into row, and mark them. list has room for all ranks. */
static void row_fill(struct hx_map_row *row, struct seat *seats, int first, const struct hx_world *world, int *list)
{
    const struct hx_shape *shape = world->comms->members.shape;
    const int size = world->process.size, node = seats[first].node, here = hx_shape_node_size(shape, node);
    const struct seat seat = seats[first];
    char local[48] = "";
    int n = 0, ncores = 0;

    for (int rank = first; rank < size; rank++)
        if (are_alike(&seats[rank], &seat))
            list[n++] = rank;
    *row = (struct hx_map_row){.node = node, .numa = seat.numa, .host = seats[first].host};
    list_format(list, n, row->ranks, sizeof(row->ranks));
    for (int i = 0; i < n; i++) {
        const int rank = list[i];
        list[i] = seats[rank].core;
        seats[rank].node = -1;
    }
    qsort(list, (size_t)n, sizeof(*list), ints_compare);
    for (int i = 0; i < n; i++)
        if (i == 0 || list[i] != list[ncores - 1])
            list[ncores++] = list[i];
    if (seat.core < 0)
        snprintf(row->cores, sizeof(row->cores), "%s", seat.cores);
    else
        list_format(list, ncores, row->cores, sizeof(row->cores) - (int)sizeof(" (one each)"));
    if (seat.core >= 0 && n > 1)
        strcat(row->cores, ncores < n ? " (shared)" : " (one each)");
    for (int i = 0; i < here; i++)
        list[i] = hx_shape_member(shape, node, i);
    list_format(list, here, local, sizeof(local));
    n = snprintf(row->peers, sizeof(row->peers), "%s%s%s", here > 1 ? local : "",
                 here < 2 ? "" : world->process.job.single_copy ? ": shm+CMA" : ": shm", here > 1 && here < size ? "; " : "");
    if (here < size)
        snprintf(row->peers + n, sizeof(row->peers) - (size_t)n, "%s: %s", here > 1 ? "others" : "all", seat.network);
    else if (here < 2)
        snprintf(row->peers, sizeof(row->peers), "-");
}

hx_status_t hx_job_map(struct hx_world *world, void (*take)(const struct hx_map_row *row, void *arg), void *arg)
{
    const int is_root = world->process.rank == 0, size = world->process.size;
    struct seat mine = {.host = ""}, *seats = is_root ? calloc((size_t)size, sizeof(*seats)) : NULL;
    int *list = is_root ? calloc((size_t)size, sizeof(*list)) : NULL;
    hx_status_t status;

    seat_find(&mine, world);
    if (is_root && (!seats || !list))
        status = hx_fail(HX_ERR_NOMEM, "no memory for the map of %d ranks", size);
    else
        status = hx_gather(&mine, seats, sizeof(mine), HX_BYTE, 0, world->comms);
    for (int rank = 0; is_root && status == HX_SUCCESS && rank < size; rank++) {
        struct hx_map_row row;
        if (seats[rank].node < 0) /* in an earlier row */
            continue;
        row_fill(&row, seats, rank, world, list);
        take(&row, arg);
    }
    free(seats);
    free(list);
    return status;
}

static void row_log(const struct hx_map_row *row, void *rows)
{
    char numa[16];

    if (++*(int *)rows > ROWS_LOGGED)
        return;
    snprintf(numa, sizeof(numa), row->numa < 0 ? "several" : "%d", row->numa);
    hx_info("map: ranks %s on node %d (%s), cores %s, NUMA %s; path to %s", row->ranks, row->node, row->host, row->cores, numa,
            row->peers);
}

hx_status_t hx_job_map_log(struct hx_world *world)
{
    hx_status_t status = HX_SUCCESS;
    int rows = 0;

    if (world->process.job.map)
        status = hx_job_map(world, row_log, &rows);
    if (rows > ROWS_LOGGED)
        hx_info("map: %d more rows are left out; coll_info, started like this job, shows all", rows - ROWS_LOGGED);
    return status;
}
