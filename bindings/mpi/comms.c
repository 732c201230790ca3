/* SPDX-License-Identifier: BSD-3-Clause */
/* A communicator of MPI, and the one of Hierax that serves it; a second one has the graph of its topology. All are made at the same time,
 * because a non-blocking call cannot wait until all ranks are there to make one. The number of communicators of Hierax is limited. So if a rank
 * has many of them, the next ones are made in the first blocking collective. The one of Hierax stands in an attribute of the communicator of
 * MPI, which deletes the attribute when it frees the communicator. */
#include "graphs.h"
#include "hxmpi.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { EARLY_MOST = 100 }; /* communicators of hxmpi_comm_new that may live at the same time; over cxi there are 254 in all */

static hx_comm_t *world;
static atomic_int early; /* made by hxmpi_comm_new, and not freed */
static int has_threads, keyval = MPI_KEYVAL_INVALID;
static MPI_Comm quiet = MPI_COMM_NULL; /* of all ranks; no rank sends in it */

/* The communicator of this thread's last call: a look at an attribute takes as long as a small collective. */
static __thread struct {
    MPI_Comm comm;
    unsigned freed;
    const struct hxmpi_comm *of;
} last;
static atomic_uint freed; /* communicators: a new one may get the same handle */

/* ---- the end of a communicator */

/* MPI may free a communicator while it makes progress, and so in hxmpi_progress, where no call of Hierax is allowed. */
static __thread int in_progress;
static struct hxmpi_comm *later; /* to be freed outside */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void hxmpi_progress(void *ctx)
{
    int flag;

    (void)ctx;
    in_progress++;
    PMPI_Iprobe(MPI_ANY_SOURCE, 0, quiet, &flag, MPI_STATUS_IGNORE);
    in_progress--;
}

/* Free an entry that nothing uses any more. */
static void discard(struct hxmpi_comm *of)
{
    atomic_fetch_sub_explicit(&early, of->early, memory_order_relaxed);
    if (!of->comm || of->comm == world || hxmpi_state != HXMPI_ON) {
        if (of->graph) /* Hierax has ended */
            of->graph->comm = NULL;
        hxmpi_graph_free(of->graph);
        free(of);
        return;
    }
    pthread_mutex_lock(&mutex);
    of->next = later;
    later = of;
    pthread_mutex_unlock(&mutex);
}

void hxmpi_comm_hold(const struct hxmpi_comm *of)
{
    pthread_mutex_lock(&mutex);
    ((struct hxmpi_comm *)of)->users++;
    pthread_mutex_unlock(&mutex);
}

int hxmpi_comm_is_freed(const struct hxmpi_comm *of)
{
    pthread_mutex_lock(&mutex);
    const int freed_one = of->freed;
    pthread_mutex_unlock(&mutex);
    return freed_one;
}

/* user: 1: a call that used it has ended. 0: the program has freed it. Returns whether nothing uses it any more. */
static int let_go(struct hxmpi_comm *of, int user)
{
    pthread_mutex_lock(&mutex);
    of->users -= user;
    of->freed |= !user;
    const int unused = of->freed && !of->users;
    pthread_mutex_unlock(&mutex);
    return unused;
}

void hxmpi_comm_release(const struct hxmpi_comm *of)
{
    if (let_go((struct hxmpi_comm *)of, 1))
        discard((struct hxmpi_comm *)of);
}

static void later_free(void)
{
    struct hxmpi_comm *of;

    pthread_mutex_lock(&mutex);
    of = later;
    later = NULL;
    pthread_mutex_unlock(&mutex);
    while (of) {
        struct hxmpi_comm *next = of->next;
        hxmpi_graph_free(of->graph);
        hx_comm_free(of->comm);
        free(of);
        of = next;
    }
}

static int deleted(MPI_Comm comm, int key, void *value, void *extra)
{
    struct hxmpi_comm *of = value;

    (void)comm, (void)key, (void)extra;
    atomic_fetch_add_explicit(&freed, 1, memory_order_relaxed);
    if (let_go(of, 0))
        discard(of);
    if (!in_progress && hxmpi_state == HXMPI_ON)
        later_free();
    return MPI_SUCCESS;
}

/* ---- their beginning */

static void timeout_set(hx_comm_t *comm)
{
    if (!getenv("HX_TIMEOUT"))
        hx_comm_set_timeout(comm, 0); /* MPI sets no limit for a late rank */
}

hx_status_t hxmpi_comms_begin(hx_comm_t *all, int threads)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int good;

    world = all;
    has_threads = threads;
    timeout_set(world);
    good = PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deleted, &keyval, NULL) == MPI_SUCCESS && hxmpi_types_begin() == HX_SUCCESS;
    if (!hxmpi_least(good) || PMPI_Comm_idup(MPI_COMM_WORLD, &quiet, &request) != MPI_SUCCESS)
        return HX_ERR_NOMEM;
    hxmpi_wait_gently(&request);
    PMPI_Comm_set_errhandler(quiet, MPI_ERRORS_RETURN);
    return HX_SUCCESS;
}

void hxmpi_comms_end(void)
{
    later_free();
    atomic_fetch_add_explicit(&freed, 1, memory_order_relaxed);
}

/* The ranks of comm, by their numbers in the world: HX_SUCCESS. HX_ERR_ARG: one is not there, as all of them find. HX_ERR_NOMEM. */
static hx_status_t members(MPI_Comm comm, int *ranks, int size)
{
    MPI_Group all = MPI_GROUP_NULL, group = MPI_GROUP_NULL;
    int *places = malloc((size_t)size * sizeof(*places));
    hx_status_t status = HX_SUCCESS;

    for (int i = 0; i < size && places; i++)
        places[i] = i;
    if (!places || PMPI_Comm_group(MPI_COMM_WORLD, &all) != MPI_SUCCESS || PMPI_Comm_group(comm, &group) != MPI_SUCCESS ||
        PMPI_Group_translate_ranks(group, size, places, all, ranks) != MPI_SUCCESS)
        status = HX_ERR_NOMEM;
    for (int i = 0; i < size && status == HX_SUCCESS; i++)
        status = ranks[i] == MPI_UNDEFINED ? HX_ERR_ARG : HX_SUCCESS;
    if (all != MPI_GROUP_NULL)
        PMPI_Group_free(&all);
    if (group != MPI_GROUP_NULL)
        PMPI_Group_free(&group);
    free(places);
    return status;
}

static int agree(int good, MPI_Comm comm)
{
    int all = 0;

    if (DURING(PMPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, comm)) != MPI_SUCCESS)
        return 0;
    return all;
}

/* Hierax creates one group at a time on a rank, and its ranks create groups in one order. Threads come here in any order, so they
 * try until all members of a communicator have this lock at the same time. */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static void turn_take(MPI_Comm comm)
{
    unsigned seed = (unsigned)(uintptr_t)&seed;
    long pause_ns = 1000;

    for (;;) {
        const int mine = pthread_mutex_trylock(&turn) == 0;
        if (agree(mine, comm))
            return;
        if (mine)
            pthread_mutex_unlock(&turn);
        pause_ns = pause_ns < 1000000 ? 2 * pause_ns : pause_ns;
        nanosleep(&(struct timespec){.tv_nsec = pause_ns / 2 + rand_r(&seed) % pause_ns}, NULL);
    }
}

/* A new communicator of Hierax, if this rank has it. Returns it if it is good on all ranks of comm, else NULL. Collective. */
static hx_comm_t *set_up(MPI_Comm comm, hx_comm_t *made)
{
    if (agree(made != NULL, comm) && (!hxmpi_pool_is_open() || agree(hxmpi_pool_expect(made) == HX_SUCCESS, comm))) {
        timeout_set(made);
        return made;
    }
    if (made)
        hx_comm_free(made);
    return NULL;
}

static hx_comm_t *group_make(MPI_Comm comm, const int *ranks, int size)
{
    hx_comm_t *made = NULL;

    return set_up(comm, hx_comm_group(world, ranks, size, &made) == HX_SUCCESS ? made : NULL);
}

hx_comm_t *hxmpi_comm_copy(MPI_Comm comm, const struct hxmpi_comm *of, const struct hxmpi_graph *graph, int ready)
{
    hx_comm_t *made = NULL;

    if (!agree(ready, comm))
        return NULL;
    if (has_threads)
        turn_take(comm);
    const hx_status_t status = graph ? hx_comm_graph(of->comm, graph->n[0], graph->ranks[0], graph->n[1], graph->ranks[1], &made)
                                     : hx_comm_dup(of->comm, &made);
    made = set_up(comm, status == HX_SUCCESS ? made : NULL);
    if (has_threads)
        pthread_mutex_unlock(&turn);
    return made;
}

/* may: this rank can take one more. */
static void comm_make(MPI_Comm comm, struct hxmpi_comm *of, int may)
{
    int *ranks = malloc((size_t)of->size * sizeof(*ranks));
    const hx_status_t found = ranks ? members(comm, ranks, of->size) : HX_ERR_NOMEM;

    of->cause = found == HX_ERR_ARG ? HXMPI_CAUSE_FOREIGN : HXMPI_CAUSE_MEMBERS;
    if (found != HX_ERR_ARG && agree(found == HX_SUCCESS && may, comm)) { /* all members are here now: the next call does not wait long */
        if (has_threads)
            turn_take(comm);
        of->comm = group_make(comm, ranks, of->size);
        if (has_threads)
            pthread_mutex_unlock(&turn);
    }
    free(ranks);
}

/* When a communicator of Hierax is made: never, since the call cannot wait; if this rank has few of them; in any case. */
enum wish { CANNOT, MAY, MUST };

static struct hxmpi_comm *make(MPI_Comm comm, enum wish wish)
{
    static struct hxmpi_comm not_yet = {.cause = HXMPI_CAUSE_FIRST};
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
    else if (comm == MPI_COMM_WORLD)
        of->comm = world;
    else if (wish == CANNOT)
        of->cause = HXMPI_CAUSE_FIRST;
    else
        comm_make(comm, of, wish == MUST || atomic_load_explicit(&early, memory_order_relaxed) < EARLY_MOST);
    if (wish == MAY && !of->comm && of->cause == HXMPI_CAUSE_MEMBERS)
        of->cause = HXMPI_CAUSE_FIRST;
    if (of->cause == HXMPI_CAUSE_FIRST) {
        free(of);
        return &not_yet;
    }
    PMPI_Comm_set_attr(comm, keyval, of);
    return of;
}

const struct hxmpi_graph *hxmpi_graph_of(MPI_Comm comm, const struct hxmpi_comm *entry, int blocks, int *cause)
{
    struct hxmpi_comm *of = (struct hxmpi_comm *)entry;
    int topology = MPI_UNDEFINED;

    if (of->looked || PMPI_Topo_test(comm, &topology) != MPI_SUCCESS || topology == MPI_UNDEFINED) {
        *cause = of->looked ? HXMPI_CAUSE_MEMBERS : HXMPI_CAUSE_ARGUMENT;
        return of->graph;
    }
    *cause = blocks ? HXMPI_CAUSE_MEMBERS : HXMPI_CAUSE_FIRST;
    if (!blocks)
        return NULL;
    struct hxmpi_graph *graph = hxmpi_graph_read(comm);
    hx_comm_t *made = hxmpi_comm_copy(comm, of, graph, graph != NULL);
    if (made)
        graph->comm = made;
    else
        hxmpi_graph_free(graph);
    of->graph = made ? graph : NULL;
    of->looked = 1;
    return of->graph;
}

void hxmpi_comm_new(MPI_Comm comm)
{
    if (hxmpi_state != HXMPI_ON || comm == MPI_COMM_NULL)
        return;
    later_free();
    struct hxmpi_comm *of = make(comm, MAY);
    if (of && of->comm) {
        int cause;
        of->early = 1 + (hxmpi_graph_of(comm, of, 1, &cause) != NULL);
        of->looked = of->early == 2; /* else the first blocking call tries again */
        atomic_fetch_add_explicit(&early, of->early, memory_order_relaxed);
    }
}

const struct hxmpi_comm *hxmpi_comm_of(MPI_Comm comm, int blocks)
{
    const unsigned now = atomic_load_explicit(&freed, memory_order_relaxed);
    struct hxmpi_comm *of = NULL;
    int found = 0;

    if (last.comm == comm && last.freed == now && last.of)
        return last.of;
    if (hxmpi_state != HXMPI_ON || comm == MPI_COMM_NULL)
        return NULL;
    later_free();
    if (PMPI_Comm_get_attr(comm, keyval, &of, &found) != MPI_SUCCESS)
        return NULL; /* no communicator: MPI says so */
    if (!found && (!(of = make(comm, blocks ? MUST : CANNOT)) || of->cause == HXMPI_CAUSE_FIRST))
        return of;
    last.comm = comm;
    last.freed = now;
    last.of = of;
    return of;
}

int hxmpi_error(MPI_Comm comm, const char *text)
{
    static int class_of_hierax = MPI_ERR_OTHER;
    int code = MPI_ERR_OTHER;

    if (class_of_hierax == MPI_ERR_OTHER)
        PMPI_Add_error_class(&class_of_hierax);
    PMPI_Add_error_code(class_of_hierax, &code);
    PMPI_Add_error_string(code, text);
    PMPI_Comm_call_errhandler(comm, code);
    return code;
}

int hxmpi_result(MPI_Comm comm, hx_status_t status, const struct hxmpi_comm *of)
{
    if (status == HX_SUCCESS)
        return MPI_SUCCESS;
    char text[MPI_MAX_ERROR_STRING];
    snprintf(text, sizeof(text), "Hierax: %s: %s", hx_strerror(status), hx_error_detail(of->comm));
    hxmpi_say("rank %d of %d: %s: %s", of->rank, of->size, hx_strerror(status), hx_error_detail(of->comm));
    return hxmpi_error(comm, text);
}
