/* SPDX-License-Identifier: BSD-3-Clause */
/* The plots of a report as values and a script: a block of values per curve, a page per plot. Times are seconds in the
 * script, so that gnuplot can give them a unit; in the values they stay microseconds. */
#include "tools/report/report_gnuplot.h"
#include <math.h>
#include <string.h>

/* Between single quotes a quote is doubled; a line is a line. */
static void quoted(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; *text; text++) {
        if (*text == '\'')
            fputc('\'', out);
        fputc((unsigned char)*text < ' ' ? '?' : *text, out);
    }
    fputc('\'', out);
}

static void plain(FILE *out, const char *text)
{
    for (; *text; text++)
        fputc((unsigned char)*text < ' ' ? '?' : *text, out);
}

void report_gnuplot_begin(struct report *r, const char *title)
{
    FILE *data = r->data.out, *script = r->script.out;
    char path[PATH_MAX];

    fputs("# ", data);
    plain(data, title);
    fputs("\n# A block per curve, as the script beside numbers them: x (bytes), y (microseconds, or as the plot says), "
          "lowest, highest.\n",
          data);
    fputs("# ", script);
    plain(script, title);
    fputs("\n# gnuplot ", script);
    plain(script, report_path(path, r->files->gnuplot, ".gp"));
    fputs(" writes a page per plot; for the screen leave out the next two lines, and start it with -p.\nset terminal "
          "pdfcairo size 6,4\n"
          "set output ",
          script);
    quoted(script, report_path(path, r->files->gnuplot, ".pdf"));
    fputs("\nvalues = ", script);
    quoted(script, report_path(path, r->files->gnuplot, ".dat"));
    fputs("\nset tmargin 4\nset grid\nset key outside below noenhanced\nset bars small\n", script);
}

static void number(FILE *out, double value)
{
    if (isfinite(value))
        fprintf(out, " %.6g", value);
    else
        fputs(" NaN", out);
}

static void block(struct report *r, const struct svg_series *series)
{
    FILE *out = r->data.out;

    fprintf(out, "\n\n# %d: ", r->nblocks++);
    plain(out, series->name);
    fputc('\n', out);
    for (int i = 0; i < series->n; i++) {
        number(out, series->x[i]);
        number(out, series->y[i]);
        number(out, series->low ? series->low[i] : series->y[i]);
        number(out, series->high ? series->high[i] : series->y[i]);
        fputc('\n', out);
    }
}

static void axis(FILE *out, char name, const struct svg_axis *a)
{
    if (a->log)
        fprintf(out, "set logscale %c %d\n", name, a->unit == SVG_BYTES ? 2 : 10);
    else
        fprintf(out, "unset logscale %c\n", name);
    fprintf(out, "set format %c '%s'\nset %clabel ", name,
            a->unit == SVG_BYTES    ? "%.0b %BB"
                : a->unit == SVG_US ? "%.0s %cs"
                                    : "%g",
            name);
    quoted(out, a->title ? a->title : "");
    fputs(" noenhanced\n", out);
}

static void lines(FILE *out, const struct svg_plot *p, double unit)
{
    fputs("unset arrow\nunset label\n", out);
    for (int i = 0; i < p->nmarkers; i++) {
        fprintf(out, "set arrow from %.6g, graph 0 to %.6g, graph 1 nohead dashtype 3\nset label ", p->markers[i].x,
                p->markers[i].x);
        quoted(out, p->markers[i].label ? p->markers[i].label : "");
        fprintf(out, " at %.6g, graph %s center noenhanced\n", p->markers[i].x, i % 2 ? "1.07" : "1.03");
    }
    if (p->level)
        fprintf(out, "set arrow from graph 0, first %.6g to graph 1, first %.6g nohead dashtype 2\n", p->level * unit,
                p->level * unit);
}

void report_gnuplot_plot(struct report *r, const struct svg_plot *p)
{
    FILE *out = r->script.out;
    const double unit = p->y.unit == SVG_US ? 1e-6 : 1;
    const char *before = "\nplot";
    int colour = 0;

    if (p->nseries == 0)
        return;
    fputs("\nset title ", out);
    quoted(out, p->title ? p->title : "");
    fprintf(out, " noenhanced%s\n", p->nmarkers ? " offset 0, 1.2" : "");
    axis(out, 'x', &p->x);
    axis(out, 'y', &p->y);
    lines(out, p, unit);
    for (int i = 0; i < p->nseries; i++) {
        const struct svg_series *series = &p->series[i];
        const char *rgb = svg_plot_colour(colour);
        if (series->n == 0) /* a block of nothing is none to gnuplot, which would count on without it */
            continue;
        if (series->low && series->high)
            fprintf(out,
                    "%s values index %d using 1:($2*%g):($3*%g):($4*%g) with yerrorbars pointtype 0 linecolor '%s' "
                    "notitle",
                    before, r->nblocks, unit, unit, unit, rgb);
        before = series->low && series->high ? ", \\\n    " : before;
        fprintf(out, "%s values index %d using 1:($2*%g) with ", before, r->nblocks, unit);
        if (series->dashed)
            fputs("lines dashtype 2 linecolor 'black' title ", out);
        else
            fprintf(out, "linespoints pointtype %d linecolor '%s' title ", 5 + colour % 5 * 2, rgb);
        quoted(out, series->name);
        block(r, series);
        before = ", \\\n    ";
        colour += !series->dashed;
    }
    fputc('\n', out);
}
