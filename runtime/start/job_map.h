/* SPDX-License-Identifier: BSD-3-Clause */
/* The map of a job, for HX_LOG=info and coll_info: each rank's cores, and its path to its peers. */
#pragma once

#include "runtime/api/comm.h"

/* Ranks that are alike. Texts end with "..." where they are cut. */
struct hx_map_row {
    int node;             /* as the job numbers them */
    int numa;             /* of the machine; -1: the ranks may run on several */
    const char *host;
    char ranks[64];       /* "0-3,8" */
    char cores[64];       /* processing units: "0-3 (one each)", "0-1 (shared)", or "0-3" that each may use */
    char peers[128];      /* the path to each: "0-3: shm+CMA; others: net 117.0 on eth0" */
};

/* Gather the map. Every rank of the world communicator calls it; on rank 0 take is called for each row, in order of the lowest ranks.
 * Errors: HX_ERR_NOMEM, and those of hx_gather. */
hx_status_t hx_job_map(struct hx_world *world, void (*take)(const struct hx_map_row *row, void *arg), void *arg);

/* Rank 0 logs the map if its HX_LOG is info or debug. Collective. */
hx_status_t hx_job_map_log(struct hx_world *world);
