/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reports are made by coll_report (tools/report) from JSON documents. A tool starts it before it measures. So a file that cannot be
 * written, or a package that is missing, is known at once. coll_report reads the documents as they arrive and sleeps between them. When
 * the tool ends, however it ends, coll_report makes its files from the last document.
 */
#pragma once

#include "tools/common/options.h"
#include <json.h>
#include <limits.h>
#include <sys/types.h>

struct report_files { /* as on the command line; NULL: not wanted */
    const char *html;    /* "-": standard output */
    const char *gnuplot; /* PREFIX: PREFIX.dat, PREFIX.gp */
    const char *svg;     /* PREFIX: PREFIX-NAME.svg for each plot */
    const char *picture; /* of coll_plan's documents, which have one */
};

/* The options: rows of a tool whose OPTIONS have such a member. */
#define REPORT_ROWS(member, group, commands)                                                                              \
    {"html", 0, "FILE", "write a report with plots as one HTML page (needs coll_report)", group, commands, IS_TEXT(member.html)}, \
    {"gnuplot", 0, "PREFIX", "write the values of the plots to PREFIX.dat, and a gnuplot script that draws them to PREFIX.gp", \
     group, commands, IS_TEXT(member.gnuplot)},                                                                           \
    {"svg", 0, "PREFIX", "write each plot to PREFIX-NAME.svg", group, commands, IS_TEXT(member.svg)}

struct report {
    int to; /* a socket to coll_report; -1: it does not run */
    pid_t pid;
    char kept[PATH_MAX]; /* the file that the document goes to instead; "": none */
    char what[OPTION_TEXT_BYTES / 2]; /* "--html=FILE" */
    char error[OPTION_TEXT_BYTES];    /* of the last document */
};

int report_wanted(const struct report_files *files);

/* Start coll_report. Returns 0, or -1 with the reason in error: a file cannot be written. If coll_report cannot run here, say on standard
 * error what to install and which file will have the document. Does nothing if no file is wanted. */
int report_open(struct report *r, const struct report_files *files, const char *tool, char error[OPTION_TEXT_BYTES]);

/* Send what is known so far; at last the complete document. */
void report_update(struct report *r, struct json_object *document);

/* Wait for the report of the last document. That takes seconds: first let the other ranks finish. Returns 0, or -1 with
 * "--option=path: reason" in error: a file could not be written in full. */
int report_close(struct report *r, char error[OPTION_TEXT_BYTES]);
