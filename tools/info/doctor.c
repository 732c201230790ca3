/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_info --doctor: what a rank tells, and the meeting of all. See doctor.h. */
#include "tools/info/doctor.h"
#include "runtime/base/clock.h"
#include "runtime/bootstrap/root.h"
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECT_SECONDS 3
#define MEET_SECONDS 60.0 /* for the others, or HX_TIMEOUT where that is less */
#define ALL_SECONDS 240   /* of everything: then this process ends, whatever holds it */

static struct doctor_exam *exam; /* of this rank, where its children can write it */

/* At any address of this host; the kernel takes connections. Returns the port, where IPv4 and IPv6 have it; 0: there is none. */
static int host_listen(void)
{
    struct sockaddr_in6 any6 = {.sin6_family = AF_INET6}, bound;
    struct sockaddr_in any4 = {.sin_family = AF_INET};
    struct addrinfo ipv4 = {.ai_addr = (struct sockaddr *)&any4, .ai_addrlen = sizeof(any4)}; /* of a host without IPv6 */
    struct addrinfo both = {.ai_addr = (struct sockaddr *)&any6, .ai_addrlen = sizeof(any6), .ai_next = &ipv4};
    const struct hx_root root = {.addresses = &both};
    socklen_t length = sizeof(bound);
    const int fd = hx_root_listen(&root, 1);

    return fd >= 0 && getsockname(fd, (struct sockaddr *)&bound, &length) == 0 ? ntohs(bound.sin6_port) : 0;
}

static struct json_object *spin_tell(const struct doctor_spin *spin)
{
    return info_new("cpu=%d got=%g delay_ms=%g switches=%d busy=%d rival=%d rival_got=%g command=%s", spin->cpu, spin->got,
                    spin->delay_ms, (int)spin->switches, spin->is_busy, spin->rival, spin->rival_got, spin->command);
}

static struct json_object *exam_tell(void)
{
    const struct hx_place *place = &exam->place;
    struct json_object *cpus = json_object_new_array();
    struct rlimit files = {0};

    getrlimit(RLIMIT_NOFILE, &files); /* start-up raises the soft limit to the hard one */
    for (int i = 0; i < HX_PLACE_MASK_WORDS; i++)
        json_object_array_add(cpus, json_object_new_int64((int64_t)place->bound_mask[i]));
    return info_new("version=%s host=%s cpus=%p allowed_cpus=%d bound_cpus=%d core=%d quota_cpus=%g memory_bytes=%zu files=%d "
                    "single_copy=%d provider=%s interface=%s address=%s port=%d numa=%d memory_numa=%d nic_numa=%d nic_cpus=%d spin=%p "
                    "env=%p findings=%p",
                    hx_version(), place->hostname, cpus, place->allowed_cpus, place->bound_cpus, place->core, place->quota_cpus,
                    place->memory_limit_bytes, files.rlim_max > INT32_MAX ? INT32_MAX : (int)files.rlim_max, exam->single_copy,
                    exam->provider, exam->nic.name, exam->address, host_listen(), place->numa_os, exam->memory_numa, exam->nic_numa,
                    exam->nic_cpus, spin_tell(&exam->spin), doctor_env(), doctor_findings(exam));
}

static hx_status_t put(struct hx_boot *boot, const char *name, int rank, struct json_object *o)
{
    const char *text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN);
    char key[40];

    snprintf(key, sizeof(key), "%s.%d", name, rank);
    return hx_boot_put(boot, key, text, strlen(text) + 1);
}

/* NULL: it is not there, or no JSON. */
static struct json_object *get(struct hx_boot *boot, const char *name, int rank)
{
    struct json_object *o = NULL;
    void *text = NULL;
    size_t bytes;
    char key[40];

    snprintf(key, sizeof(key), "%s.%d", name, rank);
    if (hx_boot_get(boot, key, &text, &bytes) == HX_SUCCESS && bytes && !((char *)text)[bytes - 1])
        o = json_tokener_parse(text);
    free(text);
    return o;
}

/* ---- between hosts: is there a way through for a TCP connection? */

/* 0, or an errno. */
static int way_try(const char *address, const char *port)
{
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
    const struct timeval limit = {.tv_sec = CONNECT_SECONDS};
    struct addrinfo *list;
    int error = 0;

    if (getaddrinfo(address, port, &hints, &list) != 0)
        return EADDRNOTAVAIL;
    const int fd = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)); /* of connect too */
    if (fd < 0 || connect(fd, list->ai_addr, list->ai_addrlen) < 0)
        error = errno == EINPROGRESS ? ETIMEDOUT : errno;
    if (fd >= 0)
        close(fd);
    freeaddrinfo(list);
    return error;
}

/* This is number me of the picked ranks. With more than 8 hosts each asks those 1, 2, 4, ... after it: every host is asked, from
 * many sides. */
static struct json_object *hosts_reach(struct json_object *peers, int me)
{
    struct json_object *own = json_object_array_get_idx(peers, (size_t)me), *lost = json_object_new_array();
    const int n = (int)json_object_array_length(peers);
    int asked = 0;

    for (int step = 1; step < n; step = n <= 8 ? step + 1 : 2 * step, asked++) {
        struct json_object *peer = json_object_array_get_idx(peers, (size_t)((me + step) % n));
        const char *address = info_text(peer, "address");
        const int error = way_try(address, info_text(peer, "port"));
        if (error)
            json_object_array_add(lost, info_new("host=%s address=%s error=%s", info_text(peer, "host"), address, strerror(error)));
    }
    return info_new("rank=%d host=%s asked=%d lost=%p", (int)info_number(own, "rank"), info_text(own, "host"), asked, lost);
}

/* ---- the meeting */

/* Number the hosts in order of their lowest ranks. Returns these, with where they listen. */
static struct json_object *hosts_pick(struct doctor_job *job)
{
    struct json_object *picked = json_object_new_array();

    for (int rank = 0; rank < job->size; rank++) {
        struct json_object *told = job->told[rank];
        const char *host = info_text(told, "host");
        int h = 0;
        while (h < job->hosts && strcmp(info_text(json_object_array_get_idx(picked, (size_t)h), "host"), host))
            h++;
        job->host_of[rank] = h;
        if (h < job->hosts)
            continue;
        json_object_array_add(picked, info_new("rank=%d host=%s address=%s port=%d", rank, host, info_text(told, "address"),
                                               (int)info_number(told, "port")));
        job->hosts++;
    }
    return picked;
}

static int rank_of(struct json_object *picked, int host)
{
    return (int)info_number(json_object_array_get_idx(picked, (size_t)host), "rank");
}

/* The ranks tell; those that rank 0 picks try to reach each other; rank 0 gets what they found. */
static hx_status_t job_meet(struct doctor_job *job, struct json_object *own)
{
    struct json_object *picked = NULL;
    hx_status_t status;

    if ((status = hx_boot_fence(job->boot)) != HX_SUCCESS || (status = put(job->boot, "doctor", job->rank, own)) != HX_SUCCESS)
        return status;
    const uint64_t entered = hx_clock_ns(CLOCK_REALTIME);
    if ((status = hx_boot_fence(job->boot)) != HX_SUCCESS)
        return status;
    const uint64_t left = hx_clock_ns(CLOCK_REALTIME);
    if (job->rank == 0) {
        for (int rank = 1; rank < job->size; rank++)
            job->told[rank] = get(job->boot, "doctor", rank);
        picked = hosts_pick(job);
        put(job->boot, "hosts", 0, picked);
    }
    if ((status = hx_boot_fence(job->boot)) == HX_SUCCESS) {
        if (job->rank > 0 && (picked = get(job->boot, "hosts", 0)))
            job->hosts = (int)json_object_array_length(picked);
        for (int h = 0; picked && h < (int)json_object_array_length(picked); h++)
            if (rank_of(picked, h) == job->rank) {
                struct json_object *reached = hosts_reach(picked, h);
                info_add(reached, "entered_ns=%lu left_ns=%lu", entered, left);
                put(job->boot, "reach", job->rank, reached);
                json_object_put(reached);
            }
        status = hx_boot_fence(job->boot);
    }
    for (int h = 0; job->rank == 0 && status == HX_SUCCESS && h < job->hosts; h++)
        json_object_array_add(job->reached, get(job->boot, "reach", rank_of(picked, h)));
    json_object_put(picked);
    return status;
}

int doctor_agree(struct doctor_job *job, int value)
{
    struct json_object *told = info_new("value=%d", value);

    if (job->rank == 0)
        put(job->boot, "agreed", 0, told);
    json_object_put(told);
    told = hx_boot_fence(job->boot) == HX_SUCCESS ? get(job->boot, "agreed", 0) : NULL;
    value = told ? (int)info_number(told, "value") : -1;
    json_object_put(told);
    return value;
}

int doctor_own_rank(void)
{
    static const char *const names[] = {"HX_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};

    for (int i = 0; i < 4; i++)
        if (hx_env_launcher(names[i]))
            return atoi(hx_env_launcher(names[i]));
    return 0;
}

/* Join the other ranks, where that is possible. */
static void job_open(struct doctor_job *job)
{
    static const char *const quiet[] = {"HX_LOG=error", NULL};
    struct hx_env env;

    hx_env_load(&env, quiet); /* a bad setting is a finding already */
    if (env.timeout <= 0 || env.timeout > MEET_SECONDS)
        env.timeout = MEET_SECONDS;
    if (hx_boot_open(&env, NULL, &job->boot) == HX_SUCCESS) {
        job->rank = hx_boot_rank(job->boot);
        job->size = hx_boot_size(job->boot);
    } else {
        hx_detail_keep(job->failed);
        job->rank = doctor_own_rank();
    }
    hx_env_release(&env);
}

static void late(int sig)
{
    static const char text[] = "coll_info: the doctor has taken too long and stops; the unfinished check is: ";

    (void)sig;
    if (write(STDERR_FILENO, text, sizeof(text) - 1) > 0 && write(STDERR_FILENO, exam->under_way, strlen(exam->under_way)) > 0)
        _exit(write(STDERR_FILENO, "\n", 1) == 1);
    _exit(1);
}

int doctor_run(const struct info_options *options)
{
    struct doctor_job job = {.size = 1, .report = json_object_new_array(), .reached = json_object_new_array()};
    int status = 0;

    exam = mmap(NULL, sizeof(*exam), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (exam == MAP_FAILED) {
        perror("coll_info: no memory for the doctor");
        return 1;
    }
    signal(SIGCHLD, SIG_DFL); /* ignored by a parent, it would take the checks' exit statuses away */
    signal(SIGALRM, late);
    alarm(ALL_SECONDS);
    doctor_examine(exam);
    exam->under_way = "meeting the other ranks";
    hx_fail_hold(); /* errors become findings: the library would report them again */
    job.under_way = &exam->under_way;
    job_open(&job);
    if (job.boot && hx_boot_fence(job.boot) != HX_SUCCESS)
        hx_detail_keep(job.failed);
    doctor_spin(&exam->spin);
    struct json_object *own = exam_tell();
    job.told = calloc((size_t)job.size, sizeof(*job.told));
    job.host_of = calloc((size_t)job.size, sizeof(*job.host_of));
    job.list = calloc((size_t)job.size, sizeof(*job.list));
    if (job.told && job.host_of && job.list) {
        job.told[0] = job.rank == 0 ? json_object_get(own) : NULL;
        if (job.boot && job.size > 1 && !job.failed[0] && job_meet(&job, own) != HX_SUCCESS)
            hx_detail_keep(job.failed);
        if (job.rank == 0 && !job.hosts) { /* alone, or left alone */
            job.size = 1;
            json_object_put(hosts_pick(&job));
        }
        if (job.rank == 0)
            status = doctor_report(&job, options->json) > 0;
        else if (!job.failed[0])
            doctor_links(&job);
        if (fflush(stdout) || ferror(stdout)) {
            perror("coll_info: standard output");
            status = 1;
        }
    }
    if (job.boot)
        hx_boot_close(job.boot, !job.failed[0]);
    for (int rank = 0; job.told && rank < job.size; rank++)
        json_object_put(job.told[rank]);
    free(job.told);
    free(job.host_of);
    free(job.list);
    json_object_put(job.report);
    json_object_put(job.reached);
    json_object_put(own);
    return status;
}
