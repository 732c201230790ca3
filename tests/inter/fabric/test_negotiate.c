/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of providers and interfaces, and addresses that must be refused. One process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "inter/fabric/fabric.h"
#include "runtime/base/error.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOB_BYTES 1024
#define ops (&hx_net_fabric)

static const struct hx_net_seat alone = {0, 1, 0, 1};
static const unsigned char no_key[HX_NET_KEY_BYTES];
static const struct hx_net_refusals none_refused;

/* These settings are refused, and the error says what. */
static void refused(struct hx_env env, const char *what)
{
    struct hx_net *net = NULL;

    assert_int_equal(ops->open(&env, 0, 2, &alone, no_key, &none_refused, &net), HX_ERR_TRANSPORT);
    if (!strstr(hx_last_detail(), what))
        fail_msg("does not say '%s': %s", what, hx_last_detail());
}

static void test_bad_names(void **state)
{
    static const char *const networks[] = {"10.77.0.0/", "10.77.0.0/all", "10.77.0.0/8x", "127.0.0.1/33", "127.0.0.1/-1"};

    (void)state;
    refused((struct hx_env){.provider = "nosuch"}, "HX_PROVIDER=nosuch");
    assert_non_null(strstr(hx_last_detail(), "tcp;ofi_rxm"));
    refused((struct hx_env){.nic = "eth77"}, "HX_NIC=eth77");
    assert_non_null(strstr(hx_last_detail(), " lo"));
    assert_non_null(strstr(hx_last_detail(), "interface eth77; libfabric has: "));
    refused((struct hx_env){.nic = "lo, eth77,eth78"}, "HX_NIC=lo, eth77,eth78: there is no usable interface eth77; ");
    assert_null(strstr(hx_last_detail(), "ip -br address")); /* only for what may be an address */
    refused((struct hx_env){.nic = "240.0.0.0/8"}, "no usable interface is in network 240.0.0.0/8; ");
    assert_non_null(strstr(hx_last_detail(), "\"ip -br address\" shows their addresses"));
    refused((struct hx_env){.nic = "lo,lo"}, "HX_NIC=lo,lo: lo is named twice; libfabric");
    refused((struct hx_env){.nic = " ,"}, "HX_NIC= ,: there is no usable interface");
    for (size_t i = 0; i < sizeof(networks) / sizeof(networks[0]); i++) {
        refused((struct hx_env){.nic = networks[i]}, networks[i]);
        assert_non_null(strstr(hx_last_detail(), "its prefix length must be 0 to 32"));
    }
    refused((struct hx_env){.nic = "fe80::1/129"}, "its prefix length must be 0 to 128");
    refused((struct hx_env){.nic = "eth77", .provider = "sockets"}, "eth77");
}

static void test_loopback(void **state)
{
    struct hx_env env = {.nic = "lo"};
    struct hx_net *net = NULL;

    (void)state;
    assert_int_equal(ops->open(&env, 0, 2, &alone, no_key, &none_refused, &net), HX_SUCCESS);
    assert_non_null(strstr(ops->describe(net), " on lo"));
    assert_int_equal(net->traits->faults_before, FI_VERSION(1, 20)); /* native TCP */
    ops->close(net, 0);
}

/* ---- devices that libfabric does not offer */

static char tree[64];

static void file_write(const char *path, const char *text)
{
    char whole[256];
    FILE *out;

    snprintf(whole, sizeof(whole), "%s/%s", tree, path);
    out = fopen(whole, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

/* Open an endpoint as this rank of its node, and read what it warns of. */
static void warned(struct hx_env env, struct hx_net_seat seat, const struct hx_net_refusals *refused, char *text, size_t bytes)
{
    FILE *file = tmpfile();
    const int saved = dup(2);
    struct hx_net *net = NULL;
    hx_status_t status;
    size_t n;

    assert_non_null(file);
    dup2(fileno(file), 2);
    status = ops->open(&env, 0, 2, &seat, no_key, refused, &net);
    dup2(saved, 2);
    close(saved);
    assert_int_equal(status, HX_SUCCESS);
    ops->close(net, 0);
    rewind(file);
    n = fread(text, 1, bytes - 1, file);
    text[n] = 0;
    fclose(file);
}

static void test_device_unused(void **state)
{
    static const char *const folders[] = {"bus", "bus/pci", "bus/pci/devices", "bus/pci/devices/0000:00:1e.0", "bus/pci/devices/0000:00:1f.0",
                                          "bus/pci/devices/0000:00:20.0", "infiniband"};
    const struct hx_net_seat second = {.sharers = 1, .of_node = 1, .on_node = 2};
    const struct hx_net_refusals efa_refused = {.providers = 1};
    char text[2048], path[256];

    (void)state;
    unsetenv("FI_PROVIDER");
    snprintf(tree, sizeof(tree), "/tmp/hierax-sys-XXXXXX");
    assert_non_null(mkdtemp(tree));
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders) - 1; i++) {
        snprintf(path, sizeof(path), "%s/%s", tree, folders[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    hx_fabric_test.sys = hx_fabric_test.dev = tree;
    file_write("bus/pci/devices/0000:00:1e.0/vendor", "0x1d0f\n");
    file_write("bus/pci/devices/0000:00:1e.0/device", "0xec20\n"); /* Amazon's, not EFA */
    warned((struct hx_env){0}, alone, &none_refused, text, sizeof(text));
    assert_null(strstr(text, "hierax"));
    for (int i = 0; i < 2; i++) { /* the third device has a vendor only */
        snprintf(path, sizeof(path), "%s/vendor", folders[4 + i]);
        file_write(path, "0x1d0f\n");
    }
    file_write("bus/pci/devices/0000:00:1e.0/device", "0xefa3\n");
    file_write("bus/pci/devices/0000:00:1f.0/device", "0xefa0\n");

    warned((struct hx_env){0}, alone, &none_refused, text, sizeof(text));
    assert_non_null(strstr(text, "not its 2 devices for provider efa: there is no /dev/infiniband (to mend it: modprobe efa;"));
    snprintf(path, sizeof(path), "%s/infiniband", tree);
    assert_int_equal(mkdir(path, 0700), 0);
    warned((struct hx_env){0}, alone, &none_refused, text, sizeof(text));
    assert_non_null(strstr(text, "this process may not open /dev/infiniband/uverbs* (to mend it: chmod "));
    file_write("infiniband/uverbs0", "");
    warned((struct hx_env){0}, alone, &none_refused, text, sizeof(text));
    assert_non_null(strstr(text, " does not offer them (to mend it: install ibverbs-providers, or "));
    assert_null(strstr(strstr(text, "hierax") + 1, "hierax")); /* one line; libfabric may write some too */

    /* another rank of the node; the user has chosen; it was refused, and the job warns of that */
    warned((struct hx_env){0}, second, &none_refused, text, sizeof(text));
    assert_null(strstr(text, "hierax"));
    warned((struct hx_env){.provider = "sockets"}, alone, &none_refused, text, sizeof(text));
    assert_null(strstr(text, "hierax"));
    warned((struct hx_env){.nic = "lo"}, alone, &none_refused, text, sizeof(text));
    assert_null(strstr(text, "hierax"));
    warned((struct hx_env){0}, alone, &efa_refused, text, sizeof(text));
    assert_null(strstr(text, "hierax"));
    setenv("FI_PROVIDER", "^shm", 1);
    warned((struct hx_env){0}, alone, &none_refused, text, sizeof(text));
    assert_null(strstr(text, "hierax"));
    unsetenv("FI_PROVIDER");

    hx_fabric_test.sys = hx_fabric_test.dev = NULL;
    snprintf(path, sizeof(path), "rm -r %s", tree);
    assert_int_equal(system(path), 0);
}

static void refused_blob(struct hx_net *net, const char *good, size_t bytes, size_t at, char flip, const char *expect)
{
    char blob[BLOB_BYTES];

    memcpy(blob, good, bytes);
    blob[at] ^= flip;
    assert_int_equal(ops->connect(net, 1, blob, bytes), HX_ERR_TRANSPORT);
    assert_non_null(strstr(hx_last_detail(), expect));
}

/* A rank with other settings refuses this address of rank 0. */
static void refused_by(struct hx_env env, const char *blob, size_t bytes, const char *expect)
{
    struct hx_net *net;
    char own[BLOB_BYTES];
    size_t own_bytes = sizeof(own);

    assert_int_equal(ops->open(&env, 1, 2, &alone, no_key, &none_refused, &net), HX_SUCCESS);
    assert_int_equal(ops->address(net, own, &own_bytes), HX_SUCCESS);
    assert_int_equal(ops->connect(net, 0, blob, bytes), HX_ERR_TRANSPORT);
    assert_non_null(strstr(hx_last_detail(), expect));
    ops->close(net, 0);
}

static void test_bad_address(void **state)
{
    struct hx_env env = {.provider = "net"};
    struct hx_net *net;
    char blob[BLOB_BYTES];
    size_t bytes = sizeof(blob), few = 10;

    (void)state;
    assert_int_equal(ops->open(&env, 0, 2, &alone, no_key, &none_refused, &net), HX_SUCCESS);
    assert_int_equal(ops->address(net, blob, &few), HX_ERR_INTERNAL);
    assert_int_equal(ops->address(net, blob, &bytes), HX_SUCCESS);
    refused_blob(net, blob, bytes, 0, 1, "not an address of Hierax");
    refused_blob(net, blob, bytes, 8, 2, "version");
    for (size_t at = 10; at < bytes; at++)
        refused_blob(net, blob, bytes, at, 0x10, "rank 1");
    assert_int_equal(ops->connect(net, 1, blob, bytes - 1), HX_ERR_TRANSPORT);
    assert_int_equal(ops->connect(net, 1, blob, 3), HX_ERR_TRANSPORT);
    assert_int_equal(ops->connect(net, 0, blob, bytes), HX_ERR_INTERNAL);
    assert_int_equal(ops->connect(net, 2, blob, bytes), HX_ERR_INTERNAL);
    refused_by((struct hx_env){.provider = "sockets"}, blob, bytes, "sockets");
    refused_by((struct hx_env){.provider = "net", .chunk = 12345}, blob, bytes, "12345");
    assert_int_equal(ops->connect(net, 1, blob, bytes), HX_SUCCESS);
    ops->close(net, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bad_names), cmocka_unit_test(test_loopback), cmocka_unit_test(test_device_unused),
                                       cmocka_unit_test(test_bad_address)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
