/* SPDX-License-Identifier: BSD-3-Clause */
/* Copying around the caches is memcpy: from and to every place within a line, of every length around whole lines, and no byte more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "runtime/base/stream.h"

enum { LINE = 64, MOST = 4096, GUARD = LINE };

static unsigned char from[MOST + 2 * LINE], to[MOST + 2 * LINE + 2 * GUARD], expected[sizeof to];

static void copies(size_t at, size_t from_at, size_t bytes)
{
    memset(to, 0xee, sizeof to);
    memset(expected, 0xee, sizeof expected);
    memcpy(expected + GUARD + at, from + from_at, bytes);
    size_t streamed = hx_stream(to + GUARD + at, from + from_at, bytes);
    assert_true(streamed == bytes || streamed == 0);
#ifdef __x86_64__
    assert_true(streamed == bytes || bytes < 2048);
#endif
    assert_memory_equal(to, expected, sizeof to);
}

static void test_places(void **state)
{
    (void)state;
    for (size_t at = 0; at < LINE; at++)
        for (size_t from_at = 0; from_at < LINE; from_at += 7)
            copies(at, from_at, 2048 + 3 * from_at + at);
}

static void test_lengths(void **state)
{
    (void)state;
    for (size_t bytes = 0; bytes <= MOST; bytes += bytes % LINE > 2 && bytes % LINE < LINE - 2 ? 7 : 1) {
        copies(0, 0, bytes);
        copies(bytes % LINE, 1, bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_lengths),
    };

    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (unsigned char)(i * 131 + i / 251);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
