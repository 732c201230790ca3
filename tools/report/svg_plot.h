/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Curves as SVG, for reports and files: needs no script, no font, no other file. Text is in currentColor, so a plot
 * within a page is readable wherever the page's text is; curves differ in colour (also for the colour-blind) and in the
 * shape of their points; each point tells its numbers when pointed at. What cannot be placed (not finite, or not above
 * 0 on a logarithmic axis) is left out.
 *
 *     struct svg_series series[] = {{.name = "ring", .x = bytes, .y = us, .n = 3}};
 *     svg_plot_write(out, &(struct svg_plot){.title = "allreduce", .series = series, .nseries = 1, .standalone = 1,
 *                                            .x = {.title = "vector", .unit = SVG_BYTES, .log = 1},
 *                                            .y = {.title = "time", .unit = SVG_US, .log = 1}});
 */
#ifndef HX_TOOLS_REPORT_SVG_PLOT_H
#define HX_TOOLS_REPORT_SVG_PLOT_H
#include <stdio.h>

#define SVG_TEXT_BYTES 32

enum svg_unit {
    SVG_NUMBER,
    SVG_BYTES, /* 8 B, 1 KiB, 1 MiB */
    SVG_US     /* values are microseconds: 200 ns, 1 µs, 1 ms */
};

struct svg_axis {
    const char *title; /* or NULL */
    enum svg_unit unit;
    int log;
};

struct svg_series {
    const char *name;
    const double *x, *y; /* n values each, in the order of the line */
    const double *low, *high; /* of each point, drawn as a whisker; or NULL */
    int n;
    int dashed; /* a thin dashed line without points, in the text's colour: a bound, a model */
};

struct svg_marker { /* a dotted vertical line */
    double x;
    const char *label; /* above it */
};

struct svg_plot {
    const char *title; /* or NULL */
    struct svg_axis x, y;
    const struct svg_series *series;
    int nseries;
    const struct svg_marker *markers;
    int nmarkers;
    double level;   /* a dotted horizontal line, e.g. 1 for ratios; 0: none */
    /* a file of its own: with a background and the style. Else svg_plot_style's text must be in the page */
    int standalone;
};

/* Whether all was written, the stream tells (ferror). */
void svg_plot_write(FILE *out, const struct svg_plot *plot);

/* The colours for dark pages, as CSS: once in a page. */
void svg_plot_style(FILE *out);

/* Of the nth curve, as "#rrggbb" on a light ground. */
const char *svg_plot_colour(int n);

/* Text within XML or HTML: escaped, without control characters, and valid UTF-8. */
void svg_text(FILE *out, const char *text);

/* A value as the axes have it: "64 KiB", "1.5 µs". Returns text. */
const char *svg_value(enum svg_unit unit, double value, char text[SVG_TEXT_BYTES]);

#endif
