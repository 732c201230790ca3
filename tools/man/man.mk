# SPDX-License-Identifier: BSD-3-Clause
# Man pages: of tools from their --help, of functions from hierax.h, of settings and counters from env.def and counter.def.
man_tools = man/coll_run.1 man/coll_bench.1 man/coll_plan.1 man/coll_tune.1 man/coll_info.1 man/coll_compare.1 man/coll_report.1 \
    man/coll_trace.1 man/coll_store.1
man_api = man/hierax_start.3 man/hierax_requests.3 man/hierax_types.3
man_topics = man/hierax-launch.7 man/hierax-mpi.7 man/hierax-operations.7 man/hierax-python.7 man/hierax-security.7 man/hierax-tuning.7 \
    man/hierax-tutorial.7
man_MANS = $(man_tools) $(man_api) $(man_topics) man/hierax.7
man_needs = $(srcdir)/tools/man/manpages.awk config.status # config.status has the version
man_awk = $(AWK) -v version=$(PACKAGE_VERSION) -f $(srcdir)/tools/man/manpages.awk

# A tool that cannot run here (built for another machine, or without python3) gets a page that names the command for its options.
$(man_tools): $(bin_PROGRAMS) $(dist_bin_SCRIPTS) tools/coll_report tools/coll_trace $(man_needs)
	$(AM_V_GEN)$(MKDIR_P) man && name=`basename $@ .1` && tool=tools/$$name && { test -f $$tool || tool=$(srcdir)/$$tool; } && \
	{ env -i PATH="$$PATH" ASAN_OPTIONS=detect_leaks=0 $$tool --help 2>/dev/null || \
	    printf 'Usage: %s [OPTION...]\nA tool of Hierax.\n\n%s --help lists its options.\n' $$name $$name; } >$@.help && \
	$(man_awk) -v kind=tool -v name=$$name $@.help >$@.tmp && rm -f $@.help && mv -f $@.tmp $@
man/api.stamp: $(srcdir)/runtime/hierax.h $(srcdir)/tests/tools/man_examples.c $(man_needs)
	$(AM_V_GEN)$(MKDIR_P) man && rm -f man/*.3 && $(man_awk) -v kind=api -v dir=man $(srcdir)/runtime/hierax.h \
	    $(srcdir)/tests/tools/man_examples.c && touch $@
$(man_api): man/api.stamp
man/hierax.7: tests/runtime/base/print_env$(EXEEXT) $(srcdir)/runtime/base/counter.def $(man_needs)
	$(AM_V_GEN)$(MKDIR_P) man && { env -i PATH="$$PATH" ASAN_OPTIONS=detect_leaks=0 tests/runtime/base/print_env; \
	    cat $(srcdir)/runtime/base/counter.def; } | $(man_awk) -v kind=settings >$@.tmp && mv -f $@.tmp $@

$(man_topics): $(man_needs) $(man_topics:man/%=$(srcdir)/tools/man/%.md)
	$(AM_V_GEN)$(MKDIR_P) man && $(man_awk) -v kind=topic $(srcdir)/tools/man/`basename $@`.md >$@.tmp && mv -f $@.tmp $@

# each function has a page, or a link to the page of its blocking form
install-data-hook:
	$(MKDIR_P) "$(DESTDIR)$(man3dir)" && for page in man/hx_*.3; do $(INSTALL_DATA) $$page "$(DESTDIR)$(man3dir)" || exit 1; done
uninstall-hook:
	for page in man/hx_*.3; do rm -f "$(DESTDIR)$(man3dir)/`basename $$page`"; done
clean-local:
	rm -rf man
EXTRA_DIST += tools/man/manpages.awk $(man_topics:man/%=tools/man/%.md) runtime/HACKING.md tests/tools/man_examples.c
dist_tests_list += tests/tools/man.sh
