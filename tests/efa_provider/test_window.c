/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reorder window of EFA: how many messages of a peer may be ahead of a missing one. Since libfabric 2.5 it has 16, less than Hierax
 * has under way to one peer. What comes beyond it is kept in a list. So Hierax makes the window larger, unless the user has set it.
 * Before 2.5 it has at least 8192. There a smaller one would do harm: before 2.0, a message beyond it ends the process.
 */
#include "tests/inter/fabric/job.h"

#define MESSAGES 8 /* each in a flow of its own, with 16 chunks granted */
#define BYTES (16 * HX_CHUNK_LEAST)

static void case_flows(struct world *w)
{
    static struct hx_net_op ops_of[MESSAGES];
    struct hx_segment at[MESSAGES];

    for (int i = 0; i < MESSAGES; i++) {
        at[i] = (struct hx_segment){w->me == 0 ? fill(BYTES, (uint64_t)i) : calloc(1, BYTES), BYTES};
        post_in(w, &ops_of[i], (uint64_t)i, w->me == 0 ? HX_NET_SEND : HX_NET_RECV, !w->me, (uint64_t)i + 1, &at[i], 1);
    }
    for (int i = 0; i < MESSAGES; i++) {
        check(finish(w, &ops_of[i]) == 1 && holds(at[i].base, BYTES, (uint64_t)i));
        free(at[i].base);
    }
}

/* Returns how many messages came beyond the window. */
static size_t beyond(const char *version, const char *set_by_user)
{
    char name[64];
    size_t all = 0, n;
    unsigned major, minor;
    FILE *file;

    snprintf(name, sizeof(name), "/tmp/efa_window.%d", (int)getpid());
    remove(name);
    setenv("EFA_COUNT", name, 1);
    setenv("EFA_VERSION", version, 1);
    if (set_by_user)
        setenv("FI_EFA_RECVWIN_SIZE", set_by_user, 1);
    assert_int_equal(sscanf(version, "%u.%u", &major, &minor), 2);
    hx_libfabric_prepare(FI_VERSION(major, minor)); /* the ranks inherit it. The version that they load may be an older one */
    assert_int_equal(job_run("efa", PLAIN, HX_CHUNK_LEAST, 2, case_flows), 0);
    unsetenv("FI_EFA_RECVWIN_SIZE");
    file = fopen(name, "r");
    assert_non_null(file);
    for (char line[64]; fgets(line, sizeof(line), file);)
        all += sscanf(line, "beyond %*s %zu", &n) == 1 ? n : 0;
    fclose(file);
    remove(name);
    printf("libfabric %s, FI_EFA_RECVWIN_SIZE %s: %zu of %d messages come beyond the window\n", version, set_by_user ? set_by_user : "not set",
           all, 16 * MESSAGES);
    return all;
}

static void test_window(void **state)
{
    static const char *const versions[] = {"1.17", "2.1", "2.4", "2.5", "2.6"};

    (void)state;
    for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++)
        assert_int_equal(beyond(versions[i], NULL), 0);
    assert_true(beyond("2.6", "16") > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_window)};
    const char *top = getenv("top_builddir");
    char path[512];

    snprintf(path, sizeof(path), "%s/tests/efa_provider/.libs", top ? top : ".");
    setenv("FI_PROVIDER_PATH", path, 1);
    setenv("EFA_WORST", "reorder", 1);
    setenv("EFA_SEED", "1", 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
