/* SPDX-License-Identifier: BSD-3-Clause */
/* Hierax starts in MPI_Init, over MPI's own calls. It ends in MPI_Finalize, which first deletes the attributes of MPI_COMM_SELF. */
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

/* Why Hierax does not start, in a line for the user; "": the user knows; NULL: it starts. */
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

/* Between nodes, a message may need its sender's progress after the sender's call has returned, while the sender waits in MPI. MPI's waits
 * do not drive Hierax yet. */
static int is_on_one_node(int size)
{
    MPI_Comm node;
    int here = 0;

    if (PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node) == MPI_SUCCESS) {
        PMPI_Comm_size(node, &here);
        PMPI_Comm_free(&node);
    }
    return here == size && !getenv("HX_NODES");
}

static int all_agree(int good)
{
    int all = 0;

    PMPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all;
}

/* MPI_COMM_SELF is being freed: MPI_Finalize has been called, from any language. MPI still runs. */
static int ended(MPI_Comm comm, int key, void *value, void *extra)
{
    int rank;

    (void)comm, (void)key, (void)value, (void)extra;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    hxmpi_stats_print(rank);
    if (hxmpi_state != HXMPI_ON)
        return MPI_SUCCESS;
    hxmpi_comms_end();
    hxmpi_state = HXMPI_OFF;
    if (hx_finalize() != HX_SUCCESS) /* it waits for the others, and so lets MPI deliver its last messages */
        hxmpi_say("rank %d: %s", rank, hx_error_detail(NULL));
    hx_on_idle(NULL, NULL);
    return MPI_SUCCESS;
}

static hx_status_t world_start(int rank, int size, int threads, hx_comm_t **world)
{
    struct hxmpi_exchange exchange;
    hx_status_t status = HX_ERR_NOMEM;
    int key = MPI_KEYVAL_INVALID;

    if (all_agree(hxmpi_exchange_open(&exchange, rank, size))) {
        const hx_bootstrap_t bootstrap = hxmpi_exchange_callbacks(&exchange);
        const hx_config_t config = {.bootstrap = &bootstrap};
        status = hx_init_with(&config, world);
    }
    hxmpi_exchange_close(&exchange);
    if (!all_agree(status == HX_SUCCESS))
        return status == HX_SUCCESS ? HX_ERR_PEER_DEAD : status;
    status = hxmpi_comms_begin(*world, threads);
    if (status == HX_SUCCESS && (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, ended, &key, NULL) != MPI_SUCCESS ||
                                 PMPI_Comm_set_attr(MPI_COMM_SELF, key, NULL) != MPI_SUCCESS))
        status = HX_ERR_NOMEM;
    return all_agree(status == HX_SUCCESS) || status != HX_SUCCESS ? status : HX_ERR_PEER_DEAD;
}

static void start(int threads)
{
    const char *why = unwanted(), *wish = getenv("HXMPI");
    hx_comm_t *world = NULL;
    hx_status_t status;
    int rank, size, one_node;

    hxmpi_state = HXMPI_OFF;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    if (why && *why && rank == 0)
        hxmpi_say("%s", why);
    if (size == 1)
        return;
    one_node = is_on_one_node(size); /* collective, so each rank makes it */
    if (!all_agree(!why) || !all_agree(one_node || (wish && !strcmp(wish, "on"))))
        return;
    if ((status = world_start(rank, size, threads, &world)) == HX_SUCCESS) {
        hx_on_idle(hxmpi_progress, NULL);
        hxmpi_state = HXMPI_ON;
        return;
    }
    if (status != HX_ERR_PEER_DEAD) /* the others say why */
        hxmpi_say("rank %d: Hierax cannot start, so MPI makes the collectives: %s: %s", rank, hx_strerror(status), hx_error_detail(NULL));
    if (world)
        hx_finalize();
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
