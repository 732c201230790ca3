/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of a report that is for gnuplot. */
#ifndef HX_TOOLS_REPORT_REPORT_GNUPLOT_H
#define HX_TOOLS_REPORT_REPORT_GNUPLOT_H
#include "tools/report/report.h"

/* Both streams are open. */
void report_gnuplot_begin(struct report *r, const char *title);
void report_gnuplot_plot(struct report *r, const struct svg_plot *plot);

#endif
