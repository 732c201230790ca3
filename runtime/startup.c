/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Start-up, in three fences of the bootstrap:
 *   1  rank 0 tells its version, a secret, its JOB settings and the facts by which plans are chosen
 *   2  inside the node's join: all ranks of a node have met
 *   3  the leader (lowest rank) of each node has put one value with its ranks and their addresses
 * Leaders read the nodes one after the other: the lowest rank that no node read so far holds is the leader of the next.
 *
 * A rank that cannot start goes through all fences nevertheless: its failure takes the place of its address, so that every rank fails at
 * once and says which rank it was and why. Only without fences or what rank 0 tells nobody can go on: then the launcher is told.
 */
#include "startup.h"
#include "log.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define JOB_TEXT_BYTES 65536

/* ---- fence 1: what rank 0 says ------------------------------------------------------------------------------------ */

static hx_status_t job_put(struct hx_boot *boot, const struct hx_env *env, const struct hx_place *place)
{
    char *text = malloc(JOB_TEXT_BYTES);
    unsigned char secret[HX_SECRET_BYTES];
    int n;

    if (!text)
        return hx_fail(HX_ERR_NOMEM, "no memory for the job's settings");
    if (getrandom(secret, sizeof(secret), 0) != sizeof(secret)) {
        free(text);
        return hx_fail(HX_ERR_NOMEM, "the kernel gives no random bytes for the job's secret");
    }
    n = snprintf(text, JOB_TEXT_BYTES, "%s %zu %.3f ", hx_version(), place->llc_bytes, place->usable_cpus);
    for (int i = 0; i < HX_SECRET_BYTES; i++)
        n += snprintf(text + n, JOB_TEXT_BYTES - (size_t)n, "%02x", secret[i]);
    n += snprintf(text + n, JOB_TEXT_BYTES - (size_t)n, " ");
    hx_status_t status = HX_SUCCESS;
    if (hx_env_pack_job(env, text + n, JOB_TEXT_BYTES - (size_t)n) >= JOB_TEXT_BYTES - (size_t)n)
        status = hx_fail(HX_ERR_ENV, "the HX_* settings together are longer than %d bytes", JOB_TEXT_BYTES);
    if (status == HX_SUCCESS)
        status = hx_boot_put(boot, "job", text, strlen(text) + 1);
    free(text);
    return status;
}

static hx_status_t job_get(struct hx_boot *boot, struct hx_env *env, struct hx_job *job, unsigned char *secret)
{
    void *value = NULL;
    size_t bytes;
    char version[32], hex[2 * HX_SECRET_BYTES + 1];
    int settings = 0;
    hx_status_t status = hx_boot_get(boot, "job", &value, &bytes);

    if (status != HX_SUCCESS)
        return status;
    if (bytes == 0 || ((char *)value)[bytes - 1] ||
        sscanf(value, "%31s %" SCNu64 " %lf %64[0-9a-f] %n", version, &job->llc_bytes, &job->cpus_per_node, hex, &settings) != 4 ||
        settings == 0 || strlen(hex) != 2 * HX_SECRET_BYTES)
        status = hx_fail(HX_ERR_BOOTSTRAP, "rank 0 sent start-up data that this library cannot read: is it another version of Hierax?");
    else if (strcmp(version, hx_version()))
        status = hx_fail(HX_ERR_BOOTSTRAP, "rank 0 runs Hierax %s, rank %d runs %s", version, hx_boot_rank(boot), hx_version());
    for (int i = 0; status == HX_SUCCESS && i < HX_SECRET_BYTES; i++) {
        unsigned byte = 0;
        sscanf(hex + 2 * i, "%2x", &byte);
        secret[i] = (unsigned char)byte;
    }
    if (status == HX_SUCCESS)
        status = hx_env_unpack_job(env, (char *)value + settings);
    free(value);
    return status;
}

/* ---- fence 3: who is where ---------------------------------------------------------------------------------------- */

/* A moment for others of this node. Returns 0 once HX_TIMEOUT is over. */
static int nap(const struct hx_comm *comm, double *slept)
{
    nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    return comm->env->timeout <= 0 || (*slept += 1.5e-4) <= comm->env->timeout;
}

static hx_status_t node_arrive(struct hx_comm *comm, const struct hx_place *place)
{
    struct hx_node_header *header = comm->node->header;
    double slept = 0;

    for (int i = 0; i < HX_PLACE_MASK_WORDS; i++)
        atomic_fetch_or_explicit(&header->cpus[i], place->bound_mask[i], memory_order_relaxed);
    /* release pairs with the acquire below: masks and addresses of all are there */
    atomic_fetch_add_explicit(&header->arrived, 1, memory_order_release);
    while (atomic_load_explicit(&header->arrived, memory_order_acquire) < (uint32_t)comm->node->n)
        if (!nap(comm, &slept))
            return hx_fail(HX_ERR_TIMEOUT, "start-up: only %u of the %d ranks of this node have arrived within %g s (HX_TIMEOUT)",
                           atomic_load(&header->arrived), comm->node->n, comm->env->timeout);
    return HX_SUCCESS;
}

/* One node's value: count, then for each rank its number, its address's length, its address. */
static hx_status_t node_put(struct hx_comm *comm)
{
    const struct hx_node *node = comm->node;
    size_t bytes = sizeof(int32_t) + (size_t)node->n * (2 * sizeof(int32_t) + HX_ADDRESS_BYTES);
    unsigned char *value = malloc(bytes), *at = value;
    char key[32];
    int32_t n = node->n;

    if (!value)
        return hx_fail(HX_ERR_NOMEM, "no memory for the addresses of %d ranks", node->n);
    memcpy(at, &n, sizeof(n));
    at += sizeof(n);
    for (int i = 0; i < node->n; i++) {
        const struct hx_job_entry *entry = &node->table[node->ranks[i]];
        int32_t head[2] = {node->ranks[i], (int32_t)entry->address_bytes};
        memcpy(at, head, sizeof(head));
        memcpy(at + sizeof(head), entry->address, entry->address_bytes);
        at += sizeof(head) + entry->address_bytes;
    }
    snprintf(key, sizeof(key), "node.%d", comm->rank);
    hx_status_t status = hx_boot_put(comm->boot, key, value, (size_t)(at - value));
    free(value);
    return status;
}

/* The value of a node of which a rank has failed: count 0, and the failure. */
static hx_status_t failure_put(struct hx_comm *comm, const struct hx_failure *failure)
{
    unsigned char value[sizeof(int32_t) + sizeof(*failure)] = {0};
    char key[32];

    memcpy(value + sizeof(int32_t), failure, sizeof(*failure));
    snprintf(key, sizeof(key), "node.%d", comm->rank);
    return hx_boot_put(comm->boot, key, value, sizeof(value));
}

/* Enter one node's value into the table as node `id`. */
static int node_enter(struct hx_comm *comm, const unsigned char *value, size_t bytes, int id, int leader)
{
    const unsigned char *at = value, *end = value + bytes;
    int32_t n, head[2];

    if (bytes < sizeof(n))
        return -1;
    memcpy(&n, at, sizeof(n));
    at += sizeof(n);
    for (int32_t i = 0; i < n; i++) {
        if ((size_t)(end - at) < sizeof(head))
            return -1;
        memcpy(head, at, sizeof(head));
        at += sizeof(head);
        if (head[0] < leader || head[0] >= comm->size || head[1] < 0 || head[1] > HX_ADDRESS_BYTES || end - at < head[1] ||
            comm->node->table[head[0]].node)
            return -1;
        struct hx_job_entry *entry = &comm->node->table[head[0]];
        entry->node = id + 1; /* 0: nobody has named this rank yet */
        entry->address_bytes = (uint32_t)head[1];
        memcpy(entry->address, at, (size_t)head[1]);
        at += head[1];
    }
    return comm->node->table[leader].node ? 0 : -1;
}

static hx_status_t nodes_get(struct hx_comm *comm, struct hx_failure *failure)
{
    int nodes = 0;

    for (int rank = 0; rank < comm->size; rank++) {
        void *value = NULL;
        size_t bytes;
        char key[32];
        hx_status_t status;
        if (comm->node->table[rank].node)
            continue;
        snprintf(key, sizeof(key), "node.%d", rank);
        if ((status = hx_boot_get(comm->boot, key, &value, &bytes)) != HX_SUCCESS)
            return status;
        if (bytes == sizeof(int32_t) + sizeof(*failure) && !memcmp(value, &(int32_t){0}, sizeof(int32_t))) {
            memcpy(failure, (char *)value + sizeof(int32_t), sizeof(*failure));
            status = (hx_status_t)failure->status;
        } else if (node_enter(comm, value, bytes, nodes++, rank) < 0) {
            status = hx_fail(HX_ERR_BOOTSTRAP, "the node of rank %d sent an address table that is not valid", rank);
        }
        free(value);
        if (status != HX_SUCCESS)
            return status;
    }
    return HX_SUCCESS;
}

/* Ranks of one node never connect, and an unlike one among them would be missed there: all are compared with rank 0, by every leader. */
static hx_status_t networks_agree(const struct hx_comm *comm)
{
    const struct hx_job_entry *table = comm->node->table;
    hx_status_t status = HX_SUCCESS;

    for (int rank = 1; status == HX_SUCCESS && comm->net && rank < comm->size; rank++)
        status = hx_registry.net->agree(rank, table[rank].address, table[rank].address_bytes, 0, table[0].address,
                                        table[0].address_bytes);
    return status;
}

/* Every node's value into this node's table, by its leader, who tells the others how it went, whatever it met before. */
static void table_complete(struct hx_comm *comm, hx_status_t fenced, struct hx_failure *failure)
{
    struct hx_node_header *header = comm->node->header;
    double slept = 0;
    int state;

    if (comm->node->me == 0) {
        hx_failure_keep(failure, comm->rank, fenced);
        if (failure->status == HX_SUCCESS)
            hx_failure_keep(failure, comm->rank, nodes_get(comm, failure));
        if (failure->status == HX_SUCCESS)
            hx_failure_keep(failure, comm->rank, networks_agree(comm));
        if (failure->status != HX_SUCCESS)
            hx_node_fail(comm->node, failure);
        /* release pairs with the acquire below */
        atomic_store_explicit(&header->table_state, failure->status == HX_SUCCESS ? 1 : -1, memory_order_release);
        return;
    }
    if (failure->status != HX_SUCCESS || fenced != HX_SUCCESS)
        return;
    while ((state = atomic_load_explicit(&header->table_state, memory_order_acquire)) == 0)
        if (!nap(comm, &slept)) {
            hx_fail(HX_ERR_TIMEOUT, "start-up: rank %d has not told this node who is where within %g s (HX_TIMEOUT)",
                    comm->node->ranks[0], comm->env->timeout);
            hx_failure_keep(failure, comm->rank, HX_ERR_TIMEOUT);
            return;
        }
    if (state < 0)
        *failure = header->failure;
}

static hx_status_t peers_connect(struct hx_comm *comm)
{
    for (int rank = 0; rank < comm->size; rank++) {
        const struct hx_job_entry *entry = &comm->node->table[rank];
        hx_status_t status;
        if (comm->shape->node_of[rank] == comm->shape->node_of[comm->rank])
            continue;
        if ((status = hx_registry.net->connect(comm->net, rank, entry->address, entry->address_bytes)) != HX_SUCCESS)
            return status;
    }
    return HX_SUCCESS;
}

/* What this rank opens on its own, before the others hear of it. */
static hx_status_t own_open(struct hx_comm *comm)
{
    struct hx_job_entry *mine = &comm->node->table[comm->rank];
    size_t bytes = HX_ADDRESS_BYTES;
    hx_status_t status = hx_engine_open(comm);

    if (status != HX_SUCCESS || comm->node->n == comm->size)
        return status;
    status = hx_registry.net->open(comm->env, comm->rank, comm->size, comm->node->me, &comm->net);
    if (status == HX_SUCCESS)
        status = hx_registry.net->address(comm->net, mine->address, &bytes);
    mine->address_bytes = (uint32_t)bytes;
    return status;
}

/* Fence 3. Leaves in *failure what any rank has failed in; an error of the fence itself is returned. */
static hx_status_t world_exchange(struct hx_comm *comm, const struct hx_place *place, struct hx_failure *failure)
{
    hx_status_t fenced;

    if (comm->node) {
        if (failure->status == HX_SUCCESS)
            hx_failure_keep(failure, comm->rank, own_open(comm));
        if (failure->status != HX_SUCCESS)
            hx_node_fail(comm->node, failure);
        hx_failure_keep(failure, comm->rank, node_arrive(comm, place));
        if (failure->status == HX_SUCCESS)
            *failure = comm->node->header->failure;
    }
    if (failure->status == HX_SUCCESS && comm->node->me == 0)
        hx_failure_keep(failure, comm->rank, node_put(comm));
    if (failure->status != HX_SUCCESS && (!comm->node || comm->node->me == 0))
        failure_put(comm, failure);
    fenced = hx_boot_fence(comm->boot);
    if (comm->node)
        table_complete(comm, fenced, failure);
    return fenced;
}

static hx_status_t shape_find(struct hx_comm *comm)
{
    int *nodes = malloc((size_t)comm->size * sizeof(int));

    for (int i = 0; nodes && i < comm->size; i++)
        nodes[i] = comm->node->table[i].node;
    comm->shape = nodes ? hx_shape_from_nodes(nodes, comm->size) : NULL;
    free(nodes);
    return comm->shape ? HX_SUCCESS : hx_fail(HX_ERR_NOMEM, "no memory for the shape of %d ranks", comm->size);
}

/* ---- the whole ---------------------------------------------------------------------------------------------------- */

/* Ranks that share this machine's cores, per usable core. */
static double ranks_per_cpu(const struct hx_comm *comm, const struct hx_place *place)
{
    double cpus = 0, emulated = comm->env->nodes ? comm->size / place->usable_cpus : 0;

    for (int i = 0; i < HX_PLACE_MASK_WORDS; i++)
        cpus += __builtin_popcountll(atomic_load_explicit(&comm->node->header->cpus[i], memory_order_relaxed));
    if (cpus < 1)
        cpus = place->usable_cpus;
    if (place->quota_cpus > 0 && place->quota_cpus < cpus)
        cpus = place->quota_cpus;
    return comm->node->n / cpus > emulated ? comm->node->n / cpus : emulated;
}

static hx_status_t place_find(struct hx_place *place)
{
    char error[HX_TOPO_ERROR_BYTES];
    struct hx_topo *topo;

    *place = (struct hx_place){0};
    if (hx_topo_open(NULL, NULL, &topo, error) < 0)
        return hx_fail(HX_ERR_NOMEM, "%s", error);
    hx_topo_place(topo, place);
    hx_topo_close(topo);
    return HX_SUCCESS;
}

static void world_log(const struct hx_comm *comm, double per_cpu)
{
    char shape[256];

    if (comm->rank != 0)
        return;
    hx_shape_format(comm->shape, shape, sizeof(shape));
    hx_info("%d ranks on %d nodes (%s), bootstrap %s, %.2f ranks per usable core, kernels %s", comm->size,
            comm->shape->nnodes, shape, hx_boot_name(comm->boot), per_cpu, hx_reduce_isa());
    hx_info("shared segment %.1f MiB (touched as used): %d ranks, 2 banks of %zu KiB of slots each, rings of %d x %zu bytes",
            (double)comm->node->bytes / 1048576, comm->node->n, comm->node->bank_bytes / 1024, HX_RING_ENTRIES,
            comm->node->ring_chunk_bytes);
    if (comm->net)
        hx_info("network: %s", hx_registry.net->describe(comm->net));
}

/* Fences 1 to 3: afterwards all ranks know each other, or what any of them has failed in. An error here is of the bootstrap. */
static hx_status_t world_meet(struct hx_comm *comm, struct hx_place *place, struct hx_failure *failure)
{
    unsigned char secret[HX_SECRET_BYTES];
    struct hx_failure unjoined = {0};
    hx_status_t status = HX_SUCCESS, fenced;

    hx_failure_keep(failure, comm->rank, place_find(place));
    if (comm->rank == 0)
        status = job_put(comm->boot, comm->env, place);
    if (status == HX_SUCCESS && (fenced = hx_boot_fence(comm->boot)) != HX_SUCCESS)
        return fenced;
    if (status == HX_SUCCESS)
        status = job_get(comm->boot, comm->env, &comm->job, secret);
    if (status != HX_SUCCESS) {
        hx_boot_abort(comm->boot, hx_last_detail());
        return status;
    }
    if (comm->env->nodes > comm->size)
        hx_failure_keep(failure, comm->rank,
                        hx_fail(HX_ERR_ENV, "HX_NODES=%lld: there are only %d ranks; choose 1 to %d, or 0 for the real nodes",
                                (long long)comm->env->nodes, comm->size, comm->size));
    comm->node = hx_registry.node->join(comm->boot, comm->env, &comm->job, secret, &unjoined);
    if (!comm->node && failure->status == HX_SUCCESS)
        *failure = unjoined;
    return world_exchange(comm, place, failure);
}

/* A failure that this rank has logged already, or another's. */
static hx_status_t failure_tell(const struct hx_comm *comm, struct hx_failure *failure)
{
    failure->text[sizeof(failure->text) - 1] = 0;
    if (failure->rank != comm->rank)
        return hx_fail((hx_status_t)failure->status, "rank %d cannot start: %s", failure->rank, failure->text);
    hx_recall(failure->text);
    return (hx_status_t)failure->status;
}

/* All that follows from what the ranks have told. */
static hx_status_t world_build(struct hx_comm *comm, const struct hx_place *place)
{
    struct hx_net_profile profile;
    hx_status_t status = shape_find(comm);
    double per_cpu;

    if (status != HX_SUCCESS || (comm->net && (status = peers_connect(comm)) != HX_SUCCESS))
        return status;
    per_cpu = ranks_per_cpu(comm, place);
    hx_waiter_init(&comm->waiter, comm->node, per_cpu, (int)comm->env->spin);
    comm->waiter.net = comm->net;
    comm->waiter.net_ops = hx_registry.net;
    world_log(comm, per_cpu);
    if (comm->net)
        hx_registry.net->profile(comm->net, &profile);
    return hx_registry.planner->open(comm->env, comm->shape, comm->rank, &comm->job, comm->net ? &profile : NULL, &comm->planner);
}

/* *met: whether all ranks have come to the last fence, so that they can part in order. */
static hx_status_t world_start(struct hx_comm *comm, const hx_config_t *config, struct hx_failure *failure, int *met)
{
    struct hx_place place;
    hx_status_t status = hx_boot_open(comm->env, config ? config->bootstrap : NULL, &comm->boot);

    if (status != HX_SUCCESS)
        return status;
    comm->rank = failure->rank = hx_boot_rank(comm->boot);
    comm->size = hx_boot_size(comm->boot);
    hx_log_configure((enum hx_log_level)comm->env->log, comm->rank);
    status = world_meet(comm, &place, failure);
    *met = status == HX_SUCCESS;
    if (failure->status != HX_SUCCESS)
        return failure_tell(comm, failure);
    return status == HX_SUCCESS ? world_build(comm, &place) : status;
}

hx_status_t hx_world_open(const hx_config_t *config, struct hx_comm **world)
{
    struct hx_comm *comm = calloc(1, sizeof(*comm));
    struct hx_failure failure = {0};
    hx_status_t status;
    int met = 0;

    if (!comm || !(comm->env = calloc(1, sizeof(*comm->env)))) {
        free(comm);
        return hx_fail(HX_ERR_NOMEM, "no memory to start");
    }
    comm->rank = -1;
    hx_failure_keep(&failure, comm->rank, hx_env_load(comm->env, config ? config->settings : NULL));
    hx_log_configure((enum hx_log_level)comm->env->log, -1);
    if ((status = world_start(comm, config, &failure, &met)) != HX_SUCCESS) {
        hx_world_close(comm, met);
        return status;
    }
    *world = comm;
    return HX_SUCCESS;
}

void hx_world_close(struct hx_comm *comm, int orderly)
{
    if (comm->net)
        hx_registry.net->close(comm->net, orderly);
    if (comm->node && comm->engine.queues)
        hx_engine_close(comm);
    if (comm->planner)
        hx_registry.planner->close(comm->planner);
    hx_registry.node->leave(comm->node);
    if (comm->boot)
        hx_boot_close(comm->boot, orderly);
    hx_shape_free(comm->shape);
    free(comm->aside);
    hx_env_release(comm->env);
    free(comm->env);
    free(comm);
}
