/* SPDX-License-Identifier: BSD-3-Clause */
/* Curves as SVG: see svg_plot.h. Colours are attributes, which any viewer knows; only their dark variants need CSS. */
#include "tools/report/svg_plot.h"
#include "tools/common/utf8.h"
#include <math.h>
#include <string.h>

/* All in units of the picture, which is scaled to the width it gets: small enough to be read on a phone. */
enum {
    WIDTH = 440, HEIGHT = 210, /* height is that between the axes */
    LEFT = 54, RIGHT = 20, LINE = 16, FONT = 12, COLOURS = 8, TICKS = 16, SHORT = 8
};

static const char *const light[COLOURS] = {"#0072b2", "#d55e00", "#008a66", "#aa3377",
                                           "#b58900", "#3a93cc", "#7f5f3f", "#777777"};
static const char *const dark[COLOURS] = {"#4aa8e8", "#ff8a3d", "#2fc79b", "#e68fc0",
                                          "#f0c040", "#9fd4ff", "#c9a27a", "#aaaaaa"};

/* ---- text -------------------------------------------------------------------------------------------------------- */

/* At most so many characters; the last is an ellipsis when there were more. */
static void text_write(FILE *out, const char *text, int most)
{
    for (int i = 0; *text; i++) {
        int n = utf8_character((const unsigned char *)text);
        if (i + 1 == most && text[n ? n : 1]) {
            fputs("…", out);
            return;
        }
        switch (n ? *text : '?') {
        case '&': fputs("&amp;", out); break;
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '"': fputs("&quot;", out); break;
        case '\'': fputs("&#39;", out); break;
        default: fwrite(n ? text : "?", 1, n ? (size_t)n : 1, out);
        }
        text += n ? n : 1;
    }
}

void svg_text(FILE *out, const char *text)
{
    text_write(out, text, 0);
}

const char *svg_value(enum svg_unit unit, double value, char text[SVG_TEXT_BYTES])
{
    static const char *const bytes[] = {"B", "KiB", "MiB", "GiB", "TiB"}, *const times[] = {"ns", "µs", "ms", "s"};
    int step = 0;

    if (unit == SVG_BYTES) {
        for (; step < 4 && value >= 1024; step++)
            value /= 1024;
        snprintf(text, SVG_TEXT_BYTES, value == floor(value) ? "%.4g %s" : "%.3g %s", value, bytes[step]);
    } else if (unit == SVG_US) {
        for (value *= 1e3; step < 3 && value >= 999.5; step++)
            value /= 1e3;
        snprintf(text, SVG_TEXT_BYTES, "%.3g %s", value, times[step]);
    } else {
        snprintf(text, SVG_TEXT_BYTES, "%.3g", value);
    }
    return text;
}

/* ---- axes -------------------------------------------------------------------------------------------------------- */

struct scale {
    int log, from, length; /* where low is, and how far from there high */
    double low, high;      /* logarithms where log */
};

struct sheet {
    FILE *out;
    const struct svg_plot *plot;
    struct scale x, y;
    int top, bottom, markers_top, height;
};

static int placeable(const struct svg_axis *axis, double value)
{
    return isfinite(value) && (!axis->log || value > 0);
}

static double along(const struct scale *s, double value)
{
    value = s->log ? log10(value) : value;
    return s->from + s->length * (value - s->low) / (s->high - s->low);
}

static void scale_include(struct scale *s, const struct svg_axis *axis, double value)
{
    if (!placeable(axis, value))
        return;
    value = axis->log ? log10(value) : value;
    s->low = value < s->low ? value : s->low;
    s->high = value > s->high ? value : s->high;
}

/* Around the values, with a margin. */
static void scale_end(struct scale *s, int log, double margin)
{
    if (s->low > s->high)
        s->low = s->high = log ? 0 : 1;
    double wide = s->high - s->low;
    if (wide < (log ? 0.1 : 1e-9))
        margin = log ? 0.3 : fabs(s->high) / 2 + 1e-9;
    else
        margin *= wide;
    s->low = !log && s->low >= 0 && s->low < margin ? 0 : s->low - margin;
    s->high += margin;
    s->log = log;
}

static void scales_make(struct sheet *sheet)
{
    const struct svg_plot *p = sheet->plot;
    struct scale x = {.from = LEFT, .length = WIDTH - LEFT - RIGHT, .low = INFINITY, .high = -INFINITY};
    struct scale y = {.from = sheet->bottom, .length = sheet->top - sheet->bottom, .low = INFINITY, .high = -INFINITY};

    for (int s = 0; s < p->nseries; s++)
        for (int i = 0; i < p->series[s].n; i++) {
            const struct svg_series *series = &p->series[s];
            if (!placeable(&p->x, series->x[i]) || !placeable(&p->y, series->y[i]))
                continue;
            scale_include(&x, &p->x, series->x[i]);
            scale_include(&y, &p->y, series->y[i]);
            scale_include(&y, &p->y, series->low ? series->low[i] : series->y[i]);
            scale_include(&y, &p->y, series->high ? series->high[i] : series->y[i]);
        }
    scale_include(&y, &p->y, p->level ? p->level : NAN);
    scale_end(&x, p->x.log, 0.02);
    scale_end(&y, p->y.log, 0.06);
    sheet->x = x;
    sheet->y = y;
}

/* Powers of two, or of ten, with values between where the axis is short. */
static int ticks_log(const struct scale *s, int binary, double at[TICKS])
{
    const double unit = binary ? log10(2) : 1;
    const double wide = (s->high - s->low) / unit;
    int step = (int)ceil((wide - 0.01) / SHORT), n = 0;

    for (double k = ceil(s->low / unit); k * unit <= s->high && n < TICKS; k += step > 0 ? step : 1)
        at[n++] = pow(10, k * unit);
    if (binary || wide >= 2)
        return n;
    static const double within[] = {1, 1.5, 2, 3, 5, 7};
    n = 0;
    for (double k = floor(s->low); k <= s->high; k++)
        for (int i = 0; i < 6; i += wide < 1.2 ? 1 : 2) /* or 1, 2, 5 */
            if (k + log10(within[i]) >= s->low && k + log10(within[i]) <= s->high && n < TICKS)
                at[n++] = within[i] * pow(10, k);
    return n;
}

static int ticks_linear(double low, double high, double at[TICKS])
{
    double rough = (high - low) / 5, ten = pow(10, floor(log10(rough)));
    double step = rough <= ten ? ten : rough <= 2 * ten ? 2 * ten : rough <= 5 * ten ? 5 * ten : 10 * ten;
    int n = 0;

    for (double k = ceil(low / step); k * step <= high && n < TICKS; k++)
        at[n++] = k * step;
    return n;
}

static int ticks_make(const struct svg_axis *axis, const struct scale *s, double at[TICKS])
{
    if (!axis->log)
        return ticks_linear(s->low, s->high, at);
    if (axis->unit != SVG_BYTES && s->high - s->low < 0.5)
        return ticks_linear(pow(10, s->low), pow(10, s->high), at);
    return ticks_log(s, axis->unit == SVG_BYTES, at);
}

/* ---- drawing ----------------------------------------------------------------------------------------------------- */

static void line(FILE *out, const char *attributes, double x1, double y1, double x2, double y2)
{
    fprintf(out, "<path d=\"M%.1f %.1fL%.1f %.1f\" %s/>\n", x1, y1, x2, y2, attributes);
}

static void label(FILE *out, const char *anchor, double x, double y, const char *text, int most)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    text_write(out, text, most);
    fputs("</text>\n", out);
}

static void axes_draw(const struct sheet *s)
{
    static const char grid[] = "stroke=\"currentColor\" stroke-opacity=\".18\"";
    const struct svg_plot *p = s->plot;
    double at[TICKS];
    char text[SVG_TEXT_BYTES];

    for (int i = 0, n = ticks_make(&p->x, &s->x, at); i < n; i++) {
        line(s->out, grid, along(&s->x, at[i]), s->top, along(&s->x, at[i]), s->bottom);
        label(s->out, "middle", along(&s->x, at[i]), s->bottom + LINE, svg_value(p->x.unit, at[i], text), 0);
    }
    for (int i = 0, n = ticks_make(&p->y, &s->y, at); i < n; i++) {
        line(s->out, grid, LEFT, along(&s->y, at[i]), WIDTH - RIGHT, along(&s->y, at[i]));
        label(s->out, "end", LEFT - 5, along(&s->y, at[i]) + 4, svg_value(p->y.unit, at[i], text), 0);
    }
    line(s->out, "stroke=\"currentColor\" stroke-opacity=\".6\"", LEFT, s->bottom, WIDTH - RIGHT, s->bottom);
    if (p->level && placeable(&p->y, p->level))
        line(s->out, "stroke=\"currentColor\" stroke-width=\"1.5\" stroke-dasharray=\"2 3\"", LEFT,
             along(&s->y, p->level), WIDTH - RIGHT, along(&s->y, p->level));
    if (p->y.title)
        label(s->out, "start", 2, s->markers_top - 5, p->y.title, 0);
    if (p->x.title)
        label(s->out, "end", WIDTH - RIGHT, s->bottom + 2 * LINE, p->x.title, 0);
}

/* Neighbours' labels are in two lines, so that they do not meet. */
static void markers_draw(const struct sheet *s)
{
    for (int i = 0; i < s->plot->nmarkers; i++) {
        const struct svg_marker *m = &s->plot->markers[i];
        if (!placeable(&s->plot->x, m->x))
            continue;
        double x = along(&s->x, m->x);
        if (x < LEFT || x > WIDTH - RIGHT)
            continue;
        line(s->out, "stroke=\"currentColor\" stroke-opacity=\".75\" stroke-dasharray=\"1 3\" stroke-width=\"1.5\"", x,
             s->markers_top + (i % 2 ? 2 * LINE : LINE) - 2, x, s->bottom);
        if (m->label)
            label(s->out, x < LEFT + 40 ? "start" : x > WIDTH - RIGHT - 40 ? "end" : "middle", x,
                  s->markers_top + (i % 2 ? 2 * LINE : LINE) - 5, m->label, 0);
    }
}

const char *svg_plot_colour(int n)
{
    return light[n % COLOURS];
}

static void paint(FILE *out, int colour, const char *what)
{
    fprintf(out, " class=\"hx-%s%d\" %s=\"%s\"", what, colour % COLOURS, what, svg_plot_colour(colour));
}

static void point_draw(FILE *out, int colour, double x, double y)
{
    static const char *const shapes[] = {"m-3.2 0a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0-6.4 0z", "m-3-3h6v6h-6z",
                                         "m0-4.4l4 7h-8z", "m0-4.5l4.5 4.5l-4.5 4.5l-4.5-4.5z", "m0 4.4l4-7h-8z"};
    fprintf(out, "<path d=\"M%.1f %.1f%s\"", x, y, shapes[colour % 5]);
    paint(out, colour, "fill");
    fputs(">", out);
}

static void series_path(const struct sheet *s, const struct svg_series *series, int colour)
{
    int drawn = 0;

    fputs("<path fill=\"none\" stroke-linejoin=\"round\" d=\"", s->out);
    for (int i = 0; i < series->n; i++) {
        if (!placeable(&s->plot->x, series->x[i]) || !placeable(&s->plot->y, series->y[i])) {
            drawn = 0;
            continue;
        }
        fprintf(s->out, "%c%.1f %.1f", drawn ? 'L' : 'M', along(&s->x, series->x[i]), along(&s->y, series->y[i]));
        drawn = 1;
    }
    if (series->dashed) {
        fputs("\" stroke=\"currentColor\" stroke-width=\"1.5\" stroke-dasharray=\"6 4\"/>\n", s->out);
    } else {
        fputs("\" stroke-width=\"1.8\"", s->out);
        paint(s->out, colour, "stroke");
        fputs("/>\n", s->out);
    }
}

static void whisker_draw(const struct sheet *s, const struct svg_series *series, int i, int colour)
{
    const struct svg_axis *axis = &s->plot->y;

    if (!series->low || !series->high || !placeable(axis, series->low[i]) || !placeable(axis, series->high[i]))
        return;
    fprintf(s->out, "<path d=\"M%.1f %.1fV%.1f\" stroke-width=\"1.2\"", along(&s->x, series->x[i]),
            along(&s->y, series->low[i]), along(&s->y, series->high[i]));
    paint(s->out, colour, "stroke");
    fputs("/>\n", s->out);
}

static void series_draw(const struct sheet *s, const struct svg_series *series, int colour)
{
    char x[SVG_TEXT_BYTES], y[SVG_TEXT_BYTES];

    series_path(s, series, colour);
    for (int i = 0; !series->dashed && i < series->n; i++) {
        if (!placeable(&s->plot->x, series->x[i]) || !placeable(&s->plot->y, series->y[i]))
            continue;
        whisker_draw(s, series, i, colour);
        point_draw(s->out, colour, along(&s->x, series->x[i]), along(&s->y, series->y[i]));
        fputs("<title>", s->out);
        svg_text(s->out, series->name);
        fprintf(s->out, ": %s, %s</title></path>\n", svg_value(s->plot->x.unit, series->x[i], x),
                svg_value(s->plot->y.unit, series->y[i], y));
    }
}

/* ---- legend ------------------------------------------------------------------------------------------------------ */

/* Names side by side where they fit, below the axis from y on. Draws when sheet has a stream; returns where it ends. */
static int legend(const struct sheet *s, int y)
{
    const int most = (WIDTH - 34) / 7; /* characters; 7 is more than most are wide */
    int x = 2, colour = 0;

    for (int i = 0; i < s->plot->nseries; i++) {
        const struct svg_series *series = &s->plot->series[i];
        int n = (int)strlen(series->name), wide = 44 + (int)(6.6 * (n < most ? n : most));
        if (x > 2 && x + wide > WIDTH + 8)
            x = 2, y += LINE + 2;
        if (s->out) {
            fputs("<g>", s->out);
            if (series->dashed) {
                line(s->out, "stroke=\"currentColor\" stroke-width=\"1.5\" stroke-dasharray=\"6 4\"", x, y - 4, x + 24,
                     y - 4);
            } else {
                fprintf(s->out, "<path d=\"M%d %dh24\" stroke-width=\"1.8\"", x, y - 4);
                paint(s->out, colour, "stroke");
                fputs("/>", s->out);
                point_draw(s->out, colour, x + 12, y - 4);
                fputs("</path>\n", s->out);
            }
            label(s->out, "start", x + 30, y, series->name, most);
            fputs("<title>", s->out);
            svg_text(s->out, series->name);
            fputs("</title></g>\n", s->out);
        }
        colour += !series->dashed;
        x += wide;
    }
    return s->plot->nseries ? y + LINE / 2 : y;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static void sheet_lay(struct sheet *s)
{
    const struct svg_plot *p = s->plot;
    struct sheet blind = *s;

    s->markers_top = (p->title ? LINE + 8 : 0) + (p->y.title ? LINE + 2 : 0) + 4;
    s->top = s->markers_top + (p->nmarkers > 1 ? 2 * LINE : p->nmarkers ? LINE : 0);
    s->bottom = s->top + HEIGHT;
    blind.out = NULL;
    s->height = legend(&blind, s->bottom + (p->x.title ? 4 : 3) * LINE - 8);
}

void svg_plot_style(FILE *out)
{
    fputs("@media (prefers-color-scheme:dark){.hx-sheet{fill:#16181c}.hx-ink{color:#e6e6e6}", out);
    for (int i = 0; i < COLOURS; i++)
        fprintf(out, ".hx-fill%d{fill:%s}.hx-stroke%d{stroke:%s}", i, dark[i], i, dark[i]);
    fputs("}\n", out);
}

void svg_plot_write(FILE *out, const struct svg_plot *p)
{
    struct sheet s = {.out = out, .plot = p};
    int colour = 0;

    sheet_lay(&s);
    scales_make(&s);
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\" "
            "font-family=\"system-ui,sans-serif\" "
            "font-size=\"%d\"%s>\n",
            WIDTH, s.height, FONT, p->standalone ? " class=\"hx-ink\" color=\"#222\"" : "");
    if (p->standalone) {
        fputs("<style>", out);
        svg_plot_style(out);
        fprintf(out, "</style><rect class=\"hx-sheet\" width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", WIDTH, s.height);
    }
    fputs("<g fill=\"currentColor\">\n", out);
    if (p->title) {
        fputs("<g font-weight=\"bold\" font-size=\"13\">", out);
        label(out, "start", 2, LINE, p->title, 54);
        fputs("</g>\n", out);
    }
    axes_draw(&s);
    markers_draw(&s);
    for (int i = 0; i < p->nseries; i++) {
        series_draw(&s, &p->series[i], colour);
        colour += !p->series[i].dashed;
    }
    legend(&s, s.bottom + (p->x.title ? 4 : 3) * LINE - 8);
    fputs("</g>\n</svg>\n", out);
}
