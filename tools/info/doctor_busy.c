/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Is the core of a rank busy with something else? The rank computes for a moment and compares the time that it ran with the
 * time that went by. This check leaves out other ranks, since all compute at the same time: the checks of cores and pinning
 * name ranks that share a core. It also leaves out processes that compute for a moment only, such as compilers. So a rival
 * takes the core in all of several tries, and has computed for seconds before.
 */
#include "tools/info/doctor.h"
#include "runtime/base/clock.h"
#include "runtime/base/process.h"
#include <dirent.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define GLANCE_NS 60000000
#define TRY_NS 100000000
#define PAUSE_NS 50000000
#define TRIES 4
#define FREE 0.85       /* a rank that gets so much of the time has its core for itself */
#define TAKES 0.2       /* a rival takes at least this part */
#define HIDDEN 0.5      /* so much is missing at least, if /proc shows no rival */
#define COMPUTED_S 5.0  /* so long a rival has run since it was started */

struct process {
    int pid;
    double ran_s;
};

struct snapshot { /* of /proc, in the order of its entries */
    struct process *processes;
    int n;
};

static struct snapshot snapshot_take(void)
{
    const double tick_s = 1.0 / (double)sysconf(_SC_CLK_TCK);
    struct snapshot s = {0};
    struct dirent *entry;
    long long fields[HX_PROCESS_FIELDS];
    DIR *proc = opendir("/proc");
    char path[300];

    while (proc && (entry = readdir(proc))) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
            continue;
        snprintf(path, sizeof(path), "/proc/%s/stat", entry->d_name);
        if (!hx_stat_read(path, fields))
            continue;
        if (s.n % 256 == 0) {
            struct process *more = realloc(s.processes, (size_t)(s.n + 256) * sizeof(*more));
            if (!more)
                break;
            s.processes = more;
        }
        const double ticks = (double)(fields[HX_PROCESS_UTIME] + fields[HX_PROCESS_STIME]);
        s.processes[s.n++] = (struct process){atoi(entry->d_name), tick_s * ticks};
    }
    if (proc)
        closedir(proc);
    return s;
}

/* Did one of its threads run last where this thread may run? */
static int runs_here(int pid, const cpu_set_t *here)
{
    char path[300];
    struct dirent *entry;
    long long fields[HX_PROCESS_FIELDS];
    int found = 0;

    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    DIR *tasks = opendir(path);
    while (tasks && !found && (entry = readdir(tasks))) {
        snprintf(path, sizeof(path), "/proc/%d/task/%.20s/stat", pid, entry->d_name);
        found = entry->d_name[0] != '.' && hx_stat_read(path, fields) && fields[HX_PROCESS_CPU] < CPU_SETSIZE &&
                CPU_ISSET((int)fields[HX_PROCESS_CPU], here);
    }
    if (tasks)
        closedir(tasks);
    return found;
}

static void command_read(int pid, char command[64])
{
    char dir[32];

    snprintf(dir, sizeof(dir), "/proc/%d", pid);
    doctor_read_line(dir, "comm", command, 64);
}

/* Compute. Returns the part of the time in which this thread ran. */
static double compute(uint64_t ns)
{
    const uint64_t ran = hx_clock_ns(CLOCK_THREAD_CPUTIME_ID), start = hx_now_ns();
    uint64_t now;

    while ((now = hx_now_ns()) - start < ns)
        ;
    return (double)(hx_clock_ns(CLOCK_THREAD_CPUTIME_ID) - ran) / (double)(now - start);
}

/* The process that took most of this core in the meantime, and the part; pid 0: none took much. *shown: the part of all
 * processes that /proc shows, ranks too. */
static struct process rival_find(const struct snapshot *before, const struct snapshot *after, double seconds, double *shown)
{
    struct process rival = {0};
    char command[64], own[64];
    cpu_set_t here;

    *shown = 0;
    command_read(getpid(), own);
    if (sched_getaffinity(0, sizeof(here), &here) < 0)
        return rival;
    for (int i = 0, k = 0; i < after->n; i++) {
        const struct process *now = &after->processes[i];
        while (k < before->n && before->processes[k].pid < now->pid)
            k++;
        const int was = k < before->n && before->processes[k].pid == now->pid;
        const double took = (now->ran_s - (was ? before->processes[k].ran_s : 0)) / seconds;
        if (now->pid == getpid() || took <= 0 || !runs_here(now->pid, &here))
            continue;
        *shown += took;
        command_read(now->pid, command);
        if (took > rival.ran_s && took >= TAKES && now->ran_s >= COMPUTED_S && strcmp(command, own))
            rival = (struct process){now->pid, took};
    }
    return rival;
}

/* One try: is the core busy? Notes a rival if it is that of the tries before, or this is the first. */
static int try_core(struct doctor_spin *spin, int first)
{
    struct snapshot before = snapshot_take(), after;
    double shown, start = hx_now_s();
    const double got = compute(TRY_NS);

    after = snapshot_take();
    const struct process rival = rival_find(&before, &after, hx_now_s() - start, &shown);
    free(before.processes);
    free(after.processes);
    const int alike = first || rival.pid == spin->rival;
    if (first || got > spin->got) {
        spin->got = got;
        spin->rival = rival.pid;
        spin->rival_got = rival.ran_s;
    }
    return got < FREE && alike && (rival.pid || 1 - got - shown > HIDDEN);
}

void doctor_spin(struct doctor_spin *spin)
{
    struct rusage before, after;
    const uint64_t waited = hx_core_wait_ns();

    getrusage(RUSAGE_THREAD, &before);
    spin->got = compute(GLANCE_NS);
    getrusage(RUSAGE_THREAD, &after);
    spin->cpu = sched_getcpu();
    spin->switches = after.ru_nivcsw - before.ru_nivcsw;
    spin->delay_ms = 1e-6 * (double)(hx_core_wait_ns() - waited);
    spin->is_busy = spin->got < FREE;
    for (int i = 0; spin->is_busy && i < TRIES; i++) {
        nanosleep(&(struct timespec){.tv_nsec = i ? PAUSE_NS : 0}, NULL);
        spin->is_busy = try_core(spin, i == 0);
    }
    if (spin->is_busy && spin->rival)
        command_read(spin->rival, spin->command);
}

/* ---- of a host */

void doctor_busy(struct doctor_job *job, const struct doctor_host *host)
{
    for (int i = 0; i < host->n; i++) {
        struct json_object *spin = json_object_object_get(job->told[host->ranks[i]], "spin");
        const int rival = (int)info_number(spin, "rival"), cpu = (int)info_number(spin, "cpu");
        char who[128] = "/proc shows no process that takes it;";
        if (!info_number(spin, "busy"))
            continue;
        if (rival)
            snprintf(who, sizeof(who), "process %d (%s) takes %.0f %%, and", rival, info_text(spin, "command"),
                     100 * info_number(spin, "rival_got"));
        doctor_tell(job, DOCTOR_WARN, &host->ranks[i], 1,
                    "core %d is busy: %s the rank gets %.0f %% of it (in 60 ms the rank lost it %d times, and waited %.0f ms)",
                    cpu, who, 100 * info_number(spin, "got"), (int)info_number(spin, "switches"), info_number(spin, "delay_ms"));
    }
}
