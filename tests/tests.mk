# SPDX-License-Identifier: BSD-3-Clause
dist_tests_list += tests/places.py tests/layering.py tests/english.py tests/headers.sh tests/exports.sh
EXTRA_DIST += tests/golden
