#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The backend "hierax" of torch.distributed, on 2 and 3 ranks, on one node and on two emulated ones: every collective of c10d
# against what torch computes by itself, training, groups, and wrong arguments.
# Usage: run.sh [SCRIPT]: only that one
. "$(dirname "$0")/common.sh"
only=${1:-}

try() { # N NODES SCRIPT [ARGUMENT...]
    [ -z "$only" ] || [ "$only" = "$3" ] || return 0
    ranks_of_torch "$@"
}

try 2 0 collectives.py
try 3 2 collectives.py
try 2 0 training.py
try 3 2 training.py
try 2 0 groups.py
try 3 2 groups.py
try 3 0 messages.py
try 3 2 messages.py
try 3 0 timeouts.py
try 3 2 timeouts.py
try 3 0 refused.py
finish
