/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports of what coll_bench measured, from its JSON documents. */
#ifndef HX_TOOLS_REPORT_REPORT_BENCH_H
#define HX_TOOLS_REPORT_REPORT_BENCH_H
#include "tools/report/report.h"
#include <json.h>

enum { REPORT_MAX_RUNS = 8 };

/* NULL, or why this is no document of coll_bench. */
const char *report_bench_refused(struct json_object *document);

/* One document: what it measured, plan by plan, with bounds. Several: the same side by side, and the ratio of the first
 * to each other; a row of the first may have that as "ratio", "ratio_min" and "ratio_max" (coll_compare's, of launches
 * in turn). 0, or -1 with "--option=path: reason" in error: not written in full. */
int report_bench_write(const struct report_files *files, struct json_object *const *documents, int n, char error[OPTION_TEXT_BYTES]);

#endif
