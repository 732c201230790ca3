/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports as HTML: see report.h. The plots' other forms are in report_gnuplot.c. */
#include "tools/report/report.h"
#include "tools/report/report_gnuplot.h"
#include <stdarg.h>
#include <string.h>

static const char style[] =
    ":root{color-scheme:light dark;--line:#d4d7dc;--soft:#f3f4f6;--warn:#8a5200}\n"
    "@media (prefers-color-scheme:dark){:root{--line:#3a3f47;--soft:#20242a;--warn:#f0c040}}\n"
    "body{font:15px/1.45 system-ui,sans-serif;margin:0 auto;max-width:84rem;padding:0 1rem "
    "3rem;color:#1c1e21;background:#fff}\n"
    "@media (prefers-color-scheme:dark){body{color:#e6e6e6;background:#16181c}}\n"
    "h1{font-size:1.45rem;line-height:1.25;margin:1.2rem 0 .8rem;overflow-wrap:anywhere}\n"
    "h2{font-size:1.3rem;margin:2.2rem 0 .6rem;padding-top:.8rem;border-top:1px solid var(--line)}\n"
    "dl{display:grid;grid-template-columns:minmax(5.5rem,max-content) 1fr;gap:.15rem .9rem;margin:0}\n"
    "dt{opacity:.72}dd{margin:0;overflow-wrap:anywhere}\n"
    ".columns{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr));gap:1.2rem 2rem}\n"
    "figure{margin:0;max-width:36rem;min-width:0}figure svg{display:block;width:100%;height:auto}\n"
    "h3{font-size:1.05rem;margin:.2rem 0 .4rem}section{min-width:0}\n"
    ".wide{overflow-x:auto;margin:.8rem "
    "0}table{border-collapse:collapse;font-size:.87rem;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:.16rem .6rem;text-align:left;white-space:nowrap}th{border-bottom:1px solid "
    "var(--line);font-weight:600}\n"
    "th.r,td.r{text-align:right}tr:nth-child(even) td{background:var(--soft)}\n"
    "summary{cursor:pointer;margin:.5rem 0}.warn{color:var(--warn);font-weight:600}p{margin:.6rem 0;max-width:60rem}\n";

void report_option(struct report_files *files, int index, const char *arg)
{
    const char **values[REPORT_OPTIONS] = {&files->html, &files->gnuplot, &files->svg};

    *values[index] = arg;
}

int report_wanted(const struct report_files *files)
{
    return files->html || files->gnuplot || files->svg;
}

int report_is_repeatable(const struct report_files *files)
{
    return !files->html || whole_file_is_regular(files->html);
}

/* "" would make files like .dat, which ls does not show; of "-" one would expect that standard output gets them. */
static int prefix_check(const char *option, const char *prefix, char error[OPTION_TEXT_BYTES])
{
    if (!prefix || (prefix[0] && strcmp(prefix, "-")))
        return 0;
    snprintf(error, OPTION_TEXT_BYTES, "--%s=%s: expected the prefix of the files to write, as in --%s=run", option, prefix, option);
    return -1;
}

int report_check(const struct report_files *files, char error[OPTION_TEXT_BYTES])
{
    char path[PATH_MAX];

    if (prefix_check("gnuplot", files->gnuplot, error) || prefix_check("svg", files->svg, error))
        return -1;
    if (files->html && whole_file_check("html", files->html, error))
        return -1;
    if (files->gnuplot && (whole_file_check("gnuplot", report_path(path, files->gnuplot, ".dat"), error) ||
                           whole_file_check("gnuplot", report_path(path, files->gnuplot, ".gp"), error)))
        return -1;
    return files->svg ? whole_file_check("svg", report_path(path, files->svg, "-plot.svg"), error) : 0;
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

static void escaped(struct report *r, const char *format, va_list arguments)
{
    char text[4096];

    vsnprintf(text, sizeof(text), format, arguments);
    svg_text(r->page.out, text);
}

/* before, the text, after. */
#define WRITE(before, after)                  \
    do {                                      \
        va_list arguments;                    \
        if (!r->page.out)                     \
            return;                           \
        fputs(before, r->page.out);           \
        va_start(arguments, format);          \
        escaped(r, format, arguments);        \
        va_end(arguments);                    \
        fputs(after, r->page.out);            \
    } while (0)

static void put(struct report *r, const char *text)
{
    if (r->page.out)
        fputs(text, r->page.out);
}

void report_section(struct report *r, const char *title)
{
    put(r, "<h2>");
    if (r->page.out)
        svg_text(r->page.out, title);
    put(r, "</h2>\n");
}

void report_text(struct report *r, const char *format, ...)
{
    WRITE("<p>", "</p>\n");
}

void report_warning(struct report *r, const char *format, ...)
{
    WRITE("<p class=\"warn\">", "</p>\n");
}

void report_facts_begin(struct report *r)
{
    put(r, "<dl>\n");
}

void report_fact(struct report *r, const char *name, const char *format, ...)
{
    char text[4096];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (!r->page.out || !text[0])
        return;
    fprintf(r->page.out, "<dt>%s</dt><dd>", name);
    svg_text(r->page.out, text);
    fputs("</dd>\n", r->page.out);
}

void report_facts_end(struct report *r)
{
    put(r, "</dl>\n");
}

void report_details_begin(struct report *r, const char *format, ...)
{
    WRITE("<details><summary>", "</summary>\n");
}

void report_details_end(struct report *r)
{
    put(r, "</details>\n");
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

void report_table_begin(struct report *r, const char *alignment, const char *const *heads)
{
    r->alignment = alignment;
    r->column = 0;
    put(r, "<div class=\"wide\" tabindex=\"0\"><table>\n<thead><tr>");
    for (int i = 0; r->page.out && alignment[i]; i++) {
        fprintf(r->page.out, "<th class=\"%c\">", alignment[i]);
        svg_text(r->page.out, heads[i]);
        fputs("</th>", r->page.out);
    }
    put(r, "</tr></thead>\n<tbody>\n");
}

void report_cell(struct report *r, const char *format, ...)
{
    char before[32];
    int column = r->column, last = !r->alignment[column + 1];

    r->column = last ? 0 : column + 1;
    snprintf(before, sizeof(before), "%s<td class=\"%c\">", column ? "" : "<tr>", r->alignment[column]);
    WRITE(before, last ? "</td></tr>\n" : "</td>");
}

void report_table_end(struct report *r)
{
    put(r, "</tbody></table></div>\n");
}

/* ---- plots ------------------------------------------------------------------------------------------------------- */

void report_columns_begin(struct report *r)
{
    put(r, "<div class=\"columns\">\n");
}

static void svg_file(struct report *r, const char *stem, const struct svg_plot *plot)
{
    struct svg_plot alone = *plot;
    struct whole_file file;
    char end[128], path[PATH_MAX];

    alone.standalone = 1;
    snprintf(end, sizeof(end), "-%s.svg", stem);
    if (whole_file_open(&file, report_path(path, r->files->svg, end)))
        svg_plot_write(file.out, &alone);
    whole_file_end(&file, "svg", path, r->error);
}

void report_plot(struct report *r, const char *stem, const struct svg_plot *plot)
{
    if (r->page.out) {
        fputs("<figure>\n", r->page.out);
        svg_plot_write(r->page.out, plot);
        fputs("</figure>\n", r->page.out);
    }
    if (r->data.out && r->script.out)
        report_gnuplot_plot(r, plot);
    if (r->files->svg)
        svg_file(r, stem, plot);
    r->nplots++;
}

void report_column_begin(struct report *r, const char *title)
{
    put(r, "<section><h3>");
    if (r->page.out)
        svg_text(r->page.out, title);
    put(r, "</h3>\n");
}

void report_column_end(struct report *r)
{
    put(r, "</section>\n");
}

void report_columns_end(struct report *r)
{
    put(r, "</div>\n");
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

const char *report_path(char path[PATH_MAX], const char *prefix, const char *end)
{
    if (snprintf(path, PATH_MAX, "%s%s", prefix, end) >= PATH_MAX)
        path[0] = '\0'; /* no file has this name */
    return path;
}

static void page_begin(struct report *r, const char *title)
{
    put(r,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<link rel=\"icon\" "
        "href=\"data:,\">\n<title>");
    svg_text(r->page.out, title);
    put(r, "</title>\n<style>\n");
    put(r, style);
    svg_plot_style(r->page.out);
    put(r, "</style>\n</head>\n<body>\n<h1>");
    svg_text(r->page.out, title);
    put(r, "</h1>\n");
}

void report_begin(struct report *r, const struct report_files *files, const char *title)
{
    char path[PATH_MAX];

    *r = (struct report){.files = files};
    if (files->html && whole_file_open(&r->page, files->html))
        page_begin(r, title);
    if (!files->gnuplot)
        return;
    whole_file_open(&r->data, report_path(path, files->gnuplot, ".dat"));
    whole_file_open(&r->script, report_path(path, files->gnuplot, ".gp"));
    if (r->data.out && r->script.out)
        report_gnuplot_begin(r, title);
}

int report_end(struct report *r, char error[OPTION_TEXT_BYTES])
{
    char path[PATH_MAX];

    put(r, "</body>\n</html>\n");
    if (r->files->html)
        whole_file_end(&r->page, "html", r->files->html, r->error);
    if (r->files->gnuplot) {
        whole_file_end(&r->data, "gnuplot", report_path(path, r->files->gnuplot, ".dat"), r->error);
        whole_file_end(&r->script, "gnuplot", report_path(path, r->files->gnuplot, ".gp"), r->error);
    }
    if (r->error[0])
        memcpy(error, r->error, OPTION_TEXT_BYTES);
    return r->error[0] ? -1 : 0;
}
