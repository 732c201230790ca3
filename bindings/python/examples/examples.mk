# SPDX-License-Identifier: BSD-3-Clause
# Lessons with PyTorch: programs to read, and to run in this folder. Their test needs PyTorch (HAVE_TORCH).
EXTRA_DIST += bindings/python/examples/README.md bindings/python/examples/elastic.py $(addprefix bindings/python/examples/torch/,ddp.py ddp_speed.py \
    diloco.py diloco_async.py fsdp.py \
    lesson.py moe.py nine.py tensor_parallel.py zero1.py zero2.py zero3.py)
EXTRA_DIST += tests/python/torch/examples.sh
if HAVE_TORCH
dist_tests_list += tests/python/torch/examples.sh
endif
