#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# PyTorch's own tests of torch.distributed with the backend "hierax" (torchs_own.py), on 3 and 4 ranks: of one node, and of two
# emulated ones.
# Too long for each change: `tools/check torch` runs it. Usage: torchs_own.sh [TEST...]
. "$(dirname "$0")/common.sh"
for ranks in 3 4; do
    for nodes in 0 2; do
        HX_NODES=$nodes WORLD_SIZE=$ranks TEMP_DIR=$tmp "$python" "$scripts/torchs_own.py" "$@" || failures=$((failures + 1))
    done
done
finish
