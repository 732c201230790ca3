# SPDX-License-Identifier: BSD-3-Clause
# One benchmark, two programs: everything but the backend is compiled once and linked into both.
json_sources = tools/common/options.c tools/common/options.h tools/common/screen.c tools/common/screen.h tools/common/whole_file.c tools/common/whole_file.h tools/common/json.c tools/common/json.h
report_sources = $(json_sources) tools/common/report.c tools/common/report.h
noinst_LTLIBRARIES += tools/libbench.la
tools_libbench_la_SOURCES = tools/bench/coll_bench.c tools/common/bench.h tools/common/bench_backend.h tools/bench/bench_options.c tools/common/names.c \
    tools/common/median.h topo/cpu_model.c topo/cgroup.c tools/common/bench_here.c $(report_sources) \
    tools/common/bench_data.c tools/common/bench_sync.c tools/common/bench_clock.c tools/bench/bench_wire.c tools/common/bench_loop.c tools/common/bench_loop.h tools/bench/bench_run.c tools/common/bench_memory.c tools/common/bench_bound.c tools/bench/bench_report.c
tools_libbench_la_LIBADD = $(JSON_C_LIBS) $(HX_SYSTEM_LIBS) -lm

bin_PROGRAMS += tools/coll_bench
tools_coll_bench_SOURCES = tools/common/bench_backend_hierax.c tools/common/quiet.h topo/shape.c topo/levels.c
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
tools_coll_bench_mpi_SOURCES = tools/bench/bench_backend_mpi.c
tools_coll_bench_mpi_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tools_coll_bench_mpi_LDADD = tools/libbench.la $(MPI_LIBS)
endif

dist_bin_SCRIPTS += tools/coll_compare
dist_tests_list += tests/tools/bench_mpi.sh tests/tools/bench_hierax.sh tests/tools/bench_bound.sh tests/tools/compare.sh tests/tools/refused.sh tests/tools/screen.py tests/readme.sh
EXTRA_DIST += tests/tools/bench_cases.sh tests/tools/predictions.sh tests/examples/sum.c tests/examples/data_parallel.c \
    tests/examples/zero.c tests/examples/expert_routing.c tests/examples/with_mpi.c tests/examples/mpi_pi.c

noinst_PROGRAMS += tests/runtime/base/print_env
readme-update: tests/runtime/base/print_env
	$(AM_TESTS_ENVIRONMENT) $(srcdir)/tests/readme.sh update
.PHONY: readme-update
