/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Places and limits on machines that are only described, with control-group folders that the test writes:
 *
 *   ROOT/proc/self/cgroup  ROOT/proc/thread-self/status  ROOT/sys/fs/cgroup/...
 */
#define _GNU_SOURCE
#include <errno.h>
#include <ftw.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "topo/cgroup.h"
#include "topo/place.h"

#define TWO_SOCKETS "pack:2 [NUMA(memory=1073741824)] l3:4(size=33554432) l2:6(size=1048576) core:1 pu:1"
#define GIB ((size_t)1 << 30)

static char root[64];

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info, (void)type, (void)at;
    return remove(path);
}

static int setup(void **state)
{
    (void)state;
    strcpy(root, "/tmp/hx_place_XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    return nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* Write ROOT/path, making its folders. */
static void put(const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = 0;
        if (mkdir(full, 0755) && errno != EEXIST)
            fail_msg("cannot make %s", full);
    }
    FILE *out = fopen(full, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static void bind_to(const char *list)
{
    char text[256];
    snprintf(text, sizeof text, "Name:\ttest\nCpus_allowed:\tff\nCpus_allowed_list:\t%s\nMems_allowed:\t1\n", list);
    put("proc/thread-self/status", text);
}

static struct hx_place place_in(const char *xml, const char *cgroup_root)
{
    char error[HX_TOPO_ERROR_BYTES] = "";
    struct hx_topo *topo;
    if (hx_topo_open(xml, cgroup_root, 1, &topo, error))
        fail_msg("%s", error);
    struct hx_place place;
    hx_topo_place(topo, &place);
    hx_topo_close(topo);
    return place;
}

static void test_described(void **state)
{
    (void)state;
    struct hx_place p = place_in(TWO_SOCKETS, NULL);
    assert_int_equal(p.allowed_cpus, 48);
    assert_int_equal(p.bound_cpus, 48);
    assert_true(p.usable_cpus == 48);
    assert_true(p.quota_cpus == 0);
    assert_int_equal(p.core, -1);
    assert_int_equal(p.l3, -1);
    assert_int_equal(p.numa, -1);
    assert_int_equal(p.socket, -1);
    assert_int_equal(p.l2_bytes, 1 << 20);
    assert_int_equal(p.llc_bytes, 8 * (32 << 20));
    assert_int_equal(p.memory_limit_bytes, 2 * GIB);
    assert_true(p.bound_mask[0] == (UINT64_C(1) << 48) - 1);
    assert_true(*p.hostname);

    p = place_in("core:4 pu:2", NULL); /* no socket, no cache */
    assert_int_equal(p.allowed_cpus, 8);
    assert_int_equal(p.l3, -1);
    assert_int_equal(p.l2_bytes, 0);
    assert_int_equal(p.llc_bytes, 0);

    p = place_in("pack:1 l2:2(size=4194304) core:4 pu:1", NULL); /* L2 is the last level, and shared by four cores */
    assert_int_equal(p.l2_bytes, 1 << 20);
    assert_int_equal(p.llc_bytes, 8 << 20);
}

static void test_binding(void **state)
{
    (void)state;
    bind_to("31");
    struct hx_place p = place_in(TWO_SOCKETS, root);
    assert_int_equal(p.core, 31);
    assert_int_equal(p.l3, 5);
    assert_int_equal(p.numa, 1);
    assert_int_equal(p.socket, 1);
    assert_int_equal(p.bound_cpus, 1);
    assert_int_equal(p.allowed_cpus, 48); /* the binding is this rank's, the cpuset is everybody's */
    assert_true(p.usable_cpus == 48);
    assert_true(p.bound_mask[0] == UINT64_C(1) << 31);

    bind_to("0-5,7");
    p = place_in(TWO_SOCKETS, root);
    assert_int_equal(p.core, -1);
    assert_int_equal(p.l3, -1);
    assert_int_equal(p.numa, 0);
    assert_int_equal(p.socket, 0);
    assert_int_equal(p.bound_cpus, 7);

    bind_to("0-1023"); /* the kernel names more units than there are */
    assert_int_equal(place_in(TWO_SOCKETS, root).bound_cpus, 48);
    bind_to("500"); /* and none of ours: not believed */
    assert_int_equal(place_in(TWO_SOCKETS, root).bound_cpus, 48);
}

static void test_v2(void **state)
{
    (void)state;
    put("proc/self/cgroup", "0::/system.slice/job.scope/task\n");
    put("sys/fs/cgroup/system.slice/cpu.max", "1600000 100000\n");
    put("sys/fs/cgroup/system.slice/memory.max", "1610612736\n");
    put("sys/fs/cgroup/system.slice/job.scope/cpu.max", "150000 100000\n"); /* the tightest is in the middle */
    put("sys/fs/cgroup/system.slice/job.scope/memory.max", "536870912\n");
    put("sys/fs/cgroup/system.slice/job.scope/cpuset.cpus.effective", "0-3,24\n");
    put("sys/fs/cgroup/system.slice/job.scope/task/cpu.max", "max 100000\n");
    put("sys/fs/cgroup/system.slice/job.scope/task/memory.max", "max\n");
    put("sys/fs/cgroup/other/cpu.max", "1000 100000\n"); /* not on the path */
    struct hx_place p = place_in(TWO_SOCKETS, root);
    assert_true(p.quota_cpus == 1.5);
    assert_true(p.usable_cpus == 1.5);
    assert_int_equal(p.allowed_cpus, 5);
    assert_int_equal(p.bound_cpus, 5);
    assert_int_equal(p.memory_limit_bytes, GIB / 2);
    assert_int_equal(p.llc_bytes, 2 * (32 << 20)); /* only the allowed part of the machine counts */
}

static void test_v2_no_limit(void **state)
{
    (void)state;
    put("proc/self/cgroup", "0::/\n");
    put("sys/fs/cgroup/cpu.max", "max 100000\n");
    put("sys/fs/cgroup/memory.max", "max\n");
    struct hx_place p = place_in(TWO_SOCKETS, root);
    assert_true(p.quota_cpus == 0);
    assert_true(p.usable_cpus == 48);
    assert_int_equal(p.memory_limit_bytes, 2 * GIB);

    put("sys/fs/cgroup/cpu.max", "6400000 100000\n"); /* a quota above the cpuset */
    p = place_in(TWO_SOCKETS, root);
    assert_true(p.quota_cpus == 64);
    assert_true(p.usable_cpus == 48);
    put("sys/fs/cgroup/cpu.max", "5000 100000\n");
    assert_true(place_in(TWO_SOCKETS, root).usable_cpus == 0.05);
}

static void test_v1(void **state)
{
    (void)state;
    put("proc/self/cgroup", "9:name=systemd:/x\n8:pids:/x\n4:cpu,cpuacct:/slurm/uid_0/job_7\n3:cpuset:/slurm/uid_0\n"
                            "2:memory:/slurm/uid_0/job_7\n0::/\n");
    put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"); /* mounted without the "cpu" link */
    put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    put("sys/fs/cgroup/cpu,cpuacct/slurm/cpu.cfs_quota_us", "250000\n");
    put("sys/fs/cgroup/cpu,cpuacct/slurm/cpu.cfs_period_us", "50000\n");
    put("sys/fs/cgroup/cpu,cpuacct/slurm/uid_0/job_7/cpu.cfs_quota_us", "-1\n");
    put("sys/fs/cgroup/cpu,cpuacct/slurm/uid_0/job_7/cpu.cfs_period_us", "100000\n");
    put("sys/fs/cgroup/cpuset/cpuset.cpus", "0-47\n");
    put("sys/fs/cgroup/cpuset/slurm/uid_0/cpuset.cpus", "8-15\n");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("sys/fs/cgroup/memory/slurm/uid_0/memory.limit_in_bytes", "268435456\n");
    struct hx_place p = place_in(TWO_SOCKETS, root);
    assert_true(p.quota_cpus == 5);
    assert_true(p.usable_cpus == 5);
    assert_int_equal(p.allowed_cpus, 8);
    assert_int_equal(p.numa, 0);
    assert_int_equal(p.memory_limit_bytes, GIB / 4);
}

static void test_memory_left(void **state)
{
    (void)state;
    assert_true(hx_cgroup_memory_left(root) == UINT64_MAX);
    put("proc/self/cgroup", "2:memory:/job_7\n0::/job_7/step_0/task\n");
    put("sys/fs/cgroup/job_7/memory.max", "1000000\n");
    put("sys/fs/cgroup/job_7/step_0/memory.max", "1000000\n"); /* the limits are alike, but others of the job have memory, too */
    put("sys/fs/cgroup/job_7/step_0/memory.current", "200000\n");
    put("sys/fs/cgroup/job_7/step_0/task/memory.max", "max\n");
    put("sys/fs/cgroup/job_7/step_0/task/memory.current", "200000\n");
    assert_true(hx_cgroup_memory_left(root) == 800000); /* what the job has cannot be read */
    put("sys/fs/cgroup/job_7/memory.current", "700000\n");
    assert_true(hx_cgroup_memory_left(root) == 300000);
    put("sys/fs/cgroup/job_7/memory.stat", "anon 300000\nfile 400000\ninactive_file 150000\nactive_file 50000\n"); /* the rest is in a tmpfs */
    assert_true(hx_cgroup_memory_left(root) == 500000);
    put("sys/fs/cgroup/memory/job_7/memory.limit_in_bytes", "500000\n");
    put("sys/fs/cgroup/memory/job_7/memory.usage_in_bytes", "200000\n");
    put("sys/fs/cgroup/memory/job_7/memory.stat", "inactive_file 0\nactive_file 0\ntotal_inactive_file 100000\ntotal_active_file 0\n");
    assert_true(hx_cgroup_memory_left(root) == 400000);
    put("sys/fs/cgroup/memory/job_7/memory.usage_in_bytes", "700000\n"); /* a limit that was lowered */
    assert_true(hx_cgroup_memory_left(root) == 0);
}

/* In a container the path is the host's, but what is mounted is the container's own group. */
static void test_container(void **state)
{
    (void)state;
    put("proc/self/cgroup", "4:cpu:/docker/0123abcd\n2:memory:/../../elsewhere\n0::/docker/0123abcd\n");
    put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "300000\n");
    put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "134217728\n");
    put("sys/fs/cgroup/unified/cpu.max", "200000 100000\n");
    put("sys/fs/elsewhere/memory.limit_in_bytes", "1048576\n"); /* where that path would lead */
    struct hx_place p = place_in(TWO_SOCKETS, root);
    assert_true(p.quota_cpus == 2);
    assert_int_equal(p.memory_limit_bytes, GIB / 8);
}

static void test_garbage(void **state)
{
    (void)state;
    put("proc/self/cgroup", "\n:\n::\nnonsense\n0::\n4:cpu\n1:cpu,,memory:/a\n0::/a");
    put("sys/fs/cgroup/cpu.max", "-5 0\n");
    put("sys/fs/cgroup/memory.max", "lots\n");
    put("sys/fs/cgroup/a/cpu.max", "100000\n");
    put("sys/fs/cgroup/a/memory.max", "\n");
    put("sys/fs/cgroup/a/cpuset.cpus.effective", "\n");
    bind_to("what");
    struct hx_place p = place_in(TWO_SOCKETS, root);
    assert_true(p.quota_cpus == 0);
    assert_true(p.usable_cpus == 48);
    assert_int_equal(p.memory_limit_bytes, 2 * GIB);
    assert_int_equal(place_in(TWO_SOCKETS, "/nonexistent").allowed_cpus, 48);
}

static void test_bad_topology(void **state)
{
    (void)state;
    static const char *const bad[] = { "/nonexistent/machine.xml", "pack:", "hello world" };
    char error[HX_TOPO_ERROR_BYTES], file[96];
    struct hx_topo *topo = (void *)1;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        *error = 0;
        assert_int_equal(hx_topo_open(bad[i], NULL, 1, &topo, error), -1);
        assert_null(topo);
        assert_non_null(strstr(error, bad[i]));
    }
    put("broken.xml", "<topology><object type=\"Machine\"");
    snprintf(file, sizeof file, "%s/broken.xml", root);
    *error = 0;
    assert_int_equal(hx_topo_open(file, NULL, 1, &topo, error), -1);
    assert_non_null(strstr(error, file));
    hx_topo_close(NULL);
}

/* The real machine: what can be known otherwise must agree. */
static void test_this_machine(void **state)
{
    (void)state;
    struct hx_place p = place_in(NULL, NULL);
    cpu_set_t mask;
    assert_int_equal(sched_getaffinity(0, sizeof mask, &mask), 0);
    assert_int_equal(p.bound_cpus, CPU_COUNT(&mask));
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        assert_int_equal((p.bound_mask[cpu / 64] >> (cpu % 64)) & 1, CPU_ISSET(cpu, &mask) != 0);
    assert_true(p.allowed_cpus >= p.bound_cpus);
    assert_true(p.usable_cpus > 0 && p.usable_cpus <= p.allowed_cpus);
    assert_true(p.memory_limit_bytes >= 1 << 20);

    int first = 0;
    while (!CPU_ISSET(first, &mask))
        first++;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    struct hx_place q = place_in(NULL, NULL);
    assert_int_equal(sched_setaffinity(0, sizeof mask, &mask), 0);
    assert_int_equal(q.bound_cpus, 1);
    assert_true(q.core >= 0);
    assert_int_equal(q.allowed_cpus, p.allowed_cpus);
    print_message("%d allowed, %.2f usable, L2 %zu, last level %zu, memory %zu\n", p.allowed_cpus, p.usable_cpus,
                  p.l2_bytes, p.llc_bytes, p.memory_limit_bytes);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_described), TEST(test_binding), TEST(test_v2), TEST(test_v2_no_limit), TEST(test_v1), TEST(test_memory_left),
        TEST(test_container), TEST(test_garbage), TEST(test_bad_topology), TEST(test_this_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
