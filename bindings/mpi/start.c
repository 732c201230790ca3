/* SPDX-License-Identifier: BSD-3-Clause */
/* Hierax starts in MPI_Init, over MPI's own calls. It ends in MPI_Finalize, which first deletes the attributes of MPI_COMM_SELF. */
#include "hxmpi.h"
#include "exchange.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum hxmpi_state hxmpi_state;

void hxmpi_say(const char *format, ...)
{
    char line[600];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    fprintf(stderr, "hierax-mpi: %s\n", line); /* as one write */
}

/* The arguments of MPI's functions have other types in other MPIs, so a program of another MPI cannot even pass calls through this library.
 * This runs before main. */
__attribute__((constructor)) static void abi_check(void)
{
    static const char *const names[] = {"PMIX_RANK", "PMI_RANK"}; /* of launchers, to print the line once */
    char version[8192] = ""; /* the most of any MPI */
    const char *rank = NULL;
    int length = 0;

    PMPI_Get_library_version(version, &length);
    if (strncmp(version, HXMPI_ABI, strlen(HXMPI_ABI)) == 0)
        return;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !rank; i++)
        rank = getenv(names[i]);
    if (!rank || !strcmp(rank, "0"))
        hxmpi_say("LD_PRELOAD names the library for " HXMPI_ABI ", but the program runs on %.*s. The program stops",
                  (int)strcspn(version, "\n\t,"), version);
    sleep(1); /* Open MPI's launcher drops what a process has written last, if another one fails at that moment */
    _exit(1);
}

/* Is Hierax wanted? *why: a line for the user, or NULL. */
static int is_wanted(const char **why)
{
    static char text[200];
    const char *wish = getenv("HXMPI");

    *why = NULL;
    if (!wish || !*wish || !strcmp(wish, "on") || !strcmp(wish, "off"))
        return !wish || strcmp(wish, "off") != 0;
    snprintf(text, sizeof(text), "HXMPI=%.60s is unknown; choices: on off. Hierax does not run", wish);
    *why = text;
    return 0;
}

int hxmpi_least(int mine)
{
    int all = 0;
    MPI_Request request = MPI_REQUEST_NULL;

    if (PMPI_Iallreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD, &request) == MPI_SUCCESS)
        hxmpi_wait_gently(&request);
    return all;
}

/* MPI_COMM_SELF is being freed: MPI_Finalize has been called, from any language. MPI still runs. */
static int ended(MPI_Comm comm, int key, void *value, void *extra)
{
    int rank;

    (void)comm, (void)key, (void)value, (void)extra;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    hxmpi_stats_print(rank);
    if (hxmpi_stats_wanted)
        hxmpi_pool_print(rank);
    if (hxmpi_state != HXMPI_ON)
        return MPI_SUCCESS;
    hxmpi_started_end();
    hxmpi_prepared_end();
    hxmpi_comms_end();
    hxmpi_pool_close();
    hxmpi_state = HXMPI_OFF;
    hxmpi_always = 0;
    hxmpi_during_finish();
    if (hx_finalize() != HX_SUCCESS) /* it waits for the others, and so lets MPI deliver its last messages */
        hxmpi_say("rank %d: %s", rank, hx_error_detail(NULL));
    hx_on_idle(NULL, NULL);
    return MPI_SUCCESS;
}

static hx_status_t world_start(int rank, int size, int threads, hx_comm_t **world)
{
    struct hxmpi_exchange exchange;
    hx_status_t status = HX_ERR_NOMEM;

    if (hxmpi_least(hxmpi_exchange_open(&exchange, rank, size))) {
        const hx_bootstrap_t bootstrap = hxmpi_exchange_callbacks(&exchange);
        const hx_config_t config = {.bootstrap = &bootstrap};
        status = hx_init_with(&config, world);
        hxmpi_exchange_leave(&exchange);
    }
    hxmpi_exchange_close(&exchange);
    if (hxmpi_least(status == HX_SUCCESS))
        status = hxmpi_comms_begin(*world, threads);
    return status;
}

/* Returns 0 if Hierax stays off. One rank says why. pool: bytes of a pool, which all ranks want; or 0. */
static int serve(int rank, int size, int threads, int64_t pool)
{
    hx_comm_t *world = NULL;
    const hx_status_t status = world_start(rank, size, threads, &world);
    const int failed = hxmpi_least(status == HX_SUCCESS ? size : rank);

    if (failed == size) {
        hx_on_idle(hxmpi_progress, NULL);
        if (pool)
            hxmpi_pool_open(world, rank, pool);
        return 1;
    }
    if (failed == rank)
        hxmpi_say("rank %d: Hierax cannot start, so MPI makes the collectives: %s: %s", rank, hx_strerror(status), hx_error_detail(NULL));
    if (world)
        hx_finalize();
    return 0;
}

static void start(int threads)
{
    int rank, size, wanted, key = MPI_KEYVAL_INVALID;
    int64_t pool;
    const char *why;

    hxmpi_state = HXMPI_OFF;
    hxmpi_stats_begin();
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size > 1)
        hxmpi_everyone_await(rank, size);
    wanted = is_wanted(&why);
    if (why && rank == 0)
        hxmpi_say("%s", why);
    if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, ended, &key, NULL) != MPI_SUCCESS ||
        PMPI_Comm_set_attr(MPI_COMM_SELF, key, NULL) != MPI_SUCCESS)
        wanted = 0;
    pool = wanted && size > 1 ? hxmpi_pool_wish(rank) : 0;
    if (size > 1 && (wanted = hxmpi_least(wanted + (pool > 0))) > 0 && serve(rank, size, threads, wanted > 1 ? pool : 0)) {
        if (pool && wanted == 1 && rank == 0)
            hxmpi_say("HXMPI_ALLOC: there is no pool, because a rank has no size for it, or a wrong one");
        hxmpi_always = threads || hx_progress(); /* 1: Hierax has a network */
        hxmpi_state = HXMPI_ON;
    }
}

int MPI_Init(int *argc, char ***argv)
{
    const int rc = PMPI_Init(argc, argv);

    if (rc == MPI_SUCCESS)
        start(0);
    return rc;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    const int rc = PMPI_Init_thread(argc, argv, required, provided);

    if (rc == MPI_SUCCESS)
        start(*provided == MPI_THREAD_MULTIPLE);
    return rc;
}
