# SPDX-License-Identifier: BSD-3-Clause
# python3 -m hierax.bench: files of the package, and their test. Included after python.mk, which installs hxpy_files.
hxpy_bench_files = hierax/bench/__init__.py hierax/bench/__main__.py hierax/bench/figures.py hierax/bench/rank.py \
    hierax/bench/sides.py
hxpy_files += $(hxpy_bench_files)
EXTRA_DIST += $(addprefix bindings/python/,$(hxpy_bench_files)) bindings/python/hierax/bench/README.md tests/python/bench.sh
if HAVE_PYTHON
dist_tests_list += tests/python/bench.sh
endif
