# SPDX-License-Identifier: BSD-3-Clause
# A program in Python; the modules and templates beside it are found through the link that is installed among the other programs.
reportdir = $(pkgdatadir)/report
dist_report_SCRIPTS = tools/report/coll_report
dist_report_DATA = tools/report/pages.py tools/report/bench.py tools/report/tune.py tools/report/plan.py tools/report/plots.py \
    tools/report/gnuplot.py tools/report/outputs.py tools/report/program.py tools/report/page.html tools/report/macros.html \
    tools/report/bench.html tools/report/tune.html tools/report/rounds.html tools/report/compare.html tools/report/rounds.svg

# beside the tools that start it; coll_trace is installed likewise
python_links = tools/coll_report tests/tools/coll_report tools/coll_trace
noinst_SCRIPTS += $(python_links)
CLEANFILES += $(python_links)
$(python_links): $(dist_report_SCRIPTS) $(dist_trace_SCRIPTS)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && ln -sf $(abs_srcdir)/tools/*/$(@F) $@

install-exec-hook:
	$(MKDIR_P) "$(DESTDIR)$(bindir)" && \
	    ln -srf "$(DESTDIR)$(reportdir)/coll_report" "$(DESTDIR)$(tracedir)/coll_trace" "$(DESTDIR)$(bindir)"
uninstall-local: $(hx_uninstalls)
	rm -f "$(DESTDIR)$(bindir)/coll_report" "$(DESTDIR)$(bindir)/coll_trace"

dist_tests_list += tests/tools/report.sh tests/tools/test_report.py
