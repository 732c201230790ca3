# SPDX-License-Identifier: BSD-3-Clause
# Tests of the package hierax for Python. They run if it was built.
hxpy_tests = tests/python/elastic.sh tests/python/endings.sh tests/python/grow.sh tests/python/page.sh tests/python/pip.sh \
    tests/python/refused.sh tests/python/values.sh
EXTRA_DIST += $(hxpy_tests) tests/python/state.py tests/python/torn.py tests/python/again.py tests/python/bare.py tests/python/checks.py tests/python/common.sh tests/python/endings.py \
    tests/python/grow.py tests/python/messages.py tests/python/neighbors.py tests/python/no_memory.py tests/python/operations.py tests/python/refused.py tests/python/requests.py \
    tests/python/values.py
if HAVE_PYTHON
dist_tests_list += $(hxpy_tests)
endif

# Tests of hierax.torch. They run if configure has found PyTorch.
hxtorch_tests = tests/python/torch/endings.sh tests/python/torch/launchers.sh tests/python/torch/run.sh
EXTRA_DIST += $(hxtorch_tests) tests/python/torch/common.sh tests/python/torch/job.py tests/python/torch/collectives.py \
    tests/python/torch/training.py tests/python/torch/groups.py tests/python/torch/refused.py tests/python/torch/messages.py \
    tests/python/torch/aborts.py tests/python/torch/elastic.py tests/python/torch/raises.py tests/python/torch/speed.py tests/python/torch/timeouts.py tests/python/torch/torchs_own.sh tests/python/torch/torchs_own.py
if HAVE_TORCH
dist_tests_list += $(hxtorch_tests)
endif
