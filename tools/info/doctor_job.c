/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that need the facts of all ranks: cores and ranks, binding, memory, differences, and the way between hosts. */
#include "tools/info/doctor.h"
#include "hier/planner.h"
#include "runtime/base/files.h"
#include "topo/node_groups.h"
#include "topo/ring_order.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RANK_BYTES ((int64_t)128 << 20) /* a rank takes 10 MB over net, and 113 MB over tcp;ofi_rxm */
#define CLOCK_OFFSET_S 0.1
#define NAMES_MAX 8 /* how many differing variables, and how many broken paths, are named */

static int64_t fact(const struct doctor_job *job, int rank, const char *key)
{
    return (int64_t)info_number(job->told[rank], key);
}

void doctor_launcher(struct doctor_job *job)
{
    if (job->failed[0])
        doctor_tell(job, DOCTOR_FAIL, &job->rank, 1, "%s", job->failed);
}

/* ---- of a host ---- */

void doctor_cores(struct doctor_job *job, const struct doctor_host *host)
{
    const double usable = host->quota > 0 && host->quota < host->ncpus ? host->quota : host->ncpus;

    if (host->ncpus > 0 && host->n > usable)
        doctor_tell(job, DOCTOR_WARN, host->ranks, host->n, "%d ranks on %g usable cores%s: %.3g ranks on each", host->n, usable,
                    usable < host->ncpus ? " (a quota)" : "", host->n / usable);
}

void doctor_pinning(struct doctor_job *job, const struct doctor_host *host)
{
    int64_t allowed = 0, unbound = 0;

    if (job->size == 1)
        doctor_tell(job, DOCTOR_OK, NULL, 0, "one rank");
    for (int i = 0; i < host->n; i++) {
        const int64_t mine = fact(job, host->ranks[i], "allowed_cpus");
        allowed = mine > allowed ? mine : allowed;
        unbound += mine > 1 && fact(job, host->ranks[i], "bound_cpus") == mine;
    }
    if (host->n > 1 && unbound == host->n && host->n <= host->ncpus) {
        doctor_tell(job, DOCTOR_WARN, host->ranks, host->n, "the ranks are not bound to cores");
        return;
    }
    for (int i = 0; host->ncpus < allowed && i < host->n; i++)
        for (int k = 0; k < host->n; k++) {
            const int64_t core = fact(job, host->ranks[i], "core");
            if (k != i && core >= 0 && core == fact(job, host->ranks[k], "core")) {
                doctor_tell(job, DOCTOR_WARN, &host->ranks[i], 1, "bound to the same core, %lld, while other cores are free",
                            (long long)core);
                break;
            }
        }
}

/* Memory and interface of each rank. On many machines half of the ranks are far from the interface: that is a fault only if
 * all of them could be near. */
void doctor_numa(struct doctor_job *job, const struct doctor_host *host)
{
    for (int i = 0; i < host->n; i++) {
        const int rank = host->ranks[i];
        const int64_t core = fact(job, rank, "numa"), memory = fact(job, rank, "memory_numa"), nic = fact(job, rank, "nic_numa");
        if (core >= 0 && memory >= 0 && memory != core)
            doctor_tell(job, DOCTOR_WARN, &rank, 1, "memory on NUMA node %lld, core on NUMA node %lld", (long long)memory,
                        (long long)core);
        if (job->hosts > 1 && core >= 0 && nic >= 0 && nic != core && fact(job, rank, "nic_cpus") >= host->n)
            doctor_tell(job, DOCTOR_WARN, &rank, 1,
                        "interface %s on NUMA node %lld, core on NUMA node %lld: the interface's node has %lld processing units, "
                        "enough for the %d ranks",
                        info_text(job->told[rank], "interface"), (long long)nic, (long long)core,
                        (long long)fact(job, rank, "nic_cpus"), host->n);
    }
}

void doctor_memory(struct doctor_job *job, const struct doctor_host *host)
{
    const int64_t bytes = fact(job, host->ranks[0], "memory_bytes");

    if (bytes > 0 && bytes / host->n < RANK_BYTES)
        doctor_tell(job, DOCTOR_WARN, host->ranks, host->n,
                    "%lld MiB for %d ranks (machine or control group), less than %lld MiB for each", (long long)(bytes >> 20),
                    host->n, (long long)(RANK_BYTES >> 20));
}

void doctor_files(struct doctor_job *job, const struct doctor_host *host)
{
    const int64_t limit = fact(job, host->ranks[0], "files");
    const int needed = hx_files_needed(host->n);

    if (limit < needed)
        doctor_tell(job, limit < 2 * host->n ? DOCTOR_FAIL : DOCTOR_WARN, host->ranks, host->n,
                    "ulimit -n is %lld, but one rank needs about %d open files while the %d ranks start", (long long)limit, needed,
                    host->n);
}

/* ---- differences ---- */

static const char *env_of(const struct doctor_job *job, int rank, const char *name)
{
    const char *value = json_object_get_string(json_object_object_get(json_object_object_get(job->told[rank], "env"), name));

    return value ? value : "unset";
}

/* Has the rank rank 0's value? */
static int is_alike(const struct doctor_job *job, int rank, const char *name)
{
    return !strcmp(env_of(job, rank, name), env_of(job, 0, name));
}

/* Tell the first rank whose value is not rank 0's, and how many there are. */
static int variable_compare(struct doctor_job *job, const char *name)
{
    int n = 0;

    for (int rank = 1; rank < job->size; rank++)
        if (job->told[rank] && !is_alike(job, rank, name))
            job->list[n++] = rank;
    if (n > 0)
        doctor_tell(job, DOCTOR_WARN, job->list, n, "%s is %s here, but %s on rank 0", name, env_of(job, job->list[0], name),
                    env_of(job, 0, name));
    return n > 0;
}

void doctor_environment(struct doctor_job *job)
{
    struct json_object *names = json_object_new_object();
    int differ = 0;

    for (int rank = 0; rank < job->size; rank++) {
        struct json_object *env = json_object_object_get(job->told[rank], "env");
        for (struct lh_entry *entry = env ? json_object_get_object(env)->head : NULL; entry; entry = entry->next)
            json_object_object_add(names, lh_entry_k(entry), NULL);
    }
    for (struct lh_entry *entry = json_object_get_object(names)->head; entry && differ < NAMES_MAX; entry = entry->next)
        differ += variable_compare(job, lh_entry_k(entry));
    json_object_put(names);
}

void doctor_alike(struct doctor_job *job)
{
    static const struct {
        const char *key, *what, *settable; /* rank 0's value of it holds on all ranks: variable_compare reports differences */
    } facts[] = {{"version", "Hierax", NULL}, {"provider", "provider", "HX_PROVIDER"}};

    for (int i = 0; i < 2; i++)
        for (int rank = 1; rank < job->size; rank++) {
            const char *first = info_text(job->told[0], facts[i].key), *other = info_text(job->told[rank], facts[i].key);
            if (!job->told[rank] || !strcmp(first, other) || (facts[i].settable && !is_alike(job, rank, facts[i].settable)))
                continue;
            doctor_tell(job, DOCTOR_FAIL, &rank, 1, "%s \"%s\" here, but \"%s\" on rank 0", facts[i].what, other, first);
            break;
        }
}

/* ---- between hosts ---- */

/* Have the hosts' ranks tried to reach each other? If not, tell why there is nothing to tell. */
int doctor_is_reached(struct doctor_job *job, const char *what)
{
    const int is_met = json_object_array_length(job->reached) > 0;

    if (job->hosts == 1)
        doctor_tell(job, DOCTOR_OK, NULL, 0, "one host");
    else if (!is_met)
        doctor_tell(job, DOCTOR_WARN, NULL, 0, "not %s: the ranks of the %d hosts did not connect again for this check", what,
                    job->hosts);
    return job->hosts > 1 && is_met;
}

void doctor_firewall(struct doctor_job *job)
{
    int asked = 0, told = 0;

    if (!doctor_is_reached(job, "tried"))
        return;
    for (int h = 0; h < job->hosts; h++) {
        struct json_object *found = json_object_array_get_idx(job->reached, (size_t)h);
        struct json_object *lost = json_object_object_get(found, "lost");
        const int rank = (int)info_number(found, "rank");
        asked += (int)info_number(found, "asked");
        for (size_t i = 0; lost && i < json_object_array_length(lost) && told < NAMES_MAX; i++, told++) {
            struct json_object *peer = json_object_array_get_idx(lost, i);
            doctor_tell(job, DOCTOR_FAIL, &rank, 1, "no TCP connection to %s (%s): %s", info_text(peer, "host"),
                        info_text(peer, "address"), info_text(peer, "error"));
        }
    }
    if (!told)
        doctor_tell(job, DOCTOR_OK, NULL, 0, "%d TCP connections between %d hosts", asked, job->hosts);
}

/* Rank 0 and another one were in the fence at one time: so the other's clock is ahead by least to most. */
void doctor_time(struct doctor_job *job)
{
    struct json_object *first = json_object_array_get_idx(job->reached, 0);
    int told = 0;

    if (!doctor_is_reached(job, "compared"))
        return;
    for (int h = 1; h < job->hosts && told < NAMES_MAX; h++) {
        struct json_object *found = json_object_array_get_idx(job->reached, (size_t)h);
        const double least = 1e-9 * (info_number(found, "entered_ns") - info_number(first, "left_ns")),
                     most = 1e-9 * (info_number(found, "left_ns") - info_number(first, "entered_ns"));
        const int rank = (int)info_number(found, "rank");
        if (!found || (least < CLOCK_OFFSET_S && most > -CLOCK_OFFSET_S))
            continue;
        told++;
        doctor_tell(job, DOCTOR_WARN, &rank, 1, "the clock of %s is %.3f s %s rank 0's", info_text(found, "host"),
                    fabs(least + most) / 2, least > 0 ? "ahead of" : "behind");
    }
    if (!told)
        doctor_tell(job, DOCTOR_OK, NULL, 0, "the hosts' clocks agree to 0.1 s");
}

/* ---- settings ---- */

/* Check rank 0's settings for a job of this size. */
void doctor_job_settings(struct doctor_job *job)
{
    struct hx_job facts = {.nranks = job->size, .ranks_per_cpu = 1};
    char error[HX_TOPO_ERROR_BYTES] = "";
    struct hx_planner planner;
    struct hx_shape *shape;
    struct hx_env env;

    hx_env_load(&env, NULL); /* a bad value is a finding of the rank */
    facts.single_copy = env.single_copy;
    for (int rank = 0; rank < job->size; rank++)
        facts.single_copy &= !job->told[rank] || fact(job, rank, "single_copy");
    if (!(shape = env.nodes ? hx_shape_emulate(env.nodes, job->size, error) : hx_shape_from_nodes(job->host_of, job->size))) {
        doctor_tell(job, DOCTOR_FAIL, NULL, 0, "HX_NODES=%s: %s", env.nodes ? env.nodes : "0", error);
    } else if (env.ring_order && strcmp(env.ring_order, "rank") != 0 && strcmp(env.ring_order, "auto") != 0) {
        int *order = malloc((size_t)shape->nnodes * sizeof(*order));
        if (order && hx_ring_order_parse(env.ring_order, shape->nnodes, order, error, sizeof(error)) < 0)
            doctor_tell(job, DOCTOR_FAIL, NULL, 0, "HX_RING_ORDER=%s: %s", env.ring_order, error);
        free(order);
    }
    if (shape && env.node_groups && hx_node_groups_set(shape, env.node_groups, error, sizeof(error)) < 0)
        doctor_tell(job, DOCTOR_FAIL, NULL, 0, "HX_NODE_GROUPS=%s: %s", env.node_groups, error);
    if (shape && hx_planner_init(&planner, &env, shape, 0, &facts, NULL) == HX_SUCCESS)
        hx_planner_release(&planner);
    else if (shape)
        doctor_tell(job, DOCTOR_FAIL, NULL, 0, "%s", hx_last_detail());
    hx_shape_free(shape);
    hx_env_release(&env);
}
