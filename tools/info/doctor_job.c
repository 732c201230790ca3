/* SPDX-License-Identifier: BSD-3-Clause */
/* What only all ranks together tell: cores and ranks, binding, memory, differences, and the way between hosts. */
#include "tools/info/doctor.h"
#include "hier/planner.h"
#include "runtime/base/files.h"
#include "topo/ring_order.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RANK_BYTES ((int64_t)128 << 20) /* endpoint, segment and the library itself */
#define CLOCK_OFFSET_S 0.1
#define NAMES_MAX 8 /* differing variables, and lost ways, that are told */

static int64_t fact(const struct doctor_job *job, int rank, const char *key)
{
    return info_number(job->ranks[rank].told, key);
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
        for (int k = i + 1; k < host->n; k++) {
            const int64_t core = fact(job, host->ranks[i], "core");
            if (core < 0 || core != fact(job, host->ranks[k], "core"))
                continue;
            doctor_tell(job, DOCTOR_WARN, (int[]){host->ranks[i], host->ranks[k]}, 2, "bound to the same core, while others are free");
            return;
        }
}

void doctor_memory(struct doctor_job *job, const struct doctor_host *host)
{
    const int64_t bytes = fact(job, host->ranks[0], "memory_bytes");

    if (bytes > 0 && bytes / host->n < RANK_BYTES)
        doctor_tell(job, DOCTOR_WARN, host->ranks, host->n,
                    "%lld MiB for %d ranks (machine or control group), less than %lld MiB for each", (long long)(bytes >> 20), host->n,
                    (long long)(RANK_BYTES >> 20));
}

void doctor_files(struct doctor_job *job, const struct doctor_host *host)
{
    const int64_t limit = fact(job, host->ranks[0], "files");
    const int needed = hx_files_needed(host->n);

    if (limit < needed)
        doctor_tell(job, limit < 2 * host->n ? DOCTOR_FAIL : DOCTOR_WARN, host->ranks, host->n,
                    "%lld open files are allowed at most, and while %d ranks meet one of them needs some %d", (long long)limit, host->n,
                    needed);
}

/* ---- differences ---- */

static const char *env_of(const struct doctor_job *job, int rank, const char *name)
{
    return json_object_get_string(info_member(info_member(job->ranks[rank].told, "env"), name));
}

/* Has the rank rank 0's value? */
static int is_alike(const struct doctor_job *job, int rank, const char *name)
{
    const char *first = env_of(job, 0, name), *value = env_of(job, rank, name);

    return value == first || (value && first && !strcmp(value, first));
}

/* Tell the first rank whose value is not rank 0's, and how many there are. */
static int variable_compare(struct doctor_job *job, const char *name)
{
    int n = 0;

    for (int rank = 1; rank < job->size; rank++)
        if (job->ranks[rank].told && !is_alike(job, rank, name))
            job->list[n++] = rank;
    if (!n)
        return 0;
    const char *first = env_of(job, 0, name), *other = env_of(job, job->list[0], name);
    doctor_tell(job, DOCTOR_WARN, job->list, n, "%s is %s here, but %s on rank 0", name, other ? other : "unset", first ? first : "unset");
    return 1;
}

void doctor_environment(struct doctor_job *job)
{
    struct json_object *names = json_object_new_object();
    int differ = 0;

    for (int rank = 0; rank < job->size; rank++) {
        struct json_object *env = info_member(job->ranks[rank].told, "env");
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
        const char *key, *what, *settable; /* rank 0's value of this setting will hold on all: that others differ is told already */
    } facts[] = {{"version", "Hierax", NULL}, {"provider", "provider", "HX_PROVIDER"}};

    for (int i = 0; i < 2; i++)
        for (int rank = 1; rank < job->size; rank++) {
            const char *first = info_text(job->ranks[0].told, facts[i].key), *other = info_text(job->ranks[rank].told, facts[i].key);
            if (!job->ranks[rank].told || !strcmp(first, other) || (facts[i].settable && !is_alike(job, rank, facts[i].settable)))
                continue;
            doctor_tell(job, DOCTOR_FAIL, &rank, 1, "%s \"%s\" here, but \"%s\" on rank 0", facts[i].what, other, first);
            break;
        }
}

/* ---- between hosts ---- */

/* Visit what hosts found of each other: visit tells what is wrong, and returns 1 then. If nothing is, tell that, by format with the
 * number of connections. */
static void reached_visit(struct doctor_job *job, int (*visit)(struct doctor_job *, int from, struct json_object *found),
                          const char *untried, const char *fine)
{
    const size_t asked = json_object_array_length(job->reached);
    int told = 0;

    for (size_t i = 0; i < asked && told < NAMES_MAX; i++) {
        struct json_object *found = json_object_array_get_idx(job->reached, i);
        told += visit(job, (int)info_number(found, "from"), found);
    }
    if (job->hosts == 1)
        doctor_tell(job, DOCTOR_OK, NULL, 0, "one host");
    else if (!asked)
        doctor_tell(job, DOCTOR_WARN, NULL, 0, "not %s: the %d hosts' ranks did not meet again for it", untried, job->hosts);
    else if (!told)
        doctor_tell(job, DOCTOR_OK, NULL, 0, "%s", fine);
}

static int way_visit(struct doctor_job *job, int from, struct json_object *found)
{
    const char *error = info_text(found, "error");

    if (*error)
        doctor_tell(job, DOCTOR_FAIL, &from, 1, "no TCP connection to %s (%s): %s", info_text(found, "host"),
                    info_text(found, "address"), error);
    return *error != 0;
}

void doctor_firewall(struct doctor_job *job)
{
    char fine[96];

    snprintf(fine, sizeof(fine), "%zu TCP connections between %d hosts", json_object_array_length(job->reached), job->hosts);
    reached_visit(job, way_visit, "tried", fine);
}

static int clock_visit(struct doctor_job *job, int from, struct json_object *found)
{
    const double offset = info_real(found, "offset_s");

    if (fabs(offset) < CLOCK_OFFSET_S)
        return 0;
    doctor_tell(job, DOCTOR_WARN, &from, 1, "the clock of %s is %.3f s %s", info_text(found, "host"), fabs(offset),
                offset > 0 ? "ahead" : "behind");
    return 1;
}

void doctor_time(struct doctor_job *job)
{
    reached_visit(job, clock_visit, "compared", "the hosts' clocks agree to 0.1 s");
}

/* ---- settings ---- */

/* As the job's ranks are spread, or emulated. NULL with why not in error. */
static struct hx_shape *shape_of(const struct doctor_job *job, const char *nodes, char error[HX_TOPO_ERROR_BYTES])
{
    char *text = NULL;
    size_t bytes;
    FILE *out = nodes ? NULL : open_memstream(&text, &bytes);

    if (nodes)
        return hx_shape_emulate(nodes, job->size, error);
    for (int h = 0; out && h < job->hosts; h++) {
        int n = 0;
        for (int rank = 0; rank < job->size; rank++)
            n += job->ranks[rank].host_idx == h;
        fprintf(out, "%s%d", h ? "," : "", n);
    }
    if (out)
        fclose(out);
    struct hx_shape *shape = hx_shape_parse(text ? text : "", error);
    free(text);
    return shape;
}

/* What rank 0's settings want of a job of this size. */
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
        facts.single_copy &= !job->ranks[rank].told || fact(job, rank, "single_copy");
    if (!(shape = shape_of(job, env.nodes, error))) {
        doctor_tell(job, DOCTOR_FAIL, NULL, 0, "HX_NODES=%s: %s", env.nodes ? env.nodes : "0", error);
    } else if (env.ring_order && strcmp(env.ring_order, "rank") != 0 && strcmp(env.ring_order, "auto") != 0) {
        int *order = malloc((size_t)shape->nnodes * sizeof(*order));
        if (order && hx_ring_order_parse(env.ring_order, shape->nnodes, order, error, sizeof(error)) < 0)
            doctor_tell(job, DOCTOR_FAIL, NULL, 0, "HX_RING_ORDER=%s: %s", env.ring_order, error);
        free(order);
    }
    if (shape && hx_planner_init(&planner, &env, shape, 0, &facts, NULL) == HX_SUCCESS)
        hx_planner_release(&planner);
    else if (shape)
        doctor_tell(job, DOCTOR_FAIL, NULL, 0, "%s", hx_last_detail());
    hx_shape_free(shape);
    hx_env_release(&env);
}
