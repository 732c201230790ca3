#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Methods of Comm give what numpy computes: on one rank, on one node, and on two emulated ones.
. "$(dirname "$0")/common.sh"
ranks 1 1 values.py
ranks 2 1 values.py
ranks 3 2,1 values.py
ranks 1 1 neighbors.py
ranks 3 1 neighbors.py
ranks 4 2,2 neighbors.py
ranks 3 2,1 neighbors.py HX_PROGRESS_THREAD=1
job 2 1 "$python" -S "$scripts/bare.py" || { fail "bare.py: exit $?"; tail -n 20 "$tmp/err" >&2; } # -S: without the folder of numpy
finish
