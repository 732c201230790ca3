/* SPDX-License-Identifier: BSD-3-Clause */
/* Distances and choice of network interfaces, on the machine of described.h. */
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

#include "described.h"
#include "topo/nic.h"

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

/* The kernel's number of a NUMA node: of the thread, and of each interface. */
static void test_numa(void **state)
{
    (void)state;
    static const struct {
        const char *bound;
        int numa_os;
    } cases[] = {{"1", 0}, {"2-3", 1}, {"5", 2}, {"6-7", 3}, {"3-4", -1}, {"0-7", -1}};
    const struct hx_nic nics[] = {pci("efa0", 0x10, 0), pci("efa1", 0x20, 0), pci("efa3", 0x40, 0), pci("efa2", 0x30, 0),
                                  {.name = "eth0"}, pci("gone", 0x77, 0)};
    static const int numa_os[] = {0, 1, 2, -1, -1, -1};
    struct hx_topo *topo;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct hx_place place;
        topo = open_bound(cases[c].bound);
        hx_topo_place(topo, &place);
        hx_topo_close(topo);
        assert_int_equal(place.numa_os, cases[c].numa_os);
    }
    topo = open_bound("0");
    for (size_t i = 0; i < sizeof nics / sizeof *nics; i++)
        assert_int_equal(hx_nic_numa_os(topo, &nics[i]), numa_os[i]);
    for (int node = 0; node < 4; node++)
        assert_int_equal(hx_topo_numa_cpus(topo, node), 2);
    assert_int_equal(hx_topo_numa_cpus(topo, 4), 0);
    assert_int_equal(hx_topo_numa_cpus(topo, -1), 0);
    hx_topo_close(topo);
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
    if (hx_topo_open(path, NULL, 1, &topo, error))
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
        { .name = "tun0", .up = 1, .software = 1, .distance = 0, .rate_bits = 400 },
        { .name = "unknown", .up = 1, .distance = 3, .rate_bits = 400 },
        { .name = "far", .up = 1, .distance = 2, .rate_bits = 400 },
        { .name = "middle", .up = 1, .distance = 1, .rate_bits = 400 },
        { .name = "slow", .up = 1, .distance = 0, .rate_bits = 100 },
        { .name = "fast.7", .up = 1, .distance = 0, .rate_bits = 200, .stacked = 1 },
        { .name = "fast_c", .up = 1, .distance = 0, .rate_bits = 200, .routed = 1, .network = 5 },
        { .name = "fast_b", .up = 1, .distance = 0, .rate_bits = 200, .routed = 1, .network = 5 },
        { .name = "fast_a", .up = 1, .distance = 0, .rate_bits = 200 },
    };
    static const char *const best_first[] = { "fast_a", "fast_b", "fast.7", "fast_c", "slow",
                                              "middle", "far",    "unknown", "tun0",  "lo",   "down" };
    int n = sizeof nics / sizeof *nics;
    assert_int_equal(hx_nic_near(nics, n), 2);
    for (int i = 0; i < n; i++)
        assert_string_equal(nics[i].name, best_first[i]);
    assert_int_equal(hx_nic_near(nics + 4, n - 4), 1); /* "slow" has no equal */
    assert_int_equal(hx_nic_near(nics + 10, 1), 1);    /* nothing better than one that is down */
    assert_int_equal(hx_nic_near(nics, 0), 0);
}

/* The kernel's interfaces of unknown rate do not join; a device's of no known rate do. */
static void test_rate_unknown(void **state)
{
    (void)state;
    struct hx_nic kernel[] = { { .name = "eth1", .up = 1, .routed = 1, .network = 2 },
                               { .name = "eth0", .up = 1, .routed = 1, .network = 1 } };
    struct hx_nic device[] = { { .name = "efa1", .up = 1 }, { .name = "efa0", .up = 1 } };
    assert_int_equal(hx_nic_near(kernel, 2), 1);
    assert_string_equal(kernel[0].name, "eth0");
    assert_int_equal(hx_nic_near(device, 2), 2);

    /* all addresses of one interface count, the one that it was given first before the others, and no other interface with them */
    struct hx_nic several[] = {
        { .name = "eth0", .up = 1, .routed = 1, .network = 2, .address = 1 },
        { .name = "eth1", .up = 1, .routed = 1, .network = 3 },
        { .name = "eth0", .up = 1, .routed = 1, .network = 1 },
    };
    assert_int_equal(hx_nic_near(several, 3), 2);
    assert_int_equal(several[0].network, 1);
    assert_int_equal(several[1].network, 2);
}

static void check_share(const struct hx_nic *nics, int n, int index, int sharers, int max, const char *expected)
{
    int taken[64], count = hx_nic_share(nics, n, index, sharers, max, taken);
    char text[256] = "";
    for (int i = 0; i < count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d", i ? " " : "", taken[i]);
    if (strcmp(text, expected))
        fail_msg("rank %d of %d, %d NICs, at most %d: \"%s\", not \"%s\"", index, sharers, n, max, text, expected);
}

static void test_share(void **state)
{
    (void)state;
    struct hx_nic efa[32] = { { .network = 7 } };
    struct hx_nic eth[3] = { { .routed = 1, .network = 1 }, { .routed = 1, .network = 2 }, { .routed = 1, .network = 3 } };
    for (int i = 1; i < 32; i++)
        efa[i].network = 7;
    check_share(efa, 2, 0, 1, 4, "0 1");
    check_share(efa, 2, 0, 2, 4, "0");
    check_share(efa, 2, 1, 2, 4, "1");
    check_share(efa, 2, 2, 3, 4, "0");
    check_share(efa, 3, 0, 2, 4, "0");
    check_share(efa, 3, 1, 2, 4, "1 2");
    check_share(efa, 32, 0, 1, 4, "0 1 2 3");
    check_share(efa, 32, 7, 8, 4, "28 29 30 31");
    check_share(efa, 1, 5, 9, 4, "0");
    check_share(efa, 2, -1, 0, 1, "0"); /* no seat known */
    check_share(efa, 0, 0, 1, 4, "");
    check_share(eth, 3, 0, 4, 4, "0 1 2"); /* any two ranks have a network in common */
    check_share(eth, 3, 1, 4, 4, "1 2 0");
    check_share(eth, 3, 3, 4, 4, "0 1 2");
    check_share(eth, 3, 2, 4, 2, "0 1");
    check_share(eth, 1, 1, 2, 4, "0");

    int load[2] = { 0, 0 };
    for (int i = 0, taken[4]; i < 96; i++) {
        assert_int_equal(hx_nic_share(efa, 2, i, 96, 4, taken), 1);
        load[taken[0]]++;
    }
    assert_int_equal(load[0], 48);
    assert_int_equal(load[1], 48);
}

/* ---- whole machines of two sockets, one NUMA node each, with PCI addresses as seen there */

static void put_words(FILE *out, const char *name, int first, int count) /* a set of processing units, for hwloc */
{
    fprintf(out, " %s=\"", name);
    for (int word = 7; word >= 0; word--) {
        unsigned bits = 0;
        for (int i = 0; i < 32; i++)
            bits |= (unsigned)(32 * word + i >= first && 32 * word + i < first + count) << i;
        fprintf(out, "0x%08x%s", bits, word ? "," : "\"");
    }
}

static void put_set(FILE *out, const char *type, int index, int first, int count, unsigned nodes, const char *more)
{
    fprintf(out, "<object type=\"%s\" os_index=\"%d\" nodeset=\"0x%x\" complete_nodeset=\"0x%x\" gp_index=\"%d\"", type, index,
            nodes, nodes, ++gp);
    put_words(out, "cpuset", first, count);
    put_words(out, "complete_cpuset", first, count);
    fprintf(out, " %s", more);
}

static void machine_write(int cpus_per_socket, const unsigned *buses, int per_socket)
{
    char path[96];
    snprintf(path, sizeof path, "%s/machine.xml", root);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(HEAD, out);
    put_set(out, "Machine", 0, 0, 2 * cpus_per_socket, 3, "");
    put_words(out, "allowed_cpuset", 0, 2 * cpus_per_socket);
    fputs(" allowed_nodeset=\"0x3\">\n", out);
    for (int socket = 0; socket < 2; socket++) {
        int first = socket * cpus_per_socket;
        put_set(out, "Package", socket, first, cpus_per_socket, 1u << socket, ">\n");
        put_set(out, "NUMANode", socket, first, cpus_per_socket, 1u << socket, "local_memory=\"1073741824\"/>\n");
        for (int i = 0; i < cpus_per_socket; i++)
            put_set(out, "PU", first + i, first + i, 1, 1u << socket, "/>\n");
        for (int i = 0; i < per_socket; i++)
            put_pci(out, buses[socket * per_socket + i], 0, NULL);
        fputs("</object>\n", out);
    }
    fputs("</object>\n</topology>\n", out);
    assert_int_equal(fclose(out), 0);
}

/* Which NICs does the rank take that is bound to these units and is index of sharers there? As their buses. */
static void check_machine(const unsigned *buses, int n, const char *bound, int index, int sharers, const char *expected)
{
    struct hx_nic nics[32];
    struct hx_topo *topo = open_bound(bound);
    char text[256] = "";
    int taken[4], near, count;
    for (int i = 0; i < n; i++) {
        char name[16];
        snprintf(name, sizeof name, "rdmap%us0", buses[i]);
        nics[i] = pci(name, buses[i], 0);
        nics[i].rate_bits = UINT64_C(100000000000);
    }
    hx_nic_distances(topo, nics, n);
    hx_topo_close(topo);
    near = hx_nic_near(nics, n);
    count = hx_nic_share(nics, near, index, sharers, 4, taken);
    for (int i = 0; i < count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%x", i ? " " : "", nics[taken[i]].bus);
    if (strcmp(text, expected))
        fail_msg("bound to %s, %d of %d: \"%s\", not \"%s\"", bound, index, sharers, text, expected);
}

/* 96 units, four EFA devices, two next to each socket's GPUs */
static void test_p4d(void **state)
{
    (void)state;
    static const unsigned buses[] = { 0x10, 0x20, 0x90, 0xa0 };
    machine_write(48, buses, 2);
    check_machine(buses, 4, "0-47", 0, 1, "10 20"); /* one rank per socket takes both */
    check_machine(buses, 4, "48-95", 0, 1, "90 a0");
    check_machine(buses, 4, "0-23", 0, 2, "10");
    check_machine(buses, 4, "24-47", 1, 2, "20");
    check_machine(buses, 4, "0", 0, 48, "10"); /* 96 ranks */
    check_machine(buses, 4, "1", 1, 48, "20");
    check_machine(buses, 4, "95", 47, 48, "a0");
    check_machine(buses, 4, "0-95", 0, 1, "90 a0 10 20"); /* one rank for the machine, all at the same distance: by name */
}

/* 192 units, 32 EFA devices, four on the PCI switch of each of eight GPUs */
static void test_p5(void **state)
{
    (void)state;
    unsigned buses[32];
    int load[256] = { 0 };
    for (int i = 0; i < 32; i++)
        buses[i] = 0x4fu + 4u * (unsigned)i;
    machine_write(96, buses, 16);
    check_machine(buses, 32, "0-95", 0, 4, "67 6b 6f 73"); /* a rank per GPU: four each (rdmap103s0 sorts first) */
    check_machine(buses, 32, "96-191", 3, 4, "bf c3 c7 cb");
    check_machine(buses, 32, "0-23", 0, 1, "67 6b 6f 73"); /* no more than four endpoints */
    struct hx_nic nics[32];
    struct hx_topo *topo = open_bound("100");
    for (int i = 0; i < 32; i++)
        nics[i] = pci("efa", buses[i], 0);
    hx_nic_distances(topo, nics, 32);
    hx_topo_close(topo);
    assert_int_equal(hx_nic_near(nics, 32), 16);
    for (int i = 0, taken[4]; i < 96; i++) {
        assert_int_equal(hx_nic_share(nics, 16, i, 96, 4, taken), 1);
        load[nics[taken[0]].bus]++;
    }
    for (int k = 16; k < 32; k++)
        assert_int_equal(load[buses[k]], 6);
}

/* ---- what the kernel tells */

static void put_file(const char *name, const char *content)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *slash = strchr(path + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0755);
        *slash = '/';
    }
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(content, out);
    fclose(out);
}

static void test_kernel(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint64_t rate;
        int stacked, software;
    } expected[] = { { "ens5", UINT64_C(25000000000), 0, 0 }, { "virtio0", 0, 0, 0 }, { "bond0.7", UINT64_C(25000000000), 1, 0 },
                     { "tun0", UINT64_C(10000000), 0, 1 }, { "br0", UINT64_C(10000000000), 1, 1 }, { "gone", 0, 0, 0 } };
    put_file("class/net/ens5/speed", "25000\n");
    put_file("class/net/ens5/device/vendor", "");
    put_file("class/net/virtio0/speed", "-1\n");
    put_file("class/net/virtio0/device/vendor", "");
    put_file("class/net/bond0/lower_ens5", "");
    put_file("class/net/bond0.7/speed", "25000\n");
    put_file("class/net/bond0.7/lower_bond0", "");
    put_file("class/net/tun0/speed", "10\n");
    put_file("class/net/veth1/speed", "10000\n");
    put_file("class/net/br0/speed", "10000\n");
    put_file("class/net/br0/lower_veth1", "");
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        struct hx_nic nic = { .rate_bits = 77, .stacked = 1, .software = !expected[i].software };
        strcpy(nic.name, expected[i].name);
        hx_nic_kernel_read(root, &nic);
        assert_true(nic.rate_bits == expected[i].rate);
        assert_int_equal(nic.stacked, expected[i].stacked);
        assert_int_equal(nic.software, expected[i].software);
    }
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
        cmocka_unit_test_setup_teardown(test_numa, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_numa, setup, teardown),
        cmocka_unit_test_setup_teardown(test_p4d, setup, teardown),
        cmocka_unit_test_setup_teardown(test_p5, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kernel, setup, teardown),
        cmocka_unit_test(test_order), cmocka_unit_test(test_rate_unknown), cmocka_unit_test(test_share),
        cmocka_unit_test(test_rdma),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
