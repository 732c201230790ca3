#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Processes die and join all the time, on one node and on three: see churn.py and churn.c. Fails if a process hangs, if a state is wrong, or by
# any error that a death does not explain. Slowness is no failure.
# Usage: churn.sh [SECONDS [SEED]]: for each of the two; the seed is printed
. "$(dirname "$0")/common.sh"
python3 -c '' 2>/dev/null || skip "no python3"
seconds=${1:-${TEST_SECONDS:-40}}
seed=${2:-${TEST_SEED:-$RANDOM}}
export FI_LOG_LEVEL=none
for nodes in 1 3; do
    python3 "$(dirname "$0")/churn.py" "$here/churn" "$top_builddir/tools/coll_store" --nodes $nodes --seconds "$seconds" --seed "$seed" ||
        fail "nodes $nodes, seed $seed"
done
finish
