/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of the constants of a node: what it refuses, and that a reader never finds half of it. */
#include "runtime/base/constants.h"
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/test_constants.XXXXXX", path[128];

static void example(struct hx_constants *constants, int32_t first)
{
    *constants = (struct hx_constants){.source = HX_CONSTANTS_MEASURED};
    for (const struct hx_constant_row *row = hx_constant_rows; row->name; row++)
        *(int32_t *)((char *)constants + row->offset) = first++;
}

static hx_status_t parse(const char *text, size_t bytes)
{
    struct hx_constants found = {0};
    char machine[HX_CONSTANTS_MACHINE_BYTES];
    hx_status_t status = hx_constants_parse("FILE", text, bytes, &found, machine);

    if (status != HX_SUCCESS) { /* nothing of it is used, and the detail names file and line */
        assert_int_equal(found.source, HX_CONSTANTS_BUILT_IN);
        assert_ptr_equal(strstr(hx_last_detail(), "FILE:"), hx_last_detail());
    }
    return status;
}

static void what_is_written_can_be_read(void **state)
{
    struct hx_constants written, found = {0};
    char text[HX_CONSTANTS_FILE_BYTES], machine[HX_CONSTANTS_MACHINE_BYTES], longest[2 * HX_CONSTANTS_MACHINE_BYTES];

    (void)state;
    example(&written, 0); /* the first is not known */
    int bytes = hx_constants_format(&written, "A; 2 ranks", text);
    assert_int_equal(hx_constants_parse("FILE", text, (size_t)bytes, &found, machine), HX_SUCCESS);
    assert_string_equal(machine, "A; 2 ranks");
    assert_int_equal(found.source, HX_CONSTANTS_FILE);
    assert_true(found.hash == written.hash && found.hash != 0);
    for (const struct hx_constant_row *row = hx_constant_rows; row->name; row++)
        assert_int_equal(hx_constant_value(&found, row), hx_constant_value(&written, row));
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = 0;
    bytes = hx_constants_format(&written, longest, text);
    assert_int_equal(parse(text, (size_t)bytes), HX_SUCCESS);
    uint64_t before = written.hash;
    example(&written, 1);
    hx_constants_format(&written, longest, text);
    assert_true(written.hash != before);
}

static void cut_short(void **state)
{
    struct hx_constants constants;
    char text[HX_CONSTANTS_FILE_BYTES];

    (void)state;
    example(&constants, 7);
    size_t bytes = (size_t)hx_constants_format(&constants, "A", text);
    for (size_t n = 0; n < bytes; n++)
        assert_int_equal(parse(text, n), HX_ERR_ENV);
    strcpy(text + bytes, "end\n"); /* and too long */
    assert_int_equal(parse(text, bytes + 4), HX_ERR_ENV);
    memset(text + bytes, '\n', sizeof(text) - bytes);
    assert_int_equal(parse(text, sizeof(text)), HX_ERR_ENV);
}

/* Put another text in place of the value of one row. */
static hx_status_t with_value(const struct hx_constant_row *at, const char *value)
{
    char text[HX_CONSTANTS_FILE_BYTES];
    int n = snprintf(text, sizeof(text), "hierax_constants %d\nmachine A\n", HX_CONSTANTS_VERSION);

    for (const struct hx_constant_row *row = hx_constant_rows; row->name; row++)
        n += snprintf(text + n, sizeof(text) - (size_t)n, "%s %s\n", row->name, row == at ? value : "5");
    n += snprintf(text + n, sizeof(text) - (size_t)n, "end\n");
    return parse(text, (size_t)n);
}

static void wrong_values(void **state)
{
    static const char *const wrong[] = {"", "x", "-1", "+1", "1.5", "1e3", " 1", "1 ", "0x10", "1000000001", "99999999999999999999", "null"};

    (void)state;
    for (const struct hx_constant_row *row = hx_constant_rows; row->name; row++) {
        assert_int_equal(with_value(row, "0"), HX_SUCCESS);
        assert_int_equal(with_value(row, "1000000000"), HX_SUCCESS);
        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
            assert_int_equal(with_value(row, wrong[i]), HX_ERR_ENV);
        assert_non_null(strstr(hx_last_detail(), row->name));
    }
}

static void wrong_lines(void **state)
{
    static const char *const wrong[] = {"", "\n", "{}\n", "hierax_constants 2\n", "hierax_constants\n", "hierax_constants 1\nend\n",
                                        "hierax_constants 1\nmachine\nend\n", "hierax_constants 1\nmachine A\nend\n",
                                        "hierax_constants 1\nmachine A\nhand_off_n 5\n", "hierax_constants 1\nmachine A\nhand_off_ns5\n"};

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(parse(wrong[i], strlen(wrong[i])), HX_ERR_ENV);
    assert_int_equal(parse("hierax_constants 1\0\n", 20), HX_ERR_ENV);
    assert_int_equal(parse("hierax_constants 2\n", 19), HX_ERR_ENV);
    assert_non_null(strstr(hx_last_detail(), "version 2: this Hierax reads version 1"));
}

static hx_status_t read_file(const char *file)
{
    struct hx_constants found = {0};
    char machine[HX_CONSTANTS_MACHINE_BYTES];

    return hx_constants_read(file, &found, machine);
}

static void no_file_to_read(void **state)
{
    char other[160];

    (void)state;
    assert_int_equal(read_file("/tmp/test_constants.none/x"), HX_ERR_STATE);
    assert_int_equal(read_file("/dev/null/x"), HX_ERR_STATE);
    assert_int_equal(read_file(folder), HX_ERR_ENV);
    assert_int_equal(read_file("/dev/zero"), HX_ERR_ENV);
    snprintf(other, sizeof(other), "%s/fifo", folder);
    assert_int_equal(mkfifo(other, 0600), 0);
    assert_int_equal(read_file(other), HX_ERR_ENV); /* and does not wait for a writer */
    unlink(other);
}

static void a_link_is_replaced_not_followed(void **state)
{
    char target[160], text[HX_CONSTANTS_FILE_BYTES], other[8] = "";
    struct hx_constants constants;
    struct stat file;
    FILE *out;

    (void)state;
    snprintf(target, sizeof(target), "%s/target", folder);
    assert_non_null(out = fopen(target, "we"));
    fputs("mine\n", out);
    fclose(out);
    assert_int_equal(symlink(target, path), 0);
    assert_int_equal(read_file(path), HX_ERR_ENV);
    example(&constants, 3);
    hx_constants_format(&constants, "A", text);
    assert_int_equal(hx_constants_write(path, text), 0);
    assert_int_equal(lstat(path, &file), 0);
    assert_true(S_ISREG(file.st_mode));
    assert_int_equal(read_file(path), HX_SUCCESS);
    assert_non_null(out = fopen(target, "re"));
    assert_non_null(fgets(other, sizeof(other), out));
    fclose(out);
    assert_string_equal(other, "mine\n");
    unlink(target);
    unlink(path);
}

static void no_folder_to_write(void **state)
{
    char deep[200];

    (void)state;
    assert_int_equal(hx_constants_write("/dev/null/x/y", "text"), -1);
    assert_int_equal(hx_constants_write(folder, "text"), -1); /* a folder is no file */
    snprintf(deep, sizeof(deep), "%s/cache/hierax/file", folder);
    assert_int_equal(hx_constants_write(deep, "text"), 0); /* the two folders are made */
    unlink(deep);
    for (int i = 0; i < 2; i++) {
        *strrchr(deep, '/') = 0;
        rmdir(deep);
    }
}

#define WRITES 300

/* Two processes write different files again and again; a reader always finds one of them whole. */
static void two_write_at_once(void **state)
{
    struct hx_constants constants;
    char text[HX_CONSTANTS_FILE_BYTES];
    int status, left = 2;

    (void)state;
    for (int i = 0; i < 2; i++) {
        example(&constants, i ? 1 : 123456);
        hx_constants_format(&constants, i ? "A" : "a much longer name of a machine", text);
        assert_int_equal(hx_constants_write(path, text), 0);
        if (fork() == 0) {
            int failed = 0;
            for (int k = 0; k < WRITES; k++)
                failed |= hx_constants_write(path, text);
            _exit(failed != 0);
        }
    }
    while (left > 0) {
        assert_int_equal(read_file(path), HX_SUCCESS);
        pid_t ended = waitpid(-1, &status, WNOHANG);
        assert_true(ended >= 0);
        left -= ended > 0;
        if (ended > 0)
            assert_int_equal(status, 0);
    }
    unlink(path);
    assert_int_equal(rmdir(folder), 0); /* no temporary file stays */
    assert_int_equal(mkdir(folder, 0700), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_can_be_read), cmocka_unit_test(cut_short), cmocka_unit_test(wrong_values), cmocka_unit_test(wrong_lines),
        cmocka_unit_test(no_file_to_read), cmocka_unit_test(a_link_is_replaced_not_followed), cmocka_unit_test(no_folder_to_write),
        cmocka_unit_test(two_write_at_once)};

    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof(path), "%s/constants", folder);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(folder);
    return failed;
}
