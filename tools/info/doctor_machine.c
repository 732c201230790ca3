/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits of the control groups, and the clock. */
#include "tools/info/doctor.h"
#include "runtime/base/clock.h"
#include <dirent.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

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
