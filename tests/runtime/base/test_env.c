/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings: defaults, overrides, every kind of bad value, unknown names, and rank 0's settings sent to others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/base/coll.h"
#include "runtime/base/env.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"

static char captured[16384];

/* Load with stderr captured. */
static hx_status_t load_captured(struct hx_env *env, const char *const *overrides)
{
    FILE *file = tmpfile();
    const int saved = dup(STDERR_FILENO);

    assert_non_null(file);
    dup2(fileno(file), STDERR_FILENO);
    const hx_status_t status = hx_env_load(env, overrides);
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(file);
    captured[fread(captured, 1, sizeof captured - 1, file)] = '\0';
    fclose(file);
    return status;
}

static hx_status_t load_one(struct hx_env *env, const char *setting)
{
    const char *const overrides[] = {setting, NULL};

    return load_captured(env, overrides);
}

static void expect_bad(const char *setting, const char *name_part, const char *range_part)
{
    struct hx_env env;

    assert_int_equal(load_one(&env, setting), HX_ERR_ENV);
    if (!strstr(hx_last_detail(), name_part) || !strstr(hx_last_detail(), range_part))
        fail_msg("%s: detail \"%s\" lacks \"%s\" or \"%s\"", setting, hx_last_detail(), name_part, range_part);
    assert_non_null(strstr(captured, hx_last_detail())); /* logged, once */
    assert_null(strstr(strstr(captured, hx_last_detail()) + 1, hx_last_detail()));
    assert_int_equal(env.lanes, 0); /* complete, the bad value's default included */
    assert_int_equal(env.bootstrap, 0);
    assert_true(env.timeout == 300);
    hx_env_release(&env);
}

static int clean_environment(void **state)
{
    (void)state;
    clearenv();
    hx_log_threshold = HX_LOG_WARN;
    return 0;
}

static void test_defaults(void **state)
{
    struct hx_env env;

    (void)state;
    assert_int_equal(load_captured(&env, NULL), HX_SUCCESS);
    assert_string_equal(captured, "");
    assert_int_equal(env.log, HX_LOG_WARN);
    assert_int_equal(env.bootstrap, 0);
    assert_null(env.root);
    assert_int_equal(env.rank, -1);
    assert_true(env.timeout == 300.0);
    assert_int_equal(env.check, 0);
    for (int idx = 0; idx < HX_ENV_COUNT; idx++)
        assert_int_equal(env.source[idx], HX_SOURCE_DEFAULT);
    hx_env_release(&env);
}

static void test_sources(void **state)
{
    const char *const overrides[] = {"HX_LANES=3", "HX_PROVIDER=tcp;ofi_rxm", "HX_LANES=5", "HX_CHECK=", NULL};
    struct hx_env env;

    (void)state;
    setenv("HX_LANES", "no number, but overridden", 1);
    setenv("HX_NODES", "2", 1);
    setenv("HX_CHECK", "yes", 1);
    setenv("HX_LOG", "debug", 1);
    setenv("HX_ROOT", "", 1);
    assert_int_equal(load_captured(&env, overrides), HX_SUCCESS);
    assert_int_equal(env.lanes, 5); /* the last override wins */
    assert_int_equal(env.source[HX_ENV_IDX_lanes], HX_SOURCE_OVERRIDE);
    assert_string_equal(env.provider, "tcp;ofi_rxm");
    assert_string_equal(env.nodes, "2");
    assert_int_equal(env.source[HX_ENV_IDX_nodes], HX_SOURCE_ENVIRONMENT);
    assert_int_equal(env.check, 0); /* an empty override restores the default */
    assert_int_equal(env.source[HX_ENV_IDX_check], HX_SOURCE_DEFAULT);
    assert_int_equal(env.log, HX_LOG_DEBUG);
    assert_int_equal(hx_log_threshold, HX_LOG_DEBUG);
    assert_null(env.root);
    hx_env_release(&env);
    assert_null(env.provider);
}

static void test_good_values(void **state)
{
    static const struct {
        const char *setting;
        size_t offset;
        int64_t expected;
    } integers[] = {
        {"HX_SLICE=0", offsetof(struct hx_env, slice), 0},
        {"HX_SLICE=512", offsetof(struct hx_env, slice), 512},
        {"HX_SLICE=4096", offsetof(struct hx_env, slice), 4096},
        {"HX_SLICE=3k", offsetof(struct hx_env, slice), 3072},
        {"HX_SLICE=64K", offsetof(struct hx_env, slice), 65536},
        {"HX_SLICE=64KiB", offsetof(struct hx_env, slice), 65536},
        {"HX_SLICE=64 KiB", offsetof(struct hx_env, slice), 65536},
        {"HX_SLICE=800B", offsetof(struct hx_env, slice), 800},
        {"HX_SLICE=2M", offsetof(struct hx_env, slice), 2 << 20},
        {"HX_SLICE=1G", offsetof(struct hx_env, slice), 1 << 30},
        {"HX_SPIN=-1", offsetof(struct hx_env, spin), -1},
        {"HX_SIZE=16777216", offsetof(struct hx_env, size), 16777216},
    };
    static const char *const bools[] = {"0", "1", "no", "yes", "off", "on", "false", "true"};
    struct hx_env env;
    char text[64];

    (void)state;
    for (size_t i = 0; i < sizeof integers / sizeof integers[0]; i++) {
        assert_int_equal(load_one(&env, integers[i].setting), HX_SUCCESS);
        assert_int_equal(*(int64_t *)((char *)&env + integers[i].offset), integers[i].expected);
    }
    for (int i = 0; i < 8; i++) {
        snprintf(text, sizeof text, "HX_EXPLAIN=%s", bools[i]);
        assert_int_equal(load_one(&env, text), HX_SUCCESS);
        assert_int_equal(env.explain, i % 2);
    }
    assert_int_equal(load_one(&env, "HX_BOOTSTRAP=single"), HX_SUCCESS);
    assert_int_equal(env.bootstrap, 4);
    assert_int_equal(load_one(&env, "HX_TIMEOUT=0.125"), HX_SUCCESS);
    assert_true(env.timeout == 0.125);
    assert_int_equal(load_one(&env, "HX_TIMEOUT=1000000000"), HX_SUCCESS);
    assert_true(env.timeout == 1e9);
}

static void test_bad_values(void **state)
{
    (void)state;
    expect_bad("HX_LOG=loud", "HX_LOG=loud:", "error, warn, info, debug");
    expect_bad("HX_LOG=war", "HX_LOG=war:", "error, warn, info, debug");
    expect_bad("HX_LOG=error|warn", "HX_LOG=error|warn:", "error, warn, info, debug");
    expect_bad("HX_BOOTSTRAP=PMIX", "HX_BOOTSTRAP=PMIX:", "auto, tcp, pmi1, pmix, single");
    expect_bad("HX_RANK=-2", "HX_RANK=-2:", "-1 to 16777215");
    expect_bad("HX_RANK=16777216", "HX_RANK=16777216:", "-1 to 16777215");
    expect_bad("HX_RANK=1x", "HX_RANK=1x:", "-1 to 16777215");
    expect_bad("HX_RANK= 1", "HX_RANK= 1:", "-1 to 16777215");
    expect_bad("HX_RANK=-", "HX_RANK=-:", "-1 to 16777215");
    expect_bad("HX_RANK=99999999999999999999", "HX_RANK", "-1 to 16777215");
    expect_bad("HX_RANK=18446744073709551616", "HX_RANK", "-1 to 16777215"); /* 2^64 must not wrap to 0 */
    expect_bad("HX_SLICE=-1", "HX_SLICE=-1:", "0, or 512 B to 1 GiB");
    expect_bad("HX_SLICE=2G", "HX_SLICE=2G:", "0, or 512 B to 1 GiB");
    expect_bad("HX_SLICE=K", "HX_SLICE=K:", "0, or 512 B to 1 GiB");
    expect_bad("HX_SLICE=1T", "HX_SLICE=1T:", "0, or 512 B to 1 GiB");
    expect_bad("HX_SLICE=1KB", "HX_SLICE=1KB:", "0, or 512 B to 1 GiB");
    expect_bad("HX_SLICE=1.5M", "HX_SLICE=1.5M:", "0, or 512 B to 1 GiB");
    expect_bad("HX_SLICE=17179869184G", "HX_SLICE", "0, or 512 B to 1 GiB"); /* 2^64 bytes must not wrap to 0 */
    expect_bad("HX_SLICE=3", "HX_SLICE=3:", "0, or 512 B to 1 GiB");
    expect_bad("HX_SLICE=511", "HX_SLICE=511:", "0, or 512 B to 1 GiB");
    expect_bad("HX_CHUNK=511", "HX_CHUNK=511:", "0, or 512 B to 1 GiB");
    expect_bad("HX_TRACE_BYTES=0", "HX_TRACE_BYTES=0:", "64 KiB to 1 GiB");
    expect_bad("HX_CHECK=2", "HX_CHECK=2:", "0, 1 (or no, yes, off, on, false, true)");
    expect_bad("HX_TIMEOUT=-1", "HX_TIMEOUT=-1:", "0 to 1000000000");
    expect_bad("HX_TIMEOUT=-0.5", "HX_TIMEOUT=-0.5:", "0 to 1000000000");
    expect_bad("HX_TIMEOUT=nan", "HX_TIMEOUT=nan:", "0 to 1000000000");
    expect_bad("HX_TIMEOUT=1000000000.5", "HX_TIMEOUT", "0 to 1000000000");
    expect_bad("HX_TIMEOUT=5s", "HX_TIMEOUT=5s:", "0 to 1000000000");
    expect_bad("lanes=2", "lanes=2", "HX_NAME=value");
    expect_bad("HX_LANES", "HX_LANES", "HX_NAME=value");
    setenv("HX_LANES", "many", 1);
    expect_bad("HX_CHECK=1", "HX_LANES=many:", "0 to 1024");
}

static void test_unknown_names(void **state)
{
    struct hx_env env;
    char longest[300] = "HX_";

    (void)state;
    setenv("HX_PROVDER", "tcp", 1);
    assert_int_equal(load_one(&env, "HX_TIME_OUT=3"), HX_SUCCESS);
    assert_non_null(strstr(captured, "HX_PROVDER in the environment is ignored; did you mean HX_PROVIDER?"));
    assert_non_null(strstr(captured, "HX_TIME_OUT in the given settings is ignored; did you mean HX_TIMEOUT?"));
    assert_int_equal(load_one(&env, "HX_INTERFACE=eth0"), HX_SUCCESS);
    assert_non_null(strstr(captured, "HX_INTERFACE in the given settings is ignored: its name is now HX_NIC"));
    assert_null(env.nic);
    setenv("HX_RANK", "7", 1); /* another rank says it */
    assert_int_equal(load_captured(&env, NULL), HX_SUCCESS);
    assert_string_equal(captured, "");
    unsetenv("HX_RANK");
    setenv("HX_LOG", "error", 1);
    assert_int_equal(load_captured(&env, NULL), HX_SUCCESS);
    assert_string_equal(captured, "");
    unsetenv("HX_LOG");
    setenv("HXA", "not ours", 1);
    memset(longest + 3, 'X', sizeof longest - 4);
    setenv(longest, "1", 1);
    assert_int_equal(load_captured(&env, NULL), HX_SUCCESS);
    assert_non_null(strstr(captured, "HX_XXX"));
    assert_null(strstr(captured, "HXA"));
}

static void test_pack_round_trip(void **state)
{
    static const char odd[] = "tcp;ofi_rxm a=b %41 \"q\" \t\n \xc3\xa9|\\~";
    struct hx_env zero, other;
    char packed[4096], again[4096], setting[128], small[16];
    const char *const overrides[] = {setting, "HX_TIMEOUT=0.1", "HX_CHUNK=48K", "HX_LOG=debug", NULL};

    (void)state;
    snprintf(setting, sizeof setting, "HX_PROVIDER=%s", odd);
    assert_int_equal(load_captured(&zero, overrides), HX_SUCCESS);
    const size_t length = hx_env_pack_job(&zero, packed, sizeof packed);
    assert_int_equal(length, strlen(packed));
    assert_int_equal(hx_env_pack_job(&zero, NULL, 0), length);
    assert_int_equal(hx_env_pack_job(&zero, small, sizeof small), length);
    assert_int_equal(strlen(small), sizeof small - 1);
    assert_memory_equal(small, packed, sizeof small - 1);
    for (const char *c = packed; *c; c++)
        assert_true(*c == ' ' || (*c > ' ' && *c < 127));
    assert_non_null(strstr(packed, "HX_CHUNK=48%20KiB "));
    assert_non_null(strstr(packed, "HX_TIMEOUT=0.1 "));
    assert_null(strstr(packed, "HX_LOG")); /* each rank's own */

    setenv("HX_ALLREDUCE", "ring", 1); /* set here, not on rank 0: must go */
    assert_int_equal(load_one(&other, "HX_LANES=2"), HX_SUCCESS);
    hx_log_threshold = HX_LOG_ERROR;
    assert_int_equal(hx_env_unpack_job(&other, packed), HX_SUCCESS);
    assert_string_equal(other.provider, odd);
    assert_true(other.timeout == 0.1);
    assert_int_equal(other.lanes, 0);
    assert_null(other.allreduce);
    assert_int_equal(other.log, HX_LOG_WARN);
    assert_int_equal(other.source[HX_ENV_IDX_provider], HX_SOURCE_JOB);
    assert_int_equal(other.source[HX_ENV_IDX_allreduce], HX_SOURCE_JOB);
    assert_int_equal(other.source[HX_ENV_IDX_check], HX_SOURCE_DEFAULT);
    hx_env_pack_job(&other, again, sizeof again);
    assert_string_equal(again, packed);
    hx_env_release(&zero);
    hx_env_release(&other);
}

static void test_unpack_broken(void **state)
{
    static const char *const broken[] = {"HX_LANES", "HX_LANES=%", "HX_LANES=%4", "HX_LANES=%zz", "HX_LANES=%00",
                                         "HX_FUTURE=1", "HX_LOG=debug", "HX_LOG=warn"};
    struct hx_env env;
    char packed[4096];

    (void)state;
    assert_int_equal(load_captured(&env, NULL), HX_SUCCESS);
    const size_t length = hx_env_pack_job(&env, packed, sizeof packed);
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        snprintf(packed + length, sizeof packed - length, " %s", broken[i]); /* one bad word after all good ones */
        if (hx_env_unpack_job(&env, packed) != HX_ERR_BOOTSTRAP || !strstr(hx_last_detail(), "cannot read"))
            fail_msg("\"%s\" is taken, or: %s", broken[i], hx_last_detail());
    }
    packed[length] = '\0';
    assert_int_equal(hx_env_unpack_job(&env, packed), HX_SUCCESS);
    *strrchr(packed, ' ') = '\0'; /* from a version without the last setting */
    assert_int_equal(hx_env_unpack_job(&env, packed), HX_ERR_BOOTSTRAP);
    assert_non_null(strstr(hx_last_detail(), "rank 0 sent no HX_"));
    assert_int_equal(hx_env_unpack_job(&env, ""), HX_ERR_BOOTSTRAP);
    assert_int_equal(hx_env_unpack_job(&env, "HX_LANES=lots"), HX_ERR_ENV);
    hx_env_release(&env);
}

/* Seconds survive printing and reading under a locale whose decimal point is a comma, and at the range's ends. */
static void test_seconds_text(void **state)
{
    static const char *const values[] = {"0", "0.000001", "0.000498", "0.1", "0.999999",
                                         "299.5", "999999999.000001", "1000000000"};
    char setting[64], packed[4096], expected[80];
    struct hx_env env;

    (void)state;
    setlocale(LC_ALL, "de_DE.UTF-8"); /* where installed */
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        snprintf(setting, sizeof setting, "HX_TIMEOUT=%s", values[i]);
        assert_int_equal(load_one(&env, setting), HX_SUCCESS);
        hx_env_pack_job(&env, packed, sizeof packed);
        snprintf(expected, sizeof expected, " %s ", setting);
        if (!strstr(packed, expected))
            fail_msg("%s is packed as %s", setting, packed);
    }
    setlocale(LC_ALL, "C");
}

static void test_list(void **state)
{
    char *markdown = NULL;
    size_t bytes;

    (void)state;
    FILE *out = open_memstream(&markdown, &bytes);
    hx_env_list(out);
    fclose(out);
    int lines = 0;
    for (const char *c = markdown; *c; c++)
        lines += *c == '\n';
    assert_int_equal(lines, HX_ENV_COUNT - 3 * (HX_COLL_COUNT - 1) + 2); /* the settings of all collectives are three rows */
    assert_non_null(strstr(markdown, "| `HX_LOG` | choice | warn | error, warn, info, debug | "));
    for (char *line = strtok(markdown, "\n"); line; line = strtok(NULL, "\n")) {
        int bars = 0;
        for (const char *c = line; *c; c++)
            bars += *c == '|';
        assert_int_equal(bars, 6);
    }
    free(markdown);
}

/* Only this process knows the secret: neither its children nor readers of its environment see it. */
static void test_secret_is_hidden(void **state)
{
    static const char constant[] = "HX_SECRET=of a constant";
    struct hx_env env;
    char line[64] = "";

    (void)state;
    setenv("HX_SECRET", "word", 1);
    for (int turn = 0; turn < 2; turn++) { /* hidden by then, and known nevertheless */
        assert_int_equal(load_captured(&env, NULL), HX_SUCCESS);
        assert_string_equal(env.secret, "word");
        assert_string_equal(getenv("HX_SECRET"), "****");
        assert_true(hx_secret_is_hidden(getenv("HX_SECRET")));
        hx_env_release(&env);
    }
    FILE *child = popen("echo \"$HX_SECRET\"", "r");
    assert_non_null(fgets(line, sizeof line, child));
    pclose(child);
    assert_string_equal(line, "****\n");

    setenv("HX_SECRET", "another", 1);
    assert_int_equal(load_captured(&env, NULL), HX_SUCCESS);
    assert_string_equal(env.secret, "another");
    hx_env_release(&env);

    const size_t page = (size_t)sysconf(_SC_PAGESIZE); /* nothing may write to a constant */
    char *text = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(text, constant, sizeof constant);
    mprotect(text, page, PROT_READ);
    putenv(text);
    assert_int_equal(load_captured(&env, NULL), HX_SUCCESS);
    assert_string_equal(env.secret, "of a constant");
    assert_string_equal(getenv("HX_SECRET"), "of a constant");
    hx_env_release(&env);
    unsetenv("HX_SECRET");
    munmap(text, page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_defaults, clean_environment),
        cmocka_unit_test_setup(test_sources, clean_environment),
        cmocka_unit_test_setup(test_good_values, clean_environment),
        cmocka_unit_test_setup(test_bad_values, clean_environment),
        cmocka_unit_test_setup(test_unknown_names, clean_environment),
        cmocka_unit_test_setup(test_pack_round_trip, clean_environment),
        cmocka_unit_test_setup(test_unpack_broken, clean_environment),
        cmocka_unit_test_setup(test_seconds_text, clean_environment),
        cmocka_unit_test_setup(test_list, clean_environment),
        cmocka_unit_test_setup(test_secret_is_hidden, clean_environment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
