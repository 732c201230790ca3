/* SPDX-License-Identifier: BSD-3-Clause */
/* Copying: any length to any place, nothing beside it touched; and how buffers stand to each other must not show in the time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "runtime/base/memcpy.h"
#include "runtime/base/clock.h"
#include <stdlib.h>

#define ROOM (3 * 1024 * 1024)
#define PAGE HX_MEMCPY_PAGE
#define GUARD 64

static unsigned char *memory_new(void)
{
    unsigned char *memory = aligned_alloc(PAGE, ROOM);

    assert_non_null(memory);
    for (size_t i = 0; i < ROOM; i++)
        memory[i] = (unsigned char)(i * 131 ^ i >> 8);
    return memory;
}

static void copy_test(unsigned char *to, const unsigned char *from, size_t bytes)
{
    memset(to - GUARD, 0xa5, bytes + 2 * GUARD);
    hx_memcpy(to, from, bytes);
    if (bytes)
        assert_memory_equal(to, from, bytes);
    for (size_t i = 0; i < GUARD; i++) {
        assert_int_equal(to[bytes + i], 0xa5);
        assert_int_equal(*(to - 1 - i), 0xa5);
    }
}

static void copies_what_it_should(void **state)
{
    static const size_t lengths[] = {0, 1, 31, 64, 1000, 1023, 1024, 1025, 1151, 1152, 1153, 2047, 2111, 2112, 2113, 2239, 2240, 2241, 4096, 5000, 65536, 262143,
                                     (1 << 20) - 1, 1 << 20, (1 << 20) + 1, (1 << 21) + 5};
    unsigned char *from = memory_new(), *to = memory_new();

    (void)state;
    for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++)
        for (size_t near = 0; near <= 64; near += lengths[l] < 10000 ? 1 : 13)
            for (size_t at = 0; at < 64; at += lengths[l] < 10000 ? 7 : 21) {
                copy_test(to + PAGE + at + near, from + at, lengths[l]);
                copy_test(to + PAGE + at, from + at + near, lengths[l]);
            }
    free(from);
    free(to);
}

#define BYTES 16384
#define COPIES 20
#define BLOCKS 50
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) /* which look at every copy: times tell nothing */
#define TIMES 0
#else
#define TIMES 1
#endif

static double copies_ns(unsigned char *to, const unsigned char *from)
{
    const double begin = hx_now_s();

    for (int i = 0; i < COPIES; i++) {
        hx_memcpy(to, from, BYTES);
        __asm__ volatile("" : : "r"(to) : "memory");
    }
    return 1e9 * (hx_now_s() - begin) / COPIES;
}

/* Where the C library's own is gone around, for taking 25 times as long. The shortest of many, in turn: the machine may be busy. */
static void copies_near_as_fast(void **state)
{
    unsigned char *from = memory_new(), *to = memory_new();

    (void)state;
    for (size_t near = 1; TIMES && hx_memcpy_goes_around() && near < HX_MEMCPY_NEAR; near++) {
        double least_near = 1e12, least_far = 1e12;
        for (int block = 0; block < BLOCKS; block++) {
            double ns = copies_ns(to + near, from), far = copies_ns(to + 1024 + near, from);
            least_near = ns < least_near ? ns : least_near;
            least_far = far < least_far ? far : least_far;
        }
        if (least_near > 5 * least_far)
            fail_msg("%d bytes to where they stand %zu bytes after the source, but for whole pages: %.0f ns; elsewhere %.0f ns", BYTES,
                     near, least_near, least_far);
    }
    free(from);
    free(to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(copies_what_it_should), cmocka_unit_test(copies_near_as_fast)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
