/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A report: one self-contained page of HTML that needs no script and is readable on a phone; its plots also as files
 * for gnuplot and as SVG. Whoever writes one calls the functions below in the order of the page; each goes to those
 * outputs that are wanted. Files appear as a whole, so a report may be written again while a run goes on. What goes
 * wrong is told by report_end.
 */
#ifndef HX_TOOLS_REPORT_REPORT_H
#define HX_TOOLS_REPORT_REPORT_H
#include "tools/report/svg_plot.h"
#include "tools/common/whole_file.h"

struct report_files { /* as on the command line; NULL: not wanted */
    const char *html;
    const char *gnuplot; /* PREFIX: PREFIX.dat, PREFIX.gp */
    const char *svg;     /* PREFIX: PREFIX-STEM.svg for each plot */
};

struct report {
    const struct report_files *files;
    struct whole_file page, data, script;
    int nplots, nblocks, column;
    char error[OPTION_TEXT_BYTES]; /* the first file that could not be written; "": none */
    const char *alignment; /* of the table under way */
};

/* The options, for tables of argp: keys from first on, as report_option takes them. */
enum { REPORT_OPTIONS = 3 };
#define REPORT_OPTION_TABLE(first, group)                                                                              \
    {"html", (first), "FILE", 0, "write a report as one page of HTML, with plots", (group)},                           \
    {"gnuplot", (first) + 1, "PREFIX", 0, "write its plots' values to PREFIX.dat, and PREFIX.gp that draws them", (group)}, \
    {"svg", (first) + 2, "PREFIX", 0, "write its plots to PREFIX-NAME.svg", (group)}

/* index: that of the option, from 0 on. */
void report_option(struct report_files *files, int index, const char *arg);
int report_wanted(const struct report_files *files);
/* May it be written while the run goes on, or (standard output) only at the end? */
int report_is_repeatable(const struct report_files *files);
/* Before the run: can the files be written? Changes nothing. 0, or -1 and error. */
int report_check(const struct report_files *files, char error[OPTION_TEXT_BYTES]);

void report_begin(struct report *r, const struct report_files *files, const char *title);
/* 0, or -1 with "--option=path: reason" in error: a file could not be written in full. */
int report_end(struct report *r, char error[OPTION_TEXT_BYTES]);

#define REPORT_PRINTF __attribute__((format(printf, 2, 3)))

void report_section(struct report *r, const char *title);
void report_text(struct report *r, const char *format, ...) REPORT_PRINTF; /* a paragraph */
void report_warning(struct report *r, const char *format, ...) REPORT_PRINTF;

/* prefix and end as one path; "", which no file has, when it is too long. Returns path. */
const char *report_path(char path[PATH_MAX], const char *prefix, const char *end);

/* A list of names and values. Empty values are left out. */
void report_facts_begin(struct report *r);
void report_fact(struct report *r, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));
void report_facts_end(struct report *r);

/* Side by side where the page is wide: plots, or parts with a title. stem names the plot in files. */
void report_columns_begin(struct report *r);
void report_plot(struct report *r, const char *stem, const struct svg_plot *plot);
void report_column_begin(struct report *r, const char *title);
void report_column_end(struct report *r);
void report_columns_end(struct report *r);

/* Something to unfold. */
void report_details_begin(struct report *r, const char *format, ...) REPORT_PRINTF;
void report_details_end(struct report *r);

/* alignment: a letter per column, 'l' or 'r'; heads as many. Cells follow row by row. */
void report_table_begin(struct report *r, const char *alignment, const char *const *heads);
void report_cell(struct report *r, const char *format, ...) REPORT_PRINTF;
void report_table_end(struct report *r);

#endif
