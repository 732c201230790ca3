# SPDX-License-Identifier: BSD-3-Clause
# One benchmark, two programs: everything but the backend is compiled once and linked into both.
report_sources = tools/svg_plot.c tools/svg_plot.h tools/utf8.h tools/json_text.h tools/whole_file.c tools/whole_file.h tools/report.c tools/report.h \
    tools/report_gnuplot.c tools/report_gnuplot.h tools/report_bench.c tools/report_bench.h tools/json_file.c tools/json_file.h
noinst_LTLIBRARIES += tools/libbench.la
tools_libbench_la_SOURCES = tools/coll_bench.c tools/bench.h tools/bench_backend.h tools/bench_options.c \
    tools/options.c tools/options.h topo/cpu_model.c topo/cgroup.c tools/bench_here.c $(report_sources) \
    tools/bench_data.c tools/bench_sync.c tools/bench_clock.c tools/bench_wire.c tools/bench_wire.h tools/bench_wire_join.c tools/bench_loop.c tools/bench_loop.h tools/bench_run.c tools/bench_memory.c tools/bench_bound.c tools/bench_report.c
tools_libbench_la_LIBADD = $(JSON_C_LIBS) $(HX_SYSTEM_LIBS) -lm

check_programs_list += tests/tools/test_svg_plot
tests_tools_test_svg_plot_SOURCES = tests/tools/test_svg_plot.c tools/svg_plot.c
tests_tools_test_svg_plot_CFLAGS = $(AM_CFLAGS)
tests_tools_test_svg_plot_LDADD = $(HX_TEST_LIBS) -lm

bin_PROGRAMS += tools/coll_bench
tools_coll_bench_SOURCES = tools/bench_backend_hierax.c topo/shape.c topo/levels.c
tools_coll_bench_CFLAGS = $(AM_CFLAGS)
tools_coll_bench_LDADD = tools/libbench.la libhierax.la

# the same for tests, which start it thousands of times
noinst_PROGRAMS += tests/tools/coll_bench
tests_tools_coll_bench_SOURCES = $(tools_coll_bench_SOURCES)
tests_tools_coll_bench_CFLAGS = $(AM_CFLAGS)
tests_tools_coll_bench_LDADD = $(tools_coll_bench_LDADD)
tests_tools_coll_bench_LDFLAGS = $(in_tree)

if HAVE_MPICC
noinst_PROGRAMS += tools/coll_bench_mpi
tools_coll_bench_mpi_SOURCES = tools/bench_backend_mpi.c
tools_coll_bench_mpi_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tools_coll_bench_mpi_LDADD = tools/libbench.la $(MPI_LIBS)
endif

bin_PROGRAMS += tools/coll_report
tools_coll_report_SOURCES = tools/coll_report.c tools/options.c $(report_sources)
tools_coll_report_CFLAGS = $(AM_CFLAGS)
tools_coll_report_LDADD = $(JSON_C_LIBS) -lm

dist_bin_SCRIPTS += tools/coll_compare
dist_tests_list += tests/tools/bench_mpi.sh tests/tools/bench_hierax.sh tests/tools/bench_bound.sh tests/tools/compare.sh tests/tools/report.sh tests/readme.sh
EXTRA_DIST += README.md tools/report.png tests/tools/bench_cases.sh tests/examples/sum.c tests/examples/data_parallel.c \
    tests/examples/zero.c tests/examples/expert_routing.c tests/examples/with_mpi.c

noinst_PROGRAMS += tests/runtime/print_env
tests_runtime_print_env_SOURCES = tests/runtime/print_env.c
tests_runtime_print_env_LDADD = libhierax_internal.la
readme-update: tests/runtime/print_env
	$(AM_TESTS_ENVIRONMENT) $(srcdir)/tests/readme.sh update
.PHONY: readme-update
