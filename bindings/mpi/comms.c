/* SPDX-License-Identifier: BSD-3-Clause */
/* A communicator of MPI, and the one of Hierax that serves it. It is made at the first call, so a duplicate that is only freed costs
 * nothing. It stands in an attribute of the communicator of MPI, which deletes the attribute when it frees the communicator. */
#include "hxmpi.h"
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static hx_comm_t *world;
static int keyval = MPI_KEYVAL_INVALID;

/* The communicator of this thread's last call: a look at an attribute takes as long as a small collective. */
static __thread struct {
    MPI_Comm comm;
    unsigned freed;
    const struct hxmpi_comm *of;
} last;
static atomic_uint freed; /* communicators: a new one may get the same handle */

static int deleted(MPI_Comm comm, int key, void *value, void *extra)
{
    struct hxmpi_comm *of = value;

    (void)comm, (void)key, (void)extra;
    atomic_fetch_add_explicit(&freed, 1, memory_order_relaxed);
    if (of->comm && of->comm != world && hxmpi_state == HXMPI_ON)
        hx_comm_free(of->comm);
    free(of);
    return MPI_SUCCESS;
}

hx_status_t hxmpi_comms_begin(hx_comm_t *all)
{
    world = all;
    if (!getenv("HX_TIMEOUT"))
        hx_comm_set_timeout(world, 0); /* ranks of MPI may come as late as they like */
    return PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deleted, &keyval, NULL) == MPI_SUCCESS ? HX_SUCCESS : HX_ERR_NOMEM;
}

void hxmpi_comms_end(void)
{
    atomic_fetch_add_explicit(&freed, 1, memory_order_relaxed);
}

/* The ranks of comm, by their numbers in the world. Returns 0 if one is not there: a communicator of spawned processes. */
static int members(MPI_Comm comm, int *ranks, int size)
{
    MPI_Group all = MPI_GROUP_NULL, group = MPI_GROUP_NULL;
    int *places = malloc((size_t)size * sizeof(*places)), good = places != NULL;

    for (int i = 0; i < size && good; i++)
        places[i] = i;
    good = good && PMPI_Comm_group(MPI_COMM_WORLD, &all) == MPI_SUCCESS && PMPI_Comm_group(comm, &group) == MPI_SUCCESS &&
           PMPI_Group_translate_ranks(group, size, places, all, ranks) == MPI_SUCCESS;
    for (int i = 0; i < size && good; i++)
        good = ranks[i] != MPI_UNDEFINED;
    if (all != MPI_GROUP_NULL)
        PMPI_Group_free(&all);
    if (group != MPI_GROUP_NULL)
        PMPI_Group_free(&group);
    free(places);
    return good;
}

static hx_comm_t *group_make(MPI_Comm comm, int size)
{
    int *ranks = malloc((size_t)size * sizeof(*ranks)), good = ranks && members(comm, ranks, size), all = 0;
    hx_comm_t *made = NULL;

    PMPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, comm); /* and nobody waits long for a late one in the next call */
    if (all) {
        good = hx_comm_group(world, ranks, size, &made) == HX_SUCCESS;
        PMPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, comm);
    }
    if (made && !all) {
        hx_comm_free(made);
        made = NULL;
    }
    if (made && !getenv("HX_TIMEOUT"))
        hx_comm_set_timeout(made, 0);
    free(ranks);
    return made;
}

static struct hxmpi_comm *make(MPI_Comm comm)
{
    struct hxmpi_comm *of = calloc(1, sizeof(*of));
    int between = 0;

    if (!of)
        return NULL;
    PMPI_Comm_test_inter(comm, &between);
    PMPI_Comm_rank(comm, &of->rank);
    PMPI_Comm_size(comm, &of->size);
    if (between)
        of->cause = HXMPI_CAUSE_INTER;
    else if (of->size == 1)
        of->cause = HXMPI_CAUSE_ALONE;
    else if (!(of->comm = comm == MPI_COMM_WORLD ? world : group_make(comm, of->size)))
        of->cause = HXMPI_CAUSE_MEMBERS;
    PMPI_Comm_set_attr(comm, keyval, of);
    return of;
}

const struct hxmpi_comm *hxmpi_comm_of(MPI_Comm comm)
{
    const unsigned now = atomic_load_explicit(&freed, memory_order_relaxed);
    struct hxmpi_comm *of = NULL;
    int found = 0;

    if (last.comm == comm && last.freed == now && last.of)
        return last.of;
    if (hxmpi_state != HXMPI_ON || comm == MPI_COMM_NULL)
        return NULL;
    if (PMPI_Comm_get_attr(comm, keyval, &of, &found) != MPI_SUCCESS)
        return NULL; /* no communicator: MPI says so */
    if (!found)
        of = make(comm);
    last.comm = comm;
    last.freed = now;
    last.of = of;
    return of;
}

int hxmpi_result(MPI_Comm comm, hx_status_t status, const struct hxmpi_comm *of)
{
    static int class_of_hierax = MPI_ERR_OTHER;
    int code = MPI_ERR_OTHER;

    if (status == HX_SUCCESS)
        return MPI_SUCCESS;
    if (class_of_hierax == MPI_ERR_OTHER)
        PMPI_Add_error_class(&class_of_hierax);
    PMPI_Add_error_code(class_of_hierax, &code);
    char text[MPI_MAX_ERROR_STRING];
    snprintf(text, sizeof(text), "Hierax: %s: %s", hx_strerror(status), hx_error_detail(of->comm));
    PMPI_Add_error_string(code, text);
    hxmpi_say("rank %d of %d: %s: %s", of->rank, of->size, hx_strerror(status), hx_error_detail(of->comm));
    PMPI_Comm_call_errhandler(comm, code);
    return code;
}
