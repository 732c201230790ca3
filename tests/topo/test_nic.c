/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Distances and choice of network interfaces on a described machine of two sockets with two NUMA nodes each, two units
 * per NUMA node:
 *
 *   Machine -- 04:00.0 eth0 (nearness unknown)
 *   |- socket 0:  NUMA 0 {0,1} -- 10:00.0, 10:00.1    NUMA 1 {2,3} -- 20:00.0    socket itself -- 30:00.0
 *   `- socket 1:  NUMA 2 {4,5} -- 40:00.0             NUMA 3 {6,7}
 */
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

#include "topo/nic.h"

#define HEAD                                   \
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" \
    "<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology version=\"2.0\">\n"

static char root[64], xml[96];
static int gp; /* hwloc wants each object numbered */

static void put_object(FILE *out, const char *type, int index, unsigned cpus, unsigned nodes, const char *more)
{
    fprintf(out, "<object type=\"%s\" os_index=\"%d\" cpuset=\"0x%x\" complete_cpuset=\"0x%x\" nodeset=\"0x%x\" "
                 "complete_nodeset=\"0x%x\" gp_index=\"%d\" %s",
            type, index, cpus, cpus, nodes, nodes, ++gp, more);
}

static void put_pci(FILE *out, unsigned bus, unsigned function, const char *netdev)
{
    fprintf(out, "<object type=\"Bridge\" gp_index=\"%d\" bridge_type=\"0-1\" depth=\"0\" "
                 "bridge_pci=\"0000:[%02x-%02x]\">\n", ++gp, bus, bus);
    for (unsigned f = 0; f <= function; f++) {
        fprintf(out, "<object type=\"PCIDev\" gp_index=\"%d\" pci_busid=\"0000:%02x:00.%x\" "
                     "pci_type=\"0200 [1d0f:efa0] [0000:0000] 00\" pci_link_speed=\"0.0\">", ++gp, bus, f);
        if (netdev)
            fprintf(out, "<object type=\"OSDev\" gp_index=\"%d\" name=\"%s\" osdev_type=\"2\"/>", ++gp, netdev);
        fputs("</object>\n", out);
    }
    fputs("</object>\n", out);
}

static void put_numa(FILE *out, int node, unsigned bus, unsigned function)
{
    unsigned first = 1u << (2 * node), both = 3u << (2 * node);
    put_object(out, "Group", node, both, 1u << node, "kind=\"1001\" subkind=\"0\">\n");
    put_object(out, "NUMANode", node, both, 1u << node, "local_memory=\"1073741824\"/>\n");
    for (int i = 0; i < 2; i++) {
        put_object(out, "Core", 2 * node + i, first << i, 1u << node, ">");
        put_object(out, "PU", 2 * node + i, first << i, 1u << node, "/></object>\n");
    }
    if (bus)
        put_pci(out, bus, function, NULL);
    fputs("</object>\n", out);
}

static int setup(void **state)
{
    (void)state;
    char path[96];
    strcpy(root, "/tmp/hx_nic_XXXXXX");
    if (!mkdtemp(root))
        return -1;
    snprintf(path, sizeof path, "%s/proc", root);
    mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/proc/thread-self", root);
    mkdir(path, 0755);
    snprintf(xml, sizeof xml, "%s/machine.xml", root);
    FILE *out = fopen(xml, "w");
    if (!out)
        return -1;
    fputs(HEAD, out);
    put_object(out, "Machine", 0, 0xff, 0xf, "allowed_cpuset=\"0xff\" allowed_nodeset=\"0xf\">\n");
    put_object(out, "Package", 0, 0x0f, 0x3, ">\n");
    put_numa(out, 0, 0x10, 1);
    put_numa(out, 1, 0x20, 0);
    put_pci(out, 0x30, 0, NULL);
    fputs("</object>\n", out);
    put_object(out, "Package", 1, 0xf0, 0xc, ">\n");
    put_numa(out, 2, 0x40, 0);
    put_numa(out, 3, 0, 0);
    fputs("</object>\n", out);
    put_pci(out, 0x04, 0, "eth0");
    fputs("</object>\n</topology>\n", out);
    return fclose(out);
}

static int teardown(void **state)
{
    (void)state;
    char path[96];
    static const char *const names[] = { "/proc/thread-self/status", "/proc/thread-self", "/proc", "/machine.xml", "" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s%s", root, names[i]);
        remove(path);
    }
    return 0;
}

static struct hx_topo *open_bound(const char *cpus)
{
    char path[96], error[HX_TOPO_ERROR_BYTES] = "";
    struct hx_topo *topo;
    snprintf(path, sizeof path, "%s/proc/thread-self/status", root);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fprintf(out, "Cpus_allowed_list:\t%s\n", cpus);
    fclose(out);
    if (hx_topo_open(xml, root, &topo, error))
        fail_msg("%s", error);
    return topo;
}

static struct hx_nic pci(const char *name, unsigned bus, unsigned function)
{
    struct hx_nic nic = { .has_pci = 1, .bus = bus, .function = function, .up = 1, .distance = -1 };
    snprintf(nic.name, sizeof nic.name, "%s", name);
    return nic;
}

static void test_distances(void **state)
{
    (void)state;
    static const struct {
        const char *bound;
        int distance[8];
    } cases[] = {
        /*         10:00.0 10:00.1 20 30 40 04 "eth0" absent */
        { "0",     { 0, 0, 1, 1, 2, 3, 3, 3 } }, /* one unit */
        { "0-1",   { 0, 0, 1, 1, 2, 3, 3, 3 } }, /* one NUMA node */
        { "1-2",   { 1, 1, 1, 1, 2, 3, 3, 3 } }, /* one socket */
        { "5",     { 2, 2, 2, 2, 0, 3, 3, 3 } },
        { "6-7",   { 2, 2, 2, 2, 1, 3, 3, 3 } },
        { "0-7",   { 3, 3, 3, 3, 3, 3, 3, 3 } }, /* anywhere */
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct hx_nic nics[8] = { pci("efa0", 0x10, 0), pci("efa0b", 0x10, 1), pci("efa1", 0x20, 0),
                                  pci("efa2", 0x30, 0), pci("efa3", 0x40, 0),  pci("x", 0x04, 0),
                                  { .name = "eth0" },   pci("gone", 0x77, 0) };
        struct hx_topo *topo = open_bound(cases[c].bound);
        hx_nic_distances(topo, nics, 8);
        hx_topo_close(topo);
        for (int i = 0; i < 8; i++)
            if (nics[i].distance != cases[c].distance[i])
                fail_msg("bound to %s: %s is at %d, not %d", cases[c].bound, nics[i].name, nics[i].distance,
                         cases[c].distance[i]);
    }
}

/* On a machine with one NUMA node everything that hwloc finds is near, also by name only. */
static void test_one_numa(void **state)
{
    (void)state;
    char path[96], error[HX_TOPO_ERROR_BYTES] = "";
    snprintf(path, sizeof path, "%s/machine.xml", root);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(HEAD, out);
    put_object(out, "Machine", 0, 3, 1, "allowed_cpuset=\"0x3\" allowed_nodeset=\"0x1\">\n");
    put_object(out, "NUMANode", 0, 3, 1, "local_memory=\"1073741824\"/>\n");
    put_object(out, "PU", 0, 1, 1, "/>");
    put_object(out, "PU", 1, 2, 1, "/>");
    put_pci(out, 0x04, 0, "eth0");
    fputs("</object>\n</topology>\n", out);
    fclose(out);
    struct hx_topo *topo;
    if (hx_topo_open(path, NULL, &topo, error))
        fail_msg("%s", error);
    struct hx_nic nics[3] = { pci("x", 0x04, 0), { .name = "eth0" }, { .name = "lo" } };
    hx_nic_distances(topo, nics, 3);
    hx_topo_close(topo);
    assert_int_equal(nics[0].distance, 0);
    assert_int_equal(nics[1].distance, 0);
    assert_int_equal(nics[2].distance, 3);
}

static void test_order(void **state)
{
    (void)state;
    /* written worst first */
    struct hx_nic nics[] = {
        { .name = "down", .up = 0, .distance = 0, .rate_bits = 400 },
        { .name = "lo", .up = 1, .loopback = 1, .distance = 0, .rate_bits = 400 },
        { .name = "unknown", .up = 1, .distance = 3, .rate_bits = 400 },
        { .name = "far", .up = 1, .distance = 2, .rate_bits = 400 },
        { .name = "middle", .up = 1, .distance = 1, .rate_bits = 400 },
        { .name = "slow", .up = 1, .distance = 0, .rate_bits = 100 },
        { .name = "fast_b", .up = 1, .distance = 0, .rate_bits = 200 },
        { .name = "fast_a", .up = 1, .distance = 0, .rate_bits = 200 },
    };
    static const char *const best_first[] = { "fast_a", "fast_b", "slow", "middle", "far", "unknown", "lo", "down" };
    int n = sizeof nics / sizeof *nics;
    for (int local = 0; local < 5; local++) {
        assert_int_equal(hx_nic_choose(nics, n, local), local % 2);
        for (int i = 0; i < n; i++)
            assert_string_equal(nics[i].name, best_first[i]);
    }
    assert_int_equal(hx_nic_choose(nics + 2, n - 2, 7), 0); /* "slow" has no equal */
    assert_int_equal(hx_nic_choose(nics + 7, 1, 3), 0);     /* nothing better than one that is down */
    assert_int_equal(hx_nic_choose(nics, 0, 0), -1);
}

static void test_rdma(void **state)
{
    (void)state;
    assert_true(hx_nic_rdma_rate(32, 2) == UINT64_C(100000000000));  /* EDR x4 */
    assert_true(hx_nic_rdma_rate(128, 2) == UINT64_C(400000000000)); /* NDR x4 */
    assert_true(hx_nic_rdma_rate(1, 1) == UINT64_C(2500000000));
    assert_true(hx_nic_rdma_rate(8, 1) == UINT64_C(10312500000));
    assert_true(hx_nic_rdma_rate(64, 16) == UINT64_C(100000000000)); /* HDR x2 */
    assert_true(hx_nic_rdma_rate(0, 2) == 0);
    assert_true(hx_nic_rdma_rate(32, 3) == 0);

    struct hx_nic nics[16];
    int n = hx_nic_rdma_list(nics, 16);
    assert_true(n >= 0);
    assert_int_equal(hx_nic_rdma_list(NULL, 0), n);
    for (int i = 0; i < n && i < 16; i++) {
        assert_true(*nics[i].name);
        print_message("%s %04x:%02x:%02x.%x %s\n", nics[i].name, nics[i].domain, nics[i].bus, nics[i].device,
                      nics[i].function, nics[i].up ? "up" : "down");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_distances, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_numa, setup, teardown),
        cmocka_unit_test(test_order), cmocka_unit_test(test_rdma),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
