/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of providers and interfaces, and addresses that must be refused. One process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "inter/fabric/fabric.h"
#include "runtime/base/error.h"
#include <string.h>

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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bad_names), cmocka_unit_test(test_loopback),
                                       cmocka_unit_test(test_bad_address)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
