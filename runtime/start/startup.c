/* SPDX-License-Identifier: BSD-3-Clause */
/* Start-up of a process, through the three fences that exchange.c describes, up to the communicator of all ranks. */
#include "runtime/start/startup.h"
#include "runtime/api/failed.h"
#include "runtime/api/lock.h"
#include "runtime/engine/fetch.h"
#include "runtime/base/log.h"
#include "runtime/base/size.h"
#include "runtime/api/number.h"
#include "runtime/base/streams.h"
#include "runtime/engine/liveness.h"
#include "runtime/engine/p2p.h"
#include "runtime/engine/shm_write.h"
#include "runtime/engine/whereabouts.h"
#include "runtime/engine/shared_alloc.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define TELL_NS 200000000 /* time in which rank 0 can write a line */

/* Ranks that open endpoints at start connect to each other now. The others connect at first need. */
static hx_status_t peers_connect(struct hx_world *world)
{
    const struct hx_job_entry *table = world->process.shared->table, *mine = &table[world->process.rank];
    const struct hx_net_directory directory = hx_directory_of(world);
    hx_status_t status = hx_registry.net->look_up(world->process.net, &directory);

    for (int rank = 0; mine->opened_first && status == HX_SUCCESS && rank < world->process.size; rank++)
        if (table[rank].node != mine->node && table[rank].opened_first)
            status = hx_registry.net->connect(world->process.net, rank, table[rank].address, table[rank].address_bytes);
    return status;
}

static hx_status_t place_find(const struct hx_env *env, struct hx_place *place)
{
    char error[HX_TOPO_ERROR_BYTES];
    struct hx_topo *topo;
    hx_status_t status;
    char *lent;
    int failed;

    *place = (struct hx_place){0};
    /* setenv moves what other threads read; a plugin reads the user's own description of the machine */
    lent = HX_SINGLE_THREADED && !hx_env_launcher("HWLOC_XMLFILE") ? hx_env_lend(HX_HWLOC_WITHOUT, HX_HWLOC_UNNEEDED) : NULL;
    failed = hx_topo_open(NULL, NULL, 0, &topo, error) < 0;
    hx_env_take_back(lent);
    if (failed)
        return hx_fail(HX_ERR_NOMEM, "%s", error);
    hx_topo_place(topo, place);
    status = hx_progress_core_check(env, topo);
    hx_topo_close(topo);
    return status;
}

/* One warning for the whole job. */
static void refusals_log(const struct hx_world *world)
{
    const struct hx_job_entry *rank0 = &world->process.shared->table[0];
    struct hx_net_profile used;

    hx_registry.net->profile(world->process.net, rank0->address, rank0->address_bytes, &used);
    hx_warn("libfabric cannot open %s: all ranks use %s. To end the job instead, set HX_PROVIDER to the provider that it needs",
            world->process.shared->header->refused.text, used.provider);
}

static void world_log(const struct hx_world *world, const struct hx_comm *comm, double per_cpu)
{
    const struct hx_shared *shared = world->process.shared;
    char shape[256], slots[HX_SIZE_BYTES], piece[HX_SIZE_BYTES];

    const struct hx_constants *constants = &world->process.job.constants;
    hx_debug("constants of the node: %s, hash %016llx", hx_constants_source_names[constants->source], (unsigned long long)constants->hash);
    if (world->process.rank != 0)
        return;
    hx_shape_format(comm->members.shape, shape, sizeof(shape));
    hx_info("%d ranks on %d nodes (%s, levels inside them: %d), bootstrap %s, %.2f ranks per usable core, kernels %s", world->process.size,
            comm->members.shape->nnodes, shape, comm->members.shape->nlevels, hx_boot_name(world->boot), per_cpu, hx_reduce_isa());
    hx_info("shared segment of %d ranks: %.1f MiB for each context; per rank 2 banks of slots, %s each; rings of %d x %s", shared->n,
            (double)shared->context_bytes / 1048576, hx_size_format(shared->bank_bytes, slots), HX_RING_ENTRIES,
            hx_size_format(shared->ring_chunk_bytes, piece));
    if (world->process.net)
        hx_info("network: %s", hx_registry.net->describe(world->process.net));
    if (shared->header->refused.providers)
        refusals_log(world);
}

/* In this node, counted from 0; -1: there is no such level. */
static int emulated_domain(const struct hx_shape *shape, int level, int rank)
{
    int lowest = hx_shape_member(shape, shape->node_of[rank], 0);
    return level < shape->nlevels ? hx_shape_domain(shape, level, rank) - hx_shape_domain(shape, level, lowest) : -1;
}

/* Which of the nodes that HX_NODES emulates this rank is on; 0 without. If it tells domains, the rank's place is there too. */
static int emulated_node(const struct hx_world *world, struct hx_place *place, struct hx_failure *failure)
{
    char error[HX_TOPO_ERROR_BYTES];
    struct hx_shape *shape;
    int node = 0;

    if (!world->process.env->nodes)
        return 0;
    if (world->generation) /* ranks that were there before stay on their nodes */
        return world->emulated_node;
    if ((shape = hx_shape_emulate(world->process.env->nodes, world->process.size, error)))
        node = shape->node_of[world->process.rank];
    else
        hx_failure_keep(failure, world->process.rank, hx_fail(HX_ERR_ENV, "HX_NODES=%s: %s", world->process.env->nodes, error));
    if (shape && shape->nlevels) {
        place->socket = emulated_domain(shape, 0, world->process.rank);
        place->numa = emulated_domain(shape, 1, world->process.rank);
        place->l3 = emulated_domain(shape, 2, world->process.rank);
    }
    hx_shape_free(shape);
    return node;
}

/* All ranks of a start give up after the same time. */
static void waits_limit(struct hx_world *world, double seconds)
{
    world->timeout = world->process.env->timeout;
    if (seconds <= 0)
        return;
    world->process.env->timeout = seconds;
    hx_boot_set_timeout(world->boot, seconds);
}

void hx_world_started(struct hx_world *world)
{
    world->process.env->timeout = world->timeout;
    hx_comm_choose(world->comms, world->choices);
}

/* Fences 1 to 3: afterwards all ranks know each other, or what any of them has failed in. An error here is of the bootstrap. */
static hx_status_t world_meet(struct hx_world *world, const struct hx_opening *how, struct hx_place *place, struct hx_failure *failure)
{
    unsigned char secret[HX_SECRET_BYTES];
    struct hx_failure unjoined = {0};
    struct hx_choices of_rank0;
    double seconds = how->seconds;
    hx_status_t status = HX_SUCCESS, fenced;

    hx_failure_keep(failure, world->process.rank, place_find(world->process.env, place));
    if (world->process.rank == 0)
        status = hx_job_put(world->boot, world->process.env, place, seconds, &world->choices);
    if (status == HX_SUCCESS && (fenced = hx_boot_fence(world->boot)) != HX_SUCCESS)
        return fenced;
    if (status == HX_SUCCESS)
        status = hx_job_get(world->boot, world->process.env, &world->process.job, secret, &seconds, &of_rank0);
    if (status != HX_SUCCESS) {
        hx_boot_abort(world->boot, hx_last_detail());
        return status;
    }
    if (!how->from)
        world->choices = of_rank0;
    waits_limit(world, seconds);
    hx_key_derive(secret, HX_KEY_FABRIC, world->net_key);
    world->emulated_node = emulated_node(world, place, failure);
    world->process.shared = hx_registry.node->join(world->boot, world->process.env, &world->process.job, world->emulated_node, secret,
                                           hx_watch_enter, &unjoined);
    if (!world->process.shared && failure->status == HX_SUCCESS)
        *failure = unjoined;
    return hx_world_exchange(world, place, failure);
}

/* A failure that this rank has logged already, or another's. */
static hx_status_t failure_tell(const struct hx_world *world, struct hx_failure *failure)
{
    failure->text[sizeof(failure->text) - 1] = 0;
    if (failure->rank != world->process.rank)
        return hx_fail((hx_status_t)failure->status, "rank %d cannot start: %s", failure->rank, failure->text);
    hx_recall(failure->text);
    return (hx_status_t)failure->status;
}

/* Build the world from the values that the ranks have exchanged. */
static hx_status_t world_build(struct hx_world *world, const struct hx_place *place)
{
    static const struct hx_comm_id id = {.number = HX_NUMBER_WORLD};
    double per_cpu = hx_world_ranks_per_cpu(world, place);
    struct hx_comm *comm;
    hx_status_t status;

    world->process.job.max_local = world->process.shared->header->max_local;
    world->process.job.nranks = world->process.size;
    world->process.job.single_copy = world->process.shared->header->single_copy;
    world->process.job.ranks_per_cpu = world->process.shared->header->milli_per_cpu / 1e3;
    world->process.shared->calls_kept = hx_calls_kept(world->process.job.ranks_per_cpu);
    world->process.job.constants = world->process.job.single_copy ? world->process.shared->header->constants : (struct hx_constants){0};
    if (hx_share_is_far(world->process.job.constants.line_ns, world->process.env->far_ns))
        world->process.distance.ns = world->process.job.constants.line_ns; /* until this rank has measured its own */
    if (!world->process.job.single_copy)
        hx_fetch_end(world->process.shared);
    if (world->process.net && (status = peers_connect(world)) != HX_SUCCESS)
        return status;
    world->process.demotes = per_cpu <= 1.0 && hx_can_demote();
    hx_waiter_init(&world->process.waiter, world->process.shared, per_cpu, (int)world->process.env->spin);
    world->process.waiter.net = world->process.shared->table[world->process.rank].opened_first ? world->process.net : NULL;
    world->process.waiter.net_ops = hx_registry.net;
    if ((status = hx_comm_numbers_open(world)) != HX_SUCCESS || (status = hx_comm_make(world, NULL, world->process.size, &id, &comm)) != HX_SUCCESS)
        return status;
    world_log(world, comm, per_cpu);
    return HX_SUCCESS;
}

/* *met: have all ranks reached the last fence? Then they can part in order. */
static hx_status_t world_start(struct hx_world *world, struct hx_opening *how, struct hx_failure *failure, int *met)
{
    struct hx_place place;
    hx_status_t status = HX_SUCCESS;

    if (how->boot)
        world->boot = how->boot;
    else
        status = hx_boot_open(world->process.env, how->config ? how->config->bootstrap : NULL, &world->boot);
    how->boot = NULL;
    if (status != HX_SUCCESS)
        return status;
    world->process.rank = failure->rank = hx_boot_rank(world->boot);
    world->process.size = hx_boot_size(world->boot);
    hx_log_configure((enum hx_log_level)world->process.env->log, world->process.rank);
    status = world_meet(world, how, &place, failure);
    *met = status == HX_SUCCESS;
    if (status == HX_ERR_PEER_DEAD && failure->status == HX_ERR_BOOTSTRAP) /* a connection that broke within the node, by that death */
        return status;
    if (failure->status != HX_SUCCESS)
        return failure_tell(world, failure);
    return status == HX_SUCCESS ? world_build(world, &place) : status;
}

void hx_alike_tell(const struct hx_world *world)
{
    hx_fail_release(world->process.rank == 0);
    if (world->process.rank != 0)
        nanosleep(&(struct timespec){.tv_nsec = TELL_NS}, NULL);
}

/* If many ranks fail, only the rank that failed first reports why; all ranks know which it is. Launchers end a job when one of its ranks
 * ends, so it reports before any rank ends. met: all ranks have met. */
static void failure_log(const struct hx_world *world, const struct hx_failure *failure, int met, hx_status_t status)
{
    char text[HX_DETAIL_BYTES];

    if (failure->status == HX_SUCCESS && met && status == HX_ERR_ENV) { /* the job's settings leave no plan */
        hx_alike_tell(world);
        return;
    }
    hx_fail_release(!world->generation && (failure->status == HX_SUCCESS || failure->rank == world->process.rank));
    if (failure->status == HX_SUCCESS || !met)
        return;
    snprintf(text, sizeof(text), "%s", hx_last_detail());
    hx_fail_hold();
    hx_boot_fence(world->boot);
    hx_fail_release(0);
    hx_recall(text);
}

hx_status_t hx_world_open(struct hx_opening *how, struct hx_world **out)
{
    struct hx_world *world = calloc(1, sizeof(*world));
    struct hx_failure failure = {0};
    hx_status_t status;
    int met = 0;

    if (!world || !(world->process.env = calloc(1, sizeof(*world->process.env)))) {
        free(world);
        hx_boot_close(how->boot, 0);
        return hx_fail(HX_ERR_NOMEM, "no memory to start");
    }
    world->process.rank = -1;
    world->process.owner = &hx_world_owner;
    hx_fail_hold();
    world->held_streams = hx_streams_hold(O_CLOEXEC); /* until the end: connections may be made at any time */
    hx_failure_keep(&failure, world->process.rank,
                    how->from ? hx_env_copy(world->process.env, how->from->world->process.env)
                              : hx_env_load(world->process.env, how->config ? how->config->settings : NULL));
    world->generation = how->generation;
    world->emulated_node = how->node;
    world->choices = how->from ? how->from->choices : hx_choices_of_job(world->process.env);
    if (!how->from)
        hx_log_configure((enum hx_log_level)world->process.env->log, -1);
    status = world_start(world, how, &failure, &met);
    how->culprit = failure.status != HX_SUCCESS ? failure.rank : -1;
    if (status != HX_SUCCESS) {
        failure_log(world, &failure, met, status);
        if (met && failure.status == HX_SUCCESS) /* the others go on, if they have not failed alike: this rank is as good as dead */
            hx_watch_tell(world->process.shared, world->process.rank, 1);
        hx_world_close(world, met);
        return status;
    }
    hx_fail_release(0);
    *out = world;
    return HX_SUCCESS;
}

void hx_world_close(struct hx_world *world, int orderly)
{
    struct hx_comm *comm;
    int stays;

    const int finishes = world->process.shared && hx_watch_has_finished(world->process.shared, world->process.shared->me);

    if (finishes && !orderly)
        hx_failed_finish(world);
    if (finishes || (world->process.shared && orderly))
        hx_watch_set(world->process.shared, HX_LIFE_LEFT);
    if (finishes)
        hx_directory_leave(world);
    /* drain the network even if one communicator has failed: the others continue */
    stays = world->process.net && hx_registry.net->close(world->process.net, world->comms != NULL);
    if (!stays)
        world->process.net = NULL;
    while ((comm = world->comms))
        hx_comm_release(comm);
    hx_failed_forget(world);
    hx_p2p_close(&world->process);
    hx_whereabouts_forget(&world->process);
    hx_comm_numbers_close(world);
    hx_shared_allocs_close(&world->process);
    hx_peer_maps_close(&world->process);
    hx_fetch_end(world->process.shared);
    if (!stays)
        hx_registry.node->leave(world->process.shared);
    free(world->tuning);
    free(world->links);
    free(world->process.distance.seen);
    hx_trace_release(world);
    if (world->boot)
        hx_boot_close(world->boot, orderly);
    if (hx_world) /* which needs the streams held as well */
        hx_world->held_streams |= world->held_streams;
    else
        hx_streams_release(world->held_streams);
    hx_env_release(world->process.env);
    free(world->process.env);
    free(world);
}
