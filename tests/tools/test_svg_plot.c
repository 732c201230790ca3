/* SPDX-License-Identifier: BSD-3-Clause */
/* A plot's text is what it should be: values and ticks, escapes, gaps for what has no place, and every tag is closed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/svg_plot.h"

static char *drawn(const struct svg_plot *plot)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    svg_plot_write(out, plot);
    assert_int_equal(fclose(out), 0);
    return text;
}

static int count(const char *text, const char *what)
{
    int n = 0;

    for (; (text = strstr(text, what)); text += strlen(what))
        n++;
    return n;
}

static void assert_closed(const char *text)
{
    static const char *const tags[][3] = {{"<text ", NULL, "</text>"}, {"<title>", NULL, "</title>"}, {"<g>", "<g ", "</g>"}, {"<svg ", NULL, "</svg>"}};

    for (int i = 0; i < 4; i++)
        assert_int_equal(count(text, tags[i][0]) + (tags[i][1] ? count(text, tags[i][1]) : 0), count(text, tags[i][2]));
    assert_int_equal(count(text, "<path "), count(text, "</path>") + count(text, "/>") - count(text, "<rect "));
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
}

static void test_values(void **state)
{
    static const struct {
        enum svg_unit unit;
        double value;
        const char *text;
    } cases[] = {{SVG_BYTES, 8, "8 B"},     {SVG_BYTES, 1024, "1 KiB"}, {SVG_BYTES, 11585, "11.3 KiB"}, {SVG_BYTES, 1 << 30, "1 GiB"},
                 {SVG_US, 0.2, "200 ns"},   {SVG_US, 1, "1 µs"},        {SVG_US, 999.7, "1 ms"},      {SVG_US, 12345, "12.3 ms"},
                 {SVG_US, 2.5e6, "2.5 s"},  {SVG_US, 0, "0 ns"},        {SVG_NUMBER, 0.85, "0.85"},   {SVG_NUMBER, 2, "2"}};
    char text[SVG_TEXT_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(svg_value(cases[i].unit, cases[i].value, text), cases[i].text);
}

static void test_escapes(void **state)
{
    static const struct {
        const char *given, *written;
    } cases[] = {{"a<b>&\"c'", "a&lt;b&gt;&amp;&quot;c&#39;"}, {"1 µs, 2 × 2, 𝛼", "1 µs, 2 × 2, 𝛼"}, {"tab\tbell\a\x7f", "tab?bell??"},
                 {"\xff\xc3", "??"}, {"\xc0\x80", "??"}, {"\xed\xa0\x80", "???"}, {"\xef\xbf\xbf", "???"}, {"cut \xe2\x82", "cut ??"}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);
        svg_text(out, cases[i].given);
        fclose(out);
        assert_string_equal(text, cases[i].written);
        free(text);
    }
}

static void test_plot(void **state)
{
    const double x[] = {8, 64, 512, 4096, 32768}, y[] = {1, 1.5, 0, 20, 150}, z[] = {2, NAN, 3, INFINITY, 5};
    const struct svg_series series[] = {{.name = "ring & tree", .x = x, .y = y, .low = y, .high = z, .n = 5},
                                        {.name = "bound", .x = x, .y = z, .n = 5, .dashed = 1}};
    const struct svg_marker markers[] = {{200, "200 B"}, {1e9, "outside"}, {-1, "nowhere"}};
    const struct svg_plot plot = {.title = "x < y", .series = series, .nseries = 2, .markers = markers, .nmarkers = 3, .level = 1,
                                  .standalone = 1, .x = {"vector", SVG_BYTES, 1}, .y = {"time", SVG_US, 1}};
    char *text = drawn(&plot);

    (void)state;
    assert_closed(text);
    assert_non_null(strstr(text, "<style>@media"));
    assert_non_null(strstr(text, ">x &lt; y</text>"));
    assert_non_null(strstr(text, ">8 B</text>"));
    assert_non_null(strstr(text, ">2 KiB</text>"));
    assert_non_null(strstr(text, ">100 µs</text>"));
    assert_non_null(strstr(text, ">200 B</text>"));
    assert_null(strstr(text, "outside"));
    assert_null(strstr(text, "nowhere"));
    assert_int_equal(count(text, "<title>ring &amp; tree: "), 4); /* one is not above 0 */
    assert_non_null(strstr(text, "<title>ring &amp; tree: 32 KiB, 150 µs</title>"));
    assert_null(strstr(text, "<title>bound: "));
    free(text);
}

/* Whatever there is to draw, it is a picture. */
static void test_odd_plots(void **state)
{
    const double x[] = {1024}, y[] = {7}, none[] = {0};
    const struct svg_series one = {.name = "one", .x = x, .y = y, .n = 1}, zero = {.name = "a long name a long name a long name a long name a long name", .x = none, .y = none, .n = 1};

    (void)state;
    for (int i = 0; i < 12; i++) {
        const struct svg_plot plot = {.series = i % 3 == 1 ? &one : &zero, .nseries = i % 3 > 0, .x = {NULL, SVG_BYTES, i % 2},
                                      .y = {NULL, SVG_US, i / 6}};
        char *text = drawn(&plot);
        assert_closed(text);
        assert_null(strstr(text, "<style>"));
        assert_int_equal(count(text, "name a long name</text>"), 0);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_plot),
        cmocka_unit_test(test_odd_plots),
    };
    return cmocka_run_group_tests_name("svg_plot", tests, NULL, NULL);
}
