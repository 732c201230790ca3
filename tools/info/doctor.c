/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_info --doctor: the examination of one rank, and the meeting of all. See doctor.h. */
#include "tools/info/doctor.h"
#include "runtime/bootstrap/bootstrap.h"
#include "runtime/base/error.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK_SECONDS 10.0 /* of one check */
#define MEET_SECONDS 60.0  /* for the others, or HX_TIMEOUT where that is less */
#define ALL_SECONDS 240    /* of everything: then this process ends, whatever holds it */
#define PIDS_REMEDY "docker run --pids-limit; systemd TasksMax="

const struct doctor_check doctor_checks_here[] = {
    {"settings", doctor_settings, "a bad value makes hx_init fail; an unknown name is ignored",
     "coll_info, and correct or unset the variable"},
    {"libfabric", doctor_libfabric, "Hierax talks between nodes through libfabric",
     "apt-get install libfabric1; ldconfig -p | grep libfabric"},
    {"provider", doctor_provider,
     "the provider is libfabric's driver for a kind of network: without one a job of several nodes cannot "
     "start, with a wrong one it is slow",
     "fi_info -l; apt-get install libfabric1"},
    {"congestion", doctor_congestion,
     "a congestion control that spaces packets out by timers holds up the long messages of a fast local network",
     "sysctl -w net.ipv4.tcp_congestion_control=cubic"},
    {"memlock", doctor_memlock,
     "a network card that reads memory itself needs it locked; registration fails beyond the limit",
     "echo '* - memlock unlimited' > /etc/security/limits.d/hierax.conf, and log in again; Slurm: "
     "PropagateResourceLimitsExcept=MEMLOCK "
     "and LimitMEMLOCK=infinity for slurmd; in a container: --ulimit memlock=-1"},
    {"huge pages", doctor_huge_pages, "locked memory, huge pages and fork together need help of kernel or library",
     "env | grep -E 'FI_EFA|RDMAV'"},
    {"memfd", doctor_memfd, "ranks of a node share one sealed memfd segment: without it no job starts",
     "in a container: --security-opt seccomp=unconfined; or a kernel with CONFIG_MEMFD_CREATE"},
    {"cma", doctor_cma,
     "a read straight out of another rank's memory saves a copy within a node; where it is denied all data goes "
     "through "
     "the shared segment, and all works",
     "in a container: --cap-add SYS_PTRACE; else strace -e process_vm_readv to see who refuses"},
    {"shm", doctor_shm, "Hierax does not need /dev/shm; libraries beside it do (UCX, NCCL, PyTorch's loaders)",
     "mount -o remount,size=8G /dev/shm; in a container: --shm-size=8g"},
    {"cpu quota", doctor_quota,
     "a control group that has used its quota up stands still for the rest of the period: calls take up to "
     "100 ms longer",
     "fewer ranks; or raise the limit: docker run --cpus, Kubernetes limits.cpu"},
    {"pids", doctor_pids, "a rank or thread beyond the limit cannot be made: start-up fails, or fork in the program",
     PIDS_REMEDY},
    {"clock", doctor_clock, "time-outs, waiting and measurements look at the clock all the time",
     "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource"},
    {"start", doctor_start, "what fails here fails in the same way in a program", "see the fails above"},
    {NULL, NULL, NULL, NULL},
};

#define CHECKS ((int)(sizeof(doctor_checks_here) / sizeof(doctor_checks_here[0])) - 1)

/* What one rank has found, where its children can write it. */
struct examination {
    struct doctor_facts facts;
    struct doctor_finding findings[CHECKS];
};

static const char *under_way = "the start";

/* ---- one check ---- */

void doctor_find(struct doctor_finding *f, enum doctor_grade grade, const char *remedy, const char *format, ...)
{
    size_t used = f->text[0] && grade == f->grade ? strlen(f->text) : 0;
    va_list args;

    if (f->text[0] && grade < f->grade)
        return;
    f->grade = grade;
    if (used && used + 2 < sizeof(f->text))
        used += (size_t)snprintf(f->text + used, sizeof(f->text) - used, "; ");
    va_start(args, format);
    vsnprintf(f->text + used, sizeof(f->text) - used, format, args);
    va_end(args);
    if (!used || !f->remedy[0])
        snprintf(f->remedy, sizeof(f->remedy), "%s", remedy ? remedy : "");
}

void doctor_read_line(const char *path, char *line, size_t capacity)
{
    FILE *in = fopen(path, "re");

    if (!in || !fgets(line, (int)capacity, in))
        line[0] = 0;
    line[strcspn(line, "\n")] = 0;
    if (in)
        fclose(in);
}

/* What is wrong is a finding, and the library's own word for it would be said twice. Returns what restores stderr. */
static int stderr_silence(void)
{
    int kept = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    fflush(stderr);
    if (null >= 0) {
        dup2(null, STDERR_FILENO);
        close(null);
    }
    return kept;
}

static void stderr_restore(int kept)
{
    if (kept >= 0) {
        dup2(kept, STDERR_FILENO);
        close(kept);
    }
}

int doctor_try(int (*attempt)(void *), void *ctx, double seconds)
{
    pid_t child = fork();
    int status = 0;
    pid_t ended = 0;

    if (child == 0) {
        signal(SIGALRM, SIG_DFL);
        _exit(attempt(ctx));
    }
    if (child < 0)
        return DOCTOR_UNTRIED;
    for (double slept = 0; (ended = waitpid(child, &status, WNOHANG)) == 0 && slept < seconds; slept += 1e-3)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (ended == 0) {
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        return DOCTOR_LATE;
    }
    if (ended < 0)
        return DOCTOR_UNTRIED;
    return WIFEXITED(status) ? WEXITSTATUS(status) : DOCTOR_KILLED + WTERMSIG(status);
}

void doctor_find_untried(struct doctor_finding *f)
{
    doctor_find(f, DOCTOR_FAIL, PIDS_REMEDY, "the check cannot be tried: fork: %s", strerror(errno));
}

struct attempt {
    struct examination *e;
    int check;
};

static int check_run(void *ctx)
{
    struct attempt *a = ctx;

    stderr_silence();
    doctor_checks_here[a->check].examine(&a->e->facts, &a->e->findings[a->check]);
    return 0;
}

/* hwloc asks drivers too: it may hang or crash as they do. */
static int place_find(void *ctx)
{
    struct doctor_facts *facts = ctx;
    char error[HX_TOPO_ERROR_BYTES];
    struct hx_topo *topo;

    if (hx_topo_open(NULL, NULL, &topo, error) < 0)
        return 1;
    hx_topo_place(topo, &facts->place);
    facts->placed = 1;
    return 0;
}

static void examine(struct examination *e)
{
    struct rlimit files = {0};

    getrlimit(RLIMIT_NOFILE, &files);
    e->facts.files = files.rlim_max;
    if (doctor_try(place_find, &e->facts, CHECK_SECONDS) != 0)
        e->facts.placed = 0;
    if (!e->facts.place.hostname[0])
        gethostname(e->facts.place.hostname, sizeof(e->facts.place.hostname));
    for (int c = 0; c < CHECKS; c++) {
        struct attempt attempt = {e, c};
        under_way = doctor_checks_here[c].name;
        int result = doctor_try(check_run, &attempt, CHECK_SECONDS);
        if (result >= DOCTOR_UNTRIED)
            doctor_find_untried(&e->findings[c]);
        else if (result >= DOCTOR_LATE)
            doctor_find(&e->findings[c], DOCTOR_FAIL, NULL, "the check has not ended within %g s", CHECK_SECONDS);
        else if (result >= DOCTOR_KILLED)
            doctor_find(&e->findings[c], DOCTOR_FAIL, NULL, "the check's process was ended by: %s",
                        strsignal(result - DOCTOR_KILLED));
    }
}

/* ---- what a rank tells ---- */

static struct json_object *examination_tell(const struct examination *e, int rank, int port)
{
    struct json_object *o = json_object_new_object(), *findings = json_object_new_array();
    const struct hx_place *place = &e->facts.place;
    char cpus[HX_PLACE_MASK_WORDS * 16 + 1] = "";

    for (int i = 0; i < HX_PLACE_MASK_WORDS; i++)
        snprintf(cpus + 16 * i, 17, "%016llx", (unsigned long long)place->bound_mask[i]);
    json_add_int(o, "rank", rank);
    json_add_text(o, "version", hx_version());
    json_add_text(o, "host", place->hostname);
    json_add_int(o, "placed", e->facts.placed);
    json_add_text(o, "cpus", cpus);
    json_add_int(o, "allowed_cpus", place->allowed_cpus);
    json_add_int(o, "bound_cpus", place->bound_cpus);
    json_add_int(o, "core", place->core);
    json_add_real(o, "quota_cpus", "%.6g", place->quota_cpus);
    json_add_int(o, "memory_bytes", (int64_t)place->memory_limit_bytes);
    json_add_int(o, "files", e->facts.files > INT64_MAX ? INT64_MAX : (int64_t)e->facts.files);
    json_add_int(o, "single_copy", e->facts.single_copy);
    json_add_text(o, "provider", e->facts.provider);
    json_add_text(o, "address", e->facts.address);
    json_add_int(o, "port", port);
    json_object_object_add(o, "env", doctor_env());
    for (int c = 0; c < CHECKS; c++) {
        struct json_object *f = json_object_new_object();
        json_add_int(f, "grade", e->findings[c].grade);
        json_add_text(f, "text", e->findings[c].text);
        if (e->findings[c].remedy[0])
            json_add_text(f, "remedy", e->findings[c].remedy);
        json_object_array_add(findings, f);
    }
    json_object_object_add(o, "findings", findings);
    return o;
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

/* ---- the meeting ---- */

struct meeting {
    struct hx_boot *boot; /* NULL: this rank is alone */
    int rank, size, listener, port;
    char failed[HX_DETAIL_BYTES]; /* what of the meeting has failed; "": nothing */
};

/* Hosts in order of their lowest ranks; and these, with where they listen. */
static struct json_object *hosts_pick(struct doctor_job *job)
{
    struct json_object *picked = json_object_new_array();

    for (int rank = 0; rank < job->size; rank++) {
        struct doctor_rank *r = &job->ranks[rank];
        int h = 0;
        r->host = r->told ? doctor_member(r->told, "host") : "";
        while (h < job->hosts && strcmp(doctor_member(json_object_array_get_idx(picked, (size_t)h), "host"), r->host))
            h++;
        r->host_idx = h;
        if (h < job->hosts)
            continue;
        struct json_object *o = json_object_new_object();
        json_add_int(o, "rank", rank);
        json_add_text(o, "host", r->host);
        json_add_text(o, "address", r->told ? doctor_member(r->told, "address") : "");
        json_add_int(o, "port", r->told ? doctor_number(r->told, "port") : 0);
        json_object_array_add(picked, o);
        job->hosts++;
    }
    return picked;
}

/* This rank's part between the second and the third fence, if it was picked. */
static void hosts_ask(struct meeting *m)
{
    struct json_object *picked = get(m->boot, "hosts", 0);

    for (int h = 0; picked && h < (int)json_object_array_length(picked); h++)
        if (doctor_number(json_object_array_get_idx(picked, (size_t)h), "rank") == m->rank) {
            struct json_object *reached = doctor_reach(picked, h);
            put(m->boot, "reach", h ? m->rank : 0, reached);
            json_object_put(reached);
        }
    json_object_put(picked);
}

static hx_status_t job_meet(struct meeting *m, struct json_object *own, struct doctor_job *job)
{
    hx_status_t status = put(m->boot, "doctor", m->rank, own);
    struct json_object *picked = NULL;
    pid_t server;

    if (status != HX_SUCCESS || (status = hx_boot_fence(m->boot)) != HX_SUCCESS)
        return status;
    server = m->listener >= 0 ? doctor_serve(m->listener) : -1;
    for (int rank = 0; m->rank == 0 && rank < m->size; rank++)
        job->ranks[rank].told = rank ? get(m->boot, "doctor", rank) : json_object_get(own);
    if (m->rank == 0) {
        picked = hosts_pick(job);
        put(m->boot, "hosts", 0, picked);
    }
    if ((status = hx_boot_fence(m->boot)) == HX_SUCCESS) {
        hosts_ask(m);
        status = hx_boot_fence(m->boot);
    }
    for (int h = 0; m->rank == 0 && status == HX_SUCCESS && h < job->hosts; h++)
        json_object_array_add(job->reached,
                              get(m->boot, "reach",
                                  (int)doctor_number(json_object_array_get_idx(picked, (size_t)h), "rank")));
    if (server > 0) {
        kill(server, SIGKILL);
        waitpid(server, NULL, 0);
    }
    json_object_put(picked);
    return status;
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
static void meeting_open(struct meeting *m)
{
    struct hx_env env;
    int kept = stderr_silence();

    hx_env_load(&env, NULL); /* what is bad in it is a finding already */
    if (env.timeout <= 0 || env.timeout > MEET_SECONDS)
        env.timeout = MEET_SECONDS;
    if (hx_boot_open(&env, NULL, &m->boot) == HX_SUCCESS) {
        m->rank = hx_boot_rank(m->boot);
        m->size = hx_boot_size(m->boot);
    } else {
        snprintf(m->failed, sizeof(m->failed), "%s", hx_last_detail());
        m->rank = doctor_own_rank();
    }
    hx_env_release(&env);
    stderr_restore(kept);
}

static void late(int sig)
{
    static const char text[] = "coll_info: the examination has not ended; it was at: ";

    (void)sig;
    if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0 || write(STDERR_FILENO, under_way, strlen(under_way)) < 0 ||
        write(STDERR_FILENO, "\n", 1) < 0)
        _exit(1);
    _exit(1);
}

static int report(const struct info_options *options, struct doctor_job *job, const struct meeting *m)
{
    int fails;

    if (m->failed[0])
        doctor_tell(job, "launcher", DOCTOR_FAIL, &m->rank, 1, m->failed,
                    "the ranks of a job must meet to start, here within 60 s or HX_TIMEOUT; the findings are of one rank",
                    "srun --mpi=pmi2, or coll_run; and see that every rank lives");
    doctor_merge(job);
    for (const struct doctor_job_check *check = doctor_checks_job; check->name; check++)
        check->examine(job, check);
    fails = doctor_print(job, options->json);
    if (fflush(stdout) || ferror(stdout)) {
        perror("coll_info: standard output");
        return 1;
    }
    return fails > 0;
}

int doctor_run(const struct info_options *options)
{
    struct examination *e = mmap(NULL, sizeof(*e), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct meeting m = {.size = 1, .listener = -1};
    struct doctor_job job = {0};
    int status = 0;

    if (e == MAP_FAILED) {
        perror("coll_info: no memory for the examination");
        return 1;
    }
    signal(SIGCHLD, SIG_DFL); /* ignored by a parent, it would take the checks' exit statuses away */
    signal(SIGALRM, late);
    alarm(ALL_SECONDS);
    examine(e);
    under_way = "meeting the other ranks";
    meeting_open(&m);
    m.listener = doctor_listen(&m.port);
    struct json_object *own = examination_tell(e, m.rank, m.port);
    job = (struct doctor_job){.size = m.size,
                              .ranks = calloc((size_t)m.size, sizeof(*job.ranks)),
                              .report = json_object_new_array(),
                              .reached = json_object_new_array()};
    int kept = stderr_silence();
    if (m.boot && m.size > 1 && job.ranks && job_meet(&m, own, &job) != HX_SUCCESS)
        snprintf(m.failed, sizeof(m.failed), "%s", hx_last_detail());
    stderr_restore(kept);
    if (m.rank == 0 && job.ranks) {
        if (!job.hosts) { /* alone, or left alone */
            job.size = 1;
            job.ranks[0].told = json_object_get(own);
            json_object_put(hosts_pick(&job));
        }
        status = report(options, &job, &m);
    }
    if (m.boot)
        hx_boot_close(m.boot, !m.failed[0]);
    if (m.listener >= 0)
        close(m.listener);
    for (int rank = 0; job.ranks && rank < m.size; rank++)
        json_object_put(job.ranks[rank].told);
    free(job.ranks);
    json_object_put(job.report);
    json_object_put(job.reached);
    json_object_put(own);
    munmap(e, sizeof(*e));
    return status;
}
