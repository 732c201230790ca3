/* SPDX-License-Identifier: BSD-3-Clause */
/* The doctor's verdict on invented links names the slow host, direction or link, and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/info/doctor_links.h"

#define HOSTS_MAX 256
#define GOOD {20, 0.12} /* 0.96 Gbit/s */

static char told[4096]; /* what the doctor tells, a line each */

void doctor_tell(struct doctor_job *job, enum doctor_grade grade, const int *ranks, int n, const char *format, ...)
{
    char *end = told + strlen(told);
    va_list args;

    (void)job, (void)ranks, (void)n;
    va_start(args, format);
    end += sprintf(end, grade == DOCTOR_OK ? "ok: " : "");
    vsnprintf(end, sizeof(told) - (size_t)(end - told) - 1, format, args);
    va_end(args);
    strcat(told, "\n");
}

static struct hx_link matrix[HOSTS_MAX * HOSTS_MAX];

/* Links that are alike, of the first so many rounds. */
static void links_make(int n, int rounds)
{
    memset(matrix, 0, sizeof(matrix));
    for (int round = 0; round < rounds; round++)
        for (int host = 0; host < n; host++)
            if (hx_pair_partner(host, round, n) != host)
                matrix[host * n + hx_pair_partner(host, round, n)] = (struct hx_link)GOOD;
}

/* Messages of a host to (ways 1) or from (2) others, or both (3), as of this link; to -1: to all. */
static void slow(int n, int from, int to, int ways, struct hx_link link)
{
    for (int other = 0; other < n; other++)
        for (int way = 1; way <= 2; way++) {
            struct hx_link *at = &matrix[way == 1 ? from * n + other : other * n + from];
            if ((ways & way) && at->gb_s > 0 && (to < 0 || to == other))
                *at = link;
        }
}

static void judges(int n, const char *expected)
{
    struct doctor_job job = {.size = n, .hosts = n, .told = calloc((size_t)n, sizeof(*job.told))};
    struct doctor_links links = {.n = n, .matrix = matrix, .costs = calloc(3 * (size_t)n, sizeof(double))};
    int *hosts = calloc((size_t)n, sizeof(*hosts)), is_slow = 0;
    struct hx_shape *shape;

    for (int host = 0; host < n; host++) {
        char name[16];
        snprintf(name, sizeof(name), "h%d", host);
        hosts[host] = host;
        job.told[host] = json_object_new_object();
        json_object_object_add(job.told[host], "host", json_object_new_string(name));
        json_object_object_add(job.told[host], "interface", json_object_new_string("eth0"));
    }
    links.shape = shape = hx_shape_from_nodes(hosts, n);
    told[0] = 0;
    doctor_links_judge(&job, &links);
    assert_string_equal(told, expected);
    for (int round = 0; round < hx_pair_rounds(n); round++)
        is_slow |= doctor_round_is_slow(&links, round);
    assert_int_equal(is_slow, strncmp(told, "ok", 2) != 0);
    for (int host = 0; host < n; host++)
        json_object_put(job.told[host]);
    hx_shape_free(shape);
    free(job.told);
    free(links.costs);
    free(hosts);
}

#define THAN_MEDIAN "; the median host has 960 Mbit/s (factor 48)"
#define ON_ETH0 ". Its interface is eth0\n"

static void test_hosts(void **state)
{
    static const struct hx_link slower = {30, 0.0025}, far = {5000, 0.12};

    (void)state;
    links_make(4, 3);
    judges(4, "ok: 6 of 6 links between 4 hosts measured, each way: the median host has 960 Mbit/s and 20 us\n");
    slow(4, 2, -1, 3, slower);
    judges(4, "slow host h2: 20 Mbit/s to and from 3 of 3 measured hosts" THAN_MEDIAN ON_ETH0);
    links_make(4, 3);
    slow(4, 2, -1, 1, slower);
    judges(4, "slow host h2: 20 Mbit/s only to 3 of 3 measured hosts" THAN_MEDIAN ON_ETH0);
    links_make(3, 3); /* two of three links are slow */
    slow(3, 0, -1, 3, slower);
    judges(3, "slow host h0: 20 Mbit/s to and from 2 of 2 measured hosts" THAN_MEDIAN ON_ETH0);
    links_make(5, 5); /* and two of five hosts */
    slow(5, 0, -1, 2, slower);
    slow(5, 4, -1, 2, slower);
    judges(5, "slow host h0: 20 Mbit/s only from 4 of 4 measured hosts" THAN_MEDIAN ON_ETH0
              "slow host h4: 20 Mbit/s only from 4 of 4 measured hosts" THAN_MEDIAN ON_ETH0);
    links_make(4, 3);
    slow(4, 1, -1, 3, far);
    judges(4, "slow host h1: 5000 us to and from 3 of 3 measured hosts; the median host has 20 us (factor 250)" ON_ETH0);
}

static void test_links(void **state)
{
    static const struct hx_link slower = {30, 0.0025}, noisy = {90, 0.05};

    (void)state;
    links_make(4, 3);
    slow(4, 1, 2, 3, slower);
    judges(4, "slow link from h1 to h2: 20 Mbit/s, and 20 Mbit/s back" THAN_MEDIAN "\n");
    links_make(4, 3);
    slow(4, 3, 2, 1, slower);
    judges(4, "slow link from h3 to h2: 20 Mbit/s, and 960 Mbit/s back" THAN_MEDIAN "\n");
    links_make(2, 1);
    slow(2, 0, 1, 1, slower);
    judges(2, "slow link from h0 to h1: 20 Mbit/s, and 960 Mbit/s back" THAN_MEDIAN "\n");
    links_make(4, 3);
    slow(4, 1, -1, 3, noisy); /* a busy machine */
    judges(4, "ok: 6 of 6 links between 4 hosts measured, each way: the median host has 960 Mbit/s and 20 us\n");
}

/* Of many hosts, not all rounds are measured. */
static void test_sampled(void **state)
{
    static const struct hx_link slower = {30, 0.0025};

    (void)state;
    links_make(HOSTS_MAX, 7);
    judges(HOSTS_MAX, "ok: 896 of 32640 links between 256 hosts measured, each way: the median host has 960 Mbit/s and 20 us\n");
    slow(HOSTS_MAX, 200, -1, 3, slower);
    judges(HOSTS_MAX, "slow host h200: 20 Mbit/s to and from 7 of 7 measured hosts" THAN_MEDIAN ON_ETH0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_hosts), cmocka_unit_test(test_links), cmocka_unit_test(test_sampled)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
