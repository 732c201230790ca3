# SPDX-License-Identifier: BSD-3-Clause
# One program in Python, with the modules of tools/report; report.mk has the links to both programs.
tracedir = $(pkgdatadir)/trace
dist_trace_SCRIPTS = tools/trace/coll_trace
dist_trace_DATA = tools/trace/causes.py

dist_tests_list += tests/tools/coll_trace.sh
EXTRA_DIST += tests/tools/trace_check.py tests/tools/trace_cases.py
