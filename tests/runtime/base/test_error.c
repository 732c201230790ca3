/* SPDX-License-Identifier: BSD-3-Clause */
/* Status texts, the thread's own detail text, and log lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/error.h"
#include "runtime/base/log.h"

static char captured[8192];
static FILE *capture_file;
static int saved_stderr;

static void capture_begin(void)
{
    capture_file = tmpfile();
    assert_non_null(capture_file);
    saved_stderr = dup(STDERR_FILENO);
    dup2(fileno(capture_file), STDERR_FILENO);
}

static void capture_end(void)
{
    dup2(saved_stderr, STDERR_FILENO);
    close(saved_stderr);
    rewind(capture_file);
    captured[fread(captured, 1, sizeof captured - 1, capture_file)] = '\0';
    fclose(capture_file);
}

static void test_one_line(void **state)
{
    (void)state;
    capture_begin();
    hx_fail(HX_ERR_ARG, "name \"%s\"", "a\nhierax error: b\tc");
    capture_end();
    assert_string_equal(hx_last_detail(), "name \"a hierax error: b c\"");
    assert_non_null(strstr(captured, "name \"a hierax error: b c\"\n"));
}

static void test_strerror(void **state)
{
    static const struct {
        hx_status_t status;
        const char *prefix;
    } all[] = {
        {HX_SUCCESS, "HX_SUCCESS: "},           {HX_ERR_ARG, "HX_ERR_ARG: "},
        {HX_ERR_STATE, "HX_ERR_STATE: "},       {HX_ERR_ENV, "HX_ERR_ENV: "},
        {HX_ERR_NOMEM, "HX_ERR_NOMEM: "},       {HX_ERR_BOOTSTRAP, "HX_ERR_BOOTSTRAP: "},
        {HX_ERR_TRANSPORT, "HX_ERR_TRANSPORT: "}, {HX_ERR_TIMEOUT, "HX_ERR_TIMEOUT: "},
        {HX_ERR_PEER_DEAD, "HX_ERR_PEER_DEAD: "}, {HX_ERR_INTERNAL, "HX_ERR_INTERNAL: "},
        {HX_ERR_MISMATCH, "HX_ERR_MISMATCH: "}, {HX_ERR_REVOKED, "HX_ERR_REVOKED: "},
        {HX_ERR_MINORITY, "HX_ERR_MINORITY: "},
    };

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        assert_memory_equal(hx_strerror(all[i].status), all[i].prefix, strlen(all[i].prefix));
    assert_string_equal(hx_strerror((hx_status_t)-1), "unknown status");
    assert_string_equal(hx_strerror((hx_status_t)1000), "unknown status");
    assert_string_equal(hx_strerror((hx_status_t)(HX_ERR_MINORITY + 1)), "unknown status");
}

static void test_fail(void **state)
{
    (void)state;
    capture_begin();
    errno = EAGAIN;
    const hx_status_t status = hx_fail(HX_ERR_ARG, "root is %d, expected 0 to %d", 9, 3);
    const int errno_after = errno;
    hx_fail(HX_ERR_ENV, "second: %s", hx_last_detail()); /* the old detail as an argument of the new */
    capture_end();
    assert_int_equal(status, HX_ERR_ARG);
    assert_int_equal(errno_after, EAGAIN);
    assert_string_equal(hx_last_detail(), "second: root is 9, expected 0 to 3");
    assert_string_equal(captured, "hierax error: root is 9, expected 0 to 3\n"
                                  "hierax error: second: root is 9, expected 0 to 3\n");
}

static char kept[HX_DETAIL_BYTES];

static void *thread_main(void *arg)
{
    (void)arg;
    if (hx_last_detail()[0] != '\0')
        return "a new thread's detail is not empty";
    hx_fail(HX_ERR_NOMEM, "of the other thread");
    hx_detail_keep(kept);
    hx_fail(HX_ERR_NOMEM, "the next");
    hx_detail_keep(kept);
    hx_recall(kept);
    return strcmp(hx_last_detail(), "of the other thread") == 0 ? NULL : "the thread's own detail is lost";
}

static void test_fail_is_thread_local(void **state)
{
    pthread_t thread;
    void *complaint = NULL;

    (void)state;
    capture_begin();
    hx_fail(HX_ERR_ARG, "of the main thread");
    const int created = pthread_create(&thread, NULL, thread_main, NULL);
    const int joined = created == 0 ? pthread_join(thread, &complaint) : -1;
    capture_end();
    assert_int_equal(created, 0);
    assert_int_equal(joined, 0);
    if (complaint)
        fail_msg("%s", (char *)complaint);
    assert_string_equal(hx_last_detail(), "of the main thread");
    hx_recall(kept); /* the first that was kept */
    assert_string_equal(hx_last_detail(), "of the other thread");
}

static void test_long_texts(void **state)
{
    char text[3 * HX_DETAIL_BYTES];

    (void)state;
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    capture_begin();
    hx_fail(HX_ERR_ARG, "%s", text);
    hx_warn("%s", text);
    capture_end();
    assert_int_equal(strlen(hx_last_detail()), HX_DETAIL_BYTES - 1);
    const char *first_end = strchr(captured, '\n');
    assert_non_null(first_end);
    assert_int_equal(captured[strlen(captured) - 1], '\n'); /* a line that is cut off still ends */
    assert_ptr_equal(strchr(first_end + 1, '\n'), captured + strlen(captured) - 1);
}

static void test_log_levels(void **state)
{
    (void)state;
    capture_begin();
    hx_log_configure(HX_LOG_INFO, 12);
    hx_warn("one");
    hx_info("two");
    hx_debug("three");
    hx_log_configure(HX_LOG_ERROR, 12);
    hx_warn("four");
    hx_fail(HX_ERR_ARG, "five");
    hx_log_configure(HX_LOG_WARN, -1);
    capture_end();
    assert_string_equal(captured, "hierax[12] warn: one\nhierax[12] info: two\nhierax[12] error: five\n");
}

static void test_version(void **state)
{
    unsigned major, minor, patch;

    (void)state;
    assert_int_equal(sscanf(hx_version(), "%u.%u.%u", &major, &minor, &patch), 3);
    assert_string_equal(hx_version(), PACKAGE_VERSION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strerror), cmocka_unit_test(test_one_line),
        cmocka_unit_test(test_fail),
        cmocka_unit_test(test_fail_is_thread_local),
        cmocka_unit_test(test_long_texts),
        cmocka_unit_test(test_log_levels),
        cmocka_unit_test(test_version),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
