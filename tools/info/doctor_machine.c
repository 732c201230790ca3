/* SPDX-License-Identifier: BSD-3-Clause */
/* The machine: limits of the control groups, the clock, memory. */
#include "tools/info/doctor.h"
#include "runtime/base/clock.h"
#include "runtime/base/env.h"
#include "runtime/base/size.h"
#include "topo/cgroup.h"
#include <limits.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGES 16

/* The kernel's number of the NUMA node where it puts new pages of this process; -1: on several, or it does not tell. */
static int memory_numa(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *pages = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int all = -1;

    for (size_t i = 0; pages != MAP_FAILED && i < PAGES; i++) {
        int node = -1;
        pages[i * page] = 1;
        if (syscall(SYS_get_mempolicy, &node, NULL, 0UL, &pages[i * page], (unsigned long)(MPOL_F_NODE | MPOL_F_ADDR)) < 0 ||
            (i > 0 && node != all))
            return -1;
        all = node;
    }
    return all;
}

/* hwloc asks drivers too, and may hang or crash as they do: in this check. */
void doctor_quota(struct doctor_exam *exam)
{
    const struct hx_place *place = &exam->place;
    char error[HX_TOPO_ERROR_BYTES];
    struct hx_topo *topo;

    if (hx_topo_open(NULL, NULL, 1, &topo, error) < 0) {
        doctor_find(exam, DOCTOR_WARN, "lstopo", "hwloc cannot read the topology of this machine");
        return;
    }
    hx_topo_place(topo, &exam->place);
    exam->nic_numa = hx_nic_numa_os(topo, &exam->nic);
    exam->nic_cpus = hx_topo_numa_cpus(topo, exam->nic_numa);
    exam->memory_numa = memory_numa();
    if (place->quota_cpus > 0 && place->quota_cpus < place->allowed_cpus)
        doctor_find(exam, DOCTOR_WARN, NULL, "the quota is %.2f processing units; this process may run on %d", place->quota_cpus,
                    place->allowed_cpus);
    else
        doctor_find(exam, DOCTOR_OK, NULL, "no quota below the %d processing units that this process may run on",
                    place->allowed_cpus);
}

/* ---- processes ---- */

#define PIDS_LEFT 64 /* with fewer, a fork or a new thread fails soon */

/* Lower *left to the number that a group's limit leaves, if that is less. */
static void pids_look(const char *dir, void *left)
{
    char most[64], now[64];

    doctor_read_line(dir, "pids.max", most, sizeof(most));
    doctor_read_line(dir, "pids.current", now, sizeof(now));
    const long room = strtol(most, NULL, 10) - strtol(now, NULL, 10);
    if (most[0] >= '0' && most[0] <= '9' && room < *(long *)left)
        *(long *)left = room > 0 ? room : 0;
}

void doctor_pids(struct doctor_exam *exam)
{
    long left = LONG_MAX;

    hx_cgroup_folders("", pids_look, &left);
    if (left < PIDS_LEFT)
        doctor_find(exam, DOCTOR_WARN, NULL, "the control group allows %ld more processes and threads", left);
    else if (left < LONG_MAX)
        doctor_find(exam, DOCTOR_OK, NULL, "the control group allows at least %d more processes and threads", PIDS_LEFT);
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

void doctor_clock(struct doctor_exam *exam)
{
    char source[64];
    uint64_t best = UINT64_MAX;
    const int64_t back = steps_back();

    doctor_read_line("/sys/devices/system/clocksource/clocksource0", "current_clocksource", source, sizeof(source));
    for (int k = 0; k < 5; k++) { /* the best of five: others may run between */
        const uint64_t start = hx_now_ns();
        for (int i = 0; i < READS; i++)
            hx_now_ns();
        const uint64_t each = (hx_now_ns() - start) / READS;
        best = each < best ? each : best;
    }
    if (back > 0)
        doctor_find(exam, DOCTOR_FAIL, NULL, "the monotonic clock goes back by %lld ns from one core to another (clock source %s)",
                    (long long)back, source);
    if (best > SLOW_NS)
        doctor_find(exam, DOCTOR_WARN, NULL, "reading the clock takes %llu ns: clock source %s needs a system call",
                    (unsigned long long)best, source);
    doctor_find(exam, DOCTOR_OK, NULL, "clock source %s, alike on all cores, %s", source[0] ? source : "unknown",
                best < 50 ? "read in less than 50 ns" : "read in less than 200 ns");
}

/* ---- memory: what may be locked, huge pages and fork, /dev/shm ---- */

#define DEFAULT_BYTES ((uint64_t)8 << 20)    /* of today's kernels; a lower limit comes from a setting */
#define SHM_MIB 1024
#define CAP_IPC_LOCK 14

unsigned long long doctor_status(const char *key, int base)
{
    char line[128];
    unsigned long long value = 0;
    FILE *in = fopen("/proc/self/status", "re");

    while (in && fgets(line, sizeof(line), in))
        if (!strncmp(line, key, strlen(key)))
            value = strtoull(line + strlen(key), NULL, base);
    if (in)
        fclose(in);
    return value;
}

void doctor_memlock(struct doctor_exam *exam)
{
    struct rlimit limit = {0};
    const int pins = exam->pins, exempt = (int)(doctor_status("CapEff:", 16) >> CAP_IPC_LOCK & 1);
    const char *who = exempt ? " (no limit for this process, which has CAP_IPC_LOCK)" : "";

    getrlimit(RLIMIT_MEMLOCK, &limit);
    char locked[HX_SIZE_BYTES];
    hx_size_format(limit.rlim_cur, locked);
    if (limit.rlim_cur == RLIM_INFINITY)
        doctor_find(exam, DOCTOR_OK, NULL, "unlimited");
    else if (limit.rlim_cur < exam->pinned_bytes)
        doctor_find(exam, exempt ? DOCTOR_WARN : DOCTOR_FAIL, NULL,
                    "%s of locked memory%s; the network endpoints of a rank pin about %llu MiB", locked, who,
                    (unsigned long long)exam->pinned_bytes >> 20);
    else if (limit.rlim_cur < DEFAULT_BYTES)
        doctor_find(exam, DOCTOR_WARN, NULL, "%s of locked memory%s: less than the kernel's own default of 8 MiB", locked, who);
    else
        doctor_find(exam, DOCTOR_OK, NULL, "%s of locked memory; %s", locked,
                    pins ? "enough for an endpoint" : "the network in use locks none");
}

static int is_set(const char *name)
{
    const char *value = hx_env_launcher(name);

    return value && strcmp(value, "0") != 0;
}

void doctor_huge_pages(struct doctor_exam *exam)
{
    int major = 0, minor = 0, efa = exam->efa_devices > 0 || !strcmp(exam->provider, "efa");
    const char *fork_safe = hx_env_launcher("FI_EFA_FORK_SAFE"); /* unset: Hierax sets it, but for huge pages */
    const char *huge = hx_env_launcher("RDMAV_HUGEPAGES_SAFE") ? "RDMAV_HUGEPAGES_SAFE"
                       : is_set("FI_EFA_USE_HUGE_PAGE")        ? "FI_EFA_USE_HUGE_PAGE"
                                                               : NULL;
    char line[128];

    doctor_read_line("/sys/kernel/mm/hugepages/hugepages-2048kB", "free_hugepages", line, sizeof(line));
    const long pages = strtol(line, NULL, 10);
    doctor_read_line("/proc/sys/kernel", "osrelease", line, sizeof(line));
    sscanf(line, "%d.%d", &major, &minor);
    const int copies = major > 5 || (major == 5 && minor >= 13); /* it copies pinned pages at fork: rdma-core needs no help */
    if (!copies && huge && is_set("FI_EFA_FORK_SAFE"))
        doctor_find(exam, efa ? DOCTOR_FAIL : DOCTOR_WARN, "unset FI_EFA_FORK_SAFE, or the variable that asks for huge pages",
                    "FI_EFA_FORK_SAFE and %s are both set: libfabric's efa supports either fork or huge pages", huge);
    else if (!copies && (huge || (fork_safe && !is_set("FI_EFA_FORK_SAFE"))))
        doctor_find(exam, DOCTOR_WARN, huge ? "unset this variable" : "unset FI_EFA_FORK_SAFE",
                    "%s is set: libfabric's efa then does not support fork, and ends a program that forks",
                    huge ? huge : "FI_EFA_FORK_SAFE=0");
    if (copies && is_set("RDMAV_FORK_SAFE"))
        doctor_find(exam, DOCTOR_WARN, "unset RDMAV_FORK_SAFE",
                    "RDMAV_FORK_SAFE is set: this kernel does not need it, and each registration costs one more system call");
    if (is_set("FI_EFA_USE_HUGE_PAGE") && pages == 0)
        doctor_find(exam, DOCTOR_WARN, "sysctl vm.nr_hugepages=512; or unset FI_EFA_USE_HUGE_PAGE",
                    "FI_EFA_USE_HUGE_PAGE is set, but no huge page is free. A process with huge pages may be unable to fork");
    doctor_read_line("/sys/kernel/mm/transparent_hugepage", "shmem_enabled", line, sizeof(line));
    doctor_find(exam, DOCTOR_OK, NULL, "fork is safe because of %s; %ld free huge pages; transparent ones for shared memory: %.100s",
                copies ? "this kernel" : "FI_EFA_FORK_SAFE, which Hierax sets", pages, line[0] ? line : "unknown");
}

void doctor_shm(struct doctor_exam *exam)
{
    struct statvfs fs;

    if (statvfs("/dev/shm", &fs) != 0) {
        doctor_find(exam, DOCTOR_WARN, "mount -t tmpfs tmpfs /dev/shm", "there is no /dev/shm");
        return;
    }
    const unsigned long long mib = (uint64_t)fs.f_blocks * fs.f_frsize >> 20, left_mib = (uint64_t)fs.f_bavail * fs.f_frsize >> 20;
    if (mib < SHM_MIB)
        doctor_find(exam, DOCTOR_WARN, NULL, "%llu MiB%s", mib, mib == 64 ? ": a container's default" : "");
    else if (left_mib < mib / 20)
        doctor_find(exam, DOCTOR_WARN, "ls -l /dev/shm, and remove the files of jobs that have ended",
                    "full: %llu of %llu MiB are free", left_mib, mib);
    else
        doctor_find(exam, DOCTOR_OK, NULL, "%llu MiB", mib); /* the free part differs from rank to rank */
}
