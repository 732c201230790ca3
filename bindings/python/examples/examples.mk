# SPDX-License-Identifier: BSD-3-Clause
# Lessons with PyTorch: programs to read, and to run in this folder. Their test needs PyTorch (HAVE_TORCH).
EXTRA_DIST += bindings/python/examples/README.md bindings/python/examples/elastic.py $(addprefix bindings/python/examples/torch/,ddp.py ddp_speed.py \
    diloco.py diloco_async.py elastic_ddp.py elastic_diloco.py elastic_lesson.py fsdp.py \
    lesson.py moe.py nine.py tensor_parallel.py zero1.py zero2.py zero3.py)
hxtorch_example_tests = tests/python/torch/elastic_examples.sh tests/python/torch/examples.sh
EXTRA_DIST += $(hxtorch_example_tests)
if HAVE_TORCH
dist_tests_list += $(hxtorch_example_tests)
endif
