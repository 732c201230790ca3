/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a helper thread runs, on the machine of described.h and on others. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "described.h"
#include "topo/helper.h"

/* Its units as text. */
static const char *units_of(const struct hx_topo *topo, const struct hx_nic *nic, int program_unit, int capacity)
{
    static char text[256];
    int units[64], count = hx_helper_units(topo, nic, program_unit, units, capacity), used = 0;
    *text = 0;
    for (int i = 0; i < count; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%d", i ? "," : "", units[i]);
    return text;
}

static void test_near(void **state)
{
    (void)state;
    static const struct {
        const char *bound;
        unsigned bus; /* 0: no interface */
        int program;
        const char *units;
    } cases[] = {
        { "5", 0, 5, "" },                        /* one core: it stays */
        { "4-5", 0, 4, "5,4" },
        { "4-5", 0, 5, "4,5" },
        { "0-7", 0, -1, "7,6,5,4,3,2,1,0" },      /* programs begin with the lowest */
        { "0-7", 0, 6, "7,5,4,3,2,1,0,6" },
        { "0-7", 0x20, 0, "3,2,1,7,6,5,4,0" },    /* its NUMA node, its socket, the other one */
        { "0-7", 0x20, 3, "2,1,0,7,6,5,4,3" },
        { "0-7", 0x40, 4, "5,7,6,3,2,1,0,4" },
        { "0-7", 0x04, 0, "7,6,5,4,3,2,1,0" },    /* near nothing */
        { "1-2,6", 0x10, 2, "1,6,2" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hx_topo *topo = open_bound(cases[i].bound);
        struct hx_nic nic = { .has_pci = 1, .bus = cases[i].bus };
        assert_string_equal(units_of(topo, cases[i].bus ? &nic : NULL, cases[i].program, 64), cases[i].units);
        hx_topo_close(topo);
    }
}

static void test_cache(void **state)
{
    (void)state;
    char error[HX_TOPO_ERROR_BYTES];
    struct hx_topo *topo;
    assert_int_equal(hx_topo_open("pack:1 l3:2 core:2 pu:2", NULL, 1, &topo, error), 0);
    assert_string_equal(units_of(topo, NULL, 0, 64), "3,7,5,1"); /* one of each core: same L3 cache, other ones, its own */
    assert_string_equal(units_of(topo, NULL, 5, 64), "7,3,1,5");
    assert_string_equal(units_of(topo, NULL, 5, 2), "7,3");
    hx_topo_close(topo);
    assert_int_equal(hx_topo_open("core:1 pu:4", NULL, 1, &topo, error), 0);
    assert_string_equal(units_of(topo, NULL, 0, 64), ""); /* one core, whatever its threads */
    hx_topo_close(topo);
    assert_int_equal(hx_topo_open("pu:3", NULL, 1, &topo, error), 0);
    assert_string_equal(units_of(topo, NULL, 2, 64), "1,0,2"); /* nobody tells of cores */
    hx_topo_close(topo);
}

static void test_parse(void **state)
{
    (void)state;
    static const char *const bad[] = { "x", "1x", "1,", ",1", "1-", "-1", "3-2", "1 2", "auto", "99999999999999999999" };
    struct hx_topo *topo = open_bound("4"); /* the binding does not count */
    char error[HX_TOPO_ERROR_BYTES];
    int units[4];
    assert_int_equal(hx_helper_units_parse(topo, "6,0-2", units, 4, error), 4);
    assert_int_equal(units[0], 6);
    assert_int_equal(units[3], 2);
    assert_int_equal(hx_helper_units_parse(topo, "0-7", units, 4, error), 4);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(hx_helper_units_parse(topo, bad[i], units, 4, error), -1);
        assert_non_null(strstr(error, "expected processing units"));
    }
    assert_int_equal(hx_helper_units_parse(topo, "7-8", units, 4, error), -1);
    assert_string_equal(error, "processing unit 8 is not available to this process; choose from 0-7");
    hx_topo_close(topo);
}

static void *sleeper(void *arg)
{
    pthread_mutex_lock(arg);
    pthread_mutex_unlock(arg);
    return NULL;
}

static void test_pin(void **state)
{
    (void)state;
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    char error[HX_TOPO_ERROR_BYTES];
    struct hx_topo *topo;
    pthread_t thread;
    cpu_set_t mine, its;
    int last = 0;
    assert_int_equal(hx_topo_open(NULL, NULL, 0, &topo, error), 0);
    assert_int_equal(sched_getaffinity(0, sizeof mine, &mine), 0);
    for (int i = 0; i < CPU_SETSIZE; i++)
        last = CPU_ISSET(i, &mine) ? i : last;
    pthread_mutex_lock(&gate);
    assert_int_equal(pthread_create(&thread, NULL, sleeper, &gate), 0);
    assert_int_equal(hx_helper_pin(topo, thread, last), 0);
    assert_int_equal(pthread_getaffinity_np(thread, sizeof its, &its), 0);
    assert_int_equal(CPU_COUNT(&its), 1);
    assert_true(CPU_ISSET(last, &its));
    assert_int_equal(sched_getaffinity(0, sizeof its, &its), 0);
    assert_true(CPU_EQUAL(&its, &mine)); /* the program's thread stays free */
    assert_int_equal(hx_helper_pin(topo, thread, 1000000), -1);
    pthread_mutex_unlock(&gate);
    pthread_join(thread, NULL);
    hx_topo_close(topo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_near, setup, teardown), cmocka_unit_test(test_cache),
        cmocka_unit_test_setup_teardown(test_parse, setup, teardown), cmocka_unit_test(test_pin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
