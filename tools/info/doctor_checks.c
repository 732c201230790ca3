/* SPDX-License-Identifier: BSD-3-Clause */
/* The doctor's checks: one table, and the loops that run it for a rank and for the job, and print what they found. */
#include "tools/info/doctor.h"
#include "topo/cgroup.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK_SECONDS 10 /* of one check */
#define NAME_WIDTH 12    /* of the longest name */
#define PIDS_REMEDY "docker run --pids-limit; systemd TasksMax="

static const struct doctor_check checks[] = {
    {"launcher", "the ranks did not connect within 60 s (or HX_TIMEOUT), so the other checks are of one rank only",
     "start with srun --mpi=pmi2 or coll_run; check that no rank has ended", NULL, .job = doctor_launcher},
    {"settings", "a bad value makes hx_init fail; an unknown name has no effect",
     "correct or unset the variable; coll_info lists names and values", "every HX_ variable is known and has a good value",
     .rank = doctor_settings},
    {"libfabric", "Hierax sends data between nodes through libfabric", "apt-get install libfabric1; ldconfig -p | grep libfabric",
     NULL, .rank = doctor_libfabric},
    {"provider",
     "the provider is libfabric's network driver. Without one, a job on several nodes cannot start. With a wrong one, it is slow",
     "fi_info -l; apt-get install libfabric1", NULL, .rank = doctor_provider},
    {"congestion", "this congestion control spaces packets out by timers, which delays long messages in a fast local network",
     "sysctl -w net.ipv4.tcp_congestion_control=cubic", NULL, .rank = doctor_congestion},
    {"memlock", "an RDMA network card needs locked memory; if the limit is too low, memory registration fails",
     "echo '* - memlock unlimited' > /etc/security/limits.d/hierax.conf, and log in again; Slurm: "
     "PropagateResourceLimitsExcept=MEMLOCK and LimitMEMLOCK=infinity for slurmd; in a container: --ulimit memlock=-1",
     NULL, .rank = doctor_memlock},
    {"huge pages", "locked memory, huge pages and fork work together only with support of the kernel or the library",
     "env | grep -E 'FI_EFA|RDMAV'", NULL, .rank = doctor_huge_pages},
    {"memfd", "ranks of a node share one sealed memfd segment; without it no job starts",
     "in a container: --security-opt seccomp=unconfined; or a kernel with CONFIG_MEMFD_CREATE",
     "a segment can be made, mapped and sealed, and ranks can connect", .rank = doctor_memfd},
    {"cma",
     "a direct read of another rank's memory saves a copy inside a node. If it is denied, Hierax copies all data through the "
     "shared segment",
     "in a container: --cap-add SYS_PTRACE; else run strace -e process_vm_readv to see the error", NULL, .rank = doctor_cma},
    {"shm", "Hierax does not need /dev/shm, but other libraries of the program do (UCX, NCCL, PyTorch's loaders)",
     "mount -o remount,size=8G /dev/shm; in a container: --shm-size=8g", NULL, .rank = doctor_shm},
    {"cpu quota",
     "when a control group has used its quota, its processes stop for the rest of the period: calls take up to 100 ms longer",
     "fewer ranks; or raise the limit: docker run --cpus, Kubernetes limits.cpu", NULL, .rank = doctor_quota},
    {"pids", "above the limit no process or thread can be created: hx_init fails, or a fork of the program fails", PIDS_REMEDY,
     "no limit of a control group", .rank = doctor_pids},
    {"clock", "time-outs, waits and measurements read the clock very often",
     "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource", NULL, .rank = doctor_clock},
    {"start", "hx_init of a program fails in the same way", "fix the failed checks above first", "a job of one rank starts",
     .rank = doctor_start},
    {"job settings", "if a number of nodes, a ring order or a plan does not fit the job, hx_init fails",
     "correct or unset the variable", "nodes, ring order and plans of the settings fit this job", .job = doctor_job_settings},
    {"cores", "ranks that share a core take turns: each round then also takes a context switch, about 5 to 50 us",
     "fewer ranks per node: srun --ntasks-per-node, or coll_run -n; or more cores: srun --cpus-per-task, docker run --cpus",
     "every rank has a usable core", .host = doctor_cores},
    {"pinning", "unbound ranks move between cores; two ranks on one core each get half of it",
     "srun --cpu-bind=cores; mpirun --bind-to core; coll_run --bind core",
     "no two ranks are bound to one core while other cores are free", .host = doctor_pinning},
    {"busy core", "the other ranks wait in each call for a rank that gets only a part of its core",
     "end that process, or move it: taskset -pc CORES PID; bind ranks to other cores; srun --exclusive",
     "no other process computes on the cores of the ranks", .host = doctor_busy},
    {"numa", "access to memory on another NUMA node takes about twice as long, and messages to an interface there take longer",
     "bind a rank and its memory to one node: srun --cpu-bind=cores --mem-bind=local, numactl --localalloc",
     "each rank has its memory on its own NUMA node, and no host can run all its ranks nearer to the interface", .host = doctor_numa},
    {"memory", "the kernel kills a rank when memory runs out", "srun --mem, docker run --memory; or fewer ranks per node",
     "machine and control group have at least 128 MiB for each rank", .host = doctor_memory},
    {"files", "if ulimit -n is too low, hx_init fails", "ulimit -n 65536; or LimitNOFILE= of the service that starts ranks",
     "enough for the ranks of every host", .host = doctor_files},
    {"environment",
     "for HX_ variables, rank 0's value holds. If FI_ or RDMAV_ variables differ, ranks may choose networks that do not connect",
     "export the variable to all ranks: srun --export=ALL, mpirun -x, coll_run --env",
     "every HX_, FI_ or RDMAV_ variable that must be equal on all ranks is equal", .job = doctor_environment},
    {"alike", "if ranks have different versions or providers, they cannot connect: hx_init fails",
     "install the same packages on all hosts; run coll_info on each",
     "all ranks have the same version of Hierax; ranks with the same HX_PROVIDER have the same provider", .job = doctor_alike},
    {"firewall",
     "if a host cannot reach another host, hx_init or the first call fails, maybe only after HX_TIMEOUT",
     "allow all traffic within the job's network: iptables -I INPUT -s NETWORK -j ACCEPT; on AWS: a security group that allows "
     "itself, in and out",
     NULL, .job = doctor_firewall},
    {"time", "if clocks differ, the times in logs of different hosts do not match; time-outs are not affected",
     "systemctl enable --now chrony", NULL, .job = doctor_time},
    {"links", "a collective takes as long as its slowest link",
     "on these hosts: ethtool INTERFACE (speed, duplex), ip -s link (errors), tc qdisc (limits); then the cable and the switch port",
     NULL, .job = doctor_links},
};

#define CHECKS ((int)(sizeof(checks) / sizeof(checks[0])))
_Static_assert(CHECKS <= DOCTOR_CHECKS_MAX, "a finding for each check");

static const char *const grades[] = {"ok", "warn", "fail"};

/* ---- of one rank */

void doctor_find(struct doctor_exam *exam, enum doctor_grade grade, const char *remedy, const char *format, ...)
{
    struct doctor_finding *f = &exam->findings[exam->check];
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

void doctor_read_line(const char *dir, const char *file, char *line, int capacity_bytes)
{
    if (!hx_cgroup_line(dir, file, line, capacity_bytes))
        line[0] = 0;
}

int doctor_try(struct doctor_exam *exam, int (*attempt)(void *), void *ctx, unsigned seconds)
{
    const pid_t child = fork();
    int status = 0;

    if (child == 0) {
        signal(SIGALRM, SIG_DFL);
        alarm(seconds);
        _exit(attempt(ctx));
    }
    if (child < 0 || waitpid(child, &status, 0) < 0) {
        doctor_find(exam, DOCTOR_FAIL, PIDS_REMEDY, "the check cannot run: fork: %s", strerror(errno));
        return -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : DOCTOR_KILLED + WTERMSIG(status);
}

/* In a child: what is wrong is a finding, and the library's own word for it would be said twice. */
static int check_run(void *ctx)
{
    struct doctor_exam *exam = ctx;
    const struct doctor_check *check = &checks[exam->check];

    dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
    check->rank(exam);
    if (!exam->findings[exam->check].text[0] && check->fine)
        doctor_find(exam, DOCTOR_OK, NULL, "%s", check->fine);
    return 0;
}

void doctor_examine(struct doctor_exam *exam)
{
    exam->place.numa_os = exam->memory_numa = exam->nic_numa = -1;
    gethostname(exam->place.hostname, sizeof(exam->place.hostname));
    for (exam->check = 0; exam->check < CHECKS; exam->check++) {
        exam->under_way = checks[exam->check].name;
        const int result = checks[exam->check].rank ? doctor_try(exam, check_run, exam, CHECK_SECONDS) : 0;
        if (result == DOCTOR_KILLED + SIGALRM)
            doctor_find(exam, DOCTOR_FAIL, NULL, "the check did not end within %d s", CHECK_SECONDS);
        else if (result >= DOCTOR_KILLED)
            doctor_find(exam, DOCTOR_FAIL, NULL, "a signal ended the check: %s", strsignal(result - DOCTOR_KILLED));
    }
}

struct json_object *doctor_findings(const struct doctor_exam *exam)
{
    struct json_object *all = json_object_new_object();

    for (int c = 0; c < CHECKS; c++) {
        const struct doctor_finding *f = &exam->findings[c];
        if (checks[c].rank)
            json_object_object_add(all, checks[c].name, info_new("grade=%d text=%s remedy=%s", f->grade, f->text, f->remedy));
    }
    return all;
}

/* ---- of the job */

/* "0-3,5"; NULL without memory. */
static char *ranks_format(const int *ranks, int n)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);

    for (int i = 0, last; out && i < n; i = last + 1) {
        for (last = i; last + 1 < n && ranks[last + 1] == ranks[last] + 1; last++)
            ;
        fprintf(out, "%s%d", i ? "," : "", ranks[i]);
        if (last > i)
            fprintf(out, "-%d", ranks[last]);
    }
    if (out)
        fclose(out);
    return text;
}

/* Equal findings of a check share a row. "list" has its ranks until the check is over; without: all ranks. */
static void row_add(const struct doctor_job *job, enum doctor_grade grade, const int *ranks, int n, const char *text,
                    const char *remedy)
{
    struct json_object *row = NULL, *list;

    for (size_t i = json_object_array_length(job->report); ranks && !row && i-- > 0;) {
        struct json_object *other = json_object_array_get_idx(job->report, i);
        if (json_object_object_get(other, "list") && !strcmp(info_text(other, "found"), text) &&
            !strcmp(info_text(other, "grade"), grades[grade]) && (grade == DOCTOR_OK || !strcmp(info_text(other, "remedy"), remedy)))
            row = other;
    }
    if (!row) {
        row = info_new("check=%s grade=%s ranks=%s hosts=%p found=%s meaning=%s remedy=%s", job->check->name, grades[grade], "all",
                       json_object_new_array(), text, job->check->meaning, grade == DOCTOR_OK ? NULL : remedy);
        json_object_array_add(job->report, row);
        if (ranks)
            info_add(row, "list=%p", json_object_new_array());
    }
    list = json_object_object_get(row, "list");
    for (int i = 0; ranks && i < n; i++)
        json_object_array_add(list, json_object_new_int(ranks[i]));
}

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* The ranks and hosts of a row to which no more are added. */
static void row_finish(const struct doctor_job *job, struct json_object *row)
{
    struct json_object *list = json_object_object_get(row, "list"), *hosts = json_object_object_get(row, "hosts");
    const int n = list ? (int)json_object_array_length(list) : 0;
    int *ranks = calloc((size_t)n + 1, sizeof(*ranks));
    char *seen = calloc((size_t)job->hosts + 1, 1), *text;

    for (int i = 0; ranks && seen && i < n; i++) {
        ranks[i] = json_object_get_int(json_object_array_get_idx(list, (size_t)i));
        const int host = job->host_of[ranks[i]];
        if (!seen[host])
            json_object_array_add(hosts, json_object_new_string(info_text(job->told[ranks[i]], "host")));
        seen[host] = 1;
    }
    if (ranks)
        qsort(ranks, (size_t)n, sizeof(*ranks), by_number);
    if (n && ranks && (text = ranks_format(ranks, n))) {
        info_add(row, "ranks=%s", text);
        free(text);
    }
    json_object_object_del(row, "list");
    free(ranks);
    free(seen);
}

void doctor_tell(struct doctor_job *job, enum doctor_grade grade, const int *ranks, int n, const char *format, ...)
{
    char text[4 * DOCTOR_TEXT_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    row_add(job, grade, ranks, n, text, job->check->remedy);
}

/* Report the ranks' findings. Ranks with the same findings share a row. */
static void ranks_report(struct doctor_job *job)
{
    const char *name = job->check->name;

    for (int first = 0; first < job->size; first++) {
        struct json_object *f = json_object_get(json_object_object_get(json_object_object_get(job->told[first], "findings"), name));
        int n = 0;
        for (int rank = first; f && rank < job->size; rank++) {
            struct json_object *theirs = json_object_object_get(job->told[rank], "findings");
            if (!json_object_equal(json_object_object_get(theirs, name), f))
                continue;
            job->list[n++] = rank;
            json_object_object_del(theirs, name);
        }
        const char *remedy = info_text(f, "remedy");
        if (f)
            row_add(job, (enum doctor_grade)info_number(f, "grade"), n < job->size ? job->list : NULL, n, info_text(f, "text"),
                    *remedy ? remedy : job->check->remedy);
        json_object_put(f);
    }
}

/* Each host's ranks are looked at, with the cores that they have together. */
static void hosts_report(struct doctor_job *job)
{
    for (int h = 0; h < job->hosts; h++) {
        struct doctor_host host = {.ranks = job->list};
        uint64_t cpus[HX_PLACE_MASK_WORDS] = {0};

        for (int rank = 0; rank < job->size; rank++) {
            struct json_object *told = job->told[rank];
            if (job->host_of[rank] != h || !told)
                continue;
            host.ranks[host.n++] = rank;
            host.quota = info_number(told, "quota_cpus");
            for (size_t i = 0; i < HX_PLACE_MASK_WORDS; i++)
                cpus[i] |= (uint64_t)json_object_get_int64(json_object_array_get_idx(json_object_object_get(told, "cpus"), i));
        }
        for (int i = 0; i < HX_PLACE_MASK_WORDS; i++)
            host.ncpus += __builtin_popcountll(cpus[i]);
        if (host.n)
            job->check->host(job, &host);
    }
}

/* ---- printing */

static void row_print(struct json_object *row)
{
    const char *grade = info_text(row, "grade"), *ranks = info_text(row, "ranks");
    struct json_object *hosts = json_object_object_get(row, "hosts");
    const size_t n = json_object_array_length(hosts);

    printf("%-4s  %-*s  %s", grade, NAME_WIDTH, info_text(row, "check"), info_text(row, "found"));
    if (strcmp(ranks, "all")) {
        printf(" (rank%s %s on ", strpbrk(ranks, "-,") ? "s" : "", ranks);
        for (size_t i = 0; n <= 4 && i < n; i++)
            printf("%s%s", i ? "," : "", json_object_get_string(json_object_array_get_idx(hosts, i)));
        if (n > 4)
            printf("%zu hosts", n);
        printf(")");
    }
    printf("\n");
    if (strcmp(grade, grades[DOCTOR_OK]))
        printf("      %-*s    means: %s\n      %-*s    fix:   %s\n", NAME_WIDTH, "", info_text(row, "meaning"), NAME_WIDTH, "",
               info_text(row, "remedy"));
}

static int graded(const struct doctor_job *job, enum doctor_grade grade)
{
    int n = 0;

    for (size_t i = 0; i < json_object_array_length(job->report); i++)
        n += !strcmp(info_text(json_object_array_get_idx(job->report, i), "grade"), grades[grade]);
    return n;
}

int doctor_fails(const struct doctor_job *job)
{
    return graded(job, DOCTOR_FAIL);
}

/* Each row is printed as soon as its check is over: what is found is not lost if a later check does not end. */
int doctor_report(struct doctor_job *job, int json)
{
    for (job->check = checks; job->check < checks + CHECKS; job->check++) {
        const size_t before = json_object_array_length(job->report);

        *job->under_way = job->check->name;
        if (job->check->rank)
            ranks_report(job);
        else if (job->check->host)
            hosts_report(job);
        else
            job->check->job(job);
        if (!job->check->rank && job->check->fine && json_object_array_length(job->report) == before)
            doctor_tell(job, DOCTOR_OK, NULL, 0, "%s", job->check->fine);
        for (size_t i = before; i < json_object_array_length(job->report); i++) {
            row_finish(job, json_object_array_get_idx(job->report, i));
            if (!json)
                row_print(json_object_array_get_idx(job->report, i));
        }
        fflush(stdout);
    }
    const int ok = graded(job, DOCTOR_OK), warn = graded(job, DOCTOR_WARN), fail = graded(job, DOCTOR_FAIL);
    if (!json) {
        printf("%d ok, %d warn, %d fail; %d rank%s on %d host%s\n", ok, warn, fail, job->size, job->size > 1 ? "s" : "", job->hosts,
               job->hosts > 1 ? "s" : "");
    } else {
        struct json_object *all = info_new("ranks=%d hosts=%d ok=%d warn=%d fail=%d checks=%p", job->size, job->hosts, ok, warn, fail,
                                           json_object_get(job->report));
        json_print(all);
        json_object_put(all);
    }
    return fail;
}
