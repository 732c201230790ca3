/* SPDX-License-Identifier: BSD-3-Clause */
/* The machine: limits of the control groups, the clock, memory. */
#include "tools/info/doctor.h"
#include "runtime/base/clock.h"
#include "runtime/base/env.h"
#include <dirent.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>

void doctor_quota(struct doctor_facts *facts, struct doctor_finding *f)
{
    const struct hx_place *place = &facts->place;

    if (!facts->placed)
        doctor_find(f, DOCTOR_WARN, "lstopo", "hwloc cannot tell what this machine is");
    else if (place->quota_cpus > 0 && place->quota_cpus < place->allowed_cpus)
        doctor_find(f, DOCTOR_WARN, NULL, "a quota of %.2f processing units, of %d that may be used", place->quota_cpus,
                    place->allowed_cpus);
    else
        doctor_find(f, DOCTOR_OK, NULL, "no quota below the %d processing units that may be used", place->allowed_cpus);
}

/* ---- processes ---- */

#define PIDS_LEFT 64 /* fewer make somebody's fork or thread fail soon */

/* The tightest pids.max above this process, as what is left of it; -1: none. */
static long pids_left(void)
{
    static const char *const mounts[] = {"/sys/fs/cgroup/pids", "/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    char line[1024], path[PATH_MAX + 64], *group;
    long left = -1;
    FILE *in = fopen("/proc/self/cgroup", "re");

    while (in && fgets(line, sizeof(line), in)) {
        line[strcspn(line, "\n")] = 0;
        if ((!strstr(line, ":pids:") && strncmp(line, "0::", 3)) || !(group = strchr(line, '/')) ||
            strstr(group, "/.."))
            continue;
        for (char *end = group + strlen(group); end; end = strrchr(group, '/')) { /* up to the mount */
            *end = 0;
            for (int i = 0; i < 3; i++) {
                char most[64], now[64];
                snprintf(path, sizeof(path), "%s%s/pids.max", mounts[i], group);
                doctor_read_line(path, most, sizeof(most));
                snprintf(path, sizeof(path), "%s%s/pids.current", mounts[i], group);
                doctor_read_line(path, now, sizeof(now));
                long room = strtol(most, NULL, 10) - strtol(now, NULL, 10);
                if (most[0] >= '0' && most[0] <= '9' && (left < 0 || room < left))
                    left = room > 0 ? room : 0;
            }
        }
    }
    if (in)
        fclose(in);
    return left;
}

void doctor_pids(struct doctor_facts *facts, struct doctor_finding *f)
{
    long left = pids_left();

    (void)facts;
    if (left >= 0 && left < PIDS_LEFT)
        doctor_find(f, DOCTOR_WARN, NULL, "the control group allows %ld more processes and threads", left);
    else if (left >= 0)
        doctor_find(f, DOCTOR_OK, NULL, "the control group allows at least %d more processes and threads", PIDS_LEFT);
    else
        doctor_find(f, DOCTOR_OK, NULL, "no limit of a control group");
}

/* ---- clock ---- */

#define SLOW_NS 200 /* a clock that needs no system call takes some 20 ns */
#define READS 2000

/* How far the clock ever went back as this thread moved over the cores it may use; ns. */
static int64_t steps_back(void)
{
    cpu_set_t all, one;
    int64_t last = (int64_t)hx_now_ns(), worst = 0;

    if (sched_getaffinity(0, sizeof(all), &all) < 0) /* more than 1024 of them */
        return 0;
    for (int round = 0; round < 3; round++)
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            if (!CPU_ISSET(cpu, &all) || sched_setaffinity(0, sizeof(one), &one) < 0)
                continue;
            int64_t now = (int64_t)hx_now_ns();
            worst = last - now > worst ? last - now : worst;
            last = now;
        }
    sched_setaffinity(0, sizeof(all), &all);
    return worst;
}

void doctor_clock(struct doctor_facts *facts, struct doctor_finding *f)
{
    char source[64];
    int64_t best = INT64_MAX, back = steps_back();

    (void)facts;
    doctor_read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", source, sizeof(source));
    for (int k = 0; k < 5; k++) { /* the best of five: others may run between */
        int64_t start = (int64_t)hx_now_ns();
        for (int i = 0; i < READS; i++)
            (int64_t)hx_now_ns();
        int64_t each = ((int64_t)hx_now_ns() - start) / READS;
        best = each < best ? each : best;
    }
    if (back > 0)
        doctor_find(f, DOCTOR_FAIL, NULL,
                    "the monotonic clock goes back by %lld ns from one core to another (clock source %s)",
                    (long long)back, source);
    if (best > SLOW_NS)
        doctor_find(f, DOCTOR_WARN, NULL, "reading the clock takes %lld ns: clock source %s needs a system call",
                    (long long)best, source);
    if (!f->text[0])
        doctor_find(f, DOCTOR_OK, NULL, "clock source %s, alike on all cores, %s", source[0] ? source : "unknown",
                    best < 50 ? "read in less than 50 ns" : "read in less than 200 ns");
}

/* ---- memory: what may be locked, huge pages and fork, /dev/shm ---- */

#define ENDPOINT_BYTES ((uint64_t)128 << 20) /* an EFA endpoint pins some 100 MB */
#define DEFAULT_BYTES ((uint64_t)8 << 20)    /* of today's kernels; less was chosen by somebody */
#define SHM_BYTES ((uint64_t)1 << 30)
#define CAP_IPC_LOCK 14

static int pins_memory(const struct doctor_facts *facts)
{
    static const char *const kernel_only[] = {"tcp", "net", "tcp;ofi_rxm", "udp;ofi_rxd", "sockets", "shm", ""};

    for (int i = 0; i < 7; i++)
        if (!strcmp(facts->provider, kernel_only[i]))
            return facts->efa_devices > 0;
    return 1;
}

static int may_lock_anything(void)
{
    char line[128];
    unsigned long long caps = 0;
    FILE *in = fopen("/proc/self/status", "re");

    while (in && fgets(line, sizeof(line), in))
        if (sscanf(line, "CapEff: %llx", &caps) == 1)
            break;
    if (in)
        fclose(in);
    return caps >> CAP_IPC_LOCK & 1;
}

void doctor_memlock(struct doctor_facts *facts, struct doctor_finding *f)
{
    struct rlimit limit = {0};
    int pins = pins_memory(facts), exempt = may_lock_anything();

    getrlimit(RLIMIT_MEMLOCK, &limit);
    if (limit.rlim_cur == RLIM_INFINITY) {
        doctor_find(f, DOCTOR_OK, NULL, "unlimited");
        return;
    }
    const char *who = exempt ? ", which binds others, not this process (CAP_IPC_LOCK)" : "";
    unsigned long long kib = limit.rlim_cur >> 10;
    if (pins && limit.rlim_cur < ENDPOINT_BYTES)
        doctor_find(f, exempt ? DOCTOR_WARN : DOCTOR_FAIL, NULL,
                    "%llu KiB of locked memory%s; a network endpoint pins about 100 MiB", kib, who);
    else if (limit.rlim_cur < DEFAULT_BYTES)
        doctor_find(f, DOCTOR_WARN, NULL, "%llu KiB of locked memory%s: less than the kernel's own default of 8192 KiB",
                    kib, who);
    else
        doctor_find(f, DOCTOR_OK, NULL, "%llu KiB of locked memory; %s", kib,
                    pins ? "enough for an endpoint" : "the network in use locks none");
}

static int is_set(const char *name)
{
    const char *value = hx_env_launcher(name);

    return value && strcmp(value, "0") != 0;
}

static long free_huge_pages(void)
{
    char line[128];

    doctor_read_line("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", line, sizeof(line));
    return strtol(line, NULL, 10);
}

/* From 5.13 on the kernel copies pinned pages at fork, and rdma-core needs no help of ours. */
static int kernel_copies_at_fork(void)
{
    struct utsname name;
    int major = 0, minor = 0;

    return uname(&name) == 0 && sscanf(name.release, "%d.%d", &major, &minor) == 2 &&
        (major > 5 || (major == 5 && minor >= 13));
}

void doctor_huge_pages(struct doctor_facts *facts, struct doctor_finding *f)
{
    int copies = kernel_copies_at_fork(), efa = facts->efa_devices > 0 || !strcmp(facts->provider, "efa");
    const char *fork_safe = hx_env_launcher("FI_EFA_FORK_SAFE"); /* unset: Hierax sets it, but for huge pages */
    const char *huge = hx_env_launcher("RDMAV_HUGEPAGES_SAFE") ? "RDMAV_HUGEPAGES_SAFE"
                       : is_set("FI_EFA_USE_HUGE_PAGE")        ? "FI_EFA_USE_HUGE_PAGE"
                                                               : NULL;
    long pages = free_huge_pages();
    char thp[128];

    if (!copies && huge && is_set("FI_EFA_FORK_SAFE"))
        doctor_find(f, efa ? DOCTOR_FAIL : DOCTOR_WARN, "unset FI_EFA_FORK_SAFE, or what asks for huge pages",
                    "FI_EFA_FORK_SAFE is set beside %s: libfabric's efa has either fork support or huge pages", huge);
    else if (!copies && (huge || (fork_safe && !is_set("FI_EFA_FORK_SAFE"))))
        doctor_find(f, DOCTOR_WARN, huge ? "unset what asks for huge pages" : "unset FI_EFA_FORK_SAFE",
                    "%s is set: libfabric's efa has no fork support then, and ends a program that forks",
                    huge ? huge : "FI_EFA_FORK_SAFE=0");
    if (copies && is_set("RDMAV_FORK_SAFE"))
        doctor_find(f, DOCTOR_WARN, "unset RDMAV_FORK_SAFE",
                    "RDMAV_FORK_SAFE is set: this kernel needs it no more, and every registration costs a system call "
                    "more");
    if (is_set("FI_EFA_USE_HUGE_PAGE") && pages == 0)
        doctor_find(f, DOCTOR_WARN, "sysctl vm.nr_hugepages=512; or unset FI_EFA_USE_HUGE_PAGE",
                    "FI_EFA_USE_HUGE_PAGE is set, but there is no free huge page; a process that has them may be "
                    "unable to fork");
    if (!f->text[0]) {
        doctor_read_line("/sys/kernel/mm/transparent_hugepage/shmem_enabled", thp, sizeof(thp));
        doctor_find(f, DOCTOR_OK, NULL,
                    "fork is safe by %s; %ld free huge pages; transparent ones for shared memory: %.100s",
                    copies ? "this kernel" : "FI_EFA_FORK_SAFE, which Hierax sets", pages, thp[0] ? thp : "unknown");
    }
}

void doctor_shm(struct doctor_facts *facts, struct doctor_finding *f)
{
    struct statvfs fs;

    (void)facts;
    if (statvfs("/dev/shm", &fs) != 0) {
        doctor_find(f, DOCTOR_WARN, "mount -t tmpfs tmpfs /dev/shm", "there is no /dev/shm");
        return;
    }
    uint64_t bytes = (uint64_t)fs.f_blocks * fs.f_frsize, left = (uint64_t)fs.f_bavail * fs.f_frsize;
    unsigned long long mib = bytes >> 20, left_mib = left >> 20;
    if (bytes < SHM_BYTES)
        doctor_find(f, DOCTOR_WARN, NULL, "%llu MiB%s", mib, mib == 64 ? ": a container's default" : "");
    else if (left < bytes / 20)
        doctor_find(f, DOCTOR_WARN, "ls -l /dev/shm, and remove what jobs that died have left",
                    "full: %llu of %llu MiB are free", left_mib, mib);
    else
        doctor_find(f, DOCTOR_OK, NULL, "%llu MiB", mib); /* what is free differs from rank to rank */
}
