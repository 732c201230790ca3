/* SPDX-License-Identifier: BSD-3-Clause */
/* What only all ranks together tell: cores and ranks, binding, memory, differences, and the way between hosts. */
#include "tools/info/doctor.h"
#include "hier/planner.h"
#include "runtime/base/files.h"
#include "runtime/base/error.h"
#include "topo/ring_order.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define RANK_BYTES ((int64_t)128 << 20) /* endpoint, segment and the library itself */
#define CLOCK_OFFSET_S 0.1
#define NAMES_MAX 8 /* differing variables that are told */

static void tell(const struct doctor_job *job, const struct doctor_job_check *check, enum doctor_grade grade,
                 const int *ranks, int n, const char *format, ...) __attribute__((format(printf, 6, 7)));

static void tell(const struct doctor_job *job, const struct doctor_job_check *check, enum doctor_grade grade,
                 const int *ranks, int n, const char *format, ...)
{
    char text[4 * DOCTOR_TEXT_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    doctor_tell(job, check->name, grade, ranks, n, text, check->meaning, check->remedy);
}

/* ---- hosts, one after the other ---- */

struct host {
    int *ranks, n; /* that told something, ascending */
    uint64_t cpus[HX_PLACE_MASK_WORDS]; /* on which any of them may run */
    int ncpus;
    double quota;
};

typedef int host_visit_t(const struct doctor_job *job, const struct doctor_job_check *check, const struct host *host);

static void cpus_add(struct host *host, const char *hex)
{
    for (int i = 0; i < HX_PLACE_MASK_WORDS && strlen(hex) >= (size_t)16 * (size_t)(i + 1); i++) {
        char word[17] = "";
        memcpy(word, hex + 16 * i, 16);
        host->cpus[i] |= strtoull(word, NULL, 16);
    }
}

/* Visit every host; where no visit finds anything (returns 0), tell `fine`. */
static void hosts_visit(const struct doctor_job *job, const struct doctor_job_check *check, host_visit_t *visit,
                        const char *fine)
{
    struct host host = {.ranks = malloc((size_t)job->size * sizeof(int))};
    int found = 0;

    for (int h = 0; host.ranks && h < job->hosts; h++) {
        host.n = host.ncpus = 0;
        memset(host.cpus, 0, sizeof(host.cpus));
        host.quota = 0;
        for (int rank = 0; rank < job->size; rank++) {
            struct json_object *told = job->ranks[rank].told, *quota;
            if (job->ranks[rank].host_idx != h || !told)
                continue;
            host.ranks[host.n++] = rank;
            cpus_add(&host, doctor_member(told, "cpus"));
            if (json_object_object_get_ex(told, "quota_cpus", &quota))
                host.quota = json_object_get_double(quota);
        }
        for (int i = 0; i < HX_PLACE_MASK_WORDS; i++)
            host.ncpus += __builtin_popcountll(host.cpus[i]);
        if (host.n)
            found |= visit(job, check, &host);
    }
    if (!found)
        tell(job, check, DOCTOR_OK, NULL, 0, "%s", fine);
    free(host.ranks);
}

static int cores_visit(const struct doctor_job *job, const struct doctor_job_check *check, const struct host *host)
{
    double usable = host->quota > 0 && host->quota < host->ncpus ? host->quota : host->ncpus;

    if (host->ncpus == 0 || host->n <= usable)
        return 0;
    tell(job, check, DOCTOR_WARN, host->ranks, host->n, "%d ranks on %g usable cores%s: %.3g ranks on each", host->n,
         usable, usable < host->ncpus ? " (a quota)" : "", host->n / usable);
    return 1;
}

static void cores_examine(const struct doctor_job *job, const struct doctor_job_check *check)
{
    hosts_visit(job, check, cores_visit, "every rank has a usable core");
}

static int64_t fact(const struct doctor_job *job, int rank, const char *key)
{
    return doctor_number(job->ranks[rank].told, key);
}

static int pinning_visit(const struct doctor_job *job, const struct doctor_job_check *check, const struct host *host)
{
    int64_t allowed = 0, unbound = 0;

    for (int i = 0; i < host->n; i++) {
        int64_t mine = fact(job, host->ranks[i], "allowed_cpus");
        allowed = mine > allowed ? mine : allowed;
        unbound += mine > 1 && fact(job, host->ranks[i], "bound_cpus") == mine;
    }
    if (host->n > 1 && unbound == host->n && host->n <= host->ncpus) {
        tell(job, check, DOCTOR_WARN, host->ranks, host->n, "the ranks are not bound to cores");
        return 1;
    }
    for (int i = 0; host->ncpus < allowed && i < host->n; i++)
        for (int k = i + 1; k < host->n; k++) {
            int64_t core = fact(job, host->ranks[i], "core");
            if (core < 0 || core != fact(job, host->ranks[k], "core"))
                continue;
            tell(job, check, DOCTOR_WARN, (int[]){host->ranks[i], host->ranks[k]}, 2,
                 "bound to the same core, while others are free");
            return 1;
        }
    return 0;
}

static void pinning_examine(const struct doctor_job *job, const struct doctor_job_check *check)
{
    hosts_visit(job, check, pinning_visit,
                job->size > 1 ? "no two ranks are bound to one core while others are free" : "one rank");
}

static int memory_visit(const struct doctor_job *job, const struct doctor_job_check *check, const struct host *host)
{
    int64_t bytes = fact(job, host->ranks[0], "memory_bytes");

    if (bytes <= 0 || bytes / host->n >= RANK_BYTES)
        return 0;
    tell(job, check, DOCTOR_WARN, host->ranks, host->n,
         "%lld MiB for %d ranks (machine or control group), less than %lld MiB for each", (long long)(bytes >> 20),
         host->n, (long long)(RANK_BYTES >> 20));
    return 1;
}

static void memory_examine(const struct doctor_job *job, const struct doctor_job_check *check)
{
    hosts_visit(job, check, memory_visit, "machine and control group have at least 128 MiB for each rank");
}

static int files_visit(const struct doctor_job *job, const struct doctor_job_check *check, const struct host *host)
{
    int64_t limit = fact(job, host->ranks[0], "files");

    if (limit >= hx_files_needed(host->n))
        return 0;
    tell(job, check, limit < 2 * host->n ? DOCTOR_FAIL : DOCTOR_WARN, host->ranks, host->n,
         "%lld open files are allowed at most, and while %d ranks meet one of them needs some %d", (long long)limit, host->n,
         hx_files_needed(host->n));
    return 1;
}

static void files_examine(const struct doctor_job *job, const struct doctor_job_check *check)
{
    hosts_visit(job, check, files_visit, "enough for the ranks of every host");
}

/* ---- differences ---- */

static const char *env_of(const struct doctor_job *job, int rank, const char *name)
{
    struct json_object *env, *value;

    if (!json_object_object_get_ex(job->ranks[rank].told, "env", &env) || !json_object_object_get_ex(env, name, &value))
        return NULL;
    return json_object_get_string(value);
}

/* Has the rank rank 0's value? */
static int is_alike(const struct doctor_job *job, int rank, const char *name)
{
    const char *first = env_of(job, 0, name), *value = env_of(job, rank, name);

    return value == first || (value && first && !strcmp(value, first));
}

/* Tell the first rank whose value is not rank 0's, and how many there are. */
static int variable_compare(const struct doctor_job *job, const struct doctor_job_check *check, const char *name,
                            int *ranks)
{
    const char *first = env_of(job, 0, name), *other = NULL;
    int n = 0;

    for (int rank = 1; rank < job->size; rank++) {
        if (!job->ranks[rank].told || is_alike(job, rank, name))
            continue;
        other = n ? other : env_of(job, rank, name);
        ranks[n++] = rank;
    }
    if (!n)
        return 0;
    tell(job, check, DOCTOR_WARN, ranks, n, "%s is %s%s here, but %s%s on rank 0", name, other ? "" : "unset",
         other ? other : "", first ? "" : "unset", first ? first : "");
    return 1;
}

static void environment_examine(const struct doctor_job *job, const struct doctor_job_check *check)
{
    struct json_object *names = json_object_new_object(), *env;
    int *ranks = malloc((size_t)job->size * sizeof(int)), differ = 0;

    for (int rank = 0; rank < job->size; rank++)
        if (json_object_object_get_ex(job->ranks[rank].told, "env", &env)) {
            json_object_object_foreach(env, name, value) {
                (void)value;
                json_object_object_add(names, name, NULL);
            }
        }
    json_object_object_foreach(names, name, unused) {
        (void)unused;
        if (ranks && differ < NAMES_MAX)
            differ += variable_compare(job, check, name, ranks);
    }
    if (!differ)
        tell(job, check, DOCTOR_OK, NULL, 0, "the HX_, FI_ and RDMAV_ variables that must be alike are alike");
    json_object_put(names);
    free(ranks);
}

static void alike_examine(const struct doctor_job *job, const struct doctor_job_check *check)
{
    static const struct {
        const char *key, *what, *settable; /* rank 0's value of this setting will hold on all: that others differ is told already */
    } facts[] = {{"version", "Hierax", NULL}, {"provider", "provider", "HX_PROVIDER"}};
    int differ = 0;

    for (int i = 0; i < 2; i++)
        for (int rank = 1; rank < job->size; rank++) {
            const char *first = doctor_member(job->ranks[0].told, facts[i].key),
                       *other = doctor_member(job->ranks[rank].told, facts[i].key);
            if (!job->ranks[rank].told || !strcmp(first, other) || (facts[i].settable && !is_alike(job, rank, facts[i].settable)))
                continue;
            tell(job, check, DOCTOR_FAIL, &rank, 1, "%s \"%s\" here, but \"%s\" on rank 0", facts[i].what, other,
                 first);
            differ = 1;
            break;
        }
    if (!differ)
        tell(job, check, DOCTOR_OK, NULL, 0, "all ranks have the same Hierax, and those with rank 0's HX_PROVIDER the same provider");
}

/* ---- between hosts ---- */

/* The picked rank of a host: the lowest. */
static int rank_of_host(const struct doctor_job *job, int h)
{
    for (int rank = 0; rank < job->size; rank++)
        if (job->ranks[rank].host_idx == h)
            return rank;
    return 0;
}

/* Visit what each host found of the others; returns how many it did. */
static int reached_visit(const struct doctor_job *job,
                         void (*visit)(const struct doctor_job *, const struct doctor_job_check *, int rank,
                                       struct json_object *found, int *told),
                         const struct doctor_job_check *check, int *told)
{
    int n = 0;

    for (size_t h = 0; h < json_object_array_length(job->reached); h++) {
        struct json_object *list = json_object_array_get_idx(job->reached, h);
        for (size_t i = 0; list && i < json_object_array_length(list); i++, n++)
            visit(job, check, rank_of_host(job, (int)h), json_object_array_get_idx(list, i), told);
    }
    return n;
}

static void firewall_visit(const struct doctor_job *job, const struct doctor_job_check *check, int rank,
                           struct json_object *found, int *told)
{
    const char *error = doctor_member(found, "error");

    if (!*error || (*told)++ >= NAMES_MAX)
        return;
    tell(job, check, DOCTOR_FAIL, &rank, 1, "no TCP connection to %s (%s): %s", doctor_member(found, "host"),
         doctor_member(found, "address"), error);
}

static void firewall_examine(const struct doctor_job *job, const struct doctor_job_check *check)
{
    int told = 0, asked = reached_visit(job, firewall_visit, check, &told);

    if (asked == 0 && job->hosts > 1)
        tell(job, check, DOCTOR_WARN, NULL, 0, "not tried: the %d hosts' ranks did not meet again for it", job->hosts);
    else if (asked == 0)
        tell(job, check, DOCTOR_OK, NULL, 0, "one host");
    else if (!told)
        tell(job, check, DOCTOR_OK, NULL, 0, "%d TCP connections between %d hosts", asked, job->hosts);
}

static void offset_visit(const struct doctor_job *job, const struct doctor_job_check *check, int rank,
                         struct json_object *found, int *told)
{
    struct json_object *offset;

    if (!json_object_object_get_ex(found, "offset_s", &offset) ||
        fabs(json_object_get_double(offset)) < CLOCK_OFFSET_S || (*told)++ >= NAMES_MAX)
        return;
    tell(job, check, DOCTOR_WARN, &rank, 1, "the clock of %s is %.3f s %s", doctor_member(found, "host"),
         fabs(json_object_get_double(offset)), json_object_get_double(offset) > 0 ? "ahead" : "behind");
}

static void offset_examine(const struct doctor_job *job, const struct doctor_job_check *check)
{
    int told = 0, asked = reached_visit(job, offset_visit, check, &told);

    if (!told && (asked || job->hosts == 1))
        tell(job, check, DOCTOR_OK, NULL, 0, asked ? "the hosts' clocks agree to 0.1 s" : "one host");
    else if (!told)
        tell(job, check, DOCTOR_WARN, NULL, 0, "not compared: the %d hosts' ranks did not meet again for it", job->hosts);
}

/* As the job's ranks are spread, or emulated. NULL with why not in error. */
static struct hx_shape *shape_of(const struct doctor_job *job, const char *nodes, char error[HX_TOPO_ERROR_BYTES])
{
    size_t room = (size_t)job->hosts * 12 + 1, used = 0;
    struct hx_shape *shape;
    char *text;

    if (nodes)
        return hx_shape_emulate(nodes, job->size, error);
    if (!(text = malloc(room))) {
        snprintf(error, HX_TOPO_ERROR_BYTES, "no memory");
        return NULL;
    }
    for (int h = 0; h < job->hosts; h++) {
        int n = 0;
        for (int rank = 0; rank < job->size; rank++)
            n += job->ranks[rank].host_idx == h;
        used += (size_t)snprintf(text + used, room - used, "%s%d", h ? "," : "", n);
    }
    shape = hx_shape_parse(text, error);
    free(text);
    return shape;
}

static int is_single_copy(const struct doctor_job *job)
{
    for (int rank = 0; rank < job->size; rank++)
        if (job->ranks[rank].told && !fact(job, rank, "single_copy"))
            return 0;
    return 1;
}

/* What rank 0's settings want of a job of this size. */
static void job_settings_examine(const struct doctor_job *job, const struct doctor_job_check *check)
{
    struct hx_job facts = {.nranks = job->size, .ranks_per_cpu = 1};
    char error[HX_TOPO_ERROR_BYTES] = "";
    struct hx_planner planner;
    struct hx_shape *shape;
    struct hx_env env;

    if (hx_env_load(&env, NULL) != HX_SUCCESS) {
        hx_env_release(&env); /* a finding of the rank */
        return;
    }
    facts.single_copy = env.single_copy && is_single_copy(job);
    if (!(shape = shape_of(job, env.nodes, error))) {
        tell(job, check, DOCTOR_FAIL, NULL, 0, "HX_NODES=%s: %s", env.nodes ? env.nodes : "0", error);
    } else if (env.ring_order && strcmp(env.ring_order, "rank") != 0 && strcmp(env.ring_order, "auto") != 0) {
        int *order = malloc((size_t)shape->nnodes * sizeof(*order));
        if (order && hx_ring_order_parse(env.ring_order, shape->nnodes, order, error, sizeof(error)) < 0)
            tell(job, check, DOCTOR_FAIL, NULL, 0, "HX_RING_ORDER=%s: %s", env.ring_order, error);
        free(order);
    }
    if (shape && hx_planner_init(&planner, &env, shape, 0, &facts, NULL) == HX_SUCCESS) {
        hx_planner_release(&planner);
    } else if (shape) {
        snprintf(error, sizeof(error), "%.*s", (int)sizeof(error) - 1, hx_last_detail());
        tell(job, check, DOCTOR_FAIL, NULL, 0, "%s", error);
    }
    if (!error[0])
        tell(job, check, DOCTOR_OK, NULL, 0, "nodes, ring order and plans that settings name fit this job");
    hx_shape_free(shape);
    hx_env_release(&env);
}

const struct doctor_job_check doctor_checks_job[] = {
    {"job settings", job_settings_examine, "a number of nodes, a ring order or a plan that does not fit the job makes hx_init fail",
     "correct or unset the variable"},
    {"cores", cores_examine,
     "ranks that share a core take turns: a call waits for the kernel to switch, some 5 to 50 us a round",
     "fewer ranks per node: srun --ntasks-per-node, or coll_run -n; or more cores: srun --cpus-per-task, docker run "
     "--cpus"},
    {"pinning", pinning_examine, "ranks that are not bound move from core to core; two on one core halve each other",
     "srun --cpu-bind=cores; mpirun --bind-to core; coll_run --bind core"},
    {"memory", memory_examine, "the kernel ends a rank when memory is over; an endpoint alone may take 100 MiB",
     "srun --mem, docker run --memory; or fewer ranks per node"},
    {"files", files_examine, "where there are too few start-up fails",
     "ulimit -n 65536; or LimitNOFILE= of the service that starts ranks"},
    {"environment", environment_examine,
     "for HX_ variables rank 0's value holds; others may make ranks choose networks that cannot talk",
     "export the variable on all: srun --export=ALL, mpirun -x, coll_run --env"},
    {"alike", alike_examine, "ranks with different libraries or networks cannot talk: hx_init fails",
     "install the same packages on all hosts; coll_info on each"},
    {"firewall", firewall_examine,
     "ranks whose hosts cannot reach each other cannot talk: hx_init or the first call fails, maybe only after "
     "HX_TIMEOUT",
     "allow all traffic within the job's network: iptables -I INPUT -s NETWORK -j ACCEPT; on AWS: a security group "
     "that allows itself, in and out"},
    {"time", offset_examine, "where clocks differ logs of different hosts do not line up; time-outs are not affected",
     "systemctl enable --now chrony"},
    {NULL, NULL, NULL, NULL},
};
