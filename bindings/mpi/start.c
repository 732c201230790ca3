/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Init and MPI_Finalize: Hierax starts after MPI, over MPI's own calls, and ends before it. */
#include "hxmpi.h"
#include "exchange.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Hierax cannot serve here; nobody has started it. */
static const char *unwanted(void)
{
    static char text[400];
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    const char *wish = getenv("HXMPI");
    int length = 0;

    PMPI_Get_library_version(version, &length);
    if (strncmp(version, HXMPI_ABI, strlen(HXMPI_ABI)) != 0) {
        snprintf(text, sizeof(text), "this library is for " HXMPI_ABI ", but the program runs on %.60s: it is not used", version);
        return text;
    }
    if (wish && !strcmp(wish, "off"))
        return "";
    if (wish && *wish && strcmp(wish, "on") != 0) {
        snprintf(text, sizeof(text), "HXMPI=%.60s is unknown; choices: on off. Taken as off", wish);
        return text;
    }
    return NULL;
}

/* Ranks of several nodes: what one sends may need its own progress, also while it waits in a call of MPI. */
static int several_nodes(int size)
{
    MPI_Comm node;
    int here = size;

    if (getenv("HX_NODES"))
        return 1;
    if (PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node) == MPI_SUCCESS) {
        PMPI_Comm_size(node, &here);
        PMPI_Comm_free(&node);
    }
    return here < size;
}

/* While a call of Hierax waits, the messages of MPI go on. */
static void mpi_progress(void *ctx)
{
    int flag;

    (void)ctx;
    PMPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

static void start(void)
{
    const char *settings[2] = {NULL, NULL}, *why = unwanted();
    struct hxmpi_exchange exchange = {.rank = 0};
    hx_status_t status = HX_ERR_NOMEM;
    hx_comm_t *world = NULL;
    int rank, size, good, all = 0;

    hxmpi_state = HXMPI_OFF;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    if (why && *why && rank == 0)
        hxmpi_say("%s", why);
    if (why || size == 1)
        return;
    if (several_nodes(size) && !getenv("HX_PROGRESS_THREAD"))
        settings[0] = "HX_PROGRESS_THREAD=1";
    if (hxmpi_exchange_open(&exchange, rank, size)) {
        const hx_bootstrap_t bootstrap = hxmpi_exchange_callbacks(&exchange);
        const hx_config_t config = {.bootstrap = &bootstrap, .settings = settings};
        status = hx_init_with(&config, &world);
        if (status == HX_SUCCESS)
            status = hxmpi_comms_begin(world);
    }
    hxmpi_exchange_close(&exchange);
    good = status == HX_SUCCESS;
    PMPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (all) {
        hx_on_idle(mpi_progress, NULL);
        hxmpi_state = HXMPI_ON;
        return;
    }
    if (!good)
        hxmpi_say("rank %d: Hierax cannot start, so MPI makes the collectives: %s: %s", rank, hx_strerror(status),
                  hx_error_detail(NULL));
    if (world)
        hx_finalize();
}

int MPI_Init(int *argc, char ***argv)
{
    const int rc = PMPI_Init(argc, argv);

    if (rc == MPI_SUCCESS)
        start();
    return rc;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    const int rc = PMPI_Init_thread(argc, argv, required, provided);

    if (rc == MPI_SUCCESS)
        start();
    return rc;
}

int MPI_Finalize(void)
{
    int rank;

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    hxmpi_stats_print(rank);
    if (hxmpi_state == HXMPI_ON) {
        hxmpi_state = HXMPI_OFF;
        hxmpi_comms_end();
        hx_on_idle(NULL, NULL);
        if (hx_finalize() != HX_SUCCESS)
            hxmpi_say("rank %d: %s", rank, hx_error_detail(NULL));
    }
    return PMPI_Finalize();
}
